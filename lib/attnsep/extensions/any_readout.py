"""What any readout of a noisy or rounded attention output can tell: distances, best accuracy, finite precision."""

import math
from typing import NamedTuple

from attnsep.attention.kernels import require_pair
from attnsep.checks import (
    require_choice,
    require_decimal,
    require_integer,
    require_items,
    require_plain,
    require_positive,
    require_real,
    text_of,
)
from attnsep.paper import tokens
from attnsep.paper.tokens import PATTERNS, Law, TokenData

# Significant bits, and the exponents of two of the smallest positive number and of the first one that is too large.
FORMATS = {"float16": (11, -24, 16), "bfloat16": (8, -133, 128), "float32": (24, -149, 128)}


class Distances(NamedTuple):
    """Euclidean distance of the two marked rows, of two other rows, and of the two whole n×d outputs (Frobenius)."""

    marked: float
    other: float
    output: float


def distances(n, d, a0, a1, c, kernel="softmax"):
    """How far apart the attention outputs of two strengths of the mark are.

    Parameters
    ----------
    n, d, c
        As in `TokenData`; n up to 10^300.
    a0, a1 : int, float, Fraction or str
        The two strengths, at least 0, in any order.
    kernel : str
        softmax or linear.

    Returns
    -------
    Distances
        To 12 digits, also where they are tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or ``gains.gains``.

    Notes
    -----
    A row whose weight on j* is w0 or w1 has the distance √L √((a1 w1 − a0 w0)² + b² n(n−t)/(n−1)² (w1 − w0)²);
    the output has one marked row and n − 1 others.  With a1 ≥ a0 nothing cancels in
    w1 − w0 = w1 (1 − w0)(1 − R0/R1) and a1 w1 − a0 w0 = (a1 − a0) w1 + a0 (w1 − w0).
    Extension.  Claims: readout-distance, readout-linear-fades, readout-threshold-half.

    Examples
    --------
    >>> [round(x / math.sqrt(math.log(1000)), 3) for x in distances(1000, 252, 0.05, 0.7, 0.5)]
    [0.677, 0.096, 3.102]
    >>> round(distances(1000, 252, 0.05, 0.7, 0.5, "linear").output / math.sqrt(math.log(1000)), 6)
    0.037377
    """
    low, high = sorted((require_decimal("a0", a0), require_decimal("a1", a1)))
    kernel = require_pair(kernel)
    law0, law1 = (Law(TokenData(n=n, d=d, a=a, c=c), kernel) for a in (low, high))
    data, not_w0, w1 = law1.data, law0.weights()[2:], law1.weights()[:2]
    n, root = data.n, math.sqrt(data.log_n)
    shape = float(data.b) * math.sqrt(n / (n - 1)) * math.sqrt((n - data.t) / (n - 1))
    found = []
    for rest, weight, R0, R1 in zip(not_w0, w1, law0.gains, law1.gains, strict=True):
        step = weight * rest * _one_minus_ratio(R0, R1)
        found.append(root * math.hypot(float(high - low) * weight + float(low) * step, shape * step))
    output = math.hypot(found[0], math.sqrt(n - 1) * found[1])
    if output == math.inf:
        raise ValueError(f"n = {n}, a0 = {a0}, a1 = {a1}: the distance is too large for a double")
    return Distances(*found, output)


def _one_minus_ratio(R0, R1):
    """Return 1 − R0/R1 for two gains of one kernel, R0 ≤ R1."""
    if R0.exponent == R1.exponent == 1:
        return float((R1.base - R0.base) / R1.base)
    # Beyond 10^300 the exponent no longer matters, and a float could not hold it.
    return -math.expm1(-float(min(R1.exponent - R0.exponent, 10**300)) * math.log(R1.base))


def total_variation(distance, noise):
    """Total variation of two Gaussians of one standard deviation: what separates them, as a probability.

    Parameters
    ----------
    distance : float
        Distance Δ of their means, finite and at least 0.
    noise : float
        Standard deviation ν of every entry, finite and above 0.

    Returns
    -------
    float
        erf(Δ/(2√2 ν)).

    Raises
    ------
    ValueError, TypeError
        If an argument breaks one of these rules.

    Examples
    --------
    >>> total_variation(0, 1), round(total_variation(2, 1), 6)
    (0.0, 0.682689)
    """
    if (distance := require_real("distance", distance)) < 0:
        raise ValueError(f"distance = {distance}: must be at least 0")
    return math.erf(distance / require_positive("noise", noise) / math.sqrt(8))


def accuracy(distance, noise):
    """Accuracy of the best readout of all, for two equally likely outputs with Gaussian noise on every entry.

    Parameters
    ----------
    distance, noise
        As in `total_variation`.

    Returns
    -------
    float
        (1 + TV)/2.

    Raises
    ------
    ValueError, TypeError
        As in `total_variation`.

    Notes
    -----
    The readout may be any function of all n·d noisy entries and know j*.  Extension.  Claim: any-readout.

    Examples
    --------
    >>> accuracy(0, 1), round(accuracy(2, 1), 6)
    (0.5, 0.841345)
    """
    return (1 + total_variation(distance, noise)) / 2


def distance_table(n, d, strengths, c, kernel="softmax"):
    """Distances of the whole outputs of several strengths.

    Parameters
    ----------
    n, d, c, kernel
        As in `distances`.
    strengths : sequence of int, float, Fraction or str, length K
        The strengths.

    Returns
    -------
    list of list of float, shape (K, K)

    Raises
    ------
    ValueError, TypeError
        As in `distances`.

    Examples
    --------
    >>> [[round(x, 2) for x in row] for row in distance_table(1000, 252, (0, 1), 0.5)]
    [[0.0, 46.53], [46.53, 0.0]]
    """
    strengths = [require_decimal("strengths", a) for a in require_items("strengths", strengths)]
    return [[distances(n, d, x, y, c, kernel).output for y in strengths] for x in strengths]


def several(table, noise):
    """Bounds of the best accuracy when several outputs are equally likely.

    Parameters
    ----------
    table : sequence of sequence of float, shape (K, K)
        Distances of the outputs, 0 on the diagonal.
    noise : float
        Standard deviation ν of the noise on every entry.

    Returns
    -------
    tuple of float
        (low, high): low = 1 − (1/K) Σ_a min(1, Σ_{a'≠a} (1 − TV_{a,a'})/2), reached by the nearest output;
        high = min_{a'} (1 + Σ_a TV_{a,a'})/K; a and a' are two of the K strengths.

    Raises
    ------
    ValueError, TypeError
        If the table is not square or as in `total_variation`.

    Notes
    -----
    Extension.  Claims: many-strengths-bounds, many-strengths.

    Examples
    --------
    >>> several([[0, 0], [0, 0]], 1), several([[0, 99], [99, 0]], 1)
    ((0.5, 0.5), (1.0, 1.0))
    """
    table = [require_items("table", row) for row in require_items("table", table)]
    if not table or any(len(row) != len(table) for row in table):
        raise ValueError(f"table: {len(table)} rows, must be square and have at least one")
    if any(require_real("table", distance) < 0 for row in table for distance in row):
        raise ValueError(f"table = {table}: must have no distance below 0")
    tv = [[total_variation(distance, noise) for distance in row] for row in table]
    K = len(table)
    misses = [min(1.0, math.fsum((1 - x) / 2 for j, x in enumerate(row) if j != i)) for i, row in enumerate(tv)]
    return 1 - math.fsum(misses) / K, min(1.0, *((1 + math.fsum(row)) / K for row in tv))


def recovery_probability(n, a, within, noise, kernel="softmax"):
    """Probability that the strength a is found from the noisy first column to within a tolerance.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2 and up to 10^300.
    a : int, float, Fraction or str
        The strength, at least `within`.
    within : int, float, Fraction or str
        Largest error allowed, at least 0.
    noise : float
        Standard deviation ν of the noise on every entry.
    kernel : str
        softmax or linear.

    Returns
    -------
    float
        ``P[|â − a| ≤ within]`` for â = μ⁻¹(mean of the first entries of the unmarked rows), μ(a) = a w √L.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    μ grows with a, and the mean of n − 1 noisy entries is μ(a) + ν Z/√(n−1).  So the event is
    μ(a − within) ≤ μ(a) + ν Z/√(n−1) ≤ μ(a + within).  Extension.  Claim: regression.

    Examples
    --------
    >>> [round(recovery_probability(10**6, 0.7, 0.05, 1, kernel), 6) for kernel in tokens.KERNELS]
    [1.0, 0.000356]
    """
    a, within, noise = require_decimal("a", a), require_decimal("within", within), require_positive("noise", noise)
    if within > a or a + within > 10**300:
        raise ValueError(f"within = {within}: must be at most a = {a}, and a + within at most 1e300")
    n, kernel = require_integer("n", n, least=2), require_pair(kernel)
    scale = math.sqrt(math.log(n)) * math.sqrt(n - 1)
    low, middle, high = (float(x) * tokens.weights(n, x, kernel).q for x in (a - within, a, a + within))
    steps = (scale * (middle - low), scale * (high - middle))
    return sum(math.erf(step / noise / math.sqrt(2)) for step in steps) / 2


def rounded(x, form):
    """Round numbers to a format, to nearest and ties to even, as hardware does.

    Parameters
    ----------
    x : numpy.ndarray or float
        Finite numbers that the format can hold.
    form : str
        float16, bfloat16 or float32.

    Returns
    -------
    numpy.ndarray of float64, the shape of x

    Raises
    ------
    ValueError
        If the format is unknown, or x has a number that rounds to none of it.

    Notes
    -----
    Spacing 2^(e − bits) for ``2^(e−1) ≤ |x| < 2^e``, and never below the smallest positive number of the format.

    Examples
    --------
    >>> [float(rounded(x, "bfloat16")) for x in (1.003, 1.004, 1e-41)]
    [1.0, 1.0078125, 0.0]
    """
    import numpy as np

    bits, smallest, beyond = FORMATS[require_choice("form", form, FORMATS)]
    require_plain("x", x)
    x = np.asarray(x)
    if x.dtype.kind not in "iuf" or not np.all(np.isfinite(x)):
        raise ValueError(f"x = {text_of(x)}: must be finite real numbers")
    x = x.astype(np.float64)
    step = np.maximum(np.frexp(x)[1] - bits, smallest)
    result = np.ldexp(np.rint(np.ldexp(x, -step)), step)
    if np.any(np.abs(result) >= 2.0**beyond):
        raise ValueError(f"x = {x}: is too large for form = {form!r}")
    return result


def share_told_apart(n, d, a0, a1, c, form, kernel="linear"):
    """Share of all sign columns whose two pre-activations round to different numbers.

    Parameters
    ----------
    n, d, c
        As in `TokenData`; d up to 10^9.
    a0, a1 : int, float, Fraction or str
        The two strengths.
    form : str
        float16, bfloat16 or float32.
    kernel : str
        linear (all rows agree), or softmax for its marked row.

    Returns
    -------
    float
        P[⟨o_j*, y⟩ rounds differently for a0 and a1], the same uniform y ∈ {±1}^d for both.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules or those of `TokenData`.

    Notes
    -----
    The law of the column is that of ``tokens.Law``; −y gives the negated numbers, so y_d = 1 is enough.
    Extension.  Claim: finite-precision-hides.

    Examples
    --------
    >>> share_told_apart(4, 4, 0, 1, "0.5", "float32"), share_told_apart(4, 4, 1, 1, "0.5", "float32")
    (1.0, 0.0)
    """
    require_choice("form", form, FORMATS)
    a0, a1, d = require_decimal("a0", a0), require_decimal("a1", a1), require_integer("d", d, least=3, most=10**9)
    pair = [Law(TokenData(n=n, d=d, a=a, c=c), kernel).values()[0] for a in (a0, a1)]
    sums, mass = _sign_sums(d - 3)
    found = []
    for signs in PATTERNS:
        if signs.last < 0:
            continue
        try:
            first, second = (rounded(row.meets(signs, sums), form) for row in pair)
        except ValueError as error:
            raise ValueError(f"n, a0, a1, form = {form!r}: {error}") from None
        found.append(math.fsum(mass[first != second]))
    return math.fsum(found) / 4


def _sign_sums(count):
    """Return the sums of `count` signs within nine standard deviations, and their probabilities."""
    import numpy as np

    reach = min(count, math.ceil(9 * math.sqrt(count)))
    plus = range(-(-(count - reach) // 2), (count + reach) // 2 + 1)
    logs = [-math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in plus]
    mass = np.exp(np.asarray(logs) - max(logs))
    return 2.0 * np.asarray(plus) - count, mass / math.fsum(mass)
