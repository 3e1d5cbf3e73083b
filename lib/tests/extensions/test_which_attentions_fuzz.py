"""attnsep.extensions.which_attentions meets drawn arguments: it is right about them, or refuses them by name."""

from attnsep.extensions import which_attentions
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import RNG, SHARE, sizes, some


@fuzz(
    which_attentions.fired_networks,
    sizes(huge=False),
    rng=RNG,
    m=some(1, 3),
    a=some(0, "0.7", 2, 0.05),
    c=SHARE,
    kernel=some("window:0", "window:2", "performer:3"),
    gap=some(0.1, 0, 1e200),
    draws=some(1, 20),
)
def test_at_most_all_networks_fire(result, draws, **given):
    assert 0 <= result <= draws
