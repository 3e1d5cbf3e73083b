"""Firing frequencies of the kernels that have no closed law: random features, windows, and all without a known gain."""

import math

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import distinct_rows, values
from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_generator, require_integer
from attnsep.paper.gains import floor_linear, gains, has_gain
from attnsep.paper.tokens import TokenData

MOST_NUMBERS, MOST_IN_ALL = 10**8, 2 * 10**9  # drawn or summed, for one network and for all


TIE = 64 * np.finfo(float).eps  # of the threshold: a sum that is above it by less is a tie, which does not fire


def fired_networks(rng, n, d, m, a, c, kernel, gap=0.1, *, draws=1000):
    """How many of so many random networks fire on the data, for a kernel without a closed law.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the signs, and of the random features: fresh ones for every network.
    n, d, a, c, gap
        As in ``data.TokenData``; the marked token is the first one.
    m : int
        Number of sign columns, at least 1.
    kernel : Kernel or str
        One that ``gains.has_gain`` does not know, such as ``performer:M`` or ``window:w``.
    draws : int
        Number of networks, at least 1.

    Returns
    -------
    int

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or one network would need more than 10^8 numbers, or all 2·10^9.

    Notes
    -----
    Window and performer need no matrix of tokens; any other kernel is asked for its outputs on one.
    Window: softmax over the `seen` tokens near a row's own.  With g = gap + c(1 − y_d) a row that sees the marked
    token exceeds τ if and only if b Σ_{i≠j*} y_{class(i)} > g(seen − 1) + R(g − a y_1 − b y_{k*}), and one that does
    not if b Σ y_{class(i)} > g seen.
    Whole numbers against an exact floor, so ties are right.
    Performer: the weights of the d − 2 classes and of the marked token from the logarithms of their features.
    Extension.  Claim: sampled-kernels.

    Examples
    --------
    >>> fired_networks(np.random.default_rng(1), 6, 5, 2, "0.7", "0.5", "window:1", draws=50)
    34
    """
    require_generator(rng)
    data, m = TokenData(n=n, d=d, a=a, c=c, gap=gap), require_integer("m", m, least=1)
    kernel = require_kernel(kernel)
    if has_gain(kernel):
        raise ValueError(f"kernel = {str(kernel)!r}: has an exact law, see tokens.fires_probability")
    rows = _ROWS.get(kernel.name, _matrix_rows)
    matrix = data.n * data.d if rows is _matrix_rows else 1
    numbers = max(data.n * m, data.d * m, data.d * (kernel.parameter if kernel.random else 1), matrix)
    if numbers > MOST_NUMBERS:
        raise ValueError(
            f"n, d, m, kernel = {n}, {d}, {m}, {str(kernel)!r}: one network must need at most 10^8 numbers"
        )
    if numbers * require_integer("draws", draws, least=1) > MOST_IN_ALL:
        raise ValueError(f"draws = {draws}: must be at most {MOST_IN_ALL // numbers} for networks of this size")
    exceeds = rows(data, kernel, rng)
    return sum(exceeds(2 * rng.integers(0, 2, (data.d, m)) - 1) for _ in range(draws))


def _matrix_rows(data, kernel, rng):
    """Return a function that says whether some row of the matrix's outputs and some column exceed the threshold."""
    A, X = data.matrix(np), data.X(np)
    level = data.tau * (1 + TIE)
    if kernel.random:
        return lambda y: bool(np.any(values(A, A, A, X, kernel, rng=rng) @ y > level))
    rows = to_numpy(distinct_rows(values(A, A, A, X, kernel))[0])
    return lambda y: bool(np.any(rows @ y > level))


def _window_rows(data, kernel, rng):
    """Return a function that says whether some row and column exceed the threshold, one column at a time."""
    place, width, classes = np.arange(data.n), min(kernel.width, data.n), data.classes(np)
    first, end = np.maximum(place - width, 0), np.minimum(place + width, data.n - 1) + 1
    kinds = list(zip((end - first).tolist(), (first == 0).tolist(), (place == 0).tolist(), strict=True))
    rows, floors = gains(data.n, data.a), {}

    def exceeds(y):
        for column in y.T:
            pattern = tuple(column[[0, 1, -1]].tolist())
            if pattern not in floors:
                floor = _window_floor(data, rows, *pattern)
                found = {kind: floor(*kind) for kind in set(kinds)}
                floors[pattern] = np.array([found[kind] for kind in kinds])
            signs = column[1 + classes]
            signs[0] = 0  # the marked token has its own term
            sums = np.concatenate([[0], np.cumsum(signs)])
            if np.any(sums[end] - sums[first] > floors[pattern]):
                return True
        return False

    return exceeds


def _window_floor(data, rows, y_first, y_own, y_last):
    """Return a function: the floor that the other tokens' signs must exceed in a row that sees so many tokens."""
    g, b = data.gap + data.c * (1 - y_last), data.b
    level, slope = g / b, (g - data.a * y_first - b * y_own) / b

    def floor(seen, sees, own):
        if not sees:
            return min(math.floor(level * seen), seen)
        # From −seen − 1, always, to seen, never.
        return floor_linear(level * (seen - 1) + seen, slope, rows[0] if own else rows[1], 2 * seen) - seen

    return floor


def _performer_rows(data, kernel, rng):
    """Return a function that draws features and says whether some row and column exceed the threshold."""
    L, (a, b, c) = data.log_n, map(float, (data.a, data.b, data.c))
    counts = np.full(data.d - 2, float(data.t))
    counts[0] -= 1
    level = float(data.c + data.gap)

    def exceeds(y):
        omega = np.sqrt(L) * rng.standard_normal((data.d, kernel.features))
        keys = b * omega[1:-1] + c * omega[-1] - L * (b * b + c * c) / 2
        keys = np.vstack([keys[0] + a * omega[0] - L * a * a / 2, keys])
        keys = np.exp(keys - np.max(keys))
        queries = np.outer([1 + a, 1], np.sum(omega, axis=0))
        mass = np.exp(queries - np.max(queries, axis=1, keepdims=True)) @ keys.T * [1, *counts]
        mass /= np.sum(mass, axis=1, keepdims=True)
        classes = mass[:, 1:] + mass[:, :1] * np.eye(1, data.d - 2)
        outputs = np.hstack([a * mass[:, :1], b * classes, np.full((2, 1), c)])
        return bool(np.any(outputs @ y > level))

    return exceeds


_ROWS = {"window": _window_rows, "performer": _performer_rows}
