"""attnsep.extensions.golden_ratio meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

from attnsep.extensions import golden_ratio
from attnsep.paper import gains, tokens
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import POSITIVE, STRENGTH, near, some


@fuzz(golden_ratio.collapsed, n=some(2, 16, 10**300), a=STRENGTH, beta=some(1, "4/3", 0, 0.125))
def test_the_marked_weight_is_logistic_in_the_collapsed_strength(result, n, a, beta):
    p = tokens.weights(n, a, f"softmax:{number(beta)}").p
    near(p, gains.logistic(result - math.log1p(float(Fraction(-1, n)))), 1e-6)


@fuzz(golden_ratio.threshold_strength, beta=POSITIVE)
def test_the_threshold_solves_its_equation(result, beta):
    near(result * (1 + result), 1 / float(beta)) if 1e-300 < float(beta) < 1e300 else None
    assert result > 0
