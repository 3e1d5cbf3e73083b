import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention import reference
from attnsep.attention.attend import query_scores, row_scores


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (5, 2), (4, 4)])
def test_row_scores_equal_the_kronecker_twin_on_integers(xp, rng, n, d):
    A1, A2, X = (rng.integers(-9, 10, shape).astype(float) for shape in ((n, d), (n, d), (d, d)))
    thin = to_numpy(row_scores(xp.asarray(A1), xp.asarray(A2), xp.asarray(X)))
    assert thin.tolist() == reference.kronecker_scores(A1.tolist(), A2.tolist(), X.tolist())


def test_query_scores_are_one_row(xp, rng):
    A, x = rng.integers(-9, 10, (6, 3)).astype(float), rng.integers(-9, 10, 3).astype(float)
    wanted = [sum(a * b for a, b in zip(row, x, strict=True)) for row in A]
    assert to_numpy(query_scores(xp.asarray(A), xp.asarray(x))).tolist() == wanted


def test_the_tensor_trick_turns_a_query_into_vec(rng):
    """Block j of the Kronecker product is a token matrix of width d² that vec(X) queries."""
    A1, A2, X = rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), rng.standard_normal((2, 2))
    block = np.array(reference.kronecker(A1, A2))[3:6]
    np.testing.assert_allclose(query_scores(block, X.reshape(-1)), row_scores(A1, A2, X)[1], rtol=1e-13)


def test_permuting_keys_permutes_columns_and_permuting_queries_rows(rng):
    A1, A2, X = rng.standard_normal((5, 3)), rng.standard_normal((5, 3)), rng.standard_normal((3, 3))
    order = rng.permutation(5)
    scores = row_scores(A1, A2, X)
    np.testing.assert_allclose(row_scores(A1, A2[order], X), scores[:, order], rtol=1e-13)
    np.testing.assert_allclose(row_scores(A1[order], A2, X), scores[order], rtol=1e-13)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 2), (4, 2), (2, 2)), r"A2: shape \(4, 2\), must be \(3, 2\)"),
        (((3, 2), (3, 2), (2, 3)), r"X: shape \(2, 3\), must be \(2, 2\)"),
        (((3,), (3, 2), (2, 2)), r"A1: shape \(3,\), must be \(n, d\)"),
    ],
)
def test_row_scores_reject_shapes_that_do_not_fit(shapes, message):
    with pytest.raises(ValueError, match=message):
        row_scores(*(np.ones(shape) for shape in shapes))


def test_query_scores_reject_what_does_not_fit():
    with pytest.raises(ValueError, match=r"x: shape \(3,\), must be \(2,\)"):
        query_scores(np.ones((4, 2)), np.ones(3))
    with pytest.raises(TypeError, match=r"x = .*must be an array"):
        query_scores(np.ones((4, 2)), [1.0, 1.0])


def test_scores_refuse_integers_which_would_overflow_in_silence():
    with pytest.raises(TypeError, match="A: dtype int8, must be float64 or float32"):
        query_scores(np.array([[100, 100]], np.int8), np.array([2, 2], np.int8))
    with pytest.raises(TypeError, match="X: dtype int64"):
        row_scores(np.ones((2, 1)), np.ones((2, 1)), np.array([[2**40]]))


@pytest.mark.filterwarnings("ignore:.* encountered in matmul")  # NumPy's own warning comes before our error
@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e308])
def test_scores_that_are_not_finite_are_refused(xp, entry):
    A, x = xp.asarray([[entry, 1.0]]), xp.asarray([10.0, 1.0])
    with pytest.raises(ValueError, match="A, x: the result is not finite"):
        query_scores(A, x)
    with pytest.raises(ValueError, match="A1, A2, X: the result is not finite"):
        row_scores(A, A, xp.asarray([[10.0, 0.0], [0.0, 1.0]]))
