"""The tool that says how small a change of a statement's number, and which faults of functions, a check notices."""

import ast
import json
import signal
import sys
from dataclasses import replace
from fractions import Fraction

import pytest

from attnsep.claims import LEDGER
from attnsep.ledger import framework, ratchet, record
from attnsep.paper import tokens
from tools import broken, noticed

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


@pytest.mark.slow
def test_of_a_bound_one_direction_is_noticed():
    (step,) = steps("readout-softmax-marked-row", "0.4").values()
    assert 0 < step <= Fraction(1, 10)


@pytest.mark.slow
def test_a_constant_of_another_module_is_changed_there():
    (place, *_), (step, *_) = zip(*steps("readout-softmax-marked-row", "0.7").items(), strict=True)
    assert place[0] == "attnsep.claims.token_datasets"
    assert -Fraction(1, 2) < step < 0


@pytest.mark.slow
def test_ledger_and_modules_are_as_before():
    before, entries = record.read_record, dict(LEDGER)
    modules = {name: module for name, module in sys.modules.items() if name.startswith("attnsep.claims")}
    steps("readout-softmax-marked-row", "0.7")
    assert [name for name, module in modules.items() if sys.modules[name] is not module] == []
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0, "the processor's time runs on, and ends whatever comes next"
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *[("2 * 3.5", "7"), ("7 / 10", "7/10"), ("7 / 0", None), ("7 - 1", None), ("n * 2", None), ("2 / n", None)],
        *[("10**-6", "1/1000000"), ("10**1000", None), ("2**0.5", None), ("-(2 / 4)", "-1/2"), ("-n", None)],
        *[("Fraction(7)", "7"), ("Fraction('0.7', 2)", "7/20"), ("Fraction(7, 0)", None), ("Fraction(n, 2)", None)],
        *[
            ("Fraction()", None),
            ("Decimal(7)", None),
            ("'7e2'", None),
            ("True", None),
            ("2j", None),
            ("1e-3", "1/1000"),
        ],
    ],
)
def test_numbers_that_a_check_writes(text, found):
    number = noticed.value_of(ast.parse(text, mode="eval").body)
    assert (number is None) == (found is None)
    assert number is None or str(number) == found


HELD = replace(
    framework.find("mechanism-1-from-three-tokens"),
    statement=r"At $a = 0.7$ the sum is $0.25$, above $0.2$, from $n = 12$ on.",
    tests=(tokens.weights,),
    coarse=(("0.7", "a point"),),
)
EARLY = {"0.7": "-0.01", "0.25": "1e-06", "0.2": "0.5", "12": "-1"}
NAME = "paper.tokens.weights"


def entry(claim, numbers, refuted=3, moved=4, control=True):
    """Return what is stored of a claim whose functions were broken in four places each."""
    names = {} if isinstance(claim.tests, str) else claim.tests
    functions = {broken.name_of(function): [broken.digest(function), refuted, moved, 4] for function in names}
    return {claim.id: {"check": ratchet.digest(claim), "numbers": numbers, "functions": functions, "control": control}}


def test_what_is_noticed_less_than_before_fails_and_is_not_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(noticed, "RESULT", tmp_path / "noticed.json")
    monkeypatch.setattr(framework, "claims", lambda: [HELD])
    numbers, functions = dict(EARLY), {NAME: broken.Found(3, 4, 4)}
    monkeypatch.setattr(
        noticed,
        "report",
        lambda claim: [(text, {("a.module", 1): Fraction(change)}) for text, change in numbers.items()],
    )
    monkeypatch.setattr(broken, "report", lambda claim: (functions, True, []))
    assert noticed.main(["--all"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        *(f"{HELD.id}: {number}: module.py:1: {change}" for number, change in EARLY.items()),
        f"{HELD.id}: {NAME}: 3 of 4 refute, 4 move",
    ]
    before = noticed.RESULT.read_text()
    assert json.loads(before) == entry(HELD, EARLY)
    numbers["0.25"], functions[NAME] = "1e-3", broken.Found(2, 4, 4)
    assert noticed.main(["--all"]) == 1
    told = capsys.readouterr().err
    assert "a change of 0.25 was noticed from 1e-06 on, now: 0.001" in told
    assert f"of 4 places where {NAME} is broken, 3 refuted it, now: 2" in told
    assert "make noticed ACCEPT=1" in told
    assert noticed.RESULT.read_text() == before
    assert noticed.main(["--all", "--accept"]) == 1  # it is stored, and still against the rule
    assert json.loads(noticed.RESULT.read_text()) == entry(HELD, EARLY | {"0.25": "0.001"}, refuted=2)
    assert "0.25 (equality) is noticed from 0.001 on, and no reason says why" in capsys.readouterr().err


def test_a_function_that_is_no_longer_named_is_told():
    old = entry(HELD, EARLY)[HELD.id]
    (told,) = noticed.coarser("one", old, old | {"functions": {}})
    assert told == f"one: no longer names {NAME}; 3 of 4 places where it was broken refuted it"


def test_without_words_only_what_changed_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(noticed, "RESULT", tmp_path / "noticed.json")
    other, changed, new = (
        replace(HELD, id=id, tests="its formula stands in the check") for id in ("other", "changed", "new")
    )
    monkeypatch.setattr(framework, "claims", lambda: [HELD, other, changed, new])
    tried = []
    monkeypatch.setattr(noticed, "report", lambda claim: tried.append(f"numbers of {claim.id}") or [("12", {})])
    monkeypatch.setattr(broken, "report", lambda claim: tried.append(f"functions of {claim.id}") or ({}, True, ["1"]))
    before = entry(HELD, EARLY) | entry(other, EARLY) | entry(changed, EARLY)
    before[HELD.id]["functions"][NAME][0] = "the digest of other code"
    before["changed"]["check"] = "the digest of another check"
    noticed.RESULT.write_text(json.dumps(before))
    noticed.main([])
    both = [f"{what} of {id}" for id in ("changed", "new") for what in ("numbers", "functions")]
    assert tried == [f"functions of {HELD.id}", *both]
    assert capsys.readouterr().out.splitlines() == [
        f"{HELD.id}: stands: 1",
        *(line for id in ("changed", "new") for line in (f"{id}: 12: not in the check", f"{id}: stands: 1")),
    ]
    found = noticed.stored()
    assert [found[id]["numbers"] for id in (HELD.id, "other", "new")] == [EARLY, EARLY, {"12": "absent"}]


def test_what_the_book_claims_is_noticed_or_the_claim_says_why_not():
    assert noticed.problems(framework.claims(), noticed.stored()) == []


def test_what_was_once_found_false_stays_under_the_stricter_rule():
    assert len(noticed.FOUND_FALSE) >= 19, "a claim that readers found false may get another name, and is not let go"
    assert {*noticed.FOUND_FALSE} - framework.LEDGER.keys() == set(), "no claims of the ledger: mend their names"


def test_what_is_noticed_early_or_has_a_reason_is_accepted():
    assert noticed.problems([HELD], entry(HELD, EARLY)) == []
    other = replace(HELD, mark="extension", coarse=())  # an extension that was never found false
    assert noticed.problems([other], entry(other, EARLY | {"12": "never"})) == []
    deaf = replace(HELD, coarse=(*HELD.coarse, (f"{NAME} control", "both are far off")))
    assert noticed.problems([deaf], entry(deaf, EARLY, refuted=0, control=False)) == []
    none = replace(HELD, tests="its formula stands in the check")
    assert noticed.problems([none], entry(none, EARLY, control=False)) == []


@pytest.mark.parametrize(
    ("changes", "late", "refused"),
    [
        ({}, {"0.25": "1e-05"}, "0.25 (equality) is noticed from 1e-05 on, and no reason says why"),
        ({}, {"12": "2"}, "12 (whole number) is noticed from 2 on, and no reason says why"),
        ({}, {"0.2": "never"}, "0.2 (bound) is noticed from never on, and no reason says why"),
        ({}, {"0.7": "1e-09"}, "0.7 (equality) is noticed from 1e-09 on, and needs no reason"),
        ({"coarse": (*HELD.coarse, ("0.9", "a point"))}, {}, "gives a reason for 0.9, which it does not state or test"),
        (
            {"mark": "extension", "coarse": (("0.9", "a point"),)},
            {},
            "gives a reason for 0.9, which it does not state or test",
        ),
    ],
)
def test_what_the_guard_refuses(changes, late, refused):
    claim = replace(HELD, **changes)
    assert noticed.problems([claim], entry(claim, EARLY | late)) == [f"{claim.id}: {refused}"]


@pytest.mark.parametrize(
    ("reason", "counts", "refused"),
    [
        ((), {"refuted": 0, "moved": 0}, f"{NAME} was broken in 4 places, and no margin of the check changed"),
        ((NAME,), {"refuted": 0, "moved": 0}, f"{NAME} was broken in 4 places, and no margin of the check changed"),
        ((), {"refuted": 0}, f"{NAME} was broken in 4 places, and none refutes the claim; sharpen"),
        ((NAME,), {}, f"{NAME} needs no reason: 3 of 4 places where it was broken refute the claim"),
        ((), {"control": False}, "its control stays as it is wherever a function of `tests` is broken"),
        (("control",), {}, "its control needs no reason: it changes when a function of `tests` is broken"),
    ],
)
def test_a_function_or_a_control_that_the_guard_refuses(reason, counts, refused):
    claim = replace(HELD, mark="extension", coarse=tuple((name, "why") for name in reason))
    (found,) = noticed.problems([claim], entry(claim, EARLY, **counts))
    assert found.startswith(f"{claim.id}: {refused}")


@pytest.mark.parametrize(
    "other",
    [{}, {"statement": HELD.statement + " So it is."}, {"control": "another one"}, {"tests": (tokens.law,)}],
)
def test_a_claim_that_changed_must_be_run_again(other):
    found = entry(replace(HELD, **other), EARLY) if other else {}
    (told,) = noticed.problems([HELD], found)
    assert told.startswith(f"{HELD.id}: changed")
    assert told.endswith("run `make noticed` and commit noticed.json")


def test_a_check_that_does_not_end_in_time_is_not_tried(monkeypatch):
    def cases(xp, broken=None):
        while True:
            pass

    monkeypatch.setattr(noticed, "changed", lambda *_: replace(HELD, cases=cases))
    monkeypatch.setattr(noticed, "SECONDS", 0.01)
    assert noticed.noticed(HELD, None, Fraction(12)) == noticed.NOT_TRIED
    assert noticed.best([noticed.NOT_TRIED, None]) == "not tried"


def test_less_is_said_of_every_claim_that_notices_less(monkeypatch, capsys):
    monkeypatch.setattr(framework, "find", lambda id: replace(LEDGER["tensor-trick"], id=id))
    monkeypatch.setattr(noticed, "_run", lambda claim, before, everything: {})
    monkeypatch.setattr(noticed, "stored", dict)
    monkeypatch.setattr(noticed, "coarser", lambda id, before, entry: [f"{id}: less"])
    monkeypatch.setattr(noticed, "problems", lambda claims, found: [])
    assert noticed.main(["one", "two"]) == 1
    assert capsys.readouterr().err.splitlines()[:2] == ["one: less", "two: less"]


def test_the_smallest_change_counts_whichever_place_notices_it():
    assert noticed.best([Fraction(1, 2), Fraction(-1, 5), Fraction(1, 4)]) == "-0.2"


def test_every_number_of_a_statement_is_reported_also_behind_one_that_is_noticed_at_once(monkeypatch):
    claim = framework.find("polynomial-degree-window")
    monkeypatch.setattr(noticed, "noticed", lambda claim, place, number: 1)
    assert len([*noticed.report(claim)]) == len(noticed.numbers(claim.statement)) > 1


def test_all_that_breaks_the_rule_is_said(monkeypatch, capsys):
    monkeypatch.setattr(noticed, "_run", lambda claim, before, everything: {})
    monkeypatch.setattr(noticed, "stored", dict)
    monkeypatch.setattr(noticed, "coarser", lambda id, before, entry: [])
    monkeypatch.setattr(noticed, "write", lambda path, text: None)
    lines = ["tensor-trick: one", "tensor-trick: two"]
    monkeypatch.setattr(noticed, "problems", lambda claims, found: [*lines, "another: three"])
    assert noticed.main(["tensor-trick"]) == 1
    assert capsys.readouterr().err.splitlines() == lines
