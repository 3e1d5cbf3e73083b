"""Datasets of the paper: validated parameters that turn into real matrices."""

import math
import numbers
from dataclasses import dataclass

from attnsep.arrays import namespace, require_shape


def require_integer(name, value, least):
    """Return `value` as an int of at least `least`, or raise an error that names it.

    Examples
    --------
    >>> require_integer("n", 8, least=2)
    8
    >>> require_integer("n", 1, least=2)
    Traceback (most recent call last):
    ...
    ValueError: n = 1: must be at least 2
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} = {value!r}: must be an integer")
    if value < least:
        raise ValueError(f"{name} = {value}: must be at least {least}")
    return int(value)


def require_positive(name, value):
    """Return `value` as a finite float above zero, or raise an error that names it.

    Examples
    --------
    >>> require_positive("low", -1.0)
    Traceback (most recent call last):
    ...
    ValueError: low = -1.0: must be finite and above 0
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} = {value!r}: must be a real number")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} = {value!r}: must be finite and above 0")
    return float(value)


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
        require_integer("n", self.n, least=2)
        require_integer("d", self.d, least=1)
        require_integer("position", self.position, least=0)
        if self.position >= self.n:
            raise ValueError(f"position = {self.position}: must be below n = {self.n}")
        low, high = require_positive("low", self.low), require_positive("high", self.high)
        if low > high:
            raise ValueError(f"low = {low}, high = {high}: must satisfy low <= high")
        if self.spike is not None:
            require_positive("spike", self.spike)

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

        last = self.n - 2 if self.position == self.n - 1 and self.spike is not None else self.n - 1
        if fill == "uniform":
            v = rng.uniform(self.low, self.high, self.n)
        elif fill in ("low", "high", "one-low", "one-high"):
            v = np.full(self.n, self.low if fill in ("low", "one-high") else self.high)
            if fill.startswith("one-"):
                v[last] = self.low if fill == "one-low" else self.high
        else:
            raise ValueError(f"fill = {fill!r}: must be uniform, low, high, one-low or one-high")
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
        A = v xᵀ/‖x‖² + B with B x = 0.  B's rows have about the length of v's part, so that rounding in A x
        stays within a few units in the last place of the score.

        Examples
        --------
        >>> import numpy as np
        >>> A, x = QueryData(n=5).matrix(np.random.default_rng(0), scores=np.arange(5.0))
        >>> np.allclose(A @ x, np.arange(5.0))
        True
        """
        import numpy as np

        xp = namespace() if xp is None else xp
        v = self.scores(rng) if scores is None else scores
        require_shape("scores", v, (self.n,))
        if not np.all(np.isfinite(v)):
            raise ValueError("scores: must be finite")
        x = rng.standard_normal(self.d)
        unit = x / np.linalg.norm(x)
        free = rng.standard_normal((self.n, self.d))
        free -= np.outer(free @ unit, unit)
        A = (v[:, None] / np.linalg.norm(x)) * (unit + free)
        return xp.asarray(A), xp.asarray(x)
