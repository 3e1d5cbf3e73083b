"""attnsep.extensions.limitations meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

from attnsep.extensions import limitations
from attnsep.paper import tokens
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, PAIR, any_data, bounds_hold, some

EPS = some(1e-5, 0.01, 1, 1e-300, 1e300, Fraction(1, 1000))


@fuzz(limitations.weight_bounds, data=any_data(), eps=EPS, kernel=PAIR, about_several=True)
def test_the_true_weights_lie_within_the_bounds(result, data, eps, kernel):
    assert 0 <= result.marked_low <= result.marked_high <= 1
    assert 0 <= result.other_high <= 1
    true = tokens.Law(data, kernel).weights()
    assert result.marked_low * (1 - 1e-9) <= true.p
    assert max(true.p, true.q) <= result.marked_high * (1 + 1e-9)


@fuzz(limitations.fires_bounds, data=any_data(), m=COLUMNS, eps=EPS, kernel=PAIR, about_several=True)
def test_bounds_enclose_the_networks_probability(result, data, m, eps, kernel):
    bounds_hold(result, tokens.Law(data, kernel), m)
