"""Closed forms of the self-attention data: weights, values, one random column, firing probabilities, sizes.

Firing is strict and ties have mass, so the laws decide every tie exactly.  Parameters are read as decimals (see
``data.require_decimal``), and one number alone can be irrational: the gain R of the marked token, a power of n.
"""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from attnsep import exact
from attnsep.bounds import hoeffding, require_probability
from attnsep.data import TokenData, require_decimal, require_integer

KERNELS = ("softmax", "linear")


class Power(NamedTuple):
    """The number base^exponent, base > 0 and exponent ≥ 0, kept exactly."""

    base: Fraction | int
    exponent: Fraction | int


class TokenWeights(NamedTuple):
    """Weights of the marked token in its own row (p) and in every other row (q), and 1 − p and 1 − q."""

    p: float
    q: float
    not_p: float
    not_q: float


class TokenValue(NamedTuple):
    """The entries of one attention output: first, own class of the marked token, each other class, last."""

    first: float
    own: float
    others: float
    last: float


class TokenErrors(NamedTuple):
    """The four ways in which a pair of networks can be wrong about D_0 and D_1, as probabilities or bounds of them."""

    softmax_silent_on_d1: float
    softmax_fires_on_d0: float
    linear_fires_on_d0: float
    linear_fires_on_d1: float


def gains(n, a, kernel="softmax", *, beta=1):
    """How many times the weight of any other token the marked one has: the gain R.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    a : int, float, Fraction or str
        Strength of the marked token, at least 0.
    kernel : str
        softmax or linear.
    beta : int, float, Fraction or str
        Inverse temperature β, at least 0: every score is multiplied by it.

    Returns
    -------
    tuple of Power
        R in the marked token's own row, and R in every other row.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Softmax: n^{βa(1+a)} and n^{βa}.  Linear: 1 + a in every row, whatever β.
    Source: Lemma D.2 (completed; β is an extension).  Claims: lemma-d-2-scores, inverse-temperature.

    Examples
    --------
    >>> gains(16, 0.5)
    (Power(base=16, exponent=Fraction(3, 4)), Power(base=16, exponent=Fraction(1, 2)))
    """
    n, a, beta = require_integer("n", n, least=2), require_decimal("a", a), require_decimal("beta", beta)
    if kernel not in KERNELS:
        raise ValueError(f"kernel = {kernel!r}: must be one of {', '.join(KERNELS)}")
    if kernel == "linear":
        return Power(1 + a, 1), Power(1 + a, 1)
    return Power(n, beta * a * (1 + a)), Power(n, beta * a)


def weights(n, a, kernel="softmax", *, beta=1):
    """Weight of the marked token, for n far beyond any matrix.

    Parameters
    ----------
    n, a, kernel, beta
        As in `gains`; n up to 10^300.

    Returns
    -------
    TokenWeights
        p, q and what they leave to the other tokens, each to 12 digits.

    Raises
    ------
    ValueError, TypeError
        As in `gains`.

    Notes
    -----
    R/(R + n − 1): softmax p = 1/(1+(n−1)n^{−βa(1+a)}), q = 1/(1+(n−1)n^{−βa}), linear p = q = (1+a)/(n+a).
    Source: Lemma D.2 (completed).  Claims: lemma-d-2-weights, linear-rows-equal, golden-ratio-law.

    Examples
    --------
    >>> weights(4, 1)[:2] == (16 / 19, 4 / 7), weights(4, 1, "linear").p
    (True, 0.4)
    """
    if kernel == "linear":
        R = gains(n, a, kernel, beta=beta)[0].base
        return TokenWeights(*(float(w / (R + n - 1)) for w in (R, R, Fraction(n - 1), Fraction(n - 1))))
    # Beyond 10^300 the exponent no longer matters, and a float could not hold it.
    logits = [float(min(R.exponent, 10**300)) * math.log(n) - math.log(n - 1) for R in gains(n, a, kernel, beta=beta)]
    return TokenWeights(*map(_logistic, logits), *(_logistic(-z) for z in logits))


def _logistic(z):
    small = math.exp(-abs(z))
    return (1 if z > 0 else small) / (1 + small)


def values_closed(n, d, a, c, kernel="softmax"):
    """Attention outputs of the data in closed form: every row is one of two.

    Parameters
    ----------
    n, d, a, c
        As in `TokenData`; n up to 10^300.
    kernel : str
        softmax or linear.

    Returns
    -------
    tuple of TokenValue
        The marked token's row, and every other row.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or `gains`.

    Notes
    -----
    c_j = √L (a w; b(w + (t−1)r) at k*, b t r at each other class; c), r = (1−w)/(n−1), L = log n.
    Completed.  Claim: values-in-closed-form.

    Examples
    --------
    >>> [round(x / math.sqrt(math.log(6)), 12) for x in values_closed(6, 5, 0, "0.5")[0]]
    [0.0, 0.166666666667, 0.166666666667, 0.5]
    """
    data = TokenData(n=n, d=d, a=a, c=c)
    root, found = math.sqrt(data.log_n), weights(n, a, kernel)
    return tuple(_value(data, root, *row) for row in zip(found[:2], found[2:], strict=True))


def _value(data, scale, w, rest):
    own, others = _class_weights(data, w, rest)
    return TokenValue(*(scale * x for x in (float(data.a) * w, float(data.b) * own, float(data.b) * others, data.c)))


def _class_weights(data, w, rest):
    """Return the weight of the marked token's whole class, and of each other class."""
    return w + rest * ((data.t - 1) / (data.n - 1)), rest * (data.t / (data.n - 1))


# One random column


def column_probability(n, d, a, c, kernel="softmax", gap=0.1, *, beta=1):
    """Exact probability π that one random column makes some row exceed the threshold.

    Parameters
    ----------
    n, d, a, c, gap
        As in `TokenData`; d up to 10^6.
    kernel, beta
        As in `gains`.

    Returns
    -------
    float
        π = P[⟨c_j, y⟩ > τ for some row j], y ∈ {±1}^d uniform, to 12 digits also where it is tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or `gains`.

    Notes
    -----
    ⟨c_j, y⟩/√L = a w y_1 + b(w_* y_{k*} + w_o S) + c y_d, where S is a sum of d − 3 signs: eight patterns of
    (y_1, y_{k*}, y_d), and a binomial tail for each.  Completed.  Claims: column-law, column-ties.

    Examples
    --------
    >>> column_probability(4, 4, 1, "0.5"), column_probability(6, 5, 0, "0.5")
    (0.375, 0.25)
    """
    data, rows = TokenData(n=n, d=d, a=a, c=c, gap=gap), gains(n, a, kernel, beta=beta)
    patterns = product((1, -1), repeat=3)
    return math.fsum(exact.binomial_tail(data.d - 3, least_plus(data, rows, *pattern)) for pattern in patterns) / 8


def least_plus(data, rows, y_first, y_own, y_last):
    """Smallest number of plus signs among the other classes with which some row exceeds the threshold.

    Parameters
    ----------
    data : TokenData
        The data.
    rows : tuple of Power
        Gains R of the two kinds of row, the larger first, as from `gains`.
    y_first, y_own, y_last : int
        The signs y_1, y_{k*} and y_d, each 1 or -1.

    Returns
    -------
    int
        From 0 (always) to d − 2 (never, since there are d − 3 such signs).

    Notes
    -----
    With w = R/(R + n − 1) the row exceeds τ if and only if
    b t S > g(n−1) − b(t−1)y_{k*} + R(g − a y_1 − b y_{k*}), g = gap + c(1 − y_d).
    The right side is linear in R, so the row with the smaller right side decides.  A tie does not fire.
    Completed.  Claims: column-threshold, column-ties.

    Examples
    --------
    >>> data = TokenData(n=53, d=55, a=0.75, c=0.35)
    >>> least_plus(data, gains(53, 0.75), 1, -1, 1)  # S = 8, that is 30 of 52 signs, ties whatever the irrational R
    31
    """
    n, t, b, others = data.n, data.t, data.b, data.d - 3
    g = data.gap + data.c * (1 - y_last)
    level, slope = g * (n - 1) - b * (t - 1) * y_own, g - data.a * y_first - b * y_own
    R = rows[1] if slope > 0 else rows[0]
    # S = 2 plus − (d − 3), so plus > (d − 3)/2 + (level + slope R)/(2 b t).
    return floor_linear(Fraction(others, 2) + level / (2 * b * t), slope / (2 * b * t), R, others) + 1


def floor_linear(shift, slope, R, top):
    """Return ⌊shift + slope R⌋, proved; anything above `top` counts as top and anything below 0 as −1.

    Parameters
    ----------
    shift, slope : Fraction
        Exact numbers.
    R : Power
        The number that may be irrational.
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

    def floor(R):
        return max(-1, min(top, math.floor(shift + slope * R)))

    if slope == 0:
        return floor(0)
    enough = (abs(shift) + top + 2) / abs(slope)  # a larger R gives the same clipped floor, and may be too long to hold
    digits = 50
    while True:
        low, high = (floor(enough if end > enough else Fraction(end)) for end in _enclosure(R, digits))
        if low == high:
            return low
        if (rational := _rational_power(R)) is not None:
            return floor(rational)
        digits *= 2


@lru_cache(maxsize=64)
def _enclosure(R, digits):
    """Return lower and upper bounds of R that agree in almost all of the digits."""
    if R.exponent in (0, 1):
        return (R.base**R.exponent,) * 2
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])):
        # ln, exp, × and / round the last digit at most: 10^(1 − digits) relatively.  The slack is 1000 times as much.
        slack = Decimal(10) ** (4 - digits)
        log = Decimal(R.exponent.numerator) * Decimal(R.base).ln() / Decimal(R.exponent.denominator)
        return (log * (1 - slack)).exp() * (1 - slack), (log * (1 + slack)).exp() * (1 + slack)


def _rational_power(R):
    """Return n^(u/v) as a whole number if it is one: n must be the v-th power of a whole number, else it is irrational.

    Only powers are passed that an enclosure left in doubt, so their length is that of the parameters.
    """
    u, v = R.exponent.numerator, R.exponent.denominator
    if v >= R.base.bit_length():
        return None  # even 2^v is larger than n
    root = _integer_root(R.base, v)
    return root**u if root**v == R.base else None


def _integer_root(n, v):
    """Return the largest integer whose v-th power is at most n, by bisection."""
    low, high = 1, 1 << -(-n.bit_length() // v)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**v <= n else (low, middle - 1)
    return low


def instance_fires(y, data, kernel="softmax"):
    """Whether the network fires for these signs, with ties decided exactly.

    Parameters
    ----------
    y : array, shape (d, m)
        Signs, 1 or -1 (not checked), as from ``network.signs``; on the host.
    data : TokenData
        The data; n may be far beyond any matrix.
    kernel : str
        softmax or linear.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If y has not d rows or the kernel is unknown.

    Notes
    -----
    Completed.  Claim: column-threshold.

    Examples
    --------
    >>> import numpy as np
    >>> data = TokenData(n=4, d=4, a=1, c=0.5)
    >>> instance_fires(np.array([[1], [1], [1], [1]]), data), instance_fires(np.array([[-1], [1], [1], [1]]), data)
    (True, False)
    """
    if len(y) != data.d:
        raise ValueError(f"y: {len(y)} rows, must be d = {data.d}")
    rows, own = gains(data.n, data.a, kernel), data.marked_class + 1
    least = {pattern: least_plus(data, rows, *pattern) for pattern in product((1, -1), repeat=3)}
    for column in zip(y[0], y[own], y[-1], sum(y[1:own]) + sum(y[own + 1 : -1]) + 0 * y[0], strict=True):
        *pattern, total = map(int, column)
        if (total + data.d - 3) // 2 >= least[tuple(pattern)]:
            return True
    return False


def fires_probability(n, d, m, a, c, kernel="softmax", gap=0.1, *, beta=1):
    """Exact probability that the network fires on the data.

    Parameters
    ----------
    n, d, a, c, gap
        As in `TokenData`; d up to 10^6.
    m : int
        Number of sign columns, at least 1.
    kernel, beta
        As in `gains`.

    Returns
    -------
    float
        1 − (1 − π)^m with π from `column_probability`, to 12 digits also where it is tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, those of `TokenData` or of `gains`.

    Notes
    -----
    Source: section 1.1 (completed).  Claims: main-theorem-worked-instance, column-law-simulated.

    Examples
    --------
    >>> f"{fires_probability(1024, 258, 10, 0.7, 0.5):.9f}", f"{fires_probability(1024, 258, 10, 0.05, 0.5):.9g}"
    ('0.943686969', '0.00346450383')
    """
    return exact.fires_probability(column_probability(n, d, a, c, kernel, gap, beta=beta), m)


# Bounds


def column_bounds(n, d, a, c, kernel="softmax", gap=0.1):
    """What the theorem proves of π.

    Parameters
    ----------
    n, d, a, c, kernel, gap
        As in `column_probability`; any d.

    Returns
    -------
    tuple of float
        (low, high) with low ≤ π ≤ high: low = 1/8 if a w > gap in the marked token's row, else 0; high = the sum of
        exp(−(gap − a w)²/(2b²‖w‖²)) over the distinct rows if all a w < gap, else 1, and never above 1.

    Raises
    ------
    ValueError, TypeError
        As in `column_probability`.

    Notes
    -----
    ‖w‖² = (w + (t−1)r)² + (d−3)(t r)², r = (1−w)/(n−1).  Softmax has two distinct rows, linear attention one.
    Completed.  Claims: main-theorem-softmax-fires, main-theorem-softmax-silent, main-theorem-linear-silent.

    Examples
    --------
    >>> column_bounds(1024, 258, 0.7, 0.5)
    (0.125, 1.0)
    >>> low, high = column_bounds(1024, 258, 0.05, 0.5)
    >>> low, round(high, 6)
    (0.0, 0.01204)
    """
    data, (R, _) = TokenData(n=n, d=d, a=a, c=c, gap=gap), gains(n, a, kernel)
    # a w > gap if and only if gap (n − 1) + R (gap − a) < 0, decided without rounding.
    if floor_linear(data.gap * (n - 1), data.gap - data.a, R, 0) < 0:
        return 0.125, 1.0
    found = weights(n, a, kernel)
    rows = list(zip(found[:2], found[2:], strict=True))
    return 0.0, min(1.0, math.fsum(_row_bound(data, w, rest) for w, rest in rows[: 2 if kernel == "softmax" else 1]))


def _row_bound(data, w, rest):
    slack = float(data.gap) - float(data.a) * w
    own, others = _class_weights(data, w, rest)
    norm_squared = own**2 + (data.d - 3) * others**2
    return hoeffding(slack, float(data.b) ** 2 * norm_squared) if slack > 0 else 1.0


def fires_bounds(n, d, m, a, c, kernel="softmax", gap=0.1):
    """What the theorem proves of the probability that the network fires.

    Parameters
    ----------
    n, d, m, a, c, kernel, gap
        As in `fires_probability`; any d.

    Returns
    -------
    tuple of float
        (1 − (1 − low)^m, m high), the second never above 1, with low and high from `column_bounds`.

    Raises
    ------
    ValueError, TypeError
        As in `fires_probability`.

    Examples
    --------
    >>> fires_bounds(1024, 258, 1, 0.7, 0.5)
    (0.125, 1.0)
    """
    low, high = column_bounds(n, d, a, c, kernel, gap)
    return exact.fires_probability(low, m), min(1.0, m * high)


def errors(n, d, m, a0, a1, c, gap=0.1, *, by="exact"):
    """The four errors of the separation of D_0 and D_1.

    Parameters
    ----------
    n, d, m, c, gap
        As in `fires_probability`.
    a0, a1 : int, float, Fraction or str
        Strength of the marked token on D_0 and on D_1.
    by : str
        ``exact``, or ``bound`` for what the theorem proves of them.

    Returns
    -------
    TokenErrors

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `fires_probability` or `by` is unknown.

    Notes
    -----
    Source: section 1.1 (constants completed).  Claims: main-theorem-sizes, main-theorem-worked-instance.

    Examples
    --------
    >>> [*errors(4, 4, 1, 0, 1, "0.5")]
    [0.625, 0.125, 0.125, 0.1875]
    """
    low, high, fires = _laws(by)
    a0, a1 = require_decimal("a0", a0), require_decimal("a1", a1)
    a0_or_a1 = ((a0, "softmax"), (a0, "linear"), (a1, "linear"))
    silent = exact.silent_probability(low(n, d, a1, c, "softmax", gap), m)
    return TokenErrors(silent, *(fires(high(n, d, a, c, kernel, gap), m) for a, kernel in a0_or_a1))


def _laws(by):
    """Return functions that bound π from below and from above, and one that turns the latter into P[fires]."""
    if by == "exact":
        return column_probability, column_probability, exact.fires_probability
    if by == "bound":
        return (lambda *x: column_bounds(*x)[0]), (lambda *x: column_bounds(*x)[1]), lambda high, m: min(1.0, m * high)
    raise ValueError(f"by = {by!r}: must be exact or bound")


def sizes(delta, a0, a1, c, t=1, gap=0.1, *, by="exact", d_max=5000):
    """Smallest sizes at which softmax attention tells D_0 and D_1 apart and linear attention does not.

    Parameters
    ----------
    delta : int, float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    a0, a1, c, gap
        As in `errors`.
    t : int
        Copies of every class, at least 1.
    by : str
        ``exact``, or ``bound`` for sizes that the theorem promises.
    d_max : int
        Largest d to try, at least 4.

    Returns
    -------
    tuple of int
        (n, d, m): the smallest d ≥ 4 for which some m makes all four errors at most δ, then the smallest such m;
        n = (d − 2)t.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or no d up to d_max is enough.

    Notes
    -----
    A larger d may fail again (claim token-sizes-not-monotone), so all smaller d are tried.  Errors equal to δ within
    10^-12, their accuracy, count as equal.  Completed.  Claim: main-theorem-sizes.

    Examples
    --------
    >>> sizes(0.1, 0.05, 0.7, 0.5), sizes(0.1, 0.05, 0.7, 0.5, t=4)
    ((106, 108, 9), (376, 96, 8))
    """
    largest = float(require_probability("delta", str(delta) if isinstance(delta, float) else delta)) * (1 + 1e-12)
    if largest == 0:
        raise ValueError(f"delta = {delta!r}: must not be so small that a double takes it for 0")
    a0, a1 = require_decimal("a0", a0), require_decimal("a1", a1)
    low, high, fires = _laws(by)
    t = require_integer("t", t, least=1)
    # Linear attention on D_1 comes first: as a rule it is what fails, so the others are rarely computed.
    others = ((a1, "linear"), (a0, "linear"), (a0, "softmax"))
    for d in range(4, require_integer("d_max", d_max, least=4) + 1):
        n = (d - 2) * t
        if (pi := low(n, d, a1, c, "softmax", gap)) > 0:
            # Fewer columns leave softmax silent too often, more only raise the other errors.
            m = 1 if pi == 1 else max(1, math.ceil(math.log(largest) / math.log1p(-pi)))
            if m <= exact.MOST_COLUMNS and all(
                fires(high(n, d, a, c, kernel, gap), m) <= largest for a, kernel in others
            ):
                return n, d, m
    raise ValueError(f"d_max = {d_max}: no d up to it has all four errors at most delta = {delta} (by = {by!r})")
