"""Arithmetic of rows of scores that kernels share: sums in pairs, one normaliser, one search for a threshold.

Arguments are not checked beyond what a function says; the kernels' own functions are the way in.
"""

from fractions import Fraction

from attnsep.arrays import common_namespace, quiet
from attnsep.checks import require_floating

FEW = 16  # terms that are added one after the other


MOST_STEPS = 100  # of Newton's method, each of which divides (function value times slope) by four; about ten are needed


def namespace_of(scores):
    """Return the array namespace of scores, or raise an error unless they are rows of at least one real number."""
    xp = common_namespace(scores=scores)
    require_floating(xp, scores=scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores: shape {tuple(scores.shape)}, must have at least one token on the last axis")
    return xp


def with_largest(scores):
    """Return the namespace and each row's largest score, or raise a ValueError where that is not finite."""
    xp = namespace_of(scores)
    largest = xp.max(scores, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(largest))):  # the one host synchronisation; a NaN anywhere makes the maximum NaN
        raise ValueError("scores: a row has NaN or inf, or masks every token; its weights are undefined")
    return xp, largest


def over_largest_size(scores, above=0):
    """Return the namespace, the scores over the largest size of their row (1 if not above so much), and that size."""
    xp = namespace_of(scores)
    _, size = with_largest(xp.abs(scores))
    size = xp.where(size > above, size, xp.ones_like(size))
    return xp, scores / size, size


def row_sums(xp, x):
    """Return the row sums, added in pairs.

    One term after the other, as NumPy adds where rows are not contiguous, rounds equal terms in one direction: the sum
    of 10^6 of them in float32 is off by a percent.
    """
    while (n := x.shape[-1]) > FEW:
        half = n // 2
        pairs = x[..., :half] + x[..., half : 2 * half]
        if n % 2:
            pairs[..., 0] += x[..., -1]
        x = pairs
    return xp.sum(x, axis=-1, keepdims=True)


def normalised(xp, u, why):
    """Return u over its row sums, or raise a ValueError that says `why` if one of these is nothing but rounding."""
    n, numbers = u.shape[-1], xp.finfo(u.dtype)
    with quiet():
        f = _over_sum(xp, u)
        if f is None:  # perhaps a sum is too large, and with it no weight: powers of two cancel
            power = 2.0 ** -n.bit_length()
            large = xp.max(xp.abs(u), axis=-1, keepdims=True) > power * numbers.max
            f = _over_sum(xp, xp.where(large, power * u, u))
    if f is None:
        finite = bool(xp.all(xp.isfinite(u)))
        raise ValueError(f"scores: {why if finite else 'a row has NaN or inf'}; it has no weights")
    return f


def _over_sum(xp, u):
    total, size = row_sums(xp, u), row_sums(xp, xp.abs(u))
    # Each addition that a term passes through may be off by ε of what is added.
    rounding = min(u.shape[-1], FEW + 2 * u.shape[-1].bit_length()) * xp.finfo(u.dtype).eps
    fits = (xp.abs(total) > rounding * size) & xp.isfinite(size)
    return u / total if bool(xp.all(fits)) else None  # the one host synchronisation


def times(xp, x, factor):
    """Return x times a Fraction of at least 0 that a float of its dtype may not hold.

    Examples
    --------
    >>> import numpy as np
    >>> times(np, np.array([1e-300, 1.0]), Fraction(10) ** 400).tolist()
    [1e+100, inf]
    """
    step = Fraction(2) ** 64
    with quiet():
        while factor > step:
            x, factor = x * float(step), factor / step
        while 0 < factor < 1 / step:
            x, factor = x / float(step), factor * step
        return x * float(factor)


def below_largest(scores):
    """Return the namespace and the scores minus the largest of their row, in float64.

    Below −2 they have no weight, however far below they are.  In float32 a threshold near −1 would have too few digits
    for a million weights above it.
    """
    xp, largest = with_largest(scores)
    with quiet():
        gap = xp.astype(scores, xp.float64) - xp.astype(largest, xp.float64)
        return xp, xp.maximum(gap, xp.full_like(gap, -2))


def above_threshold(xp, z, step):
    """Return how far every entry lies above the threshold at which `step` vanishes, and 0 below it.

    The threshold is found twice: weights of 1/n would be lost in its rounding, so the second search measures from
    where the first one ended.
    """
    y = z - _threshold(xp, z, -1, step)
    y = y - _threshold(xp, y, 0, step)
    return xp.maximum(y, xp.zeros_like(y))


def _threshold(xp, z, start, step):
    """Return the root that Newton's method finds, row by row.

    Every step of a convex function that falls ends left of its root; from there they rise towards it.
    """
    theta = start + step(z - start)
    for _ in range(MOST_STEPS):
        new = theta + step(z - theta)
        if not bool(xp.any(new > theta)):
            break
        theta = xp.maximum(theta, new)
    return theta
