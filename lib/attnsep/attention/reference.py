"""Slow twins, straight from the definitions: plain loops over Python numbers.

They take nested lists (or arrays) of integers, Fractions or floats and keep the number type, so that integer
input stays exact.  Nothing in the book computes with them except to compare.
"""

import math
import numbers

from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_integer, require_plain, text_of

MOST_DEGREE = 10**4


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


def _exp(score):
    try:
        return math.exp(score)
    except OverflowError:
        raise ValueError("scores: an exponential is too large for a double") from None


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


def softmax(scores):
    """Softmax weights of one row, by the definition u / Σ u with u = exp(score).

    Examples
    --------
    >>> softmax([0.0, 0.0])
    [0.5, 0.5]
    """
    u = [_exp(score) for score in _line("scores", scores)]
    if not any(u):
        raise ValueError("scores: all exponentials are too small for a double")
    return [entry / math.fsum(u) for entry in u]


def linear(scores):
    """Linear weights of one row, by the definition u / Σ u with u = score; exact on Fractions.

    Examples
    --------
    >>> linear([1.0, 3.0])
    [0.25, 0.75]
    """
    scores = _line("scores", scores)
    if (total := sum(scores)) == 0:
        raise ValueError("scores: sum to 0 (alpha_lin = 0); linear attention is undefined")
    return [score / total for score in scores]


def polynomial(scores, degree):
    """Weights of one row in proportion to a power of the scores; exact on Fractions.

    Examples
    --------
    >>> polynomial([1.0, 3.0], 2)
    [0.1, 0.9]
    """
    degree = require_integer("degree", degree, least=1, most=MOST_DEGREE)
    try:
        powers = [score**degree for score in _line("scores", scores)]
    except OverflowError:
        raise ValueError(f"scores, degree = {degree}: a power is too large for a double") from None
    try:
        return linear(powers)
    except ValueError as error:
        raise ValueError(f"scores, degree = {degree}: powers as {error}") from None


def squared_relu(scores):
    """Weights of one row in proportion to the squares of the positive scores; exact on Fractions.

    Examples
    --------
    >>> squared_relu([-5.0, 1.0, 3.0])
    [0.0, 0.1, 0.9]
    """
    return polynomial([max(score, 0) for score in _line("scores", scores)], 2)


def sigmoid(scores):
    """Weights of one row in proportion to 1/(1 + e^{-score}).

    Examples
    --------
    >>> sigmoid([0.0, 0.0])
    [0.5, 0.5]
    """
    return linear([1 / (1 + _exp(-score)) for score in _line("scores", scores)])


def top_k(scores, k):
    """Softmax weights of one row over its k largest scores, the first of equal ones.

    Examples
    --------
    >>> top_k([0.0, 0.0, 0.0], 2)
    [0.5, 0.5, 0]
    """
    scores, k = _line("scores", scores), require_integer("k", k, least=1)
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
    scores = _line("scores", scores)
    return [(score == max(scores)) / scores.count(max(scores)) for score in scores]


def sparsemax(scores, power=1):
    """Weights max(score − θ, 0)^power of one row, by bisection of the θ at which they sum to one.

    Examples
    --------
    >>> sparsemax([0.0, 2.0])
    [0, 1.0]
    """
    scores, power = _line("scores", scores), require_integer("power", power, least=1, most=2)
    top = max(scores)
    low, high = top - top - 1, top - top  # numbers of the scores' own kind
    scores = [max(score - top, -2) for score in scores]  # θ ≥ −1 here: what is lower counts for nothing
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
    [0.0, 1.0]
    """
    scores = _line("scores", scores)
    return sparsemax([max(score - max(scores), -4) / 2 for score in scores], power=2)


def weights(scores, kernel="softmax"):
    """Weights of one row by the kernel's name, with its parameter after a colon.

    Examples
    --------
    >>> weights([1.0, 3.0], "polynomial:2")
    [0.1, 0.9]
    """
    name, parameter = require_kernel(kernel)
    if name == "softmax":
        return softmax([float(parameter) * score for score in _line("scores", scores)])
    if name not in OF_SCORES:
        raise ValueError(f"kernel = {kernel!r}: has weights that depend on more than the scores")
    try:
        return OF_SCORES[name](scores) if parameter is None else OF_SCORES[name](scores, parameter)
    except ValueError as error:
        raise ValueError(f"kernel = {kernel!r}: {error}") from None


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
    q, k, v, (name, width) = _matrix("q", q), _matrix("k", k), _matrix("v", v), require_kernel(kernel)
    if name == "performer":
        raise ValueError(f"kernel = {kernel!r}: has random weights")
    _require_fit("k, v", len(k), len(v))
    for row, key in zip(q[:1], k[:1], strict=False):
        _require_fit("q, k", len(row), len(key))
    if name in FEATURES:
        kernel = "linear"
        q, k = ([[FEATURES[name](x) for x in row] for row in rows] for rows in (q, k))
    scores = matmul(q, transpose(k))
    if name != "window":
        return matmul([weights(row, kernel) for row in scores], v)
    near = [[i for i in range(len(k)) if abs(i - j) <= width] for j in range(len(q))]
    _require_fit("q, k", len(q), len(k))
    rows = zip(scores, near, strict=True)
    return [matmul([softmax([row[i] for i in places])], [v[i] for i in places])[0] for row, places in rows]


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
