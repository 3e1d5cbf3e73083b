"""The ledger's own order.  Its claims are run by `make verify`, on a second array library by `make test`."""

from attnsep.claims import LEDGER


def test_what_a_claim_uses_stands_before_it():
    order = list(LEDGER)
    for id, entry in LEDGER.items():
        assert all(order.index(used) < order.index(id) for used in getattr(entry, "uses", ())), id


def test_statements_are_one_line():
    assert [id for id, entry in LEDGER.items() if "\n" in entry.statement] == []
