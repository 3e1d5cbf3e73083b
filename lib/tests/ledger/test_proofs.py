"""A statement is proved only where the record of proofs says so of the whole of it, in the words that it has today."""

from dataclasses import replace

import pytest

from attnsep.claims import LEDGER
from attnsep.ledger import proofs

LABEL = "column-law"


@pytest.fixture
def entry(monkeypatch):
    """The record's entry of one statement, in a record that has no other."""
    found = proofs.read_proofs()["statements"][LABEL].copy()
    monkeypatch.setattr(proofs, "read_proofs", lambda: {"statements": {LABEL: found}})
    return found


def test_a_statement_with_the_words_of_the_record_is_proved(entry):
    claim = LEDGER[LABEL]
    assert claim.is_proved
    assert claim.evidence == f"proved; {claim.level}"
    assert replace(claim, statement=claim.statement.replace(" ", "\n ")).is_proved


@pytest.mark.parametrize(
    "changes",
    [
        {"statement": LEDGER[LABEL].statement.replace("1", "2", 1)},
        {"id": "cost-memory"},
        {"expect": "refuted"},
    ],
)
def test_one_with_other_words_is_not(entry, changes):
    claim = replace(LEDGER[LABEL], **changes)
    assert not claim.is_proved
    assert claim.evidence == claim.level


def test_one_that_is_proved_in_part_is_not(entry):
    entry["whole"] = False
    assert not LEDGER[LABEL].is_proved


def test_the_file_is_read_once():
    assert proofs.read_proofs() is proofs.read_proofs()


def test_white_space_makes_no_other_digest():
    assert proofs.digest(" a  b\nc ") == proofs.digest("a b c") != proofs.digest("ab c")


def test_there_are_four_axioms_and_each_has_its_meaning():
    assert len(proofs.AXIOMS) == 4
    assert all(proofs.AXIOMS.values())
