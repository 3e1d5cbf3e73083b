"""Softmax and linear attention for NumPy and CuPy, in panels that stay in the cache.

``attention.attend`` uses them; the results equal those of the plain path up to rounding.  What makes them fast: a
column of ones beside v makes the same product yield the row sums, and softmax takes powers of two, so that a power in
place is all that happens to a panel between its two products.  On NumPy every BLAS call runs in one thread while Python
threads share the rows.  On CuPy all but a few numbers for each call stay on the GPU.
"""

import ctypes
import itertools
import math
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache

import numpy as np
from array_api_compat import is_cupy_array, is_cupy_namespace, is_numpy_namespace

# By dtype: the largest size of a score plus that of the values' exponent, in powers of two, at which no sum can
# overflow or lose digits by being subnormal; and the smallest exponent below the largest one whose power counts: those
# below would be subnormal, which takes many times as long.
LIMITS = {np.dtype(np.float64): (900.0, -1022.0), np.dtype(np.float32): (90.0, -126.0)}


# Rows, and bytes of scores, of a panel.  It stays in a core's cache, and is not smaller since between any two calls of
# NumPy one thread hands Python's lock to another; a GPU needs much to do in each call, as it gets one after the other.
PANELS = {"numpy": (288, 2**20), "cupy": (2**13, 2**26)}


# Bytes of a block of linear attention.
BLOCKS = {"numpy": 2**22, "cupy": 2**26}


# Up to so many multiply-adds OpenBLAS, where it has kernels for AVX-512, multiplies in place; beyond, it first copies
# both matrices, and for thin ones this takes a fifth of the time.  Its kernels take so many numbers of a row at once.
IN_PLACE, LANES = 10**6, 16


# One long sum rounds equal terms in one direction: so the products of a group of rows are summed first, then the groups
# of a panel in pairs, at most PANEL_GROUPS of them, then panels in pairs.  An error of some roundings of the sum is
# small beside those of large scores; where none of FLAT is found with SOME of the keys, groups are smaller, at up to
# twice the time.
GROUP, FLAT_GROUP, FEW_GROUPS, PANEL_GROUPS = 64, 16, 8, 16


FLAT, SOME = 3.0, 1024


FEW_ROWS = 16


# Numbers that the products of groups are at a time, if FEW_GROUPS are no more; bytes that a thread keeps for them and
# for a panel's scores.
PARTS, MOST_KEPT = 2**16, 2**22


# Multiply-adds, those of softmax's scores or of one of linear attention's two products, that pay for a second thread,
# times the bytes of a number: a core takes as many bytes at a time, whatever the dtype.
LEAST_WORK = 2**27


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
    values = xp.empty((v.shape[0], v.shape[1] + 1), dtype=v.dtype)
    values[:, :-1], values[:, -1] = v, 1
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype)
    norms, longest, most = _norms(q) * math.log2(math.e), np.max(_norms(k)), LIMITS[q.dtype][0]
    exponent = _exponent(xp, v, most - np.max(norms) * longest)
    group = FLAT_GROUP if _flat(q, k, norms) else GROUP

    def work(blocks):
        width = min(rows, q.shape[0])
        with _rooms(xp, q.dtype, min(scores, width * k.shape[0]), values.shape[1] * width) as rooms:
            for block in blocks:
                scaled = xp.ascontiguousarray(q[block].T) * q.dtype.type(math.log2(math.e))
                small = np.max(norms[block]) * longest + exponent <= most  # a NaN is not
                arguments = (scaled, k, values, *rooms, group)
                total = _add_small(*arguments) if small else _add_online(*arguments)[0]
                xp.divide(total[:-1].T, total[-1:].T, out=output[block])

    _share(xp, work, q.shape[0], rows, threads, q.nbytes * k.shape[0] >= LEAST_WORK)
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
    xp, parts, extremes, width = _library(q), [], [], v.shape[1]
    output = xp.empty((q.shape[0], width), dtype=q.dtype)

    def collect(blocks):
        with _rooms(xp, q.dtype, 0, k.shape[1] * width) as (_, room):
            for block in blocks:
                keys = k[block]
                total = _column_sums(keys)
                size = total if _none_negative(keys) else _column_sums(xp.abs(keys))
                parts.append((block.start, _outer(keys, v[block], room), total, size))

    _share(xp, collect, k.shape[0], _step(k), threads, k.nbytes * width >= LEAST_WORK)
    # In the order of the blocks, so that the rounding does not depend on which thread was first.
    _, products, sums, sizes = zip(*sorted(parts, key=lambda part: part[0]), strict=True)
    equal = all(total is size for total, size in zip(sums, sizes, strict=True))
    products, sums = _in_pairs(products), _in_pairs(sums)
    sizes = sums if equal else _in_pairs(sizes)

    def spread(blocks):
        for block in blocks:
            rows, found = q[block], _multiply(q[block], products, output[block])
            total = rows @ sums
            extremes.append(_extremes(xp, rows, total, sizes, equal))
            found /= total[:, None]

    _share(xp, spread, q.shape[0], _step(q), threads, q.nbytes * width >= LEAST_WORK)
    cancelling, *terms = _host(xp.asarray(extremes) if xp is np else xp.stack(extremes)).astype(np.float64).T
    rest = terms, k.shape[0], q.dtype, exact
    safe = xp is np and keeps_digits(sizes, _bounds(products, sizes), *rest)
    if not safe:
        sizes, largest = (_host(x).astype(np.float64) for x in (sizes, largest_sizes(v)))
        safe = keeps_digits(sizes, largest, *rest)
    return output, float(cancelling.min()), safe


def _extremes(xp, q, total, sizes, equal):
    """Return the least row sum relative to its terms, and the least and the largest of these; NaN where one is."""
    if equal and _none_negative(q):  # then the terms add up to the row sum
        least = total.min()
        return np.sign(least), least, total.max()
    terms = xp.abs(q) @ sizes
    cancelling = xp.abs(total) / xp.where(terms == 0, 1, terms)
    return xp.stack([xp.min(cancelling), xp.min(terms), xp.max(terms)])


def _bounds(products, sizes):
    """Return a number that some entry of each column of v exceeds, and one that bounds all products with these sums.

    Both follow from Σ_i k_ip v_i and Σ_i |k_ip|, without a pass over v.  NaN or inf, or none below, where they say
    nothing.
    """
    products = np.abs(products)
    with np.errstate(all="ignore"):
        least = products.min(initial=np.inf) / sizes.max()
        return np.array([least if least > 0 else np.nan, products.max(initial=0) / sizes.min()])


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
    sizes, values = sizes.tolist(), [1.0, *filter(None, largest.tolist())]
    if exact:
        sizes = [*filter(None, sizes)]  # a column of zeros loses nothing
    lowest, highest = float(terms[0].min()), float(terms[1].max())
    if not math.isfinite(sum(sizes) + sum(values) + lowest + highest):
        return False
    small, large, (least, most) = min(values), max(values), _ends(dtype)
    weight = len(sizes) if exact else max(len(sizes), sum(sizes))
    return (
        min(sizes, default=math.inf) * small >= n * least
        and lowest * small >= weight * least
        and 4 * max(sizes, default=0.0) * large <= most
        and 4 * highest * large <= most
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
    if _library(v) is np:
        return np.maximum(_rowwise(np.maximum, v), -_rowwise(np.minimum, v))
    xp = _library(v)
    return xp.maximum(xp.max(v, axis=0), -xp.min(v, axis=0))


def _in_pairs(parts):
    """Return the sum of arrays: halves first, since one after the other rounds equal terms in one direction."""
    half = len(parts) // 2
    return _in_pairs(parts[:half]) + _in_pairs(parts[half:]) if half else parts[0]


def _step(x):
    """Return how many rows make a block of linear attention."""
    return max(1, BLOCKS[_library(x).__name__] // (x.shape[1] * x.itemsize))


def product(x, y, group, room=None):
    """Return xᵀy for two matrices of NumPy or CuPy with the same number of rows, summed group by group.

    `room`: where the products of groups go, as `_rooms` lends it.

    Examples
    --------
    >>> product(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]), GROUP)
    array([[11.]])
    """
    step = x.shape[0]
    if _library(x) is np:
        step = group * max(FEW_GROUPS, PARTS // max(1, x.shape[1] * y.shape[1]))
    if x.shape[0] <= step:
        return _product(x, y, group, room)
    blocks = [slice(start, start + step) for start in range(0, x.shape[0], step)]
    return _in_pairs([_product(x[block], y[block], group, room) for block in blocks])


def _product(x, y, group, room):
    whole = x.shape[0] // group * group
    if whole == 0:
        return x.T @ y
    groups = [part[:whole].reshape(whole // group, group, part.shape[1]) for part in (x, y)]
    shape = whole // group, x.shape[1], y.shape[1]
    out = None if room is None else room[: math.prod(shape)].reshape(shape)
    parts = _outer_products(groups[0].transpose(0, 2, 1), groups[1], out)
    while (count := parts.shape[0]) > 2:
        half = count // 2
        parts[:half] += parts[count - half :]
        parts = parts[: count - half]
    total = parts.sum(axis=0)  # in memory of its own
    if whole < x.shape[0]:
        total += x[whole:].T @ y[whole:]
    return total


def _outer_products(x, y, out):
    """Return xy for stacks of matrices; on NumPy some rows of x at a time, as many as BLAS multiplies in place."""
    rows = max(1, IN_PLACE // max(1, x.shape[2] * y.shape[2]))
    if _library(x) is not np or x.shape[1] <= rows:
        return _library(x).matmul(x, y, out=out)
    out = np.empty((len(x), x.shape[1], y.shape[2]), dtype=x.dtype) if out is None else out
    count = -(-x.shape[1] // rows)
    ends = [x.shape[1] * i // count for i in range(count + 1)]
    for start, end in itertools.pairwise(ends):
        np.matmul(x[:, start:end], y, out=out[:, start:end])
    return out


@contextmanager
def _rooms(xp, dtype, scores, size):
    """Lend an array for so many scores, and on NumPy one for the products of groups, each of so many numbers.

    A thread of NumPy gets the same memory at its next call: the system takes microseconds for each page that is new,
    and for all together as long as a small attention does.
    """
    if xp is not np:
        yield xp.empty(scores, dtype=dtype), None
        return
    needed = (scores + max(FEW_GROUPS * size, PARTS)) * dtype.itemsize
    room = _kept.__dict__.pop("room", None)  # whoever comes before it is given back takes other memory
    if room is None or room.nbytes < needed:
        room = np.empty(needed, dtype=np.uint8)
    whole = room[:needed].view(dtype)
    yield whole[:scores], whole[scores:]
    if room.nbytes <= MOST_KEPT:
        _kept.room = room


_kept = threading.local()


def _group(size):
    """Return how many rows BLAS multiplies in place if each takes so many multiply-adds; 0 where those are too few."""
    return min(GROUP, IN_PLACE // max(1, size) // LANES * LANES)


def _outer(x, y, room):
    """Return xᵀy, some rows at a time if BLAS multiplies them in place."""
    return product(x, y, GROUP, room) if _group(x.shape[1] * y.shape[1]) else x.T @ y


def _multiply(x, y, out):
    """Put xy into out and return it; on NumPy some rows at a time, as many as BLAS multiplies in place."""
    xp = _library(x)
    group = _group(y.size) if xp is np else 0
    whole = x.shape[0] // group * group if group else 0
    if whole:
        groups = [part[:whole].reshape(whole // group, group, part.shape[1]) for part in (x, out)]
        xp.matmul(groups[0], y, out=groups[1])
    if whole < x.shape[0]:
        xp.matmul(x[whole:], y, out=out[whole:])
    return out


def _column_sums(x):
    """Return the sum of the rows: some after one another, then the sums of these."""
    if _library(x) is not np:
        return product(x, _library(x).ones((x.shape[0], 1), dtype=x.dtype), GROUP)[:, 0]
    return _rowwise(np.add, x)


def _rowwise(function, x):
    """Return what a function of NumPy makes of each column, FEW_ROWS rows after one another.

    NumPy starts anew for each row, so FEW_ROWS long rows take a fraction of the time of many short ones.
    """
    while (rows := x.shape[0]) >= FEW_ROWS**2 and x.flags.c_contiguous:
        most = rows // FEW_ROWS
        x, rest = x[: most * FEW_ROWS], x[most * FEW_ROWS :]
        x = function.reduce(x.reshape(FEW_ROWS, -1), axis=0).reshape(most, -1)
        if len(rest):
            function(x[: len(rest)], rest, out=x[: len(rest)])
    return function.reduce(x, axis=0)


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
    """Return the rows of a panel, and how many scores it has."""
    rows, size = PANELS[_library(x).__name__]
    return rows, size // x.itemsize


def cores():
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _blocks(rows, step):
    """Return an even number of blocks of about as many rows each, at most `step` and as BLAS likes them."""
    lanes = LANES if step % LANES == 0 else 1
    units, count = -(-rows // lanes), 2 * -(-rows // (2 * step))
    ends = [min(rows, units * i // count * lanes) for i in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(ends) if pair[0] < pair[1]]


def _share(xp, work, rows, step, threads, pays):
    """Call work on all blocks of rows; threads take the next block from one list as soon as they are free.

    `pays`: whether there is enough work for more than one thread.
    """
    blocks = _blocks(rows, step) if pays and xp is np else [slice(i, min(i + step, rows)) for i in range(0, rows, step)]
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

    def helping(cpus):
        if cpus:
            with suppress(OSError):  # they may just have been taken from this process
                os.sched_setaffinity(0, cpus)
        careful()

    with _one_blas_thread():
        cpus = _elsewhere()
        others = [_pool().submit(helping, cpus) for _ in range(workers - 1)]
        try:
            careful()
        finally:
            for other in others:
                if not other.cancel():  # one that has not begun would find nothing to do
                    other.result()


def _elsewhere():
    """Return the CPUs that the caller may use but for the one that it is on; none where that is not known.

    A virtual machine wakes a thread where its waker is, since there a CPU at rest looks like one that is taken, and
    leaves both on one CPU for tens of milliseconds.
    """
    find = _finder()
    return os.sched_getaffinity(0) - {find()} if find else set()


@cache
def _finder():
    """Return the function that says on which CPU its caller is, or None where there is none."""
    try:
        return ctypes.CDLL(None).sched_getcpu if hasattr(os, "sched_setaffinity") else None
    except (AttributeError, OSError, TypeError):
        return None


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


def _exponent(xp, v, enough):
    """Return the largest size of the exponent of a column's largest entry, in powers of two; or more, up to `enough`.

    A few rows and the largest and the least entry of all mostly show as much as a look at each column.
    """
    if xp is np and v.size and (least := np.max(np.abs(v[:FEW_ROWS]), axis=0).min()) > 0:
        bound = float(np.max(np.abs(np.log2([least, max(v.max(), -v.min())]))))
        if bound <= enough:  # a NaN is not
            return bound
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


def _halves(n, rows, scores, group):
    """Return slices of the first and the second half of the panels, or None where n keys are no more than one panel."""
    fit = max(1, scores.shape[0] // rows)
    step = min(PANEL_GROUPS * group, fit - fit % group if fit > group else fit)
    if n <= step:
        return None
    middle = -(-n // step) // 2 * step
    return slice(middle), slice(middle, n)


def _add_small(q, k, values, scores, room, group):
    """Return Σ [v 1]ᵀ 2^(k q) over all keys; q is transposed."""
    rows = q.shape[1]
    if halves := _halves(k.shape[0], rows, scores, group):
        first, second = (_add_small(q, k[half], values[half], scores, room, group) for half in halves)
        first += second
        return first
    u = _multiply(k, q, scores[: k.shape[0] * rows].reshape(-1, rows))
    return product(values, _exp2(u, u), group, room)


def _add_online(q, k, values, scores, room, group):
    """Return the same, divided by 2 to each row's largest score, and that score."""
    xp, rows = _library(q), q.shape[1]
    if halves := _halves(k.shape[0], rows, scores, group):
        parts = [_add_online(q, k[half], values[half], scores, room, group) for half in halves]
        largest = xp.maximum(*(part[1] for part in parts))
        first, second = (total * _exp2(gap := before - largest, gap) for total, before in parts)
        first += second
        return first, largest
    u = _multiply(k, q, scores[: k.shape[0] * rows].reshape(-1, rows))
    largest = xp.max(u, axis=0, keepdims=True)
    u -= largest
    least = LIMITS[q.dtype][1]
    far = u < least
    powers = _exp2(xp.maximum(u, least, out=u), u)
    xp.copyto(powers, 0, where=far)
    return product(values, powers, group, room), largest


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
