"""Recall from pairs: what no linear attention can go below, and the losses that others reported."""

from fractions import Fraction

from attnsep.checks import require_integer

# Reported, not ours: best evaluation loss against the number of pairs, Schlag, Irie and Schmidhuber (2021).
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
