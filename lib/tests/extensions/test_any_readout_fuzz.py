"""attnsep.extensions.any_readout meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.extensions import any_readout
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import PAIR, POSITIVE, SHARE, STRENGTH, near, probability, sizes, some

READ = {"a0": STRENGTH, "a1": STRENGTH, "c": SHARE, "kernel": PAIR}


@fuzz(any_readout.distances, sizes(), **READ)
def test_the_distance_of_outputs_is_that_of_their_rows(result, n, **given):
    assert all(0 <= x < math.inf for x in result)
    near(result.output, math.hypot(result.marked, math.sqrt(n - 1) * result.other))


DISTANCE = st.one_of(st.floats(0, 1e3), some(0, 1, 1e-300, 1e300, Fraction(1, 3)))


@fuzz(any_readout.total_variation, distance=DISTANCE, noise=POSITIVE)
def test_the_total_variation_is_a_share(result, distance, noise):
    assert 0 <= result <= 1


@fuzz(any_readout.accuracy, distance=DISTANCE, noise=POSITIVE)
def test_the_accuracy_is_that_of_the_total_variation(result, distance, noise):
    near(result, (1 + any_readout.total_variation(distance, noise)) / 2)


@fuzz(any_readout.distance_table, sizes(), strengths=some((0, 1), ["0.7"], ()), c=SHARE, kernel=PAIR)
def test_the_table_is_symmetric_with_zeros_on_its_diagonal(result, strengths, **given):
    assert len(result) == len(strengths)
    assert all(
        result[i][j] == result[j][i] >= result[i][i] == 0 for i in range(len(result)) for j in range(len(result))
    )


@fuzz(
    any_readout.several,
    table=some([[0, 1], [1, 0]], [[0]], [[0, 99.0, 5], [99.0, 0, 1e300], [5, 1e300, 0]]),
    noise=POSITIVE,
)
def test_the_bounds_of_several_are_ordered(result, table, noise):
    assert 0 <= result[0] <= result[1] + 1e-12 <= 1 + 1e-12


@fuzz(
    any_readout.recovery_probability,
    n=some(2, 1000, 10**300),
    a=some("0.7", 2, 1e300),
    within=some(0, "0.05", 0.7),
    noise=POSITIVE,
    kernel=PAIR,
)
def test_recovery_has_a_probability(result, **given):
    probability(result)


@fuzz(
    any_readout.rounded,
    x=st.one_of(st.floats(-6e4, 6e4), st.just(np.array([1.003, -0.0, 1e-41]))),
    form=st.sampled_from([*any_readout.FORMATS]),
)
def test_rounding_is_that_of_the_format_and_done_once(result, x, form):
    x = np.asarray(x, dtype=np.float64)
    assert np.array_equal(any_readout.rounded(result, form), result)
    assert np.all(np.abs(result - x) <= np.maximum(np.abs(x) * 2.0**-8, 2.0**-24))
    if form != "bfloat16":
        assert np.array_equal(result, x.astype(form).astype(np.float64))


@fuzz(
    any_readout.share_told_apart,
    sizes(),
    a0=STRENGTH,
    a1=STRENGTH,
    c=SHARE,
    form=st.sampled_from([*any_readout.FORMATS]),
    kernel=PAIR,
)
def test_the_share_told_apart_is_a_share(result, **given):
    assert 0 <= result <= 1 + 1e-12
