"""attnsep.attention.attend meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.attention import attend
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import KERNEL, RNG, matrices, some


@pytest.mark.slow
@fuzz(attend.query_scores, matrices(("A", "nd"), ("x", "d")))
def test_scores_of_a_query_are_products(result, A, x):
    assert np.allclose(to_numpy(result), to_numpy(A) @ to_numpy(x), rtol=1e-4)


@fuzz(attend.row_scores, matrices(("A1", "nd"), ("A2", "nd"), ("X", "dd")))
def test_scores_of_rows_are_products(result, A1, A2, X):
    assert np.allclose(
        to_numpy(result),
        to_numpy(A1) @ to_numpy(X) @ to_numpy(A2).T,
        rtol=1e-3,
        atol=1e-3 * np.max(np.abs(to_numpy(result))),
    )


def between_the_values(result, v, signed):
    c, v = to_numpy(result), to_numpy(v)
    assert c.shape[1] == v.shape[1]
    if not signed and v.size:
        size = 1e-5 * np.max(np.abs(v))
        assert np.all((np.min(v, axis=0) - size <= c) & (c <= np.max(v, axis=0) + size))


@fuzz(
    attend.attend,
    matrices(("q", "rd"), ("k", "nd"), ("v", "nm")),
    kernel=KERNEL,
    unique=some(True, False),
    scale=some(1.0, 0.5, "0.1", Fraction(1, 3)),
    cancellation=some(False, False, True),
    rng=st.one_of(st.none(), st.none(), RNG),
)
def test_outputs_lie_between_the_values(result, q, k, v, kernel, scale, unique, cancellation, rng):
    output = result[0] if cancellation else result
    assert np.all(np.isfinite(to_numpy(output)))
    between_the_values(output, v, signed=kernel in ("linear", "polynomial:3"))


@fuzz(attend.distinct_rows, matrices(("q", "rd")), passes_nan=True)
def test_distinct_rows_and_their_places_give_all_rows(result, q):
    distinct, place = map(to_numpy, (result[0], q if result[1] is None else result[1]))
    assert np.array_equal(distinct if result[1] is None else distinct[place], to_numpy(q), equal_nan=True)


@fuzz(
    attend.values,
    matrices(("A1", "nd"), ("A2", "nd"), ("A3", "nd"), ("X", "dd")),
    kernel=KERNEL,
    rng=st.one_of(st.none(), st.none(), RNG),
)
def test_outputs_of_matrices_lie_between_the_values(result, A1, A2, A3, X, kernel, rng):
    between_the_values(result, A3, signed=kernel in ("linear", "polynomial:3"))
