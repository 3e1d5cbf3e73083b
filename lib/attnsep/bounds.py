"""The bounds of the paper's lemmas, as functions of the parameters alone."""

import math


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

    Notes
    -----
    Source: Lemma 4.1 (constants completed).  Claim: lemma-4-1-softmax-flat.

    Examples
    --------
    >>> softmax_flat(10, 0.0, math.log(2))
    (0.05, 0.2)
    """
    return math.exp(low - high) / n, math.exp(high - low) / n


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
    return low / high / n, high / low / n


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
    other = math.exp(high - spike * math.log(n))
    return 1 / (1 + (n - 1) * other), other


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
    marked = spike * math.log(n)
    total = marked + (n - 1) * low
    return marked / total, high / total


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

    Notes
    -----
    With other = h the smallest, with other = ℓ the largest weight that V_1 allows.  Completed.
    Claim: softmax-spike-threshold.

    Examples
    --------
    >>> round(spike_weight(300 * math.log(10), 0.0, 1.0), 12)
    0.5
    """
    log_others = log_n + math.log1p(-math.exp(-log_n)) + other - spike * log_n
    if log_others > 0:
        return math.exp(-log_others) / (1 + math.exp(-log_others))
    return 1 / (1 + math.exp(log_others))
