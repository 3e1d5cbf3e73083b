"""attnsep.paper.one_query meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.paper import one_query
from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import COLUMNS, POSITIVE, REAL, RNG, SHARE, XP, near, probability, some


@st.composite
def query_data(draw):
    n, low = draw(st.integers(2, 12)), draw(st.floats(0.1, 3))
    spike = draw(some(None, 0.1, 2.0, 1e3))
    return one_query.QueryData(
        n=n,
        low=low,
        high=low + draw(st.floats(0, 3)),
        spike=spike,
        position=draw(st.integers(0, n - 1)),
        d=draw(st.integers(1, 5)),
    )


@fuzz(
    one_query.QueryData,
    n=some(2, 3, 10**6, 10**300),
    low=some(0.1, 1),
    high=some(1.0, 2, 700.0),
    spike=some(None, 1.0, 1e300),
    position=some(0, 1),
    d=some(1, 8),
)
def test_the_data_keep_their_ranges(result, **given):
    assert 0 < result.low <= result.high < math.inf
    assert result.position < result.n
    assert result.spike is None or 0 < result.spike_score < math.inf


@fuzz(
    one_query.QueryData.scores, self=query_data(), rng=RNG, fill=some("uniform", "low", "high", "one-low", "one-high")
)
def test_scores_lie_between_low_and_high_but_for_the_spike(result, self, rng, fill):
    others = np.delete(result, self.position) if self.spike is not None else result
    assert np.all((self.low <= others) & (others <= self.high))
    assert self.spike is None or result[self.position] == self.spike_score


@fuzz(one_query.QueryData.matrix, self=query_data(), rng=RNG, scores=some(None, np.arange(2.0)), xp=XP)
def test_the_matrix_has_finite_scores(result, self, rng, scores, xp):
    A, x = map(to_numpy, result)
    assert A.shape == (self.n, self.d)
    assert np.all(np.isfinite(A @ x))


N = some(2, 3, 100, 10**6, 10**300)


LOW, HIGH, SPIKE = some(0.1, 1, Fraction(1, 3), 1e-300), some(1.0, 2, 700.0, 1e300), some(0.1, 2, 4.0, 1e300)


@fuzz(one_query.softmax_flat, n=N, low=LOW, high=HIGH)
def test_the_bounds_enclose_one_over_n_under_softmax(result, n, low, high):
    assert 0 <= result[0] <= float(Fraction(1, n)) <= result[1]


@fuzz(one_query.linear_flat, n=N, low=LOW, high=HIGH)
def test_the_bounds_enclose_one_over_n_under_linear(result, n, low, high):
    assert 0 <= result[0] <= float(Fraction(1, n)) * (1 + 1e-15) <= result[1] * (1 + 2e-15)


@fuzz(one_query.softmax_spike, n=N, high=HIGH, spike=SPIKE)
def test_the_spike_has_a_weight_and_the_others_a_sum_under_softmax(result, n, high, spike):
    assert 0 <= result[0] <= 1
    assert result[1] >= 0


@fuzz(one_query.linear_spike, n=N, low=LOW, high=HIGH, spike=SPIKE)
def test_the_spike_has_a_weight_and_the_others_a_sum_under_linear(result, n, low, high, spike):
    assert 0 <= result[0] <= 1
    assert result[1] >= 0


@fuzz(
    one_query.spike_weight,
    log_n=some(0.7, 1, 690.0, 1e6, Fraction(7, 3)),
    other=some(0, 0.5, -3.0, 700.0, 1e300),
    spike=some(0, 0.5, 2, -1.0, 1e200),
)
def test_the_spikes_weight_is_a_probability(result, log_n, other, spike):
    probability(result)


@fuzz(one_query.softmax_flat_column, n=N, low=LOW, high=HIGH, s=POSITIVE)
def test_a_flat_column_has_a_probability_under_softmax(result, n, low, high, s):
    probability(result)


@fuzz(one_query.linear_flat_column, n=N, low=LOW, high=HIGH, s=POSITIVE)
def test_a_flat_column_has_a_probability_under_linear(result, n, low, high, s):
    probability(result)


@fuzz(one_query.linear_spike_norm, n=N, low=LOW, high=HIGH, spike=SPIKE)
def test_the_norm_is_not_negative(result, n, low, high, spike):
    assert result >= 0


@fuzz(one_query.linear_spike_column, n=N, low=LOW, high=HIGH, spike=SPIKE, s=POSITIVE)
def test_a_column_with_a_spike_has_a_probability(result, n, low, high, spike, s):
    probability(result)


@fuzz(one_query.query_errors_bound, n=N, m=COLUMNS, tau=POSITIVE, low=LOW, high=HIGH, spike=SPIKE)
def test_bounds_of_errors_are_not_negative(result, n, m, tau, low, high, spike):
    assert all(error >= 0 for error in result)


@fuzz(one_query.columns_needed, delta=SHARE)
def test_as_many_columns_as_needed_and_no_more(result, delta):
    assert Fraction(1, 2**result) <= Fraction(delta) < Fraction(2, 2**result)


@fuzz(
    one_query.query_sizes_bound,
    delta=some("0.4", 0.5, Fraction(1, 3)),
    tau=some("0.5", 0.7),
    low=some(1, 1.0),
    high=some(1.0, 1.5),
    spike=some(4, 6.0),
    n_max=some(1000, 2000),
    about_several=True,
)
def test_sizes_by_bound_keep_the_error(result, delta, tau, n_max, **given):
    n, m = result
    assert max(one_query.query_errors_bound(n, m, float(number(tau)), **given)) <= number(delta)


@fuzz(one_query.query_fires_probability, f_marked=REAL, f_other=REAL, n=some(2, 3, 100), m=COLUMNS, tau=REAL)
def test_many_columns_fire_as_one_does(result, f_marked, f_other, n, m, tau):
    probability(result)
    one = one_query.query_fires_probability(f_marked, f_other, n, 1, tau)
    near(result, sign_sums.fires_probability(one, m))


@fuzz(
    one_query.query_errors_exact,
    n=some(2, 3, 30),
    m=COLUMNS,
    tau=some("0.5", 0.9, 0, -1, 2.0),
    low=LOW,
    high=some(1.0, 2, 30.0),
    spike=some(0.1, 2, 4.0),
    shape=some("flat", "extreme"),
    about_several=True,
)
def test_exact_errors_are_probabilities(result, **given):
    assert all(0 <= error <= 1 for error in result)


@fuzz(
    one_query.query_sizes_exact,
    delta=some("0.1", 0.5, Fraction(1, 3)),
    tau=some("0.5", 0.9),
    low=some(1, 1.0),
    high=some(1.0, 1.5),
    spike=some(4, 6.0),
    shape=some("flat", "extreme"),
    n_max=some(10, 60),
    about_several=True,
)
def test_exact_sizes_keep_the_error(result, delta, tau, low, high, spike, shape, n_max):
    assert max(one_query.query_errors_exact(*result, tau, low, high, spike, shape)) <= number(delta) * (
        1 + Fraction(1, 10**9)
    )


@fuzz(one_query.worst_scores, n=some(1, 2, 9, 1000), low=some(0.1, 1), high=some(1, 2.5), marked=some(0.0, 3.0))
def test_the_worst_scores_are_low_and_high(result, n, low, high, marked):
    (first, fewer), (second, more) = result
    assert (first, second) == (low, high)
    assert fewer + more == n
