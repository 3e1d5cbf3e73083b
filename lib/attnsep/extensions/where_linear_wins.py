"""Data whose marked tokens are a share ρ of all: which share is it?  Laws of one column, for softmax and linear."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from attnsep.arrays import given_namespace
from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_decimal, require_instance, require_integer, require_real, require_size, text_of
from attnsep.paper.gains import MOST_DIGITS, floor_linear, gains
from attnsep.paper.tokens import Scaled, Signs, shortfall
from attnsep.probability import sign_sums
from attnsep.probability.sign_sums import hoeffding

SHARES = (Fraction(1, 4), Fraction(3, 4))


# Every class has marked tokens, so no class's sign stands alone: two signs do.
_PATTERNS = tuple(Signs(first, 0, last) for first, last in product((1, -1), repeat=2))


@dataclass(frozen=True, kw_only=True)
class CountData(Scaled):
    """Token data whose first ρn tokens are marked.

    Parameters
    ----------
    n : int
        Number of tokens, (d − 2)t for a whole number t ≥ 1.
    d : int
        Width of the tokens, at least 3.
    a : int, float, Fraction or str
        Strength of every marked token, above 0.
    c : int, float, Fraction or str
        Strength of the constant last column, strictly between 0 and 1.
    share : int, float, Fraction or str
        ρ, strictly between 0 and 1; ρt must be a whole number.
    gap : int, float, Fraction or str, optional
        g: the threshold is τ = (c + g)√log n.  Left out, ``midpoint(a)``.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Numbers are kept as exact Fractions, floats as the decimals that they print.  Extension.  Definition:
    def-count-data.

    Examples
    --------
    >>> data = CountData(n=8, d=4, a=1, c="0.5", share="1/4")
    >>> data.t, data.marked, data.gap
    (4, 2, Fraction(22, 35))
    """

    n: int
    d: int
    a: Fraction
    c: Fraction
    share: Fraction
    gap: Fraction = None  # type: ignore[assignment]

    def __post_init__(self):
        exact_values = {
            "n": require_integer("n", self.n, least=2),
            "d": require_integer("d", self.d, least=3),
            **{name: require_decimal(name, getattr(self, name)) for name in ("a", "c", "share")},
        }
        width = exact_values["d"] - 2
        if exact_values["n"] % width:
            raise ValueError(f"n = {self.n}, d = {self.d}: n must be (d - 2)t, a multiple of {width}")
        if exact_values["a"] == 0:
            raise ValueError(f"a = {self.a!r}: must be above 0")
        for name in ("c", "share"):
            if not 0 < exact_values[name] < 1:
                raise ValueError(f"{name} = {text_of(getattr(self, name))}: must lie strictly between 0 and 1")
        exact_values["gap"] = midpoint(self.a) if self.gap is None else require_decimal("gap", self.gap)
        for name, value in exact_values.items():
            object.__setattr__(self, name, value)
        if self.share * self.t % 1:
            raise ValueError(
                f"n = {self.n}, d = {self.d}, share = {self.share}: share * t must be a whole number, t is {self.t}"
            )

    @property
    def t(self):
        """Copies of every class, t in n = (d − 2)t."""
        return self.n // (self.d - 2)

    @property
    def marked(self):
        """Number ρn of marked tokens."""
        return int(self.share * self.n)

    def matrix(self, xp=None):
        """Return the tokens A.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.

        Returns
        -------
        array, shape (n, d)
            First column a√L at the first ρn tokens; then t stacked copies of b√L · I; last column c√L.

        Examples
        --------
        >>> import numpy as np
        >>> data = CountData(n=4, d=4, a=2, c="0.25", share="0.5")
        >>> (data.matrix(np) / math.sqrt(data.log_n)).round(12)
        array([[2.  , 0.75, 0.  , 0.25],
               [2.  , 0.  , 0.75, 0.25],
               [0.  , 0.75, 0.  , 0.25],
               [0.  , 0.  , 0.75, 0.25]])
        """
        xp = given_namespace(xp)
        require_size(n=self.n, d=self.d)
        root, width = math.sqrt(self.log_n), self.d - 2
        first = float(self.a) * root * xp.astype(xp.arange(self.n) < self.marked, xp.float64)
        own = xp.tile(float(self.b) * root * xp.eye(width, dtype=xp.float64), (self.t, 1))
        last = xp.full((self.n, 1), float(self.c) * root, dtype=xp.float64)
        return xp.concat([first[:, None], own, last], axis=1)


def midpoint(a):
    """Return g = a(w_{1/4} + w_{3/4})/2 with the marked masses of linear attention.

    Parameters
    ----------
    a : int, float, Fraction or str
        Strength of the marked tokens.

    Returns
    -------
    Fraction

    Notes
    -----
    w_ρ = ρ(1+a)/(1+ρa).  Extension.  Definition: def-count-data.

    Examples
    --------
    >>> midpoint(1)
    Fraction(22, 35)
    """
    a = require_decimal("a", a)
    return a * sum(share * (1 + a) / (1 + share * a) for share in SHARES) / 2


@dataclass(frozen=True)
class _Contrast:
    """The difference w_{3/4} − w_{1/4} = 8R/((R + 3)(3R + 1)) of two marked masses with one gain R ≥ 1, kept exactly.

    The two masses may agree in all digits of a double.  It is rational only where R is: otherwise R and 1/R would be
    the roots of one quadratic, but the conjugate of a root of a whole number has the same size as that root.
    """

    gain: object

    def _of(self, R):
        return 8 * R / ((R + 3) * (3 * R + 1))

    def enclosure(self, digits):
        """Return lower and upper bounds that agree in almost all of the digits; the difference falls with R."""
        low, high = self.gain.enclosure(digits)
        return self._of(Fraction(high)), self._of(Fraction(low))

    def rational(self):
        """Return the difference as an exact Fraction, or None if it is irrational."""
        R = self.gain.rational()
        return None if R is None else self._of(R)


class Mass(NamedTuple):
    """The mass w = ρR/(ρR + 1 − ρ) that a row with gain R gives to the marked tokens together, kept exactly.

    It is a Möbius function of R with rational coefficients, so it is rational exactly where R is.
    """

    gain: object
    share: Fraction

    def _of(self, R):
        return self.share * R / (self.share * R + 1 - self.share)

    def enclosure(self, digits):
        """Return lower and upper bounds that agree in almost all of the digits; w rises with R."""
        low, high = self.gain.enclosure(digits)
        return self._of(Fraction(low)), self._of(Fraction(high))

    def rational(self):
        """Return the mass as an exact Fraction, or None if it is irrational."""
        R = self.gain.rational()
        return None if R is None else self._of(R)

    def __float__(self):
        """Return the mass, to 12 digits."""
        return self.gain.shares((1 - self.share) / self.share)[0]


def marked_mass(n, a, share, kernel="softmax"):
    """Mass of all marked tokens together, in a marked token's row and in an unmarked one's.

    Parameters
    ----------
    n, a, share
        As in `CountData`; n beyond any matrix is allowed.
    kernel : str
        softmax, with β if wanted, or linear.

    Returns
    -------
    tuple of Mass
        The first is never the smaller one.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, the kernel is another one, or the gain has more than 100000 digits.

    Notes
    -----
    w = ρR/(ρR + 1 − ρ); softmax with inverse temperature β: R = n^{βa(1+a)} and n^{βa}; linear: R = 1 + a in every row.
    Extension.  Claim: count-values.

    Examples
    --------
    >>> [float(mass) for mass in marked_mass(4, 1, "0.5")]
    [0.9411764705882353, 0.8]
    >>> marked_mass(4, 1, "0.5", "linear")[0].rational()
    Fraction(2, 3)
    """
    if require_kernel(kernel).name not in ("softmax", "linear"):
        raise ValueError(f"kernel = {kernel!r}: must be softmax, with β if wanted, or linear here")
    share = require_decimal("share", share)
    if not 0 < share < 1:
        raise ValueError(f"share = {share}: must lie strictly between 0 and 1")
    rows = gains(n, a, kernel)
    if rows[0].exponent * len(str(n)) > MOST_DIGITS:
        raise ValueError(f"n = {n}, a = {a!r}, kernel = {kernel!r}: the gain must have at most {MOST_DIGITS} digits")
    return tuple(Mass(R, share) for R in rows)


def least_plus(data, masses, signs):
    """Smallest number of plus signs among the d − 2 classes with which some row exceeds the threshold.

    Parameters
    ----------
    data : CountData
        The data.
    masses : tuple of Mass
        As from `marked_mass`.
    signs : Signs
        y_1 and y_d, each 1 or -1; no other sign stands alone.

    Returns
    -------
    int
        From 0 (always) to d − 1 (never).

    Notes
    -----
    The row weighs 1 in all, w of it marked, and 1/(d − 2) in every class.  So with S = 2 plus − (d − 2) it exceeds τ if
    and only if b S/(d − 2) > g + c(1 − y_d) − a w y_1, which is ``tokens.shortfall``.  The row with the larger a w y_1
    decides.  A tie does not fire.  Extension.  Claim: count-law.

    Examples
    --------
    >>> data = CountData(n=16, d=6, a=4, c="0.375", share="1/4")
    >>> least_plus(data, marked_mass(16, 4, "1/4", "linear"), Signs(1, 0, 1))  # all 4 signs plus ties
    5
    """
    classes = data.d - 2
    scale = Fraction(classes) / (2 * data.b)
    level, slope = shortfall(data, signs, total=1), shortfall(data, signs, marked=1)
    mass = masses[0] if signs.first > 0 else masses[1]
    return floor_linear(Fraction(classes, 2) + scale * level, scale * slope, mass, classes) + 1


def _least(data, kernel):
    """Return `least_plus` of every pattern of signs."""
    require_instance("data", data, CountData)
    masses = marked_mass(data.n, data.a, data.share, kernel)
    return [least_plus(data, masses, signs) for signs in _PATTERNS]


def column_probability(data, kernel="softmax"):
    """Exact probability π that one random column makes some row exceed the threshold.

    Parameters
    ----------
    data : CountData
        With d up to 10^6.
    kernel : str
        As in `marked_mass`.

    Returns
    -------
    float
        To 12 digits, ties decided exactly.

    Raises
    ------
    ValueError, TypeError
        As in `marked_mass`.

    Notes
    -----
    ⟨o_j, y⟩/√L = a w y_1 + b S/(d − 2) + c y_d, where S is a sum of d − 2 signs: every class has the mass 1/(d − 2).
    Extension.  Claim: count-law.

    Examples
    --------
    >>> column_probability(CountData(n=16, d=6, a=4, c="0.375", share="1/4"), "linear")
    0.0
    """
    return math.fsum(sign_sums.binomial_tail(data.d - 2, least) for least in _least(data, kernel)) / 4


def fires_probability(data, m, kernel="softmax"):
    """Exact probability that the network with m columns fires.

    Parameters
    ----------
    data, kernel
        As in `column_probability`.
    m : int
        Number of sign columns, at least 1.

    Returns
    -------
    float
        1 − (1 − π)^m.

    Examples
    --------
    >>> data = CountData(n=1024, d=258, a="0.7", c="0.5", share="3/4")
    >>> [f"{fires_probability(data, 10, kernel):.9f}" for kernel in ("softmax", "linear")]
    ['0.943686485', '0.943686478']
    """
    return sign_sums.fires_probability(column_probability(data, kernel), m)


def differ_probability(data, kernel="softmax"):
    """Exact probability that one column answers 1/4 and 3/4 differently, with the same signs for both.

    Parameters
    ----------
    data : CountData
        The data; its share does not matter, both must be allowed.
    kernel : str
        As in `marked_mass`.

    Returns
    -------
    float
        To 12 digits where it is not far below 10^-12 of the probability π itself; never less
        than ``|π_{3/4} − π_{1/4}|``.

    Raises
    ------
    ValueError, TypeError
        As in `CountData` and `marked_mass`.

    Notes
    -----
    For fixed (y_1, y_d) the answer is a threshold on S, so the answers differ if S lies between the two.
    Extension.  Claims: counting-softmax-cannot, counting-any-threshold.

    Examples
    --------
    >>> data = CountData(n=16, d=6, a=4, c="0.5", share="1/4")
    >>> differ_probability(data), differ_probability(data, "linear")
    (0.0, 0.265625)
    """
    require_instance("data", data, CountData)
    pairs = zip(*(_least(replace(data, share=share), kernel) for share in SHARES), strict=True)
    return math.fsum(_between(data.d - 2, *sorted(pair)) for pair in pairs) / 4


def _between(n, low, high):
    """Return P[low ≤ B < high], B ~ Bin(n, 1/2), from the tail that is the smaller one."""
    if low > n / 2:
        return sign_sums.binomial_tail(n, low) - sign_sums.binomial_tail(n, high)
    return sign_sums.binomial_tail(n, n - high + 1) - sign_sums.binomial_tail(n, n - low + 1)


# Bounds


def critical_gain(a):
    """Return K: at the midpoint threshold a row counts as long as its gain lies between K/3 and 3K.

    Parameters
    ----------
    a : int, float, Fraction or str
        Strength of the marked tokens.

    Returns
    -------
    Fraction
        K = w̄/(1 − w̄) with w̄ = (w_{1/4} + w_{3/4})/2, the masses of linear attention.

    Notes
    -----
    w_ρ(R) = w̄ at R = K(1 − ρ)/ρ.  K = (1+a)(8+3a)/(8+5a).  Extension.  Claim: counting-window.

    Examples
    --------
    >>> critical_gain(1)
    Fraction(22, 13)
    """
    a = require_decimal("a", a)
    return (1 + a) * (8 + 3 * a) / (8 + 5 * a)


def slack(data, kernel="softmax"):
    """Return ``s = |a w − g|``, the distance of the marked row's mass from the threshold, to 12 digits.

    Examples
    --------
    >>> round(slack(CountData(n=1024, d=258, a="0.7", c="0.5", share="1/4"), "linear"), 12)
    0.166027206139
    """
    require_instance("data", data, CountData)
    mass = marked_mass(data.n, data.a, data.share, kernel)[0]
    low, _ = mass.enclosure(50)  # these are digits of 1 − w, so that a may be far larger than s
    return abs(float(data.a * low - data.gap))


def miss_bound(data, s):
    """Return H(s) = exp(−s²(d − 2)/(2b²)), at least P[b S/(d − 2) ≥ s] for a sum S of d − 2 signs; 1 for s ≤ 0.

    Examples
    --------
    >>> data = CountData(n=1024, d=258, a="0.7", c="0.5", share="1/4")
    >>> f"{miss_bound(data, slack(data, 'linear')):.3e}"
    '7.425e-07'
    """
    # Where a double takes the variance for 0, the least double is above it, and a larger one makes a weaker bound.
    variance = float(require_instance("data", data, CountData).b) ** 2 / (data.d - 2) or 5e-324
    return hoeffding(s, variance) if require_real("s", s) > 0 else 1.0


def differ_bound(data):
    """Bound of `differ_probability` for softmax above the window.

    Parameters
    ----------
    data : CountData
        With n^{a(1+a)} > 3K and the midpoint threshold.

    Returns
    -------
    float
        ¼H(s) + ½H(g) + ¼H(2c + g − a), H(s) = exp(−s²(d−2)/(2b²)), s = a w_{1/4} − g in the marked row; at most 1.

    Notes
    -----
    Extension.  Claim: counting-softmax-cannot.

    Examples
    --------
    >>> f"{differ_bound(CountData(n=1024, d=258, a='0.7', c='0.5', share='1/4')):.1e}"
    '8.6e-19'
    """
    require_instance("data", data, CountData)
    g, s = float(data.gap), slack(replace(data, share=SHARES[0]))
    last = float(2 * data.c + data.gap - data.a)
    return min(1.0, (miss_bound(data, s) + 2 * miss_bound(data, g) + miss_bound(data, last)) / 4)


@lru_cache(maxsize=64)
def _central_mass(n):
    return sign_sums.binomial_tail(n, n // 2) - sign_sums.binomial_tail(n, n // 2 + 1)


def any_threshold_bound(data, kernel="softmax"):
    """Bound of `differ_probability` that does not depend on the threshold.

    Parameters
    ----------
    data : CountData
        The data; its share and its gap do not matter.
    kernel : str
        As in `marked_mass`.

    Returns
    -------
    float
        P_max (J_1 + J_2)/2, at most 1: P_max is the largest mass of Bin(d − 2, 1/2), and
        J = ⌈a(w_{3/4} − w_{1/4})(d − 2)/(2b)⌉ with the masses in marked rows and in unmarked ones.

    Notes
    -----
    Extension.  Claim: counting-any-threshold.

    Examples
    --------
    >>> round(any_threshold_bound(CountData(n=1024, d=258, a="0.7", c="0.5", share="1/4")), 6)
    0.124548
    """
    require_instance("data", data, CountData)
    most = data.d - 1  # points that the binomial has
    scale = data.a * (data.d - 2) / (2 * data.b)
    rows = marked_mass(data.n, data.a, data.share, kernel)
    points = sum(most - floor_linear(Fraction(most), -scale, _Contrast(mass.gain), most) for mass in rows)
    return min(1.0, _central_mass(data.d - 2) * points / 2)
