"""The bounds of the paper's lemmas, as functions of the parameters alone."""

import math
from fractions import Fraction
from typing import NamedTuple

from attnsep.arrays import text_of
from attnsep.data import MOST_DIGITS, QueryData, _fraction, require_integer, require_positive, require_real


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


def hoeffding(s, norm_squared):
    """Bound of the upper tail of a sum of random signs.

    Parameters
    ----------
    s : float
        Threshold, above 0.
    norm_squared : float
        ‖u‖², above 0.

    Returns
    -------
    float
        exp(−s²/(2‖u‖²)), at least P[⟨u, σ⟩ ≥ s]; twice it bounds ``P[|⟨u, σ⟩| ≥ s]``.

    Raises
    ------
    ValueError, TypeError
        If an argument is no finite number above 0.

    Notes
    -----
    Source: Foundational Learning, Hoeffding inequality.  Claims: hoeffding-one-sided, hoeffding-two-sided.

    Examples
    --------
    >>> hoeffding(2.0, 4.0) == math.exp(-0.5)
    True
    """
    s, norm_squared = require_positive("s", s), require_positive("norm_squared", norm_squared)
    return math.exp(-s / norm_squared * s / 2)  # s * s may be inf, and then a NaN the ratio


def _hoeffding_or_one(s, norm_squared):
    """Return Hoeffding's bound, or 1 where the bound of ‖u‖² is too large for a double and says nothing."""
    return hoeffding(s, norm_squared) if norm_squared < math.inf else float(require_positive("s", s) > 0)


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
        (κL/(κL+(n−1)ℓ))² + (n−1)(h/((n−1)ℓ+κL))², L = log n.

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
        2^{−m}, or 1 where τ ≥ 2f_j − 1 for the least f_j that V_1 allows and the theorem says nothing; then m times
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


def require_probability(name, value):
    """Return `value`, a number or a decimal string, as a Fraction strictly between 0 and 1.

    Examples
    --------
    >>> require_probability("delta", "0.1")
    Fraction(1, 10)
    >>> require_probability("delta", 1)
    Traceback (most recent call last):
    ...
    ValueError: delta = 1: must be a number strictly between 0 and 1
    """
    try:
        fraction = Fraction(_fraction(value) if isinstance(value, str) else value)
    except (TypeError, ValueError, ArithmeticError):  # no number, no decimal, NaN, inf, 1/0
        fraction = None
    if fraction is None or not 0 < fraction < 1:
        raise ValueError(f"{name} = {text_of(value)}: must be a number strictly between 0 and 1")
    if fraction.denominator.bit_length() > 3.32 * MOST_DIGITS:
        raise ValueError(f"{name} = {text_of(value)}: must have at most {MOST_DIGITS} digits")
    return fraction


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
    delta, threshold, m = (
        require_probability("delta", delta),
        float(require_probability("tau", tau)),
        columns_needed(delta),
    )
    for n in range(2, require_integer("n_max", n_max, least=2, most=10**6) + 1):
        if max(query_errors_bound(n, m, threshold, low, high, spike)) <= delta:
            return n, m
    raise ValueError(f"n_max = {n_max}: no n up to it has all four bounds at most delta = {float(delta):g}")
