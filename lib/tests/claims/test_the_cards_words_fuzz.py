"""attnsep.claims.the_cards_words meets drawn arguments: it is right about them, or refuses them by name."""

from attnsep.claims import the_cards_words
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(the_cards_words.card_words, part=some(*the_cards_words.PARTS), record=some(None, {}))
def test_every_sentence_of_a_part_is_shown(result, part, record):
    assert {sentence.part for sentence in result.sentences} == {part}
    assert all(sentence.words in repr(result) for sentence in result.sentences)
