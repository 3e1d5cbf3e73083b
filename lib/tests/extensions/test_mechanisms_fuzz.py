"""attnsep.extensions.mechanisms meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.extensions import mechanisms
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, PAIR, any_data, matrices, near, probability, some


@fuzz(mechanisms.outputs, matrices(("A", "nd"), ("X", "dd")), kernel=PAIR, normalised=some(True, False))
def test_outputs_have_the_shape_of_the_tokens(result, A, X, kernel, normalised):
    assert tuple(result.shape) == tuple(A.shape)


ABLATION = {"kernel": PAIR, "normalised": some(True, False)}


@fuzz(mechanisms.values_closed, data=any_data(), **ABLATION, about_several=True)
def test_outputs_are_not_negative(result, **given):
    assert all(math.isfinite(x) and x >= 0 for row in result for x in row)


@fuzz(mechanisms.column_law, data=any_data(), **ABLATION, about_several=True)
def test_the_law_has_mass_one_and_the_largest_rows(result, data, **given):
    largest, mass, rows, _ = result
    near(float(mass.sum()), 1)
    assert np.array_equal(np.max(rows, axis=0), largest)
    assert len(largest) == 8 * (data.d - 2)


TAU = st.one_of(st.floats(0.01, 30), some(1, 1e-300, 1e300, Fraction(1, 3)))


@fuzz(mechanisms.column_probability, data=any_data(), **ABLATION, tau=TAU, about_several=True)
def test_a_column_has_a_probability(result, **given):
    probability(result)


@fuzz(mechanisms.fires_probability, data=any_data(), **ABLATION, tau=TAU, m=COLUMNS, about_several=True)
def test_the_network_has_a_probability(result, **given):
    probability(result)


@fuzz(mechanisms.best_threshold, d0=any_data(), d1=any_data(), m=COLUMNS, **ABLATION, about_several=True)
def test_at_the_best_threshold_there_are_probabilities(result, **given):
    assert 0 <= result.on_d0 <= 1
    assert 0 <= result.on_d1 <= 1


@fuzz(
    mechanisms.upper_tail,
    values=some(np.array([2.0, 1.0]), np.array([0.0, 0.0])),
    mass=some(np.array([0.25, 0.75])),
    thresholds=some(np.array([0.5, 1.5]), np.array([-1.0])),
    passes_nan=True,
)
def test_a_tail_is_a_share(result, values, mass, thresholds):
    assert np.all((result >= 0) & (result <= 1))
