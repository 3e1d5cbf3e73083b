"""attnsep.extensions.limitations meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

from attnsep.extensions import limitations
from attnsep.paper import tokens
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import COLUMNS, GAP, PAIR, SHARE, STRENGTH, bounds_hold, sizes, some

EPS = some(1e-5, 0.01, 1, 1e-300, 1e300, Fraction(1, 1000))


@fuzz(limitations.weight_bounds, sizes(), a=STRENGTH, c=SHARE, eps=EPS, kernel=PAIR)
def test_the_true_weights_lie_within_the_bounds(result, n, d, a, c, eps, kernel):
    assert 0 <= result.marked_low <= result.marked_high <= 1
    assert 0 <= result.other_high <= 1
    true = tokens.weights(n, a, kernel)
    assert result.marked_low * (1 - 1e-9) <= true.p
    assert max(true.p, true.q) <= result.marked_high * (1 + 1e-9)


@fuzz(limitations.fires_bounds, sizes(), m=COLUMNS, a=STRENGTH, c=SHARE, eps=EPS, kernel=PAIR, gap=GAP)
def test_bounds_enclose_the_networks_probability(result, eps, **given):
    bounds_hold(result, tokens.fires_probability, **given)
