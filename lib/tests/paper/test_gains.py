"""Gains and the floors that they decide, against the definitions in many digits."""

from dataclasses import FrozenInstanceError
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.paper import tokens
from attnsep.paper.gains import Infinite, LogGain, Power, SigmoidRatio, floor_linear, gains, log_enclosure, lowest_floor
from lib.tests.digits import mp, number

NS = (2, 16, 10**12 + 39, 10**300)
STRENGTHS = ("1e-30", "0.05", "0.5", "2.5")
WIDTH = 7


def gain(n, a, own, kernel):
    """The ratio of two weights of a row straight from its scores (its own sum times another's, times log n)."""
    name, _, parameter = kernel.partition(":")
    L, high, low = mp.log(n), own * (1 + a) * mp.log(n), own * mp.log(n)
    if name in ("softmax", "topk"):
        return mp.exp(number(parameter or 1 if name == "softmax" else 1) * (high - low))
    if name == "sigmoid":
        return (1 / (1 + mp.exp(-high))) / (1 / (1 + mp.exp(-low)))
    if name == "taylor":
        return (1 + high + high**2 / 2) / (1 + low + low**2 / 2)
    if name == "elu+1":
        rows = (
            (a, *[0] * (WIDTH - 3), mp.mpf(1) / 3, mp.mpf(2) / 3),
            (0, *[0] * (WIDTH - 3), mp.mpf(1) / 3, mp.mpf(2) / 3),
        )
        return mp.fsum(x * mp.sqrt(L) + 1 for x in rows[0]) / mp.fsum(x * mp.sqrt(L) + 1 for x in rows[1])
    return (high / low) ** int(parameter or {"squared-relu": 2}.get(name, 1))


EXPLICIT = (
    "softmax", "softmax:0", "softmax:0.3", "softmax:1e-5", "linear", "relu", "polynomial:1", "polynomial:7",
    "polynomial:600", "squared-relu", "taylor", "sigmoid", "elu+1", "topk:2",
)  # fmt: skip


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", EXPLICIT)
@pytest.mark.parametrize("n", NS)
def test_enclosures_hold_the_ratio_of_the_weights_and_shrink(n, kernel):
    for a in STRENGTHS:
        found = gains(n, a, kernel, d=WIDTH)
        with mp.workdps(500):
            wanted = [gain(n, number(a), own, kernel) for own in (1 + number(a), 1)]
        for R, want, digits in zip(found * 2, wanted * 2, (50, 50, 200, 200), strict=True):
            low, high = R.enclosure(digits)
            exact = R.rational()
            with mp.workdps(500):
                slack = want * mp.mpf(10) ** -400  # of the 500 digits
                assert number(low) <= want + slack
                assert want - slack <= number(high)
                # (1 + a)^600 loses three digits, n^{a(1+a)} as many
                assert number(high) - number(low) <= want * mp.mpf(10) ** (15 - digits)
                assert exact is None or abs(number(exact) - want) <= slack


@pytest.mark.parametrize("n", NS)
@pytest.mark.parametrize("kernel", ["sparsemax", "entmax"])
def test_projections_put_the_right_distance_between_their_weights(n, kernel):
    """The two weights p and r have p + (n − 1)r = 1 and p − r = Δ, or √p − √r = Δ/2.  Both rise with R = p/r."""

    def distance(R):
        r = 1 / (R + n - 1)
        return R * r - r if kernel == "sparsemax" else 2 * (mp.sqrt(R * r) - mp.sqrt(r))

    for a, digits in product(STRENGTHS, (50, 200)):
        for R, own in zip(gains(n, a, kernel), (1 + Fraction(a), 1), strict=True):
            with mp.workdps(500):
                difference = own * number(a) * mp.log(n)
                alone = difference >= (1 if kernel == "sparsemax" else 2)
                assert isinstance(R, Infinite) is bool(alone)
                if not alone:
                    low, high = map(number, R.enclosure(digits))
                    assert distance(low) <= difference <= distance(high)
                    assert high - low <= high * mp.mpf(10) ** (10 - digits)
                    assert R.rational() is None


def test_a_is_zero_or_hard():
    for kernel in ("taylor", "sigmoid", "elu+1", "sparsemax", "entmax", "hard"):
        assert gains(5, 0, kernel, d=3) == (Power(1, 1), Power(1, 1))
    assert gains(5, "1e-300", "hard") == (Infinite(), Infinite())
    assert [R.rational() for R in gains(5, 0)] == [1, 1]


@pytest.mark.parametrize(
    ("base", "exponent", "R"),
    [
        (Fraction(3, 2), 3, Fraction(27, 8)),
        (Fraction(9, 4), Fraction(3, 2), Fraction(27, 8)),
        (Fraction(32, 243), Fraction(2, 5), Fraction(4, 9)),
        (Fraction(9, 5), Fraction(1, 2), None),
        (Fraction(4, 3), Fraction(1, 2), None),
        (16, Fraction(3, 4), 8),
        (2, Fraction(1, 2), None),
        (1, Fraction(1, 10**300), 1),
        (7, 0, 1),
        (10**300, Fraction(1, 300), 10),
        (10**300 - 1, Fraction(1, 300), None),
        (2, Fraction(1, 10**300), None),
        (1 + Fraction(1, 10**300), 10**299, None),  # rational, and too long for any tie
        (1, 10**299, 1),
    ],
)
def test_powers_are_rational_where_their_base_is_a_power(base, exponent, R):
    assert Power(base, exponent).rational() == R


def test_ratios_of_sigmoids_are_rational_where_both_powers_are():
    assert gains(16, "0.25", "sigmoid")[1].rational() == (1 + Fraction(1, 16)) / (1 + Fraction(1, 32))
    assert gains(16, "0.5", "sigmoid")[0].rational() == (1 + Fraction(1, 64)) / (1 + Fraction(1, 512))
    assert gains(17, "0.5", "sigmoid")[0].rational() is None
    half = Power(2, Fraction(1, 2))
    assert SigmoidRatio(half, half).rational() == 1


ALL_KINDS = [
    gains(1000, "0.3")[0], gains(1000, "0.3", "polynomial:9")[0], gains(50, "0.7", "sigmoid")[1],
    gains(12, "0.2", "elu+1", d=5)[0], gains(100, "0.1", "sparsemax")[1], gains(100, "0.1", "entmax")[0],
    Power(1 + Fraction(1, 10**300), 10**299),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("R", ALL_KINDS)
@pytest.mark.parametrize("slope", [Fraction(2, 9), Fraction(-7, 10**40), 10**40])
def test_the_floor_changes_where_the_sum_is_whole(R, slope):
    low, high = map(Fraction, R.enclosure(900))
    sides = (low, high) if slope > 0 else (high, low)
    below, above = (floor_linear(5 - slope * x, Fraction(slope), R, 9) for x in reversed(sides))
    assert (below, above) == ((4, 5) if low < high else (5, 5))
    assert floor_linear(5 - slope * low - Fraction(slope) / 10**500, Fraction(slope), R, 9) == (4 if slope > 0 else 5)


POWERS = [Power(5, 1), Power(Fraction(3, 2), 1), Power(Fraction(3, 2), 7), Power(Fraction(6, 5), Fraction(7, 3))]
POWERS += [Power(2, Fraction(1, 3)), Power(10**300, Fraction(1, 2)), Power(1, 1)]


@pytest.mark.parametrize("R", [*ALL_KINDS, *POWERS])
@pytest.mark.parametrize("rest", [1, 999, Fraction(1, 3), Fraction(22, 7), Fraction(10**320, 7), Fraction(7, 10**320)])
def test_shares_are_right_to_twelve_digits(R, rest):
    with mp.workdps(400):  # (1 + 10^−300)^(10^299) loses 300 of them
        gain, others = number(R.enclosure(400)[0]), number(rest)
        wanted = [float(gain / (gain + others)), float(others / (gain + others))]
    assert R.shares(rest) == pytest.approx(wanted, rel=1e-12, abs=0)


def test_shares_of_rational_gains_and_of_none_are_exact():
    for a, n in product((Fraction(1, 3), 2, Fraction(17, 10)), (3, 10, 10**20)):
        assert Power(1 + a, 1).shares(n - 1) == (float((1 + a) / (n + a)), float((n - 1) / (n + a)))
    assert Infinite().shares(7) == (1, 0)


@pytest.mark.parametrize("R", [Power(5, 1), Power(5, 2), ALL_KINDS[2], ALL_KINDS[3], Infinite()])
def test_what_is_no_rational_number_above_0_is_no_rest(R):
    for rest, error in ((0, ValueError), (Fraction(-1, 3), ValueError), (True, TypeError), (0.5, TypeError)):
        with pytest.raises(error, match=f"rest = {rest!r}: must be".replace("(", r"\(").replace(")", r"\)")):
            R.shares(rest)
    assert R.shares(np.uint8(200)) == R.shares(200)
    assert R.shares(Fraction(np.uint8(200))) == R.shares(200)


def test_gains_can_be_kept_in_sets():
    assert {*ALL_KINDS, *ALL_KINDS, Infinite(), Infinite()} == {*ALL_KINDS, Infinite()}
    with pytest.raises(FrozenInstanceError):
        ALL_KINDS[3].n = 5


def test_powers_with_large_exponents_are_enclosed():
    """The rounding of the logarithm counts as many times as the exponent says."""
    for base in range(3, 23):
        low, high = Power(base, 10**9 + 1).enclosure(20)
        with mp.workdps(60):
            assert mp.mpf(str(low)) < mp.mpf(base) ** (10**9 + 1) < mp.mpf(str(high))


def test_long_powers_are_enclosed_and_longer_ones_tie_with_nothing():
    for power, whole in (((2, 5000), True), ((2, 5001), False), ((2**72, 137), False)):  # 10 000 bits, and more
        low, high = Power(*power).enclosure(20)
        assert (low == high) is whole
        assert low <= power[0] ** power[1] <= high
    for power, root in (((2, 500_000), 2**500_000), ((4, Fraction(400_001, 2)), 2**400_001)):  # up to 10^6 bits
        assert Power(*power).rational() == root
    for power in ((2, 500_001), (2**100, 9901), (4, Fraction(666_667, 2))):
        assert Power(*power).rational() is None


def test_floors_are_clipped():
    for R in (*ALL_KINDS, Infinite()):
        assert floor_linear(Fraction(100), Fraction(1), R, 9) == 9
        assert floor_linear(Fraction(-100), Fraction(-1), R, 9) == -1
    for R in ALL_KINDS:
        assert [floor_linear(Fraction(x), Fraction(0), R, 9) for x in (-3, 0, "8.5", 30)] == [-1, 0, 8, 9]
    assert [floor_linear(Fraction(3), Fraction(slope), Infinite(), 9) for slope in (-1, 0, 1)] == [-1, 9, 9]


@pytest.mark.parametrize("kernel", [*EXPLICIT, "sparsemax", "entmax", "hard"])
@pytest.mark.parametrize("n", [2, 3, 4, 1000])
def test_the_lowest_floor_is_that_of_either_row(n, kernel):
    """For sigmoid the marked token's own row has the larger gain at n = 2 and the smaller one at n = 1000."""
    rows = gains(n, "0.3", kernel, d=WIDTH)
    for slope, shift in product((-(10**6), Fraction(-1, 3), 0, 10**6), (Fraction(0), Fraction(10**8))):
        floors = [floor_linear(shift, Fraction(slope), R, 10**9) for R in rows]
        assert lowest_floor(shift, Fraction(slope), rows, 10**9) == min(floors)


def test_a_row_that_sees_one_token_has_no_lower_floor_than_another():
    assert lowest_floor(Fraction(2), Fraction(0), (Infinite(), Power(2, 1)), 9) == 2


@pytest.mark.parametrize(("kernel", "at"), [("sparsemax", 1), ("entmax", 2)])
@pytest.mark.parametrize("n", [2, 1000, 10**300])
@pytest.mark.parametrize("digits", [40, 120])  # 50 are looked at first
def test_the_marked_token_stands_alone_from_one_strength_on(kernel, at, n, digits):
    """Next to a = at/log n, where the others' weights vanish: by what is left of the last digit."""
    with mp.workdps(digits + 60):
        edge = at / mp.log(n)
        below = Fraction(int(edge * 10**digits), 10**digits)
        above = below + Fraction(1, 10**digits)
        missing = 1 - number(below) / edge  # 1 − Δ, or 1 − δ
    assert gains(n, above, kernel)[1] == Infinite()
    assert tokens.weights(n, above, kernel)[1::2] == (1, 0)
    assert isinstance(gains(n, below, kernel)[1], LogGain)
    q, rest = tokens.weights(n, below, kernel)[1::2]
    with mp.workdps(digits + 60):
        if kernel == "sparsemax":
            wanted = missing * (n - 1) / n
        else:
            delta = 1 - missing
            wanted = (n - 1) * ((mp.sqrt(n - (n - 1) * delta**2) - delta) / n) ** 2
        assert abs(rest / wanted - 1) < 1e-12
    assert q == 1
    top = 10**6
    assert floor_linear(Fraction(0), Fraction(1), gains(n, below, kernel)[1], top) == top
    assert floor_linear(Fraction(0), Fraction(1), gains(n, above, kernel)[1], top) == top


EXTREME = (
    "softmax", "softmax:1e300", "softmax:1e-300", "linear", "polynomial:" + "9" * 300, "polynomial:1" + 60 * "0",
    "polynomial:100000", "taylor", "sigmoid", "elu+1", "topk:1", "topk:2", "sparsemax", "entmax", "hard",
)  # fmt: skip


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", EXTREME)
@pytest.mark.parametrize("a", ["0", "1e-300", "1e-20", "0." + 200 * "3", "100", "1e100", "1e300"])
def test_nothing_hangs_or_overflows(kernel, a):
    for n, d in ((2, 3), (1000, 502), (10**300, 1002)):
        if kernel == "sigmoid" and (1 + Fraction(a)) ** 2 * len(str(n)) > 100_000:
            with pytest.raises(
                ValueError, match=r"n, a, kernel = .*, .sigmoid.: n to the power .* at most 100000 digits"
            ):
                tokens.law(n, d, a, "0.5", kernel).column_probability()
            continue
        assert 0 <= tokens.weights(n, a, kernel, d=d).p <= 1
        pi = tokens.law(n, d, a, "0.5", kernel).column_probability()
        for by in ("theorem", "mark"):
            low, high = tokens.law(n, d, a, "0.5", kernel).column_bounds(by)
            assert low <= pi <= high


def test_a_sigmoid_s_powers_have_up_to_100000_digits():
    assert len(gains(10**9, 99, "sigmoid")) == 2  # 10 digits, to the power (1 + 99)²
    with pytest.raises(ValueError, match="at most 100000 digits"):
        gains(10**9, "99.01", "sigmoid")


def test_logarithms_are_enclosed():
    for n, digits in product((2, 3, 10**300), (20, 100)):
        low, high = log_enclosure(n, digits)
        with mp.workdps(400):
            assert number(low) < mp.log(n) < number(high)
            assert number(high) - number(low) < mp.log(n) * mp.mpf(10) ** (5 - digits)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gains(1, 1), "n = 1: must be at least 2"),
        (lambda: gains(5, -1, "hard"), "a = -1: must be at least 0"),
        (lambda: gains(5, 1, "window:2"), "kernel = 'window:2': no gain is known; matrices and sampling serve"),
        (lambda: gains(5, 1, "performer:2"), "kernel = 'performer:2': no gain is known; matrices and sampling serve"),
        (lambda: gains(5, 1, "elu+1"), "d = None: the gain of elu\\+1 depends on the width d"),
        (lambda: gains(5, 1, "elu+1", d=2), "d = 2: must be at least 3"),
        (
            lambda: gains(10**300, 100, "sigmoid"),
            r"n, a, kernel = 10\^300, 100, .sigmoid.: n to the power \(1 \+ a\)² must have at most 100000 digits",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_floor_is_clipped_however_far_away_it_is(sign):
    shift, R = sign * 10**400, Power(2, Fraction(1, 2))
    assert floor_linear(shift, Fraction(1), R, 9) == (9 if shift > 0 else -1)
    assert floor_linear(shift - 3, Fraction(-1, 10**400), R, 9) == (9 if shift > 0 else -1)
    assert [floor_linear(Fraction(x, 2), 0, R, 9) for x in (-1, 0, 3, 40)] == [-1, 0, 1, 9]
