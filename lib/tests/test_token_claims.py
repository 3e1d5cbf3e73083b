"""The claims about token data, run one by one: their chapters do not exist yet, so the ledger does not list them."""

import sys

import pytest

from attnsep.claims import framework

NAME = "attnsep.claims.tokens"


def _apart():
    """Import the claims into a ledger of their own and leave the book's as it was."""
    before, known = dict(framework.LEDGER), NAME in sys.modules
    __import__(NAME)
    module = sys.modules[NAME]
    found = {id: entry for id, entry in framework.LEDGER.items() if entry.chapter in module.CHAPTERS}
    if not known:
        framework.LEDGER.clear()
        framework.LEDGER.update(before)
    return found, before | found


ENTRIES, LEDGER = _apart()
CLAIMS = [entry for entry in ENTRIES.values() if isinstance(entry, framework.Claim)]


@pytest.mark.parametrize("entry", CLAIMS, ids=lambda entry: entry.id)
def test_claim_is_as_expected(entry):
    evidence = framework.run(entry, framework.namespace("numpy"))
    assert evidence.as_expected, evidence.line


def test_statements_are_one_line_and_uses_stand_before():
    order = list(LEDGER)
    for id, entry in ENTRIES.items():
        assert "\n" not in entry.statement
        assert all(order.index(used) < order.index(id) for used in getattr(entry, "uses", ())), id
