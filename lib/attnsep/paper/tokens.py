"""The self-attention data and their one law: weights, outputs, one random column, firing probabilities, sizes.

`TokenData` reads its numbers once, as decimals (see ``checks.require_decimal``); `Law` takes the data and a kernel.
Firing is strict and ties have mass, so the law decides every tie exactly.  One number alone can be irrational: the
gain R of the marked token, a power of n.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product, starmap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnsep.arrays import common_namespace, given_namespace, require_real_dtype, to_numpy
from attnsep.attention.kernels import PAIR, Kernel, require_kernel
from attnsep.checks import (
    LARGEST_EXPONENT,
    require_choice,
    require_decimal,
    require_instance,
    require_integer,
    require_items,
    require_shape,
    require_size,
    text_of,
)
from attnsep.kinds import Array, Namespace, Number
from attnsep.paper import gains as exact_gains
from attnsep.paper.gains import Gain
from attnsep.probability import sign_sums


class Scaled:
    """What all self-attention data have in common, given n, d, c and gap: entries are multiples of √log n."""

    n: int
    d: int
    c: Fraction
    gap: Fraction

    @property
    def b(self) -> Fraction:
        """Strength 1 − c of a token's own class."""
        return 1 - self.c

    @property
    def log_n(self) -> float:
        """log n (natural)."""
        return math.log(self.n)

    @property
    def tau(self) -> float:
        """Threshold τ = (c + gap)√log n."""
        return float(self.c + self.gap) * math.sqrt(self.log_n)

    def X(self, xp: Namespace | None = None, dtype: Any = None) -> Array:
        """Return the weight matrix X, all ones.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.
        dtype : dtype, optional
            Real floating dtype of the result; left out, float64.

        Returns
        -------
        array, shape (d, d)
            1_d 1_dᵀ.

        Notes
        -----
        Every score is then the product of two row sums of A.  Completed.  Claim: all-ones-scores.

        Examples
        --------
        >>> TokenData(n=2, d=3, a=0, c="0.5").X(np)[0]
        array([1., 1., 1.])
        """
        xp = given_namespace(xp)
        require_size(d=self.d, width=self.d)
        return xp.ones((self.d, self.d), dtype=require_real_dtype(xp, dtype))


class Strengths(NamedTuple):
    """a, b, c and gap in one unit: only their ratios matter to the law."""

    a: int
    b: int
    c: int
    gap: int


@dataclass(frozen=True, kw_only=True)
class TokenData(Scaled):
    """The tokens of one prompt, one of them marked: D_0 where its mark a is weak, D_1 where it is strong.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2 and (d − 2)t for a whole number t ≥ 1.  Left out if `class_sizes` are given.
    d : int
        Width of the tokens, at least 3.  Left out if `class_sizes` are given.
    a : int, float, Fraction or str
        Strength of the marked token, finite and at least 0.
    c : int, float, Fraction or str
        Strength of the constant last column, strictly between 0 and 1.
    marked : int
        Index j* of the marked token, counted from 0; with `class_sizes` one of the first d − 2 tokens.
    gap : int, float, Fraction or str
        The threshold is τ = (c + gap)√log n; at least 0.
    class_sizes : sequence of int, optional
        Ragged classes: t_1, …, t_{d−2} tokens, each at least 1.  Left out, every class has t tokens.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    a, c and gap are kept as exact Fractions, floats as the decimals that they print: ties with τ are real and depend
    on it.  Tokens come in rounds: one of every class, then one of every class that has two, and so on.
    Source: section 6 (τ), n = (d − 2)t; the matrix is completed, ragged classes are an extension.
    Definitions: def-token-data, def-ragged-data.

    Examples
    --------
    >>> data = TokenData(n=6, d=5, a=0.7, c="0.5", marked=4)
    >>> data.t, data.b, data.marked_class, data.tau == 0.6 * math.sqrt(math.log(6))
    (2, Fraction(1, 2), 1, True)
    >>> data = TokenData(class_sizes=(3, 1, 1), a=0, c="0.5")
    >>> data.n, data.d, data.concentration
    (5, 5, Fraction(11, 25))
    """

    n: int = None  # type: ignore[assignment]
    d: int = None  # type: ignore[assignment]
    a: Fraction
    c: Fraction
    marked: int = 0
    gap: Fraction = Fraction(1, 10)
    class_sizes: tuple[int, ...] | None = None

    if TYPE_CHECKING:  # what is taken; the fields say what is kept

        def __init__(
            self,
            *,
            n: int | None = None,
            d: int | None = None,
            a: Number,
            c: Number,
            marked: int = 0,
            gap: Number = Fraction(1, 10),
            class_sizes: Sequence[int] | None = None,
        ) -> None: ...

    def __post_init__(self):
        sizes = self.class_sizes
        exact = _of_equal_classes(self.n, self.d) if sizes is None else _of_ragged_classes(self.n, self.d, sizes)
        exact |= {name: require_decimal(name, getattr(self, name)) for name in ("a", "c", "gap")}
        exact["marked"] = require_integer("marked", self.marked, least=0)
        if not 0 < exact["c"] < 1:
            raise ValueError(f"c = {text_of(self.c)}: must lie strictly between 0 and 1")
        if exact["marked"] >= exact["n"]:
            raise ValueError(f"marked = {self.marked}: must be below n = {exact['n']}")
        if sizes is not None and exact["marked"] >= exact["d"] - 2:
            raise ValueError(f"marked = {self.marked}: must be below {exact['d'] - 2}, the number of class_sizes")
        for name, value in exact.items():
            object.__setattr__(self, name, value)

    @property
    def t(self) -> int:
        """Copies of every class, t in n = (d − 2)t; a ValueError where classes have different sizes."""
        if self.class_sizes is not None and min(self.class_sizes) < max(self.class_sizes):
            raise ValueError(f"class_sizes = {text_of(self.class_sizes)}: differ, so they have no common t")
        return self.n // (self.d - 2)

    @property
    def marked_class(self) -> int:
        """Class of the marked token, counted from 0; in formulas it is k* = marked_class + 2, its column from 1 on."""
        return self.marked % (self.d - 2)

    @cached_property
    def strengths(self) -> Strengths:
        """The `Strengths` as whole numbers, with which the law is computed ten times as fast as with Fractions."""
        exact = self.a, self.b, self.c, self.gap
        unit = math.lcm(*(x.denominator for x in exact))
        return Strengths(*(x.numerator * (unit // x.denominator) for x in exact))

    @property
    def concentration(self) -> Fraction:
        """Σ_k (t_k/n)², which is 1/(d − 2) for equal classes and 1 if one class has all tokens."""
        if self.class_sizes is None:
            return Fraction(1, self.d - 2)
        return Fraction(sum(size**2 for size in self.class_sizes), self.n**2)

    def classes(self, xp: Namespace | None = None) -> Array:
        """Return every token's class, counted from 0.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.

        Returns
        -------
        array, shape (n,)
            Of equal classes, token i has class i mod (d − 2).

        Examples
        --------
        >>> TokenData(n=6, d=5, a=0, c="0.5").classes(np)
        array([0, 1, 2, 0, 1, 2])
        >>> TokenData(class_sizes=(3, 1, 2), a=0, c="0.5").classes(np)
        array([0, 1, 2, 0, 2, 0])
        """
        xp = given_namespace(xp)
        require_size(n=self.n)
        if self.class_sizes is None:
            return xp.arange(self.n) % (self.d - 2)
        classes = np.repeat(np.arange(self.d - 2), self.class_sizes)
        rounds = np.concatenate([np.arange(size) for size in self.class_sizes])
        return xp.asarray(classes[np.argsort(rounds, stable=True)])

    def matrix(self, xp: Namespace | None = None, dtype: Any = None) -> Array:
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
        First column a√L at the marked token and 0 elsewhere; then b√L in the column of the token's class, for equal
        classes t stacked copies of b√L · I; last column c√L, with L = log n.  The d − 2 different rows are made once.
        Completed.  Definition: def-token-data.

        Examples
        --------
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
        rows = xp.concat([first, own, float(self.c) * root * ones], axis=1)
        A = xp.take(rows, self.classes(xp), axis=0)
        A[self.marked, 0] = float(self.a) * root
        return A


def _of_equal_classes(n, d):
    """Return n and d as whole numbers, n a multiple of d − 2."""
    exact = {"n": require_integer("n", n, least=2), "d": require_integer("d", d, least=3)}
    width = exact["d"] - 2
    if exact["n"] % width:
        raise ValueError(f"n = {n}, d = {d}: n must be (d - 2)t, a multiple of {width}")
    return exact


def _of_ragged_classes(n, d, class_sizes):
    """Return the class sizes, and n and d that follow from them."""
    sizes = tuple(require_integer("class_sizes", size, least=1) for size in require_items("class_sizes", class_sizes))
    if sum(sizes) < 2:
        raise ValueError(f"class_sizes = {class_sizes!r}: must have at least 2 tokens in all")
    exact = {"class_sizes": sizes, "n": sum(sizes), "d": len(sizes) + 2}
    for name, given in (("n", n), ("d", d)):
        if given is not None and given != exact[name]:
            raise ValueError(f"{name} = {text_of(given)}: must be {exact[name]} with these class_sizes, or left out")
    return exact


KERNELS = PAIR


MOST_WIDTH = 10**9  # where every class has a sign of its own


# The law of a row


class Signs(NamedTuple):
    """The signs of a column that stand alone: y_1, y_{k*} and y_d, each 1 or -1."""

    first: int
    own: int
    last: int


PATTERNS = tuple(starmap(Signs, product((1, -1), repeat=3)))
ALL_PLUS = PATTERNS[0]


def shortfall(data, signs, *, total=0, marked=0, own=0):
    """What b Σ_{k≠k*} v_k y_k must exceed so that a row of attention exceeds the threshold: the law of this book.

    Parameters
    ----------
    data : TokenData, Strengths, or anything with a, b, c and gap
        Numbers, or arrays that broadcast.
    signs : Signs
        y_1, y_{k*} and y_d.
    total, marked, own : number or array
        What the row weighs in all, its weight of the marked token, and of the marked token's whole class: all in one
        unit, that of the weights v_k of the other classes.

    Returns
    -------
    number or array
        G·total − a·marked·y_1 − b·own·y_{k*} with G = gap + c(1 − y_d).

    Notes
    -----
    A row's output meets a column in √L (a·marked·y_1 + b Σ_k v_k y_k + c·total·y_d), and must exceed τ·total.  The
    formula is linear in the three weights.  In units of an ordinary token's weight, where the row sees N tokens, t of
    the marked token's class, they are R + N − 1, R and R + t − 1 with the gain R of the marked token.  So a row exceeds
    τ if and only if b Σ_{k≠k*} t_k y_k > G(N−1) − b(t−1)y_{k*} + R(G − a y_1 − b y_{k*}).  A tie does not fire.
    Completed.  Claims: column-threshold, column-ties, ragged-law.

    Examples
    --------
    >>> data = TokenData(n=4, d=4, a=1, c="0.5")
    >>> shortfall(data, Signs(1, 1, 1), total=3, own=1), shortfall(data, Signs(1, 1, 1), total=1, marked=1, own=1)
    (Fraction(-1, 5), Fraction(-7, 5))
    """
    g = data.gap + data.c * (1 - signs.last)
    return g * total - data.a * marked * signs.first - data.b * own * signs.own


class TokenValue(NamedTuple):
    """The entries of one attention output: first, own class of the marked token, each other class, last."""

    first: float
    own: float
    others: float
    last: float

    def meets(self, signs: Signs, others: Any) -> Any:
        """Return ⟨o, y⟩ for the signs that stand alone and the sum, or an array of sums, of all others."""
        return self.first * signs.first + self.own * signs.own + self.others * others + self.last * signs.last


def output(data, *, total, marked, own, others):
    """Attention output of a row with these weights.

    Parameters
    ----------
    data : TokenData
        The data.
    total, marked, own : float
        As in `shortfall`; total is 1 where attention is normalised.
    others : float
        Weight of each other class.

    Returns
    -------
    TokenValue
        √L (a·marked; b·own at k*, b·others at each other class; c·total), L = log n.

    Examples
    --------
    >>> data = TokenData(n=6, d=5, a=0, c="0.5")
    >>> [round(x / math.sqrt(math.log(6)), 12) for x in output(data, total=1, marked=1 / 6, own=1 / 3, others=1 / 3)]
    [0.0, 0.166666666667, 0.166666666667, 0.5]
    """
    root, a, b, c = math.sqrt(data.log_n), float(data.a), float(data.b), float(data.c)
    return TokenValue(root * (a * marked), root * (b * own), root * (b * others), root * (c * total))


class Visible(NamedTuple):
    """The tokens that a row sees: all, those of the marked token's class, and (size, count) of other classes."""

    tokens: int
    own: int
    others: tuple[tuple[int, int], ...]

    @property
    def unit(self) -> int:
        """The greatest number that divides the sizes of all other classes."""
        return math.gcd(*(size for size, _ in self.others))


class TokenWeights(NamedTuple):
    """Weights of the marked token in its own row (p) and in every other row (q), and 1 − p and 1 − q."""

    p: float
    q: float
    not_p: float
    not_q: float


def weights(n, a, kernel="softmax", *, d=None):
    """Weight of the marked token, which depends on n and a alone, for n far beyond any matrix.

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
    R/(R + n − 1), for top-k R/(R + k_top − 1): softmax p = 1/(1+(n−1)n^{−βa(1+a)}), q = 1/(1+(n−1)n^{−βa}), linear
    p = q = (1+a)/(n+a).
    Source: Lemma D.2 (completed).  Claims: lemma-d-2-weights, linear-rows-equal, golden-ratio-law, kernel-weights.

    Examples
    --------
    >>> weights(4, 1)[:2] == (16 / 19, 4 / 7), weights(4, 1, "linear").p
    (True, 0.4)
    """
    n = require_integer("n", n, least=2)
    return _weights(exact_gains.gains(n, a, kernel, d=d), _visible_tokens(n, kernel))


def _weights(gains, tokens):
    (p, not_p), (q, not_q) = (R.shares(tokens - 1) if tokens > 1 else (1.0, 0.0) for R in gains)
    return TokenWeights(p, q, not_p, not_q)


def _visible_tokens(n, kernel):
    """Return how many tokens can have a weight above 0: k for top-k, else all."""
    kernel = require_kernel(kernel)
    if kernel.name != "topk":
        return n
    if (k := kernel.k) > n:
        raise ValueError(f"kernel = {str(kernel)!r}: k must be at most n = {n}")
    return k


def sum_floor(data, visible, gains, signs):
    """Floor of what Σ_{k≠k*} t_k y_k must exceed in rows that see these tokens, in units of the sizes.

    Parameters
    ----------
    data : TokenData
        Where a, b, c and the gap come from.
    visible : Visible
        What the rows see.
    gains : tuple of gains
        Gains R of the two kinds of row, as from ``gains.gains``.
    signs : Signs
        y_1, y_{k*} and y_d.

    Returns
    -------
    int
        As `Law.floor`.

    Examples
    --------
    >>> law = Law(TokenData(n=4, d=4, a=1, c="0.5"))
    >>> sum_floor(law.data, law.visible, law.gains, Signs(-1, -1, -1))
    1
    """
    strengths = data.strengths
    level = shortfall(strengths, signs, total=visible.tokens - 1, own=visible.own - 1)
    slope = shortfall(strengths, signs, total=1, marked=1, own=1)
    scale = strengths.b * visible.unit
    most = sum(size // visible.unit * count for size, count in visible.others)
    shift = Fraction(level, scale) + most
    return exact_gains.lowest_floor(shift, Fraction(slope, scale), gains, 2 * most) - most


@dataclass(frozen=True)
class Law:
    """What one kernel makes of token data, exactly: weights, outputs, one random column, the network.

    Parameters
    ----------
    data : TokenData
        The data; for top-k the first token must be the marked one.
    kernel : Kernel or str
        As in ``gains.gains``.

    Attributes
    ----------
    gains : tuple
        The gains R in the marked token's own row, and in every other row.
    visible : Visible
        What every row sees: the k largest scores for top-k, ties to the lowest index, else all tokens.

    Raises
    ------
    ValueError, TypeError
        If the kernel is unknown or has no gain, or top-k keeps more than n tokens or meets another marked token.

    Examples
    --------
    >>> law = Law(TokenData(n=1024, d=258, a="0.7", c="0.5"))
    >>> law.weights().p.__round__(6), law.column_probability().__round__(6), law.fires(10).__round__(6)
    (0.788842, 0.250001, 0.943687)
    >>> Law(TokenData(n=8, d=6, a=1, c="0.5"), "topk:6").visible
    Visible(tokens=6, own=2, others=((2, 1), (1, 2)))
    """

    data: TokenData
    kernel: Kernel | str = "softmax"
    gains: tuple[Gain, Gain] = field(init=False, repr=False, compare=False)
    visible: Visible = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        data = require_instance("data", self.data, TokenData)
        gains = exact_gains.gains(data.n, data.a, self.kernel, d=data.d)
        tokens = _visible_tokens(data.n, self.kernel)
        if tokens < data.n and data.marked:
            raise ValueError(
                f"kernel = {str(self.kernel)!r}, marked = {data.marked}: the mark must be 0 for top-k, which breaks "
                "ties by position"
            )
        object.__setattr__(self, "gains", gains)
        object.__setattr__(self, "visible", _visible(data, tokens))

    def weights(self) -> TokenWeights:
        """Return the `TokenWeights` p, q, 1 − p and 1 − q; see `weights`."""
        return _weights(self.gains, self.visible.tokens)

    def values(self) -> tuple[TokenValue, ...]:
        """Attention outputs in closed form: every row is one of two.

        Returns
        -------
        tuple of TokenValue
            The marked token's row, and every other row.

        Raises
        ------
        ValueError
            If the rows have more than four different entries, since the other classes differ, or the kernel is top-k.

        Notes
        -----
        o_j = √L (a w; b(w + (t−1)r) at k*, b t r at each other class; c), r = (1−w)/(n−1), L = log n.
        Completed.  Claim: values-in-closed-form.

        Examples
        --------
        >>> law = Law(TokenData(n=6, d=5, a=0, c="0.5"))
        >>> [round(x / math.sqrt(math.log(6)), 12) for x in law.values()[0]]
        [0.0, 0.166666666667, 0.166666666667, 0.5]
        """
        (size, _), *more = self.visible.others
        if more or require_kernel(self.kernel).name == "topk":
            raise ValueError(f"kernel = {str(self.kernel)!r}: has no closed form of four entries; use attention.values")
        p, q, not_p, not_q = self.weights()
        others = self.visible.tokens - 1
        return tuple(
            output(
                self.data,
                total=1,
                marked=w,
                own=w + rest * ((self.visible.own - 1) / others),
                others=rest * (size / others),
            )
            for w, rest in ((p, not_p), (q, not_q))
        )

    # One random column

    def floor(self, signs: Signs) -> int:
        """Floor of what Σ_{k≠k*} t_k y_k must exceed so that some row exceeds the threshold, in units of the sizes.

        Parameters
        ----------
        signs : Signs
            y_1, y_{k*} and y_d.

        Returns
        -------
        int
            From −N − 1 (always) to N (never), where N is the largest value of the sum.  The sum and the floor are
            divided by ``visible.unit``, t for equal classes.

        Notes
        -----
        `shortfall`/b, which is linear in the gain R: of the two kinds of row the one with the smaller value decides.
        The sum is a whole number of units, so the floor is enough.

        Examples
        --------
        >>> law = Law(TokenData(n=4, d=4, a=1, c="0.5"))
        >>> [law.floor(Signs(*signs)) for signs in ((1, 1, 1), (1, -1, 1), (-1, -1, -1))]
        [-2, -2, 1]
        """
        return sum_floor(self.data, self.visible, self.gains, signs)

    def least_plus(self, signs: Signs) -> int:
        """Smallest number of plus signs among the other classes with which some row exceeds the threshold.

        Parameters
        ----------
        signs : Signs
            y_1, y_{k*} and y_d.

        Returns
        -------
        int
            From 0 (always) to d − 2 (never, since there are d − 3 such signs).

        Raises
        ------
        ValueError
            If the other classes have different sizes, so that their number does not decide.

        Notes
        -----
        S = 2 plus − (d − 3) must exceed `floor`.

        Examples
        --------
        >>> law = Law(TokenData(n=53, d=55, a=0.75, c=0.35))
        >>> law.least_plus(Signs(1, -1, 1))  # S = 8, that is 30 of 52 signs, ties whatever the irrational R
        31
        """
        (_, count), *more = self.visible.others
        if more or count != self.data.d - 3:
            raise ValueError(f"kernel = {str(self.kernel)!r}: the other classes must be equal")
        return (self.floor(signs) + count) // 2 + 1

    def column_probability(self) -> float:
        """Exact probability π that one random column makes some row exceed the threshold.

        Returns
        -------
        float
            π = P[⟨o_j, y⟩ > τ for some row j], y ∈ {±1}^d uniform, to 12 digits also where it is tiny.

        Raises
        ------
        ValueError
            If d is above 10^9, or there are many different sizes: the cost is the product of their counts plus one,
            without the largest, and must be at most 20000.

        Notes
        -----
        ⟨o_j, y⟩/√L = a w y_1 + b Σ_k v_k y_k + c y_d with the weights v_k of the classes: eight patterns of
        (y_1, y_{k*}, y_d), and for each the tail of a sum of signs, a binomial if the other classes are equal.
        Completed.  Claims: column-law, column-ties, ragged-law, kernel-law-exact.

        Examples
        --------
        >>> law(4, 4, 1, "0.5").column_probability(), law(6, 5, 0, "0.5").column_probability()
        (0.375, 0.25)
        """
        if self.data.d > MOST_WIDTH:
            raise ValueError(f"d = {self.data.d}: must be at most 10^9")
        return _column_probability(self)

    def fires(self, m: int) -> float:
        """Exact probability that the network fires on the data.

        Parameters
        ----------
        m : int
            Number of sign columns, at least 1.

        Returns
        -------
        float
            1 − (1 − π)^m with π from `column_probability`, to 12 digits also where it is tiny.

        Notes
        -----
        Source: section 1.1 (completed).  Claims: main-theorem-worked-instance, column-law-simulated.

        Examples
        --------
        >>> f"{law(1024, 258, 0.7, 0.5).fires(10):.9f}", f"{law(1024, 258, 0.05, 0.5).fires(10):.9g}"
        ('0.943686969', '0.00346450383')
        """
        return sign_sums.fires_probability(self.column_probability(), m)

    def fires_on(self, y: Array) -> bool:
        """Whether the network fires for these signs, with ties decided exactly.

        Parameters
        ----------
        y : array, shape (d, m)
            Signs, 1 or -1, as from ``network.signs``; they are copied to the host.

        Returns
        -------
        bool

        Raises
        ------
        ValueError
            If y has not d rows or an entry that is no sign.

        Notes
        -----
        Completed.  Claim: column-threshold.

        Examples
        --------
        >>> law = Law(TokenData(n=4, d=4, a=1, c=0.5))
        >>> law.fires_on(np.array([[1], [1], [1], [1]])), law.fires_on(np.array([[-1], [1], [1], [1]]))
        (True, False)
        """
        xp = common_namespace(y=y)
        require_shape("y", y, (self.data.d, "m"))
        if not bool(xp.all((y == 1) | (y == -1))):
            raise ValueError("y: every entry must be 1 or -1")
        y = to_numpy(y)
        alone = starmap(Signs, y[[0, self.data.marked_class + 1, -1], :].T.tolist())
        floors = {signs: self.floor(signs) for signs in PATTERNS}
        return any(total > floors[signs] for signs, total in zip(alone, self._totals(y), strict=True))

    def _totals(self, y):
        """Return Σ_{k≠k*} t_k y_k of every column, in units of the sizes: whole numbers of any length."""
        sizes, own = _class_sizes(self.data, self.visible.tokens), self.data.marked_class
        totals = [0] * y.shape[1]
        for size, _ in self.visible.others:
            rows = [False, *(found == size and k != own for k, found in enumerate(sizes)), False]
            # As floats, since an int8 overflows at d = 131.
            sums = np.sum(y, axis=0, dtype=np.float64, where=np.array(rows)[:, None])
            size //= self.visible.unit
            totals = [total + size * int(part) for total, part in zip(totals, sums, strict=True)]
        return totals

    # Bounds

    def column_bounds(self, by: str = "theorem") -> tuple[float, float]:
        """What is proved of π: by the theorem, from the mark's a w against the gap, or from its largest part (a + b)w.

        Parameters
        ----------
        by : str
            ``theorem``, or ``mark`` for what the law of the attentions proves.

        Returns
        -------
        tuple of float
            (low, high) with low ≤ π ≤ high.  theorem: low = 1/8 if a w > gap in some row, else 0; high = the sum of
            exp(−(gap − a w)²/(2b²Q_w)) over the distinct rows if all a w < gap, else 1, and never above 1.
            mark: the same with 1/16, (a + b)w in place of a w, and ρ² in place of Q_w.

        Raises
        ------
        ValueError
            If `by` is unknown.

        Notes
        -----
        Q_w is the sum of the squared weights of the classes: (w + (t−1)r)² + Σ_{k≠k*} (t_k r)², r = (1−w)/(n−1) where
        all tokens are seen.  ρ² is Q_w without the marked token, where t − 1 tokens are left of its class:
        ρ² ≤ (n/(n−1))²/(d − 2) for equal classes.  Softmax has two distinct rows if a > 0, linear attention one.
        Theorem: completed.  Claims: main-theorem-softmax-fires, main-theorem-softmax-silent,
        main-theorem-linear-silent, ragged-silent.  Mark: extension.  Claims: mark-decides-fires, mark-decides-silent.

        Examples
        --------
        >>> law(1024, 258, 0.7, 0.5).column_bounds(), law(512, 130, 0.8, 0.5, "sparsemax").column_bounds("mark")
        ((0.125, 1.0), (0.0625, 1.0))
        >>> low, high = law(1024, 258, 0.05, 0.5).column_bounds()
        >>> low, round(high, 6)
        (0.0, 0.01204)
        """
        return _column_bounds(self, require_choice("by", by, ("theorem", "mark")) == "mark")

    def fires_bounds(self, m: int, by: str = "theorem") -> tuple[float, float]:
        """What is proved of the probability that the network fires.

        Parameters
        ----------
        m : int
            Number of sign columns, at least 1.
        by : str
            As in `column_bounds`.

        Returns
        -------
        tuple of float
            (1 − (1 − low)^m, m high), the second never above 1, with low and high from `column_bounds`.

        Examples
        --------
        >>> law(1024, 258, 0.7, 0.5).fires_bounds(1)
        (0.125, 1.0)
        """
        low, high = self.column_bounds(by)
        return sign_sums.fires_probability(low, m), min(1.0, m * high)


def law(n, d, a, c, kernel="softmax", gap=0.1):
    """The law of data with equal classes, from plain numbers: short for ``Law(TokenData(…), kernel)``.

    Parameters
    ----------
    n, d, a, c, gap
        As in `TokenData`.
    kernel : Kernel or str
        As in ``gains.gains``.

    Returns
    -------
    Law

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks the rules of `TokenData` or `Law`.

    Examples
    --------
    >>> law(4, 4, 1, "0.5") == Law(TokenData(n=4, d=4, a=1, c="0.5"), "softmax")
    True
    """
    return Law(TokenData(n=n, d=d, a=a, c=c, gap=gap), kernel)


def _visible(data, tokens):
    """Return how many of the first tokens are in the marked token's class, and in the others."""
    if data.class_sizes is None:  # there may be 10^9 classes
        rounds, rest = divmod(tokens, data.d - 2)
        own, counts = rounds + (data.marked_class < rest), Counter({rounds + 1: rest, rounds: data.d - 2 - rest})
    else:
        sizes = _class_sizes(data, tokens)
        own, counts = sizes[data.marked_class], Counter(sizes)
    counts[own] -= 1
    others = tuple((size, count) for size, count in counts.items() if size and count)
    return Visible(tokens, own, others or ((own, 0),))


def _class_sizes(data, tokens):
    """Return how many of the first tokens every class has."""
    if data.class_sizes is None:
        rounds, rest = divmod(tokens, data.d - 2)
        return [rounds + (k < rest) for k in range(data.d - 2)]
    if tokens == data.n:
        return list(data.class_sizes)
    return np.bincount(data.classes(np)[:tokens], minlength=data.d - 2).tolist()


@lru_cache(maxsize=10_000)  # a search for sizes asks for the same columns again for every δ
def _column_probability(law):
    unit = law.visible.unit
    groups = [(size // unit, count) for size, count in law.visible.others]
    return math.fsum(sign_sums.column_probability(groups, law.floor(signs)) for signs in PATTERNS) / 8


@lru_cache(maxsize=10_000)
def _column_bounds(law, with_own):
    data, visible = law.data, law.visible
    # Whether a w, or (a + b)w, exceeds the gap in some row: linear in R, and decided without rounding.
    level = shortfall(data.strengths, ALL_PLUS, total=visible.tokens - 1)
    slope = shortfall(data.strengths, ALL_PLUS, total=1, marked=1, own=int(with_own))
    if exact_gains.lowest_floor(level, slope, law.gains, 0) < 0:
        return (0.0625 if with_own else 0.125), 1.0
    p, q, not_p, not_q = law.weights()
    rows = ((p, not_p), (q, not_q)) if law.gains[0] != law.gains[1] else ((p, not_p),)
    return 0.0, min(1.0, math.fsum(_row_bound(data, visible, *row, with_own) for row in rows))


def _row_bound(data, visible, w, rest, with_own):
    """Return Hoeffding's bound of one row, whose marked token has the weight w and all others share the rest."""
    r, b = rest / max(visible.tokens - 1, 1), float(data.b)
    own = (visible.own - 1) * r + (0.0 if with_own else w)
    norm_squared = own**2 + sum(count * (size * r) ** 2 for size, count in visible.others)
    slack = float(data.gap) - float(data.a + data.b if with_own else data.a) * w
    # Where a double takes the norm for 0, the least double is above it, and a larger norm makes a weaker bound.
    return sign_sums.hoeffding(slack, b**2 * norm_squared or 5e-324) if slack > 0 else 1.0


# Two data sets, two attentions


class TokenErrors(NamedTuple):
    """The four ways in which a pair of networks can be wrong about D_0 and D_1, as probabilities or bounds of them."""

    softmax_silent_on_d1: float
    softmax_fires_on_d0: float
    linear_fires_on_d0: float
    linear_fires_on_d1: float


def errors(n, d, m, a0, a1, c, gap=0.1, *, by="exact"):
    """The four errors of the separation of D_0 and D_1.

    Parameters
    ----------
    n, d, c, gap
        As in `TokenData`.
    m : int
        Number of sign columns, at least 1.
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
        If a parameter breaks the rules of `Law` or `by` is unknown.

    Notes
    -----
    Source: section 1.1 (constants completed).  Claims: main-theorem-sizes, main-theorem-worked-instance.

    Examples
    --------
    >>> [*errors(4, 4, 1, 0, 1, "0.5")]
    [0.625, 0.125, 0.125, 0.1875]
    """
    require_choice("by", by, ("exact", "bound"))
    strengths = require_decimal("a0", a0), require_decimal("a1", a1)
    d0, d1 = (TokenData(n=n, d=d, a=a, c=c, gap=gap) for a in strengths)
    silent = sign_sums.silent_probability(_column_at_least(Law(d1, "softmax"), by), m)
    laws = Law(d0, "softmax"), Law(d0, "linear"), Law(d1, "linear")
    return TokenErrors(silent, *(_fires_at_most(law, m, by) for law in laws))


def _column_at_least(law, by):
    return law.column_probability() if by == "exact" else law.column_bounds()[0]


def _fires_at_most(law, m, by):
    return law.fires(m) if by == "exact" else law.fires_bounds(m)[1]


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
    limit = sign_sums.error_limit(delta)
    require_choice("by", by, ("exact", "bound"))
    a0, a1, c, gap = (require_decimal(*pair) for pair in (("a0", a0), ("a1", a1), ("c", c), ("gap", gap)))
    t = require_integer("t", t, least=1, most=10 ** (LARGEST_EXPONENT + 1) // MOST_WIDTH)  # no n is too large then

    def data(d, a):
        return TokenData(n=(d - 2) * t, d=d, a=a, c=c, gap=gap)

    def columns(d):
        return sign_sums.fewest_columns(_column_at_least(Law(data(d, a1), "softmax"), by), limit)

    def suffice(d, m):
        # Linear attention on D_1 comes first: as a rule it is what fails, so the others are rarely computed.
        others = ((a1, "linear"), (a0, "linear"), (a0, "softmax"))
        return all(_fires_at_most(Law(data(d, a), kernel), m, by) <= limit for a, kernel in others)

    widths = range(4, require_integer("d_max", d_max, least=4, most=MOST_WIDTH) + 1)
    missing = f"d_max = {d_max}: no d up to it has all four errors at most delta = {delta} (by = {by!r})"
    d, m = sign_sums.smallest_size(widths, columns, suffice, missing)
    return (d - 2) * t, d, m
