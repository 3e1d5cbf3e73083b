"""Attention of one set of queries, block by block, without the matrix of all scores.

Arrays are of one library, dtype and device, q (rows, d), k (n, d), v (n, width), and not checked: `attend` is the way
in, and a kernel's `_attend` picks its stream.
"""

import math

from array_api_compat import device, is_cupy_namespace

from attnsep.arrays import common_namespace, to_numpy
from attnsep.attention import _fast

BLOCK_ROWS, BLOCK_SCORES = 512, 2**17  # 1 MiB of float64 scores at a time stay in the cache


GPU_SCORES = 2**23  # so that a GPU is not handed a few rows at a time where n is large


BLOCK_KEYS = 1024  # a sum over more keys at once would round equal terms in one direction


# Softmax


def softmax(xp, q, k, v, threads=None):
    """Return the outputs of softmax attention."""
    if _fast.serves(xp):
        return _fast.softmax_attention(q, k, v, threads)
    return softmax_plain(xp, q, k, v)


def softmax_plain(xp, q, k, v):
    """Return the outputs of softmax attention, on every array library."""
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype, device=device(q))
    for block in slices(q.shape[0], BLOCK_ROWS):
        output[block, :] = _softmax_rows(xp, q[block, :], k, v)
    return output


def _softmax_rows(xp, q, k, v):
    """Online softmax: where a block brings a larger score, all that came before shrinks by the same factor."""
    largest = xp.full((q.shape[0], 1), -xp.inf, dtype=q.dtype, device=device(q))
    total, output = xp.zeros_like(largest), 0
    for block in slices(k.shape[0], min(BLOCK_KEYS, BLOCK_SCORES // q.shape[0])):
        u = xp.matmul(q, xp.matrix_transpose(k[block, :]))
        before, largest = largest, xp.maximum(largest, xp.max(u, axis=1, keepdims=True))
        shrink = xp.exp(before - largest)
        u -= largest
        u = xp.exp(u)
        total = total * shrink + xp.sum(u, axis=1, keepdims=True)
        output = output * shrink + xp.matmul(u, v[block, :])
    return output / total


# Whole rows of scores


def whole_rows(xp, q, k, v, kernel):
    """Return the outputs of a kernel of scores that must see whole rows of them."""
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype, device=device(q))
    balanced = balanced_pair(xp, (q, 0), (k, 0)) if kernel.scale_free and not in_range(xp, q, k) else None
    for block in slices(q.shape[0], min(BLOCK_ROWS, scores_at_once(xp) // k.shape[0])):
        scores = xp.matmul(q[block, :], xp.matrix_transpose(k))
        if balanced is not None:
            scores = _better(xp, scores, q[block, :], k, (balanced[0][block, :], balanced[1]), kernel)
        try:
            weights = kernel.weights(scores)
        except ValueError as error:
            raise ValueError(f"q, k, kernel = {str(kernel)!r}: {error}") from None
        output[block, :] = weighted(xp, weights, v)
    return output


def rows_of_weights(xp, q, k, v, kernel):
    """Return the outputs of a kernel of rows that must see all keys."""
    output = xp.empty((q.shape[0], v.shape[1]), dtype=q.dtype, device=device(q))
    places = xp.arange(q.shape[0], device=device(q))
    for block in slices(q.shape[0], min(BLOCK_ROWS, scores_at_once(xp) // k.shape[0])):
        output[block, :] = weighted(xp, kernel.weights(q[block, :], k, places[block]), v)
    return output


def _better(xp, scores, q, k, balanced, kernel):
    """Return the rows of scores as they are where they have kept their digits, and in balanced units elsewhere."""
    least = q.shape[1] * xp.finfo(q.dtype).smallest_normal

    def deciding(x):  # the score that decides the weights
        return xp.max(xp.abs(x) if kernel.two_sided else x, axis=1, keepdims=True)

    def kept(x):
        return xp.all(xp.isfinite(x), axis=1, keepdims=True) & (xp.abs(deciding(x)) >= least)

    fine = kept(scores) | rows_in_range(xp, q, k)
    other = xp.matmul(balanced[0], xp.matrix_transpose(balanced[1]))
    zero = xp.matmul(xp.astype(q != 0, q.dtype), xp.matrix_transpose(xp.astype(k != 0, q.dtype))) == 0
    lost = ~(fine | kept(other) | xp.all(zero, axis=1, keepdims=True)) & xp.all(
        xp.isfinite(other), axis=1, keepdims=True
    )
    if bool(xp.any(lost)):
        raise ValueError(f"q, k: the scores of a row are spread over more powers of two than {q.dtype} has")
    return xp.where(fine, scores, other)


def weighted(xp, weights, v):
    """Return weights times v, in sums of few keys that are added in pairs."""
    if _fast.serves(xp):
        return _fast.product(weights.T, v, _fast.FLAT_GROUP)
    blocks = slices(v.shape[0], BLOCK_KEYS)
    return _sum_over(blocks, lambda block: xp.matmul(weights[:, block], v[block, :]))


def _sum_over(blocks, term):
    """Return the sum of a term for each block, added in pairs."""
    half = len(blocks) // 2
    return _sum_over(blocks[:half], term) + _sum_over(blocks[half:], term) if half else term(blocks[0])


# Sums of products, which pass over the queries and over the keys once


def linear(xp, q, k, v, kernel, threads=None):
    """Return the outputs, and the smallest row sum relative to the terms that it is rounded with."""
    output, cancelling, safe = _linear(xp, q, k, v, threads)
    if not safe:
        return balanced_linear(xp, (q, 0), (k, 0), v, kernel, threads)
    return output, require_row_sums(cancelling, k, kernel)


def exponential_linear(xp, q, k, v, kernel, threads=None):
    """Return the same for features factor · exp(x), with pairs (x, factor) in place of q and k."""
    output, cancelling, safe = _linear(xp, *(xp.exp(x) * factor for x, factor in (q, k)), v, threads, exact=False)
    if not safe:
        return balanced_linear(xp, *(power_of_e(xp, *part) for part in (q, k)), v, kernel, threads)
    return output, require_row_sums(cancelling, k[0], kernel)


def _linear(xp, q, k, v, threads, exact=True):
    if _fast.serves(xp):
        return _fast.linear_attention(q, k, v, threads, exact)
    return linear_plain(xp, q, k, v, exact)


def require_row_sums(cancelling, k, kernel):
    """Return the smallest row sum, relative to its terms, or raise a ValueError if it is nothing but rounding."""
    if math.isnan(cancelling):
        raise ValueError("q, k: the result is not finite; they have NaN or inf, or are too large")
    # Additions and products that a term passes through are rounded, each by at most ε of the terms.
    n, d = k.shape
    roundings = min(n, BLOCK_KEYS + n // BLOCK_KEYS) + d
    if cancelling <= min(roundings * common_namespace(k=k).finfo(k.dtype).eps, 0.5):
        raise ValueError(
            f"q, k: a row's weights for kernel = {str(kernel)!r} sum to 0 within rounding "
            "(linear attention: alpha_lin = 0)"
        )
    return cancelling


def linear_plain(xp, q, k, v, exact=True):
    """Return what `_fast.linear_attention` returns, on every array library."""
    blocks, d, width = slices(k.shape[0], BLOCK_KEYS), k.shape[1], v.shape[1]
    sizes = _sum_over(blocks, lambda block: xp.sum(xp.abs(k[block, :]), axis=0))
    total = xp.matmul(q, _sum_over(blocks, lambda block: xp.sum(k[block, :], axis=0))[:, None])
    terms = xp.matmul(xp.abs(q), sizes[:, None])
    cancelling = xp.min(xp.abs(total) / xp.where(terms == 0, xp.ones_like(terms), terms))
    # A row sum of 0 is named by the caller; whatever stands here then is thrown away.
    over = xp.where(total == 0, xp.ones_like(total), total)
    products = _sum_over(blocks, lambda block: xp.matmul(xp.matrix_transpose(k[block, :]), v[block, :]))
    extremes = xp.stack([xp.min(terms), xp.max(terms), cancelling])
    seen = to_numpy(xp.concat([sizes, xp.max(xp.abs(v), axis=0), extremes]))
    terms = seen[-3:-2], seen[-2:-1]
    safe = _fast.keeps_digits(seen[:d], seen[d : d + width], terms, k.shape[0], seen.dtype, exact)
    return xp.matmul(q, products) / over, float(seen[-1]), safe


# Powers of two, where products underflow or overflow: an array stands for m 2^e, with whole numbers e in a float.


def balanced_linear(xp, q, k, v, kernel, threads):
    """Return the outputs of linear attention of numbers (m, e) whose products may be far below or above all floats."""
    q, k = balanced_pair(xp, q, k)
    largest = _exponent(xp, xp.max(xp.abs(v), axis=0, keepdims=True))
    output, cancelling, _ = _linear(xp, q, k, _times_power(xp, v, -largest), threads)
    require_row_sums(cancelling, k, kernel)
    return _times_power(xp, output, xp.where(xp.isfinite(largest), largest, xp.zeros_like(largest))), cancelling


def balanced_pair(xp, q, k):
    """Return numbers (m, e) in units in which the largest of each column of k and of each row of q is from 1 to 2.

    A column's factor moves from k to q, which changes no product of the two; a row's factor cancels in the weights.
    So every row has a sum of sizes of at least 1, and what falls below the least float does not count in it.
    """
    (mq, eq), (mk, ek) = q, k
    columns = xp.max(_exponent(xp, mk) + ek, axis=0, keepdims=True)
    moved = eq + columns
    rows = xp.max(_exponent(xp, mq) + moved, axis=1, keepdims=True)
    return _times_power(xp, mq, moved - rows), _times_power(xp, mk, ek - columns)


def power_of_e(xp, x, factor=1):
    """Return factor times exp(x) as (m, e); e is in float64, where that of the largest float32 is a float."""
    bits = xp.astype(x, xp.float64) / math.log(2)
    whole = xp.floor(bits)
    return factor * xp.astype(xp.exp((bits - whole) * math.log(2)), x.dtype), whole


def _exponent(xp, x):
    """Return the whole number e with 2^e ≤ |x| < 2^(e+1), up to rounding; −inf for 0."""
    return xp.floor(xp.log2(xp.abs(xp.astype(x, xp.float64))))


def _times_power(xp, x, exponent):
    """Return x 2^e, in two steps, since 2^e alone may be no float; 0 stays 0, whatever e is."""
    none = (x == 0) | xp.isnan(exponent)
    exponent = xp.where(none, xp.zeros_like(exponent), xp.maximum(exponent, xp.full_like(exponent, -4096.0)))
    half = xp.floor(exponent / 2)
    two = xp.full_like(half, 2.0)
    return x * xp.astype(two**half, x.dtype) * xp.astype(two ** (exponent - half), x.dtype)


def in_range(xp, q, k):
    """Whether that holds of all rows."""
    return bool(xp.all(rows_in_range(xp, q, k)))


def rows_in_range(xp, q, k):
    """Whether no product of a row of q and an entry of k can be subnormal, and no sum of these overflow."""
    numbers = xp.finfo(q.dtype)
    sizes = [xp.abs(x) for x in (q, k)]
    some = [xp.where(x == 0, xp.full_like(x, xp.inf), x) for x in sizes]
    least = xp.min(some[0], axis=1, keepdims=True) * xp.min(some[1])
    most = xp.max(sizes[0], axis=1, keepdims=True) * xp.max(sizes[1]) * q.shape[1]
    return (least >= numbers.smallest_normal) & (most <= numbers.max)


def scores_at_once(xp):
    """Return how many scores are made at a time."""
    return GPU_SCORES if is_cupy_namespace(xp) else BLOCK_SCORES


def slices(length, step):
    """Return slices of at most `step` rows that make up all rows."""
    step = max(1, step)
    return [slice(start, min(start + step, length)) for start in range(0, length, step)]
