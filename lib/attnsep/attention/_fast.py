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
# overflow or lose digits by being subnormal; and the smallest exponent below the largest one whose power counts: those
# below would be subnormal, which takes many times as long.
LIMITS = {np.dtype(np.float64): (900.0, -1022.0), np.dtype(np.float32): (90.0, -126.0)}


# Rows, and scores at a time: 1 MiB of float64 stays in a core's cache; a GPU needs much to do in each of some ten calls
# for a panel, since it is handed one after the other.
PANELS = {"numpy": (256, 2**17), "cupy": (2**13, 2**23)}


# Rows, and numbers, of a block of linear attention.
BLOCKS = {"numpy": (2**14, 2**20), "cupy": (2**20, 2**23)}


# One long sum rounds equal terms in one direction: so the products of a group of rows are summed first, then groups,
# in pairs where they are more than FEW_GROUPS, then panels of at most PANEL_GROUPS groups in pairs.  An error of some
# roundings of the sum is small beside those of large scores; where none of FLAT is found with SOME of the keys, groups
# are smaller, at up to twice the time.
GROUP, FLAT_GROUP, FEW_GROUPS, PANEL_GROUPS = 64, 16, 8, 16


FLAT, SOME = 3.0, 1024


# Columns of x times columns of y up to which BLAS multiplies group by group as fast as one thread can.
GROUP_COLUMNS = 5000


# Less does not pay for a second thread: scores of softmax, bytes that a pass of linear attention reads and writes.
LEAST_SCORES, LEAST_BYTES = 2**19, 2**24


LEAST_ROWS = 64  # of a block of softmax, if there are so many


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
    and those of k do not exclude an overflow, a panel's largest score is subtracted first.  In tests the error stays
    below 4 ε (1 + max|S|) max|v|, also on equal keys and equal values, as long as no score cancels.

    Examples
    --------
    >>> softmax_attention(np.ones((1, 1)), np.log([[1.0], [3.0]]), np.array([[4.0], [8.0]])).round(12)
    array([[7.]])
    """
    xp, (rows, scores) = _library(q), _panel(q)
    if xp is np:  # some blocks for each thread, of a size that still pays
        rows = min(rows, max(LEAST_ROWS, -(-q.shape[0] // 8)))
    values = xp.empty((v.shape[0], v.shape[1] + 1), dtype=v.dtype)
    values[:, :-1], values[:, -1] = v, 1
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype)
    norms, longest, exponent = _norms(q) * math.log2(math.e), np.max(_norms(k)), _exponent(v)
    group = FLAT_GROUP if _flat(q, k, norms) else GROUP

    def work(blocks):
        buffer = xp.empty(min(scores * group // GROUP, min(rows, q.shape[0]) * k.shape[0]), dtype=q.dtype)
        for block in blocks:
            scaled = xp.ascontiguousarray(q[block].T) * q.dtype.type(math.log2(math.e))
            small = np.max(norms[block]) * longest + exponent <= LIMITS[q.dtype][0]  # a NaN is not
            arguments = (scaled, k, values, buffer, group)
            total = _add_small(*arguments) if small else _add_online(*arguments)[0]
            xp.divide(total[:-1].T, total[-1:].T, out=output[block])

    _share(xp, work, q.shape[0], rows, threads, q.shape[0] * k.shape[0] >= LEAST_SCORES)
    return output


def linear_attention(q, k, v, threads=None, exact=True):
    """Linear attention of every query row.

    Parameters
    ----------
    q, k, v, threads
        As in `softmax_attention`.
    exact : bool
        Whether an entry of q or k that is 0 is exactly 0, and no positive number below the least float.

    Returns
    -------
    array, shape (rows, width)
        Not finite where a score or a value is not, or a row sum is 0.
    float
        The smallest ``|Σ_i q_j·k_i| / Σ_i Σ_p |q_jp k_ip|``.
    bool
        Whether no product can have lost digits by being subnormal or too large; else the output may be wrong.

    Notes
    -----
    q(kᵀ[v 1]) block by block; the last column is the row sums.

    Examples
    --------
    >>> linear_attention(np.ones((1, 1)), np.array([[1.0], [3.0]]), np.array([[4.0], [8.0]]))
    (array([[7.]]), 1.0, True)
    """
    xp, parts, extremes = _library(q), [], []
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype)

    def collect(blocks):
        for block in blocks:
            keys, ones = k[block], xp.ones((block.stop - block.start, 1), dtype=k.dtype)
            total = product(keys, ones, GROUP)
            size = total if _none_negative(keys) else product(xp.abs(keys), ones, GROUP)
            few = keys.shape[1] * v.shape[1] <= GROUP_COLUMNS
            outer = product(keys, v[block], GROUP) if few else keys.T @ v[block]
            parts.append((block.start, outer, total, size, largest_sizes(v[block])))

    pays = k.nbytes + v.nbytes >= LEAST_BYTES
    _share(xp, collect, k.shape[0], _step(k, pays), threads, pays)
    # In the order of the blocks, so that the rounding does not depend on which thread was first.
    _, products, sums, sizes, largest = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
    products, sums, sizes = map(_in_pairs, (products, sums, sizes))

    equal = xp is np and np.array_equal(sums, sizes)

    def spread(blocks):
        for block in blocks:
            total = q[block] @ sums
            terms = total if equal and _none_negative(q[block]) else xp.abs(q[block]) @ sizes
            cancelling = xp.abs(total) / xp.where(terms == 0, 1, terms)
            extremes.append(xp.stack([xp.min(cancelling), xp.min(terms), xp.max(terms)]))
            _multiply(q[block], products, output[block])
            output[block] /= total

    pays = q.nbytes + output.nbytes >= LEAST_BYTES
    _share(xp, spread, q.shape[0], _step(q, pays), threads, pays)
    found = [_host(x).astype(np.float64).ravel() for x in (sizes, xp.stack(largest), xp.stack(extremes))]
    sizes, largest, (cancelling, *terms) = found[0], found[1], found[2].reshape(-1, 3).T
    safe = keeps_digits(sizes, largest, terms, k.shape[0], q.dtype, exact)
    return output, float(cancelling.min()), safe


def keeps_digits(sizes, largest, terms, n, dtype, exact=True):
    """Whether no product of linear attention can have lost digits by being subnormal, or can have overflowed.

    Parameters
    ----------
    sizes : numpy.ndarray of float64, shape (d,)
        Σ_i |k_ip|.
    largest : numpy.ndarray of float64
        The largest |v_i| of each column, of all keys or of parts of them.
    terms : sequence of two numpy.ndarray of float64
        The smallest and the largest Σ_i Σ_p |q_jp k_ip|, of all queries or of parts of them.
    n : int
        The number of keys.
    dtype : numpy.dtype
        Of the arrays.
    exact : bool
        As in `linear_attention`.

    Returns
    -------
    bool

    Notes
    -----
    A number below the least normal one, η, is off by at most ε η.  So k_ip v_i are off by n ε η in the sum over i,
    which is small beside ε Σ_i |k_ip| max|v| if that product is at least n η; and the products with q likewise.
    Where features themselves are off by ε η, the row sums are off by ε η Σ_i Σ_p |k_ip| as well.

    Examples
    --------
    >>> one, tiny = np.array([1.0]), np.array([1e-200])
    >>> [keeps_digits(x, x, (one, one), 1, np.dtype("float64")) for x in (one, tiny)]
    [True, False]
    """
    if exact:
        sizes = sizes[sizes != 0]  # a column of zeros loses nothing
    values = [1.0, *largest[largest != 0].tolist()]
    small, large, (least, most) = min(values), max(values), _ends(dtype)
    sizes = sizes.tolist()
    weight = len(sizes) if exact else max(len(sizes), sum(sizes))
    return (  # a NaN fails a comparison
        all(size * small >= n * least for size in sizes)
        and float(terms[0].min()) * small >= weight * least
        and 4 * max(sizes, default=0.0) * large <= most
        and 4 * float(terms[1].max()) * large <= most
    )


@cache
def _ends(dtype):
    """Return the least normal number of a dtype, below which digits are lost, and the largest one."""
    numbers = np.finfo(dtype)
    return float(numbers.smallest_normal), float(numbers.max)


def largest_sizes(v):
    """Return the largest size of an entry of each column, without a copy of v.

    Examples
    --------
    >>> largest_sizes(np.array([[1.0, 2.0], [-3.0, 0.0]]))
    array([3., 2.])
    """
    xp = _library(v)
    return xp.maximum(xp.max(v, axis=0), -xp.min(v, axis=0))


def _in_pairs(parts):
    """Return the sum of arrays: halves first, since one after the other rounds equal terms in one direction."""
    half = len(parts) // 2
    return _in_pairs(parts[:half]) + _in_pairs(parts[half:]) if half else parts[0]


def _step(x, shared):
    """Return how many rows make a block: few enough for the cache and, if threads share them, for each to get some."""
    (most, numbers), (rows, d) = BLOCKS[_library(x).__name__], x.shape
    return max(1, min(most, numbers // d, -(-rows // 8) if shared and _library(x) is np else rows))


def product(x, y, group):
    """Return xᵀy for two matrices of NumPy or CuPy with the same number of rows, summed group by group.

    Examples
    --------
    >>> product(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), GROUP)
    array([[11.]])
    """
    whole = x.shape[0] // group * group
    if whole == 0:
        return x.T @ y
    groups = [part[:whole].reshape(whole // group, group, part.shape[1]) for part in (x, y)]
    parts = groups[0].transpose(0, 2, 1) @ groups[1]
    if parts.shape[0] > FEW_GROUPS:
        while (count := parts.shape[0]) > 1:
            half = count // 2
            parts[:half] += parts[count - half :]
            parts = parts[: count - half]
    total = parts.sum(axis=0)
    if whole < x.shape[0]:
        total += x[whole:].T @ y[whole:]
    return total


def _multiply(x, y, out):
    """Put xy into out; on NumPy group by group where one thread is fast enough: BLAS would wake others for little."""
    xp = _library(x)
    whole = x.shape[0] // GROUP * GROUP if xp is np and y.size <= GROUP_COLUMNS else 0
    if whole:
        groups = [part[:whole].reshape(whole // GROUP, GROUP, part.shape[1]) for part in (x, out)]
        xp.matmul(groups[0], y, out=groups[1])
    xp.matmul(x[whole:], y, out=out[whole:])


def _none_negative(x):
    """Whether that is known without waiting for a GPU: a sum of such terms is the sum of their sizes."""
    return _library(x) is np and x.min() >= 0


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
        squares = np.einsum("ij,ij->i", x, x) if _library(x) is np else (x * x).sum(axis=1)  # CuPy's: a product a row
        return np.sqrt(_host(squares))


def _flat(q, k, norms):
    """Whether no large score was found among those of the longest query with some of the keys."""
    some, longest = k[:: -(-k.shape[0] // SOME)], q[int(np.argmax(norms))]
    with np.errstate(all="ignore"):
        return not float(abs(_library(k).einsum("ij,j->i", some, longest)).max()) >= FLAT  # a NaN is not


def _exponent(v):
    """Return the largest size of the exponent of a column's largest entry, in powers of two."""
    largest = _host(largest_sizes(v))
    return float(np.max(np.abs(np.log2(largest, where=largest > 0, out=np.zeros_like(largest))), initial=0))


def _exp2(x, out):
    """Put the powers of two into out and return it."""
    xp = _library(x)
    if xp is np:
        return np.exp2(x, out=out)
    _power(xp)(x, out)
    return out


@cache
def _power(cupy):
    """Return the GPU's own power of two: cupy.exp2 calls pow, which compiles to several times as many instructions."""
    return cupy.ElementwiseKernel("T x", "T y", "y = exp2(x)", "attnsep_exp2")


def _host(x):
    return x.get() if is_cupy_array(x) else x


def _halves(n, rows, buffer, group):
    """Return slices of the first and the second half of the panels, or None where n keys are no more than one panel."""
    step = max(1, min(PANEL_GROUPS * group, buffer.shape[0] // rows))
    if n <= step:
        return None
    middle = -(-n // step) // 2 * step
    return slice(middle), slice(middle, n)


def _add_small(q, k, values, buffer, group):
    """Return Σ [v 1]ᵀ 2^(k q) over all keys; q is transposed."""
    xp, rows = _library(q), q.shape[1]
    if halves := _halves(k.shape[0], rows, buffer, group):
        first, second = (_add_small(q, k[half], values[half], buffer, group) for half in halves)
        first += second
        return first
    scores = xp.matmul(k, q, out=buffer[: k.shape[0] * rows].reshape(-1, rows))
    return product(values, _exp2(scores, scores), group)


def _add_online(q, k, values, buffer, group):
    """Return the same, divided by 2 to each row's largest score, and that score."""
    xp, rows = _library(q), q.shape[1]
    if halves := _halves(k.shape[0], rows, buffer, group):
        parts = [_add_online(q, k[half], values[half], buffer, group) for half in halves]
        largest = xp.maximum(*(part[1] for part in parts))
        first, second = (total * _exp2(gap := before - largest, gap) for total, before in parts)
        first += second
        return first, largest
    scores = xp.matmul(k, q, out=buffer[: k.shape[0] * rows].reshape(-1, rows))
    largest = xp.max(scores, axis=0, keepdims=True)
    scores -= largest
    least = LIMITS[q.dtype][1]
    far = scores < least
    powers = _exp2(xp.maximum(scores, least, out=scores), scores)
    xp.copyto(powers, 0, where=far)
    return product(values, powers, group), largest


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
