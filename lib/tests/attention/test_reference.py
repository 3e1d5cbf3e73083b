"""The slow twins against NumPy: a twin that is wrong in the same way as the library would prove nothing."""

from fractions import Fraction

import numpy as np
import pytest

from attnsep.attention import reference


def test_kronecker_is_numpys(rng):
    A1, A2 = rng.integers(-9, 10, (3, 2)), rng.integers(-9, 10, (4, 5))
    assert np.array_equal(reference.kronecker(A1, A2), np.kron(A1, A2))


def test_scores_of_more_keys_than_queries():
    assert reference.kronecker_scores([[1], [2]], [[1], [2], [3]], [[1]]) == [[1, 2, 3], [2, 4, 6]]


def test_vec_orders(rng):
    X = rng.integers(-9, 10, (3, 3))
    assert reference.vec(X) == X.reshape(-1).tolist()
    assert reference.vec(X, order="column") == X.reshape(-1, order="F").tolist()
    with pytest.raises(ValueError, match="order = 'F': must be row or column"):
        reference.vec(X, order="F")


def test_matmul_is_numpys(rng):
    A, B = rng.integers(-9, 10, (3, 4)), rng.integers(-9, 10, (4, 2))
    assert np.array_equal(reference.matmul(A, B), A @ B)


def test_linear_stays_exact_on_fractions():
    assert reference.weights([Fraction(1), Fraction(2)], "linear") == [Fraction(1, 3), Fraction(2, 3)]


def test_softmax_by_hand():
    e = np.e
    np.testing.assert_allclose(reference.weights([0.0, 1.0]), [1 / (1 + e), e / (1 + e)], rtol=1e-15)


def test_attend_is_numpys(rng):
    q, k, v = rng.uniform(0, 1, (3, 2)), rng.uniform(0, 1, (5, 2)), rng.standard_normal((5, 4))
    scores = q @ k.T
    softmax = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    np.testing.assert_allclose(reference.attend(q, k, v), softmax @ v, rtol=1e-13)
    linear = scores / scores.sum(1, keepdims=True)
    np.testing.assert_allclose(reference.attend(q, k, v, kernel="linear"), linear @ v, rtol=1e-13)


def test_values_and_network_stay_exact_on_fractions():
    half = Fraction(1, 2)
    A, X = [[half, 1], [0, 1]], [[1, 1], [1, 1]]
    rows = reference.values(A, A, A, X, kernel="linear")
    assert rows == [[Fraction(3, 10), 1]] * 2  # scores 9/4, 3/2 and 3/2, 1: weights 3/5 and 2/5 in both rows
    y = [[1, 1], [1, -1]]
    assert reference.network(rows, y, 1) == Fraction(3, 5)
    assert reference.network(rows, y, Fraction(13, 10)) == 0


def test_other_numbers_become_pythons_own():
    assert reference.network([[Fraction(1, 4), np.int8(100)]], [[1], [1]], np.longdouble(0.25)) == 100
    assert reference.network([[np.int8(100), np.int8(100)]], [[1], [1]], 0) == 200
    assert reference.network([[np.int64(2**53 + 1)]], [[1]], 0) == 2**53 + 1  # no float


def test_powers_that_sum_to_nothing_are_named():
    with pytest.raises(ValueError, match="kernel = 'polynomial:3': scores: sum to 0"):
        reference.weights([1, -1], "polynomial:3")


def test_network_is_numpys(rng):
    rows, y = rng.standard_normal((4, 3)), np.sign(rng.standard_normal((3, 5)))
    assert reference.network(rows, y, 0.25) == pytest.approx(np.maximum(rows @ y - 0.25, 0).sum(), rel=1e-13)


@pytest.mark.parametrize(
    "rows", [[], [[]], [[1], [1, 2]], [[np.inf]], [[1, np.nan]], [[1], [np.nan]], [["1"]], [[1j]], 7]
)
def test_what_is_no_matrix_is_named(rows):
    with pytest.raises(TypeError, match="X: must be rows of finite real numbers, of one length"):
        reference.transpose(rows)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: reference.matmul([[1, 2]], [[1]]), "A, B: lengths 2 and 1 must be equal"),
        (lambda: reference.kronecker_scores([[1, 2]], [[1]], [[1]]), "A1, A2, X: lengths 2 and 1 must be equal"),
        (lambda: reference.attend([[1, 2]], [[1]], [[1]]), "q, k: lengths 2 and 1 must be equal"),
        (lambda: reference.attend([[1, 2]], [[1]], [[1]], "relu"), "q, k: lengths 2 and 1 must be equal"),
        (lambda: reference.attend([[1]], [[1]], [[1], [2]]), "k, v: lengths 1 and 2 must be equal"),
        (lambda: reference.values([[1]], [[1]], [[1], [2]], [[1]]), "A2, A3: lengths 1 and 2 must be equal"),
        (lambda: reference.network([[1, 2]], [[1]], 0), "rows, y: lengths 2 and 1 must be equal"),
        (lambda: reference.network([[1]], [[1]], -(10**308) - 1), "tau: is too large for a double"),
        (lambda: reference.network([[1]], [[1]], 10**308 + 1), "tau: is too large for a double"),
        (
            lambda: reference.weights([1, 2], "polynomial:10001"),
            "kernel = 'polynomial:10001': degree = 10001: must be at most 10000",
        ),
        (lambda: reference.weights([1], "relu"), "kernel = 'relu': has weights that depend on more than the scores"),
    ],
)
def test_what_does_not_fit_is_named(call, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        call()


def test_the_largest_threshold_is_where_it_is_said_to_be():
    assert reference.network([[1]], [[1]], 10**308) == 0
    assert reference.network([[1]], [[1]], -(10**308)) == 10**308 + 1


@pytest.mark.parametrize("kernel", ["elu+1", "relu", "window:1"])
def test_what_no_double_holds_is_said_of_queries_and_keys(kernel):
    with pytest.raises(ValueError, match=r"^q, k, kernel = .*: int too large to convert to float"):
        reference.attend([[10**400]], [[1.5]], [[1.0]], kernel)
