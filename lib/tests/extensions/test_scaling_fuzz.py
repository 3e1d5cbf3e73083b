"""attnsep.extensions.scaling meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

from attnsep.extensions import scaling
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, GAP, PAIR, SHARE, STRENGTH, probability, sizes, some


@fuzz(scaling.column_limit, a=STRENGTH, c=SHARE, gap=GAP)
def test_the_limit_is_a_number_of_eighths(result, a, c, gap):
    assert 0 <= result <= 1
    assert (result * 8).denominator == 1


@fuzz(scaling.width_limit, d=some(3, 4, 10, 1000), a=STRENGTH, c=SHARE, kernel=PAIR, gap=GAP, about_several=True)
def test_the_limit_in_the_width_is_a_probability(result, **given):
    probability(result)


@fuzz(scaling.sign_rate, x=some(0, 1, 0.5, 1e-300, 1 - 2**-53, Fraction(1, 3)))
def test_the_rate_lies_between_its_bounds(result, x):
    assert float(x) ** 2 / 2 <= result * (1 + 1e-15) <= math.log(2) * (1 + 1e-14)


@fuzz(scaling.accuracies, sizes(), m=COLUMNS, a0=STRENGTH, a1=STRENGTH, c=SHARE, gap=GAP)
def test_accuracies_are_probabilities(result, **given):
    assert 0 <= result.softmax <= 1
    assert 0 <= result.linear <= 1
