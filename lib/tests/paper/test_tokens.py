"""The closed forms of the token data against the definitions, all sign matrices, and 60 digits."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.attention import reference
from attnsep.paper import tokens
from attnsep.paper.gains import Power, floor_linear
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData
from lib.tests.digits import mp, number, precise_tail

close = pytest.approx
KERNELS = ("softmax", "linear")


def outputs(n, d, a, c, kernel, marked=0):
    """All rows o_j / √L from the definitions: matrices, scores, weights, values, in 60 digits."""
    a, c = Fraction(a), Fraction(c)
    A = [[a * (i == marked)] + [(1 - c) * (i % (d - 2) == k) for k in range(d - 2)] + [c] for i in range(n)]
    sums = [sum(row) for row in A]
    rows = []
    for s in sums:
        f = row_weights(s, sums, kernel, n, d)
        rows.append([mp.fsum(f[i] * number(A[i][k]) for i in range(n)) for k in range(d)])
    return rows


def row_weights(s, sums, kernel, n, d):
    """Weights of a row from its own sum and all sums, which make the scores; ties among these are exact."""
    name, _, parameter = kernel.partition(":")
    L, scores = mp.log(n), [s * other for other in sums]
    u = [number(score) for score in scores]
    if name in ("sparsemax", "entmax"):
        return reference.weights([L * x for x in u], name)
    if name == "softmax":
        u = [mp.power(n, number(parameter or 1) * x) for x in u]
    elif name == "topk":
        kept = sorted(range(n), key=lambda i: (-scores[i], i))[: int(parameter)]
        u = [mp.power(n, x) * (i in kept) for i, x in enumerate(u)]
    elif name == "taylor":
        u = [1 + L * x + (L * x) ** 2 / 2 for x in u]
    elif name == "sigmoid":
        u = [1 / (1 + mp.power(n, -x)) for x in u]
    elif name == "elu+1":  # ψ(γ √L · 1_d) is one number, and the entries of a key are not negative
        u = [d + mp.sqrt(L) * number(other) for other in sums]
    elif name == "hard":
        u = [mp.mpf(score == max(scores)) for score in scores]
    else:
        u = [x ** int(parameter or {"squared-relu": 2}.get(name, 1)) for x in u]
    return [x / mp.fsum(u) for x in u]


def enumerated(n, d, a, c, kernel, gap, marked=0):
    """π, and the number of ties, from every sign vector; 60 digits apart or equal in 50."""
    unit = 10**57  # whole numbers, whose sums are fast
    rows = {tuple(int(mp.nint(x * unit)) for x in row) for row in outputs(n, d, a, c, kernel, marked)}
    tau, fired, ties = int(mp.nint(number(Fraction(c) + Fraction(gap)) * unit)), [], 0
    for y in product((1, -1), repeat=d):
        over = [sum(x * sign for x, sign in zip(row, y, strict=True)) - tau for row in rows]
        over = [0 if abs(x) < unit // 10**50 else x for x in over]
        ties += 0 in over
        fired.append(max(over) > 0)
    return fired, ties


TINY = [  # with ties where the last column says so
    (2, 3, "0.7", "0.5", False),
    (2, 4, "0.7", "0.5", False),
    (3, 5, "0.05", "0.9", False),
    (4, 4, "1", "0.5", False),
    (6, 5, "2", "0.3", False),
    (9, 5, "0.7", "0.35", False),
    (6, 8, "0.4", "0.5", True),  # b − a = gap
    (5, 7, "0.2", "0.9", True),  # a − b = gap
    (8, 6, "0.2", "0.9", False),
    (4, 6, "0.6", "0.1", True),  # b − a = gap + 2c: ties with y_d = −1
    (4, 6, "0.5", "0.5", True),  # R = 4^(1/2) is rational
    (5, 7, "0", "0.5", True),
    (6, 8, "0", "0.05", False),
    (5, 7, "0", "0.9", True),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "a", "c", "tie"), TINY)
def test_one_column_is_the_enumeration_of_all_signs(n, d, a, c, tie, kernel):
    fired, ties = enumerated(n, d, a, c, kernel, "0.1", marked=n - 1)
    assert tokens.law(n, d, a, c, kernel).column_probability() == sum(fired) / 2**d
    if kernel == "softmax":
        assert bool(ties) is tie


def test_ties_of_linear_attention_are_rational():
    # a = 0.5, n = 4: R = 3/2 and b S = 0.3 + 1.5 (0.1 − 0.5 + b) at S = 1 for b = 0.6
    fired, ties = enumerated(4, 6, "0.5", "0.4", "linear", "0.1")
    assert ties
    assert tokens.law(4, 6, 0.5, 0.4, "linear").column_probability() == sum(fired) / 64


OTHERS = (
    "softmax:0", "softmax:1.5", "polynomial:1", "polynomial:5", "squared-relu", "taylor", "relu", "sigmoid",
    "elu+1", "sparsemax", "entmax", "hard",
)  # fmt: skip
SMALL = [  # n, d, a, c with t = 1, 2, 3
    (3, 5, "0", "0.5"), (5, 7, "0.02", "0.05"), (4, 6, "0.6", "0.1"), (2, 3, "0.7", "0.5"), (4, 4, "1", "0.5"),
    (6, 5, "0.1", "0.3"), (8, 6, "0.4", "0.5"), (6, 4, "0.7", "0.9"), (9, 5, "0.05", "0.35"), (6, 4, "0", "0.3"),
]  # fmt: skip


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", OTHERS)
@pytest.mark.parametrize(("n", "d", "a", "c"), SMALL)
def test_one_column_of_every_kernel_is_the_enumeration_of_all_signs(n, d, a, c, kernel):
    fired, _ = enumerated(n, d, a, c, kernel, "0.1")
    assert tokens.law(n, d, a, c, kernel).column_probability() == close(sum(fired) / 2**d, abs=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "d", "a", "c"), [*SMALL, (12, 6, "0.3", "0.2")])
def test_one_column_of_top_k_is_the_enumeration_of_all_signs(n, d, a, c):
    for k in range(1, n + 1):
        kernel, data = f"topk:{k}", TokenData(n=n, d=d, a=a, c=c)
        fired, _ = enumerated(n, d, a, c, kernel, "0.1")
        assert tokens.law(n, d, a, c, kernel).column_probability() == close(sum(fired) / 2**d, abs=1e-15)
        for column, wanted in zip(product((1, -1), repeat=d), fired, strict=True):
            assert tokens.Law(data, kernel).fires_on(np.array(column, np.int8)[:, None]) is wanted


def test_sigmoid_on_both_sides_of_the_strength_from_which_the_other_rows_see_more():
    """The marked token's own row has the larger gain at n = 2 and 3, and the smaller one beyond."""
    for (n, d), a, gap in product(((2, 4), (3, 5), (6, 8)), ("0.3", "2"), ("0.05", "0.1", "0.3", "0.33", "0.5")):
        fired, _ = enumerated(n, d, a, "0.5", "sigmoid", gap)
        assert tokens.law(n, d, a, "0.5", "sigmoid", gap).column_probability() == sum(fired) / 2**d
    data = TokenData(n=30, d=12, a="0.7", c="0.5", gap="0.12345")
    column = np.array([1, 1, -1, 1, 1, -1, -1, 1, 1, 1, -1, 1])[:, None]
    assert tokens.Law(data, "sigmoid").fires_on(column)  # in the other rows alone


@pytest.mark.parametrize("gap", ["0", "0.3", "0.7", "2"])
def test_other_gaps(gap):
    for kernel, (n, d, a, c) in product(KERNELS, ((4, 6, "0.5", "0.5"), (6, 5, "0.9", "0.1"))):
        fired, _ = enumerated(n, d, a, c, kernel, gap)
        assert tokens.law(n, d, a, c, kernel, gap).column_probability() == sum(fired) / 2**d


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "a", "c"), [(2, 4, "0.7", "0.5"), (4, 6, "0.6", "0.1"), (5, 7, "0.2", "0.9")])
def test_firing_probability_and_instances_are_the_enumeration_of_all_sign_matrices(n, d, a, c, kernel):
    data, m = TokenData(n=n, d=d, a=a, c=c, marked=1), 2
    fired, _ = enumerated(n, d, a, c, kernel, "0.1", marked=1)
    columns = list(product((1, -1), repeat=d))
    network = [x or y for x in fired for y in fired]
    assert tokens.law(n, d, a, c, kernel).fires(m) == close(sum(network) / 4**d, rel=1e-15)
    for column, wanted in zip(columns, fired, strict=True):
        assert tokens.Law(data, kernel).fires_on(np.array(column)[:, None]) is wanted
    pair = np.array([columns[0], columns[-1]]).T
    assert tokens.Law(data, kernel).fires_on(pair) is (fired[0] or fired[-1])


@pytest.mark.parametrize("c", ["-0.5", "0", "1", "1.5"])
def test_the_last_columns_strength_lies_strictly_between_0_and_1(c):
    with pytest.raises(ValueError, match=f"c = '{c}'"):
        TokenData(n=6, d=5, a=1, c=c)


@pytest.mark.parametrize(("n", "d"), [(2, 3), (6, 5), (100, 12)])
def test_the_concentration_of_equal_classes_is_that_of_their_sizes(n, d):
    data = TokenData(n=n, d=d, a=1, c="0.5")
    assert data.concentration == TokenData(class_sizes=[data.t] * (d - 2), a=1, c="0.5").concentration
    assert data.concentration == sum(Fraction(data.t, n) ** 2 for _ in range(d - 2))


@pytest.mark.parametrize("signs", tokens.PATTERNS)
def test_a_row_falls_short_by_the_sum_of_what_its_weights_say(signs):
    data, parts = TokenData(n=4, d=4, a="0.3", c="0.2"), {"total": 7, "marked": 3, "own": 5}
    assert tokens.shortfall(data, signs) == 0  # a row that weighs nothing
    assert tokens.shortfall(data, signs, **parts) == sum(
        tokens.shortfall(data, signs, **{name: weight}) for name, weight in parts.items()
    )


@pytest.mark.parametrize("marked", [0, 3, 5])
def test_the_mark_may_be_anywhere_where_top_k_keeps_all_tokens(marked):
    law = tokens.Law(TokenData(n=6, d=5, a=1, c="0.5", marked=marked), "topk:6")
    assert law.column_probability() == tokens.law(6, 5, 1, "0.5").column_probability()


@pytest.mark.parametrize("by", ["theorem", "mark"])
@pytest.mark.parametrize("a", ["0.05", "0.7"])
def test_bounds_of_firing_follow_from_those_of_a_column(a, by):
    law = tokens.law(4096, 1026, a, "0.5")
    low, high = law.column_bounds(by)
    assert law.fires_bounds(3, by) == close((1 - (1 - low) ** 3, min(1, 3 * high)), rel=1e-12)


def test_the_bound_by_the_mark_leaves_its_own_weight_out():
    """Q_w without the marked token: t − 1 tokens of its class, and t of every other one."""
    law = tokens.law(4096, 1026, "0.05", "0.5")
    p, q, not_p, not_q = law.weights()
    rows = [((w, rest / 4095)) for w, rest in ((p, not_p), (q, not_q))]
    bounds = [math.exp(-((0.1 - 0.55 * w) ** 2) / (0.5 * ((3 * r) ** 2 + 1023 * (4 * r) ** 2))) for w, r in rows]
    assert law.column_bounds("mark") == (0, close(sum(bounds), rel=1e-9, abs=0))


def test_two_rows_whose_weights_are_one_double_count_twice():
    none, some = (tokens.law(1024, 258, a, "0.5").column_bounds()[1] for a in (0, "1e-30"))
    assert some == close(2 * none, rel=1e-12)


def test_the_theorem_bounds_all_four_errors_and_finds_its_own_sizes():
    silent, *fires = tokens.errors(1024, 258, 10, "0.05", "0.7", "0.5", by="bound")
    laws = [tokens.law(1024, 258, a, "0.5", kernel) for a, kernel in (("0.05", "softmax"), ("0.05", "linear"))]
    laws.append(tokens.law(1024, 258, "0.7", "0.5", "linear"))
    assert silent == close(0.875**10, rel=1e-12)
    assert fires == [law.fires_bounds(10)[1] for law in laws]
    n, d, m = tokens.sizes("0.3", "0.05", "0.7", "0.5", t=4, by="bound")
    assert max(tokens.errors(n, d, m, "0.05", "0.7", "0.5", by="bound")) <= 0.3
    assert (n, m) == (4 * (d - 2), 10)  # (7/8)^9 is above 0.3


def test_a_law_is_told_by_its_data_and_kernel():
    data = TokenData(n=4, d=4, a=1, c="0.5")
    assert repr(tokens.Law(data, "linear")) == f"Law(data={data!r}, kernel='linear')"
    assert tokens.Law(data, "linear") != tokens.Law(data, "softmax")


# Sixty digits


def precise_column(n, d, a, c, kernel="softmax", gap="0.1"):
    """π from the formula with w, row by row, in 60 digits (1500 for n = 10^300): equal in half of them is a tie."""
    with mp.workdps(60 if n < 10**100 else 1500):
        return _precise_column(n, d, a, c, kernel, gap)


def _precise_column(n, d, a, c, kernel, gap):
    a, c, gap = (number(Fraction(str(x))) for x in (a, c, gap))
    n_, t = mp.mpf(n), n // (d - 2)
    b, pi = 1 - c, mp.mpf(0)
    rows = (a * (1 + a), a) if kernel == "softmax" else (None,)
    w = [(1 + a) / (n_ + a) if e is None else 1 / (1 + (n_ - 1) * mp.power(n_, -e)) for e in rows]
    for y1, yk, yd in product((1, -1), repeat=3):
        least = d - 2
        for weight in w:
            r = (1 - weight) / (n_ - 1)
            rest = c + gap - (a * weight * y1 + b * (weight + (t - 1) * r) * yk + c * yd)
            plus = (d - 3 + rest / (b * t * r)) / 2
            near = mp.nint(plus)
            plus = near if abs(plus - near) < mp.mpf(10) ** -(mp.dps // 2) * max(1, abs(near)) else plus
            least = min(least, int(mp.floor(plus)) + 1)
        pi += precise_tail(d - 3, least) / 8
    return pi


PRECISE = [
    (53, 55, "0.75", "0.35"),  # tie
    (104, 54, "0.75", "0.35"),
    (1024, 258, "0.05", "0.5"),
    (1024, 258, "0.7", "0.5"),
    (1024, 1026, "0.61", "0.4"),
    (65536, 16386, "0.5", "0.5"),
    (65536, 16386, "0.6", "0.5"),
    (99998, 100_000, "0.6", "0.9"),
    (10**12, 1002, "0.05", "0.5"),
    (10**12, 1002, "0.62", "0.5"),
    (10**12, 1002, "0.5", "0.7"),  # 10^6 and a rational tie candidate: n^(1/2)
    (10**12, 1252, "0.7", "0.999"),
    (10**12, 1252, "0.7", "0.001"),
    (10**12, 1252, "0.4", "0.5"),  # a tie: b − a = gap, t S = 0.2 (n − 1) − (t − 1) has no solution
    (10**12, 100_002, "0.61", "0.5"),
    (10**12, 100_002, "0.618", "0.001"),
    (10**300, 1002, "0.61", "0.5"),
    (10**300, 1002, "0.618034", "0.5"),
    (6, 8, "0.4", "0.5"),
    (10**6 + 1, 10**6 + 3, "0.4", "0.5"),  # S = 0.2 · 10^6 is a tie, at 200 deviations
    (10**4 + 1, 10**4 + 3, "0.899", "0.002"),  # b − a = 0.099
]


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "a", "c"), PRECISE)
def test_column_probability_to_twelve_digits(n, d, a, c, kernel):
    wanted = precise_column(n, d, a, c, kernel)
    found = tokens.law(n, d, a, c, kernel).column_probability()
    if wanted < mp.mpf(10) ** -300:
        assert found < 1e-299
    else:
        assert abs(found / wanted - 1) < 1e-12
    fires = -mp.expm1(10 * mp.log1p(-wanted))
    assert abs(tokens.law(n, d, a, c, kernel).fires(10) - fires) <= 1e-12 * fires + 1e-299


@pytest.mark.parametrize("gap", ["0.1", "0.15", "0.25", "0.4"])
@pytest.mark.parametrize(("n", "t"), [(10**6, 500), (10**12, 10**8), (5000, 1)])
def test_tiny_probabilities_to_twelve_digits(n, t, gap):
    sizes = []
    for kernel, c in product(KERNELS, ("0.01", "0.5", "0.9")):
        parameters = (n, n // t + 2, "0.05", c, kernel, gap)
        wanted = precise_column(*parameters)
        sizes.append(wanted)
        if wanted > mp.mpf(10) ** -300:
            assert abs(tokens.law(*parameters).column_probability() / wanted - 1) < 1e-12


def test_the_tie_of_the_book():
    """a = 0.75, c = 0.35, n = 53, d = 55: S = 8 is a tie for the irrational weights, of mass 0.0075."""
    pi = tokens.law(53, 55, 0.75, 0.35).column_probability()
    mass = math.comb(52, 30) / 2**52 / 8
    assert round(pi, 6) == 0.265506
    assert round(mass, 4) == 0.0075
    below = tokens.law(53, 55, "0.75", "0.35", gap=Fraction(1, 10) - Fraction(1, 10**30)).column_probability()
    assert below - pi == close(mass, rel=1e-9)
    above = tokens.law(53, 55, "0.75", "0.35", gap=Fraction(1, 10) + Fraction(1, 10**30)).column_probability()
    assert above == pi


def test_floats_strings_and_fractions_are_the_same_decimals():
    for a, c, gap in ((0.75, 0.35, 0.1), ("0.75", "0.35", "0.1"), (Fraction(3, 4), Fraction(7, 20), Fraction(1, 10))):
        assert (
            tokens.law(53, 55, a, c, gap=gap).column_probability()
            == tokens.law(53, 55, 0.75, 0.35).column_probability()
        )
    assert (
        tokens.law(53, 55, np.float64(0.75), np.float32(0.35)).column_probability()
        == tokens.law(np.int64(53), np.int64(55), 0.75, 0.35).column_probability()
    )


@pytest.mark.parametrize("shift", [0, Fraction(-1, 3), Fraction(10, 7)])
@pytest.mark.parametrize("slope", [Fraction(1), Fraction(-1), Fraction(2, 9), Fraction(1, 10**40)])
@pytest.mark.parametrize("base", [2, 16, 81, 10**12, 10**300, 10**300 - 1])
def test_floor_of_a_power(base, shift, slope):
    with mp.workdps(500):
        for exponent in (Fraction(0), Fraction(1, 2), Fraction(3, 4), Fraction(7, 10), Fraction(1, 300), Fraction(2)):
            x = number(shift) + number(slope) * mp.power(base, number(exponent))
            near = mp.nint(x)
            x = near if abs(x - near) < mp.mpf(10) ** -400 else x
            wanted = int(max(-1, min(10**13, mp.floor(x))))
            assert floor_linear(shift, slope, Power(base, exponent), 10**13) == wanted


@pytest.mark.parametrize(("base", "exponent"), [(2, "1/2"), (10, "7/10"), (7, "1e-20"), (10**300 - 1, "1/300")])
def test_the_floor_changes_at_an_irrational_power_itself(base, exponent):
    with mp.workdps(900):
        R = mp.power(base, number(Fraction(exponent)))
        below = Fraction(int(R * mp.mpf(10) ** 500), 10**500)  # by less than 10^-500
    power = Power(base, Fraction(exponent))
    assert floor_linear(5 - below, Fraction(1), power, 9) == 5
    assert floor_linear(5 - below - Fraction(1, 10**500), Fraction(1), power, 9) == 4


@pytest.mark.parametrize(("base", "exponent", "R"), [(10**6, "1/2", 1000), (32, "3/5", 8), (5, "1000", 5**1000)])
def test_the_floor_changes_at_a_whole_power_itself(base, exponent, R):
    power, tiny = Power(base, Fraction(exponent)), Fraction(1, 10**900)
    assert [floor_linear(5 - R + x, Fraction(1), power, 9) for x in (-tiny, 0, tiny)] == [4, 5, 5]
    assert [floor_linear(5 + R + x, Fraction(-1), power, 9) for x in (-tiny, 0, tiny)] == [4, 5, 5]


@pytest.mark.parametrize("a", [0, 1e-300, 5e-324])
def test_tiny_strengths_are_decided(a):
    """At a = 0 some S ties, and the tiniest a turns the tie into a decision."""
    assert tokens.law(10**300, 1002, a, 0.5).column_probability() == close(float(precise_column(10**300, 1002, a, 0.5)))


@pytest.mark.parametrize("a", [1e6, 1e100, 1e300])
def test_huge_strengths_are_decided(a):
    assert tokens.law(10**300, 1002, a, 0.5).column_probability() == 0.5


# Weights and values


@pytest.mark.parametrize("n", [3, 17, 1024, 10**12, 10**100, 10**300])
@pytest.mark.parametrize("a", ["0", "0.05", "0.5", "0.618033988749895", "0.7", "1", "2.5"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_to_twelve_digits(n, a, kernel):
    found, exponent = tokens.weights(n, a, kernel), number(a)
    with mp.workdps(1500):
        for e, w, rest in zip((exponent * (1 + exponent), exponent), found[:2], found[2:], strict=True):
            R = mp.power(n, e) if kernel == "softmax" else 1 + exponent
            for have, want in ((w, R / (R + n - 1)), (rest, (n - 1) / (R + n - 1))):
                assert abs(have - want) <= (1e-12 * want if want > mp.mpf(10) ** -307 else mp.mpf(10) ** -307)


def test_weights_far_out():
    assert tokens.weights(10**300, 1e200)[:] == (1, 1, 0, 0)
    assert tokens.weights(7, 0) == close((1 / 7, 1 / 7, 6 / 7, 6 / 7), rel=1e-15)
    assert min(tokens.weights(n, 0.7).p for n in range(2, 2000)) == close(0.6277, abs=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "a", "c"), [(2, 3, "0.7", "0.5"), (6, 5, "0.05", "0.9"), (8, 10, "1", "0.1")])
def test_values_are_the_definitions(n, d, a, c, kernel):
    marked, root = n // 2, mp.sqrt(mp.log(n))
    rows, own = outputs(n, d, a, c, kernel, marked), n // 2 % (d - 2) + 1
    for j in (marked, (marked + 1) % n):
        value = tokens.law(n, d, a, c, kernel).values()[j != marked]
        wanted = [root * x for x in rows[j]]
        for k, want in enumerate(wanted):
            name = {0: "first", own: "own", d - 1: "last"}.get(k, "others")
            assert getattr(value, name) == close(float(want), rel=1e-13)


# The main theorem


def test_worked_instance():
    found = tokens.errors(1024, 258, 10, 0.05, 0.7, 0.5)
    assert [float(f"{x:.9g}") for x in found[1:]] == [0.00346450383, 0.00346450383, 0.00321684311]
    assert float(f"{tokens.law(1024, 258, 0.7, 0.5).fires(10):.9g}") == 0.943686969
    assert found.softmax_silent_on_d1 == close(1 - 0.943686969482667, rel=1e-12)
    for a, kernel in product(("0.05", "0.7"), KERNELS):
        wanted = 1 - (1 - precise_column(1024, 258, a, "0.5", kernel)) ** 10
        assert abs(tokens.law(1024, 258, a, 0.5, kernel).fires(10) / wanted - 1) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("by", ["exact", "bound"])
@pytest.mark.parametrize(("delta", "c", "t"), [(0.1, 0.9, 1), (0.01, 0.9, 3), (Fraction(7, 8) ** 5, "0.8", 2)])
def test_sizes_are_smallest(delta, c, t, by):
    n, d, m = tokens.sizes(delta, 0.05, 0.7, c, t, by=by)

    def enough(d, m):
        return max(tokens.errors((d - 2) * t, d, m, 0.05, 0.7, c, by=by)) <= float(delta) * (1 + 1e-12)

    assert n == (d - 2) * t
    assert enough(d, m)
    assert not any(enough(d, fewer) for fewer in range(1, m))
    assert not any(enough(smaller, any_m) for smaller in range(4, d) for any_m in range(1, 2 * m))


def test_sizes_are_not_monotone():
    assert max(tokens.errors(376, 96, 8, 0.05, 0.7, 0.5)) <= 0.1
    assert all(max(tokens.errors(380, 97, m, 0.05, 0.7, 0.5)) > 0.1 for m in range(1, 40))


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("c", ["0.05", "0.5", "0.9"])
def test_bounds_hold(c, kernel):
    strong = weak = 0
    for d, t, a in product((3, 4, 9, 50, 300, 3000), (1, 4), ("0", "0.05", "0.1", "0.3", "0.7", "1.5")):
        if (n := (d - 2) * t) >= 2:
            low, high = tokens.law(n, d, a, c, kernel).column_bounds()
            assert low <= tokens.law(n, d, a, c, kernel).column_probability() <= high
            fires = tokens.law(n, d, a, c, kernel).fires(7)
            low, high = tokens.law(n, d, a, c, kernel).fires_bounds(7)
            assert low <= fires <= high
            strong, weak = strong + (low > 0), weak + (high < 1)
    assert strong
    assert weak


EVERY = (*OTHERS, "softmax", "linear", "topk:1", "topk:2", "topk:5", "polynomial:40")


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", EVERY)
def test_bounds_of_every_kernel_hold(kernel):
    strong = weak = 0
    for (d, t), a, c in product(((7, 1), (12, 3), (300, 1), (300, 4)), ("0", "0.05", "0.2", "1.5"), ("0.3", "0.95")):
        parameters = ((d - 2) * t, d, a, c, kernel)
        pi = tokens.law(*parameters).column_probability()
        for by in ("theorem", "mark"):
            low, high = tokens.law(*parameters).column_bounds(by)
            assert low <= pi <= high * (1 + 1e-12)
            strong, weak = strong + (low > 0), weak + (high < 1)
    assert strong or kernel == "softmax:0"
    assert weak


def test_numbers_beyond_an_arrays_are_counted_exactly():
    data = TokenData(n=10**300, d=1002, a="0.05", c="0.5")
    y = np.ones((1002, 1))
    y[1:502] = -1
    for k in (2, 10**20, 10**298 + 7, 10**300 - 5):
        assert tokens.Law(data, f"topk:{k}").fires_on(y) is False
        assert tokens.Law(data, f"topk:{k}").fires_on(-y) is False
        assert tokens.Law(data, f"topk:{k}").fires_on(abs(y)) is True
    assert tokens.Law(data).fires_on(np.ones((1002, 1), np.int8)) is True  # 999 is no int8


def test_top_k_with_two_long_kinds_of_classes_is_refused_or_computed():
    assert tokens.law(2 * 10**6, 10**6 + 2, "0.1", "0.5", "topk:1000000").column_probability() < 1e-300
    with pytest.raises(ValueError, match="groups: 500000 sums of all but the largest, must be at most 20000"):
        tokens.law(2 * 10**6, 10**6 + 2, "0.1", "0.5", "topk:1500000").column_probability()


def test_one_eighth_is_attained():
    assert tokens.law(2, 3, 0.7, 0.5).column_bounds()[0] == tokens.law(2, 3, 0.7, 0.5).column_probability() == 0.125


def test_a_mark_that_reaches_the_gap_exactly_proves_nothing():
    # a p = (1 + a)a/(n + a) = 2/(n + 1) at a = 1: equal to the gap at n = 19
    assert tokens.law(19, 21, 1, 0.5, "linear", 0.1).column_bounds() == (0.0, 1.0)
    assert tokens.law(18, 20, 1, 0.5, "linear", 0.1).column_bounds() == (0.125, 1.0)
    assert tokens.law(19, 21, 1, 0.5, "linear", 0.11).column_bounds()[1] < 1


def test_the_mark_must_stay_above_the_golden_ratio():
    found = [tokens.law(n, n // 4 + 2, 0.5, 0.5).fires(10) for n in (1024, 4096, 16384, 65536)]
    assert found == close([0.7287, 0.6474, 0.005907, 2.698e-29], rel=1e-3)


@pytest.mark.slow
def test_an_instance_is_what_the_signs_say(rng):
    data = TokenData(n=10**12, d=102, a=0.7, c=0.5, marked=3)
    fired = [tokens.Law(data).fires_on(signs(rng, data.d, 1, np)) for _ in range(2000)]
    pi = tokens.law(data.n, data.d, 0.7, 0.5).column_probability()
    assert abs(np.mean(fired) - pi) < 6 * math.sqrt(pi * (1 - pi) / 2000)


def test_an_instance_of_another_library(rng):
    strict = pytest.importorskip("array_api_strict")
    data = TokenData(n=8, d=6, a="0.7", c="0.5")
    for kernel in ("softmax", "linear", "topk:3"):
        verdicts = [
            (tokens.Law(data, kernel).fires_on(y), tokens.Law(data, kernel).fires_on(strict.asarray(y)))
            for y in (signs(rng, 6, 1, np) for _ in range(20))
        ]
        assert all(ours is other for ours, other in verdicts)
        assert len(set(verdicts)) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tokens.weights(1, 0.5), "n = 1"),
        (lambda: tokens.weights(5, -0.5), "a = -0.5"),
        (lambda: tokens.weights(5, 0.5, "cosine"), "kernel = 'cosine': must be one of softmax\\[:beta\\], linear"),
        (lambda: tokens.law(7, 5, 0.5, 0.5).values(), r"n = 7, d = 5: n must be \(d - 2\)t"),
        (lambda: tokens.law(6, 5, 0.5, 1).column_probability(), "c = 1: must lie strictly between 0 and 1"),
        (lambda: tokens.law(6, 5, math.nan, 0.5).column_probability(), "a = nan"),
        (lambda: tokens.law(6, 5, 0.5, 0.5, gap=-1).column_probability(), "gap = -1"),
        (lambda: tokens.law(6, 5, 0.5, 0.5).fires(0), "m = 0"),
        (lambda: tokens.law(6, 5, 0.5, 0.5).fires_bounds(0), "m = 0"),
        (lambda: tokens.errors(6, 5, 1, 0.05, 0.7, 0.5, by="luck"), "by = 'luck': must be one of exact, bound"),
        (lambda: tokens.weights(5, 1, "topk:6"), "kernel = 'topk:6': k must be at most n = 5"),
        (
            lambda: tokens.weights(5, 1, "window:1"),
            "kernel = 'window:1': no gain is known; matrices and sampling serve",
        ),
        (
            lambda: tokens.law(8, 6, 1, 0.5, "topk:3").least_plus(tokens.ALL_PLUS),  # one class is not seen
            "kernel = 'topk:3': the other classes must be equal",
        ),
        (lambda: tokens.law(6, 5, 1, 0.5, "topk:2").values(), "kernel = 'topk:2': has no closed form of four entries"),
        (
            lambda: tokens.Law(TokenData(n=6, d=5, a=1, c=0.5, marked=2), "topk:2"),
            "kernel = 'topk:2', marked = 2: the mark must be 0 for top-k, which breaks ties by position",
        ),
        (lambda: tokens.law(6, 5, 1, 0.5).column_bounds("luck"), "by = 'luck': must be one of theorem, mark"),
        (lambda: tokens.law(6, 5, 1, 0.5).fires_bounds(3, "luck"), "by = 'luck': must be one of theorem, mark"),
        (lambda: tokens.sizes(0.1, 0.05, 0.7, 0.5, by="luck"), "by = 'luck': must be one of exact, bound"),
        (lambda: tokens.sizes(1, 0.05, 0.7, 0.5), "delta = "),
        (lambda: tokens.sizes(0.1, 0.05, 0.7, 0.5, 0), "t = 0"),
        (lambda: tokens.sizes(0.1, 0.05, 0.7, 0.5, 10**292 + 1), r"t = 10+ … 0+1 .*: must be at most 10\^292"),
        (lambda: tokens.sizes(0.1, 0.05, 0.7, 0.5, d_max=3), "d_max = 3"),
        (
            lambda: tokens.sizes(0.1, 0.05, 0.7, 0.5, d_max=50),
            r"d_max = 50: no d up to it has all four errors at most delta = 0\.1 \(by = 'exact'\)",
        ),
        (
            lambda: tokens.Law(TokenData(n=3, d=5, a=1, c=0.5)).fires_on(np.ones((4, 1))),
            r"y: shape \(4, 1\), must be \(5, m\)",
        ),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_sizes_take_an_error_that_equals_delta():
    """P[silent on D_1] is (3/4)^9 at c = 0.9, n = 19; that its double is larger by a rounding must not matter."""
    assert tokens.sizes(0.75**9, 0.05, 0.7, 0.9) == (19, 21, 9)


@pytest.mark.parametrize("name", ["a0", "a1"])
def test_errors_name_the_strength_that_is_wrong(name):
    strengths = {"a0": 0, "a1": 1, "c": 0.5} | {name: -1}
    for call in (lambda: tokens.sizes(0.1, **strengths), lambda: tokens.errors(6, 5, 1, **strengths)):
        with pytest.raises(ValueError, match=f"{name} = -1"):
            call()


@pytest.mark.slow
def test_a_million_columns_are_decided_at_once(rng):
    """Eight thresholds, not one for each column."""
    data = tokens.TokenData(n=6, d=5, a=0.05, c=0.97)
    assert not tokens.Law(data).fires_on(signs(rng, 5, 300_000, np))


@pytest.mark.slow
def test_kernel_bounds_hold_at_random_parameters(rng):
    """Small d, several t and gaps: where the own class's other tokens and b w matter most."""
    kernels = (
        "softmax",
        "softmax:0.3",
        "linear",
        "polynomial:3",
        "taylor",
        "elu+1",
        "sigmoid",
        "sparsemax",
        "entmax",
        "hard",
        "topk:4",
    )
    told = 0
    for _ in range(1200):
        d, t = int(rng.integers(3, 14)), int(rng.integers(1, 15))
        a, c, gap = rng.uniform(0, 1, 3).round(2) * (1, 1, 0.7)
        if (d - 2) * t < 4 or not 0 < c < 1:
            continue
        parameters = ((d - 2) * t, d, round(a, 2), round(c, 2), kernels[rng.integers(len(kernels))], round(gap, 3))
        low, high = tokens.law(*parameters).column_bounds("mark")
        assert low <= tokens.law(*parameters).column_probability() <= high * (1 + 1e-12), parameters
        told += high < 1
    assert told > 100
    # Each of the two terms that the bound could lack: the mark's own b w, and the rest of its class.
    assert (
        tokens.law(6, 8, "0.48", "0.58", "softmax", "0.6").column_probability()
        <= tokens.law(6, 8, "0.48", "0.58", "softmax", "0.6").column_bounds("mark")[1]
    )
    assert tokens.law(40, 3, "0.1", "0.88", "linear").column_bounds("mark")[1] >= 0.25


def test_bounds_add_both_kinds_of_row():
    """Softmax has two rows for every a > 0, be it tiny, and one at a = 0 as linear attention always does."""
    for bound in (lambda *x: tokens.law(*x).column_bounds()[1], lambda *x: tokens.law(*x).column_bounds("mark")[1]):
        one, both = bound(4094, 4096, "1e-12", "0.5", "linear"), bound(4094, 4096, "1e-12", "0.5", "softmax")
        assert 0 < one < 0.1
        assert both == pytest.approx(2 * one, rel=1e-6)
        assert bound(4094, 4096, 0, "0.5", "softmax") == pytest.approx(one, rel=1e-6)
