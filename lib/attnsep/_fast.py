"""Softmax and linear attention for NumPy and CuPy, in panels that stay in the cache.

``attention.attend`` uses them; the results equal those of the plain path up to rounding.  What makes them fast: a
column of ones beside v makes the same product yield the row sums, and softmax takes powers of two, so that a power in
place is all that happens to a panel between its two products.  On NumPy every BLAS call runs in one thread while Python
threads share the rows.  On CuPy all but a few numbers for each call stay on the GPU.
"""

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache

import numpy as np
from array_api_compat import is_cupy_array, is_cupy_namespace, is_numpy_namespace

# By dtype: the largest size of a score plus that of the values' exponent, in powers of two, at which no sum can
# overflow or lose digits by being subnormal; and the smallest exponent that is kept below the largest one, since
# subnormal results take many times as long.
LIMITS = {np.dtype(np.float64): (900.0, -1000.0), np.dtype(np.float32): (90.0, -120.0)}
# Rows, and scores at a time: 1 MiB of float64 stays in a core's cache, 16 MiB in a GPU's.
PANELS = {"numpy": (256, 2**17), "cupy": (2048, 2**21)}
PANEL_KEYS = 1024  # a sum over more keys at once would round equal terms in one direction
# Less does not pay for a second thread: scores of softmax, bytes that a pass of linear attention reads and writes.
LEAST_SCORES, LEAST_BYTES = 2**19, 2**23
MOST_THREADS = 64


def softmax_attention(q, k, v, threads=None):
    """Softmax attention of every query row.

    Parameters
    ----------
    q, k, v : numpy.ndarray or cupy.ndarray, shapes (rows, d), (n, d), (n, width)
        Of one dtype of `LIMITS`; not checked.
    threads : int, optional
        Threads to use on NumPy; left out, one for each core that this process may use.

    Returns
    -------
    array, shape (rows, width)
        Not finite where a score or a value is not.

    Notes
    -----
    Sᵀ = k (log₂e q)ᵀ panel by panel, and Oᵀ = Σ [v 1]ᵀ 2^(Sᵀ), whose last row is the row sums.  For rows whose norms
    and those of k do not exclude an overflow, the largest score so far is subtracted first.

    Examples
    --------
    >>> softmax_attention(np.ones((1, 1)), np.log([[1.0], [3.0]]), np.array([[4.0], [8.0]])).round(12)
    array([[7.]])
    """
    xp, (rows, scores) = _library(q), _panel(q)
    values = xp.empty((v.shape[0], v.shape[1] + 1), dtype=v.dtype)
    values[:, :-1], values[:, -1] = v, 1
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype)
    norms, longest, exponent = _norms(q) * math.log2(math.e), np.max(_norms(k)), _exponent(v)

    def work(blocks):
        buffer = xp.empty(scores, dtype=q.dtype)
        for block in blocks:
            scaled = xp.ascontiguousarray(q[block].T) * q.dtype.type(math.log2(math.e))
            small = np.max(norms[block]) * longest + exponent <= LIMITS[q.dtype][0]  # a NaN is not
            total = (_add_small if small else _add_online)(scaled, k, values, buffer)
            xp.divide(total[:-1].T, total[-1:].T, out=output[block])

    _share(xp, work, q.shape[0], rows, threads, q.shape[0] * k.shape[0] >= LEAST_SCORES)
    return output


def linear_attention(q, k, v, threads=None):
    """Linear attention of every query row.

    Parameters
    ----------
    q, k, v, threads
        As in `softmax_attention`.

    Returns
    -------
    array, shape (rows, width)
        Not finite where a score or a value is not, or a row sum is 0.
    float
        The smallest ``|Σ_i q_j·k_i| / Σ_i Σ_p |q_jp k_ip|``.

    Notes
    -----
    q(kᵀ[v 1]) block by block; the last column is the row sums.

    Examples
    --------
    >>> output, cancelling = linear_attention(np.ones((1, 1)), np.array([[1.0], [3.0]]), np.array([[4.0], [8.0]]))
    >>> output, cancelling
    (array([[7.]]), 1.0)
    """
    xp, parts, least = _library(q), [], []
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype)

    def collect(blocks):
        for block in blocks:
            keys, ones = k[block], xp.ones(block.stop - block.start, dtype=k.dtype)
            parts.append((block.start, keys.T @ v[block], ones @ keys, ones @ xp.abs(keys)))

    _share(xp, collect, k.shape[0], _step(k), threads, k.nbytes + v.nbytes >= LEAST_BYTES)
    # In the order of the blocks, so that the rounding does not depend on which thread was first.
    products, sums, sizes = (
        sum(column) for column in zip(*(part[1:] for part in sorted(parts, key=lambda part: part[0])), strict=True)
    )

    def spread(blocks):
        for block in blocks:
            total, terms = q[block] @ sums, xp.abs(q[block]) @ sizes
            least.append(xp.min(xp.abs(total) / xp.where(terms == 0, 1, terms)))
            xp.divide(q[block] @ products, total[:, None], out=output[block])

    _share(xp, spread, q.shape[0], _step(q), threads, q.nbytes + output.nbytes >= LEAST_BYTES)
    return output, float(xp.min(xp.stack(least)))


def _step(x):
    """Return how many rows at a time stay in the cache and leave something for each thread."""
    (least, scores), (rows, d) = _panel(x), x.shape
    return max(1, min(scores // d, max(least, -(-rows // 8))))


def serves(xp):
    """Whether arrays of this namespace can be handed to this module.

    Examples
    --------
    >>> import array_api_compat.numpy
    >>> serves(array_api_compat.numpy)
    True
    """
    return is_numpy_namespace(xp) or is_cupy_namespace(xp)


def _library(x):
    """Return the module that makes arrays like x."""
    if is_cupy_array(x):
        import cupy

        return cupy
    return np


def _panel(x):
    return PANELS[_library(x).__name__]


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _share(xp, work, rows, step, threads, pays):
    """Call work on all blocks of rows; threads take the next block from one list as soon as they are free.

    `pays`: whether there is enough work for more than one thread.
    """
    blocks = [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
    limited = xp is np and _controller() is not None
    workers = min(threads or cores(), len(blocks), MOST_THREADS) if limited and pays else 1

    todo = iter(blocks)

    def careful():
        try:
            with np.errstate(all="ignore"):  # the caller looks whether the output is finite
                work(todo)
        except BaseException:
            list(todo)  # the others end with the block that they are at
            raise

    if workers == 1 and not (limited and threads == 1):  # a caller who wants one thread has BLAS stay with one, too
        careful()
        return
    with _one_blas_thread():
        others = [_pool().submit(careful) for _ in range(workers - 1)]
        try:
            careful()
        finally:
            for other in others:
                if not other.cancel():  # one that has not begun would find nothing to do
                    other.result()


def _norms(x):
    """Return the norms of the rows, on the host."""
    with np.errstate(all="ignore"):
        return np.sqrt(_host(_library(x).einsum("ij,ij->i", x, x)))


def _exponent(v):
    """Return the largest size of the exponent of a column's largest entry, in powers of two."""
    xp = _library(v)
    largest = _host(xp.maximum(xp.max(v, axis=0), -xp.min(v, axis=0)))  # without a copy of v
    return float(np.max(np.abs(np.log2(largest, where=largest > 0, out=np.zeros_like(largest))), initial=0))


def _host(x):
    return x.get() if is_cupy_array(x) else x


def _panels(n, rows, buffer):
    """Yield slices of keys, and a place for the scores of these keys and so many rows."""
    step = max(1, min(PANEL_KEYS, buffer.shape[0] // rows))
    for start in range(0, n, step):
        keys = slice(start, min(start + step, n))
        yield keys, buffer[: (keys.stop - start) * rows].reshape(-1, rows)


def _add_small(q, k, values, buffer):
    """Return Σ [v 1]ᵀ 2^(k q) for all keys; q is transposed."""
    xp, shape = _library(q), (values.shape[1], q.shape[1])
    total, part = xp.zeros(shape, dtype=q.dtype), xp.empty(shape, dtype=q.dtype)
    for keys, scores in _panels(k.shape[0], q.shape[1], buffer):
        xp.matmul(k[keys], q, out=scores)
        xp.exp2(scores, out=scores)
        total += xp.matmul(values[keys].T, scores, out=part)
    return total


def _add_online(q, k, values, buffer):
    """The same, divided by 2 to the largest score: where a panel brings a larger one, all before it shrinks."""
    xp, shape = _library(q), (values.shape[1], q.shape[1])
    total, part = xp.zeros(shape, dtype=q.dtype), xp.empty(shape, dtype=q.dtype)
    largest = xp.full((1, q.shape[1]), -math.inf, dtype=q.dtype)
    for keys, scores in _panels(k.shape[0], q.shape[1], buffer):
        xp.matmul(k[keys], q, out=scores)
        before, largest = largest, xp.maximum(largest, xp.max(scores, axis=0, keepdims=True))
        scores -= largest
        xp.maximum(scores, LIMITS[q.dtype][1], out=scores)
        xp.exp2(scores, out=scores)
        total *= xp.exp2(before - largest)
        total += xp.matmul(values[keys].T, scores, out=part)
    return total


@cache
def _pool():
    """Return the threads that wait for work: starting one anew takes as long as a small attention does."""
    return ThreadPoolExecutor(MOST_THREADS)


def _forget():
    """A forked process has none of the threads, and no one to give back a lock or a limit."""
    global _lock, _users
    _lock, _users = threading.Lock(), 0
    _pool.cache_clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
_lock, _users, _limit = threading.Lock(), 0, None


@cache
def _controller():
    """Return what controls the threads of BLAS, or None where threadpoolctl is not installed."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


@contextmanager
def _one_blas_thread():
    """Keep BLAS at one thread while any caller is inside; the last one to leave restores what the first one found."""
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
