"""The four attentions {exp, linear} × {normalised, not}: outputs, laws of one random column, and best thresholds.

The normalised two are softmax and linear attention.  Without normalisation a row's output is A₃ᵀ u_j instead of
A₃ᵀ f_j, and its size grows with n; thresholds are therefore plain numbers here, not gaps above c.
"""

import math
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from attnsep.arrays import common_namespace, quiet
from attnsep.attention.attend import row_scores, values
from attnsep.attention.kernels import require_pair
from attnsep.checks import (
    require_finite,
    require_floating,
    require_instance,
    require_integer,
    require_positive,
    require_shape,
)
from attnsep.paper.tokens import ALL_PLUS, PATTERNS, Law, TokenData, output
from attnsep.probability import sign_sums

MOST_WIDTH = 10**4


APART = 1e-9  # thresholds are sought only between values that differ by more, relative to the largest value


class Threshold(NamedTuple):
    """A threshold, and the probabilities to fire there on D_0 and on D_1."""

    tau: float
    on_d0: float
    on_d1: float


def outputs(A, X, kernel="softmax", normalised=True):
    """Attention output of every token, with or without division by the row sums α_j.

    Parameters
    ----------
    A : array, shape (n, d)
        Tokens, A = A1 = A2 = A3.
    X : array, shape (d, d)
        The weight matrix.
    kernel : str
        softmax (u = exp of the scores) or linear (u = the scores).
    normalised : bool
        Whether each row of u is divided by its sum.

    Returns
    -------
    array, shape (n, d)
        Row j is A₃ᵀ f_j if normalised, else A₃ᵀ u_j.

    Raises
    ------
    ValueError, TypeError
        As in ``attention.values``, or if an exponential is too large.

    Notes
    -----
    Without normalisation all n² scores are held at once.  Completed.  Claim: raw-values-in-closed-form.

    Examples
    --------
    >>> A = np.array([[1.0], [3.0]])
    >>> outputs(A, np.array([[1.0]]), "linear", normalised=False)
    array([[10.],
           [30.]])
    """
    xp = common_namespace(A=A, X=X)
    require_shape("A", A, ("n", "d"))
    require_floating(xp, A=A, X=X)
    kernel = require_pair(kernel)
    if normalised:
        return values(A, A, A, X, kernel)
    u = row_scores(A, A, X)
    with quiet():
        found = xp.matmul(xp.exp(u) if kernel == "softmax" else u, A)
    if not bool(xp.all(xp.isfinite(found))):
        raise ValueError("A: an exponential of a score is too large")
    return found


def values_closed(data, kernel="softmax", normalised=True):
    """Outputs on the token data in closed form: every row is one of two.

    Parameters
    ----------
    data : TokenData
        With equal classes; the gap does not matter.
    kernel, normalised
        As in `outputs`.

    Returns
    -------
    tuple of TokenValue
        The marked token's row, and every other row.

    Raises
    ------
    ValueError, TypeError
        If the kernel is unknown, or an output is too large for a double.

    Notes
    -----
    Without normalisation: √L (a u_*; b(u_* + (t−1)u_o) at k*, b t u_o at each other class; c(u_* + (n−1)u_o)), where
    u_* is the entry of u at j* and u_o the entry elsewhere.  Exp: u_*, u_o = n^{(1+a)²}, n^{1+a} in the marked row and
    n^{1+a}, n in others; linear: (1+a)²L, (1+a)L and (1+a)L, L.  Source: Lemma D.2 (completed).
    Claim: raw-values-in-closed-form.

    Examples
    --------
    >>> data = TokenData(n=4, d=4, a=1, c="0.5")
    >>> [round(x / math.log(4) ** 1.5, 12) for x in values_closed(data, "linear", False)[0]]
    [4.0, 3.0, 2.0, 5.0]
    """
    kernel = require_pair(kernel)
    if normalised:
        return Law(data, kernel).values()
    rows = _raw_entries(require_instance("data", data, TokenData), kernel)
    t, n = data.t, data.n
    found = tuple(output(data, total=U + (n - 1) * V, marked=U, own=U + (t - 1) * V, others=t * V) for U, V in rows)
    if not all(math.isfinite(x) for row in found for x in row):
        raise ValueError(f"n = {n}, a = {float(data.a):g}: an output is too large for a double")
    return found


def _raw_entries(data, kernel):
    """Return (u_*, u_o) of both kinds of row: the entry of u at the marked token, and the entry elsewhere."""
    own = 1 + float(data.a)
    exponents = ((own * own, own), (own, 1.0))
    if kernel == "linear":
        return [[s * data.log_n for s in pair] for pair in exponents]
    try:
        return [[data.n**s for s in pair] for pair in exponents]
    except OverflowError:
        raise ValueError(
            f"n = {data.n}, a = {float(data.a):g}: the exponential of a score is too large for a double"
        ) from None


def column_law(data, kernel="softmax", normalised=True):
    """Law of the largest ⟨o_j, y⟩ over all rows, for one random column y.

    Parameters
    ----------
    data, kernel, normalised
        As in `values_closed`; d up to 10^4.

    Returns
    -------
    largest : array, shape (k,)
        Values, not sorted and not all distinct, k = 8(d − 2).
    mass : array, shape (k,)
        Their probabilities.
    rows : array, shape (2, k)
        ⟨o_j, y⟩ of the marked row and of the others; `largest` is the larger.
    size : array, shape (2,)
        ``Σ_i |o_ji|``: rounding in `rows` is a few ε of it.

    Raises
    ------
    ValueError, TypeError
        As in `values_closed`.

    Notes
    -----
    Eight patterns of (y_1, y_{k*}, y_d), and a binomial sum S of the d − 3 other signs.  The two rows share y, so
    their union is one comparison per atom: the larger of the two sums.  Completed.
    Claims: raw-column-law, ablation-simulated.

    Examples
    --------
    >>> largest, mass, _, _ = column_law(TokenData(n=4, d=4, a=1, c="0.5"))
    >>> float(mass.sum()), float(mass[largest > 0.6 * math.sqrt(math.log(4))].sum())
    (1.0, 0.375)
    """
    d = require_integer("d", require_instance("data", data, TokenData).d, least=3, most=MOST_WIDTH)
    pair = values_closed(data, kernel, normalised)
    others = np.arange(-(d - 3.0), d - 2, 2)
    rows = np.stack([np.concatenate([row.meets(signs, others) for signs in PATTERNS]) for row in pair])
    size = np.array([row.meets(ALL_PLUS, d - 3) for row in pair])  # no entry is negative
    return np.max(rows, axis=0), np.tile(_masses(d - 3) / 8, 8), rows, size


@lru_cache(maxsize=16)
def _masses(k):
    """Return P[B = 0], …, P[B = k] for B ~ Bin(k, 1/2), each rounded once."""
    ways, total = accumulate(range(k), lambda w, r: w * (k - r) // (r + 1), initial=1), 2**k
    return np.array([w / total for w in ways])


def column_probability(data, tau, kernel="softmax", normalised=True):
    """Probability π that one random column makes some row exceed a threshold.

    Parameters
    ----------
    data, kernel, normalised
        As in `column_law`.
    tau : float
        Threshold τ above 0, in place of that of the data.

    Returns
    -------
    float
        π, to 12 digits.

    Raises
    ------
    ValueError, TypeError
        As in `column_law`, or if a row is so near τ that doubles cannot tell whether it exceeds it.

    Notes
    -----
    At τ = (c + gap)√L ``tokens.Law`` decides ties exactly for the normalised two; here a tie is an error.
    Claims: raw-column-law, only-exp-normalised-separates.

    Examples
    --------
    >>> data = [TokenData(n=1024, d=258, a=a, c=0.5) for a in (0.05, 0.7)]
    >>> [round(column_probability(x, x.tau, "softmax", False), 9) for x in data]
    [0.5, 0.625]
    """
    tau = require_positive("tau", tau)
    largest, mass, rows, size = column_law(data, kernel, normalised)
    if np.any(np.abs(rows - tau) <= 64 * sign_sums.EPS * (size[:, None] + tau)):
        raise ValueError(f"tau = {tau!r}: doubles cannot tell whether a row exceeds it")
    return min(1.0, math.fsum(mass[largest > tau]))


def fires_probability(data, m, tau, kernel="softmax", normalised=True):
    """Probability 1 − (1 − π)^m that the network fires at a threshold τ.

    Parameters
    ----------
    data, tau, kernel, normalised
        As in `column_probability`.
    m : int
        Number of sign columns, at least 1.

    Returns
    -------
    float

    Raises
    ------
    ValueError, TypeError
        As in `column_probability`.

    Examples
    --------
    >>> tau = 1024**2.4 * math.sqrt(math.log(1024))
    >>> data = [TokenData(n=1024, d=258, a=a, c=0.5) for a in (0.05, 0.7)]
    >>> [round(fires_probability(x, 10, tau, "softmax", False), 9) for x in data]
    [0.0, 0.999023438]
    """
    return sign_sums.fires_probability(column_probability(data, tau, kernel, normalised), m)


def best_threshold(d0, d1, m, kernel="softmax", normalised=True):
    """Threshold τ that makes P[fires on D_1] − P[fires on D_0] largest.

    Parameters
    ----------
    d0, d1 : TokenData
        D_0 and D_1.
    m : int
        Number of sign columns, at least 1.
    kernel, normalised
        As in `column_law`.

    Returns
    -------
    Threshold

    Raises
    ------
    ValueError, TypeError
        As in `column_law`.

    Notes
    -----
    The difference changes only where τ passes a value of one of the two laws, so the middle of every gap between
    neighbouring values is tried.  Gaps below 10^-9 of the largest value are passed over, since rounding makes some.
    Extension.  Claims: mechanism-2-information-lost, ablation-best-threshold.

    Examples
    --------
    >>> d0, d1 = (TokenData(n=1024, d=258, a=a, c=0.5) for a in (0.05, 0.7))
    >>> best = best_threshold(d0, d1, 10, "linear", normalised=False)
    >>> round(best.on_d0, 6), round(best.on_d1, 6)
    (3e-06, 0.999017)
    """
    m = require_integer("m", m, least=1)
    pair = require_instance("d0", d0, TokenData), require_instance("d1", d1, TokenData)
    laws = [column_law(data, kernel, normalised)[:2] for data in pair]
    steps = np.unique(np.concatenate([largest for largest, _ in laws]))
    gaps = np.diff(steps)
    tried = (steps[:-1] + gaps / 2)[gaps > APART * np.max(np.abs(steps))]
    on_d0, on_d1 = (1 - (1 - upper_tail(*law, tried)) ** m for law in laws)
    best = int(np.argmax(on_d1 - on_d0))
    return Threshold(float(tried[best]), float(on_d0[best]), float(on_d1[best]))


def upper_tail(values, mass, thresholds):
    """P[value > threshold] for many thresholds at once.

    Parameters
    ----------
    values, mass : array, shape (k,)
        A discrete law, as from `column_law`.
    thresholds : array, shape (q,)
        Thresholds.  How near they are to values is not checked.

    Returns
    -------
    array, shape (q,)
        Each to about 10^-13, not to 12 digits where it is tiny; never above 1.

    Examples
    --------
    >>> upper_tail(np.array([2.0, 1.0]), np.array([0.25, 0.75]), np.array([0.5, 1.5])).tolist()
    [1.0, 0.25]
    """
    xp = common_namespace(values=values, mass=mass, thresholds=thresholds)
    for name, array in (("values", values), ("mass", mass), ("thresholds", thresholds)):
        require_shape(name, array, (len(values) if name == "mass" else "k",))
        require_finite(xp, array, name)
    if bool(xp.any(mass < 0)):
        raise ValueError("mass: must have no entry below 0")
    order = np.argsort(values)
    tails = np.append(np.cumsum(mass[order][::-1])[::-1], 0.0)
    return np.minimum(tails[np.searchsorted(values[order], thresholds, side="right")], 1.0)
