"""attnsep.extensions.where_linear_wins meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.extensions import where_linear_wins
from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import (
    COLUMNS,
    POSITIVE,
    SHARE,
    SIGNS,
    STRENGTH,
    XP,
    like_matrices,
    mass,
    near,
    probability,
    some,
)


@st.composite
def count_data(draw):
    d = draw(st.integers(3, 8))
    return where_linear_wins.CountData(
        n=(d - 2) * draw(some(4, 8, 4 * 10**6)),
        d=d,
        a=draw(some(1, "0.7", 0.05, 3, "1e300", "1e-300")),
        c=draw(SHARE),
        share=draw(some("1/4", 0.75, "0.5")),
        gap=draw(some(None, 0.1, 0, 1e200)),
    )


@fuzz(
    where_linear_wins.CountData,
    n=some(8, 16, 8 * 10**290),
    d=some(3, 4),
    a=some(1, "0.7", "1e300"),
    c=SHARE,
    share=some("1/4", 0.75),
    gap=some(None, 0.1, 0),
)
def test_the_data_keep_their_numbers_exactly(result, **given):
    assert 0 < result.marked == result.share * result.n < result.n
    assert 0 <= result.tau < math.inf
    assert result.b + result.c == 1


@fuzz(where_linear_wins.CountData.matrix, self=count_data().filter(lambda made: made.n < 100), xp=XP)
def test_the_matrix_has_so_many_marks(result, self, xp):
    A = to_numpy(result)
    assert np.all(np.isfinite(A))
    assert np.count_nonzero(A[:, 0]) == self.marked


@fuzz(where_linear_wins.midpoint, a=STRENGTH)
def test_the_midpoint_is_at_most_the_strength(result, a):
    assert 0 <= result <= number(a)


@fuzz(
    where_linear_wins.marked_mass,
    n=some(2, 16, 10**300),
    a=STRENGTH,
    share=SHARE,
    kernel=some("softmax", "linear", "softmax:2"),
)
def test_the_marked_share_is_at_least_that_of_the_tokens(result, n, a, share, kernel):
    assert 0 <= float(result[1]) <= float(result[0]) <= 1
    assert float(result[1]) >= float(number(share)) * (1 - 1e-12)


@fuzz(where_linear_wins.Mass.enclosure, self=mass(), digits=some(30, 60), kept={"digits"})
def test_a_mass_lies_in_its_enclosure(result, self, digits):
    assert 0 < result[0] <= result[1] <= 1


@fuzz(where_linear_wins.Mass.rational, self=mass())
def test_a_rational_mass_is_its_double(result, self):
    assert result is None or math.isclose(result, float(self))


SOFT = some("softmax", "linear", "softmax:2")


@st.composite
def count_parts(draw):
    found = draw(count_data().filter(lambda made: made.a < 10))
    return {"data": found, "masses": where_linear_wins.marked_mass(found.n, found.a, found.share, draw(SOFT))}


@fuzz(
    where_linear_wins.least_plus,
    count_parts(),
    signs=SIGNS,
    kept={"data", "masses", "signs"},
)
def test_the_least_number_of_plus_signs_is_one_of_classes(result, data, **given):
    assert 0 <= result <= data.d - 1


@fuzz(where_linear_wins.column_probability, data=count_data(), kernel=SOFT)
def test_a_columns_probability_is_that_of_all_sign_columns(result, data, kernel):
    like_matrices(result, data, kernel)


@fuzz(where_linear_wins.fires_probability, data=count_data(), m=COLUMNS, kernel=SOFT)
def test_the_network_fires_as_its_columns_do(result, data, m, kernel):
    near(result, sign_sums.fires_probability(where_linear_wins.column_probability(data, kernel), m))


@fuzz(where_linear_wins.differ_probability, data=count_data(), kernel=SOFT)
def test_the_probability_is_below_the_bound_for_any_threshold(result, data, kernel):
    assert 0 <= result <= 1
    assert result <= where_linear_wins.any_threshold_bound(data, kernel) + 1e-12


@fuzz(where_linear_wins.critical_gain, a=STRENGTH)
def test_the_critical_gain_is_that_of_the_midpoint(result, a):
    middle = where_linear_wins.midpoint(a) / number(a) if number(a) else Fraction(1, 2)
    assert result == middle / (1 - middle)


@fuzz(where_linear_wins.slack, data=count_data(), kernel=SOFT)
def test_the_slack_is_finite_and_not_negative(result, data, kernel):
    assert 0 <= result < math.inf


@fuzz(where_linear_wins.miss_bound, data=count_data(), s=st.one_of(POSITIVE, some(0, -1, -1e300)))
def test_the_bound_of_a_miss_is_a_share(result, data, s):
    assert 0 <= result <= 1


@fuzz(where_linear_wins.differ_bound, data=count_data())
def test_the_bound_of_a_difference_is_a_probability(result, data):
    probability(result)


@fuzz(where_linear_wins.any_threshold_bound, data=count_data(), kernel=SOFT)
def test_the_bound_for_any_threshold_is_a_probability(result, data, kernel):
    probability(result)
