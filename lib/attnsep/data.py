"""Datasets of the paper: validated parameters that turn into real matrices."""

import math
import numbers
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from attnsep.arrays import given_namespace, require_choice, require_plain, require_real_dtype, require_shape, text_of

LARGEST_EXPONENT = 300  # beyond, a number would overflow where the laws turn it into a double
MOST_ENTRIES = 3 * 10**8  # of one array: 2.4 GB
MOST_DIGITS = 4000  # Python prints 4300
SMALLEST, BEYOND = Fraction(1, 10**1000), 10 ** (LARGEST_EXPONENT + 1)  # of decimals


def require_integer(name, value, least, most=10 ** (LARGEST_EXPONENT + 1)):
    """Return `value` as an int from `least` to `most`, or raise an error that names it.

    Examples
    --------
    >>> require_integer("n", 8, least=2)
    8
    >>> require_integer("n", 1, least=2)
    Traceback (most recent call last):
    ...
    ValueError: n = 1: must be at least 2
    """
    if type(value) is not int:  # asking for the abstract type takes longer than all the rest
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise TypeError(f"{name} = {text_of(value)}: must be an integer")
        value = int(value)
    if value < least:
        raise ValueError(f"{name} = {text_of(value)}: must be at least {least}")
    if value > most:
        raise ValueError(f"{name} = {text_of(value)}: must be at most {shown_integer(most)}")
    return value


def shown_integer(value):
    """Return an integer as text, powers of ten in short.

    Examples
    --------
    >>> shown_integer(10**300), shown_integer(5000)
    ('10^300', '5000')
    """
    digits = str(value)
    return f"10^{len(digits) - 1}" if len(digits) > 6 and not digits.strip("10") and digits.count("1") == 1 else digits


def require_real(name, value):
    """Return `value` as a finite float, or raise an error that names it.

    Examples
    --------
    >>> require_real("tau", math.nan)
    Traceback (most recent call last):
    ...
    ValueError: tau = nan: must be finite
    """
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise TypeError(f"{name} = {text_of(value)}: must be a real number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} = {text_of(value)}: must be finite")
    return number


def require_positive(name, value):
    """Return `value` as a finite float above zero, or raise an error that names it.

    Examples
    --------
    >>> require_positive("low", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: low = -1.0: must be finite and above 0
    """
    try:
        number = require_real(name, value)
    except ValueError:
        number = math.nan
    if not number > 0:
        raise ValueError(f"{name} = {text_of(value)}: must be finite and above 0")
    return number


def require_size(**lengths):
    """Raise a ValueError that names the lengths if an array of this shape has more than 3·10^8 entries.

    Examples
    --------
    >>> require_size(n=10**9, d=3)
    Traceback (most recent call last):
    ...
    ValueError: n, d = 1000000000, 3: an array must have at most 3·10^8 entries
    """
    if math.prod(lengths.values()) > MOST_ENTRIES:
        raise ValueError(
            f"{', '.join(lengths)} = {', '.join(map(str, lengths.values()))}: an array must have at most 3·10^8 entries"
        )


def require_instance(name, value, kind):
    """Return `value` if it is of this class, or raise a TypeError that names it.

    Examples
    --------
    >>> require_instance("data", 3, TokenData)
    Traceback (most recent call last):
    ...
    TypeError: data = 3: must be of the class TokenData
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} = {text_of(value)}: must be of the class {kind.__name__}")
    return value


def require_items(name, value):
    """Return the entries as a list, or raise a TypeError that names what has none; a text is no sequence here.

    Examples
    --------
    >>> require_items("ids", (1, 2)), require_items("ids", [])
    ([1, 2], [])
    >>> require_items("ids", "one")
    Traceback (most recent call last):
    ...
    TypeError: ids = 'one': must be a sequence
    """
    require_plain(name, value)
    try:
        if not isinstance(value, (str, bytes, dict)):
            return list(value)
    except TypeError:
        pass
    raise TypeError(f"{name} = {text_of(value)}: must be a sequence")


def require_generator(rng):
    """Raise a TypeError unless `rng` is a numpy.random.Generator.

    Examples
    --------
    >>> require_generator(11)
    Traceback (most recent call last):
    ...
    TypeError: rng = 11: must be a numpy.random.Generator, such as numpy.random.default_rng(11)
    """
    import numpy as np

    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng = {text_of(rng)}: must be a numpy.random.Generator, such as numpy.random.default_rng(11)")


@dataclass(frozen=True, kw_only=True)
class QueryData:
    """One-query data: V_0 without a spike, V_1 with one.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    low, high : float
        The scores of ordinary tokens lie in [low, high] (ℓ and h of the book), 0 < low ≤ high.
    spike : float, optional
        κ: the marked token's score is κ log n.  None (the default) is V_0.
    position : int
        Index j of the marked token, counted from 0.
    d : int
        Width of A.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    V_0: (A x)_i ∈ [ℓ, h] for all i.  V_1: (A x)_j = κ log n for one j, the others in [ℓ, h].
    Completed: the source card has neither the sets nor the constants.  Claim: query-data-matrices.

    Examples
    --------
    >>> import numpy as np
    >>> A, x = QueryData(n=4, spike=4.0).matrix(np.random.default_rng(1))
    >>> A.shape, x.shape, float(round((A @ x)[0] / np.log(4), 12))
    ((4, 8), (8,), 4.0)
    """

    n: int
    low: float = math.log(1.2)
    high: float = math.log(1.4)
    spike: float | None = None
    position: int = 0
    d: int = 8

    def __post_init__(self):
        for name, least in (("n", 2), ("d", 1), ("position", 0)):
            object.__setattr__(self, name, require_integer(name, getattr(self, name), least))
        if self.position >= self.n:
            raise ValueError(f"position = {self.position}: must be below n = {self.n}")
        low, high = require_positive("low", self.low), require_positive("high", self.high)
        if low > high:
            raise ValueError(f"low = {low}, high = {high}: must satisfy low <= high")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.spike is not None:
            object.__setattr__(self, "spike", require_positive("spike", self.spike))
            if not math.isfinite(self.spike_score):
                raise ValueError(f"spike = {self.spike}: spike * log n must be finite")

    @property
    def spike_score(self):
        """The marked token's score κ log n (natural logarithm), or None on V_0."""
        return None if self.spike is None else self.spike * math.log(self.n)

    def scores(self, rng, *, fill="uniform"):
        """Draw a score vector that the data set allows.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of the draws; used by ``fill="uniform"`` alone.
        fill : str
            ``uniform`` on [low, high], or a corner: ``low``, ``high`` (all ordinary tokens equal),
            ``one-low``, ``one-high`` (the last ordinary token differs from all others).

        Returns
        -------
        numpy.ndarray, shape (n,)
            Wanted scores (A x)_i, the spike in place.

        Raises
        ------
        ValueError
            If `fill` is unknown.

        Examples
        --------
        >>> QueryData(n=3, low=1.0, high=2.0).scores(None, fill="one-high")
        array([1., 1., 2.])
        """
        import numpy as np

        require_size(n=self.n)
        require_choice("fill", fill, ("uniform", "low", "high", "one-low", "one-high"))
        last = self.n - 2 if self.position == self.n - 1 and self.spike is not None else self.n - 1
        if fill == "uniform":
            require_generator(rng)
            v = rng.uniform(self.low, self.high, self.n)
        else:
            v = np.full(self.n, self.low if fill in ("low", "one-high") else self.high)
            if fill.startswith("one-"):
                v[last] = self.low if fill == "one-low" else self.high
        if self.spike is not None:
            v[self.position] = self.spike_score
        return v

    def matrix(self, rng, *, scores=None, xp=None):
        """Return A and x whose product is a score vector of the data set.

        Parameters
        ----------
        rng : numpy.random.Generator
            Source of x, of the rows' free directions and, if `scores` is None, of the scores.
        scores : numpy.ndarray, shape (n,), optional
            The wanted product A x.
        xp : module, optional
            Array namespace of the result; left out, ``arrays.namespace()`` decides.

        Returns
        -------
        A : array, shape (n, d)
        x : array, shape (d,)

        Raises
        ------
        ValueError
            If `scores` has another shape or is not finite.

        Notes
        -----
        A = v xᵀ/‖x‖² + B with B x = 0.  For small d the rows of B have about the length of v's part, so that rounding
        in A x stays within a few units in the last place of the score.

        Examples
        --------
        >>> import numpy as np
        >>> A, x = QueryData(n=5).matrix(np.random.default_rng(0), scores=np.arange(5.0))
        >>> np.allclose(A @ x, np.arange(5.0))
        True
        """
        import numpy as np

        xp = given_namespace(xp)
        require_size(n=self.n, d=self.d)
        v = self.scores(rng) if scores is None else scores
        if not isinstance(v, np.ndarray) or v.dtype.kind not in "iuf":
            raise TypeError(f"scores = {text_of(v)}: must be a real numpy.ndarray")
        require_plain("scores", v)
        require_shape("scores", v, (self.n,))
        if not np.all(np.isfinite(v)):
            raise ValueError("scores: must be finite")
        require_generator(rng)
        x = rng.standard_normal(self.d)
        length = np.linalg.norm(x)
        unit, scale = x / length, v / length
        # Column by column of A, without a second matrix: most claims about one query wait for this, at n = 10^5.
        columns = rng.uniform(-1.0, 1.0, (self.d, self.n))
        missing = 1 - unit @ columns  # what the rows' products with unit lack to be 1
        for entry, column in zip(unit, columns, strict=True):
            column += entry * missing
            column *= scale
        return xp.asarray(columns.T), xp.asarray(x)


def require_decimal(name, value, least=0):
    """Return `value` as the exact Fraction that its decimal digits say, at least `least`, or raise an error.

    A float stands for the shortest decimal that prints it: 0.7 is 7/10 and not the binary number next to it.

    Examples
    --------
    >>> require_decimal("a", 0.7), require_decimal("a", "0.7"), require_decimal("a", Fraction(2, 3))
    (Fraction(7, 10), Fraction(7, 10), Fraction(2, 3))
    >>> require_decimal("a", -0.1)
    Traceback (most recent call last):
    ...
    ValueError: a = -0.1: must be at least 0
    """
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal, str)):
        raise TypeError(f"{name} = {text_of(value)}: must be a real number or a decimal string")
    try:
        exact = _fraction(value)
    except (ValueError, ZeroDivisionError):  # NaN, inf, words, 1/0
        raise ValueError(f"{name} = {text_of(value)}: must be a finite number or a decimal string") from None
    if exact is not None and exact >= least and _is_moderate(exact):
        return exact
    if exact is None or (exact and not SMALLEST <= abs(exact) < BEYOND):
        raise ValueError(f"{name} = {text_of(value)}: must be 0 or between 1e-1000 and 1e{LARGEST_EXPONENT}")
    if exact < least:
        raise ValueError(f"{name} = {text_of(value)}: must be at least {least}")
    if exact > 10**LARGEST_EXPONENT:
        raise ValueError(f"{name} = {text_of(value)}: must be at most 1e{LARGEST_EXPONENT}")
    if max(exact.as_integer_ratio()).bit_length() > 3.32 * MOST_DIGITS:
        raise ValueError(f"{name} = {text_of(value)}: must have at most {MOST_DIGITS} digits")
    return exact


def _is_moderate(exact):
    """Whether a number is plainly within the limits: comparing Fractions of a thousand digits takes long."""
    numerator, denominator = (part.bit_length() for part in exact.as_integer_ratio())
    return numerator < 900 and denominator < 900


def _fraction(value):
    """Return the Fraction that a number or a text stands for, or None where it is far beyond the limits."""
    if type(value) is Fraction:
        return value
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would overflow
    text = str(value)
    try:
        if not -1000 <= Decimal(text).adjusted() <= LARGEST_EXPONENT:  # before a million digits are made
            return None if Decimal(text) else Fraction(0)
    except InvalidOperation:  # a ratio, an exponent of twenty digits, or no number at all
        if number := re.fullmatch(r"([^/]*)e[+-]?[0-9]+", text.strip(), re.IGNORECASE):
            return None if Fraction(number[1]) else Fraction(0)
    return Fraction(text)


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
