"""The ledger's own order.  Its claims are run by `make verify`, on a second array library by `make test`."""

from attnsep.claims import LEDGER
from attnsep.ledger.record import read_record

FAR = {"random-features-draw-lots"}  # a comment in the claim says why


def test_what_a_claim_uses_stands_before_it():
    order = list(LEDGER)
    for id, entry in LEDGER.items():
        assert all(order.index(used) < order.index(id) for used in getattr(entry, "uses", ())), id


def test_statements_are_one_line():
    assert [id for id, entry in LEDGER.items() if "\n" in entry.statement] == []


def is_near(row):
    """Whether the smallest violation that fails is near the truth, or next to the largest one that passes."""
    fails, passes = row["smallest_failing"], row["largest_passing"]
    if fails <= max(100 * row["tolerance"], 1e-9):
        return True
    if float(fails).is_integer() and fails - (passes or 0) <= 1:
        return True
    return passes is not None and 0 < fails <= 1.5 * passes


def test_a_coarse_control_is_no_near_one():
    near = {"smallest_failing": 0.02, "largest_passing": 0.015, "tolerance": 0.0}
    assert is_near(near)
    assert not is_near(near | {"largest_passing": 0.01})
    assert not is_near(near | {"largest_passing": None})
    assert is_near(near | {"largest_passing": None, "tolerance": 1e-3})
    assert is_near(near | {"smallest_failing": 3, "largest_passing": 2})


def test_controls_are_near_or_say_why(nothing_set):
    assert {id for id, row in read_record().items() if not is_near(row)} == FAR
