"""Streamed attention against all scores at once, against the literal twin, and its memory."""

import tracemalloc
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product
from operator import mul
from types import SimpleNamespace

import array_api_compat.numpy
import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention import _fast, kernels, reference
from attnsep.attention import _streams as module
from attnsep.attention.attend import attend, distinct_rows, query_scores, row_scores, values
from attnsep.paper import tokens
from attnsep.paper.network import fires, network, signs
from attnsep.paper.tokens import TokenData

EPS = np.finfo(float).eps
KERNELS = ("softmax", "linear")


def direct(q, k, v, kernel):
    return kernels.weights(q @ k.T, kernel) @ v


def draw(rng, rows, n, d, width):
    """Positive entries, so that linear row sums do not cancel."""
    return rng.uniform(0, 1, (rows, d)), rng.uniform(0, 1, (n, d)), rng.standard_normal((n, width))


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("blocks", [(1, 1, 1), (2, 6, 3), (3, 7, 2), (512, 2**17, 1024)])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (5, 7, 3, 2), (8, 6, 2, 4), (1, 9, 4, 3)])
def test_streamed_is_direct(xp, rng, monkeypatch, shape, blocks, unique, kernel):
    for name, size in zip(("BLOCK_ROWS", "BLOCK_SCORES", "BLOCK_KEYS"), blocks, strict=True):
        monkeypatch.setattr(module, name, size)
    q, k, v = draw(rng, *shape)
    q[-1] = q[0]
    found = attend(*(xp.asarray(x) for x in (q, k, v)), kernel=kernel, unique=unique)
    assert found.dtype == xp.float64
    np.testing.assert_allclose(to_numpy(found), direct(q, k, v, kernel), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(
        to_numpy(found), reference.attend(q.tolist(), k.tolist(), v.tolist(), kernel), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", ["linear", "relu", "elu+1"])
@pytest.mark.parametrize(("dtype", "large", "small"), [("float64", 1.5e308, 1e-300), ("float32", 3e38, 1e-30)])
def test_a_row_sum_that_overflows_is_not_an_output_of_zero(xp, kernel, dtype, large, small):
    """Two keys whose sum is too large, values so small that every product stays finite."""
    q, k, v = (xp.asarray(np.full(shape, x, dtype)) for shape, x in (((1, 1), 1), ((2, 1), large), ((2, 1), small)))
    np.testing.assert_allclose(to_numpy(attend(q, k, v, kernel=kernel)), small, rtol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 30.0, 1e4])
def test_softmax_meets_larger_scores_late(rng, monkeypatch, scale):
    """Ascending scores change the maximum in every block; huge ones overflow unless it is subtracted."""
    monkeypatch.setattr(module, "BLOCK_SCORES", 8)
    k = np.sort(scale * rng.standard_normal((50, 1)), axis=0)
    for keys in (k, k[::-1]):
        q, v = np.array([[1.0], [-1.0]]), rng.standard_normal((50, 3))
        np.testing.assert_allclose(attend(q, keys, v), direct(q, keys, v, "softmax"), rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("columns", [2, 34])
def test_rounding_does_not_grow_with_the_number_of_equal_keys(xp, rng, columns, kernel):
    """One long sum of equal terms would be off by thousands of roundings."""
    q, k, v = (np.repeat(rng.uniform(0.1, 1, (1, columns)), n, axis=0).astype("float32") for n in (1, 10**5, 10**5))
    found = to_numpy(attend(*(xp.asarray(x) for x in (q, k, v)), kernel=kernel))
    np.testing.assert_allclose(found, v[:1], rtol=512 * np.finfo("float32").eps)


@pytest.mark.parametrize("kernel", KERNELS)
def test_dtype_is_kept(xp, rng, kernel):
    q, k, v = draw(rng, 4, 6, 3, 2)
    found = attend(*(xp.asarray(x, dtype=xp.float32) for x in (q, k, v)), kernel=kernel)
    assert found.dtype == xp.float32
    np.testing.assert_allclose(to_numpy(found), direct(q, k, v, kernel), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
def test_permuting_tokens_changes_nothing_and_permuting_queries_permutes(rng, kernel):
    q, k, v = draw(rng, 5, 8, 3, 2)
    order, rows = rng.permutation(8), rng.permutation(5)
    wanted = attend(q, k, v, kernel=kernel)
    np.testing.assert_allclose(attend(q, k[order], v[order], kernel=kernel), wanted, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(attend(q[rows], k, v, kernel=kernel), wanted[rows], rtol=1e-13, atol=1e-14)


def test_linear_says_how_close_its_sums_come_to_cancelling(rng):
    q, k, v = draw(rng, 5, 8, 3, 2)
    output, sure = attend(q, k, v, kernel="linear", cancellation=True)
    np.testing.assert_array_equal(output, attend(q, k, v, kernel="linear"))
    assert sure == pytest.approx(1, rel=1e-12)
    k[0] = -3 * k[0]
    scores, terms = q @ k.T, np.abs(q) @ np.abs(k).T
    _, reported = attend(q, k, v, kernel="linear", cancellation=True)
    assert reported == pytest.approx(np.min(np.abs(scores.sum(1)) / terms.sum(1)), rel=1e-12)
    assert reported <= np.min(np.abs(scores.sum(1)) / np.abs(scores).sum(1)) + 1e-15


def test_the_cancellation_is_that_of_the_smallest_row_on_every_library(xp):
    """Terms 2, 4 and 3: totals 0.5, 4 and 3."""
    q, k = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.5]], [[1.25, 1.0], [-0.75, 1.0]]
    for scale in (1.0, 1e-200, 1e200):
        arrays = [xp.asarray(scale * np.array(q)), xp.asarray(k), xp.asarray([[1.0], [1.0]])]
        output, sure = attend(*arrays, kernel="linear", cancellation=True)
        np.testing.assert_allclose(to_numpy(output), 1, rtol=1e-14)
        assert sure == pytest.approx(0.25, rel=1e-14)


def test_a_row_that_cancels_is_refused_on_every_library(xp):
    ones, few, n = np.ones((1, 1)), np.ones((1, 3)), 4096
    long = np.where(np.arange(n) % 2, 1.0, -1.0)
    long[0] = -1 + 2.0**-35  # n ε of n terms is 2^-28; ε of the largest one 2^-52
    refused = [
        (few, [[1.0, 0.0, 0.0], [9 * 2.0**-52 - 1, 0.0, 0.0]]),  # 4.5 ε of the terms, where 2 + 3 may be lost
        (ones, long[:, None]),
        ([[1.0], [0.0]], [[1.0], [1.0]]),
        ([[0.0]], [[1.0], [1.0]]),
        ([[1e200]], [[1.0], [2.0**-52 - 1]]),
    ]
    for q, k in refused:
        with pytest.raises(ValueError, match=r"q, k: a row's weights for kernel = 'linear' sum to 0"):
            attend(xp.asarray(q), xp.asarray(k), xp.asarray(np.ones((len(k), 1))), kernel="linear")
    q, k = xp.asarray(few), xp.asarray([[1.0, 0.0, 0.0], [13 * 2.0**-52 - 1, 0.0, 0.0]])
    assert attend(q, k, xp.ones((2, 1), dtype=xp.float64), kernel="linear", cancellation=True)[1] > 6 * 2.0**-52


def test_so_many_terms_that_their_rounding_is_above_one_half():
    k = np.ones((10_000_000, 1), np.float32)  # ten million float32's ε are 1.2
    assert attend(k[:1], k, k, kernel="linear").tolist() == [[1.0]]


def test_larger_scores_do_not_overflow_on_any_library(xp):
    q, k, v = [[1.0], [1.0], [2.0]], [[0.0], [800.0], [3.0]], [[1.0], [5.0], [7.0]]
    np.testing.assert_array_equal(to_numpy(attend(*map(xp.asarray, (q, k, v)))), [[5.0]] * 3)


def test_one_thread_is_enough_and_none_is_not(rng):
    q, k, v = draw(rng, 3, 5, 2, 4)
    np.testing.assert_allclose(attend(q, k, v, threads=1), attend(q, k, v), rtol=1e-13)
    with pytest.raises(ValueError, match="threads = 0: must be at least 1"):
        attend(q, k, v, threads=0)


# Far from 1: products that would be subnormal or too large


def exact(q, k, v, kernel):
    """Outputs in Fractions; exponentials are those of doubles, times a power of ten that cancels."""
    rows = []
    for query in q.tolist():
        f = [sum(_features(query, key, kernel), Fraction(0)) for key in k.tolist()]
        if kernel == "squared-relu":
            f = [max(s, 0) ** 2 for s in f]
        elif kernel == "hard":
            f = [Fraction(s == max(f)) for s in f]
        rows.append([sum(map(mul, f, column)) / sum(f) for column in map(partial(map, Fraction), v.T.tolist())])
    return np.array([[float(x) for x in row] for row in rows])


def _features(query, key, kernel):
    if kernel == "elu+1":
        return (_elu(x) * _elu(y) for x, y in zip(query, key, strict=True))
    if kernel == "relu":
        return (Fraction(max(x, 0)) * Fraction(max(y, 0)) for x, y in zip(query, key, strict=True))
    return (Fraction(x) * Fraction(y) for x, y in zip(query, key, strict=True))


def _elu(x):
    """Return e^x or x + 1; Decimal knows numbers far below the least double."""
    return Fraction(x) + 1 if x > 0 else Fraction(Decimal(x).exp())


SCALE_FREE = ("linear", "relu", "squared-relu", "hard")
SMALLEST = {"float64": 5e-324, "float32": 1.4e-45}


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", SCALE_FREE)
@pytest.mark.parametrize("dtype", SMALLEST)
def test_no_scale_of_queries_keys_or_values_changes_the_weights(xp, rng, kernel, dtype):
    """Down to numbers with a few digits left, up to the largest; scores are below or above all floats."""
    least, most = SMALLEST[dtype], float(np.finfo(dtype).max)
    scales = (100 * least, least**0.5, 1.0, most / 8)
    values_too = [(1.0, 1.0, least**0.9), (least**0.5, 1.0, least**0.5), (most / 8, most / 8, most / 8)]
    for a, b, c in [(a, b, 1.0) for a, b in product(scales, scales)] + values_too:
        q, k, v = ((x * s).astype(dtype) for x, s in zip(draw(rng, 2, 4, 3, 2), (a, b, c), strict=True))
        found = to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel=kernel))
        few = 16 * np.finfo(dtype).eps * np.max(np.abs(v), axis=0).astype(float) + 4 * least  # one for each key
        assert np.all(np.abs(found - exact(q, k, v, kernel)) <= few), (a, b, c)


@pytest.mark.parametrize("kernel", ["linear", "relu"])
def test_every_column_has_its_own_scale(xp, kernel):
    """Two products of 1e-200 and 1, both far from the largest entries of q and of k."""
    q = np.array([[1.0, 1e-200], [1e-200, 1.0], [1e200, 1e-100], [1e-320, 1e-310]])
    k = np.array([[1e-200, 1.0], [1e-150, 1e-10], [3e-200, 2.0]])
    v = np.array([[1.0, 1e-300], [2.0, -1e-300], [4.0, 0.0]])
    found = to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel=kernel))
    np.testing.assert_allclose(found, exact(q, k, v, kernel), rtol=1e-14)


@pytest.mark.parametrize(
    ("dtype", "q", "k"),
    [
        ("float64", [[-373.0]], [[-373.0], [-372.3], [-373.9]]),
        ("float64", [[-5000.0], [3.0], [0.0]], [[-9000.0], [-9001.5], [-8999.0]]),
        ("float64", [[0.0, -800.0]], [[-800.0, 0.0], [-801.0, -0.5], [-799.0, -1.0]]),
        ("float64", [[1e300, -700.0], [-3.1, -800.3]], [[-745.0, -700.0], [-744.0, -701.0], [-746.0, -699.0]]),
        ("float64", [[-745.0]], [[1e300], [2e300], [-1.0]]),
        ("float32", [[-52.0]], [[-52.0], [-51.3], [-52.9]]),
        ("float32", [[-60.0], [-103.5]], [[30.0], [-95.0], [-96.0]]),
    ],
)
def test_features_far_below_all_floats_keep_their_ratios(xp, dtype, q, k):
    q, k, v = (np.array(x, dtype) for x in (q, k, [[1.0], [2.0], [4.0]]))
    found = to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel="elu+1"))
    scores = 1 + max(np.max(np.abs(np.minimum(x, 0))) for x in (q, k))
    np.testing.assert_allclose(found, exact(q, k, v, "elu+1"), rtol=4 * np.finfo(dtype).eps * scores)


@pytest.mark.parametrize("scale", [1.0, 12.0, 30.0, 300.0])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_performers_features_keep_their_ratios_at_every_scale(xp, rng, scale, dtype):
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in ((4, 3), (9, 3), (9, 2)))
    q, k = (scale * q).astype(dtype), (scale * k).astype(dtype)
    arrays = map(xp.asarray, (q, k, v))
    found = to_numpy(attend(*arrays, kernel="performer:6", rng=np.random.default_rng(5)))
    omega = np.random.default_rng(5).standard_normal((3, 6)).astype(dtype).astype(float)
    q, k = q.astype(float), k.astype(float)
    logs = (q @ omega)[:, None, :] + (k @ omega - np.sum(k * k, axis=1, keepdims=True) / 2)[None]
    f = np.exp(logs - logs.max(axis=(1, 2), keepdims=True)).sum(axis=2)
    rounding = 4 * np.finfo(dtype).eps * (1 + np.max(np.abs(logs)))
    np.testing.assert_allclose(found, f @ v / f.sum(axis=1, keepdims=True), rtol=0, atol=rounding * np.max(np.abs(v)))


@pytest.mark.parametrize("kernel", ["linear", "relu"])
def test_a_sum_that_is_zero_is_called_so_and_one_that_is_small_is_not(xp, kernel):
    small, v = xp.asarray([[1e-200, 0.0]]), xp.asarray([[3.0]])
    assert to_numpy(attend(small, small, v, kernel=kernel)).tolist() == [[3.0]]
    with pytest.raises(ValueError, match=rf"q, k: a row's weights for kernel = '{kernel}' sum to 0"):
        attend(small, xp.asarray([[0.0, 1e-200]]), v, kernel=kernel)


@pytest.mark.parametrize("kernel", SCALE_FREE)
def test_a_small_weight_matrix_is_no_matrix_of_zeros(xp, rng, kernel):
    A, X = rng.uniform(0.5, 1, (4, 3)), rng.uniform(0.5, 1, (3, 3))
    wanted = values(A, A, A, X, kernel)
    for a, x in ((1e-160, 1e-170), (1e160, 1e170)):
        found = values(*map(xp.asarray, (A * a, A, A, X * x)), kernel)
        np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-13)


@pytest.mark.parametrize("kernel", ["polynomial:2", "squared-relu", "hard"])
def test_products_that_are_floats_and_sums_that_are_none(xp, kernel):
    """Each product is 0.81 of the largest double, and a score has three of them."""
    q = 0.9 * np.finfo(float).max ** 0.5 * np.ones((1, 3))
    k, v = q * [[1.0], [0.0], [1.0]], np.array([[1.0], [100.0], [3.0]])
    assert to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel=kernel)).tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("kernel", "dtype", "q", "k"),
    [
        ("hard", "float64", [[1.0], [1e-10]], [[-1e300], [1e-290], [2e-290]]),
        ("hard", "float32", [[1.0], [1e-5]], [[-1e38], [1e-30], [2e-30]]),
        ("hard", "float64", [[1.0], [0.0]], [[-1e300], [0.0], [-1e-200]]),
        ("hard", "float64", [[1e-200, 0.0]], [[0.0, 1e-200], [0.0, 2e-200]]),
        ("squared-relu", "float32", [[1.0]], [[-1e30], [1e-15], [2e-15], [1e-45]]),
        ("squared-relu", "float64", [[1.0], [1e50]], [[-1e200], [1e-300], [2e-300]]),
    ],
)
def test_a_key_far_away_or_another_query_takes_no_digits(xp, kernel, dtype, q, k):
    q, k = np.array(q, dtype), np.array(k, dtype)
    v = np.array([7.0, 1.0, 2.0, 4.0], dtype)[: len(k), None]
    found = to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel=kernel))
    np.testing.assert_allclose(found, exact(q, k, v, kernel), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["hard", "squared-relu"])
@pytest.mark.parametrize("more", [[], [[0.0]]])
def test_scores_spread_over_more_powers_of_two_than_there_are_are_refused(xp, kernel, more):
    """A key whose score is exactly 0 does not make those of the others known."""
    q, k = np.array([[1.0], [1e-20]]), np.array([[-1e300], [1e-290], [2e-290], *more])
    with pytest.raises(
        ValueError, match=r"^q, k: the scores of a row are spread over more powers of two than .*float64 has"
    ):
        attend(xp.asarray(q), xp.asarray(k), xp.asarray(k), kernel=kernel)


@pytest.mark.parametrize(("dtype", "far", "huge"), [("float32", -200.0, 3e36), ("float64", -2000.0, 1e302)])
def test_a_key_without_weight_brings_no_value_however_large(xp, dtype, far, huge):
    q, k, v = (np.array(x, dtype) for x in ([[1.0]], [[0.0], [far]], [[1.0], [huge]]))
    assert to_numpy(attend(*map(xp.asarray, (q, k, v)))).tolist() == [[1.0]]


@pytest.mark.parametrize("key", [-1e38, float(np.finfo("float32").min)])
def test_elus_feature_of_the_lowest_number_is_one_that_counts_for_nothing(xp, key):
    q, k, v = (np.array(x, "float32") for x in ([[1.0]], [[key], [-100.0], [-101.0]], [[5.0], [1.0], [2.0]]))
    wanted = (1 + 2 / np.e) / (1 + 1 / np.e)
    np.testing.assert_allclose(to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel="elu+1")), wanted, rtol=1e-5)
    for others in (-1.0, -100.0):
        k[:, 0] = [-np.inf, others, others - 1]
        with pytest.raises(ValueError, match="k: the result is not finite"):
            attend(*map(xp.asarray, (q, k, v)), kernel="elu+1")


@pytest.mark.parametrize("kernel", ["softmax", "sigmoid", "sparsemax", "entmax"])
def test_small_scores_stay_small_where_their_size_counts(xp, kernel):
    q, k, v = np.array([[1e-200]]), np.array([[1e-200], [3e-200]]), np.array([[1.0], [2.0]])
    np.testing.assert_allclose(to_numpy(attend(*map(xp.asarray, (q, k, v)), kernel=kernel)), 1.5, rtol=1e-15)
    found = values(*map(xp.asarray, (1e200 * k, 1e200 * k, v, np.array([[1e-320]]))), kernel)
    np.testing.assert_allclose(to_numpy(found), 1.5, rtol=1e-15)


TINY = np.finfo(float).smallest_normal
# What to multiply, in which place, by what; whether digits are kept then, and whether they are if features underflow.
KEPT = [
    ("q", (1, 0), 1.0, True, True),
    ("q", (1, slice(None)), 1e-320, False, False),
    ("q", (1, slice(None)), 1e-307, True, True),
    ("q", (1, slice(None)), 1e307, False, False),
    ("q", (1, slice(None)), 1e306, True, True),
    ("k", (slice(None), 1), 0.6 * TINY, False, False),
    ("k", (slice(None), 1), 1.1 * TINY, True, True),
    ("k", (slice(None), 1), 0.0, True, False),
    ("k", (slice(None), 0), 1e307, False, False),
    ("v", (slice(None), 2), 0.1 * TINY, False, False),
    ("v", (slice(None), 2), 2 * TINY, True, True),
    ("v", (slice(None), 2), 0.0, True, True),
    ("v", (3, 0), 1e308, False, False),
    ("v", (3, 0), -1e308, False, False),
    ("v", (3, 0), 1e306, True, True),
]


@pytest.mark.parametrize("linear", [_fast.linear_attention, partial(module.linear_plain, array_api_compat.numpy)])
@pytest.mark.parametrize(("name", "place", "factor", "kept", "kept_of_features"), KEPT)
def test_a_call_says_whether_digits_can_have_been_lost(linear, name, place, factor, kept, kept_of_features):
    arrays = {"q": np.ones((3, 2)), "k": np.ones((5, 2)), "v": np.ones((5, 4))}
    arrays[name][place] *= factor
    for exact_zeros, wanted in ((True, kept), (False, kept_of_features)):
        with np.errstate(all="ignore"):
            _, _, found = linear(*arrays.values(), exact=exact_zeros)
        assert found is wanted


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_one_row_that_is_much_smaller_or_larger_than_the_others_loses_nothing(rng, size):
    """Its products with the values are below or above all floats, and a query's factor cancels."""
    q, k = (rng.uniform(0.5, 1, (5, 3)) for _ in range(2))
    q[:, 0] *= -0.1
    v = rng.standard_normal((5, 2)) * size**0.75
    large = q.copy()
    large[2] *= size
    np.testing.assert_allclose(attend(large, k, v, kernel="linear"), attend(q, k, v, kernel="linear"), rtol=1e-12)


@pytest.mark.parametrize(("kernel", "wanted"), [("linear", 5 / 3), ("relu", 5 / 3), ("squared-relu", 9 / 5)])
def test_an_entry_that_no_key_has_may_be_of_any_size(xp, kernel, wanted):
    """Out of the range of products, where columns are divided by their largest entry, which is 0 here."""
    arrays = ([[1e-200, 3.0]], [[1e-200, 0.0], [2e-200, 0.0]], [[1.0], [2.0]])
    assert to_numpy(attend(*map(xp.asarray, arrays), kernel=kernel)) == pytest.approx(wanted)


@pytest.mark.parametrize("sizes", [(1e-150, 1e-200), (1e200, 1e200)])
def test_small_rows_and_small_values_together_lose_digits_and_large_ones_overflow(sizes):
    q, k, v = np.ones((3, 2)), np.ones((5, 2)), np.ones((5, 4))
    q[1], v[:, 2] = sizes
    for linear in (_fast.linear_attention, partial(module.linear_plain, array_api_compat.numpy)):
        with np.errstate(over="ignore"):
            assert linear(q, k, v)[2] is False


def test_a_row_sum_may_be_any_number_but_zero(xp):
    """One of −1 divides as well."""
    for total in (-1.0, 1.0, -2.0):
        arrays = map(xp.asarray, ([[1.0]], [[total]], [[3.0]]))
        assert to_numpy(attend(*arrays, kernel="linear")).tolist() == [[3.0]]


def test_a_power_of_two_that_is_no_float_is_taken_in_two_steps(xp):
    """From one end of the floats to the other, and past it."""
    for dtype, top in (("float64", 1000), ("float32", 126)):
        x = xp.asarray([2.0**top, 2.0**-top, 0.0], dtype=getattr(xp, dtype))
        for exponent, wanted in ((-2 * top, [2.0**-top, 0, 0]), (top, [None, 1, 0]), (-9999, [0, 0, 0])):
            with np.errstate(all="ignore"):
                found = to_numpy(module._times_power(xp, x, xp.full(3, float(exponent), dtype=xp.float64)))
            assert all(want is None or have == want for have, want in zip(found.tolist(), wanted, strict=True))


def test_whole_rows_of_scores_come_as_many_at_a_time_as_stay_in_the_cache():
    """At most 512, and 2^17 scores, 1 MiB of float64."""
    for n, rows in ((100, 512), (256, 512), (1024, 128), (2**17, 1), (2**18, 1)):
        seen = []

        def weights(scores, seen=seen):
            seen.append(scores.shape)
            return scores

        q, k = np.ones((2 * rows, 1)), np.ones((n, 1))
        module.whole_rows(array_api_compat.numpy, q, k, k, SimpleNamespace(scale_free=False, weights=weights))
        assert seen == [(rows, n)] * 2


def test_a_kernel_of_rows_is_told_the_place_of_each():
    seen = []

    def weights(q, k, places):
        seen.extend(places.tolist())
        return q @ k.T

    x = np.ones((7, 2))
    module.rows_of_weights(array_api_compat.numpy, x, x, x, SimpleNamespace(weights=weights))
    assert seen == [*range(7)]


def test_rows_whose_products_stay_among_the_floats(xp):
    q = [[1.0, 1.0, 0.0], [1e-300, 1.0, 1.0], [1e300, 1.0, 1.0], [0.0, 0.0, 0.0], [-1e300, 1.0, 1.0]]
    for k, wanted in (
        ([[1e-10, 1.0, 0.0], [1.0, -1.0, 1.0]], [True, False, True, True, True]),
        ([[1e8, 1.0, 0.0], [1.0, 1.0, 1.0]], [True, True, False, True, False]),
        ([[1e-10, 1.0, 0.0], [1.0, -1e8, 1.0]], [True, False, False, True, False]),
    ):
        with np.errstate(over="ignore"):
            found = module.rows_in_range(xp, xp.asarray(q), xp.asarray(k))
            assert to_numpy(found)[:, 0].tolist() == wanted
            assert module.in_range(xp, xp.asarray(q), xp.asarray(k)) is False


def test_a_row_sum_is_refused_by_what_its_additions_may_be_off():
    k = np.ones((4096, 3))  # 1024 additions in a block, those of four blocks, three products
    for roundings, fits in ((1030.5, False), (1031.5, True)):
        cancelling = roundings * 2.0**-52
        if fits:
            assert module.require_row_sums(cancelling, k, "linear") == cancelling
        else:
            with pytest.raises(ValueError, match="sum to 0 within rounding"):
                module.require_row_sums(cancelling, k, "linear")


@pytest.mark.parametrize(
    ("dtype", "beta"),
    [("float64", "1e-290"), ("float64", "1e290"), ("float32", "1e-40"), ("float32", "1e-60"), ("float32", "1e40")],
)
def test_a_factor_that_no_float_holds_meets_the_queries(xp, rng, dtype, beta):
    q, k, v = draw(rng, 2, 5, 3, 2)
    q, k = ((x * float(beta) ** -0.5).astype(dtype) for x in (q, k))
    wanted = kernels.softmax(q.astype(float) @ k.T.astype(float) * float(beta)) @ v
    found = attend(*(xp.asarray(x.astype(dtype)) for x in (q, k, v)), kernel=f"softmax:{beta}")
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=100 * np.finfo(dtype).eps)


# Long rows

FEATURES = ("elu+1", "relu", "linear", "performer:4")
WHOLE = (
    "softmax", "softmax:0.5", "polynomial:3", "squared-relu", "taylor", "sigmoid", "topk:7", "sparsemax", "entmax",
    "hard",
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kernel", FEATURES + WHOLE)
@pytest.mark.parametrize("n", [1355, 20_001, pytest.param(200_001, marks=pytest.mark.slow)])
def test_equal_values_are_the_output_however_many_there_are(n, kernel, dtype):
    """Flat, spiky and tied scores, of both signs where their sum does not cancel."""
    q, v = np.ones((1, 1), dtype), np.full((n, 2), [1, 0.1], dtype)
    few = 24 * np.finfo(dtype).eps
    flat, sign = np.full(n - 1, 0.1), 1 if kernel == "linear" else -1
    spikes = [np.append(3.0, flat), np.append(1.0, 0.01 * sign * flat)]
    for keys in (np.append(0.1, flat), *spikes, np.arange(n) % 5 / 4 + 0.25):
        rng = {"rng": np.random.default_rng(1)} if kernel.startswith("performer") else {}
        found = attend(q, keys.astype(dtype)[:, None], v, kernel=kernel, **rng)
        np.testing.assert_allclose(found[0], v[0], rtol=few)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["softmax", "sparsemax", "entmax", "elu+1"])
def test_equal_values_are_the_output_of_a_million_tokens(kernel):
    """In the coarser precision, with the kernels whose sums or thresholds have the most terms."""
    test_equal_values_are_the_output_however_many_there_are(10**6, kernel, "float32")


def test_arrays_with_rules_of_their_own_are_refused():
    o = np.ones((3, 2))
    for name, kind in (("q", "masked array"), ("k", "masked array"), ("v", "masked array")):
        arrays = {"q": o, "k": o, "v": o} | {name: np.ma.masked_array(o, mask=o > 0)}
        with pytest.raises(TypeError, match=f"{name}: is a {kind}"):
            attend(**arrays)
    with pytest.raises(TypeError, match="A1: is a masked array"):
        values(arrays["v"], o, o, np.eye(2))


# Equal rows


def test_equal_rows_are_found(xp, rng):
    few = rng.standard_normal((3, 5))
    q = xp.asarray(few[rng.integers(0, 3, 1000)])
    distinct, place = distinct_rows(q)
    assert distinct.shape == (3, 5)
    assert bool(xp.all(xp.take(distinct, place, axis=0) == q))


def test_different_rows_with_equal_sums_are_not_taken_for_equal():
    a, b = np.sin(1.0), np.sin(2.0)
    q = np.array([[b, 0.0], [0.0, a], [b, 0.0], [1.0, 1.0]])  # the first two have the sum sin 1 · sin 2
    distinct, place = distinct_rows(q)
    assert place is None
    assert distinct is q
    v = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(attend(q, q, v), direct(q, q, v, "softmax"), rtol=1e-13)


def test_one_block_with_a_different_row_is_enough(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_SCORES", 2)
    a, b = np.sin(1.0), np.sin(2.0)
    q = np.array([[b, 0.0], [b, 0.0], [0.0, a]])
    assert distinct_rows(q)[1] is None


def test_rows_without_equals_are_left_alone(rng):
    q = rng.standard_normal((10, 3))
    assert distinct_rows(q)[0] is q
    assert distinct_rows(q[:0])[1] is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_columns_show_that_no_rows_of_many_are_equal(rng, monkeypatch, dtype):
    """A look at all entries would take as long as linear attention does."""
    looks, names = [], distinct_rows.__globals__
    repeats = names["_repeats"]
    monkeypatch.setitem(names, "_repeats", lambda *arguments: looks.append(repeats(*arguments)) or looks[-1])
    q = rng.uniform(0.1, 1, (2**17, 3)).astype(dtype)
    assert distinct_rows(q)[1] is None
    assert looks == [False]
    looks.clear()
    q[:, 0] = q[:, 2] = 1
    assert distinct_rows(q[: 2**10])[1] is None
    assert looks == [True, False]


@pytest.mark.filterwarnings("error")
def test_rows_as_large_as_floats_can_be_are_told_apart():
    q = np.finfo(float).max * np.array([[1.0, 1.0], [1.0, 0.5], [1.0, 1.0]])
    assert distinct_rows(q)[0].shape == (2, 2)


def test_equal_rows_are_computed_once(rng, monkeypatch):
    seen = []

    def spy(xp, q, *others):
        seen.append(q.shape[0])
        return whole(xp, q, *others)

    whole = module.softmax
    monkeypatch.setattr(module, "softmax", spy)
    data = TokenData(n=60, d=12, a=0.7, c=0.5)
    A = data.matrix(np)
    values(A, A, A, data.X(np))
    attend(A @ data.X(np), A, A, unique=False)
    assert seen == [2, 60]


# The token data


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "d", "a", "c"), [(2, 3, 0.7, 0.5), (6, 5, 0.05, 0.9), (12, 6, 1, 0.1), (20, 12, 0, 0.5)])
def test_values_are_closed_form_and_the_kronecker_twin(xp, n, d, a, c, kernel):
    data = TokenData(n=n, d=d, a=a, c=c, marked=n - 1)
    A, X = data.matrix(xp), data.X(xp)
    found = to_numpy(values(A, A, A, X, kernel))
    literal = [to_numpy(x).tolist() for x in (A, A, A, X)]
    np.testing.assert_allclose(found, reference.values(*literal, kernel=kernel), rtol=1e-12, atol=1e-14)
    rows = tokens.law(n, d, a, c, kernel).values()
    for j in range(n):
        closed = rows[j != n - 1]
        wanted = [closed.first, *[closed.others] * (d - 2), closed.last]
        wanted[data.marked_class + 1] = closed.own
        np.testing.assert_allclose(found[j], wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_general_weights_against_all_scores(xp, rng, kernel):
    A1, A2, A3, X = (rng.uniform(0, 1, shape) for shape in ((9, 4), (9, 4), (9, 4), (4, 4)))
    A1[5] = A1[2]
    found = values(*(xp.asarray(x) for x in (A1, A2, A3, X)), kernel=kernel)
    wanted = kernels.weights(row_scores(A1, A2, X), kernel) @ A3
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_real_networks_fire_where_the_exact_instance_does(xp, rng, kernel):
    """No parameter here has ties, so that rounding cannot turn a verdict."""
    fired = 0
    for (n, d), (a, c) in product(((4, 6), (30, 12)), ((0.7, 0.5), (0.05, 0.3), (1.3, 0.9))):
        data = TokenData(n=n, d=d, a=a, c=c, marked=n // 2)
        A = data.matrix(xp)
        rows = values(A, A, A, data.X(xp), kernel)
        for _ in range(20):
            y = signs(rng, d, 2, np)
            verdict = fires(rows, xp.asarray(y), data.tau)
            assert verdict is tokens.Law(data, kernel).fires_on(y)
            twin = reference.network(to_numpy(rows).tolist(), y.tolist(), data.tau)
            assert float(network(rows, xp.asarray(y), data.tau)) == pytest.approx(twin, rel=1e-12, abs=1e-12)
            fired += verdict
    assert 0 < fired < 120


# Memory


def added(call):
    """Bytes at the peak of a call beyond what stood before and what it returns."""
    tracemalloc.start()
    output = call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - output.nbytes


@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_of_random_rows(rng, kernel):
    """n = 3000: all scores would take 69 MiB.  What grows with n is one copy of the values; each thread has panels."""
    q, k, v = draw(rng, 3000, 3000, 66, 66)
    assert added(lambda: attend(q, k, v, kernel=kernel, threads=2)) < 8 * 2**20


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_of_the_token_data(kernel):
    data = TokenData(n=100_000, d=52, a=0.7, c=0.5)
    A, X = data.matrix(np), data.X(np)
    assert added(lambda: values(A, A, A, X, kernel)) < 8 * 2**20
    assert added(lambda: data.matrix(np)) < 2**20


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda o: attend(o, o, o, kernel="cosine"), ValueError, "kernel = 'cosine': must be one of softmax"),
        (lambda o: attend(o, o, o, cancellation=True), ValueError, "cancellation = True: only kernel = 'linear'"),
        (lambda o: attend(o, o[:, :1], o), ValueError, r"k: shape \(3, 1\), must be \(n, 2\)"),
        (lambda o: attend(o, o, o[:2]), ValueError, r"v: shape \(2, 2\), must be \(3, width\)"),
        (lambda o: attend(o[0], o, o), ValueError, r"q: shape \(2,\), must be \(rows, d\)"),
        (lambda o: attend(o, o[:0], o[:0]), ValueError, r"k: shape \(0, 2\), must have at least one row"),
        (lambda o: attend(o[:0], o, o), ValueError, r"q: shape \(0, 2\), must have at least one row"),
        (lambda o: attend(o.astype(np.float32), o, o), TypeError, "q, k, v: dtypes float32, float64, float64; use one"),
        (lambda o: attend(o.astype(int), o, o), TypeError, "q: dtype int64, must be float64 or float32"),
        (lambda o: attend(o, [[1.0, 1.0]], o), TypeError, "k = "),
        (lambda o: attend(o * np.nan, o, o), ValueError, "q, k, v: the result is not finite"),
        (lambda o: attend(o, o, o * np.inf), ValueError, "q, k, v: the result is not finite"),
        (lambda o: attend(o, o - [[0], [1], [2]], o, kernel="linear"), ValueError, "sum to 0 .*alpha_lin = 0"),
        (lambda o: attend(0 * o, o, o, kernel="linear"), ValueError, "sum to 0 .*alpha_lin = 0"),
        (
            lambda o: values(o, o, o, np.eye(2), 3),
            TypeError,
            "^A1, A2, A3, X: kernel = 3: must be a kernel or a string",
        ),
        (lambda o: values(o, o, [1.0], np.eye(2)), TypeError, r"^A3 = \[1\.0\]: must be an array"),
        (lambda o: values(o[0], o, o, np.ones((2, 2))), ValueError, r"A1: shape \(2,\)"),
        (lambda o: values(o, o[:2], o, np.ones((2, 2))), ValueError, r"^A2: shape \(2, 2\), must be \(3, 2\)"),
        (lambda o: distinct_rows(o.astype(int)), TypeError, "q: dtype int64"),
        (lambda o: distinct_rows(o[0]), ValueError, r"q: shape \(2,\)"),
        (lambda o: query_scores(o[0], o[0]), ValueError, r"A: shape \(2,\)"),
        (lambda o: values(o, o, o[:2], np.ones((2, 2))), ValueError, r"A3: shape \(2, 2\), must be \(3, 2\)"),
        (lambda o: values(o, o, o, np.ones((2, 3))), ValueError, r"X: shape \(2, 3\), must be \(2, 2\)"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(np.ones((3, 2)))


def test_sums_that_cancel_within_rounding_are_refused(rng):
    k = rng.standard_normal((1000, 3))
    k -= k.mean(axis=0)
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        attend(rng.standard_normal((4, 3)), k, k, kernel="linear")


def test_linear_sums_that_cancel_within_the_rounding_of_n_terms_are_refused():
    """4096 float32 scores of both signs: their sum is below n ε Σ|s|, though far above ε Σ|s|."""
    k = np.ones((4096, 1), np.float32)
    k[::2] = -1
    k[0] = np.float32(-1 + 2.0**-3)
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        attend(np.ones((1, 1), np.float32), k, k, kernel="linear")


def test_a_factor_of_zero_makes_all_weights_equal(rng):
    q, k, v = draw(rng, 3, 5, 2, 4)
    np.testing.assert_allclose(attend(q, k, v, kernel="softmax:0"), np.tile(v.mean(0), (3, 1)), rtol=1e-14)


def test_the_rounding_of_few_terms_counts_as_well():
    k = np.array([[1.0, 0.0], [2.0**-52 - 1, 0.0]])
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        attend(np.ones((1, 2)), k, k, kernel="linear")


# The other kernels

OTHERS = (
    "softmax:0.5", "polynomial:3", "squared-relu", "taylor", "sigmoid", "elu+1", "relu", "topk:1", "topk:3",
    "sparsemax", "entmax", "hard",
)  # fmt: skip
WIDTHS = ("window:0", "window:1", "window:2", "window:6", "window:7", "window:" + "9" * 30)


@cache  # for all blocks and both libraries
def slow_twin(kernel, *matrices):
    return reference.attend(*matrices, kernel)


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", OTHERS + WIDTHS)
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("blocks", [(1, 1), (2, 6), (3, 25), (512, 2**17)])
def test_every_kernel_is_its_slow_twin(xp, rng, monkeypatch, kernel, unique, blocks):
    monkeypatch.setattr(module, "BLOCK_ROWS", blocks[0])
    monkeypatch.setattr(module, "BLOCK_SCORES", blocks[1])
    q, k, v = draw(rng, 7, 7, 3, 2)
    q, k = q - 0.2, k - 0.1
    q[5] = q[2]
    found = attend(*(xp.asarray(x) for x in (q, k, v)), kernel=kernel, unique=unique)
    wanted = slow_twin(kernel, *(tuple(map(tuple, x.tolist())) for x in (q, k, v)))
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", OTHERS)
def test_fewer_rows_than_keys(xp, rng, kernel):
    q, k, v = draw(rng, 2, 9, 3, 4)
    found = attend(*(xp.asarray(x, dtype=xp.float32) for x in (q, k, v)), kernel=kernel)
    assert found.dtype == xp.float32
    wanted = reference.attend(q.tolist(), k.tolist(), v.tolist(), kernel)
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("unique", [True, False])
def test_performer_weighs_by_random_features_of_queries_and_keys(xp, rng, unique):
    q, k, v = (3 * x for x in draw(rng, 6, 9, 4, 2))
    q[4] = q[1]
    arrays = [xp.asarray(x) for x in (q, k, v)]
    found = to_numpy(attend(*arrays, kernel="performer:5", unique=unique, rng=np.random.default_rng(7)))
    omega = np.random.default_rng(7).standard_normal((4, 5))
    phi = [np.exp(x @ omega - np.sum(x * x, axis=1, keepdims=True) / 2) for x in (q, k)]
    f = phi[0] @ phi[1].T
    np.testing.assert_allclose(found, f / f.sum(1, keepdims=True) @ v, rtol=1e-12)


def test_performer_comes_close_to_softmax_with_many_features(rng):
    q, k, v = (x / 2 for x in draw(rng, 5, 9, 4, 2))
    found = attend(q, k, v, kernel="performer:40000", rng=rng)
    np.testing.assert_allclose(found, attend(q, k, v), atol=0.01)


def test_performer_of_long_rows_has_features_left(rng):
    """Without the two factors that cancel, all features would be below the least double."""
    q, k, _ = draw(rng, 5, 9, 4, 2)
    for far, farther in ((40, 40), (4000, 4000), (40, 400), (400, 40)):
        f = attend(q + far, k + farther, np.ones((9, 1)), kernel="performer:3", rng=np.random.default_rng(1))
        np.testing.assert_allclose(f, 1, rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["topk:5", "entmax", "sigmoid", "window:50", "window:5000"])
def test_memory_of_the_other_kernels(rng, kernel):
    """All scores would take 128 MiB for the window, and 18 MiB for the others."""
    q, k, v = draw(rng, 4096 if kernel.startswith("window") else 576, 4096, 8, 4)
    assert added(lambda: attend(q, k, v, kernel=kernel)) < 10 * 2**20


SIZES = [(2, 3, 0.7), (8, 6, 0.05), (12, 5, 1), (40, 22, 0.5)]  # b = c = 1/2: equal scores are equal floats, too
SCORED = (
    "topk:1", "topk:2", "polynomial:5", "squared-relu", "taylor", "sigmoid", "elu+1", "relu", "sparsemax", "entmax",
    "hard",
)  # fmt: skip


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", SCORED)
@pytest.mark.parametrize(("n", "d", "a"), SIZES)
def test_the_marked_tokens_weights_are_the_closed_ones(xp, n, d, a, kernel):
    data = TokenData(n=n, d=d, a=a, c=0.5)
    A = data.matrix(xp)
    rows = to_numpy(values(A, A, A, data.X(xp), kernel))
    closed = tokens.weights(n, a, kernel, d=d)
    first = rows[:, 0] / (a * np.sqrt(data.log_n))
    np.testing.assert_allclose(first, [closed.p] + [closed.q] * (n - 1), rtol=1e-12)


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", SCORED)
def test_other_networks_fire_where_the_exact_instance_does(rng, kernel):
    fired = 0
    for n, d, a in ((8, 6, 0.4), (30, 12, 0.7), (30, 12, 0.03)):
        data = TokenData(n=n, d=d, a=a, c=0.5, gap="0.12345")
        A = data.matrix(np)
        rows = values(A, A, A, data.X(np), kernel)
        for _ in range(20):
            y = signs(rng, d, 1, np)
            verdict = fires(rows, y, data.tau)
            assert verdict is tokens.Law(data, kernel).fires_on(y)
            fired += verdict
    assert 0 < fired < 60


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda o: attend(o, o, o, kernel="topk:4"), ValueError, "kernel = .topk:4.: k = 4 must be at most n = 3"),
        (lambda o: attend(o[:2], o, o, kernel="window:1"), ValueError, "q: 2 rows, must be 3 as k has"),
        (lambda o: attend(o, o, o, kernel="performer:4"), ValueError, "rng = None: kernel = 'performer:4' needs a gen"),
        (
            lambda o: attend(o, o, o, kernel="performer:4", rng=7),
            TypeError,
            "rng = 7: must be a numpy.random.Generator",
        ),
        (lambda o: attend(o, o, o, rng=7), ValueError, "rng = 7: kernel = 'softmax' takes no generator"),
        (lambda o: attend(o, o, o, rng=10**5000), ValueError, "rng = a number of more than 4300 digits: kernel"),
        (
            lambda o: attend(o, o, o, kernel="hard", cancellation=True),
            ValueError,
            "cancellation = True: only kernel = 'linear'",
        ),
        (lambda o: attend(-o, o, o, kernel="relu"), ValueError, "q, k: a row's weights for kernel = 'relu' sum to 0"),
        (lambda o: attend(-o, o, o, kernel="squared-relu"), ValueError, "a row has no score above 0"),
        (lambda o: values(o, o, o, np.ones((2, 2)), "performer:2"), ValueError, "needs a generator"),
    ],
)
def test_bad_input_of_other_kernels_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(np.ones((3, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["sparsemax", "window:1000"])
def test_a_gpu_is_handed_many_rows_at_a_time(rng, monkeypatch, kernel):
    """As many as fit; a few at a time would be a loop over rows where n is large."""
    q, k, v = rng.standard_normal((2000, 4)), rng.standard_normal((2000, 4)), rng.standard_normal((2000, 3))
    wanted, blocks, whole = attend(q, k, v, kernel=kernel, unique=False), [], module.slices
    monkeypatch.setattr(module, "slices", lambda *sizes: blocks.append(whole(*sizes)) or blocks[-1])
    attend(q, k, v, kernel=kernel, unique=False)
    assert len(blocks[-1]) > 30
    monkeypatch.setattr(module, "is_cupy_namespace", lambda xp: True)
    np.testing.assert_allclose(attend(q, k, v, kernel=kernel, unique=False), wanted, rtol=1e-12, atol=1e-14)
    assert len(blocks[-1]) == 4
