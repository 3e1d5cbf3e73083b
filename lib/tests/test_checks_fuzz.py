"""attnsep.checks meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep import checks
from attnsep.paper import tokens
from lib.tests.fuzzing import fuzz, number, spoiled
from lib.tests.strategies import POSITIVE, RNG, SHARE, STRENGTH, near, some, token_data

ARRAYS = [x for x in spoiled(np.ones((2, 3))) if isinstance(x, np.ndarray)]
SPOILED = st.sampled_from([x for x in ARRAYS if type(x) is np.ndarray])  # as `common_namespace` lets them through


@fuzz(checks.require_floating, A=SPOILED, xp=st.just(np), kept={"A", "xp"})
def test_only_doubles_and_singles_pass(result, A, xp):
    assert A.dtype in (np.float64, np.float32)


@fuzz(
    checks.require_finite,
    result=SPOILED.filter(lambda x: x.dtype != object),
    xp=st.just(np),
    names=st.just("result"),
    kept={"result", "xp", "names"},
)
def test_what_passes_is_finite_and_the_same_object(found, result, xp, names):
    assert found is result
    assert np.all(np.isfinite(result))


@fuzz(checks.require_plain, name=st.just("array"), array=st.sampled_from(ARRAYS), kept={"name", "array"})
def test_only_plain_arrays_pass(found, name, array):
    assert found is None
    assert type(array) in (np.ndarray, np.memmap)


@fuzz(
    checks.require_shape,
    name=st.just("array"),
    array=SPOILED,
    shape=some((2, 3), ("n", 3)),
    kept={"name", "array", "shape"},
)
def test_only_the_stated_shape_passes(result, name, array, shape):
    assert array.shape == (2, 3) or shape == ("n", 3) == ("n", array.shape[1])


@fuzz(checks.listed, words=some(["softmax", "linear"]))
def test_words_are_listed_with_commas(result, words):
    assert result == ("softmax, linear" if len(words) else "")


@fuzz(
    checks.require_choice,
    name=st.just("value"),
    value=some("row", "column"),
    choices=st.just(("row", "column")),
    kept={"name", "choices"},
)
def test_a_choice_is_one_of_the_choices(result, name, value, choices):
    assert result == value in choices


@fuzz(checks.text_of, value=some(1, "x"))
def test_everything_can_be_shown(result, value):
    assert isinstance(result, str)


@fuzz(checks.require_integer, name=st.just("value"), value=st.integers(), least=some(-5, 0, 1), kept={"name", "least"})
def test_an_integer_is_not_below_the_least(result, name, value, least):
    assert type(result) is int
    assert result == value >= least


@fuzz(checks.require_positive, name=st.just("value"), value=POSITIVE, kept={"name"})
def test_a_positive_number_becomes_its_double(result, name, value):
    assert type(result) is float
    assert 0 < result < math.inf
    near(result, float(value))


@fuzz(checks.require_generator, rng=RNG)
def test_a_generator_passes(result, rng):
    assert isinstance(rng, np.random.Generator)


@fuzz(
    checks.require_decimal,
    name=st.just("value"),
    value=st.one_of(STRENGTH, st.floats(0, 1e300)),
    least=some(0, 1),
    kept={"name", "least"},
)
def test_a_decimal_becomes_its_fraction(result, name, value, least):
    assert isinstance(result, Fraction)
    assert least <= result == number(value) <= 10**300


@fuzz(checks.require_real, name=st.just("value"), value=st.floats(-1e308, 1e308), kept={"name"})
def test_a_real_number_becomes_its_double(result, name, value):
    assert type(result) is float
    assert result == float(value)


@fuzz(checks.require_double, name=st.just("value"), value=st.floats(), kept={"name"}, passes_nan=True)
def test_a_double_stays_what_it_is(result, name, value):
    assert result == float(value) or math.isnan(float(value))


@fuzz(
    checks.require_instance,
    name=st.just("value"),
    value=token_data(),
    kind=st.just(tokens.TokenData),
    kept={"name", "kind"},
)
def test_an_instance_passes(result, name, value, kind):
    assert type(result) is kind


@fuzz(checks.require_items, name=st.just("value"), value=some([], (1, 2)), kept={"name"}, passes_nan=True)
def test_items_keep_their_number(result, name, value):
    assert len(result) == len(value)


@fuzz(checks.require_size, n=st.integers(0, 10**4), d=st.integers(0, 10**4), kept={"n", "d"})
def test_a_size_has_at_most_a_hundred_million_numbers(result, n, d):
    assert n * d <= 10**8


@fuzz(checks.shown_integer, value=st.integers(-(10**9), 10**9), kept={"value"})
def test_an_integer_can_be_shown(result, value):
    assert result


@fuzz(checks.require_probability, name=st.just("value"), value=SHARE, kept={"name"})
def test_a_probability_becomes_its_fraction(result, name, value):
    assert 0 < result == Fraction(value) < 1
