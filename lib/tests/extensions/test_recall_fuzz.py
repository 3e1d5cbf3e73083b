"""attnsep.extensions.recall meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

from attnsep.extensions import recall
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(recall.recall_floor, pairs=some(1, 20, 10**300), features=some(1, 64))
def test_the_floor_is_the_share_of_pairs_beyond_the_features(result, pairs, features):
    assert result == max(0, Fraction(int(pairs) - int(features), 2 * int(pairs)))
