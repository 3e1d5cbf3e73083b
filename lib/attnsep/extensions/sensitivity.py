"""Maps of the exact law: firing probabilities and errors on whole grids of parameters at once, on the host.

Parameters may be arrays or sequences that broadcast.  Doubles with a proved rounding bound decide almost every point;
where they cannot, because a row ties with the threshold or nearly does, ``tokens.Law`` decides exactly.
"""

import numpy as np

from attnsep.attention.kernels import require_pair
from attnsep.checks import require_decimal, require_integer, require_items, require_plain, require_probability, text_of
from attnsep.paper.tokens import PATTERNS, Law, Strengths, TokenData, TokenErrors, shortfall
from attnsep.probability import sign_sums

SLACK = 2.0**-46  # 128 units of rounding; the longest chain of operations below needs fewer than 40


LARGEST = 10**300


LARGEST_D = 10**6


FAR = 600  # e^600 is beyond every floor to be told apart, and no double overflows there


def column_map(n, d, a, c, kernel="softmax", gap=0.1):
    """Exact probability π that one random column makes some row exceed the threshold, on a grid.

    Parameters
    ----------
    n, d : int, array or sequence of int
        As in `TokenData`; n up to 10^300, d up to 10^6.
    a, c, gap : number, decimal string, array or sequence of these
        As in `TokenData`, floats as the decimals that they print.
    kernel : str
        softmax or linear.

    Returns
    -------
    numpy.ndarray, shape of the parameters broadcast together
        ``Law.column_probability`` of every point, to 12 digits.

    Raises
    ------
    ValueError, TypeError
        If an entry breaks one of these rules, or the shapes do not broadcast.

    Notes
    -----
    The least number of plus signs of each of the eight patterns, then a binomial tail for every distinct number.
    Extension.  Claims: map-is-the-law, map-decides-ties.

    Examples
    --------
    >>> column_map(4, 4, [0, 1], "0.5")
    array([0.125, 0.375])
    """
    return _tails(*_least_plus(_checked(n, d, a, c, gap), require_pair(kernel)))


def fires_map(n, d, m, a, c, kernel="softmax", gap=0.1):
    """Exact probability that the network fires, on a grid.

    Parameters
    ----------
    n, d, a, c, kernel, gap
        As in `column_map`.
    m : int, array or sequence of int
        Numbers of sign columns, from 1 to 10^300.

    Returns
    -------
    numpy.ndarray, shape of the parameters broadcast together
        ``Law.fires`` of every point, to 12 digits.

    Raises
    ------
    ValueError, TypeError
        As in `column_map`, or if m breaks its rule.

    Notes
    -----
    1 − (1 − π)^m.  Extension.  Claims: map-is-the-law, map-decides-ties.

    Examples
    --------
    >>> fires_map(1024, 258, 10, [0.05, 0.7], 0.5).round(9)
    array([0.0034645 , 0.94368697])
    """
    _require_broadcast(n=n, d=d, m=m, a=a, c=c, gap=gap)
    return -np.expm1(_log_silent(m, column_map(n, d, a, c, kernel, gap)))


def error_map(n, d, m, a0, a1, c, gap=0.1):
    """The four errors of the separation of D_0 and D_1, on a grid.

    Parameters
    ----------
    n, d, m, c, gap
        As in `fires_map`.
    a0, a1 : number, decimal string, array or sequence of these
        Strengths of the marked token on D_0 and on D_1.

    Returns
    -------
    TokenErrors of numpy.ndarray
        ``tokens.errors`` of every point; each has the shape of all parameters broadcast together.

    Raises
    ------
    ValueError, TypeError
        As in `fires_map`.

    Notes
    -----
    An error depends on a0 or on a1 alone, so no law is computed twice along the other.  Extension.
    Claim: map-is-the-law.

    Examples
    --------
    >>> [error.tolist() for error in error_map(4, 4, [1, 2], 0, 1, "0.5")[:2]]
    [[0.625, 0.390625], [0.125, 0.234375]]
    """
    a0, a1 = (_exact(name, a, require_decimal) for name, a in (("a0", a0), ("a1", a1)))
    _require_broadcast(n=n, d=d, m=m, a0=a0, a1=a1, c=c, gap=gap)
    silent = np.exp(_log_silent(m, column_map(n, d, a1, c, "softmax", gap)))
    a0_or_a1 = ((a0, "softmax"), (a0, "linear"), (a1, "linear"))
    fires = [fires_map(n, d, m, a, c, kernel, gap) for a, kernel in a0_or_a1]
    shape = np.broadcast_shapes(silent.shape, a0.shape, a1.shape)
    return TokenErrors(*(np.broadcast_to(error, shape) for error in (silent, *fires)))


def worst(errors):
    """Largest of the four errors at every point.

    Parameters
    ----------
    errors : TokenErrors of array
        As from `error_map`.

    Returns
    -------
    numpy.ndarray
        Of the errors' shape.

    Examples
    --------
    >>> worst(error_map(4, 4, [1, 2], 0, 1, "0.5")).tolist()
    [0.625, 0.390625]
    """
    arrays = [_error(array) for array in require_items("errors", errors)]
    if len({array.shape for array in arrays}) != 1:
        raise ValueError("errors: must be at least one array, all of one shape")
    return np.max(np.stack(arrays), axis=0)


def _error(array):
    require_plain("errors", array)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not np.all((array >= 0) & (array <= 1)):
        raise TypeError(f"errors: an entry is {text_of(array)}, must be an array of probabilities")
    return array


def steps_within(errors, limit, start):
    """How far one parameter can be moved before the worst error exceeds a limit.

    Parameters
    ----------
    errors : TokenErrors of array, shape (k,)
        Errors along one parameter, as from `error_map`.
    limit : float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    start : int
        Where to start, counted from 0.

    Returns
    -------
    tuple of int
        First and last of the neighbouring points around `start` whose errors are all at most the limit.

    Raises
    ------
    ValueError, TypeError
        If an error exceeds the limit already at the start, or an argument breaks its rule.

    Examples
    --------
    >>> steps_within(error_map(4, 4, [1, 2, 3, 4], 0, 1, "0.5"), 0.5, 1)
    (1, 2)
    """
    over = worst(errors) > float(require_probability("limit", limit))
    if over.ndim != 1:
        raise ValueError(f"errors: shape {over.shape}, must be (k,)")
    if not 0 <= require_integer("start", start, least=0) < len(over):
        raise ValueError(f"start = {start}: must be below {len(over)}")
    if over[start]:
        raise ValueError(f"start = {start}: the worst error there exceeds limit = {limit}")
    walls = np.flatnonzero(over)
    return int(max(walls[walls < start], default=-1)) + 1, int(min(walls[walls > start], default=len(over))) - 1


# Parameters


def _exact(name, values, require, **rule):
    """Return the exact numbers that the entries stand for, as an array of objects; every distinct one is read once."""
    require_plain(name, values)
    try:
        array = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} = {text_of(values)}: must be numbers in rows of one length") from None
    known, found = {}, np.empty(array.size, dtype=object)
    for index, value in enumerate(array.flat):
        try:
            known_here = (type(value), value) in known
        except (TypeError, ValueError):  # what has no hash; the rule names it
            known_here = False
        if not known_here:
            number = require(name, value, **rule)
            known[type(value), value] = number
        found[index] = known[type(value), value]
    return found.reshape(array.shape)


def _require_broadcast(**arrays):
    try:
        np.broadcast_shapes(*(np.shape(np.array(x, dtype=object)) for x in arrays.values()))
    except ValueError:
        raise ValueError(f"{', '.join(arrays)}: their shapes do not broadcast") from None


def _checked(n, d, a, c, gap):
    """Return n, d, t, a, c, gap as arrays of exact numbers that meet every rule of `TokenData`."""
    n, d = _exact("n", n, require_integer, least=2), _exact("d", d, require_integer, least=3)
    a, c, gap = (_exact(name, x, require_decimal) for name, x in (("a", a), ("c", c), ("gap", gap)))
    _require_broadcast(n=n, d=d, a=a, c=c, gap=gap)
    for name, array, most in (("n", n, LARGEST), ("d", d, LARGEST_D)):
        if (found := max(array.flat, default=0)) > most:
            raise ValueError(f"{name} = {found}: must be at most {most:.0e}")
    for found in c.flat:
        if not 0 < found < 1:
            raise ValueError(f"c = {float(found)!r}: must lie strictly between 0 and 1")
    n, d = np.broadcast_arrays(n, d)
    for length, width in zip(n.flat, d.flat, strict=True):
        if length % (width - 2):
            raise ValueError(f"n = {length}, d = {width}: n must be (d - 2)t, a multiple of {width - 2}")
    return n, d, np.asarray(n // (d - 2), dtype=object), a, c, gap


# The least number of plus signs


def _least_plus(parameters, kernel):
    """Return d − 3 and, with one more axis for the eight patterns, the least number of plus signs that fires."""
    floats = [_float(array) for array in (*parameters, 1 - parameters[4])]  # 1 − c before rounding: it may be tiny
    with np.errstate(all="ignore"):  # what overflows becomes NaN, and NaN is left to the exact decision
        low, high = (np.stack(ends, axis=-1) for ends in zip(*_enclosures(*floats, kernel), strict=True))
        others = (floats[1] - 3)[..., None] * np.ones_like(low)
        least, most = (np.floor(np.clip(end, -1, others)) + 1 for end in (low, high))
    undecided = np.argwhere(~(least == most))
    shared = np.broadcast_arrays(*parameters)
    for *point, pattern in undecided.tolist():
        n, d, _, a, c, gap = (array[tuple(point)] for array in shared)
        law = Law(TokenData(n=n, d=d, a=a, c=c, gap=gap), kernel)
        least[(*point, pattern)] = law.least_plus(PATTERNS[pattern])
    return others.astype(np.int64), least.astype(np.int64)


def _float(array):
    array = np.asarray(array, dtype=object)
    return np.array([float(value) for value in array.flat]).reshape(array.shape)


def _enclosures(n, d, t, a, c, gap, b, kernel):
    """Yield for every pattern bounds of the number of plus signs that must be exceeded, as in `Law.least_plus`.

    Notes
    -----
    ``tokens.shortfall`` of whole arrays, with t for unit: b S must exceed level + slope R/t.  A negative slope takes
    the larger R, a positive one the smaller.  Where its sign is in doubt, s_low R_large ≤ s R ≤ s_high R_small.
    """
    b = np.where(b > 1e-300, b, np.nan)
    strengths, others, rest, own = Strengths(a, b, c, gap), (d - 3) / 2, (n - 1) / t, (t - 1) / t
    logs = [np.log1p(a) + 0 * n] * 2 if kernel == "linear" else [a * (1 + a) * np.log(n), a * np.log(n)]
    (large_low, large_high), (small_low, small_high) = (_ratio(log, np.log(t)) for log in logs)
    for signs in PATTERNS:
        level = others + shortfall(strengths, signs, total=rest, own=own) / (2 * b)
        slope = shortfall(strengths, signs, total=1, marked=1, own=1) / (2 * b)
        g = shortfall(strengths, signs, total=1)
        error, doubt = SLACK * (others + g / b * rest / 2 + 1), SLACK * (g + a + b) / b
        low, high = slope - doubt, slope + doubt
        yield (
            level - error + np.where(low > 0, low * small_low, low * large_high),
            level + error + np.where(high > 0, high * small_high, high * large_low),
        )


def _ratio(log_R, log_t):
    """Return bounds of R/t; what is too large is unbounded above."""
    z, error = log_R - log_t, SLACK * (1 + log_R + log_t)
    middle = np.exp(np.minimum(z, FAR))
    return middle * (1 - error), np.where(z > FAR, np.inf, middle * (1 + error))


# Probabilities


def _tails(others, least):
    """Return the mean of the eight binomial tails; each distinct one is computed once, width by width."""
    keys, where = np.unique(others * 2**20 + least, return_inverse=True)
    tails = np.array([sign_sums.binomial_tail(*divmod(key, 2**20)) for key in keys.tolist()])
    return np.mean(tails[where.reshape(others.shape)], axis=-1)


def _log_silent(m, pi):
    """Return m log(1 − π)."""
    m = _exact("m", m, require_integer, least=1)
    if (most := max(m.flat, default=1)) > sign_sums.MOST_COLUMNS:
        raise ValueError(f"m = {most}: must be at most 10^300")
    with np.errstate(divide="ignore"):  # π = 1 fires for certain
        return _float(m) * np.log1p(-pi)
