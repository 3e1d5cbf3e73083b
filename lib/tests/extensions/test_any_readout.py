"""Readouts against 60-digit arithmetic written from the definition, and against the hardware's rounding."""

import math
from itertools import product

import numpy as np
import pytest

from attnsep.extensions import any_readout
from attnsep.paper import tokens

mpmath = pytest.importorskip("mpmath")  # a machine that lends its GPU may lack it; nothing here needs a GPU
mp = mpmath.mp.clone()
mp.dps = 60


def rows(n, t, a, c, kernel):
    """The marked row and another one, each as first entry, own class, other class, over the square root of log n."""
    n, a, b = mp.mpf(n), mp.mpf(a), 1 - mp.mpf(c)
    for own in (1 + a, mp.mpf(1)):
        gain = 1 + a if kernel == "linear" else n ** (a * own)
        w = gain / (gain + n - 1)
        rest = (1 - w) / (n - 1)
        yield a * w, b * (w + (t - 1) * rest), b * t * rest


def distances(n, t, a0, a1, c, kernel):
    squares = []
    mp.dps = 60 if n < 10**20 else 700  # near-equal weights at 10^300 need the digits
    for x, y in zip(rows(n, t, a0, c, kernel), rows(n, t, a1, c, kernel), strict=True):
        first, own, other = ((v - u) ** 2 for u, v in zip(x, y, strict=True))
        squares.append(mp.log(n) * (first + own + (n // t - 1) * other))
    return [mp.sqrt(q) for q in (*squares, squares[0] + (n - 1) * squares[1])]


@pytest.mark.parametrize("kernel", tokens.KERNELS)
@pytest.mark.parametrize(
    ("n", "t"), [(2, 2), (2, 1), (12, 4), (1000, 4), (10**6, 5 * 10**5), (10**30, 1), (10**300, 10)]
)
def test_distances(n, t, kernel):
    pairs = (("0", "0.7"), ("0.05", "0.7"), ("0.3", "0.300001"), ("0.5", "1"), ("2", "3"), ("0.7", "0.05"))
    for (a0, a1), c in product(pairs, ("0.1", "0.9")):
        found = any_readout.distances(n, n // t + 2, a0, a1, c, kernel)
        for value, wanted in zip(found, distances(n, t, a0, a1, c, kernel), strict=True):
            assert abs(value - wanted) <= 1e-11 * wanted


def test_distances_vanish_for_equal_strengths():
    assert any_readout.distances(6, 5, "0.7", 0.7, 0.5) == (0, 0, 0)


@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_a_table_has_the_distance_of_each_pair(kernel):
    table = any_readout.distance_table(20, 12, (0, 1, "0.5"), 0.5, kernel)
    for row, x in zip(table, (0, 1, "0.5"), strict=True):
        assert row == [any_readout.distances(20, 12, x, y, 0.5, kernel).output for y in (0, 1, "0.5")]


def test_a_distance_that_no_double_holds_is_said_of_the_strengths_as_they_were_given():
    with pytest.raises(ValueError, match=r"a0 = 1e300, a1 = 0: the distance is too large for a double"):
        any_readout.distances(10**300, 12, "1e300", 0, "0.5")


def test_accuracy():
    for distance, s in ((0.01, 1.0), (1.0, 0.5), (3.0, 1.0), (1e-200, 1e-200)):
        wanted = mpmath.ncdf(mp.mpf(distance) / (2 * mp.mpf(s)))
        assert any_readout.accuracy(distance, s) == pytest.approx(float(wanted), rel=1e-14)
        assert any_readout.total_variation(distance, s) == pytest.approx(float(2 * wanted - 1), rel=1e-12)
    assert any_readout.accuracy(0.0, 3) == 0.5
    assert any_readout.accuracy(1e300, 1e-300) == 1


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_accuracy_rejects(bad):
    with pytest.raises(ValueError, match="distance"):
        any_readout.accuracy(bad, 1)
    with pytest.raises(ValueError, match="noise = "):
        any_readout.accuracy(1, bad)


def test_rounded_as_hardware(rng):
    x = np.concatenate([rng.standard_normal(2000) * 10.0 ** rng.integers(-9, 4, 2000), [0.0, 1.5 * 2.0**-24]])
    ties = np.arange(1, 200) * 2.0**-12 + 1  # every second one lies between two float16 numbers
    x = np.concatenate([x, ties, -ties])
    assert np.array_equal(any_readout.rounded(x, "float16"), x.astype(np.float16).astype(float))
    assert np.array_equal(any_readout.rounded(x, "float32"), x.astype(np.float32).astype(float))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.concatenate([x, x * 1e-38])
    # By way of float32 a number may be rounded twice; these are not.
    x = x.astype(np.float32).astype(float)
    assert np.array_equal(any_readout.rounded(x, "bfloat16"), x.astype(ml_dtypes.bfloat16).astype(float))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int8])
def test_what_is_rounded_becomes_float64(kind):
    found = any_readout.rounded(np.array([3, -100], dtype=kind), "bfloat16")
    assert (found.dtype, found.tolist()) == (np.float64, [3, -100])


def test_rounded_rejects_a_format():
    with pytest.raises(TypeError, match="x: is a masked array"):
        any_readout.rounded(np.ma.masked_equal([1.0, 2.0], 2.0), "float16")
    with pytest.raises(ValueError, match=r"^x = 70000\.0: is too large for form = 'float16'"):  # rounded: 70016
        any_readout.rounded(70000.0, "float16")
    with pytest.raises(ValueError, match="float64"):
        any_readout.rounded(1.0, "float64")


@pytest.mark.parametrize("form", ["float16", "float32"])
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_share_is_that_of_all_sign_vectors(form, kernel):
    n, d, kind = 20, 12, getattr(np, form)
    y = np.array(list(product((1.0, -1.0), repeat=d)))
    entries = []
    for a in ("0.3", "0.30001"):
        first, own, other = (float(x) for x in next(rows(n, 2, a, "0.5", kernel)))
        c = np.sqrt(np.log(n)) * np.array([first, own, *[other] * (d - 3), 0.5])
        entries.append((y @ c).astype(kind))
    share = np.mean(entries[0] != entries[1])
    assert share > 0
    assert any_readout.share_told_apart(n, d, "0.3", "0.30001", 0.5, form, kernel) == pytest.approx(share, abs=1e-12)


def test_sign_sums():
    sums, mass = any_readout._sign_sums(5)
    assert sums.tolist() == [-5, -3, -1, 1, 3, 5]
    np.testing.assert_allclose(mass * 32, [1, 5, 10, 10, 5, 1], rtol=1e-13)
    sums, mass = any_readout._sign_sums(10**6)
    assert abs(math.fsum(mass * sums**2) / 10**6 - 1) < 1e-6
    assert any_readout._sign_sums(0)[0].tolist() == [0]


def test_several_against_hand():
    tv = [[any_readout.total_variation(abs(i - j), 0.4) for j in range(3)] for i in range(3)]
    low, high = any_readout.several([[abs(i - j) for j in range(3)] for i in range(3)], 0.4)
    misses = [(1 - tv[0][1] + 1 - tv[0][2]) / 2, 1 - tv[1][0], (1 - tv[2][0] + 1 - tv[2][1]) / 2]
    assert low == pytest.approx(1 - sum(misses) / 3)
    assert high == pytest.approx(min(1, (1 + 2 * tv[1][0]) / 3))
    # Three points on a line: the best accuracy is that of cutting in the middles.
    edge = float(mpmath.ncdf(0.5 / 0.4))
    assert low < (2 * edge + 2 * edge - 1) / 3 == pytest.approx(high)


def test_several_rejects_a_table_that_is_not_square():
    with pytest.raises(ValueError, match="square"):
        any_readout.several([[0, 1]], 1)
    with pytest.raises(ValueError, match=r"^table = \[\[0, 1\], \[-1, 0\]\]: must have no distance below 0"):
        any_readout.several([[0, 1], [-1, 0]], 1)


@pytest.mark.parametrize("kernel", tokens.KERNELS)
@pytest.mark.parametrize("n", [12, 10**6, 10**300])
def test_recovery_probability(n, kernel):
    def h(a):
        gain = 1 + a if kernel == "linear" else mp.mpf(n) ** a
        return a * gain / (gain + n - 1) * mp.sqrt(mp.log(n))

    mp.dps = 60 if n < 10**20 else 700
    a, within, scale = mp.mpf("0.6"), mp.mpf("0.1"), mp.sqrt(n - 1) / 3
    wanted = mpmath.ncdf((h(a + within) - h(a)) * scale) - mpmath.ncdf((h(a - within) - h(a)) * scale)
    assert any_readout.recovery_probability(n, "0.6", "0.1", 3, kernel) == pytest.approx(float(wanted), rel=1e-9)


def test_recovery_probability_rejects():
    with pytest.raises(ValueError, match="within"):
        any_readout.recovery_probability(12, 0.1, 0.2, 1)
    with pytest.raises(ValueError, match="n = 1"):
        any_readout.recovery_probability(1, 0.3, 0.2, 1)


@pytest.mark.parametrize("form", any_readout.FORMATS)
def test_a_format_has_a_largest_and_a_smallest_number(form):
    kind = pytest.importorskip("ml_dtypes").finfo(form)
    largest, least = float(kind.max), float(kind.smallest_subnormal)
    assert any_readout.rounded(np.array([largest, -largest, least]), form).tolist() == [largest, -largest, least]
    found = any_readout.rounded(np.array([0.25, 0.5, 0.75, 1.25, 1.5]) * least, form) / least
    assert found.tolist() == [0, 0, 1, 1, 2]  # ties to even
    beyond = largest + float(kind.eps) / 2 * 2.0 ** (
        math.frexp(largest)[1] - 1
    )  # halfway to the next number, which is too large
    for x in (beyond, np.array([1.0, -beyond])):
        with pytest.raises(ValueError, match=f"is too large for form = '{form}'"):
            any_readout.rounded(x, form)


def test_a_share_says_which_arguments_no_format_holds():
    with pytest.raises(ValueError, match=r"^n, a0, a1, form = 'float16': x = .*: is too large for form = 'float16'"):
        any_readout.share_told_apart(4, 4, 10**5, 1, "0.5", "float16", "softmax")
    with pytest.raises(ValueError, match=r"^form = 'float64': must be one of float16, bfloat16, float32"):
        any_readout.share_told_apart(4, 4, 0, 1, "0.5", "float64")


def test_outputs_that_are_all_the_same_are_guessed():
    assert any_readout.several([[0] * 4] * 4, 1) == (0, 0.25)


def test_a_strength_may_be_as_small_as_the_tolerance():
    assert 0 < any_readout.recovery_probability(12, "0.2", "0.2", 1) < 1


def test_two_tokens_are_enough_to_recover_a_strength():
    assert 0 < any_readout.recovery_probability(2, "0.6", "0.1", 1) < 0.1
