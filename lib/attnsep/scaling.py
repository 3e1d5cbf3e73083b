"""What happens far out: the threshold of the mark, and the limits of the firing probabilities in n and in d."""

import math
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from attnsep import exact, tokens
from attnsep.data import TokenData, require_decimal, require_integer, require_positive, require_real
from attnsep.spec import require_pair


class Accuracies(NamedTuple):
    """How often the answer "D_1 if the network fires" is right, D_0 and D_1 being equally likely."""

    softmax: float
    linear: float


def collapsed(n, a, beta=1):
    """Position of (n, a) on the one curve that all weights of the marked row share.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    a, beta : int, float, Fraction or str
        Strength of the marked token and inverse temperature β, at least 0.

    Returns
    -------
    float
        x = (βa(1+a) − 1) log n, natural logarithm; the factor is computed exactly.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or the factor is above 10^300.

    Notes
    -----
    p = 1/(1 + e^{−z}) with z = x − log(1 − 1/n).  Extension.  Claims: golden-ratio-law, golden-ratio-collapse.

    Examples
    --------
    >>> collapsed(16, 0.5) == -0.25 * math.log(16), collapsed(16, 0.5, beta="4/3")
    (True, 0.0)
    """
    n, a, beta = require_integer("n", n, least=2), require_decimal("a", a), require_decimal("beta", beta)
    factor = beta * a * (1 + a) - 1
    if factor > 10**300:
        raise ValueError("a, beta: beta * a * (1 + a) must be at most 10^300")
    return float(factor) * math.log(n)


def threshold_strength(beta=1):
    """Strength above which the marked token wins as n grows, and below which it loses.

    Parameters
    ----------
    beta : float
        Inverse temperature β, above 0.

    Returns
    -------
    float
        The positive root of a(1+a) = 1/β, to 15 digits.

    Raises
    ------
    ValueError, TypeError
        If β is not finite and above 0.

    Notes
    -----
    (√(1 + 4/β) − 1)/2, written without cancellation; 1/φ = (√5 − 1)/2 at β = 1.
    Extension.  Claims: golden-ratio-threshold, inverse-temperature.

    Examples
    --------
    >>> round(threshold_strength(), 12), round(threshold_strength(1 / 8), 12)
    (0.61803398875, 2.372281323269)
    """
    beta = require_positive("beta", beta)
    return 1 / (beta / 2 + math.sqrt(beta) / 2 * math.sqrt(beta + 4))  # halves, since twice β may be no double


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
    patterns = list(product((1, -1), repeat=3))
    return Fraction(sum(_marked_alone(data, *signs) for signs in patterns), len(patterns))


def _marked_alone(data, y_first, y_own, y_last):
    """Whether a row with all its weight on the marked token exceeds the threshold; a tie is an error."""
    above = data.a * y_first + data.b * y_own + data.c * (y_last - 1) - data.gap
    if above == 0:
        shown = ", ".join(f"{name} = {float(getattr(data, name)):g}" for name in ("a", "c", "gap"))
        raise ValueError(f"{shown}: a pattern of signs attains the gap exactly")
    return above > 0


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
    With the limit w of a row's weight on the marked token, and r' = (1 − w)/(d − 2) on each class:
    a w y_1 + b((w + r')y_{k*} + r' S) + c(y_d − 1) > gap.  Softmax: w = 1 in the marked row if a(1+a) > 1, else 0; in
    the other rows 1, ½ or 0 where a is above, at or below 1.  Linear: w = 0.  Extension.  Claim: scaling-in-n.

    Examples
    --------
    >>> width_limit(4, 0.05, 0.5), width_limit(4, 0.05, 0.5, "linear"), width_limit(4, 0.7, 0.5)
    (0.125, 0.125, 0.4375)
    """
    data = TokenData(n=2 * (require_integer("d", d, least=3, most=tokens.MOST_WIDTH) - 2), d=d, a=a, c=c, gap=gap)
    rows = [
        _weight_limit(R.exponent) if kernel == "softmax" else Fraction(0)
        for R in tokens.gains(data.n, a, require_pair(kernel))
    ]
    patterns = product((1, -1), repeat=3)
    least = (min(_least_plus(data, w, *signs) for w in rows) for signs in patterns)
    return math.fsum(exact.binomial_tail(data.d - 3, plus) for plus in least) / 8


def _weight_limit(exponent):
    """Return the limit of R/(R + n − 1) with R = n^exponent."""
    return Fraction(1, 2) if exponent == 1 else Fraction(int(exponent > 1))


def _least_plus(data, w, y_first, y_own, y_last):
    """Return the smallest number of plus signs among the d − 3 other classes that exceeds the threshold."""
    others, rest = data.d - 3, (1 - w) / (data.d - 2)
    if rest == 0:
        return 0 if _marked_alone(data, y_first, y_own, y_last) else others + 1
    missing = data.gap + data.c * (1 - y_last) - data.a * w * y_first - data.b * (w + rest) * y_own
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
        I(x) = ((1+x) log(1+x) + (1−x) log(1−x))/2: P[mean > x] = e^{−k(I(x) + o(1))} for 0 ≤ x < 1, and P[mean = 1] =
        e^{−k I(1)}.

    Raises
    ------
    ValueError
        If x is outside.

    Notes
    -----
    I(x) ≥ x²/2, the exponent of Hoeffding's bound.  Extension.  Claim: scaling-rate.

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
