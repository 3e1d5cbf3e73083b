"""The fast paths against 60 digits, against the plain path, and in what they leave behind."""

import itertools
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from array_api_compat import numpy as xp

from attnsep.attention import _fast
from attnsep.attention import _streams as module
from attnsep.attention._fast import linear_attention, softmax_attention
from attnsep.attention.attend import attend

DTYPES = ("float64", "float32")


def precise_softmax(q, k, v):
    """Return the outputs to 60 digits, rounded to float64."""
    with mp.workdps(60):
        Q, K, V = (mp.matrix(x.astype(float).tolist()) for x in (q, k, v))
        U = (Q * K.T).apply(mp.exp)
        sums = [mp.fsum(U[i, j] for j in range(U.cols)) for i in range(U.rows)]
        O = U * V
        return np.array([[float(O[i, j] / sums[i]) for j in range(O.cols)] for i in range(O.rows)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0.0, 0.3, 3.0, 30.0, 700.0])
def test_error_stays_within_four_roundings_of_the_scores(rng, dtype, size):
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 7), (40, 7), (40, 3)))
    q *= np.asarray(size / np.max(np.abs(q @ k.T)), dtype=dtype)
    found, scores = softmax_attention(q, k, v), np.abs(q.astype(float) @ k.T.astype(float))
    bound = 4 * np.finfo(dtype).eps * (1 + np.max(scores)) * np.max(np.abs(v))
    assert found.dtype == np.dtype(dtype)
    assert np.max(np.abs(found - precise_softmax(q, k, v))) <= bound


def within_four_roundings(q, k, v):
    scores = q.astype(np.longdouble) @ k.astype(np.longdouble).T
    weights = np.exp(scores)
    wanted = weights @ v.astype(np.longdouble) / weights.sum(axis=1, keepdims=True)
    bound = 4 * np.finfo(q.dtype).eps * (1 + np.max(np.abs(scores))) * np.max(np.abs(v))
    return np.max(np.abs(softmax_attention(q, k, v) - wanted)) <= bound


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_a_sum_over_thousands_of_keys_is_as_exact_as_one_over_few(rng, dtype, size):
    """Flat rows, positive values: all terms of a sum are rounded alike, unless few are summed at once."""
    q, k, v = size * rng.standard_normal((4, 34)), rng.standard_normal((4096, 34)), rng.uniform(0.1, 1, (4096, 34))
    assert within_four_roundings(*(x.astype(dtype) for x in (q / 34**0.5, k, v)))


@pytest.mark.quartered
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 4, 300])
@pytest.mark.parametrize("size", [0.0, 0.3, 1.0, 2.9, 3.1])
def test_equal_keys_and_values_of_two_sizes_cost_no_more_digits(rng, dtype, rows, size):
    """The worst there is: columns of equal terms; with large groups as soon as the scores allow for their error."""
    for n in (64, 1000, 4096) if rows < 300 else (1000,):
        q, k = rng.standard_normal((rows, 20)), np.repeat(rng.standard_normal((1, 20)), n, axis=0)
        q *= size / np.max(np.abs(q @ k[0]))
        v = np.where(rng.random((n, 8)) < [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5], *rng.uniform(0.1, 1, (2, 8)))
        assert within_four_roundings(*(x.astype(dtype) for x in (q, k, v)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("n", "width"), [(1000, 66), (1000, 130), (3000, 34), (3000, 66)])
def test_wide_values_cost_no_more_digits(rng, dtype, size, n, width):
    """Few groups are summed at once, and 300 rows make a panel few keys.  The values agree, so the weights cancel."""
    q, k = rng.standard_normal((300, 20)), np.repeat(rng.standard_normal((1, 20)), n, axis=0)
    q *= size / np.max(np.abs(q @ k[0]))
    q, k, v = (x.astype(dtype) for x in (q, k, rng.uniform(0.1, 1, (1, width))))
    found = softmax_attention(q, k, np.repeat(v, n, axis=0))
    assert np.max(np.abs(found - v)) <= 4 * np.finfo(dtype).eps * (1 + size) * np.max(v)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("dtype", "powers"), [("float32", range(80, 128, 3)), ("float64", range(900, 1024, 4))])
def test_many_scores_as_large_as_floats_can_be_neither_overflow_nor_lose_digits(dtype, powers, sign):
    """Each power of two is a float still; the sum of 4096 of them, or of their inverses, times values is none."""
    values = np.linspace(1, 2, 4096, dtype=dtype)[:, None]
    for power in powers:
        keys = np.full((4096, 1), sign * power * np.log(2), dtype=dtype)
        found = _fast.softmax_attention(np.ones((1, 1), dtype=dtype), keys, values)
        np.testing.assert_allclose(found, [[1.5]], rtol=64 * np.finfo(dtype).eps, err_msg=f"scores of 2^{power}")


@pytest.mark.parametrize("n", [256, 1000, 5000])
def test_scores_of_the_usual_size_are_not_taken_for_small_ones(rng, n):
    """Scores of standard deviation 1, what dividing by √d aims at; a few keys must do to see that."""
    q, k = (rng.standard_normal((n, 64)) / 64**0.25 for _ in range(2))
    for factor, flat in ((1, False), (0.3, True), (np.nan, True)):
        assert _fast._flat(factor * q, k, _fast._norms(factor * q)) == flat
    k[: n // 2] = 0  # large scores among the later keys alone
    assert not _fast._flat(2 * q, k, _fast._norms(q))


@pytest.mark.parametrize("columns", [1, 2, 34])
@pytest.mark.parametrize("online", [False, True])
def test_rounding_does_not_grow_with_the_number_of_equal_keys(rng, monkeypatch, columns, online):
    if online:
        monkeypatch.setitem(_fast.LIMITS, np.dtype("float32"), (-1.0, -120.0))
    q, k, v = (np.repeat(rng.uniform(0.1, 1, (1, columns)), n, axis=0).astype("float32") for n in (1, 10**5, 10**5))
    for found, roundings in ((softmax_attention(q, k, v), 32), (linear_attention(q, k, v)[0], 64)):
        np.testing.assert_allclose(found, v[:1], rtol=roundings * np.finfo("float32").eps)


class StandIn:
    """NumPy under CuPy's name: takes CuPy's panels and no threads, and notes which functions are asked for."""

    __name__ = "cupy"

    def __init__(self):
        self.names = set()

    def ElementwiseKernel(self, given, wanted, formula, name):
        self.names.add("ElementwiseKernel")
        assert (given, wanted, formula) == ("T x", "T y", "y = exp2(x)")
        return lambda x, y: np.exp2(x, out=y)

    def __getattr__(self, name):
        self.names.add(name)
        return getattr(np, name)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1.0, 700.0])
def test_what_the_gpu_would_compute(rng, monkeypatch, size):
    """The same code with CuPy's panels; where CuPy is installed, with a GPU or without, it has every function used."""
    stand_in = StandIn()
    monkeypatch.setattr(_fast, "_library", lambda x: stand_in)
    q, k, v = rng.standard_normal((3000, 5)), rng.standard_normal((1100, 5)), rng.standard_normal((1100, 3))
    k *= size / np.max(np.abs(q @ k.T))
    scores = q @ k.T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    wanted = weights @ v / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(softmax_attention(q, k, v), wanted, rtol=0, atol=1e-15 * (20 + size))
    q, k = np.abs(q), np.abs(k)
    wanted = q @ (k.T @ v) / (q @ k.sum(axis=0))[:, None]
    np.testing.assert_allclose(linear_attention(q, k, v)[0], wanted, rtol=1e-12, atol=1e-14)
    assert _fast._step(np.empty((2**17, 34))) >= 2**17  # no threads share the rows, so one step is enough
    names = stand_in.names
    assert {"matmul", "ElementwiseKernel", "einsum", "divide"} < names
    assert "exp2" not in names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cupy = pytest.importorskip("cupy", reason="CuPy cannot run here")
    assert [name for name in sorted(names) if not hasattr(cupy, name)] == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_nearly_one_hot_rows(dtype):
    """One score at the limit of the exponent, the others far below: rows of the marked token's own value."""
    for top in (300.0, 700.0):
        q, k = np.array([[1.0, 0.0]], dtype=dtype), np.array([[top, 1.0]] + [[-top, 1.0]] * 9, dtype=dtype)
        v = np.arange(10, dtype=dtype)[:, None] + 1
        assert softmax_attention(q, k, v)[0, 0] == 1
        assert softmax_attention(-q, k, v)[0, 0] == pytest.approx(6, rel=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_column_of_tiny_or_huge_values_keeps_its_digits(dtype):
    """2 to a score times a value must not leave the range of the dtype, in any column, be it the only one."""
    top, small = {"float64": (610.0, 1e-200), "float32": (60.0, 1e-25)}[dtype]
    k, v = np.array([[1.0], [1.0]], dtype=dtype), np.array([[3.0, small, 1 / small, 0.0]] * 2, dtype=dtype)
    for score, columns in itertools.product((-top, top), (slice(None), [1], [2], [0, 1], [0, 2])):
        found = softmax_attention(np.array([[score]], dtype=dtype), k, v[:, columns])
        np.testing.assert_allclose(found, v[:1, columns], rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_power_below_the_least_normal_number_counts_for_nothing(dtype):
    """Subnormal numbers take many times as long; a value as large as there is shows whether one was made."""
    least = np.finfo(dtype).minexp
    v = np.array([[0.0], [2.0**-least]], dtype=dtype)
    for score, found in ((least + 0.5, 2**0.5), (least - 0.5, 0.0)):
        k = np.array([[0.0], [score * np.log(2)]], dtype=dtype)
        assert softmax_attention(np.ones((1, 1), dtype), k, v)[0, 0] == pytest.approx(found, rel=1e-4)


@pytest.mark.quartered
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2, 5, None])
@pytest.mark.parametrize("panel", [(2, 64), (3, 512), (256, 2**20)])
@pytest.mark.parametrize("size", [1.0, 40.0])
def test_blocks_and_threads_change_nothing_but_rounding(rng, monkeypatch, dtype, threads, panel, size):
    monkeypatch.setitem(_fast.PANELS, "numpy", panel)
    monkeypatch.setattr(_fast, "LEAST_WORK", 1)
    monkeypatch.setitem(_fast.BLOCKS, "numpy", panel[1])
    monkeypatch.setattr(_fast, "GROUP", panel[0])
    q, k, v = ((size * rng.standard_normal(shape)).astype(dtype) for shape in ((17, 4), (29, 4), (29, 6)))
    v /= np.asarray(size, dtype=dtype)
    slow = module.softmax_plain(xp, q, k, v)
    rounding = 8 * np.finfo(dtype).eps * (1 + np.max(np.abs(q) @ np.abs(k.T))) * np.max(np.abs(v))
    np.testing.assert_allclose(softmax_attention(q, k, v, threads), slow, atol=rounding, rtol=0)
    k, q = np.abs(k), np.abs(q)
    for j in range(3):  # nothing is negative, one entry of q, one entry of k
        q[0, 0], k[0, 0] = (-1) ** (j == 1) * abs(q[0, 0]), (-1) ** (j == 2) * abs(k[0, 0])
        slow, least, safe = module.linear_plain(xp, q, k, v)
        found, cancelling, safe_here = linear_attention(q, k, v, threads)
        assert safe
        assert safe_here
        np.testing.assert_allclose(found, slow, atol=64 * np.finfo(dtype).eps * np.max(np.abs(v)), rtol=0)
        assert cancelling == pytest.approx(float(least), rel=1e-5)
        assert (cancelling > 1 - 1e-5) == (j == 0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("n", "d", "width"), [(1023, 34, 34), (2050, 66, 5), (900, 130, 130), (500, 300, 260)])
def test_what_fits_no_block_or_group_counts_too(rng, dtype, n, d, width):
    """Odd sizes, and widths at which BLAS multiplies fewer rows at a time, or all at once."""
    q, k, v = (rng.standard_normal(shape).astype(dtype) for shape in ((n, d), (n + 7, d), (n + 7, width)))
    q *= np.asarray(3 / d**0.5, dtype)
    rounding = 8 * np.finfo(dtype).eps * (1 + np.max(np.abs(q) @ np.abs(k.T))) * np.max(np.abs(v))
    np.testing.assert_allclose(softmax_attention(q, k, v), module.softmax_plain(xp, q, k, v), atol=rounding, rtol=0)
    q, k = np.abs(q), np.abs(k)
    found, slow = linear_attention(q, k, v), module.linear_plain(xp, q, k, v)
    np.testing.assert_allclose(found[0], slow[0], atol=64 * np.finfo(dtype).eps * np.max(np.abs(v)), rtol=0)
    assert found[1:] == (pytest.approx(slow[1], rel=1e-5), True)


@pytest.mark.parametrize(("rows", "step"), [(1024, 192), (1000, 112), (4097, 64), (17, 3), (1, 16), (16, 16)])
def test_blocks_are_even_in_number_and_in_size(rows, step):
    blocks = _fast._blocks(rows, step)
    sizes = [block.stop - block.start for block in blocks]
    assert [row for block in blocks for row in range(rows)[block]] == list(range(rows))
    assert max(sizes) <= step
    assert max(sizes) - min(sizes) <= 2 * (_fast.LANES if step % _fast.LANES == 0 else 1)
    assert len(blocks) % 2 == 0 or len(blocks) == 1


def test_a_thread_works_in_the_same_memory_again_but_never_twice_at_a_time():
    def place(lent):
        return lent[0].__array_interface__["data"][0]

    with (
        _fast._rooms(np, np.dtype("float64"), 100, 10) as first,
        _fast._rooms(np, np.dtype("float64"), 100, 10) as second,
    ):
        assert place(first) != place(second)
    with _fast._rooms(np, np.dtype("float32"), 50, 10) as again:
        assert place(again) in (place(first), place(second))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: _fast._kept.__dict__.get("room")).result() is None
    with _fast._rooms(np, np.dtype("float64"), _fast.MOST_KEPT, 10):
        pass
    assert _fast._kept.__dict__.get("room") is None, "large memory is given back"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("column", [0.0, 1e-30, 1e30])
def test_a_look_at_the_values_is_spared_only_where_the_sums_show_as_much(rng, monkeypatch, dtype, column):
    """The products with a column of tiny values lose their digits in float32; those with large ones overflow."""
    looked, largest_sizes = [], _fast.largest_sizes
    monkeypatch.setattr(_fast, "largest_sizes", lambda v: looked.append(True) or largest_sizes(v))
    q, k, v = (rng.uniform(0.1, 1, (40, 3)).astype(dtype) for _ in range(3))
    k *= np.asarray(1e-12 if column < 1 else 1e9, dtype)
    assert linear_attention(q, np.abs(k), v)[2]
    assert not looked
    v[:, 1] *= np.asarray(column, dtype)
    assert linear_attention(q, k, v)[2] == (dtype == "float64" or column == 0)
    assert bool(looked) == (dtype == "float32" or column == 0)


def test_the_callers_setting_of_blas_is_restored(rng, monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    monkeypatch.setattr(_fast, "LEAST_WORK", 1)

    def threads():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    q, k, v = (rng.standard_normal((600, 8)) for _ in range(3))
    wanted = softmax_attention(q, k, v)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        before = threads()
        with ThreadPoolExecutor(4) as pool:  # calls overlap: the last one to leave restores
            found = list(pool.map(lambda _: softmax_attention(q, k, v, 2), range(12)))
        assert threads() == before
        q[0, 0] = np.nan
        assert np.isnan(softmax_attention(q, k, v, 2)[0]).all()
        assert threads() == before
    assert all(np.array_equal(x, wanted) for x in found)


def test_little_work_is_left_to_one_thread(rng, monkeypatch):
    """What counts are multiply-adds times the bytes of a number."""
    pytest.importorskip("threadpoolctl")
    asked = []
    monkeypatch.setattr(_fast, "_pool", lambda: asked.append(True) or ThreadPoolExecutor(1))
    for dtype, (attention_of, products, passes) in itertools.product(
        (np.float64, np.float32), ((softmax_attention, 1024 * 1024 * 8, 1), (linear_attention, 1024 * 8 * 8, 2))
    ):
        x = np.abs(rng.standard_normal((1024, 8))).astype(dtype)
        work = products * x.itemsize
        for least, shared in ((work + 1, 0), (work, passes)):
            monkeypatch.setattr(_fast, "LEAST_WORK", least)
            asked.clear()
            attention_of(x, x, x, 2)
            assert len(asked) == shared


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_block_is_as_many_bytes_of_either_dtype(rng, monkeypatch, dtype):
    """Of softmax as many rows as a panel; of linear attention as many as fit, and a row wider than that is a block."""
    asked = []
    monkeypatch.setattr(_fast, "_share", lambda xp, work, rows, step, *_: asked.append((rows, step)) or work([]))
    monkeypatch.setitem(_fast.BLOCKS, "numpy", 1000)
    rows, scores = _fast.PANELS["numpy"]
    q = rng.standard_normal((40, 5)).astype(dtype)
    softmax_attention(q, q[:7], q[:7])
    assert asked == [(40, rows)]
    assert _fast._panel(q) == (rows, scores // q.itemsize)
    assert [_fast._step(x) for x in (q, np.ones((2, 999), dtype))] == [200 // q.itemsize, 1]


def test_one_thread_is_one_thread_of_blas_too():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    seen = {}

    def work(blocks):  # other libraries, loaded since, may have a BLAS of their own
        seen[threads] = {p["num_threads"] for p in _fast._controller().info() if p["user_api"] == "blas"}

    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        for threads in (1, None):
            _fast._share(np, work, 1, 1, threads, False)
    assert seen == {1: {1}, None: {2}}


def test_without_threadpoolctl_one_thread_works(rng, monkeypatch):
    monkeypatch.setattr(_fast, "_controller", lambda: None)
    monkeypatch.setattr(_fast, "_pool", None)
    q, k, v = (rng.standard_normal((600, 8)) for _ in range(3))
    assert attend(q, k, v, threads=2).shape == (600, 8)


def test_without_threadpoolctl_nothing_controls_blas(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)  # as where it is not installed
    assert _fast._controller.__wrapped__() is None


@pytest.mark.parametrize("fault", [0, 1])
def test_an_error_in_any_thread_is_raised_and_stops_the_others(fault):
    """Blocks 0 and 1 run at the same time in two threads; one of them fails, in the caller's thread or in the other."""
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    seen, gate = [], threading.Barrier(2)

    def work(blocks):
        for block in blocks:
            seen.append(block.start)
            if block.start < 2:
                gate.wait(timeout=60)
            if block.start == fault:
                raise MemoryError("no room")
            time.sleep(0.1)

    with pytest.raises(MemoryError, match="no room"):
        _fast._share(np, work, 100, 1, 2, True)
    assert len(seen) < 5
    assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork:RuntimeWarning")  # of JAX, where another test has loaded it
def test_a_forked_process_starts_threads_of_its_own(rng, monkeypatch):
    monkeypatch.setattr(_fast, "LEAST_WORK", 1)
    q, k, v = (rng.standard_normal((600, 8)) for _ in range(3))
    wanted = softmax_attention(q, k, v, 2)
    monkeypatch.setattr(_fast, "_users", 1)  # as if another thread were just inside
    with _fast._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(10)  # nobody in this process gives the old lock back
            alone = _fast._users == 0
            same = np.array_equal(softmax_attention(q, k, v, 2), wanted)
            os._exit(0 if alone and same and threading.active_count() > 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_who_comes_and_who_goes_is_counted_under_a_lock(monkeypatch):
    inside, taken = [], []

    class Lock:
        def __enter__(self):
            taken.append(_fast._users)
            inside.append(self)

        def __exit__(self, *_):
            inside.pop()

    class Limit:
        def restore_original_limits(self):
            assert inside, "the limit is given back while another thread may come in"

    monkeypatch.setattr(_fast, "_lock", Lock())
    monkeypatch.setattr(_fast, "_controller", lambda: SimpleNamespace(limit=lambda **_: Limit()))
    with _fast._one_blas_thread(), _fast._one_blas_thread():
        pass
    assert taken == [0, 1, 2, 1], "taken at each coming and at each going"
    assert _fast._users == 0


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_threads_must_be_a_positive_integer(threads, error):
    one = np.ones((2, 2))
    with pytest.raises(error, match="threads = "):
        attend(one, one, one, threads=threads)


def test_many_equal_terms_do_not_drift():
    """A sum of 2^18 equal terms in one go is off by thousands of roundings, all in one direction."""
    q, k, v = np.full((2, 4), 0.1), np.full((2**18, 4), 0.3), np.zeros((2**18, 1))
    v[0] = 1
    np.testing.assert_allclose(softmax_attention(q, k, v) * 2**18, 1, rtol=3e-14)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_negative_value_behind_many_small_ones_overflows_nothing(dtype):
    top, large = {"float64": (610.0, 1e200), "float32": (60.0, 1e25)}[dtype]
    v = np.full((40, 1), 3.0, dtype=dtype)
    v[-1] = -large
    found = softmax_attention(np.ones((1, 1), dtype), np.full((40, 1), top, dtype), v)
    np.testing.assert_allclose(found, v.mean(dtype=float), rtol=4e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("end", ["least", "most"])
def test_the_terms_of_every_part_of_the_queries_count(place, end):
    one, terms = np.ones(1), (np.ones(3), np.ones(3))
    assert _fast.keeps_digits(one, one, terms, 1, np.dtype(float))
    terms[end == "most"][place] = 1e308 if end == "most" else 1e-310
    assert not _fast.keeps_digits(one, one, terms, 1, np.dtype(float))


@pytest.mark.parametrize(("exact", "kept"), [(True, True), (False, False)])
def test_features_below_the_least_float_cost_digits_of_the_row_sums(exact, kept):
    """A feature off by ε η moves a row sum by ε η Σ |k|, here 1000 of them, where the row sum has 100 η."""
    sums = np.full(1, 100 * np.finfo(float).smallest_normal)
    assert _fast.keeps_digits(np.array([1e3]), np.ones(1), (sums, sums), 1, np.dtype(float), exact) is kept
