"""One query of the paper: its data, the bounds of its lemmas, and the exact errors of its network."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnsep.arrays import given_namespace
from attnsep.checks import (
    require_choice,
    require_generator,
    require_integer,
    require_plain,
    require_positive,
    require_probability,
    require_real,
    require_shape,
    require_size,
    text_of,
)
from attnsep.kinds import Array, Namespace
from attnsep.probability.sign_sums import (
    MOST_TRIALS,
    _hoeffding_or_one,
    _number,
    column_probability,
    error_limit,
    fewest_columns,
    fires_probability,
    silent_probability,
    smallest_size,
)


def softmax_flat(n, low, high):
    """Bounds of every softmax weight on V_0.

    Parameters
    ----------
    n : int
        Number of tokens.
    low, high : float
        Range [ℓ, h] of the scores.

    Returns
    -------
    tuple of float
        (e^{ℓ−h}/n, e^{h−ℓ}/n).

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks a rule of `QueryData`.

    Notes
    -----
    Source: Lemma 4.1 (constants completed).  Claim: lemma-4-1-softmax-flat.

    Examples
    --------
    >>> softmax_flat(10, math.log(2), math.log(4))
    (0.05, 0.2)
    """
    data = QueryData(n=n, low=low, high=high)  # it names what breaks its rules
    return math.exp(data.low - data.high) / data.n, _exp(data.high - data.low) / data.n


def linear_flat(n, low, high):
    """Bounds of every linear weight on V_0.

    Parameters
    ----------
    n, low, high
        As in `softmax_flat`.

    Returns
    -------
    tuple of float
        ((ℓ/h)/n, (h/ℓ)/n).

    Notes
    -----
    Source: Lemma 4.1 (constants completed).  Claim: lemma-4-1-linear-flat.

    Examples
    --------
    >>> linear_flat(10, 1.0, 2.0)
    (0.05, 0.2)
    """
    data = QueryData(n=n, low=low, high=high)
    return data.low / data.high / data.n, data.high / data.low / data.n


def softmax_spike(n, high, spike):
    """Bounds of the softmax weights on V_1.

    Parameters
    ----------
    n : int
        Number of tokens.
    high : float
        Largest ordinary score h.
    spike : float
        κ; the marked token's score is κ log n.

    Returns
    -------
    tuple of float
        Lower bound 1/(1+(n−1)e^h n^{−κ}) of the marked token's weight, upper bound e^h n^{−κ} of all others.

    Notes
    -----
    Source: Lemma 4.1 (constants completed).  Claim: lemma-4-1-softmax-spike.

    Examples
    --------
    >>> softmax_spike(2, math.log(2), 2.0)
    (0.6666666666666666, 0.5)
    """
    high = require_positive("high", high)
    data = QueryData(n=n, low=high, high=high, spike=require_positive("spike", spike))
    return spike_weight(math.log(data.n), high, data.spike), _exp(high - data.spike_score)


def _exp(z):
    """Return e^z, inf where it is too large for a double: a bound that says nothing, and is true."""
    try:
        return math.exp(z)
    except OverflowError:
        return math.inf


def linear_spike(n, low, high, spike):
    """Bounds of the linear weights on V_1.

    Parameters
    ----------
    n, low, high, spike
        As in `softmax_spike`, with `low` the smallest ordinary score ℓ.

    Returns
    -------
    tuple of float
        Upper bounds κL/(κL+(n−1)ℓ) of the marked token's weight and h/((n−1)ℓ+κL) of all others, L = log n.

    Notes
    -----
    Source: Lemma 4.1 (constants completed).  Claim: lemma-4-1-linear-spike.

    Examples
    --------
    >>> linear_spike(2, 1.0, 2.0, 1 / math.log(2))
    (0.5, 1.0)
    """
    data = QueryData(n=n, low=low, high=high, spike=require_positive("spike", spike))
    total = data.spike_score + (data.n - 1) * data.low
    if not math.isfinite(total):
        raise ValueError(f"n = {n}, low = {low}, spike = {spike}: the sum of the scores is too large for a double")
    return data.spike_score / total, data.high / total


def spike_weight(log_n, other, spike):
    """Softmax weight of the marked token when all others have the same score, for n far beyond any matrix.

    Parameters
    ----------
    log_n : float
        log n (natural), at least log 2.
    other : float
        Score of every ordinary token.
    spike : float
        κ.

    Returns
    -------
    float
        1/(1+(n−1)e^{other} n^{−κ}), computed from logarithms.

    Raises
    ------
    ValueError
        If an argument is not finite or log n is below log 2.

    Notes
    -----
    With other = h the smallest, with other = ℓ the largest weight that V_1 allows.  Completed.
    Claim: softmax-spike-threshold.

    Examples
    --------
    >>> round(spike_weight(300 * math.log(10), 0.0, 1.0), 12)
    0.5
    """
    log_n, other, spike = require_real("log_n", log_n), require_real("other", other), require_real("spike", spike)
    if not (math.isfinite(log_n * spike + other) and log_n >= math.log(2)):
        raise ValueError(
            f"log_n = {log_n!r}, other = {other!r}, spike = {spike!r}: must be finite, log_n at least log 2"
        )
    log_others = log_n + math.log1p(-math.exp(-log_n)) + other - spike * log_n
    if log_others > 0:
        return math.exp(-log_others) / (1 + math.exp(-log_others))
    return 1 / (1 + math.exp(log_others))


class QueryErrors(NamedTuple):
    """The four ways in which a pair of one-query networks can be wrong, as probabilities or bounds of them."""

    softmax_silent_on_v1: float
    softmax_fires_on_v0: float
    linear_fires_on_v0: float
    linear_fires_on_v1: float


def softmax_flat_column(n, low, high, s):
    """Bound of P[⟨f_exp, σ⟩ ≥ s] on V_0.

    Parameters
    ----------
    n, low, high
        As in `softmax_flat`.
    s : float
        Threshold, above 0.

    Returns
    -------
    float
        exp(−s² n/(2e^{h−ℓ})).

    Notes
    -----
    Hoeffding with ‖f‖² ≤ max f ≤ e^{h−ℓ}/n.  Completed.  Claim: softmax-column-flat.

    Examples
    --------
    >>> softmax_flat_column(8, 1.0, 1.0, 0.5) == math.exp(-1)
    True
    """
    return _hoeffding_or_one(s, softmax_flat(n, low, high)[1])


def linear_flat_column(n, low, high, s):
    """Bound of P[⟨f_lin, σ⟩ ≥ s] on V_0.

    Parameters
    ----------
    n, low, high, s
        As in `softmax_flat_column`.

    Returns
    -------
    float
        exp(−s² nℓ/(2h)).

    Notes
    -----
    Hoeffding with ‖f‖² ≤ max f ≤ (h/ℓ)/n.  Completed.  Claim: linear-column-flat.

    Examples
    --------
    >>> linear_flat_column(16, 1.0, 2.0, 0.5) == math.exp(-1)
    True
    """
    return _hoeffding_or_one(s, linear_flat(n, low, high)[1])


def linear_spike_norm(n, low, high, spike):
    """Bound of ‖f_lin‖² on V_1.

    Parameters
    ----------
    n, low, high, spike
        As in `linear_spike`.

    Returns
    -------
    float
        N = ((κL)² + (n−1)h²)/(κL+(n−1)ℓ)², L = log n.

    Notes
    -----
    At most (κL/((n−1)ℓ))² + h²/((n−1)ℓ²), so O((L/n)² + 1/n).  Completed.  Claim: linear-spike-norm.

    Examples
    --------
    >>> linear_spike_norm(2, 1.0, 1.0, 1 / math.log(2))
    0.5
    """
    marked, other = linear_spike(n, low, high, spike)
    norm_squared = marked * marked + (int(n) - 1) * (other * other)  # other * other may be inf, other**2 raises
    if norm_squared == 0:
        raise ValueError(f"n = {n}, low = {low}, high = {high}, spike = {spike}: the norm is too small for a double")
    return norm_squared


def linear_spike_column(n, low, high, spike, s):
    """Bound of P[⟨f_lin, σ⟩ ≥ s] on V_1.

    Parameters
    ----------
    n, low, high, spike
        As in `linear_spike`.
    s : float
        Threshold, above 0.

    Returns
    -------
    float
        exp(−s²/(2N)) with N the bound of `linear_spike_norm`.

    Notes
    -----
    Completed.  Claim: linear-column-spike.

    Examples
    --------
    >>> linear_spike_column(2, 1.0, 1.0, 1 / math.log(2), 1.0) == math.exp(-1)
    True
    """
    return _hoeffding_or_one(s, linear_spike_norm(n, low, high, spike))


def query_errors_bound(n, m, tau, low, high, spike):
    """Bounds of the four errors of the one-query separation, from the theorem alone.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    m : int
        Number of sign columns, at least 1.
    tau : float
        Threshold τ of the network, above 0.
    low, high, spike : float
        ℓ, h and κ of V_0 and V_1, κ > 1.

    Returns
    -------
    QueryErrors
        2^{−m}, or 1 where τ ≥ 2f_j* − 1 for the least f_j* that V_1 allows and the theorem says nothing; then m times
        the column bounds at τ (unions, so they may exceed 1).

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules or those of `QueryData`.

    Notes
    -----
    Completed.  Claim: one-query-theorem.

    Examples
    --------
    >>> errors = query_errors_bound(100, 4, 0.5, 1.0, 1.0, 4.0)
    >>> errors.softmax_silent_on_v1, errors.softmax_fires_on_v0 == 4 * math.exp(-12.5)
    (0.0625, True)
    """
    QueryData(n=n, low=low, high=high, spike=spike)  # it names what breaks its rules
    m, tau = require_integer("m", m, least=1), require_positive("tau", tau)
    if require_positive("spike", spike) <= 1:
        raise ValueError(f"spike = {spike}: must be above 1, or the marked weight does not stay above 1/2")
    applies = tau < 2 * softmax_spike(n, high, spike)[0] - 1
    return QueryErrors(
        2.0**-m if applies else 1.0,
        m * softmax_flat_column(n, low, high, tau),
        m * linear_flat_column(n, low, high, tau),
        m * linear_spike_column(n, low, high, spike, tau),
    )


def columns_needed(delta):
    """Smallest number m of columns with 2^{−m} ≤ δ.

    Parameters
    ----------
    delta : float, Fraction or str
        δ, strictly between 0 and 1.

    Returns
    -------
    int
        ⌈log₂(1/δ)⌉, in integers: right at powers of two as well.

    Examples
    --------
    >>> columns_needed(0.125), columns_needed("0.1"), columns_needed("0.124")
    (3, 4, 4)
    """
    return (math.ceil(1 / require_probability("delta", delta)) - 1).bit_length()


def query_sizes_bound(delta, tau, low, high, spike, *, n_max=100_000):
    """Smallest sizes at which the theorem promises a one-query separation.

    Parameters
    ----------
    delta : float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    tau : float, Fraction or str
        Threshold τ, strictly between 0 and 1.
    low, high, spike : float
        ℓ, h and κ of V_0 and V_1, κ > 1.
    n_max : int
        Largest n to try.

    Returns
    -------
    tuple of int
        (n, m): the smallest n for which some m makes all four bounds at most δ, then the smallest such m.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or no n up to n_max is enough.

    Notes
    -----
    m = ⌈log₂(1/δ)⌉ for every n: fewer columns leave 2^{−m} > δ, more only raise the other bounds.  Completed.
    Claim: one-query-separates.

    Examples
    --------
    >>> query_sizes_bound("0.1", "0.5", math.log(1.2), math.log(1.4), 4.0)
    (678, 4)
    """
    delta, tau, m = require_probability("delta", delta), float(require_probability("tau", tau)), columns_needed(delta)
    sizes = range(2, require_integer("n_max", n_max, least=2, most=10**6) + 1)

    def suffice(n, m):
        return max(query_errors_bound(n, m, tau, low, high, spike)) <= delta

    missing = f"n_max = {n_max}: no n up to it has all four bounds at most delta = {float(delta):g}"
    return smallest_size(sizes, lambda n: m, suffice, missing)


@dataclass(frozen=True, kw_only=True)
class QueryData:
    """The scores of one query: in V_0 all are of one order, in V_1 one token has a spike.

    Parameters
    ----------
    n : int
        Number of tokens, at least 2.
    low, high : float
        The scores of ordinary tokens lie in [low, high] (ℓ and h of the book), 0 < low ≤ high.
    spike : float, optional
        κ: the marked token's score is κ log n.  None (the default) is V_0.
    position : int
        Index j* of the marked token, counted from 0.
    d : int
        Width of A.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    V_0: (A x)_i ∈ [ℓ, h] for all i.  V_1: (A x)_{j*} = κ log n for one j*, the others in [ℓ, h].
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
    def spike_score(self) -> float | None:
        """The marked token's score κ log n (natural logarithm), or None on V_0."""
        return None if self.spike is None else self.spike * math.log(self.n)

    def scores(self, rng: np.random.Generator | None, *, fill: str = "uniform") -> np.ndarray[Any, Any]:
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
        require_size(n=self.n)
        require_choice("fill", fill, ("uniform", "low", "high", "one-low", "one-high"))
        last = self.n - 2 if self.position == self.n - 1 and self.spike is not None else self.n - 1
        if fill == "uniform":
            v = require_generator(rng).uniform(self.low, self.high, self.n)
        else:
            v = np.full(self.n, self.low if fill in ("low", "one-high") else self.high)
            if fill.startswith("one-"):
                v[last] = self.low if fill == "one-low" else self.high
        if self.spike is not None:
            v[self.position] = self.spike_score
        return v

    def matrix(
        self,
        rng: np.random.Generator,
        *,
        scores: np.ndarray[Any, Any] | None = None,
        xp: Namespace | None = None,
    ) -> tuple[Array, Array]:
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
        A = v xᵀ/‖x‖² + A_⊥ with A_⊥ x = 0.  For small d the rows of A_⊥ have about the length of v's part, so that
        rounding in A x stays within a few units in the last place of the score.

        Examples
        --------
        >>> import numpy as np
        >>> A, x = QueryData(n=5).matrix(np.random.default_rng(0), scores=np.arange(5.0))
        >>> np.allclose(A @ x, np.arange(5.0))
        True
        """
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


LARGEST_SCORE = 1e100  # whose square is a double


FARTHEST = 300  # between two scores whose exponentials are compared


SHAPES = ("flat", "extreme")


def query_fires_probability(f_marked, f_other, n, m, tau):
    """Exact P[F fires] for one query with one marked weight and n − 1 equal ones.

    Parameters
    ----------
    f_marked, f_other : float, Fraction or str
        Weight of the marked token and of every other one.
    n, m : int
        Numbers of tokens (at least 2) and of sign columns (at least 1).
    tau : float, Fraction or str
        Threshold τ; firing is strict, and ties are decided as in `column_probability`.

    Returns
    -------
    float
        1 − (1 − π)^m with π = P[⟨f, σ⟩ > τ], to 12 digits also where it is tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Completed.  Claims: fires-iff-a-column-exceeds, firing-frequency.

    Examples
    --------
    >>> query_fires_probability("0.5", "0.25", 3, 2, "0.5")
    0.234375
    """
    others = require_integer("n", n, least=2) - 1
    f_marked, f_other = _number("f_marked", f_marked), _number("f_other", f_other)
    tau = _number("tau", tau)
    try:
        pi = column_probability([(f_marked, 1), (f_other, others)], tau)
    except ValueError as error:  # which speaks of a threshold and of groups
        raise ValueError(f"n, f_marked, f_other, tau: {error}") from None
    return fires_probability(pi, m)


def query_errors_exact(n, m, tau, low, high, spike, shape="flat"):
    """The four errors of the one-query separation, exactly, for stated score vectors.

    Parameters
    ----------
    n, m : int
        Numbers of tokens (from 2 to 10^9) and of sign columns (at least 1).
    tau : float, Fraction or str
        Threshold τ.
    low, high, spike : float
        ℓ, h and κ of V_0 and V_1.
    shape : str
        ``flat``: every ordinary score is ℓ.  ``extreme``: ordinary scores are ℓ or h, see Notes.

    Returns
    -------
    QueryErrors
        To 12 digits.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules or those of `QueryData`.

    Notes
    -----
    Extreme, softmax on V_1: all ordinary scores h, which makes f_j* least.  Proved: where τ < 2f_j* − 1 for this f_j*,
    one column exceeds τ with probability 1/2 on all of V_1 (claim spike-column-half).
    Extreme, elsewhere: the number of scores h that makes ‖f‖² largest.  Proved: no vector of the set has a larger
    ‖f‖² (claim norm-worst), so it is the worst one for Hoeffding's bound.  Not proved, and not true in general: that
    none fires with a larger probability.

    Examples
    --------
    >>> [round(error, 12) for error in query_errors_exact(4, 2, "0.5", 1.0, 1.0, 4.0)]
    [0.25, 0.12109375, 0.12109375, 0.68359375]
    """
    silent, *fires = (_column(u, tau) for u in _query_groups(n, low, high, spike, shape))
    return QueryErrors(silent_probability(silent, m), *(fires_probability(pi, m) for pi in fires))


def query_sizes_exact(delta, tau, low, high, spike, shape="flat", *, n_max=10_000):
    """Smallest sizes at which the one-query networks separate stated score vectors.

    Parameters
    ----------
    delta : float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    tau : float, Fraction or str
        Threshold τ, strictly between 0 and 1.
    low, high, spike, shape
        As in `query_errors_exact`.
    n_max : int
        Largest n to try.

    Returns
    -------
    tuple of int
        (n, m): the smallest n for which some m makes all four errors at most δ, then the smallest such m.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or no n up to n_max is enough.

    Notes
    -----
    A larger n may fail again (claim one-query-not-monotone), so all smaller n are tried.  Errors equal to δ within
    10^-12, their accuracy, count as equal.  Completed.  Claim: one-query-sizes.

    Examples
    --------
    >>> query_sizes_exact("0.1", "0.5", math.log(1.2), math.log(1.4), 4.0)
    (150, 4)
    """
    limit = error_limit(delta)
    require_probability("tau", tau)
    sizes = range(2, require_integer("n_max", n_max, least=2, most=10**6) + 1)

    def columns(n):
        marked, *_ = _query_groups(n, low, high, spike, shape)
        return fewest_columns(_column(marked, tau), limit)

    def suffice(n, m):
        _, *others = _query_groups(n, low, high, spike, shape)
        # Linear attention on V_1 comes first: as a rule it is what fails, so the others are rarely computed.
        return all(fires_probability(_column(u, tau), m) <= limit for u in reversed(others))

    missing = f"n_max = {n_max}: no n up to it has all four errors at most delta = {float(delta):g}"
    return smallest_size(sizes, columns, suffice, missing)


def _query_groups(n, low, high, spike, shape):
    """Return (u, count) groups of the four score vectors, in the order of `QueryErrors`."""
    n = require_integer("n", n, least=2, most=MOST_TRIALS)
    data = QueryData(n=n, low=low, high=high, spike=require_positive("spike", spike))
    n, low, high, marked = data.n, data.low, data.high, data.spike_score
    flat = require_choice("shape", shape, SHAPES) == "flat"
    if (low - marked if flat else high - min(low, marked)) > FARTHEST:
        raise ValueError(
            f"n = {n}, low = {low}, high = {high}, spike = {spike}: no two scores must be more than {FARTHEST} apart"
        )
    if flat:
        softmax_v1, linear_v1 = [(1.0, 1), (math.exp(low - marked), n - 1)], [(marked, 1), (low, n - 1)]
        return softmax_v1, [(1, n)], [(1, n)], linear_v1
    softmax_v1, linear_v1 = [(1.0, 1), (math.exp(high - marked), n - 1)], worst_scores(n - 1, low, high, marked)
    softmax_v0, linear_v0 = worst_scores(n, 1.0, math.exp(high - low)), worst_scores(n, low, high)
    return softmax_v1, softmax_v0, linear_v0, [(marked, 1), *linear_v1]


def _column(groups, tau):
    """Return P[⟨f, σ⟩ > τ] for weights proportional to u."""
    tau = _number("tau", tau)
    try:
        return column_probability(groups, tau * sum(u * count for u, count in groups))
    except ValueError as error:  # which speaks of the weights
        raise ValueError(f"tau = {tau}, low, high, spike: {error}") from None


def worst_scores(n, low, high, marked=0.0):
    """Scores in [ℓ, h] that make ‖f‖² largest for weights proportional to the scores.

    Parameters
    ----------
    n : int
        Number of ordinary tokens, from 1 to 10^9.
    low, high : float
        ℓ and h, 0 < ℓ ≤ h.
    marked : float
        Score of one more token, which stays as it is; 0 for none.

    Returns
    -------
    list of (score, count)
        (ℓ, n − n_h) and (h, n_h).

    Notes
    -----
    A norm over a positive linear form is quasi-convex, so a corner of [ℓ, h]^n attains the maximum.  With
    Q the sum of the squared scores and D their sum, n_h of them h, the sign of the derivative of Q/D² in n_h is that of
    (h+ℓ)D − 2Q, which decreases in n_h: so Q/D² rises up to n_h = ((h+ℓ)D_0 − 2Q_0)/(h²−ℓ²) and falls after it, with
    Q_0 and D_0 those of n_h = 0.  Without a marked score this is n/(1 + h/ℓ).
    Claim: norm-worst.

    Examples
    --------
    >>> worst_scores(9, 1, 2)
    [(1, 6), (2, 3)]
    """
    n, marked = require_integer("n", n, least=1, most=MOST_TRIALS), require_real("marked", marked)
    QueryData(n=n + 1, low=low, high=high)  # it names what breaks its rules
    low, high = (float(x) if hasattr(x, "dtype") else x for x in (low, high))  # a float32 would overflow
    if not (low >= 1 / LARGEST_SCORE and high <= LARGEST_SCORE and 0 <= marked <= LARGEST_SCORE):
        raise ValueError(f"low = {low}, high = {high}, marked = {marked}: must be of sizes from 1e-100 to 1e100")
    if low == high:
        return [(low, n), (high, 0)]
    Q, D = marked**2 + n * low**2, marked + n * low
    top = min(max(((high + low) * D - 2 * Q) / (high**2 - low**2), 0), n)
    k = max(
        (math.floor(top), math.ceil(top)),
        key=lambda k: (Q + k * (high**2 - low**2)) / (D + k * (high - low)) ** 2,
    )
    return [(low, n - k), (high, k)]
