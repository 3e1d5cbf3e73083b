"""How scores become weights.  Rows sum to one."""

from attnsep.arrays import common_namespace, require_floating


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
    xp = common_namespace(scores=scores)
    require_floating(xp, scores=scores)
    _require_tokens(scores)
    largest = xp.max(scores, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(largest))):  # the one host synchronisation; a NaN anywhere makes the maximum NaN
        raise ValueError("scores: a row has NaN or inf, or masks every token; softmax is undefined there")
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
    xp = common_namespace(scores=scores)
    require_floating(xp, scores=scores)
    _require_tokens(scores)
    total = xp.sum(scores, axis=-1, keepdims=True)
    size = xp.sum(xp.abs(scores), axis=-1, keepdims=True)
    # A sum of n terms is off by at most n ε Σ|s|.  The cap matters beyond n = 1/(2ε) alone: sums of one sign pass.
    rounding = min(scores.shape[-1] * xp.finfo(scores.dtype).eps, 0.5)
    if not bool(xp.all(xp.abs(total) > rounding * size)):  # the one host synchronisation; NaN and inf fail it too
        raise ValueError(
            "scores: a row sums to 0 (alpha_lin = 0) or to no finite number; linear attention is undefined"
        )
    return scores / total


def _require_tokens(scores):
    if scores.ndim == 0 or scores.shape[-1] == 0:
        raise ValueError(f"scores: shape {tuple(scores.shape)}, must have at least one token on the last axis")


KERNELS = {"softmax": softmax, "linear": linear}
