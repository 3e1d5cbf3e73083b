"""Softmax and linear attention for NumPy, in blocks that stay in the cache and one Python thread for each core.

``attention.attend`` uses them; the results equal those of the plain path up to rounding.  What makes them fast: every
BLAS call runs in one thread while Python threads share the rows, a column of ones beside v makes the same product yield
the row sums, and softmax takes powers of two, which NumPy computes faster than exponentials.
"""

import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

# By dtype: the largest size of a score at which powers of two can neither overflow nor matter while subnormal; and the
# smallest exponent that is kept below the largest one, since subnormal results take many times as long.
LIMITS = {np.dtype(np.float64): (300.0, -1000.0), np.dtype(np.float32): (40.0, -120.0)}
PANEL_SCORES = 2**17  # at a time and thread: 1 MiB of float64 stays in the cache
PANEL_ROWS, PANEL_KEYS = 256, 1024  # a sum over more keys at once would round equal terms in one direction
LEAST_SCORES = 2**19  # fewer do not pay for a second thread


def softmax_attention(q, k, v, threads=None):
    """Softmax attention of every query row.

    Parameters
    ----------
    q, k, v : numpy.ndarray, shapes (rows, d), (n, d), (n, width)
        Of one dtype of `LIMITS`; not checked.
    threads : int, optional
        Threads to use; left out, one for each core that this process may use.

    Returns
    -------
    numpy.ndarray, shape (rows, width)
        Not finite where a score or a value is not.

    Notes
    -----
    Sᵀ = k (log₂e q)ᵀ panel by panel, and Oᵀ = Σ [v 1]ᵀ 2^(Sᵀ), whose last row is the row sums.  Where the norms of q
    and k do not exclude an overflow, the largest score so far is subtracted first.

    Examples
    --------
    >>> softmax_attention(np.ones((1, 1)), np.log([[1.0], [3.0]]), np.array([[4.0], [8.0]])).round(12)
    array([[7.]])
    """
    values = np.empty((v.shape[0], v.shape[1] + 1), dtype=v.dtype)
    values[:, :-1], values[:, -1] = v, 1
    output = np.empty((q.shape[0], v.shape[1]), dtype=q.dtype)
    add = _add_small if _bounded(q, k) else _add_online

    def work(blocks):
        buffer = np.empty(PANEL_SCORES, dtype=q.dtype)
        for block in blocks:
            total = add(np.ascontiguousarray(q[block].T) * q.dtype.type(math.log2(math.e)), k, values, buffer)
            np.divide(total[:-1].T, total[-1:].T, out=output[block])

    _share(work, q.shape[0], PANEL_ROWS, threads if q.shape[0] * k.shape[0] >= LEAST_SCORES else 1)
    return output


def linear_attention(q, k, v, threads=None):
    """Linear attention of every query row.

    Parameters
    ----------
    q, k, v, threads
        As in `softmax_attention`.

    Returns
    -------
    numpy.ndarray, shape (rows, width)
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
    output, parts, least = np.empty((q.shape[0], v.shape[1]), dtype=q.dtype), [], []

    def collect(blocks):
        for block in blocks:
            keys = k[block]
            parts.append((block.start, keys.T @ v[block], np.sum(keys, axis=0), np.sum(np.abs(keys), axis=0)))

    rows = max(1, PANEL_SCORES // q.shape[1])
    _share(collect, k.shape[0], rows, threads)
    # In the order of the blocks, so that the rounding does not depend on which thread was first.
    products, sums, sizes = (
        sum(column) for column in zip(*(part[1:] for part in sorted(parts, key=lambda part: part[0])), strict=True)
    )

    def spread(blocks):
        for block in blocks:
            total, terms = q[block] @ sums, np.abs(q[block]) @ sizes
            least.append(np.min(np.abs(total) / np.where(terms == 0, 1, terms)))
            np.divide(q[block] @ products, total[:, None], out=output[block])

    _share(spread, q.shape[0], rows, threads)
    return output, float(np.min(least))


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _share(work, rows, step, threads):
    """Call work on all blocks of rows; threads take the next block from one list as soon as they are free."""
    blocks = [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
    workers = min(threads or cores(), len(blocks)) if _controller() else 1

    def careful(blocks):
        with np.errstate(all="ignore"):  # the caller looks whether the output is finite
            work(blocks)

    if workers == 1:
        careful(blocks)
        return
    todo = iter(blocks)
    with _one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        list(pool.map(careful, [todo] * workers))


def _bounded(q, k):
    """Whether no score, times log₂e, can be larger in size than the dtype's limit."""
    with np.errstate(all="ignore"):
        q2, k2 = (float(np.max(np.einsum("ij,ij->i", x, x))) for x in (q, k))
    return math.sqrt(q2) * math.sqrt(k2) * math.log2(math.e) <= LIMITS[q.dtype][0]  # a NaN is not


def _panels(n, rows, buffer):
    """Yield slices of keys, and a place for the scores of these keys and so many rows."""
    step = max(1, min(PANEL_KEYS, buffer.shape[0] // rows))
    for start in range(0, n, step):
        keys = slice(start, min(start + step, n))
        yield keys, buffer[: (keys.stop - start) * rows].reshape(-1, rows)


def _add_small(q, k, values, buffer):
    """Return Σ [v 1]ᵀ 2^(k q) for all keys; q is transposed."""
    total = np.zeros((values.shape[1], q.shape[1]), dtype=q.dtype)
    part = np.empty_like(total)
    for keys, scores in _panels(k.shape[0], q.shape[1], buffer):
        np.matmul(k[keys], q, out=scores)
        np.exp2(scores, out=scores)
        total += np.matmul(values[keys].T, scores, out=part)
    return total


def _add_online(q, k, values, buffer):
    """The same, divided by 2 to the largest score: where a panel brings a larger one, all before it shrinks."""
    total = np.zeros((values.shape[1], q.shape[1]), dtype=q.dtype)
    part, largest = np.empty_like(total), np.full((1, q.shape[1]), -np.inf, dtype=q.dtype)
    for keys, scores in _panels(k.shape[0], q.shape[1], buffer):
        np.matmul(k[keys], q, out=scores)
        before, largest = largest, np.maximum(largest, np.max(scores, axis=0, keepdims=True))
        scores -= largest
        np.maximum(scores, LIMITS[q.dtype][1], out=scores)
        np.exp2(scores, out=scores)
        total *= np.exp2(before - largest)
        total += np.matmul(values[keys].T, scores, out=part)
    return total


_lock, _users, _limit, _found = threading.Lock(), 0, None, []


def _controller():
    """Return what controls the threads of BLAS, or None where threadpoolctl is not installed."""
    if not _found:
        try:
            from threadpoolctl import ThreadpoolController
        except ImportError:
            _found.append(None)
        else:
            _found.append(ThreadpoolController())
    return _found[0]


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
