"""How scores become weights.  Rows sum to one.

Every function takes scores of shape (..., n) and returns weights of that shape.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from attnsep.arrays import common_namespace, quiet
from attnsep.checks import require_choice, require_decimal, require_floating, require_integer, text_of

HIGHEST = 10**19  # the power of this degree of any float between −1 and 1 is 0, and CuPy takes no integer above 2^64


FEW = 16  # terms that are added one after the other


MOST_STEPS = 100  # of Newton's method, each of which divides (function value times slope) by four; about ten are needed


def softmax(scores):
    """Weights proportional to the exponentials of the scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.

    Returns
    -------
    array, shape (..., n)
        Non-negative, each row sums to one.

    Raises
    ------
    ValueError
        If a row is empty, has a NaN or +inf, or masks every token.

    Notes
    -----
    f_exp = u_exp / ⟨u_exp, 1_n⟩ with u_exp = exp(scores).  Source: section 3.3.  The largest score is subtracted
    first, which changes nothing (claim softmax-ignores-shifts) and avoids overflow.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.log([1.0, 3.0])).round(12)
    array([0.25, 0.75])
    """
    return _softmax(scores)


def _softmax(scores, beta=Fraction(1)):
    """Return the weights of softmax over beta times the scores."""
    xp, largest = _largest(scores)
    with quiet():  # a gap below the least number is −inf, whose exponential is right
        if beta == 1:
            u = xp.exp(scores - largest)
        else:  # of halves, so that beta meets the true gap
            u = xp.exp(times(xp, scores / 2 - largest / 2, 2 * beta))
            u = xp.where(scores == -xp.inf, xp.zeros_like(u), u)  # 0 times −inf is no number
    return u / _sum(xp, u)


def linear(scores):
    """Weights proportional to the scores themselves.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores whose row sums are not zero.

    Returns
    -------
    array, shape (..., n)
        Each row sums to one; entries are negative where a score's sign differs from its row sum's.

    Raises
    ------
    ValueError
        If a row is empty, has a NaN or inf, or sums to zero within the rounding of its own sum
        (α_lin = 0: f_lin is undefined).

    Notes
    -----
    f_lin = u_lin / ⟨u_lin, 1_n⟩ with u_lin = scores.  Completed; the card names α only for softmax.
    Claims: lemma-4-1-linear-flat, lemma-4-1-linear-spike.

    Examples
    --------
    >>> import numpy as np
    >>> linear(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _normalised(_namespace(scores), scores, "a row sums to 0 within rounding (alpha_lin = 0)")


def _normalised(xp, u, why):
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
    total, size = _sum(xp, u), _sum(xp, xp.abs(u))
    # Each addition that a term passes through may be off by ε of what is added.
    rounding = min(u.shape[-1], FEW + 2 * u.shape[-1].bit_length()) * xp.finfo(u.dtype).eps
    fits = (xp.abs(total) > rounding * size) & xp.isfinite(size)
    return u / total if bool(xp.all(fits)) else None  # the one host synchronisation


def polynomial(scores, degree):
    """Weights proportional to a power of the scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; the powers of no row sum to zero.
    degree : int
        At least 1.

    Returns
    -------
    array, shape (..., n)
        Each row sums to one; with an odd degree entries can be negative.

    Raises
    ------
    ValueError, TypeError
        If the degree is no such number, a row is empty or has a NaN or inf, or its powers sum to zero within rounding.

    Notes
    -----
    score^degree over its row sum.  Each row is divided by its largest size first, so that no power overflows.
    Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> polynomial(np.array([1.0, 3.0]), 2)
    array([0.1, 0.9])
    """
    xp, degree = _namespace(scores), require_integer("degree", degree, least=1)
    _, size = _largest(xp.abs(scores))
    scores = scores / xp.where(size == 0, xp.ones_like(size), size)
    power = xp.abs(scores) ** min(degree, HIGHEST)
    power = xp.where(scores < 0, -power, power) if degree % 2 else power
    return _normalised(xp, power, "the powers of a row sum to 0 within rounding")


def squared_relu(scores):
    """Weights proportional to the square of the positive part of the scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores, one of each row above zero; -inf masks a token.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError
        If a row is empty, has a NaN or +inf, or no score above zero.

    Notes
    -----
    max(score, 0)² over its row sum.  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> squared_relu(np.array([-5.0, 1.0, 3.0]))
    array([0. , 0.1, 0.9])
    """
    xp = _namespace(scores)
    positive = xp.maximum(scores, xp.zeros_like(scores))
    if not bool(xp.all(xp.any(positive > 0, axis=-1) | xp.any(xp.isnan(scores), axis=-1))):
        raise ValueError("scores: a row has no score above 0; it has no weights")
    return polynomial(positive, 2)


def sigmoid(scores):
    """Weights proportional to 1/(1 + e^{-score}).

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError
        As in `softmax`.

    Notes
    -----
    Normalised by the row sum, as every kernel here.  Where all scores are negative, all sigmoids are divided by the
    exponential of the largest score, so that none underflows that counts.  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> sigmoid(np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    xp, largest = _largest(scores)
    zero = xp.zeros_like(scores)
    u = xp.exp(xp.minimum(scores, zero) - xp.minimum(largest, zero)) / (1 + xp.exp(-xp.abs(scores)))
    return u / _sum(xp, u)


def top_k(scores, k):
    """Softmax over the k largest scores of each row; all other weights are zero.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.
    k : int
        From 1 to n.  Exactly k tokens are kept, ties going to the lowest index.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError, TypeError
        As in `softmax`, or if k is no such number.

    Notes
    -----
    Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> top_k(np.array([1.0, 2.0, 1.0]), 2).round(3)
    array([0.269, 0.731, 0.   ])
    """
    xp, _ = _largest(scores)
    if (k := require_integer("k", k, least=1)) > scores.shape[-1]:
        raise ValueError(f"kernel = 'topk:{k}': k = {k} must be at most n = {scores.shape[-1]}")
    rank = xp.argsort(xp.argsort(-scores, axis=-1, stable=True), axis=-1, stable=True)
    return softmax(xp.where(rank < k, scores, xp.full_like(scores, -xp.inf)))


def hard(scores):
    """Equal weights on the largest scores of each row, and zero elsewhere.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.  Only scores equal in floating point share.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError
        As in `softmax`.

    Notes
    -----
    The limit β → ∞ of softmax.  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> hard(np.array([2.0, 1.0, 2.0]))
    array([0.5, 0. , 0.5])
    """
    xp, largest = _largest(scores)
    u = xp.astype(scores == largest, scores.dtype)
    return u / _sum(xp, u)


def sparsemax(scores):
    """The point of the probability simplex next to the scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.

    Returns
    -------
    array, shape (..., n)
        max(score − θ, 0), with θ such that each row sums to one.

    Raises
    ------
    ValueError
        As in `softmax`.

    Notes
    -----
    Martins and Astudillo (2016).  Σ max(score − θ, 0) is convex in θ and falls, so Newton's method finds θ; each of
    its steps counts the scores above θ and sums them.
    Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> sparsemax(np.array([0.0, 0.5, -2.0]))
    array([0.25, 0.75, 0.  ])
    """
    xp, z = _below_largest(scores)

    def step(y):
        above = xp.maximum(y, xp.zeros_like(y))
        return (_sum(xp, above) - 1) / _sum(xp, xp.astype(y > 0, y.dtype))

    return xp.astype(_above_threshold(xp, z, step), scores.dtype)


def entmax(scores):
    """1.5-entmax: between softmax and sparsemax.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.

    Returns
    -------
    array, shape (..., n)
        max(score/2 − θ, 0)², with θ such that each row sums to one.

    Raises
    ------
    ValueError
        As in `softmax`.

    Notes
    -----
    Peters, Niculae and Martins (2019).  With z = max(score/2 − θ, 0) the norm ‖z‖ is convex in θ and falls, with the
    slope −Σz/‖z‖, so Newton's method finds where it is 1.  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> entmax(np.array([0.0, 0.0])), entmax(np.array([0.0, 2.0]))
    (array([0.5, 0.5]), array([0., 1.]))
    """
    xp, z = _below_largest(scores)

    def step(y):
        above = xp.maximum(y, xp.zeros_like(y))
        norm = xp.sqrt(_sum(xp, above * above))
        return (norm - 1) * norm / _sum(xp, above)

    return xp.astype(_above_threshold(xp, z / 2, step) ** 2, scores.dtype)


def weights(scores, kernel="softmax"):
    """Weights of a kernel given by its name.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores.
    kernel : str
        A name of ``spec.PARAMETERS`` whose weights depend on the scores alone: not elu+1, relu, performer or window,
        for which see ``attention.attend``.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError, TypeError
        If the kernel is no such name, or as the kernel's own function.

    Notes
    -----
    Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> weights(np.log([1.0, 3.0]), "softmax:2").round(12)
    array([0.1, 0.9])
    """
    name, parameter = require_kernel(kernel)
    if name not in OF_SCORES:
        raise ValueError(f"kernel = {kernel!r}: has weights that depend on more than the scores; use attention.attend")
    if name == "softmax":
        return _softmax(scores, parameter)
    return OF_SCORES[name](scores) if parameter is None else OF_SCORES[name](scores, parameter)


def _largest(scores):
    xp = _namespace(scores)
    largest = xp.max(scores, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(largest))):  # the one host synchronisation; a NaN anywhere makes the maximum NaN
        raise ValueError("scores: a row has NaN or inf, or masks every token; its weights are undefined")
    return xp, largest


def _namespace(scores):
    xp = common_namespace(scores=scores)
    require_floating(xp, scores=scores)
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores: shape {tuple(scores.shape)}, must have at least one token on the last axis")
    return xp


def _sum(xp, x):
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


def times(xp, x, factor):
    """Return x times a number that a float of its dtype may not hold.

    Parameters
    ----------
    xp : module
        The namespace of x.
    x : array
        Real floating.
    factor : Fraction
        At least 0.

    Returns
    -------
    array
        Of the shape of x.

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


def _below_largest(scores):
    """Return the scores minus the largest of their row, in float64.

    Below −2 they have no weight, however far below they are.  In float32 a threshold near −1 would have too few digits
    for a million weights above it.
    """
    xp, largest = _largest(scores)
    with quiet():
        gap = xp.astype(scores, xp.float64) - xp.astype(largest, xp.float64)
        return xp, xp.maximum(gap, xp.full_like(gap, -2))


def _above_threshold(xp, z, step):
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


KERNELS = {"softmax": softmax, "linear": linear}


OF_SCORES = {
    **KERNELS,
    "polynomial": polynomial,
    "squared-relu": squared_relu,
    "sigmoid": sigmoid,
    "topk": top_k,
    "sparsemax": sparsemax,
    "entmax": entmax,
    "hard": hard,
}


PAIR = ("softmax", "linear")  # the two that the paper compares


# What follows the colon: nothing, or (its name, whether it may be left out, the least value); a whole number unless β.
PARAMETERS = {
    "softmax": ("beta", True, 0),
    "linear": None,
    "polynomial": ("degree", False, 1),
    "squared-relu": None,
    "sigmoid": None,
    "elu+1": None,
    "relu": None,
    "performer": ("features", False, 1),
    "topk": ("k", False, 1),
    "sparsemax": None,
    "entmax": None,
    "hard": None,
    "window": ("width", False, 0),
}


class Kernel(NamedTuple):
    """A kernel's name and its parameter: β of softmax, a degree, a number of features, k, a width, or None."""

    name: str
    parameter: Fraction | int | None


def require_kernel(kernel):
    """Return the name and the parameter that a kernel's text stands for, or raise an error.

    Parameters
    ----------
    kernel : str
        A name of ``PARAMETERS``, with a colon and a number where the kernel has a parameter; ``softmax`` alone has
        β = 1.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError, TypeError
        If the text is no such kernel.

    Notes
    -----
    Definition: def-kernels.

    Examples
    --------
    >>> require_kernel("softmax"), require_kernel("topk:16")
    (Kernel(name='softmax', parameter=Fraction(1, 1)), Kernel(name='topk', parameter=16))
    >>> require_kernel("topk:0")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'topk:0': k = 0: must be at least 1
    """
    if not isinstance(kernel, str):
        raise TypeError(f"kernel = {text_of(kernel)}: must be a string such as softmax or topk:16")
    name, colon, text = kernel.partition(":")
    if name not in PARAMETERS:
        raise ValueError(f"kernel = {kernel!r}: must be one of {', '.join(map(usage, PARAMETERS))}")
    if PARAMETERS[name] is None or not colon:
        if colon or (PARAMETERS[name] and not PARAMETERS[name][1]):
            raise ValueError(f"kernel = {kernel!r}: must be {usage(name)}")
        return Kernel(name, Fraction(1) if name == "softmax" else None)
    what, _, least = PARAMETERS[name]
    try:
        if what == "beta":
            return Kernel(name, require_decimal(what, text, least))
        if not re.fullmatch(r"[+-]?[0-9]{1,300}", text):
            raise ValueError(f"{what} = {text!r}: must be a whole number")
        return Kernel(name, require_integer(what, int(text), least))
    except ValueError as error:
        raise ValueError(f"kernel = {kernel!r}: {error}") from None


def require_pair(kernel):
    """Return `kernel` if it is one of the two that the paper compares, or raise a ValueError.

    Examples
    --------
    >>> require_pair("hard")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'hard': must be softmax or linear here
    """
    if not isinstance(kernel, str) or kernel not in PAIR:
        raise ValueError(f"kernel = {text_of(kernel)}: must be softmax or linear here")
    return kernel


def usage(name):
    """Return how the kernel is written: its name, and the parameter after a colon.

    Examples
    --------
    >>> usage("topk"), usage("softmax"), usage("hard")
    ('topk:k', 'softmax[:beta]', 'hard')
    """
    what, optional, _ = PARAMETERS[require_choice("name", name, PARAMETERS)] or ("", True, 0)
    return name + (f"[:{what}]" if what and optional else f":{what}" if what else "")
