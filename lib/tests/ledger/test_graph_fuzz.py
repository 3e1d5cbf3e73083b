"""attnsep.ledger.graph meets drawn arguments: it is right about them, or refuses them by name."""

from attnsep.ledger import graph
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(graph.rests_on, id=some("tensor-trick", "def-vec"))
def test_nothing_rests_on_itself(result, id):
    assert id not in result
