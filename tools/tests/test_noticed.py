"""The tool that says how small a change of a statement's number its check notices."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from attnsep.claims import LEDGER
from attnsep.ledger import framework, ratchet, record
from tools import noticed

pytestmark = pytest.mark.usefixtures("nothing_set")


def steps(id, number):
    """Return {module:line: smallest change noticed} of a number of a claim."""
    claim = framework.find(id)
    assert Fraction(number) in noticed.numbers(claim.statement)
    return {place: noticed.noticed(claim, place, Fraction(number)) for place in noticed.places(claim, Fraction(number))}


def test_a_number_of_the_worked_instance_is_noticed_in_its_last_digit():
    (step,) = steps("main-theorem-worked-instance", "0.943686969").values()
    assert abs(step) <= Fraction(1, 10**8)


def test_an_integer_is_noticed_by_one():
    assert {abs(step) for step in steps("polynomial-degree-window", "142").values()} == {1}


def test_of_a_bound_one_direction_is_noticed():
    (step,) = steps("readout-softmax-marked-row", "0.4").values()
    assert 0 < step <= Fraction(1, 10)


def test_a_constant_of_another_module_is_changed_there():
    (place, *_), (step, *_) = zip(*steps("readout-softmax-marked-row", "0.7").items(), strict=True)
    assert place[0] == "attnsep.claims.token_datasets"
    assert -Fraction(1, 2) < step < 0


def test_ledger_and_modules_are_as_before():
    before, entries = record.read_record, dict(LEDGER)
    steps("readout-softmax-marked-row", "0.7")
    assert entries == LEDGER == framework.LEDGER
    assert framework.run(framework.find("tensor-trick")).as_expected
    assert before is record.read_record


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (r"$a_0 = 0.05$ and $V_1$ at $x_{10}$", ["1/20"]),
        (r"$(7/8)^m$, $x^{3}$, $x^2$", ["7", "8"]),
        (r"at $n = 10^{3}$ and $10^4$", ["1000", "10000"]),
        (r"$\tfrac18$ or $\frac{3}{16}$", ["1/8", "3/16"]),
        (r"below $3 \cdot 10^{-29}$, $98\%$ and $1\,\%$", ["3/100000000000000000000000000000", "49/50", "1/100"]),
        (r"$0$, $1$ and $2$", []),
    ],
)
def test_numbers_of_a_statement(text, found):
    assert list(map(str, noticed.numbers(text))) == found


def test_what_became_coarser_fails_and_is_not_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(noticed, "RESULT", tmp_path / "noticed.json")
    claim = framework.find("polynomial-degree-window")
    monkeypatch.setattr(framework, "claims", lambda: [claim])
    monkeypatch.setattr(noticed, "report", lambda claim: [("142", {("m", 1): Fraction(-1)}), ("53", {})])
    assert noticed.main([]) == 0
    stored = noticed.RESULT.read_text()
    assert json.loads(stored) == entry(claim, {"142": "-1", "53": "absent"})
    monkeypatch.setattr(noticed, "report", lambda claim: [("142", {("m", 1): None})])
    assert noticed.main([]) == 1
    assert "a change of 142 was noticed from -1 on, now: never" in capsys.readouterr().err
    assert noticed.RESULT.read_text() == stored
    assert noticed.main([claim.id, "--accept"]) == 0
    assert json.loads(noticed.RESULT.read_text()) == entry(claim, {"142": "never"})


def entry(claim, found):
    return {claim.id: {"check": ratchet.digest(claim), "numbers": found}}


def test_numbers_of_the_book_are_noticed_early_or_the_claim_says_why_not():
    assert noticed.problems(framework.claims(), noticed.stored()) == []


HELD = replace(
    framework.find("mechanism-1-from-three-tokens"),
    statement=r"At $a = 0.7$ the sum is $0.25$, above $0.2$, from $n = 12$ on.",
    coarse=(("0.7", "a point"),),
)
EARLY = {"0.7": "-0.01", "0.25": "1e-06", "0.2": "0.5", "12": "-1"}


def test_what_is_noticed_early_or_has_a_reason_is_accepted():
    assert noticed.problems([HELD], entry(HELD, EARLY)) == []
    other = replace(HELD, mark="extension", coarse=())
    assert noticed.problems([other], {}) == []  # an extension that was never found false


@pytest.mark.parametrize(
    ("changes", "late", "refused"),
    [
        ({}, {"0.25": "1e-05"}, "0.25 (equality) is noticed from 1e-05 on, and no reason says why"),
        ({}, {"12": "2"}, "12 (whole number) is noticed from 2 on, and no reason says why"),
        ({}, {"0.2": "never"}, "0.2 (bound) is noticed from never on, and no reason says why"),
        ({}, {"0.7": "1e-09"}, "0.7 (equality) is noticed from 1e-09 on, and needs no reason"),
        ({"coarse": (*HELD.coarse, ("0.9", "a point"))}, {}, "gives a reason for 0.9, which it does not state"),
        ({"mark": "extension", "coarse": (("0.9", "a point"),)}, {}, "gives a reason for 0.9, which it does not state"),
    ],
)
def test_what_the_guard_refuses(changes, late, refused):
    claim = replace(HELD, **changes)
    assert noticed.problems([claim], entry(claim, EARLY | late)) == [f"{claim.id}: {refused}"]


@pytest.mark.parametrize("other", [{}, {"statement": HELD.statement + " So it is."}, {"control": "another one"}])
def test_a_claim_that_changed_must_be_run_again(other):
    found = entry(replace(HELD, **other), EARLY) if other else {}
    assert noticed.problems([HELD], found) == [f"{HELD.id}: changed; run: python -m tools.noticed {HELD.id}"]


def test_a_check_that_does_not_end_in_time_is_not_tried(monkeypatch):
    def cases(xp, broken=None):
        while True:
            pass

    monkeypatch.setattr(noticed, "changed", lambda *_: replace(HELD, cases=cases))
    monkeypatch.setattr(noticed, "SECONDS", 0.01)
    assert noticed.noticed(HELD, None, Fraction(12)) == noticed.NOT_TRIED
    assert noticed.best([noticed.NOT_TRIED, None]) == "not tried"
