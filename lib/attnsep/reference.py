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


def polynomial(scores, degree):
    """Weights of one row in proportion to a power of the scores; exact on Fractions.

    Examples
    --------
    >>> polynomial([1.0, 3.0], 2)
    [0.1, 0.9]
    """
    return linear([score**degree for score in scores])


def squared_relu(scores):
    """Weights of one row in proportion to the squares of the positive scores; exact on Fractions.

    Examples
    --------
    >>> squared_relu([-5.0, 1.0, 3.0])
    [0.0, 0.1, 0.9]
    """
    return linear([max(score, 0) ** 2 for score in scores])


def sigmoid(scores):
    """Weights of one row in proportion to 1/(1 + e^{-score}).

    Examples
    --------
    >>> sigmoid([0.0, 0.0])
    [0.5, 0.5]
    """
    return linear([1 / (1 + math.exp(-score)) for score in scores])


def top_k(scores, k):
    """Softmax weights of one row over its k largest scores, the first of equal ones.

    Examples
    --------
    >>> top_k([0.0, 0.0, 0.0], 2)
    [0.5, 0.5, 0]
    """
    kept = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
    shares = dict(zip(kept, softmax([scores[i] for i in kept]), strict=True))
    return [shares.get(i, 0) for i in range(len(scores))]


def hard(scores):
    """Equal weights of one row on its largest scores.

    Examples
    --------
    >>> hard([2.0, 1.0, 2.0])
    [0.5, 0.0, 0.5]
    """
    return [(score == max(scores)) / scores.count(max(scores)) for score in scores]


def sparsemax(scores, power=1):
    """Weights max(score − θ, 0)^power of one row, by bisection of the θ at which they sum to one.

    Examples
    --------
    >>> sparsemax([0.0, 2.0])
    [0, 1.0]
    """
    low, high = max(scores) - 1, max(scores)
    for _ in range(200):
        middle = (low + high) / 2
        enough = sum(max(score - middle, 0) ** power for score in scores) >= 1
        low, high = (middle, high) if enough else (low, middle)
    return [max(score - low, 0) ** power for score in scores]


def entmax(scores):
    """Weights max(score/2 − θ, 0)² of one row.

    Examples
    --------
    >>> entmax([0.0, 2.0])
    [0, 1.0]
    """
    return sparsemax([score / 2 for score in scores], power=2)


def weights(scores, kernel="softmax"):
    """Weights of one row by the kernel's name, with its parameter after a colon.

    Examples
    --------
    >>> weights([1.0, 3.0], "polynomial:2")
    [0.1, 0.9]
    """
    name, _, number = kernel.partition(":")
    if name == "softmax":
        return softmax([float(number or 1) * score for score in scores])
    return OF_SCORES[name](scores, *map(int, number.split()))


OF_SCORES = {
    "linear": linear,
    "polynomial": polynomial,
    "squared-relu": squared_relu,
    "sigmoid": sigmoid,
    "topk": top_k,
    "sparsemax": sparsemax,
    "entmax": entmax,
    "hard": hard,
}
FEATURES = {"elu+1": lambda x: x + 1 if x > 0 else math.exp(x), "relu": lambda x: max(x, 0)}


def attend(q, k, v, kernel="softmax"):
    """Attention outputs of every query row, one row of scores at a time.

    Examples
    --------
    >>> attend([[1.0]], [[1.0], [3.0]], [[4.0], [8.0]], kernel="linear")
    [[7.0]]
    """
    name, _, number = kernel.partition(":")
    if name in FEATURES:
        kernel = "linear"
        q, k = ([[FEATURES[name](x) for x in row] for row in rows] for rows in (q, k))
    scores = matmul(q, transpose(k))
    if name != "window":
        return matmul([weights(row, kernel) for row in scores], v)
    near = [[i for i in range(len(k)) if abs(i - j) <= int(number)] for j in range(len(q))]
    rows = zip(scores, near, strict=True)
    return [matmul([softmax([row[i] for i in places])], [v[i] for i in places])[0] for row, places in rows]


def values(A1, A2, A3, X, kernel="softmax"):
    """Rows c_j = A3ᵀ f_j by the letter: every score from the Kronecker matrix, every weight, every sum.

    Examples
    --------
    >>> values([[1], [3]], [[1], [3]], [[1.0], [3.0]], [[1]], kernel="linear")
    [[2.5], [2.5]]
    """
    return matmul([weights(row, kernel) for row in kronecker_scores(A1, A2, X)], A3)


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
