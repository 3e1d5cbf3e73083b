"""attnsep.extensions.break_conditions meets drawn arguments: it is right about them, or refuses them by name."""

import math

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.extensions import break_conditions
from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, GAP, PAIR, SHARE, STRENGTH, XP, like_matrices, near, some


@st.composite
def ragged_data(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    return break_conditions.RaggedData(
        class_sizes=sizes,
        a=draw(STRENGTH),
        c=draw(SHARE),
        gap=draw(GAP),
        marked_class=draw(st.integers(0, len(sizes) - 1)),
    )


@fuzz(
    break_conditions.RaggedData,
    class_sizes=some((2, 1), [1] * 4, (10**300, 1)),
    a=STRENGTH,
    c=SHARE,
    gap=GAP,
    marked_class=some(0, 1),
)
def test_the_data_add_up_to_n(result, **given):
    assert result.n == sum(result.class_sizes) >= 2
    assert 0 < result.concentration <= 1
    assert 0 <= result.tau < math.inf
    assert 0 <= result.marked < result.n


@fuzz(break_conditions.RaggedData.matrix, self=ragged_data(), xp=XP)
def test_the_matrix_has_the_class_sizes(result, self, xp):
    assert np.count_nonzero(to_numpy(result)[:, 1:-1], axis=0).tolist() == list(self.class_sizes)


@fuzz(break_conditions.column_probability, data=ragged_data(), kernel=PAIR)
def test_a_columns_probability_is_that_of_all_sign_columns(result, data, kernel):
    like_matrices(result, data, kernel)


@fuzz(break_conditions.fires_probability, data=ragged_data(), m=COLUMNS, kernel=PAIR)
def test_the_network_fires_as_its_columns_do(result, data, m, kernel):
    near(result, sign_sums.fires_probability(break_conditions.column_probability(data, kernel), m))


@fuzz(break_conditions.column_bound, data=ragged_data(), kernel=PAIR)
def test_the_bound_is_above_the_probability(result, data, kernel):
    assert break_conditions.column_probability(data, kernel) - 1e-12 <= result <= 1
