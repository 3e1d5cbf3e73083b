"""Token data whose classes have different sizes: n ≠ (d − 2)t is allowed."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from attnsep.arrays import given_namespace
from attnsep.attention.kernels import require_pair
from attnsep.checks import require_decimal, require_instance, require_integer, require_items, require_size, text_of
from attnsep.paper import gains, tokens
from attnsep.paper.tokens import Scaled
from attnsep.probability import sign_sums


@dataclass(frozen=True, kw_only=True)
class RaggedData(Scaled):
    """Token data with t_k tokens in class k.

    Parameters
    ----------
    class_sizes : sequence of int
        t_1, …, t_{d−2}: at least one class, each with at least one token, at least 2 tokens in all.
    a : int, float, Fraction or str
        Strength of the marked token, at least 0.
    c : int, float, Fraction or str
        Strength of the constant last column, strictly between 0 and 1.
    marked_class : int
        Class k* of the marked token, counted from 0; its first token is marked.
    gap : int, float, Fraction or str
        The threshold is τ = (c + gap)√log n; at least 0.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Equal sizes t give the matrix of ``TokenData`` up to the order of the tokens.
    Extension.  Definition: def-ragged-data.

    Examples
    --------
    >>> data = RaggedData(class_sizes=(3, 1, 1), a=0, c="0.5")
    >>> data.n, data.d, data.concentration
    (5, 5, Fraction(11, 25))
    """

    class_sizes: tuple
    a: Fraction
    c: Fraction
    marked_class: int = 0
    gap: Fraction = Fraction(1, 10)

    def __post_init__(self):
        exact_values = {
            "class_sizes": tuple(
                require_integer("class_sizes", size, least=1) for size in require_items("class_sizes", self.class_sizes)
            ),
            "a": require_decimal("a", self.a),
            "c": require_decimal("c", self.c),
            "marked_class": require_integer("marked_class", self.marked_class, least=0),
            "gap": require_decimal("gap", self.gap),
        }
        if sum(exact_values["class_sizes"]) < 2:
            raise ValueError(f"class_sizes = {self.class_sizes!r}: must have at least 2 tokens in all")
        if not 0 < exact_values["c"] < 1:
            raise ValueError(f"c = {text_of(self.c)}: must lie strictly between 0 and 1")
        if self.marked_class >= len(exact_values["class_sizes"]):
            classes = len(exact_values["class_sizes"])
            raise ValueError(f"marked_class = {self.marked_class}: must be below {classes} classes")
        for name, value in exact_values.items():
            object.__setattr__(self, name, value)

    @property
    def n(self):
        """Number of tokens Σ t_k."""
        return sum(self.class_sizes)

    @property
    def d(self):
        """Width, the number of classes plus 2."""
        return len(self.class_sizes) + 2

    @property
    def concentration(self):
        """Σ_k (t_k/n)², which is 1/(d − 2) for equal classes and 1 if one class has all tokens."""
        return Fraction(sum(size**2 for size in self.class_sizes), self.n**2)

    @property
    def marked(self):
        """Index of the marked token, counted from 0; tokens are sorted by class."""
        return sum(self.class_sizes[: self.marked_class])

    def matrix(self, xp=None):
        """Return the tokens A, sorted by class.

        Parameters
        ----------
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.

        Returns
        -------
        array, shape (n, d)

        Examples
        --------
        >>> import numpy as np
        >>> data = RaggedData(class_sizes=(2, 1), a=2, c="0.25", marked_class=1)
        >>> (data.matrix(np) / math.sqrt(data.log_n)).round(12)
        array([[0.  , 0.75, 0.  , 0.25],
               [0.  , 0.75, 0.  , 0.25],
               [2.  , 0.  , 0.75, 0.25]])
        """
        xp = given_namespace(xp)
        require_size(n=self.n, d=self.d)
        root, b = math.sqrt(self.log_n), float(self.b)
        classes = xp.asarray([k for k, size in enumerate(self.class_sizes) for _ in range(size)])
        own = xp.astype(classes[:, None] == xp.arange(self.d - 2)[None, :], xp.float64)
        first, last = xp.zeros((self.n, 1), dtype=xp.float64), xp.ones((self.n, 1), dtype=xp.float64)
        A = root * xp.concat([first, b * own, float(self.c) * last], axis=1)
        A[self.marked, 0] = float(self.a) * root
        return A


def column_probability(data, kernel="softmax"):
    """Exact probability π that one random column makes some row exceed the threshold.

    Parameters
    ----------
    data : RaggedData
        With few different class sizes: the cost is the product of their numbers plus one, without the largest.
    kernel : str
        softmax or linear.

    Returns
    -------
    float
        To 12 digits, ties decided exactly.

    Raises
    ------
    ValueError
        If the kernel is unknown.

    Notes
    -----
    ``tokens.class_law`` with these sizes.  Extension.  Claims: ragged-law, ragged-softmax-fires.

    Examples
    --------
    >>> column_probability(RaggedData(class_sizes=[1] * 4, a=1, c="0.5")) == tokens.column_probability(4, 6, 1, "0.5")
    True
    """
    require_instance("data", data, RaggedData)
    return tokens.class_law(data, gains.gains(data.n, data.a, require_pair(kernel)), _seen(data))


def _seen(data):
    others = Counter(data.class_sizes)
    others[data.class_sizes[data.marked_class]] -= 1
    return tokens.Seen(data.n, data.class_sizes[data.marked_class], tuple(others.items()))


def fires_probability(data, m, kernel="softmax"):
    """Exact probability that the network with m columns fires on the data.

    Parameters
    ----------
    data : RaggedData
        As in `column_probability`.
    m : int
        Number of sign columns, at least 1.
    kernel : str
        softmax or linear.

    Returns
    -------
    float
        1 − (1 − π)^m.

    Examples
    --------
    >>> fires_probability(RaggedData(class_sizes=[1] * 4, a=1, c="0.5"), 1)
    0.375
    """
    return sign_sums.fires_probability(column_probability(data, kernel), m)


def column_bound(data, kernel="softmax"):
    """Hoeffding's bound of π while a w < gap in every row.

    Parameters
    ----------
    data : RaggedData
        Any class sizes.
    kernel : str
        softmax or linear.

    Returns
    -------
    float
        Σ_w exp(−(gap − a w)²/(2b²Q_w)) over the distinct rows, or 1 where some a w ≥ gap; never above 1.

    Raises
    ------
    ValueError
        If the kernel is unknown.

    Notes
    -----
    Q_w = (w + (t_{k*} − 1)r)² + r² Σ_{k≠k*} t_k², r = (1 − w)/(n − 1).  If Σ(t_k/n)² → 0 and w → 0, then Q_w → 0 and
    the bound vanishes.  Extension.  Claim: ragged-silent.

    Examples
    --------
    >>> round(column_bound(RaggedData(class_sizes=[4] * 256, a="0.05", c="0.5")), 6)
    0.01204
    """
    require_instance("data", data, RaggedData)
    rows, found = gains.gains(data.n, data.a, require_pair(kernel)), tokens.weights(data.n, data.a, kernel)
    return tokens.class_bound(data, rows, _seen(data), found)
