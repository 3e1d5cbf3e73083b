"""attnsep.learn.train meets drawn arguments, as far as they need no training."""

from attnsep.learn import train
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(train.record, lengths=some([0.5, 3.0, 2.0]), margins=some([0.9, 0.1, 0.6], None), clip=some(0, 1))
def test_steps_are_summed_up(result, lengths, margins, clip):
    assert result["gradient"]["largest"] == 3.0
    assert ("normaliser" in result) == (margins is not None)
