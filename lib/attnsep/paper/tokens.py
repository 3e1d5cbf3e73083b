"""Closed forms of the self-attention data: weights, values, one random column, firing probabilities, sizes.

Firing is strict and ties have mass, so the laws decide every tie exactly.  Parameters are read as decimals (see
``data.require_decimal``), and one number alone can be irrational: the gain R of the marked token, a power of n.
"""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from attnsep.arrays import common_namespace, given_namespace, require_real_dtype, to_numpy
from attnsep.attention.kernels import PAIR, require_kernel
from attnsep.checks import (
    LARGEST_EXPONENT,
    require_choice,
    require_decimal,
    require_instance,
    require_integer,
    require_probability,
    require_shape,
    require_size,
    text_of,
)
from attnsep.paper.gains import gains, lowest_floor
from attnsep.probability import sign_sums
from attnsep.probability.sign_sums import hoeffding


class Scaled:
    """What all self-attention data have in common, given n, c and gap: entries are multiples of √log n."""

    @property
    def b(self):
        """Strength 1 − c of a token's own class."""
        return 1 - self.c

    @property
    def log_n(self):
        """log n (natural)."""
        return math.log(self.n)

    @property
    def tau(self):
        """Threshold τ = (c + gap)√log n."""
        return float(self.c + self.gap) * math.sqrt(self.log_n)


@dataclass(frozen=True, kw_only=True)
class TokenData(Scaled):
    """Self-attention data: D_0 with a small a, D_1 with a large one.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2 and (d − 2)t for a whole number t ≥ 1.
    d : int
        Width of the tokens, at least 3.
    a : int, float, Fraction or str
        Strength of the marked token, finite and at least 0.
    c : int, float, Fraction or str
        Strength of the constant last column, strictly between 0 and 1.
    marked : int
        Index j* of the marked token, counted from 0.
    gap : int, float, Fraction or str
        The threshold is τ = (c + gap)√log n; at least 0.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    a, c and gap are kept as exact Fractions, floats as the decimals that they print: ties with τ are real and depend
    on it.
    Source: section 6 (τ), n = (d − 2)t; the matrix is completed.  Definition: def-token-data.

    Examples
    --------
    >>> data = TokenData(n=6, d=5, a=0.7, c="0.5", marked=4)
    >>> data.t, data.b, data.marked_class, data.tau == 0.6 * math.sqrt(math.log(6))
    (2, Fraction(1, 2), 1, True)
    """

    n: int
    d: int
    a: Fraction
    c: Fraction
    marked: int = 0
    gap: Fraction = Fraction(1, 10)

    def __post_init__(self):
        exact = {
            "n": require_integer("n", self.n, least=2),
            "d": require_integer("d", self.d, least=3),
            "a": require_decimal("a", self.a),
            "c": require_decimal("c", self.c),
            "marked": require_integer("marked", self.marked, least=0),
            "gap": require_decimal("gap", self.gap),
        }
        width = exact["d"] - 2
        if exact["n"] % width:
            raise ValueError(f"n = {self.n}, d = {self.d}: n must be (d - 2)t, a multiple of {width}")
        if not 0 < exact["c"] < 1:
            raise ValueError(f"c = {text_of(self.c)}: must lie strictly between 0 and 1")
        if exact["marked"] >= exact["n"]:
            raise ValueError(f"marked = {self.marked}: must be below n = {self.n}")
        for name, value in exact.items():
            object.__setattr__(self, name, value)

    @property
    def t(self):
        """Copies of every class, t in n = (d − 2)t."""
        return self.n // (self.d - 2)

    @property
    def marked_class(self):
        """Class k* of the marked token, counted from 0; its column in the matrix is k* + 1."""
        return self.marked % (self.d - 2)

    def classes(self, xp=None):
        """Return every token's class, counted from 0.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.

        Returns
        -------
        array, shape (n,)
            Token i has class i mod (d − 2).

        Examples
        --------
        >>> import numpy as np
        >>> TokenData(n=6, d=5, a=0, c="0.5").classes(np)
        array([0, 1, 2, 0, 1, 2])
        """
        xp = given_namespace(xp)
        require_size(n=self.n)
        return xp.arange(self.n) % (self.d - 2)

    def matrix(self, xp=None, dtype=None):
        """Return the tokens A.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.
        dtype : dtype, optional
            Real floating dtype of the result; left out, float64.

        Returns
        -------
        array, shape (n, d)
            A = A1 = A2 = A3.

        Notes
        -----
        First column a√L at the marked token and 0 elsewhere; then t stacked copies of b√L · I; last column c√L, with
        L = log n.  The same d − 2 rows stand t times, so no memory is needed beyond the result.
        Completed.  Definition: def-token-data.

        Examples
        --------
        >>> import numpy as np
        >>> data = TokenData(n=4, d=4, a=2, c="0.25", marked=3)
        >>> (data.matrix(np) / math.sqrt(data.log_n)).round(12)
        array([[0.  , 0.75, 0.  , 0.25],
               [0.  , 0.  , 0.75, 0.25],
               [0.  , 0.75, 0.  , 0.25],
               [2.  , 0.  , 0.75, 0.25]])
        """
        xp = given_namespace(xp)
        dtype = require_real_dtype(xp, dtype)
        require_size(n=self.n, d=self.d)
        root, width = math.sqrt(self.log_n), self.d - 2
        first, ones = xp.zeros((width, 1), dtype=dtype), xp.ones((width, 1), dtype=dtype)
        own = float(self.b) * root * xp.eye(width, dtype=dtype)
        A = xp.tile(xp.concat([first, own, float(self.c) * root * ones], axis=1), (self.t, 1))
        A[self.marked, 0] = float(self.a) * root
        return A

    def X(self, xp=None, dtype=None):
        """Return the weight matrix X, all ones.

        Parameters
        ----------
        xp, dtype
            As in `matrix`.

        Returns
        -------
        array, shape (d, d)
            1_d 1_dᵀ.

        Notes
        -----
        Every score is then the product of two row sums of A.  Completed.  Claim: all-ones-scores.

        Examples
        --------
        >>> import numpy as np
        >>> TokenData(n=2, d=3, a=0, c="0.5").X(np)[0]
        array([1., 1., 1.])
        """
        xp = given_namespace(xp)
        require_size(d=self.d, width=self.d)
        return xp.ones((self.d, self.d), dtype=require_real_dtype(xp, dtype))


KERNELS = PAIR


MOST_WIDTH = 10**9  # where every class has a sign of its own


class Seen(NamedTuple):
    """The tokens that every row sees: all, those of the marked token's class, and (size, count) of other classes."""

    tokens: int
    own: int
    others: tuple


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


def weights(n, a, kernel="softmax", *, d=None):
    """Weight of the marked token, for n far beyond any matrix.

    Parameters
    ----------
    n, a, kernel, d
        As in ``gains.gains``; n up to 10^300.

    Returns
    -------
    TokenWeights
        p, q and what they leave to the other tokens, each to 12 digits.

    Raises
    ------
    ValueError, TypeError
        As in `gains`, or if top-k should keep more than n tokens.

    Notes
    -----
    R/(R + n − 1), for top-k R/(R + k − 1): softmax p = 1/(1+(n−1)n^{−βa(1+a)}), q = 1/(1+(n−1)n^{−βa}), linear
    p = q = (1+a)/(n+a).
    Source: Lemma D.2 (completed).  Claims: lemma-d-2-weights, linear-rows-equal, golden-ratio-law, kernel-weights.

    Examples
    --------
    >>> weights(4, 1)[:2] == (16 / 19, 4 / 7), weights(4, 1, "linear").p
    (True, 0.4)
    """
    n = require_integer("n", n, least=2)
    rows, rest = gains(n, a, kernel, d=d), _tokens_seen(n, kernel) - 1
    (p, not_p), (q, not_q) = (R.shares(rest) if rest else (1.0, 0.0) for R in rows)
    return TokenWeights(p, q, not_p, not_q)


def _tokens_seen(n, kernel):
    """Return how many tokens can have a weight above 0: k for top-k, else all."""
    kernel = require_kernel(kernel)
    if kernel.name != "topk":
        return n
    if (k := kernel.k) > n:
        raise ValueError(f"kernel = {str(kernel)!r}: k must be at most n = {n}")
    return k


def seen(data, kernel="softmax"):
    """Count the tokens that the rows see, by class.

    Parameters
    ----------
    data : TokenData
        The data; for top-k the first token must be the marked one.
    kernel : str
        As in ``gains.gains``.

    Returns
    -------
    Seen

    Raises
    ------
    ValueError
        If the kernel is unknown, or top-k keeps more than n tokens or meets another marked token.

    Notes
    -----
    Top-k keeps the k largest scores, ties to the lowest index: the marked token and the k − 1 tokens after it.
    All other kernels see all n tokens, t of each class.

    Examples
    --------
    >>> seen(TokenData(n=8, d=6, a=1, c="0.5")), seen(TokenData(n=8, d=6, a=1, c="0.5"), "topk:6")
    (Seen(tokens=8, own=2, others=((2, 3),)), Seen(tokens=6, own=2, others=((2, 1), (1, 2))))
    """
    k, width = _tokens_seen(require_instance("data", data, TokenData).n, kernel), data.d - 2
    if k == data.n:
        return Seen(k, data.t, ((data.t, width - 1),))
    if data.marked:
        raise ValueError(
            f"kernel = {kernel!r}, marked = {data.marked}: the mark must be 0 for top-k, which breaks ties by position"
        )
    others = Counter(_kept(k, width, index) for index in range(1, min(k, width)))
    return Seen(k, _kept(k, width, 0), tuple(others.items()))


def _kept(k, width, index):
    """Return how many of the first k tokens have this class."""
    return -((index - k) // width)


def values_closed(n, d, a, c, kernel="softmax"):
    """Attention outputs of the data in closed form: every row is one of two.

    Parameters
    ----------
    n, d, a, c
        As in `TokenData`; n up to 10^300.
    kernel : str
        As in ``gains.gains``, but for top-k, whose rows have more than four different entries.

    Returns
    -------
    tuple of TokenValue
        The marked token's row, and every other row.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or `gains`, or the kernel is top-k.

    Notes
    -----
    o_j = √L (a w; b(w + (t−1)r) at k*, b t r at each other class; c), r = (1−w)/(n−1), L = log n.
    Completed.  Claim: values-in-closed-form.

    Examples
    --------
    >>> [round(x / math.sqrt(math.log(6)), 12) for x in values_closed(6, 5, 0, "0.5")[0]]
    [0.0, 0.166666666667, 0.166666666667, 0.5]
    """
    data = TokenData(n=n, d=d, a=a, c=c)
    if require_kernel(kernel).name == "topk":
        raise ValueError(f"kernel = {kernel!r}: has no closed form of four entries; use attention.values")
    root, found = math.sqrt(data.log_n), weights(n, a, kernel, d=d)
    return tuple(_value(data, root, *row) for row in zip(found[:2], found[2:], strict=True))


def _value(data, scale, w, rest):
    own, others = _class_weights(data, w, rest)
    return TokenValue(*(scale * x for x in (float(data.a) * w, float(data.b) * own, float(data.b) * others, data.c)))


def _class_weights(data, w, rest):
    """Return the weight of the marked token's whole class, and of each other class."""
    return w + rest * ((data.t - 1) / (data.n - 1)), rest * (data.t / (data.n - 1))


# One random column


def column_probability(n, d, a, c, kernel="softmax", gap=0.1):
    """Exact probability π that one random column makes some row exceed the threshold.

    Parameters
    ----------
    n, d, a, c, gap
        As in `TokenData`; d up to 10^9, for top-k up to 20000 whatever k is.
    kernel : str
        As in ``gains.gains``.

    Returns
    -------
    float
        π = P[⟨o_j, y⟩ > τ for some row j], y ∈ {±1}^d uniform, to 12 digits also where it is tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or `gains`.

    Notes
    -----
    ⟨o_j, y⟩/√L = a w y_1 + b(w_* y_{k*} + w_o S) + c y_d, where S is a sum of d − 3 signs: eight patterns of
    (y_1, y_{k*}, y_d), and a binomial tail for each.  Completed.  Claims: column-law, column-ties, kernel-law-exact.

    Examples
    --------
    >>> column_probability(4, 4, 1, "0.5"), column_probability(6, 5, 0, "0.5")
    (0.375, 0.25)
    """
    data = TokenData(n=n, d=d, a=a, c=c, gap=gap)
    if data.d > MOST_WIDTH:
        raise ValueError(f"d = {d}: must be at most 10^9")
    require_kernel(kernel)
    return _column_probability(data, kernel)


@lru_cache(maxsize=10_000)  # a search for sizes asks for the same columns again for every δ
def _column_probability(data, kernel):
    rows, sight = gains(data.n, data.a, kernel, d=data.d), seen(data, kernel)
    if sight.tokens < data.n:
        return class_law(data, rows, sight)
    return math.fsum(sign_sums.binomial_tail(data.d - 3, least_plus(data, rows, *pattern)) for pattern in _PATTERNS) / 8


_PATTERNS = tuple(product((1, -1), repeat=3))


def class_law(data, rows, sight):
    """Exact probability π that one random column makes some row exceed the threshold, for classes of any sizes.

    Parameters
    ----------
    data : TokenData or RaggedData
        Where a, b, c and the gap come from.
    rows : tuple of gains
        Gains R of the two kinds of row, as from ``gains.gains``.
    sight : Seen
        The tokens that every row sees; few different sizes, since the cost is the product of their counts plus one,
        without the largest.

    Returns
    -------
    float
        To 12 digits, ties decided exactly.

    Notes
    -----
    Claims: ragged-law, kernel-law-exact.

    Examples
    --------
    >>> data = TokenData(n=4, d=4, a=1, c="0.5")
    >>> class_law(data, gains(4, 1), seen(data))
    0.375
    """
    floors = (class_floor(data, rows, sight, *pattern) for pattern in _PATTERNS)
    return math.fsum(sign_sums.column_probability(sight.others, floor) for floor in floors) / 8


def class_floor(data, rows, sight, y_first, y_own, y_last):
    """Floor that Σ_{k≠k*} t_k y_k must exceed so that some row exceeds the threshold.

    Parameters
    ----------
    data, rows, sight
        As in `class_law`.
    y_first, y_own, y_last : int
        The signs y_1, y_{k*} and y_d, each 1 or -1.

    Returns
    -------
    int
        From −seen − 1 (always) to seen (never), the number of tokens that the row sees.

    Notes
    -----
    With w = R/(R + seen − 1) a row exceeds τ if and only if
    b Σ_{k≠k*} t_k y_k > g(seen − 1) − b(t_{k*}−1)y_{k*} + R(g − a y_1 − b y_{k*}), g = gap + c(1 − y_d).
    The left side over b is a whole number, so the floor of the right side over b decides, and of the two rows the
    one with the smaller right side.  Extension.

    Examples
    --------
    >>> data = TokenData(n=4, d=4, a=1, c="0.5")
    >>> [class_floor(data, gains(4, 1), seen(data), *signs) for signs in ((1, 1, 1), (1, -1, 1), (-1, -1, -1))]
    [-5, -5, 4]
    """
    seen, b, g = sight.tokens, data.b, data.gap + data.c * (1 - y_last)
    level, slope = g * (seen - 1) - b * (sight.own - 1) * y_own, g - data.a * y_first - b * y_own
    return lowest_floor(level / b + seen, slope / b, rows, 2 * seen) - seen


def least_plus(data, rows, y_first, y_own, y_last):
    """Smallest number of plus signs among the other classes with which some row exceeds the threshold.

    Parameters
    ----------
    data : TokenData
        The data.
    rows : tuple of gains
        Gains R of the two kinds of row, as from ``gains.gains``.
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
    # S = 2 plus − (d − 3), so plus > (d − 3)/2 + (level + slope R)/(2 b t).
    return lowest_floor(Fraction(others, 2) + level / (2 * b * t), slope / (2 * b * t), rows, others) + 1


def instance_fires(y, data, kernel="softmax"):
    """Whether the network fires for these signs, with ties decided exactly.

    Parameters
    ----------
    y : array, shape (d, m)
        Signs, 1 or -1, as from ``network.signs``; they are copied to the host.
    data : TokenData
        The data; n may be far beyond any matrix.
    kernel : str
        As in ``gains.gains``; top-k needs the first token to be the marked one.

    Returns
    -------
    bool

    Raises
    ------
    ValueError, TypeError
        If y has not d rows or an entry that is no sign, or as in `seen`.

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
    xp = common_namespace(y=y)
    require_shape("y", y, (require_instance("data", data, TokenData).d, "m"))
    if not bool(xp.all((y == 1) | (y == -1))):
        raise ValueError("y: every entry must be 1 or -1")
    y = to_numpy(y)
    rows, sight, own = gains(data.n, data.a, kernel, d=data.d), seen(data, kernel), data.marked_class + 1
    if sight.tokens < data.n:
        floors = {pattern: class_floor(data, rows, sight, *pattern) for pattern in _PATTERNS}
        totals = _class_totals(y, data, sight.tokens)
        return any(s > floors[tuple(map(int, p))] for *p, s in zip(y[0], y[own], y[-1], totals, strict=True))
    least = {pattern: least_plus(data, rows, *pattern) for pattern in _PATTERNS}
    totals = sum((*y[1:own], *y[own + 1 : -1]), 0.0 * y[0])  # as floats, since an int8 overflows at d = 131
    for column in zip(y[0], y[own], y[-1], totals, strict=True):
        *pattern, total = map(int, column)
        if (total + data.d - 3) // 2 >= least[tuple(pattern)]:
            return True
    return False


def _class_totals(y, data, tokens):
    """Return Σ_{k≠k*} t_k y_k of every column; whole numbers of any length, unlike an array's."""
    sums = {0: 0.0 * y[0]}
    for index in range(1, data.d - 2):
        size = _kept(tokens, data.d - 2, index)
        sums[size] = sums.get(size, sums[0]) + y[index + 1]
    columns = zip(*sums.values(), strict=True)
    return [sum(size * int(s) for size, s in zip(sums, column, strict=True)) for column in columns]


def fires_probability(n, d, m, a, c, kernel="softmax", gap=0.1):
    """Exact probability that the network fires on the data.

    Parameters
    ----------
    n, d, a, c, gap
        As in `TokenData`; d up to 10^9.
    m : int
        Number of sign columns, at least 1.
    kernel : str
        As in ``gains.gains``.

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
    return sign_sums.fires_probability(column_probability(n, d, a, c, kernel, gap), m)


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
        (low, high) with low ≤ π ≤ high: low = 1/8 if a w > gap in some row, else 0; high = the sum of
        exp(−(gap − a w)²/(2b²Q_w)) over the distinct rows if all a w < gap, else 1, and never above 1.

    Raises
    ------
    ValueError, TypeError
        As in `column_probability`.

    Notes
    -----
    Q_w = (w + (t−1)r)² + (d−3)(t r)², r = (1−w)/(n−1), where all tokens are seen.  Softmax has two distinct rows if
    a > 0, linear attention one.
    Completed.  Claims: main-theorem-softmax-fires, main-theorem-softmax-silent, main-theorem-linear-silent.

    Examples
    --------
    >>> column_bounds(1024, 258, 0.7, 0.5)
    (0.125, 1.0)
    >>> low, high = column_bounds(1024, 258, 0.05, 0.5)
    >>> low, round(high, 6)
    (0.0, 0.01204)
    """
    data = TokenData(n=n, d=d, a=a, c=c, gap=gap)
    require_kernel(kernel)
    return _column_bounds(data, kernel)


@lru_cache(maxsize=10_000)
def _column_bounds(data, kernel):
    rows, sight = gains(data.n, data.a, kernel, d=data.d), seen(data, kernel)
    # a w > gap if and only if gap (seen − 1) + R (gap − a) < 0, decided without rounding.
    if lowest_floor(data.gap * (sight.tokens - 1), data.gap - data.a, rows, 0) < 0:
        return 0.125, 1.0
    return 0.0, class_bound(data, rows, sight, weights(data.n, data.a, kernel, d=data.d))


def class_bound(data, rows, sight, found):
    """Hoeffding's bound of π, for classes of any sizes.

    Parameters
    ----------
    data, rows, sight
        As in `class_law`.
    found : TokenWeights
        The weights that belong to these gains.

    Returns
    -------
    float
        The sum of exp(−(gap − a w)²/(2b²Q_w)) over the distinct rows, or 1 where some a w ≥ gap; never above 1.

    Notes
    -----
    Q_w is the sum of the squared weights of the classes.  Completed.  Claims: main-theorem-softmax-silent,
    main-theorem-linear-silent, ragged-silent.
    """
    return min(1.0, math.fsum(_row_bound(data, sight, *pair) for pair in _distinct(rows, found)))


def _distinct(rows, found):
    """Return (weight of the marked token, rest) of both kinds of row, or once where they are equal."""
    return ((found.p, found.not_p), (found.q, found.not_q))[: 1 if rows[0] == rows[1] else 2]


def _row_bound(data, sight, w, rest):
    slack, r = float(data.gap) - float(data.a) * w, rest / max(sight.tokens - 1, 1)
    norm_squared = (w + (sight.own - 1) * r) ** 2 + sum(count * (size * r) ** 2 for size, count in sight.others)
    # Where a double takes the norm for 0, the least double is above it, and a larger norm makes a weaker bound.
    return hoeffding(slack, float(data.b) ** 2 * norm_squared or 5e-324) if slack > 0 else 1.0


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
    return sign_sums.fires_probability(low, m), min(1.0, m * high)


def kernel_bounds(n, d, a, c, kernel="softmax", gap=0.1):
    """What the law of the attentions proves of π: the marked token's largest possible part, (a + b)w, against the gap.

    Parameters
    ----------
    n, d, a, c, kernel, gap
        As in `column_probability`; any d.

    Returns
    -------
    tuple of float
        (low, high) with low ≤ π ≤ high: low = 1/16 if (a + b)w > gap in some row, else 0; high = the sum of
        exp(−(gap − (a + b)w)²/(2b²ρ²)) over the distinct rows if all (a + b)w < gap, else 1, and never above 1.

    Raises
    ------
    ValueError, TypeError
        As in `column_probability`.

    Notes
    -----
    ρ² is the sum of the squared weights of the classes without the marked token's own: with r the weight of an ordinary
    token, ρ² = r²((t−1)² + (d−3)t²) ≤ (n/(n−1))²/(d − 2) where all tokens are seen.
    Extension.  Claims: mark-decides-fires, mark-decides-silent.

    Examples
    --------
    >>> kernel_bounds(512, 130, 0.8, 0.5, "sparsemax")
    (0.0625, 1.0)
    >>> low, high = kernel_bounds(4096, 4098, 0.8, 0.5, "sigmoid")
    >>> low, high < 1e-30
    (0.0, True)
    """
    data = TokenData(n=n, d=d, a=a, c=c, gap=gap)
    rows, sight, found = gains(n, a, kernel, d=d), seen(data, kernel), weights(n, a, kernel, d=d)
    # (a + b)w > gap if and only if gap (seen − 1) + R (gap − a − b) < 0, decided without rounding.
    if lowest_floor(data.gap * (sight.tokens - 1), data.gap - data.a - data.b, rows, 0) < 0:
        return 0.0625, 1.0
    return 0.0, min(1.0, math.fsum(_others_bound(data, sight, *pair) for pair in _distinct(rows, found)))


def _others_bound(data, sight, w, rest):
    slack, r = float(data.gap) - float(data.a + data.b) * w, rest / max(sight.tokens - 1, 1)
    variance = ((sight.own - 1) * r) ** 2 + sum(count * (size * r) ** 2 for size, count in sight.others)
    return hoeffding(slack, float(data.b) ** 2 * variance) if slack > 0 < variance else float(slack <= 0)


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
    silent = sign_sums.silent_probability(low(n, d, a1, c, "softmax", gap), m)
    return TokenErrors(silent, *(fires(high(n, d, a, c, kernel, gap), m) for a, kernel in a0_or_a1))


def _laws(by):
    """Return functions that bound π from below and from above, and one that turns the latter into P[fires]."""
    if require_choice("by", by, ("exact", "bound")) == "exact":
        return column_probability, column_probability, sign_sums.fires_probability
    return (lambda *x: column_bounds(*x)[0]), (lambda *x: column_bounds(*x)[1]), lambda high, m: min(1.0, m * high)


def sizes(delta, a0, a1, c, t=1, gap=0.1, *, by="exact", d_max=5000):
    """Smallest sizes at which softmax attention tells D_0 and D_1 apart and linear attention does not.

    Parameters
    ----------
    delta : int, float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    a0, a1, c, gap
        As in `errors`.
    t : int
        Copies of every class, from 1 to 10^292.
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
    t = require_integer("t", t, least=1, most=10 ** (LARGEST_EXPONENT + 1) // MOST_WIDTH)  # no n is too large then
    # Linear attention on D_1 comes first: as a rule it is what fails, so the others are rarely computed.
    others = ((a1, "linear"), (a0, "linear"), (a0, "softmax"))
    for d in range(4, require_integer("d_max", d_max, least=4, most=MOST_WIDTH) + 1):
        n = (d - 2) * t
        if (pi := low(n, d, a1, c, "softmax", gap)) > 0:
            # Fewer columns leave softmax silent too often, more only raise the other errors.
            m = 1 if pi == 1 else max(1, math.ceil(math.log(largest) / math.log1p(-pi)))
            if m <= sign_sums.MOST_COLUMNS and all(
                fires(high(n, d, a, c, kernel, gap), m) <= largest for a, kernel in others
            ):
                return n, d, m
    raise ValueError(f"d_max = {d_max}: no d up to it has all four errors at most delta = {delta} (by = {by!r})")
