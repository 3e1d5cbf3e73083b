"""attnsep.extensions.which_attentions meets drawn arguments: it is right about them, or refuses them by name."""

from attnsep.extensions import which_attentions
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import RNG, small_data, some


@fuzz(
    which_attentions.fired_networks,
    rng=RNG,
    data=small_data().filter(lambda data: data.a < 10**100),
    m=some(1, 3),
    kernel=some("window:0", "window:2", "performer:3"),
    draws=some(1, 20),
    about_several=True,
)
def test_at_most_all_networks_fire(result, draws, **given):
    assert 0 <= result <= draws
