"""attnsep.extensions.sensitivity meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.extensions import sensitivity
from attnsep.paper import tokens
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, GAP, PAIR, SHARE, STRENGTH, first, near, sizes, some

GRID = {"a": st.one_of(STRENGTH, some([0, "0.7"], np.array([0.1, 2.0]), ())), "c": SHARE, "kernel": PAIR, "gap": GAP}


@fuzz(sensitivity.column_map, sizes(), **GRID)
def test_the_map_begins_with_the_columns_probability(result, **given):
    assert np.all((result >= 0) & (result <= 1))
    if result.size:
        near(float(result.flat[0]), tokens.law(**{name: first(x) for name, x in given.items()}).column_probability())


@fuzz(sensitivity.fires_map, sizes(), m=COLUMNS, **GRID)
def test_the_map_begins_with_the_networks_probability(result, **given):
    assert np.all((result >= 0) & (result <= 1))
    if result.size:
        point = {name: first(x) for name, x in given.items()}
        m = point.pop("m")
        near(float(result.flat[0]), tokens.law(**point).fires(m))


@fuzz(sensitivity.error_map, sizes(), m=COLUMNS, a0=STRENGTH, a1=GRID["a"], c=SHARE, gap=GAP)
def test_the_map_begins_with_the_errors(result, **given):
    for index, error in enumerate(result):
        assert np.all((error >= 0) & (error <= 1))
        if error.size:
            near(float(error.flat[0]), tokens.errors(**{name: first(x) for name, x in given.items()})[index])


ERRORS = some(sensitivity.error_map(4, 4, [1, 2, 3, 4], 0, 1, "0.5"))


@fuzz(sensitivity.worst, errors=ERRORS)
def test_no_error_is_above_the_worst(result, errors):
    assert all(np.all(error <= result) for error in errors)


@fuzz(
    sensitivity.steps_within,
    errors=ERRORS,
    limit=some(0.5, "0.4", Fraction(9, 10)),
    start=some(0, 1, 3),
    about_several=True,
)
def test_the_steps_hold_the_start(result, errors, limit, start):
    assert 0 <= result[0] <= start <= result[1] < 4
