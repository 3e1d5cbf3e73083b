"""attnsep.paper.gains meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

from hypothesis import strategies as st

from attnsep.attention.kernels import require_kernel
from attnsep.paper import gains
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import KERNEL, STRENGTH, WITH_LAW, near, probability, some


@fuzz(gains.has_gain, kernel=KERNEL)
def test_a_gain_is_known_where_it_is_entered(result, kernel):
    assert result == (require_kernel(kernel).name in gains.GAINS)


@fuzz(gains.gains, n=some(2, 16, 10**6, 10**300), a=STRENGTH, kernel=WITH_LAW, d=some(3, 10, 10**6))
def test_shares_of_a_gain_sum_to_one(result, n, a, kernel, d):
    for R in result:
        shares = R.shares(Fraction(n - 1))
        assert all(0 <= share <= 1 for share in shares)
        near(sum(shares), 1)


@st.composite
def gain(draw):
    kernel = draw(st.sampled_from(["softmax", "linear", "sigmoid", "elu+1", "polynomial:3", "entmax", "sparsemax"]))
    return draw(
        st.sampled_from(gains.gains(draw(some(2, 16, 10**6)), draw(some(0, "0.01", "0.5", 1, "0.7")), kernel, d=5))
    )


def with_kind(kind):
    return gain().filter(lambda R: isinstance(R, kind))


for kind in (gains.Power, gains.SigmoidRatio, gains.LogGain):

    @fuzz(kind.enclosure, self=with_kind(kind), digits=some(20, 50, 200), kept={"digits"})
    def test_an_enclosure_is_positive_and_ordered(result, self, digits):
        assert 0 < result[0] <= result[1]

    @fuzz(kind.rational, self=with_kind(kind))
    def test_a_rational_gain_lies_in_its_enclosure(result, self):
        if result is not None:
            low, high = self.enclosure(50)
            assert low <= result <= high

    @fuzz(kind.shares, self=with_kind(kind), rest=some(1, Fraction(1, 3), 10**300))
    def test_the_two_shares_sum_to_one(result, self, rest):
        near(sum(result), 1)


@fuzz(gains.Infinite.shares, self=st.just(gains.Infinite()), rest=some(1, 10**300))
def test_an_infinite_gain_takes_all(result, self, rest):
    assert result == (1.0, 0.0)


@fuzz(gains.log_enclosure, n=some(2, 10, 10**300), digits=some(20, 50), kept={"n", "digits"})
def test_the_logarithm_lies_in_its_enclosure(result, n, digits):
    near(float(result[0]), math.log(n))


SLOPE = st.fractions(-50, 50, max_denominator=40)


@fuzz(
    gains.floor_linear, shift=SLOPE, slope=SLOPE, R=gain(), top=st.integers(0, 40), kept={"shift", "slope", "R", "top"}
)
def test_the_floor_is_that_of_the_enclosure(result, shift, slope, R, top):
    assert -1 <= result <= top
    if not isinstance(R, gains.Infinite):
        low, high = (shift + slope * Fraction(end) for end in R.enclosure(60))
        low, high = sorted((low, high))
        assert max(-1, min(top, math.floor(low))) <= result <= max(-1, min(top, math.floor(high)))


@fuzz(
    gains.lowest_floor,
    shift=SLOPE,
    slope=SLOPE,
    rows=st.tuples(gain()).map(lambda one: one * 2),
    top=st.integers(0, 40),
    kept={"shift", "slope", "rows", "top"},
)
def test_the_lowest_floor_is_that_of_some_row(result, shift, slope, rows, top):
    assert result == min(gains.floor_linear(shift, slope, R, top) for R in rows)


@fuzz(gains.logistic, z=st.floats(-1e308, 1e308), kept={"z"})
def test_a_logistic_and_its_mirror_sum_to_one(result, z):
    probability(result)
    near(result + gains.logistic(-z), 1)
