"""How scores become weights.  Rows sum to one.

Every function takes scores of shape (..., n) and returns weights of that shape.
"""

from array_api_compat import device

from attnsep.arrays import common_namespace, quiet, require_floating
from attnsep.data import require_integer
from attnsep.spec import require_kernel

HIGHEST = 10**19  # the power of this degree of any float between −1 and 1 is 0, and CuPy takes no integer above 2^64


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
    xp, largest = _largest(scores)
    u = xp.exp(scores - largest)
    return u / xp.sum(u, axis=-1, keepdims=True)


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
    Claims: linear-flat, linear-spike.

    Examples
    --------
    >>> import numpy as np
    >>> linear(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    xp = _namespace(scores)
    total = xp.sum(scores, axis=-1, keepdims=True)
    size = xp.sum(xp.abs(scores), axis=-1, keepdims=True)
    # A sum of n terms is off by at most n ε Σ|s|.  The cap matters beyond n = 1/(2ε) alone: sums of one sign pass.
    rounding = min(scores.shape[-1] * xp.finfo(scores.dtype).eps, 0.5)
    if not bool(xp.all(xp.abs(total) > rounding * size)):  # the one host synchronisation; NaN and inf fail it too
        raise ValueError(
            "scores: a row's weights sum to 0 (linear attention: alpha_lin = 0) or to no finite number; it has none"
        )
    return scores / total


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
    return linear(xp.where(scores < 0, -power, power) if degree % 2 else power)


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
    return polynomial(xp.maximum(scores, xp.zeros_like(scores)), 2)


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
    return linear(xp.exp(xp.minimum(scores, zero) - xp.minimum(largest, zero)) / (1 + xp.exp(-xp.abs(scores))))


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
    return u / xp.sum(u, axis=-1, keepdims=True)


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
    Martins and Astudillo (2016): the k largest scores stay, for the largest k with 1 + k z_(k) > z_(1) + … + z_(k).
    Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> sparsemax(np.array([0.0, 0.5, -2.0]))
    array([0.25, 0.75, 0.  ])
    """
    xp, largest = _largest(scores)
    scores = xp.maximum(scores - largest, xp.full_like(scores, -2))  # θ ≥ −1, so what is lower changes nothing
    z = xp.sort(scores, axis=-1, descending=True)
    rank = _ranks(xp, z)
    stay = 1 + rank * z > xp.cumulative_sum(z, axis=-1)
    kept = xp.sum(xp.where(stay, z, xp.zeros_like(z)), axis=-1, keepdims=True)
    theta = (kept - 1) / xp.sum(xp.astype(stay, z.dtype), axis=-1, keepdims=True)
    return xp.maximum(scores - theta, xp.zeros_like(scores))


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
    Peters, Niculae and Martins (2019).  If the k largest halved scores z_i stay, with mean M and sum V of the squared
    deviations from it, then Σ(z_i − θ)² = V + k(M − θ)² = 1.  So θ_k = M − √((1 − V)/k), and the largest k with
    θ_k ≤ z_(k) is right.  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> entmax(np.array([0.0, 0.0])), entmax(np.array([0.0, 2.0]))
    (array([0.5, 0.5]), array([0., 1.]))
    """
    xp, largest = _largest(scores)
    half = xp.maximum((scores - largest) / 2, xp.full_like(scores, -2))  # θ ≥ −1, so what is lower changes nothing
    z = xp.sort(half, axis=-1, descending=True)
    rank = _ranks(xp, z)
    mean = xp.cumulative_sum(z, axis=-1) / rank
    spread = xp.cumulative_sum(z * z, axis=-1) - rank * mean * mean
    theta = mean - xp.sqrt(xp.maximum(1 - spread, xp.zeros_like(z)) / rank)
    kept = xp.sum(xp.astype(theta <= z, z.dtype), axis=-1, keepdims=True)
    theta = xp.sum(xp.where(rank == kept, theta, xp.zeros_like(z)), axis=-1, keepdims=True)
    return xp.maximum(half - theta, xp.zeros_like(half)) ** 2


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
        _namespace(scores)
        with quiet():
            scores = scores if parameter == 1 else scores * float(parameter)
        return softmax(scores)
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


def _ranks(xp, z):
    return xp.broadcast_to(xp.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=device(z)), z.shape)


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
