"""Gains: how many times the weight of an ordinary token the marked one has, exactly.

A gain R is a power, a ratio of powers, or a number made from log n.  Ties with the threshold are real, so each kind
encloses R in as many digits as it is asked for, and says whether R is rational.
"""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from attnsep.attention.kernels import Kernel, require_kernel
from attnsep.checks import require_decimal, require_integer, shown_integer, text_of
from attnsep.kinds import Number

MOST_BITS = 10_000  # longer integer powers are enclosed instead of multiplied out


MOST_RATIONAL_BITS = 1_000_000  # no tie with a number made of the parameters, which Python reads up to 4300 digits


MOST_DIGITS = 100_000  # of the largest score's exponential, where a law needs it as a Fraction


Bound: TypeAlias = Fraction | Decimal  # exact, and a Decimal where it may be very large


class Power(NamedTuple):
    """The number base^exponent, base ≥ 1 and exponent ≥ 0, kept exactly."""

    base: Fraction | int
    exponent: Fraction | int

    def enclosure(self, digits: int) -> tuple[Bound, Bound]:
        """Return lower and upper bounds that agree in almost all of the digits."""
        return _power_enclosure(self, digits)

    def rational(self) -> Fraction | None:
        """Return the number as an exact Fraction, or None if it is irrational, or too long for a tie.

        It is rational if and only if the base is a v-th power.
        """
        (p, q), (u, v) = self.base.as_integer_ratio(), self.exponent.as_integer_ratio()
        if v >= max(p, q).bit_length() or u * p.bit_length() > v * MOST_RATIONAL_BITS:
            return Fraction(1) if p == q else None  # even 2^v is larger
        roots = _integer_root(p, v), _integer_root(q, v)
        return Fraction(*(root**u for root in roots)) if (roots[0] ** v, roots[1] ** v) == (p, q) else None

    def shares(self, rest: int | Fraction) -> tuple[float, float]:
        """Return R/(R + rest) and rest/(R + rest) for a rational number rest > 0, each to 12 digits."""
        rest = _require_rest(rest)
        if self.exponent == 1:
            total = self.base + rest
            return float(self.base / total), float(rest / total)
        log = math.log1p(float(self.base - 1)) if self.base < 2 else math.log(self.base)
        # Beyond 10^300 the exponent no longer matters, and a float could not hold it.
        z = float(min(self.exponent, 10**300)) * log - _log(rest)
        return logistic(z), logistic(-z)


@dataclass(frozen=True)
class SigmoidRatio:
    """The number (1 + 1/low)/(1 + 1/high): the ratio of the sigmoids of two scores log(high) and log(low).

    Irrational roots of rational numbers, no two of which have a rational ratio, are linearly independent together with
    1 over the rationals.  So this ratio is rational only if both powers are, or if they are equal.
    """

    low: Power
    high: Power

    def enclosure(self, digits: int) -> tuple[Fraction, Fraction]:
        """Return lower and upper bounds that agree in almost all of the digits."""
        low, high = ([1 / Fraction(end) for end in power.enclosure(digits)] for power in (self.low, self.high))
        return (1 + low[1]) / (1 + high[0]), (1 + low[0]) / (1 + high[1])

    def rational(self) -> Fraction | None:
        """Return the number as an exact Fraction, or None if it is irrational."""
        if self.low == self.high:
            return Fraction(1)
        low, high = self.low.rational(), self.high.rational()
        return None if low is None or high is None else (1 + 1 / low) / (1 + 1 / high)

    def shares(self, rest: int | Fraction) -> tuple[float, float]:
        """Return R/(R + rest) and rest/(R + rest) for a rational number rest > 0, each to 12 digits."""
        return _shares(self, rest)


@dataclass(frozen=True)
class LogGain:
    """A gain that rises with log n, and is transcendental since log n is and the formula is algebraic.

    The formula is one of those below, called with a bound of log n, the parameters, the digits and whether its own
    rounding must go up.
    """

    formula: Callable[..., Any]
    n: int
    parameters: tuple[Any, ...]

    def enclosure(self, digits: int) -> tuple[Fraction, Bound]:
        """Return lower and upper bounds that agree in almost all of the digits."""
        low, high = log_enclosure(self.n, digits)
        return self.formula(low, *self.parameters, digits, False), self.formula(high, *self.parameters, digits, True)

    def rational(self) -> None:
        """Return None: the number is irrational."""

    def shares(self, rest: int | Fraction) -> tuple[float, float]:
        """Return R/(R + rest) and rest/(R + rest) for a rational number rest > 0, each to 12 digits."""
        return _shares(self, rest)


@dataclass(frozen=True)
class Infinite:
    """The gain of a row that sees the marked token alone."""

    def shares(self, rest: int | Fraction) -> tuple[float, float]:
        """Return the shares 1 and 0."""
        _require_rest(rest)
        return 1.0, 0.0


Gain: TypeAlias = Power | SigmoidRatio | LogGain | Infinite
Rational: TypeAlias = int | Fraction


def gains(n: int, a: Number, kernel: Kernel | str = "softmax", *, d: int | None = None) -> tuple[Gain, Gain]:
    """Return the gain R: by which factor the marked token's weight exceeds that of any other token.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    a : int, float, Fraction or str
        Strength of the marked token, at least 0.
    kernel : Kernel or str
        A kernel whose rows give all ordinary tokens that they see the same weight, and whose gain is known: any but
        performer and window.
    d : int, optional
        Width of the tokens, for ``elu+1`` alone.

    Returns
    -------
    tuple of gains
        R in the marked token's own row, and R in every other row.  The first is never the smaller one, but for sigmoid.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Softmax with inverse temperature β: n^{βa(1+a)} and n^{βa}.  Linear and the feature map ReLU: 1 + a in every row.
    Source: Lemma D.2 (completed).  All others are extensions.  Degree β: (1+a)^β; squared ReLU is degree 2.
    With s = 1 + a and 1, Taylor: u((1+a)sL)/u(sL), u(v) = 1 + v + v²/2.  Sigmoid: (1 + n^{-s})/(1 + n^{-s(1+a)}).
    elu+1: (d + (1+a)√L)/(d + √L).  Sparsemax: (1 + (n−1)Δ)/(1 − Δ) with the difference Δ = s a L of the scores.
    Entmax: ((δ + r)/r)² with δ = Δ/2 and n r² + 2δ r + δ² = 1.  They see the marked token alone from Δ ≥ 1 and δ ≥ 1
    on; hard attention does for every a > 0.  Top-k: as softmax, among the tokens that it keeps.
    Claims: lemma-d-2-scores, inverse-temperature, kernel-weights.

    Examples
    --------
    >>> gains(16, 0.5)
    (Power(base=16, exponent=Fraction(3, 4)), Power(base=16, exponent=Fraction(1, 2)))
    >>> gains(16, 0.5, "polynomial:3")[0].rational()
    Fraction(27, 8)
    """
    n, a, kernel = require_integer("n", n, least=2), require_decimal("a", a), require_kernel(kernel)
    if not has_gain(kernel):
        raise ValueError(f"kernel = {str(kernel)!r}: no gain is known; matrices and sampling serve")
    gain = GAINS[kernel.name]
    return gain(kernel, n, a, 1 + a, d), gain(kernel, n, a, 1, d)


def has_gain(kernel: Kernel | str) -> bool:
    """Return whether the gain of a kernel is known, and with it the exact law of the token data.

    Examples
    --------
    >>> has_gain("topk:16"), has_gain("window:4")
    (True, False)
    """
    return require_kernel(kernel).name in GAINS


# One entry for each kernel: kernel, n, a, s and d to the gain in the rows whose scores are s(1+a) log n for the marked
# token and s log n for all others.  So s is 1 + a in the marked token's own row, and 1 elsewhere.
GAINS: dict[str, Callable[..., Gain]] = {}


def _gain_of(*names):
    """Enter the decorated function for the kernels of these names."""

    def enter(entry):
        GAINS.update(dict.fromkeys(names, entry))
        return entry

    return enter


@_gain_of("softmax", "topk")
def _exponential(kernel, n, a, s, d):
    return Power(n, kernel.scale * a * s)


@_gain_of("linear", "relu", "squared-relu", "polynomial")
def _power(kernel, n, a, s, d):
    return Power(1 + a, 2 if kernel.name == "squared-relu" else kernel.parameter or 1)


@_gain_of("elu+1")
def _elu(kernel, n, a, s, d):
    if a == 0:
        return _ONE
    if d is None:
        raise ValueError("d = None: the gain of elu+1 depends on the width d")
    return LogGain(_elu_gain, n, (a, require_integer("d", d, least=3)))


@_gain_of("taylor")
def _taylor(kernel, n, a, s, d):
    return LogGain(_taylor_gain, n, (a, s)) if a else _ONE


@_gain_of("sigmoid")
def _sigmoid(kernel, n, a, s, d):
    if a == 0:
        return _ONE
    if s * (1 + a) * len(str(n)) > MOST_DIGITS:
        raise ValueError(
            f"n, a, kernel = {shown_integer(n)}, {float(a):g}, 'sigmoid': n to the power (1 + a)² must have at most "
            f"{MOST_DIGITS} digits"
        )
    return SigmoidRatio(Power(n, s), Power(n, s * (1 + a)))


@_gain_of("sparsemax")
def _sparsemax(kernel, n, a, s, d):
    if a == 0:
        return _ONE
    return Infinite() if _log_exceeds(n, 1 / (a * s)) else LogGain(_sparsemax_gain, n, (n, a * s))


@_gain_of("entmax")
def _entmax(kernel, n, a, s, d):
    if a == 0:
        return _ONE
    return Infinite() if _log_exceeds(n, 2 / (a * s)) else LogGain(_entmax_gain, n, (n, a * s))


@_gain_of("hard")
def _hard(kernel, n, a, s, d):
    return Infinite() if a else _ONE


_ONE = Power(1, 1)


def _elu_gain(L, a, d, digits, up):
    root = _root(L, digits, up)
    return (d + (1 + a) * root) / (d + root)


def _taylor_gain(L, a, s, digits, up):
    """At x = s L its derivative has the numerator a + a(2 + a)x + a(1 + a)x²/2 > 0, so it rises with L."""
    low, high = (1 + x + x * x / 2 for x in (s * L, (1 + a) * s * L))
    return high / low


def _sparsemax_gain(L, n, s, digits, up):
    difference = s * L
    return (1 + (n - 1) * difference) / (1 - difference) if difference < 1 else Decimal("Infinity")


def _entmax_gain(L, n, s, digits, up):
    half = s * L / 2
    rest = (_root(max(n - (n - 1) * half**2, Fraction(0)), digits, not up) - half) / n
    return (1 + half / rest) ** 2 if rest > 0 else Decimal("Infinity")


def log_enclosure(n: int, digits: int) -> tuple[Fraction, Fraction]:
    """Return lower and upper bounds of log n that agree in almost all of the digits.

    Examples
    --------
    >>> low, high = log_enclosure(2, 30)
    >>> float(low), 0 < high - low < Fraction(1, 10**24)
    (0.6931471805599453, True)
    """
    with localcontext(prec=digits):
        log, slack = Fraction(Decimal(n).ln()), Fraction(10) ** (4 - digits)
    return log * (1 - slack), log * (1 + slack)


def _log_exceeds(n: int, x: Fraction) -> bool:
    """Return whether log n > x for a rational x; they are never equal for n ≥ 2, since log n is transcendental."""
    digits = 50
    while True:
        low, high = log_enclosure(n, digits)
        if low > x or high < x:
            return low > x
        digits *= 2


def _root(x: Fraction, digits: int, up: bool) -> Fraction:
    """Return a bound of √x, x a Fraction ≥ 0, from above if `up`."""
    p, q = x.as_integer_ratio()
    return Fraction(math.isqrt(p * q * 100**digits) + up, q * 10**digits)


def _require_rest(rest: Any) -> Fraction:
    if isinstance(rest, bool) or not isinstance(rest, numbers.Rational):
        raise TypeError(f"rest = {text_of(rest)}: must be an integer or a Fraction")
    if rest <= 0:
        raise ValueError(f"rest = {text_of(rest)}: must be above 0")
    return Fraction(int(rest.numerator), int(rest.denominator))  # NumPy's integers would overflow


def _shares(R: SigmoidRatio | LogGain, rest: Rational) -> tuple[float, float]:
    rest, digits = _require_rest(rest), 50
    low, high = R.enclosure(digits)
    while high > low * (1 + Fraction(1, 10**14)):  # close to the point from which the row sees the marked token alone
        digits *= 2
        low, high = R.enclosure(digits)
    return float(low / (low + rest)), float(rest / (low + rest))


def floor_linear(shift: Rational, slope: Rational, R: Gain, top: int) -> int:
    """Return ⌊shift + slope R⌋, proved; anything above `top` counts as top and anything below 0 as −1.

    Parameters
    ----------
    shift, slope : Fraction
        Exact numbers.
    R : Power, SigmoidRatio, LogGain or Infinite
        The number that may be irrational.  An infinite one with slope 0 counts as top.
    top : int
        Largest floor to tell apart, at least 0.

    Returns
    -------
    int

    Notes
    -----
    If R is irrational and slope ≠ 0, the sum is no integer, and enough digits of R settle its floor.  If R is rational,
    it is put in exactly.  So the loop ends with the right answer either way.

    Examples
    --------
    >>> [floor_linear(0, 1, Power(base, Fraction(1, 2)), 9) for base in (2, 16, 1000)]
    [1, 4, 9]
    """

    # On integers, since a Fraction looks for common divisors after each step, which takes ten times as long.
    (p, q), (u, v) = shift.as_integer_ratio(), slope.as_integer_ratio()

    def floor(R: Any) -> int:
        r, s = R.as_integer_ratio()
        return max(-1, min(top, (p * v * s + u * r * q) // (q * v * s)))

    if isinstance(R, Infinite):
        return -1 if slope < 0 else top
    if slope == 0:
        return floor(0)
    enough = (abs(p) // q + top + 3) * v // abs(u) + 1  # a larger R has the same clipped floor, and may be too long
    digits = 50
    while True:
        low, high = (floor(min(end, enough)) for end in R.enclosure(digits))
        if low == high:
            return low
        if (rational := R.rational()) is not None:
            return floor(rational)
        digits *= 2


def lowest_floor(shift: Rational, slope: Rational, rows: tuple[Gain, Gain], top: int) -> int:
    """Return the smaller one of `floor_linear` for the gains of two kinds of row.

    Parameters
    ----------
    shift, slope, top
        As in `floor_linear`.
    rows : tuple of gains
        As from `gains`.

    Returns
    -------
    int

    Examples
    --------
    >>> lowest_floor(9, -1, gains(16, 0.5), 9), lowest_floor(0, 1, gains(16, 0.5), 9)  # R is 8 and 4
    (1, 4)
    """
    if any(isinstance(R, SigmoidRatio) for R in rows):
        return min(floor_linear(shift, slope, R, top) for R in rows)
    # Of all others the marked token's own row has the larger gain.
    return floor_linear(shift, slope, rows[0] if slope < 0 else rows[1], top)


@lru_cache(maxsize=64)
def _power_enclosure(R: Power, digits: int) -> tuple[Bound, Bound]:
    (p, q), (u, v) = R.base.as_integer_ratio(), R.exponent.as_integer_ratio()
    if v == 1 and u * max(p, q).bit_length() <= MOST_BITS:
        return (Fraction(p, q) ** u,) * 2
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])):
        # /, ln, exp and × round the last digit at most: 10^(1 − digits) relatively, which for / is absolute in ln.  The
        # slack is 1000 times as much.
        log, slack = (Decimal(p) / q).ln(), Decimal(10) ** (4 - digits)
        ends = ((log + sign * slack * (1 + log)) * u / v for sign in (-1, 1))
        low, high = (end.exp() * (1 + sign * slack) for end, sign in zip(ends, (-1, 1), strict=True))
        return max(low, Decimal(1)), high  # a lower one may be so near 0 that no Fraction could hold it


def _integer_root(n: int, v: int) -> int:
    """Return the largest integer whose v-th power is at most n, by bisection."""
    low, high = 1, 1 << -(-n.bit_length() // v)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**v <= n else (low, middle - 1)
    return low


def _log(x: Fraction) -> float:
    """Return log x for a rational x that a double may be unable to hold."""
    return math.log(x.numerator) - math.log(x.denominator)


def logistic(z: float) -> float:
    """Return 1/(1 + e^{-z}), with no overflow.

    Examples
    --------
    >>> logistic(0.0), logistic(-1000.0)
    (0.5, 0.0)
    """
    small = math.exp(-abs(z))
    return (1 if z > 0 else small) / (1 + small)
