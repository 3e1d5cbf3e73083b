"""Firing frequencies of the kernels that have no closed law: random features, windows, and all without a known gain."""

from typing import NamedTuple

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import distinct_rows, values
from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_generator, require_instance, require_integer
from attnsep.paper.gains import has_gain
from attnsep.paper.tokens import Law, Signs, TokenData, Visible, shortfall, sum_floor

MOST_NUMBERS, MOST_IN_ALL = 10**8, 2 * 10**9  # drawn or summed, for one network and for all


TIE = 64 * np.finfo(float).eps  # of the threshold: a sum that is above it by less is a tie, which does not fire


def fired_networks(rng, data, m, kernel, *, draws=1000):
    """How many of so many random networks fire on the data, for a kernel without a closed law.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the signs, and of the random features: fresh ones for every network.
    data : TokenData
        The data; the marked token is the first one.  Classes must be equal for performer.
    m : int
        Number of sign columns, at least 1.
    kernel : Kernel or str
        One that ``gains.has_gain`` does not know, such as ``performer:256`` or ``window:40``.
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
    Window: softmax over the tokens near a row's own; the law is ``tokens.shortfall`` of what each row sees, whole
    numbers against an exact floor, so ties are right.
    Performer: the weights of the d − 2 classes and of the marked token from the logarithms of their features.
    Extension.  Claim: sampled-kernels.

    Examples
    --------
    >>> data = TokenData(n=6, d=5, a="0.7", c="0.5")
    >>> fired_networks(np.random.default_rng(1), data, 2, "window:1", draws=50)
    34
    """
    require_generator(rng)
    require_instance("data", data, TokenData)
    m = require_integer("m", m, least=1)
    kernel = require_kernel(kernel)
    if has_gain(kernel):
        raise ValueError(f"kernel = {str(kernel)!r}: has an exact law, see tokens.Law")
    if data.marked:
        raise ValueError(f"marked = {data.marked}: must be 0, the first token")
    rows = _ROWS.get(kernel.name, _matrix_rows)
    matrix = data.n * data.d if rows is _matrix_rows else 1
    numbers = max(data.n * m, data.d * m, data.d * (kernel.parameter if kernel.random else 1), matrix)
    if numbers > MOST_NUMBERS:
        raise ValueError(
            f"n, d, m, kernel = {data.n}, {data.d}, {m}, {str(kernel)!r}: one network must need at most 10^8 numbers"
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
    return _Windows(data, kernel).exceeds


class _Row(NamedTuple):
    """What decides about a row: how many tokens it sees, whether the mark is one of them, and whether it is marked."""

    tokens: int
    sees_mark: bool
    is_marked: bool


class _Windows:
    """The rows of a sliding window, and whether some row exceeds the threshold for given signs."""

    def __init__(self, data, kernel):
        place, width = np.arange(data.n), min(kernel.width, data.n)
        self.law, self.classes = Law(data), data.classes(np)
        self.first, self.end = np.maximum(place - width, 0), np.minimum(place + width, data.n - 1) + 1
        sizes, sees_mark, is_marked = (self.end - self.first).tolist(), self.first == 0, place == 0
        self.rows = [_Row(*row) for row in zip(sizes, sees_mark.tolist(), is_marked.tolist(), strict=True)]
        self.floors = {}

    def exceeds(self, y):
        """Whether some row and column exceed the threshold, one column at a time."""
        return any(self._column_exceeds(column) for column in y.T)

    def _column_exceeds(self, column):
        signs = Signs(int(column[0]), int(column[1]), int(column[-1]))
        if signs not in self.floors:
            found = {row: self._floor(row, signs) for row in set(self.rows)}
            self.floors[signs] = np.array([found[row] for row in self.rows])
        others = column[1 + self.classes]
        others[0] = 0  # the marked token has its own term
        sums = np.concatenate([[0], np.cumsum(others)])
        return bool(np.any(sums[self.end] - sums[self.first] > self.floors[signs]))

    def _floor(self, row, signs):
        """Return the floor that the signs of all other visible tokens must exceed."""
        data = self.law.data
        if not row.sees_mark:
            return min(shortfall(data.strengths, signs, total=row.tokens) // data.strengths.b, row.tokens)
        # The other tokens of the mark's class are counted one by one, as all others are.
        visible = Visible(row.tokens, 1, ((1, row.tokens - 1),))
        R = self.law.gains[0 if row.is_marked else 1]
        return sum_floor(data, visible, (R, R), signs)


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
