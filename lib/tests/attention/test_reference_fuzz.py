"""attnsep.attention.reference meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.attention import reference
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import KERNEL, some

NESTED = st.integers(1, 3).flatmap(
    lambda k: st.lists(st.lists(st.integers(-3, 3), min_size=k, max_size=k), min_size=1, max_size=3)
)
SQUARE = some([[1, 2], [3, 4]], [[0.5, 0.25], [1.0, -2.0]], [[Fraction(1, 3), 1], [2, 0]])
LINE = st.lists(st.one_of(st.floats(-5, 5), st.integers(-5, 5)), min_size=1, max_size=4)


@fuzz(reference.kronecker, A1=NESTED, A2=NESTED)
def test_the_product_is_numpys(result, A1, A2):
    assert np.array_equal(result, np.kron(A1, A2))


@fuzz(reference.vec, X=NESTED, order=some("row", "column"))
def test_vec_keeps_all_entries(result, X, order):
    assert sorted(result) == sorted(entry for row in X for entry in row)


@fuzz(reference.transpose, X=NESTED)
def test_the_transpose_is_numpys(result, X):
    assert np.array_equal(result, np.transpose(X))


@fuzz(reference.matmul, A=SQUARE, B=SQUARE)
def test_the_matrix_product_is_numpys(result, A, B):
    assert np.allclose(np.array(result, float), np.array(A, float) @ np.array(B, float))


@fuzz(reference.kronecker_scores, A1=SQUARE, A2=SQUARE, X=SQUARE, order=some("row", "column"))
def test_scores_are_those_of_the_trick(result, A1, A2, X, order):
    X = np.array(X, float) if order == "row" else np.array(X, float).T
    assert np.allclose(np.array(result, float), np.array(A1, float) @ X @ np.array(A2, float).T)


def line_sums_to_one(result, scores):
    assert math.isclose(sum(result), 1, abs_tol=1e-6 * sum(map(abs, result)))


@fuzz(reference.weights, scores=LINE, kernel=KERNEL)
def test_a_line_sums_to_one_under_every_kernel(result, scores, kernel):
    line_sums_to_one(result, scores)


@fuzz(reference.attend, q=SQUARE, k=SQUARE, v=SQUARE, kernel=KERNEL)
def test_every_query_has_an_output(result, q, k, v, kernel):
    assert len(result) == len(q)


@fuzz(reference.values, A1=SQUARE, A2=SQUARE, A3=SQUARE, X=SQUARE, kernel=KERNEL)
def test_every_token_has_an_output(result, A1, A2, A3, X, kernel):
    assert len(result) == len(A1)


@fuzz(reference.network, rows=SQUARE, y=some([[1, -1], [1, 1]]), tau=some(0.25, 0, Fraction(1, 3)))
def test_the_network_is_not_negative(result, rows, y, tau):
    assert result >= 0
