"""attnsep.ledger.tables meets drawn arguments: it is right about them, or refuses them by name."""

from attnsep.ledger import framework, tables
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some


@fuzz(tables.certified_table, record=some(None, {}))
def test_the_certified_table_has_a_header(result, record):
    assert result.header


@fuzz(tables.card, chapter=some("tensor-trick", "one-query-weights"))
def test_a_card_names_its_chapter(result, chapter):
    assert repr(result).count(chapter) or result.rows


@fuzz(tables.claims_table, record=some(None, {}))
def test_every_claim_has_a_row(result, record):
    assert len(result.rows) == len(framework.claims())


@fuzz(tables.status_line, record=some(None, {}))
def test_the_status_counts_every_claim(result, record):
    assert f"of {len(framework.claims())} claims" in result
