"""Slow twins, straight from the definitions: plain loops over Python numbers.

They take nested lists (or arrays) of integers, Fractions or floats and keep the number type, so that integer
input stays exact.  Nothing in the book computes with them except to compare.
"""

import math
import numbers

from attnsep.attention.kernels import OfScores, require_kernel
from attnsep.checks import require_plain, text_of

LARGEST_DOUBLE = 10**308


def _matrix(name, X):
    """Return the rows as lists, or raise a TypeError unless they are real numbers in rows of one length."""
    require_plain(name, X)
    try:
        rows = [[_plain(x) for x in row] for row in X]
        fits = len({len(row) for row in rows}) == 1 and len(rows[0]) > 0
        fits = fits and all(isinstance(x, numbers.Real) and abs(x) < math.inf for row in rows for x in row)
    except TypeError:
        fits = False
    if not fits:
        raise TypeError(f"{name}: must be rows of finite real numbers, of one length")
    return rows


def _plain(x):
    """Return a number as Python's own: NumPy's integers would overflow, and its long doubles take no Fractions."""
    x = x.item() if getattr(x, "shape", None) == () else x
    return float(x) if hasattr(x, "dtype") else x


def _line(name, numbers):
    """Return one row as a list, or raise an error unless it is at least one real number."""
    require_plain(name, numbers)
    (row,) = _matrix(name, [numbers] if not isinstance(numbers, str) else numbers)
    return row


def _require_fit(names, have, want):
    """Raise a ValueError unless two lengths agree."""
    if have != want:
        raise ValueError(f"{names}: lengths {have} and {want} must be equal")


def kronecker(A1, A2):
    """Return A1 ⊗ A2 as nested lists: entry (j n + i, p d + q) is A1[j][p] · A2[i][q].

    Examples
    --------
    >>> kronecker([[1, 2]], [[3, 4]])
    [[3, 4, 6, 8]]
    """
    A1, A2 = _matrix("A1", A1), _matrix("A2", A2)
    return [[a * b for a in row1 for b in row2] for row1 in A1 for row2 in A2]


def vec(X, order="row"):
    """Stack the rows (``row``, the book's vec) or the columns (``column``) of X into one list.

    Examples
    --------
    >>> vec([[1, 2], [3, 4]]), vec([[1, 2], [3, 4]], order="column")
    ([1, 2, 3, 4], [1, 3, 2, 4])
    """
    X = _matrix("X", X)
    if not isinstance(order, str) or order not in ("row", "column"):
        raise ValueError(f"order = {text_of(order)}: must be row or column")
    return [entry for line in (X if order == "row" else transpose(X)) for entry in line]


def transpose(X):
    """Return the transpose as nested lists.

    Examples
    --------
    >>> transpose([[1, 2], [3, 4]])
    [[1, 3], [2, 4]]
    """
    return [list(column) for column in zip(*_matrix("X", X), strict=True)]


def matmul(A, B):
    """Return the matrix product as nested lists.

    Examples
    --------
    >>> matmul([[1, 2]], [[3], [4]])
    [[11]]
    """
    A, B = _matrix("A", A), _matrix("B", B)
    for row in A[:1]:
        _require_fit("A, B", len(row), len(B))
    columns = transpose(B)
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in columns] for row in A]


def kronecker_scores(A1, A2, X, order="row"):
    """Scores of all rows by the letter of the tensor trick: block j of A1 ⊗ A2 times vec(X).

    Examples
    --------
    >>> kronecker_scores([[1, 2], [3, 4]], [[1, 2], [3, 4]], [[0, 1], [0, 0]])
    [[2, 4], [6, 12]]
    """
    A1, A2, X = _matrix("A1", A1), _matrix("A2", A2), _matrix("X", X)
    x = [[entry] for entry in vec(X, order)]
    for row1, row2 in zip(A1[:1], A2[:1], strict=False):
        _require_fit("A1, A2, X", len(row1) * len(row2), len(x))
    flat = [entry for (entry,) in matmul(kronecker(A1, A2), x)]
    n = len(A2)
    return [flat[j * n : (j + 1) * n] for j in range(len(A1))]


def weights(scores, kernel="softmax"):
    """Weights of one row by the twin of a kernel of scores.

    Examples
    --------
    >>> weights([1.0, 3.0], "polynomial:2"), weights([2.0, 1.0, 2.0], "hard")
    ([0.1, 0.9], [0.5, 0.0, 0.5])
    """
    kernel = require_kernel(kernel)
    if not isinstance(kernel, OfScores):
        raise ValueError(f"kernel = {str(kernel)!r}: has weights that depend on more than the scores")
    row = _line("scores", scores)
    try:
        return kernel._twin(row)
    except ValueError as error:
        raise ValueError(f"kernel = {str(kernel)!r}: {error}") from None


def attend(q, k, v, kernel="softmax"):
    """Attention outputs of every query row, one row of scores at a time.

    Examples
    --------
    >>> attend([[1.0]], [[1.0], [3.0]], [[4.0], [8.0]], kernel="linear")
    [[7.0]]
    """
    q, k, v, kernel = _matrix("q", q), _matrix("k", k), _matrix("v", v), require_kernel(kernel)
    _require_fit("k, v", len(k), len(v))
    for row, key in zip(q[:1], k[:1], strict=False):
        _require_fit("q, k", len(row), len(key))
    if isinstance(kernel, OfScores):
        return matmul([weights(row, kernel) for row in matmul(q, transpose(k))], v)
    try:
        return matmul(kernel._twin(q, k), v)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"q, k, kernel = {str(kernel)!r}: {error}") from None


def values(A1, A2, A3, X, kernel="softmax"):
    """Rows o_j = A3ᵀ f_j by the letter: every score from the Kronecker matrix, every weight, every sum.

    Examples
    --------
    >>> values([[1], [3]], [[1], [3]], [[1.0], [3.0]], [[1]], kernel="linear")
    [[2.5], [2.5]]
    """
    A2, A3 = _matrix("A2", A2), _matrix("A3", A3)
    _require_fit("A2, A3", len(A2), len(A3))
    return matmul([weights(row, kernel) for row in kronecker_scores(A1, A2, X)], A3)


def network(rows, y, tau):
    """F from its definition, number by number; exact on Fractions.

    Examples
    --------
    >>> network([[0.5, 0.5]], [[1, 1], [1, -1]], 0.25)
    0.75
    """
    total, rows, y = 0, _matrix("rows", rows), _matrix("y", y)
    (tau,) = _line("tau", [tau])
    if abs(tau) > LARGEST_DOUBLE:
        raise ValueError("tau: is too large for a double")
    for row in rows[:1]:
        _require_fit("rows, y", len(row), len(y))
    for row in rows:
        for column in transpose(y):
            total += max(sum(c * sign for c, sign in zip(row, column, strict=True)) - tau, 0)
    return max(total, 0)
