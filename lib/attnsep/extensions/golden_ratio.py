"""The threshold of the mark: where softmax begins to see it, for every n at once."""

import math

from attnsep.checks import require_decimal, require_integer, require_positive


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
        ξ = (βa(1+a) − 1) log n, natural logarithm; the factor is computed exactly.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or the factor is above 10^300.

    Notes
    -----
    p = 1/(1 + e^{−z}) with z = ξ − log(1 − 1/n).  Extension.  Claims: golden-ratio-law, golden-ratio-collapse.

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
