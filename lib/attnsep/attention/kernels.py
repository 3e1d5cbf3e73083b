"""Kernels: how a query's scores, or its row and the keys, become weights that sum to one.

A kernel is an object, such as ``Softmax(beta=2)`` or ``TopK(16)``, and its class is all that there is to say about it:
its name, its parameter with that one's rule, its weights, and a slow twin that follows the definition number by number.
Every function that takes a kernel takes also the text that stands for it, ``softmax:2`` or ``topk:16``.

A class derives from one of two, which say what its weights depend on:

- `OfScores`: on the scores alone.  It has ``weights(scores)``, and attends with whole rows of scores.
- `OfRows`: on the query's row and the keys, or on their places.  It has ``weights(q, k, positions)``.  `FeatureMap`
  is its kind with products of features.

Names with an underscore are called with what was checked: ``_twin``, which `reference` calls, and ``_attend``, which a
kernel defines that has a faster way to its outputs.  To add a kernel, see CONTRIBUTING.md.
"""

import dataclasses
import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from array_api_compat import device

from attnsep.arrays import common_namespace, quiet
from attnsep.attention import _streams
from attnsep.attention._rows import (
    above_threshold,
    below_largest,
    namespace_of,
    normalised,
    over_largest_size,
    row_sums,
    times,
    with_largest,
)
from attnsep.checks import (
    require_decimal,
    require_finite,
    require_floating,
    require_generator,
    require_integer,
    require_shape,
    text_of,
)
from attnsep.kinds import AnyArray, Number

KERNELS: dict[str, Any] = {}  # every class by its name, in the order of this module


PAIR = ("softmax", "linear")  # the two that the paper compares


HIGHEST = 10**19  # the power of this degree of any float between −1 and 1 is 0, and CuPy takes no integer above 2^64


MOST_DEGREE = 10**4  # of the slow twin


def _whole(least):
    """Return the rule of a parameter that is a whole number: how it is checked, and how read from a text."""
    return {"rule": partial(require_integer, least=least), "read": _read_whole}


def _decimal(least):
    """Return the rule of a parameter that is a number or a decimal string."""
    return {"rule": partial(require_decimal, least=least), "read": _read_decimal}


def _read_decimal(name, text):
    return text  # the rule itself takes decimal strings


def _read_whole(name, text):
    if not re.fullmatch(r"[+-]?[0-9]{1,300}", text):
        raise ValueError(f"{name} = {text!r}: must be a whole number")
    return int(text)


@dataclass(frozen=True, repr=False)
class Kernel:
    """How attention weighs the tokens.

    A class with a ``name`` in its first line can be written as text, and has at most one parameter.  Two kernels of
    one class with equal parameters are equal.  A class of your own needs no name to be used by `attend`.

    Attributes
    ----------
    name : str
        What texts call the class, such as ``topk``.
    scale_free : bool
        Whether a factor above 0 on all scores of a row changes none of its weights, or not which tokens have them.
    two_sided : bool
        Whether scores far below 0 weigh as much as those far above.
    can_cancel : bool
        Whether a row's scores can sum to 0, so that `attend` can report how near they come.
    by_place : bool
        Whether the weights depend on where a query and a key stand.
    random : bool
        Whether weights are drawn, from a generator that `attend` is given.
    """

    name = "kernel"
    scale_free = two_sided = can_cancel = by_place = random = False

    def __init_subclass__(cls, name=None, **options):
        super().__init_subclass__(**options)
        cls.name = name or cls.__name__  # a class made elsewhere has neither its parent's text nor its parent's gain
        if name is not None:
            KERNELS[name] = cls

    def __post_init__(self):
        for what in dataclasses.fields(self):
            if rule := what.metadata.get("rule"):
                object.__setattr__(self, what.name, rule(what.name, getattr(self, what.name)))

    def __str__(self):
        return self.name if self.parameter in (None, self._default()) else f"{self.name}:{self.parameter}"

    def __repr__(self):
        what = self._field()
        return f"{type(self).__name__}({f'{what.name}={self.parameter}' if what else ''})"

    @classmethod
    def _field(cls):
        return next(iter(dataclasses.fields(cls)), None)

    @classmethod
    def _default(cls):
        what = cls._field()
        return None if what is None or what.default is dataclasses.MISSING else what.default

    @property
    def scale(self) -> Fraction:
        """The factor that the kernel itself puts on all scores."""
        return Fraction(1)

    def _drawn(self, d, rng):
        """Return the kernel with what is drawn for queries of width d, where it is random."""
        return self

    @property
    def parameter(self) -> int | Fraction | None:
        """The kernel's number, if it has one, such as β of softmax, a degree, a number of features, k or a width."""
        what = self._field()
        return None if what is None else getattr(self, what.name)

    @classmethod
    def usage(cls) -> str:
        """Return how the class is written: its name, and the parameter after a colon.

        Examples
        --------
        >>> TopK.usage(), Softmax.usage(), Hard.usage()
        ('topk:k', 'softmax[:beta]', 'hard')
        """
        if (what := cls._field()) is None:
            return cls.name
        return f"{cls.name}:{what.name}" if cls._default() is None else f"{cls.name}[:{what.name}]"

    @staticmethod
    def parse(text: str) -> "Kernel":
        """Return the kernel that a text stands for.

        Parameters
        ----------
        text : str
            A name of `KERNELS`, with a colon and a number where the kernel has a parameter; ``softmax`` alone has
            β = 1.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError, TypeError
            If the text is no such kernel.

        Examples
        --------
        >>> Kernel.parse("softmax:2"), Kernel.parse("topk:16")
        (Softmax(beta=2), TopK(k=16))
        >>> Kernel.parse("topk:0")
        Traceback (most recent call last):
        ...
        ValueError: kernel = 'topk:0': k = 0: must be at least 1
        """
        if not isinstance(text, str):
            raise TypeError(f"kernel = {text_of(text)}: must be a kernel or a string, such as softmax or topk:16")
        return _parsed(text)


@lru_cache(maxsize=1000)  # the exact laws ask for the same few again and again
def _parsed(text):
    name, colon, number = text.partition(":")
    if name not in KERNELS:
        raise ValueError(f"kernel = {text!r}: must be one of {', '.join(usages())}")
    kernel = KERNELS[name]
    what = kernel._field()
    needs_number = what is not None and kernel._default() is None
    if (colon and what is None) or (needs_number and not colon):
        raise ValueError(f"kernel = {text!r}: must be {kernel.usage()}")
    if not colon:
        return kernel()
    try:
        return kernel(what.metadata["read"](what.name, number))
    except ValueError as error:
        raise ValueError(f"kernel = {text!r}: {error}") from None


def usages() -> list[str]:
    """Return how each kernel is written.

    Examples
    --------
    >>> usages()[:3]
    ['softmax[:beta]', 'linear', 'polynomial:degree']
    """
    return [kernel.usage() for kernel in KERNELS.values()]


def require_kernel(kernel: Kernel | str) -> Kernel:
    """Return a kernel, or the one that a text stands for, or raise an error.

    Parameters
    ----------
    kernel : Kernel or str
        As in `Kernel.parse`.

    Returns
    -------
    Kernel

    Raises
    ------
    ValueError, TypeError
        If it is no kernel.

    Notes
    -----
    Definition: def-kernels.

    Examples
    --------
    >>> require_kernel("topk:16") == require_kernel(TopK(16))
    True
    """
    return kernel if isinstance(kernel, Kernel) else Kernel.parse(kernel)


def require_pair(kernel):
    """Return the name if it is one of the two kernels that the paper compares, or raise a ValueError.

    Examples
    --------
    >>> require_pair(Softmax())
    'softmax'
    >>> require_pair("hard")
    Traceback (most recent call last):
    ...
    ValueError: kernel = 'hard': must be softmax or linear here
    """
    name = str(kernel) if isinstance(kernel, Kernel) else kernel
    if not isinstance(name, str) or name not in PAIR:
        raise ValueError(f"kernel = {text_of(name)}: must be softmax or linear here")
    return name


class OfScores(Kernel):
    """A kernel whose weights depend on the scores alone: ``weights(scores)`` of shape (..., n), as the scores."""

    def _twin(self, row):
        """Return the weights of one row, a list of Python numbers, by the definition."""
        raise ValueError(f"kernel = {str(self)!r}: has no slow twin")

    def _attend(self, xp, q, k, v, threads=None):
        """Return the outputs, and for a kernel that can cancel its smallest row sum relative to its terms."""
        return _streams.whole_rows(xp, q, k, v, self), None


class OfRows(Kernel):
    """A kernel whose weights depend on the query's row and the keys, or on their places.

    ``weights(q, k, positions=None)``, shape (rows, n), of q (rows, d) and k (n, d); `positions` are the places of the
    queries among the keys, where places count, and 0, 1, … if left out.
    """

    def _twin(self, q, k):
        """Return the rows of weights of lists of Python numbers, by the definition."""
        raise ValueError(f"kernel = {str(self)!r}: has no slow twin")

    def _attend(self, xp, q, k, v, threads=None):
        return _streams.rows_of_weights(xp, q, k, v, self), None


class FeatureMap(OfRows):
    """A kernel with weights in proportion to ⟨ψ(q), ψ(k_i)⟩, for a map ψ of rows: ``_features(xp, rows)``."""

    def weights(self, q, k, positions=None):
        """Return the weights, shape (rows, n), of q (rows, d) and k (n, d); places do not count."""
        xp = _require_rows(q, k)
        if self.random:
            raise ValueError(f"kernel = {str(self)!r}: q, k: the weights are random; attention.attend draws them")
        with quiet():
            unit = xp.eye(k.shape[0], dtype=k.dtype, device=device(k))
            return require_finite(xp, self._attend(xp, q, k, unit)[0], "q, k")

    def _attend(self, xp, q, k, v, threads=None):
        return _streams.linear(xp, self._features(xp, q), self._features(xp, k), v, self, threads)

    def _feature(self, x):
        """Return a number's feature, for the slow twin of a map that takes the entries one by one."""
        raise ValueError(f"kernel = {str(self)!r}: has no slow twin")

    def _twin(self, q, k):
        q, k = ([[self._feature(x) for x in row] for row in rows] for rows in (q, k))
        return [_shares([sum(x * y for x, y in zip(row, key, strict=True)) for key in k]) for row in q]


def _require_rows(q, k):
    xp = common_namespace(q=q, k=k)
    require_floating(xp, q=q, k=k)
    require_shape("q", q, ("rows", "d"))
    require_shape("k", k, ("n", q.shape[1]))
    if q.dtype != k.dtype:
        raise TypeError(f"q, k: dtypes {q.dtype}, {k.dtype}; use one")
    for name, array in (("q", q), ("k", k)):
        if min(array.shape) == 0:
            raise ValueError(f"{name}: shape {tuple(array.shape)}, must have at least one row and one column")
    return xp


def _shares(u):
    """Return the numbers over their sum; they keep their kind."""
    if (total := sum(u)) == 0:
        raise ValueError("scores: sum to 0 (alpha_lin = 0); the weights are undefined")
    return [x / total for x in u]


def _exp(score):
    try:
        return math.exp(score)
    except OverflowError:
        raise ValueError("scores: an exponential is too large for a double") from None


# Proportional to a function of the score


@dataclass(frozen=True, repr=False)
class Softmax(OfScores, name="softmax"):
    """Weights proportional to the exponentials of β times the scores.

    Parameters
    ----------
    beta : int, float, Fraction or str
        The inverse temperature β, at least 0.

    Notes
    -----
    f_exp = u_exp / ⟨u_exp, 1_n⟩ with u_exp = exp(β scores).  The paper has β = 1.  Source: section 3.3.
    """

    beta: Fraction = field(default=Fraction(1), metadata=_decimal(least=0))

    if TYPE_CHECKING:  # what is taken; the field says what is kept

        def __init__(self, beta: Number = 1) -> None: ...

    @property
    def scale(self) -> Fraction:
        """The factor on all scores, β."""
        return self.beta

    def weights(self, scores: AnyArray) -> AnyArray:
        """Return the weights of scores of shape (..., n); -inf masks a token.

        The largest score is subtracted first, which changes nothing (claim softmax-ignores-shifts) and avoids
        overflow.

        Examples
        --------
        >>> import numpy as np
        >>> Softmax(beta=2).weights(np.log([1.0, 3.0])).round(12)
        array([0.1, 0.9])
        """
        xp, largest = with_largest(scores)
        with quiet():  # a gap below the least number is −inf, whose exponential is right
            if self.beta == 1:
                u = xp.exp(scores - largest)
            else:  # of halves, so that β meets the true gap
                u = xp.exp(times(xp, scores / 2 - largest / 2, 2 * self.beta))
                u = xp.where(scores == -xp.inf, xp.zeros_like(u), u)  # 0 times −inf is no number
        return u / row_sums(xp, u)

    def _twin(self, row):
        u = [_exp(float(self.beta) * score) for score in row]
        if not any(u):
            raise ValueError("scores: all exponentials are too small for a double")
        return [entry / math.fsum(u) for entry in u]

    def _attend(self, xp, q, k, v, threads=None):
        return _streams.softmax(xp, q, k, v, threads), None  # q has the factor β


class Linear(OfScores, name="linear"):
    """Weights proportional to the scores themselves, with no feature map.

    Notes
    -----
    f_lin = u_lin / ⟨u_lin, 1_n⟩ with u_lin = scores.  Completed; the card names α only for softmax.
    Claims: lemma-4-1-linear-flat, lemma-4-1-linear-spike.
    """

    scale_free = can_cancel = True

    def weights(self, scores: AnyArray) -> AnyArray:
        """Return the weights of scores of shape (..., n), whose row sums are not zero within rounding.

        Examples
        --------
        >>> import numpy as np
        >>> Linear().weights(np.array([1.0, 3.0]))
        array([0.25, 0.75])
        """
        return normalised(namespace_of(scores), scores, "a row sums to 0 within rounding (alpha_lin = 0)")

    def _twin(self, row):
        return _shares(row)

    def _attend(self, xp, q, k, v, threads=None):
        return _streams.linear(xp, q, k, v, self, threads)


@dataclass(frozen=True, repr=False)
class Polynomial(OfScores, name="polynomial"):
    """Weights proportional to a power of the scores; with an odd degree entries can be negative.

    Parameters
    ----------
    degree : int
        At least 1.

    Notes
    -----
    score^degree over its row sum.  Extension.  Definition: def-kernels.
    """

    degree: int = field(metadata=_whole(least=1))
    scale_free = two_sided = True

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); the powers of no row may sum to zero within rounding.

        Each row is divided by its largest size first, so that no power overflows.

        Examples
        --------
        >>> import numpy as np
        >>> Polynomial(2).weights(np.array([1.0, 3.0]))
        array([0.1, 0.9])
        """
        xp, scores, _ = over_largest_size(scores)
        power = xp.abs(scores) ** min(self.degree, HIGHEST)
        power = xp.where(scores < 0, -power, power) if self.degree % 2 else power
        return normalised(xp, power, "the powers of a row sum to 0 within rounding")

    def _twin(self, row):
        require_integer("degree", self.degree, least=1, most=MOST_DEGREE)
        try:
            return _shares([score**self.degree for score in row])
        except OverflowError:
            raise ValueError("scores: a power is too large for a double") from None


class SquaredRelu(OfScores, name="squared-relu"):
    """Weights proportional to the square of the positive part of the scores.

    Notes
    -----
    max(score, 0)² over its row sum.  Extension.  Definition: def-kernels.
    """

    scale_free = True

    def weights(self, scores):
        """Return the weights of scores of shape (..., n), one of each row above 0; -inf masks a token.

        Examples
        --------
        >>> import numpy as np
        >>> SquaredRelu().weights(np.array([-5.0, 1.0, 3.0]))
        array([0. , 0.1, 0.9])
        """
        xp = namespace_of(scores)
        positive = xp.maximum(scores, xp.zeros_like(scores))
        if not bool(xp.all(xp.any(positive > 0, axis=-1) | xp.any(xp.isnan(scores), axis=-1))):
            raise ValueError("scores: a row has no score above 0; it has no weights")
        return Polynomial(2).weights(positive)

    def _twin(self, row):
        return _shares([max(score, 0) ** 2 for score in row])


class Taylor(OfScores, name="taylor"):
    """Weights proportional to 1 + score + score²/2, the first terms of the exponential.

    Notes
    -----
    The sum is ((1 + score)² + 1)/2, so no weight is 0 or less.  It is a product of features 1, x_p and x_p x_q/√2 of
    the query and of the key, which are the feature map of the Based architecture: Arora et al. (2024).
    Extension.  Definition: def-kernels.
    """

    def weights(self, scores):
        """Return the weights of scores of shape (..., n).

        Where the largest size of a row is above 1, all terms are divided by its square, so that none overflows.

        Examples
        --------
        >>> import numpy as np
        >>> Taylor().weights(np.array([0.0, 2.0, -2.0])).round(3)
        array([0.143, 0.714, 0.143])
        """
        xp, scores, size = over_largest_size(scores, above=1)
        one = 1 / size
        u = (one + scores) ** 2 + one**2
        return u / row_sums(xp, u)

    def _twin(self, row):
        return _shares([1 + score + score * score / 2 for score in row])


class Sigmoid(OfScores, name="sigmoid"):
    """Weights proportional to 1/(1 + e^{-score}).

    Notes
    -----
    Normalised by the row sum, as every kernel here.  Extension.  Definition: def-kernels.
    """

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); -inf masks a token.

        Where all scores are negative, all sigmoids are divided by the exponential of the largest score, so that none
        underflows that counts.

        Examples
        --------
        >>> import numpy as np
        >>> Sigmoid().weights(np.array([0.0, 0.0]))
        array([0.5, 0.5])
        """
        xp, largest = with_largest(scores)
        zero = xp.zeros_like(scores)
        u = xp.exp(xp.minimum(scores, zero) - xp.minimum(largest, zero)) / (1 + xp.exp(-xp.abs(scores)))
        return u / row_sums(xp, u)

    def _twin(self, row):
        return _shares([1 / (1 + _exp(-score)) for score in row])


# Features of rows


class Elu(FeatureMap, name="elu+1"):
    """Features x + 1 where x > 0, else e^x.

    Notes
    -----
    Katharopoulos, Vyas, Pappas and Fleuret (2020).  Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> Elu().weights(np.array([[1.0]]), np.array([[0.0], [2.0]]))
    array([[0.25, 0.75]])
    """

    def _attend(self, xp, q, k, v, threads=None):
        for name, x in (("q", q), ("k", k)):
            require_finite(xp, x, name)  # −inf would leave a key out, or not, depending on the others
        parts = [(xp.minimum(x, xp.zeros_like(x)), 1 + xp.maximum(x, xp.zeros_like(x))) for x in (q, k)]
        return _streams.exponential_linear(xp, *parts, v, self, threads)

    def _feature(self, x):
        return x + 1 if x > 0 else math.exp(x)


class Relu(FeatureMap, name="relu"):
    """Features max(x, 0).

    Notes
    -----
    Extension.  Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> Relu().weights(np.array([[1.0, -9.0]]), np.array([[1.0, 5.0], [3.0, 0.0]]))
    array([[0.25, 0.75]])
    """

    scale_free = True

    def _features(self, xp, rows):
        return xp.maximum(rows, xp.zeros_like(rows))

    def _feature(self, x):
        return max(x, 0)


@dataclass(frozen=True, repr=False)
class Performer(FeatureMap, name="performer"):
    """Positive random features, an approximation of softmax.

    Parameters
    ----------
    features : int
        How many, at least 1.

    Notes
    -----
    ψ(x)_m = exp(⟨ω_m, x⟩ − ‖x‖²/2) with Gaussian ω_m.  Choromanski et al. (2021).  Extension.  Definition:
    def-kernels.
    """

    features: int = field(metadata=_whole(least=1))
    random = True

    def _drawn(self, d, rng):
        """Return the kernel with the features that are drawn for queries of width d."""
        require_generator(rng)
        return _DrawnPerformer(self, rng.standard_normal((d, self.features)))


class _DrawnPerformer(FeatureMap):
    def __init__(self, kernel, omega):
        self.name, self._omega = str(kernel), omega

    def _attend(self, xp, q, k, v, threads=None):
        """For the queries ‖x‖²/2 is left out: it is one factor of a row, which cancels in the weights."""
        omega = xp.asarray(self._omega, dtype=q.dtype, device=device(q))
        q, k = xp.matmul(q, omega), xp.matmul(k, omega) - xp.sum(k * k, axis=1, keepdims=True) / 2
        powers = (_streams.power_of_e(xp, x) for x in (q, k))
        return _streams.balanced_linear(xp, *powers, v, self, threads)


# Softmax over fewer tokens


@dataclass(frozen=True, repr=False)
class TopK(OfScores, name="topk"):
    """Softmax over the k largest scores of each row; all other weights are zero.

    Parameters
    ----------
    k : int
        At least 1, and at most the number of tokens.  Exactly k are kept, ties going to the lowest index.

    Notes
    -----
    Extension.  Definition: def-kernels.
    """

    k: int = field(metadata=_whole(least=1))

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); -inf masks a token.

        Examples
        --------
        >>> import numpy as np
        >>> TopK(2).weights(np.array([1.0, 2.0, 1.0])).round(3)
        array([0.269, 0.731, 0.   ])
        """
        xp, _ = with_largest(scores)
        if self.k > scores.shape[-1]:
            raise ValueError(f"kernel = {str(self)!r}: k = {self.k} must be at most n = {scores.shape[-1]}")
        rank = xp.argsort(xp.argsort(-scores, axis=-1, stable=True), axis=-1, stable=True)
        return softmax(xp.where(rank < self.k, scores, xp.full_like(scores, -xp.inf)))

    def _twin(self, row):
        kept = sorted(range(len(row)), key=lambda i: (-row[i], i))[: self.k]
        shares = dict(zip(kept, Softmax()._twin([row[i] for i in kept]), strict=True))
        return [shares.get(i, 0) for i in range(len(row))]


class Sparsemax(OfScores, name="sparsemax"):
    """The point of the probability simplex next to the scores.

    Notes
    -----
    max(score − θ, 0), with θ such that each row sums to one.  Martins and Astudillo (2016).
    Extension.  Definition: def-kernels.
    """

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); -inf masks a token.

        Σ max(score − θ, 0) is convex in θ and falls, so Newton's method finds θ; each of its steps counts the scores
        above θ and sums them.

        Examples
        --------
        >>> import numpy as np
        >>> Sparsemax().weights(np.array([0.0, 0.5, -2.0]))
        array([0.25, 0.75, 0.  ])
        """
        xp, z = below_largest(scores)

        def step(y):
            above = xp.maximum(y, xp.zeros_like(y))
            return (row_sums(xp, above) - 1) / row_sums(xp, xp.astype(y > 0, y.dtype))

        return xp.astype(above_threshold(xp, z, step), scores.dtype)

    def _twin(self, row):
        return _bisected(row, 1)


class Entmax(OfScores, name="entmax"):
    """1.5-entmax: between softmax and sparsemax.

    Notes
    -----
    max(score/2 − θ, 0)², with θ such that each row sums to one.  Peters, Niculae and Martins (2019).
    Extension.  Definition: def-kernels.
    """

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); -inf masks a token.

        With z = max(score/2 − θ, 0) the norm ‖z‖ is convex in θ and falls, with the slope −Σz/‖z‖, so Newton's method
        finds where it is 1.

        Examples
        --------
        >>> import numpy as np
        >>> Entmax().weights(np.array([0.0, 0.0])), Entmax().weights(np.array([0.0, 2.0]))
        (array([0.5, 0.5]), array([0., 1.]))
        """
        xp, z = below_largest(scores)

        def step(y):
            above = xp.maximum(y, xp.zeros_like(y))
            norm = xp.sqrt(row_sums(xp, above * above))
            return (norm - 1) * norm / row_sums(xp, above)

        return xp.astype(above_threshold(xp, z / 2, step) ** 2, scores.dtype)

    def _twin(self, row):
        return _bisected([max(score - max(row), -4) / 2 for score in row], 2)


def _bisected(row, power):
    """Return max(score − θ, 0)^power of one row, by bisection of the θ at which they sum to one."""
    top = max(row)
    low, high = top - top - 1, top - top  # numbers of the scores' own kind
    row = [max(score - top, -2) for score in row]  # θ ≥ −1 here: what is lower counts for nothing
    for _ in range(200):
        middle = (low + high) / 2
        enough = sum(max(score - middle, 0) ** power for score in row) >= 1
        low, high = (middle, high) if enough else (low, middle)
    return [max(score - low, 0) ** power for score in row]


class Hard(OfScores, name="hard"):
    """Equal weights on the largest scores of each row, and zero elsewhere.

    Notes
    -----
    The limit β → ∞ of softmax.  Only scores equal in floating point share.  Extension.  Definition: def-kernels.
    """

    scale_free = True

    def weights(self, scores):
        """Return the weights of scores of shape (..., n); -inf masks a token.

        Examples
        --------
        >>> import numpy as np
        >>> Hard().weights(np.array([2.0, 1.0, 2.0]))
        array([0.5, 0. , 0.5])
        """
        xp, largest = with_largest(scores)
        u = xp.astype(scores == largest, scores.dtype)
        return u / row_sums(xp, u)

    def _twin(self, row):
        return [(score == max(row)) / row.count(max(row)) for score in row]


@dataclass(frozen=True, repr=False)
class Window(OfRows, name="window"):
    """Softmax over the tokens near a query's own place; there are as many queries as keys.

    Parameters
    ----------
    width : int
        How many places to either side a query sees, at least 0.

    Notes
    -----
    Extension.  Definition: def-kernels.
    """

    width: int = field(metadata=_whole(least=0))
    by_place = True

    def weights(self, q, k, positions=None):
        """Return the weights, shape (rows, n), of queries at these positions among the keys.

        Examples
        --------
        >>> import numpy as np
        >>> Window(1).weights(np.zeros((2, 1)), np.zeros((4, 1)), positions=np.array([0, 2])).round(2)
        array([[0.5 , 0.5 , 0.  , 0.  ],
               [0.  , 0.33, 0.33, 0.33]])
        """
        xp = _require_rows(q, k)
        if positions is None:
            positions = xp.arange(q.shape[0], device=device(q))
        common_namespace(q=q, positions=positions)
        require_shape("positions", positions, (q.shape[0],))
        with quiet():
            scores = xp.matmul(q, xp.matrix_transpose(k))
            far = xp.abs(positions[:, None] - xp.arange(k.shape[0], device=device(k))[None, :]) > self._reach(k)
            scores = xp.where(far, xp.full_like(scores, -xp.inf), scores)
        try:
            return softmax(scores)
        except ValueError as error:
            raise ValueError(f"q, k, positions: {error}") from None

    def _reach(self, k):
        return min(self.width, k.shape[0])  # a wider one may be no integer of the array library

    def _twin(self, q, k):
        if len(q) != len(k):
            raise ValueError(f"q, k: lengths {len(q)} and {len(k)} must be equal")
        rows = []
        for j, query in enumerate(q):
            near = [i for i in range(len(k)) if abs(i - j) <= self.width]
            f = Softmax()._twin([sum(x * y for x, y in zip(query, k[i], strict=True)) for i in near])
            shares = dict(zip(near, f, strict=True))
            rows.append([shares.get(i, 0) for i in range(len(k))])
        return rows

    def _attend(self, xp, q, k, v, threads=None):
        """Block by block, with the keys that some row of it sees."""
        n, reach = k.shape[0], self._reach(k)
        if q.shape[0] != n:
            raise ValueError(f"q: {q.shape[0]} rows, must be {n} as k has for kernel = {str(self)!r}")
        output = xp.empty((n, v.shape[1]), dtype=q.dtype, device=device(q))
        at_once = max(1, _streams.scores_at_once(xp) // (2 * reach + 1))
        for block in _streams.slices(n, min(_streams.BLOCK_ROWS, at_once)):
            near = slice(max(0, block.start - reach), min(n, block.stop + reach))
            places = xp.arange(block.start - near.start, block.stop - near.start, device=device(q))
            output[block, :] = _streams.weighted(xp, self.weights(q[block, :], k[near, :], places), v[near, :])
        return output, None


# By text


def softmax(scores):
    """Weights proportional to the exponentials of the scores.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores; -inf masks a token.

    Returns
    -------
    array, shape (..., n)
        Non-negative, each row sums to one.

    Raises
    ------
    ValueError
        If a row is empty, has a NaN or +inf, or masks every token.

    Notes
    -----
    The weights of `Softmax` with β = 1.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.log([1.0, 3.0])).round(12)
    array([0.25, 0.75])
    """
    return _SOFTMAX.weights(scores)


def linear(scores):
    """Weights proportional to the scores themselves.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores whose row sums are not zero.

    Returns
    -------
    array, shape (..., n)
        Each row sums to one; entries are negative where a score's sign differs from its row sum's.

    Raises
    ------
    ValueError
        If a row is empty, has a NaN or inf, or sums to zero within the rounding of its own sum
        (α_lin = 0: f_lin is undefined).

    Notes
    -----
    The weights of `Linear`.

    Examples
    --------
    >>> import numpy as np
    >>> linear(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return _LINEAR.weights(scores)


_SOFTMAX, _LINEAR = Softmax(), Linear()


def weights(scores, kernel="softmax"):
    """Weights of a kernel that depends on the scores alone.

    Parameters
    ----------
    scores : array, shape (..., n)
        Real scores.
    kernel : Kernel or str
        Of the class `OfScores`, or its text.  For the others see ``attention.attend``.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError, TypeError
        If the kernel is no such one, or as its own weights.

    Notes
    -----
    Definition: def-kernels.

    Examples
    --------
    >>> import numpy as np
    >>> weights(np.log([1.0, 3.0]), "softmax:2").round(12)
    array([0.1, 0.9])
    """
    kernel = require_kernel(kernel)
    if not isinstance(kernel, OfScores):
        why = "has weights that depend on more than the scores; use attention.attend"
        raise ValueError(f"kernel = {str(kernel)!r}: {why}")
    return kernel.weights(scores)
