import math
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention import kernels, reference
from attnsep.attention._rows import times
from attnsep.attention.kernels import PAIR, Polynomial, Relu, Sigmoid, TopK, Window, linear, softmax, weights

ROWS = [[0.5], [1.0, 3.0], [-2.0, 0.5, 4.0], [700.0, -700.0, 699.0], [-3.0, -1.0], [1e-300, 2e-300], [5.0] * 9]


@pytest.mark.parametrize("name", PAIR)
@pytest.mark.parametrize("row", ROWS)
def test_equal_to_the_slow_twin(xp, name, row):
    f = to_numpy(weights(xp.asarray(row), name))
    np.testing.assert_allclose(f, reference.weights(row, name), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", PAIR)
def test_rows_sum_to_one_and_dtype_is_kept(xp, rng, name, dtype):
    scores = xp.asarray(rng.uniform(0.1, 5.0, (3, 4, 17)), dtype=getattr(xp, dtype))
    f = weights(scores, name)
    assert f.dtype == scores.dtype
    assert f.shape == scores.shape
    np.testing.assert_allclose(to_numpy(xp.sum(f, axis=-1)), 1.0, rtol=20 * np.finfo(dtype).eps)


def test_softmax_against_sixty_digits(rng):
    mpmath = pytest.importorskip("mpmath")
    scores = rng.uniform(-700, 700, 40)
    with mpmath.workdps(60):
        u = [mpmath.exp(mpmath.mpf(float(s))) for s in scores]
        wanted = [float(entry / mpmath.fsum(u)) for entry in u]
    np.testing.assert_allclose(softmax(scores), wanted, rtol=4 * np.finfo(float).eps * 1401)


def test_linear_against_fractions(rng):
    scores = rng.uniform(-1, 2, 40)
    wanted = [float(entry) for entry in reference.weights([Fraction(float(s)) for s in scores], "linear")]
    np.testing.assert_allclose(linear(scores), wanted, rtol=1e-13)


@pytest.mark.parametrize("name", PAIR)
def test_permuting_tokens_permutes_weights(rng, name):
    scores, order = rng.uniform(0.1, 3, 12), rng.permutation(12)
    np.testing.assert_allclose(weights(scores[order], name), weights(scores, name)[order], rtol=1e-14)


def test_masked_tokens_get_no_weight():
    assert softmax(np.array([0.0, -np.inf, 0.0])).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_softmax_rejects_rows_without_weights(xp, row):
    with pytest.raises(ValueError, match="scores: a row has NaN or inf"):
        softmax(xp.asarray([[1.0, 2.0], row]))


@pytest.mark.parametrize("row", [[1.0, -1.0], [0.0, 0.0], [0.1, 0.2, -0.3]])
def test_linear_rejects_rows_without_a_sum(xp, row):
    """0.1 + 0.2 − 0.3 is 5.6e-17 in doubles: a sum that is nothing but rounding is no normaliser."""
    with pytest.raises(ValueError, match=r"scores: a row sums to 0 .*alpha_lin = 0"):
        linear(xp.asarray(row))


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [np.inf, -np.inf]])
def test_linear_rejects_rows_that_are_not_finite(xp, row):
    with pytest.raises(ValueError, match="scores: a row has NaN or inf"):
        linear(xp.asarray([[1.0, 2.0], row]))


@pytest.mark.parametrize("kernel", ["linear", "polynomial:1", "polynomial:2", "squared-relu"])
def test_a_sum_that_is_too_large_is_not_a_score_that_is(xp, kernel):
    """Another row of the same array is of the smallest numbers that there are."""
    row = np.array([1.5e308] * 3 + [0.0])
    f = to_numpy(weights(xp.asarray([row, row / 2**1000, [5e-324] * 3 + [0.0]]), kernel))
    np.testing.assert_allclose(f, [[1 / 3, 1 / 3, 1 / 3, 0]] * 3, rtol=1e-15)
    np.testing.assert_allclose(to_numpy(weights(xp.asarray([[1.5e308] * 40]), kernel)), 1 / 40, rtol=1e-15)


def test_what_a_long_sum_of_both_signs_may_be_off_by(xp):
    """An addition is off by ε of what is added, and a term passes through 16 and twice 17 of them at most."""
    row = np.tile([1.0, -1.0], 2**15)
    for roundings, fits in ((45, False), (55, True)):
        row[0] = 1 + roundings * 2.0**-52 * row.size
        if fits:
            assert to_numpy(linear(xp.asarray([row])))[0, 2] == pytest.approx(1 / (row[0] - 1), rel=1e-14)
        else:
            with pytest.raises(ValueError, match="alpha_lin = 0"):
                linear(xp.asarray([row]))


def test_a_factor_far_from_all_floats_is_met_in_steps(xp):
    for x, factor, wanted in (
        (1e38, Fraction(1, 10**60), 1e-22),
        (1e-38, Fraction(10) ** 60, 1e22),
        (7.0, Fraction(0), 0),
    ):
        found = times(xp, xp.asarray([x], dtype=xp.float32), factor)
        np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-5)


def test_every_row_of_a_batch_has_its_own_rounding(xp):
    f = linear(xp.asarray([[1e20, 1e20], [1.0, 3.0]]))
    np.testing.assert_allclose(to_numpy(f), [[0.5, 0.5], [0.25, 0.75]], rtol=1e-15)
    row = np.tile([1.0, -1.0], 500)
    row[0] += 2.0**-40  # 4096 ε, where 1000 additions of sizes up to 1000 may be off by a million ε
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        linear(xp.asarray(row[None, :]))


@pytest.mark.slow
def test_linear_accepts_long_rows_of_one_sign():
    f = linear(np.ones(10_000_000, dtype=np.float32))  # here n times float32's epsilon is above 1
    assert float(f[0]) == pytest.approx(1e-7)


@pytest.mark.parametrize("kernel", [softmax, linear])
def test_kernels_reject_what_has_no_rows(kernel):
    with pytest.raises(TypeError, match="must be an array"):
        kernel([1.0, 2.0])
    with pytest.raises(TypeError, match="dtype int64, must be float64 or float32"):
        kernel(np.array([1, 2]))
    for empty in (np.ones((2, 0)), np.array(1.0)):
        with pytest.raises(ValueError, match="at least one token"):
            kernel(empty)


@pytest.mark.parametrize("kernel", [softmax, linear])
def test_half_precision_is_refused(kernel):
    """Its sum over 70000 tokens overflows, and all weights would be 0."""
    with pytest.raises(TypeError, match="scores: dtype float16"):
        kernel(np.ones(70_000, np.float16))


# All kernels whose weights depend on the scores alone

NAMES = (
    "softmax:0", "softmax:0.5", "polynomial:1", "polynomial:3", "polynomial:8", "squared-relu", "taylor", "sigmoid",
    "topk:1", "topk:2", "sparsemax", "entmax", "hard",
)  # fmt: skip
SHIFTABLE = ("softmax", "softmax:0.5", "topk:2", "sparsemax", "entmax", "hard")
MASKABLE = ("softmax", "softmax:2", "squared-relu", "sigmoid", "topk:2", "sparsemax", "entmax", "hard")
FAR = [
    [1.0, 3.0],
    [-2.0, 0.5, 4.0],
    [-3.0, -1.0, -1.25, 0.5],
    [700.0, -700.0, 699.0],
    [5.0] * 9,
    [0.0, 0.25, 0.5, 0.25, 0.0, 0.5, 0.5],
    [1e200, -1e200, 1e199],
    [0.0, 1.0, 2.0 - 2**-40, 2.0, -1e9],
]


@cache  # for both libraries
def twin(row, kernel):
    """The twin on Fractions, where it can."""
    exact = not kernel.startswith(("softmax", "sigmoid", "topk"))
    return [float(f) for f in reference.weights([Fraction(s) if exact else s for s in row], kernel)]


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("row", FAR)
def test_every_kernel_is_its_slow_twin(xp, kernel, row):
    if (largest := max(map(abs, row))) > 700 and kernel.startswith(("softmax", "sigmoid", "topk")):
        row = [s / largest for s in row]  # the twin's exponentials would overflow
    f = to_numpy(weights(xp.asarray([row, row]), kernel))
    np.testing.assert_allclose(f, [twin(tuple(row), kernel)] * 2, rtol=1e-12, atol=1e-15)


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", NAMES)
def test_random_rows_are_their_slow_twin_in_both_precisions(xp, rng, kernel):
    scores = rng.uniform(0.05, 3, (4, 30))
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-4)):
        row = xp.asarray(scores, dtype=getattr(xp, dtype))
        f = weights(row, kernel)
        assert f.dtype == row.dtype
        assert f.shape == row.shape
        wanted = [twin(tuple(line.tolist()), kernel) for line in to_numpy(row)]
        np.testing.assert_allclose(to_numpy(f), wanted, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize("kernel", NAMES)
def test_permuting_tokens_permutes_all_weights(rng, kernel):
    scores, order = rng.uniform(0.1, 3, 12), rng.permutation(12)
    np.testing.assert_allclose(weights(scores[order], kernel), weights(scores, kernel)[order], rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("kernel", SHIFTABLE)
def test_a_shift_changes_nothing(rng, kernel):
    scores = rng.integers(-64, 64, 12) / 16  # exact sums
    np.testing.assert_allclose(weights(scores + 1000, kernel), weights(scores, kernel), rtol=1e-12)


def test_a_shift_changes_the_others():
    row = np.array([1.0, 2.0])
    for kernel in ("linear", "polynomial:2", "squared-relu", "taylor", "sigmoid"):
        assert abs(weights(row + 1, kernel) - weights(row, kernel)).max() > 0.01


@pytest.mark.parametrize("kernel", MASKABLE)
@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_masked_token_is_as_one_left_out(xp, rng, kernel, scale):
    scores = scale * np.append(rng.standard_normal(6), 1.0)
    masked = weights(xp.asarray(np.insert(scores, [0, 4], -np.inf)), kernel)
    wanted = np.insert(weights(scores, kernel), [0, 4], 0)
    np.testing.assert_allclose(to_numpy(masked), wanted, rtol=1e-14)


@pytest.mark.parametrize(
    "kernel", ["squared-relu", "taylor", "sigmoid", "topk:1", "sparsemax", "entmax", "hard", "polynomial:2"]
)
@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_rows_without_weights_are_refused_without_a_warning(xp, kernel, row):
    with pytest.raises(ValueError, match="scores: a row"):
        weights(xp.asarray([[1.0, 2.0], row]), kernel)


def test_top_k_gives_ties_to_the_lowest_index(xp):
    found = [to_numpy(TopK(k).weights(xp.asarray([1.0, 2.0, 1.0, 2.0, 1.0]))) for k in range(1, 6)]
    assert [np.flatnonzero(f).tolist() for f in found] == [[1], [1, 3], [0, 1, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]
    assert np.flatnonzero(to_numpy(TopK(2).weights(xp.asarray([0.0, -0.0, 0.0])))).tolist() == [0, 1]
    long = xp.asarray([1.0, 2.0] * 500)  # a sort that is not stable keeps the order of few
    assert np.flatnonzero(to_numpy(TopK(502).weights(long))).tolist() == [0, 1, 2, *range(3, 1000, 2)]


def test_top_k_counts_tokens_and_not_rows(xp):
    f = to_numpy(TopK(np.int64(3)).weights(xp.asarray([[0.0, 1.0, 2.0, 3.0, 4.0]] * 2)))
    np.testing.assert_allclose(f[:, 2:], [softmax(np.array([2.0, 3.0, 4.0]))] * 2, rtol=1e-15)
    assert f[:, :2].max() == 0
    with pytest.raises(ValueError, match=r"kernel = .topk:3.: k = 3 must be at most n = 2"):
        TopK(3).weights(xp.asarray([[0.0, 1.0]] * 5))


def test_sigmoids_of_very_negative_scores_keep_their_ratio():
    """1/(1 + e^745.5) is a subnormal double of one bit, and 1/(1 + e^2000) is 0."""
    for low in (-745.0, -2000.0):
        np.testing.assert_allclose(
            Sigmoid().weights(np.array([low, low - 0.5])), softmax(np.array([0.0, -0.5])), rtol=1e-14
        )


# Long rows: a sum of many terms, and a threshold that many scores lie just above

LONG = (
    "softmax",
    "softmax:0.5",
    "linear",
    "polynomial:3",
    "squared-relu",
    "taylor",
    "sigmoid",
    "topk:7",
    "sparsemax",
    "entmax",
    "hard",
)


SPIKES = (0.3, 0.999, 1.01, 1.2, 1.9999, 3.3)
LONG_ROWS = {
    **{f"spike {gap}": lambda rng, n, gap=gap: np.append(0.0, np.full(n - 1, -gap)) for gap in SPIKES},
    "constant": lambda rng, n: np.full(n, 0.1),
    "ties": lambda rng, n: rng.integers(-3, 5, n) / 4,
    "normal": lambda rng, n: rng.standard_normal(n) + 1,
    "even steps": lambda rng, n: np.linspace(0.05, 3, n),
    "two values": lambda rng, n: np.where(np.arange(n) % 2, 0.5, 0.25),
    "a crowd below a spike": lambda rng, n: np.append(1.0, rng.uniform(0, 0.01, n - 1)),
    "ever closer to 0": lambda rng, n: 2.0 ** -np.minimum(np.arange(n), 60.0),
}


def exact_sum(x):
    """Return a sum that is right to the last place, faster than `math.fsum`.

    Coarse parts, of at most 30 bits, add up without rounding; the rests that they leave are too small to matter.
    """
    x = np.asarray(x, dtype=float)
    unit = 2.0 ** (np.ceil(np.log2(np.max(np.abs(x)))) - 30)
    coarse = np.round(x / unit) * unit
    return float(np.sum(coarse)) + float(np.sum(x - coarse))


def assert_weights(scores, f, kernel, order=None):
    """What every row of weights must keep, whatever its length: its sum, signs, ties and order."""
    if order is None or kernel == "taylor":  # whose feature map is even about −1
        order = np.argsort(np.abs(scores + 1) if kernel == "taylor" else scores, kind="stable")
    few = 4 * np.finfo(scores.dtype).eps
    assert abs(exact_sum(f) - 1) <= few * exact_sum(np.abs(f)), kernel
    if kernel in ("linear", "polynomial:3"):
        total = exact_sum(scores.astype(float) ** (3 if kernel != "linear" else 1))
        assert np.all(f * np.sign(total) * scores >= 0), kernel
        f = f * np.sign(total)
    else:
        assert np.min(f) >= 0, kernel
    if kernel.startswith("topk"):  # ties at the border go to the lowest index
        assert np.count_nonzero(f) == min(int(kernel[5:]), scores.size)
        return
    steps = np.diff(f[order].astype(float))
    assert np.all(steps >= -few * np.max(np.abs(f))), kernel
    assert np.all(steps[np.diff(scores[order]) == 0] == 0), kernel


def test_the_exact_sum_is_that_of_fsum(rng):
    for x in (rng.standard_normal(10_001), 10.0 ** rng.uniform(-20, 5, 10_001), np.append(1.0, np.full(9999, -1e-4))):
        assert exact_sum(x) == pytest.approx(math.fsum(x), rel=3e-16, abs=1e-19 * np.sum(np.abs(x)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("row", LONG_ROWS)
@pytest.mark.parametrize("n", [8, 1355, 20_001, pytest.param(200_001, marks=pytest.mark.slow)])
def test_long_rows_keep_sum_signs_ties_and_order(rng, n, row, dtype):
    scores = LONG_ROWS[row](rng, n).astype(dtype)
    order = np.argsort(scores, kind="stable")  # once for all kernels: it takes longer than their weights
    for kernel in LONG:
        if kernel != "squared-relu" or scores.max() > 0:
            assert_weights(scores, weights(scores, kernel), kernel, order)


@pytest.mark.parametrize("kernel", LONG)
@pytest.mark.parametrize("row", [[0.25], [-0.5]])
def test_one_token_has_all_the_weight(xp, kernel, row):
    if kernel == "topk:7":
        kernel = "topk:1"
    if kernel == "squared-relu":
        row = np.abs(row)
    for dtype in (xp.float64, xp.float32):
        assert to_numpy(weights(xp.asarray(row, dtype=dtype), kernel)).tolist() == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", LONG)
def test_rows_that_are_not_contiguous_lose_nothing(rng, kernel):
    """NumPy adds such a row one term after the other."""
    scores = np.asfortranarray(rng.uniform(0.5, 1, (3, 100_000)).astype("float32"))
    for line, f in zip(scores, weights(scores, kernel), strict=True):
        assert_weights(line, f, kernel)


@pytest.mark.parametrize(
    ("kernel", "row"),
    [
        ("sparsemax", np.append(0, np.full(1354, -1.01))),
        ("sparsemax", np.append(0, np.full(9999, -1.2))),
        ("entmax", np.append(0, np.full(8034, -3.3))),
        ("entmax", np.append(0, np.full(8034, -2.0))),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_crowd_below_the_threshold_has_no_weight(xp, kernel, row, dtype):
    f = to_numpy(weights(xp.asarray(row.astype(dtype)), kernel))
    assert f.tolist() == [1.0] + [0.0] * (row.size - 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n", [3, 2000, pytest.param(10**6, marks=pytest.mark.slow)])
def test_a_crowd_just_above_the_threshold_shares_what_the_spike_leaves(n, dtype):
    """With a gap g, sparsemax gives w + g and n − 1 times w; entmax with a gap 2g gives squares of such numbers."""
    few = 4 * np.finfo(dtype).eps
    for gap in (0.25, 0.9375, 1 - 2.0**-11):
        row = np.append(0, np.full(n - 1, -gap)).astype(dtype)
        w = (1 - gap) / n
        np.testing.assert_allclose(weights(row, "sparsemax")[:2], [w + gap, w], rtol=few, atol=few / n)
        w = (1 - gap**2) / (gap + math.sqrt(gap**2 + n * (1 - gap**2)))  # of n w² + 2 g w = 1 − g²
        np.testing.assert_allclose(weights(2 * row, "entmax")[:2], [(w + gap) ** 2, w**2], rtol=few, atol=few / n)


def test_gaps_that_no_float_holds_are_far_enough():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kernel in ("softmax", "softmax:2", "softmax:1e300", "topk:2", "sparsemax", "entmax", "hard", "sigmoid"):
            for largest in (1e308, 1.7e308):
                scores = np.array([largest, -largest])
                assert weights(scores, kernel).tolist() == [1, 0], kernel
                assert weights((scores / 1e270).astype("float32"), kernel).tolist() == [1, 0], kernel


def test_a_factor_meets_the_gap_and_not_the_scores(xp):
    """The gap of 1e308 and −1e308 is no double, 1e308 times 1e10 is none, and 5e-309 is no normal one."""
    wanted = softmax(np.array([0.0, -1.0]))
    for row, kernel in (([1e308, -1e308], "softmax:5e-309"), ([1e10, 1e10 - 2.0**-19], f"softmax:{2**19}")):
        np.testing.assert_allclose(to_numpy(weights(xp.asarray(row), kernel)), wanted, rtol=1e-13)
    assert to_numpy(weights(xp.asarray([1e308, 0.99e308]), "softmax:1e10")).tolist() == [1, 0]
    for dtype, row, kernel in (("float32", [0, -1e-38], "softmax:1e38"), ("float32", [3e38, 2e38], "softmax:1e-38")):
        found = to_numpy(weights(xp.asarray(np.array(row, dtype)), kernel))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert to_numpy(weights(xp.asarray(np.array([1e-30, 2e-30], "float32")), "softmax:1e300")).tolist() == [0, 1]


def test_a_factor_of_zero_leaves_masked_tokens_out(xp):
    assert to_numpy(weights(xp.asarray([1.0, -np.inf, 5.0]), "softmax:0")).tolist() == [0.5, 0, 0.5]


class Tagged(np.ndarray):
    """A subclass with no rules of its own, which another may have."""


@pytest.mark.parametrize("kernel", LONG)
def test_arrays_with_rules_of_their_own_are_refused(kernel):
    with pytest.raises(TypeError, match=r"scores: is a masked array, .* -inf where a token is masked"):
        weights(np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]), kernel)
    with pytest.raises(TypeError, match=r"scores: is a .*Tagged, must be a plain array"):
        weights(np.ones(9).view(Tagged), kernel)


def test_a_memory_map_is_an_array(tmp_path):
    scores = np.memmap(tmp_path / "scores", dtype=float, shape=(2, 3), mode="w+")
    np.testing.assert_allclose(softmax(scores), 1 / 3, rtol=1e-15)


def test_powers_of_any_degree_keep_their_sign():
    assert kernels.HIGHEST < 2**64  # CuPy takes no larger integers
    assert np.nextafter(1.0, 0.0) ** kernels.HIGHEST == 0
    for degree in (10**300, 2**60, 3 * 10**30):
        assert Polynomial(degree).weights(np.array([-2.0, 1.0, 1.5])).tolist() == [1, 0, 0]
    assert Polynomial(10**300 + 1).weights(np.array([-2.0, 2.0, 2.0])).tolist() == [-1, 1, 1]
    assert Polynomial(10**300).weights(np.array([3.0, 2.0], np.float32)).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda row: Polynomial(0).weights(row), ValueError, "degree = 0: must be at least 1"),
        (lambda row: Polynomial(0.5).weights(row), TypeError, "degree = 0.5: must be an integer"),
        (lambda row: Polynomial(3).weights(row), ValueError, "scores: the powers of a row sum to 0 within rounding"),
        (
            lambda row: Polynomial(2).weights(0 * row),
            ValueError,
            "scores: the powers of a row sum to 0 within rounding",
        ),
        (lambda row: weights(-abs(row), "squared-relu"), ValueError, "scores: a row has no score above 0"),
        (lambda row: weights(row * [1, np.nan], "squared-relu"), ValueError, "scores: a row has NaN or inf"),
        (lambda row: TopK(0).weights(row), ValueError, "k = 0: must be at least 1"),
        (lambda row: TopK(1.5).weights(row), TypeError, "k = 1.5: must be an integer"),
        (lambda row: TopK(3).weights(row), ValueError, "kernel = .topk:3.: k = 3 must be at most n = 2"),
        (
            lambda row: weights(row, "window:2"),
            ValueError,
            "kernel = 'window:2': has weights that depend on more than the scores; use attention.attend",
        ),
        (lambda row: weights(row, "elu.1"), ValueError, "kernel = 'elu.1': must be one of"),
        (lambda row: weights(row.astype(int), "hard"), TypeError, "scores: dtype int64"),
        (lambda row: weights(row.astype(int), "softmax:2"), TypeError, "scores: dtype int64"),
        (lambda row: Relu().weights(row[None], np.ones((0, 2))), ValueError, r"k: shape \(0, 2\), must have at least"),
        (lambda row: Relu().weights(row[None][:0], row[None]), ValueError, r"q: shape \(0, 2\), must have at least"),
        (
            lambda row: Window(1).weights(row[None] * np.nan, row[None]),
            ValueError,
            "q, k, positions: scores: a row has NaN",
        ),
        (lambda row: weights(row[:0], "entmax"), ValueError, "scores: shape \\(0,\\), must have at least one token"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(np.array([-1.0, 1.0]))
