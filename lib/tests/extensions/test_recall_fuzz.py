"""attnsep.extensions.recall meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

from attnsep.extensions import recall
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(recall.recall_floor, pairs=some(1, 20, 10**300), features=some(1, 64))
def test_the_floor_is_the_share_of_pairs_beyond_the_features(result, pairs, features):
    assert result == max(0, Fraction(int(pairs) - int(features), 2 * int(pairs)))


WEIGHTS = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]


@fuzz(recall.weighted_floor, weights=some(WEIGHTS), features=some(1, 2, 64))
def test_the_lightest_questions_are_lost(result, weights, features):
    wanted = {1: Fraction(1, 4), 2: Fraction(1, 12), 64: 0}[int(features)]
    assert result == (wanted if len(weights) else 0)  # without questions nothing is lost


@fuzz(recall.reported_weights, pairs=some(1, 20, 300))
def test_questions_count_one_together(result, pairs):
    assert sum(result) == 1
