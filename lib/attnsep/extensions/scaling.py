"""What happens far out: the limits of the firing probabilities in n and in d."""

import math
from fractions import Fraction
from typing import NamedTuple

from attnsep.attention.kernels import require_pair
from attnsep.checks import require_integer, require_real
from attnsep.paper import tokens
from attnsep.paper.tokens import PATTERNS, Law, TokenData, shortfall
from attnsep.probability import sign_sums


class Accuracies(NamedTuple):
    """How often the answer "D_1 if the network fires" is right, D_0 and D_1 being equally likely."""

    softmax: float
    linear: float


def column_limit(a, c, gap=0.1):
    """Limit of π for softmax where the mark is seen: p → 1 and d → ∞.

    Parameters
    ----------
    a, c, gap
        As in `TokenData`; gap above 0.

    Returns
    -------
    Fraction
        The share of the eight patterns (y_1, y_{k*}, y_d) with a y_1 + b y_{k*} + c(y_d − 1) > gap.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks these rules, or a pattern attains the gap: then π has no limit that p → 1 decides.

    Notes
    -----
    Extension.  Claim: scaling-in-d.

    Examples
    --------
    >>> column_limit(0.7, 0.9), column_limit(0.7, 0.5)
    (Fraction(1, 4), Fraction(3, 8))
    """
    data = TokenData(n=2, d=3, a=a, c=c, gap=gap)
    if data.gap == 0:
        raise ValueError(f"gap = {gap!r}: must be above 0")
    return Fraction(sum(_marked_alone(data, signs) for signs in PATTERNS), len(PATTERNS))


def _marked_alone(data, signs):
    """Whether a row with all its weight on the marked token exceeds the threshold; a tie is an error."""
    missing = shortfall(data, signs, total=1, marked=1, own=1)
    if missing == 0:
        shown = ", ".join(f"{name} = {float(getattr(data, name)):g}" for name in ("a", "c", "gap"))
        raise ValueError(f"{shown}: a pattern of signs attains the gap exactly")
    return missing < 0


def width_limit(d, a, c, kernel="softmax", gap=0.1):
    """Limit of π as n → ∞ at a fixed width d.

    Parameters
    ----------
    d, a, c, gap
        As in `TokenData`; d up to 10^9.
    kernel : str
        softmax or linear.

    Returns
    -------
    float
        To 12 digits.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks these rules, or the limit has a tie: then it does not decide.

    Notes
    -----
    With the limit w of a row's weight on the marked token, and r' = (1 − w)/(d − 2) on each class, b r' S must exceed
    ``tokens.shortfall`` of the weights 1, w and w + r'.  Softmax: w = 1 in the marked row if a(1+a) > 1, else 0; in
    the other rows 1, ½ or 0 where a is above, at or below 1.  Linear: w = 0.  Extension.  Claim: scaling-in-n.

    Examples
    --------
    >>> width_limit(4, 0.05, 0.5), width_limit(4, 0.05, 0.5, "linear"), width_limit(4, 0.7, 0.5)
    (0.125, 0.125, 0.4375)
    """
    n = 2 * (require_integer("d", d, least=3, most=tokens.MOST_WIDTH) - 2)
    kernel = require_pair(kernel)
    law = Law(TokenData(n=n, d=d, a=a, c=c, gap=gap), kernel)
    rows = [_weight_limit(R.exponent) if kernel == "softmax" else Fraction(0) for R in law.gains]
    data = law.data
    least = (min(_least_plus(data, w, signs) for w in rows) for signs in PATTERNS)
    return math.fsum(sign_sums.binomial_tail(data.d - 3, plus) for plus in least) / 8


def _weight_limit(exponent):
    """Return the limit of R/(R + n − 1) with R = n^exponent."""
    return Fraction(1, 2) if exponent == 1 else Fraction(int(exponent > 1))


def _least_plus(data, w, signs):
    """Return the smallest number of plus signs among the d − 3 other classes that exceeds the threshold."""
    others, rest = data.d - 3, (1 - w) / (data.d - 2)
    if rest == 0:
        return 0 if _marked_alone(data, signs) else others + 1
    missing = shortfall(data, signs, total=1, marked=w, own=w + rest)
    plus = (others + missing / (data.b * rest)) / 2
    if plus.denominator == 1 and 0 <= plus <= others:
        raise ValueError(f"d = {data.d}: in the limit a row ties with the threshold, so the limit does not decide")
    return max(0, min(others + 1, math.floor(plus) + 1))


def sign_rate(x):
    """Rate at which a mean of k random signs above x becomes rare.

    Parameters
    ----------
    x : float
        From 0 to 1.

    Returns
    -------
    float
        𝓘(x) = ((1+x) log(1+x) + (1−x) log(1−x))/2: P[mean > x] = e^{−k(𝓘(x) + o(1))} for 0 ≤ x < 1, and P[mean = 1] =
        e^{−k 𝓘(1)}.

    Raises
    ------
    ValueError
        If x is outside.

    Notes
    -----
    𝓘(x) ≥ x²/2, the exponent of Hoeffding's bound.  Extension.  Claim: scaling-rate.

    Examples
    --------
    >>> sign_rate(0.0), round(sign_rate(0.2), 9), sign_rate(1) == math.log(2)
    (0.0, 0.020135514, True)
    """
    x = require_real("x", x)
    if not 0 <= x <= 1:
        raise ValueError(f"x = {x}: must lie between 0 and 1")
    return ((1 + x) * math.log1p(x) + ((1 - x) * math.log1p(-x) if x < 1 else 0)) / 2


def accuracies(n, d, m, a0, a1, c, gap=0.1):
    """Share of right answers of both networks on D_0 and D_1, equally likely.

    Parameters
    ----------
    n, d, m, a0, a1, c, gap
        As in ``tokens.errors``.

    Returns
    -------
    Accuracies
        1/2 + (P[fires on D_1] − P[fires on D_0])/2 for each attention.

    Raises
    ------
    ValueError, TypeError
        As in ``tokens.errors``.

    Notes
    -----
    Their difference is the performance gap of Open Question 2.  Extension.  Claims: scaling-in-d, scaling-in-n.

    Examples
    --------
    >>> [*accuracies(4, 4, 1, 0, 1, "0.5")]
    [0.625, 0.53125]
    """
    silent_1, softmax_0, linear_0, linear_1 = tokens.errors(n, d, m, a0, a1, c, gap)
    return Accuracies(1 - (silent_1 + softmax_0) / 2, 0.5 + (linear_1 - linear_0) / 2)
