"""Recall from pairs: what no linear attention can go below, and the losses that others reported."""

from fractions import Fraction

from attnsep.checks import require_decimal, require_integer, require_items

# Reported, not ours: best evaluation loss against the number of pairs, Schlag, Irie and Schmidhuber (2021), as in the
# logs of their public code.
REPORTED = {
    "softmax": {20: 0.0006, 40: 0.0003, 60: 0.0001, 80: 0, 100: 0, 120: 0, 160: 0, 200: 0, 300: 0, 400: 0, 600: 0.0303},
    "elu+1": {
        **{20: 0.0009, 40: 0.0008, 60: 0.0245, 80: 0.1084, 100: 0.1642, 120: 0.2322},
        **{160: 0.3011, 200: 0.3420, 300: 0.3971, 400: 0.4216, 600: 0.4513},
    },
}


def recall_floor(pairs, features):
    """Least loss with which linear attention recalls, averaged over all questions.

    Parameters
    ----------
    pairs : int
        n: keys, each with a unit vector of its own as value.
    features : int
        M: numbers that the feature map gives for each key or query.

    Returns
    -------
    Fraction
        ½(1 − M/n), and 0 for M ≥ n.

    Raises
    ------
    ValueError, TypeError
        If one of them is no integer of at least 1.

    Notes
    -----
    The n×n matrix W of the weights has rank at most M, and ‖I − W‖² ≥ n − M.  Extension.  Claim: recall-floor.

    Examples
    --------
    >>> recall_floor(200, 64), recall_floor(20, 64)
    (Fraction(17, 50), Fraction(0, 1))
    """
    pairs, features = require_integer("pairs", pairs, least=1), require_integer("features", features, least=1)
    return max(Fraction(0), Fraction(pairs - features, 2 * pairs))


def weighted_floor(weights, features):
    """Least loss of linear attention where each question counts with a weight of its own.

    Parameters
    ----------
    weights : sequence of int, Fraction, or text of a decimal
        w_j, of each of the n questions, at least 0.
    features : int
        M, as in `recall_floor`.

    Returns
    -------
    Fraction
        ½ of the sum of all w_j but the M largest.

    Raises
    ------
    ValueError, TypeError
        If a weight is negative or no such number, or M no integer of at least 1.

    Notes
    -----
    ‖√D (I − W)‖² ≥ the sum of the n − M smallest squared singular values of √D, D = diag(w).  Extension.  Claim:
    recall-floor-weighted.

    Examples
    --------
    >>> weighted_floor([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)], 1)
    Fraction(1, 4)
    """
    weights = [require_decimal("weights", weight) for weight in require_items("weights", weights)]
    return sum(sorted(weights, reverse=True)[require_integer("features", features, least=1) :], Fraction(0)) / 2


def reported_weights(pairs):
    """How much each question counts in the losses that were reported.

    Parameters
    ----------
    pairs : int
        n, at least 1 and at most 10⁶.

    Returns
    -------
    list of Fraction
        Of n keys in their own order: 0 behind the 200th; the others are in groups of 32, which count alike, so that
        the questions of a smaller last group count more.

    Raises
    ------
    ValueError, TypeError
        If n breaks this rule.

    Notes
    -----
    From the public code of Schlag, Irie and Schmidhuber (2021), which ``learn.tasks.Retrieval`` follows.

    Examples
    --------
    >>> found = reported_weights(100)  # three groups of 32, and one of 4
    >>> found[0], found[-1], sum(found)
    (Fraction(1, 128), Fraction(1, 16), Fraction(1, 1))
    """
    pairs = require_integer("pairs", pairs, least=1, most=10**6)
    asked = min(pairs, 200)
    sizes = [min(32, asked - start) for start in range(0, asked, 32)]
    return [Fraction(1, len(sizes) * size) for size in sizes for _ in range(size)] + [Fraction(0)] * (pairs - asked)
