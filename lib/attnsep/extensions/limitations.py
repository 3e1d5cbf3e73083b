"""Token data with a wrong entry everywhere: what is still proved of weights and of firing."""

import math
from typing import NamedTuple

from attnsep.attention.kernels import require_pair
from attnsep.checks import require_instance, require_integer, require_positive
from attnsep.paper.tokens import TokenData


class PerturbedWeights(NamedTuple):
    """Least weight of j* in the marked row, its largest in any row, and the largest of any other token."""

    marked_low: float
    marked_high: float
    other_high: float


def weight_bounds(data, eps, kernel="softmax"):
    """Bounds of the weights if every entry of A is wrong by up to ε√L.

    Parameters
    ----------
    data : TokenData
        The data without the error, with equal classes.
    eps : float
        ε, finite and above 0.
    kernel : str
        softmax or linear.

    Returns
    -------
    PerturbedWeights
        (0, 1, 1) where ε d ≥ 1: then a row sum can be 0 and nothing is proved.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    With η = ε d every row sum over √L is off by at most η.  Softmax: w = 1/(1 + (n−1) n^{−x}) at the least and the
    greatest x = γ_j(γ_{j*} − γ_i); others at most 1/(1 + (n−2) n^{−2η(1+a+η)}).  Linear: γ_i / Σ γ.
    Extension.  Claim: perturbed-weights.

    Examples
    --------
    >>> [round(w, 4) for w in weight_bounds(TokenData(n=64, d=66, a=0.7, c=0.9), 0.0005)]
    [0.5627, 0.7986, 0.0253]
    """
    n, d, a = require_instance("data", data, TokenData).n, data.d, float(data.a)
    eta = require_positive("eps", eps) * d
    kernel = require_pair(kernel)
    if eta >= 1:
        return PerturbedWeights(0.0, 1.0, 1.0)
    mark, rest = 1 + a, n - 1
    if kernel == "linear":
        low, high, other = (mark - eta) / (1 + eta), (mark + eta) / (1 - eta), (1 + eta) / (1 - eta)
        return PerturbedWeights(low / (low + rest), high / (high + rest), other / (other + rest))
    step = a - 2 * eta
    low = (mark - eta if step > 0 else mark + eta) * step
    high = (mark + eta) * (a + 2 * eta)
    pull = 2 * eta * (mark + eta)
    return PerturbedWeights(_share(n, low, rest), _share(n, high, rest), _share(n, pull, n - 2))


def _share(n, exponent, others):
    """Return n^exponent/(n^exponent + others)."""
    return 1 / (1 + others * math.exp(-exponent * math.log(n)))


def fires_bounds(data, m, eps, kernel="softmax"):
    """Bounds of the probability that the network fires if every entry of A is wrong by up to ε√L.

    Parameters
    ----------
    data, eps, kernel
        As in `weight_bounds`.
    m : int
        Sign columns, at least 1.

    Returns
    -------
    tuple of float
        (low, high).  low = 1 − (7/8)^m if a w > gap + 2ε for the least w of the marked row, else 0.
        high = m n_rows exp(−(gap − a w − 2ε)²/(2 (b √(w + t r_max) + ε √(d−2))²)) while gap > a w + 2ε, else 1, and
        never above 1: w is the largest weight of j*, r_max that of another token, and n_rows is n for softmax and 1
        for linear attention.

    Raises
    ------
    ValueError, TypeError
        As in `weight_bounds`, or if m is no such number.

    Notes
    -----
    Extension.  Claims: perturbed-fires, perturbed-silent.

    Examples
    --------
    >>> low, high = fires_bounds(TokenData(n=64, d=66, a=0.7, c=0.9), 10, 0.0005)
    >>> round(low, 4), high, fires_bounds(TokenData(n=1024, d=1026, a=0.05, c=0.9), 10, 1e-5)[1] < 1e-12
    (0.7369, 1.0, True)
    """
    kernel = require_pair(kernel)
    found = weight_bounds(data, eps, kernel)
    strength, gap, eps, m = float(data.a), float(data.gap), float(eps), require_integer("m", m, least=1)
    low = 1 - 0.875**m if strength * found.marked_low > gap + 2 * eps else 0.0
    slack = gap - strength * found.marked_high - 2 * eps
    if slack <= 0:
        return low, 1.0
    largest_class = min(1.0, found.marked_high + data.t * found.other_high)
    ratio = slack / (float(data.b) * math.sqrt(largest_class) + eps * math.sqrt(data.d - 2))
    count = m * (data.n if kernel == "softmax" else 1)
    return low, math.exp(min(0.0, math.log(count) - ratio * ratio / 2))
