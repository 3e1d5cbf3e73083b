"""Slow twins, straight from the definitions: plain loops over Python numbers.

They take nested lists (or arrays) of integers, Fractions or floats and keep the number type, so that integer
input stays exact.  Nothing in the book computes with them except to compare.
"""

import math


def kronecker(A1, A2):
    """Return A1 ⊗ A2 as nested lists: entry (j n + i, p d + q) is A1[j][p] · A2[i][q].

    Examples
    --------
    >>> kronecker([[1, 2]], [[3, 4]])
    [[3, 4, 6, 8]]
    """
    return [[a * b for a in row1 for b in row2] for row1 in A1 for row2 in A2]


def vec(X, order="row"):
    """Stack the rows (``row``, the book's vec) or the columns (``column``) of X into one list.

    Examples
    --------
    >>> vec([[1, 2], [3, 4]]), vec([[1, 2], [3, 4]], order="column")
    ([1, 2, 3, 4], [1, 3, 2, 4])
    """
    if order not in ("row", "column"):
        raise ValueError(f"order = {order!r}: must be row or column")
    return [entry for line in (X if order == "row" else transpose(X)) for entry in line]


def transpose(X):
    """Return the transpose as nested lists.

    Examples
    --------
    >>> transpose([[1, 2], [3, 4]])
    [[1, 3], [2, 4]]
    """
    return [list(column) for column in zip(*X, strict=True)]


def matmul(A, B):
    """Return the matrix product as nested lists.

    Examples
    --------
    >>> matmul([[1, 2]], [[3], [4]])
    [[11]]
    """
    return [[sum(a * b for a, b in zip(row, column, strict=True)) for column in transpose(B)] for row in A]


def kronecker_scores(A1, A2, X, order="row"):
    """Scores of all rows by the letter of the tensor trick: block j of A1 ⊗ A2 times vec(X).

    Examples
    --------
    >>> kronecker_scores([[1, 2], [3, 4]], [[1, 2], [3, 4]], [[0, 1], [0, 0]])
    [[2, 4], [6, 12]]
    """
    x = [[entry] for entry in vec(X, order)]
    flat = [entry for (entry,) in matmul(kronecker(A1, A2), x)]
    n = len(A2)
    return [flat[j * n : (j + 1) * n] for j in range(len(A1))]


def softmax(scores):
    """Softmax weights of one row, by the definition u / Σ u with u = exp(score).

    Examples
    --------
    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    u = [math.exp(score) for score in scores]
    return [entry / math.fsum(u) for entry in u]


def linear(scores):
    """Linear weights of one row, by the definition u / Σ u with u = score; exact on Fractions.

    Examples
    --------
    >>> linear([1.0, 3.0])
    [0.25, 0.75]
    """
    return [score / sum(scores) for score in scores]


def attend(q, k, v, kernel="softmax"):
    """Attention outputs of every query row, one row of scores at a time.

    Examples
    --------
    >>> attend([[1.0]], [[1.0], [3.0]], [[4.0], [8.0]], kernel="linear")
    [[7.0]]
    """
    return matmul([{"softmax": softmax, "linear": linear}[kernel](row) for row in matmul(q, transpose(k))], v)


def values(A1, A2, A3, X, kernel="softmax"):
    """Rows c_j = A3ᵀ f_j by the letter: every score from the Kronecker matrix, every weight, every sum.

    Examples
    --------
    >>> values([[1], [3]], [[1], [3]], [[1.0], [3.0]], [[1]], kernel="linear")
    [[2.5], [2.5]]
    """
    weights = [{"softmax": softmax, "linear": linear}[kernel](row) for row in kronecker_scores(A1, A2, X)]
    return matmul(weights, A3)


def network(rows, y, tau):
    """F from its definition, number by number; exact on Fractions.

    Examples
    --------
    >>> network([[0.5, 0.5]], [[1, 1], [1, -1]], 0.25)
    0.75
    """
    total = 0
    for row in rows:
        for column in transpose(y):
            total += max(sum(c * sign for c, sign in zip(row, column, strict=True)) - tau, 0)
    return max(total, 0)
