"""The framework itself: what must be refused, what must fail, and how a status comes about."""

import dataclasses
import json
import math
import re
import sys
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from attnsep import cli
from attnsep.arrays import backend_name, namespace
from attnsep.ledger import framework, record, tables
from attnsep.ledger.framework import Case, ClaimFailed, at_least, at_most, equal, to_digits, within
from attnsep.ledger.words import Badge
from attnsep.paper.network import relu
from attnsep.processes import ENDED

pytestmark = pytest.mark.usefixtures("nothing_set")


@pytest.fixture
def ledger(monkeypatch):
    """An empty ledger, so that tests enter claims of their own."""
    empty = {}
    monkeypatch.setattr(framework, "LEDGER", empty)
    monkeypatch.setattr(tables, "LEDGER", empty)
    return empty


FIELDS = {
    "mark": "extension",
    "source": "none",
    "level": "verified",
    "chapter": "somewhere",
    "statement": "$1 = 1$",
    "control": "the margin is lowered by this",
    "violations": (1, 2),
    "tests": (relu,),
}


def enter(id="a-claim", margins=(1.0, 0.5), tolerance=0.0, **changes):
    """Enter a claim whose control lowers every margin by the violation."""

    def cases(xp, broken=None):
        for number, margin in enumerate(margins):
            yield Case(margin - (broken or 0), tolerance, {"n": number})

    framework.claim(id, **(FIELDS | changes))(cases)
    return framework.find(id)


def test_a_claim_that_holds(ledger, capsys):
    evidence = framework.run(enter())
    assert (evidence.verdict, evidence.margin, evidence.cases) == ("holds", 0.5, 2)
    assert evidence.reached == {"n": (0, 1)}
    assert evidence.as_expected
    framework.check("a-claim")
    assert capsys.readouterr().out == (
        "Holds – verified, 2 cases, n from 0 to 1. The tightest case has 50 % of its bound to spare.\n"
        "Broken on purpose: the margin is lowered by 1. Then it fails, as it must.\n"
    )


def test_the_control_shows_what_still_passes(ledger):
    evidence = framework.run(enter(violations=(0.1, 0.2, 3)))
    assert (evidence.passes, evidence.fails) == ((0.1, 0.2), (3,))
    assert evidence.line.endswith("lowered by 3. Then it fails, as it must; with 0.2 instead it still holds.")
    row = framework.run(enter("of-four", violations=(0.1, 0.2, 3, 4))).to_json()
    assert (row["smallest_failing"], row["largest_passing"]) == (3, 0.2)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"margins": (1.0, -0.1)}, "refuted"),
        ({"margins": (math.nan, 1.0)}, "undecided"),
        ({"margins": (math.nan, -1.0)}, "refuted"),
        ({"margins": ()}, "undecided"),
    ],
)
def test_a_claim_that_does_not_hold(ledger, capsys, changes, verdict):
    evidence = framework.run(enter(**changes))
    assert evidence.verdict == verdict
    assert not evidence.as_expected
    with pytest.raises(ClaimFailed, match="a-claim: expected holds"):
        framework.check("a-claim")
    assert capsys.readouterr().out == f"{Badge(evidence)}\n"  # it is shown before the error


def test_a_control_that_cannot_fail(ledger):
    """The function ignores `broken`: the claim holds, and is a defect all the same."""

    def deaf(xp, broken=None):
        yield Case(1.0)

    framework.claim("deaf-claim", **FIELDS)(deaf)
    evidence = framework.run(framework.find("deaf-claim"))
    assert evidence.verdict == "holds"
    assert not evidence.control_fails
    assert evidence.line.endswith("lowered by 2. This must turn the verdict over, and NEVER does.")
    with pytest.raises(ClaimFailed):
        framework.check("deaf-claim")


def test_the_largest_violation_must_fail(ledger):
    def odd(xp, broken=None):
        yield Case(-1.0 if broken == 1 else 1.0)

    framework.claim("odd-claim", **FIELDS)(odd)
    assert not framework.run(framework.find("odd-claim")).as_expected


def test_a_refuted_statement_needs_a_control_that_holds(ledger):
    def cases(xp, broken=None):
        yield Case(-1.0 + (broken or 0))

    framework.claim("wrong-in-the-source", **(FIELDS | {"expect": "refuted"}))(cases)
    evidence = framework.run(framework.find("wrong-in-the-source"))
    assert evidence.verdict == "refuted"
    assert evidence.as_expected
    assert evidence.line.endswith("Changed on purpose: the margin is lowered by 1. Then it holds.")


@pytest.mark.parametrize("level", ["certified", "exact"])
def test_what_is_exact_may_not_round(ledger, level):
    for number, (margin, tolerance) in enumerate([(1, 1e-15), (Fraction(1, 2), 1e-15), (0.5, 0.0)]):
        with pytest.raises(ValueError, match=f"a-claim-{number}: level {level} allows no tolerance and no margin"):
            framework.run(enter(f"a-claim-{number}", level=level, margins=(1, margin), tolerance=tolerance))
    assert framework.run(enter(level=level, margins=(1, Fraction(1, 2)))).margin == 0.5


def test_a_case_that_is_not_a_number_leaves_an_exact_claim_undecided(ledger):
    def cases(xp, broken=None):
        yield Case(math.nan)

    framework.claim("a-claim", **(FIELDS | {"level": "exact"}))(cases)
    assert framework.run(framework.find("a-claim")).verdict == "undecided"


def test_a_fraction_too_small_for_a_double_still_refutes(ledger):
    evidence = framework.run(enter(level="exact", margins=(-Fraction(1, 10**400),)))
    assert (evidence.verdict, evidence.margin) == ("refuted", 0.0)


@pytest.mark.parametrize(
    ("case", "margin"),
    [
        (at_most(Fraction(1, 3), 1), Fraction(2, 3)),
        (at_least(2, Fraction(4)), Fraction(-1, 2)),
        (within(1, Fraction(1, 2), 3), Fraction(2, 3)),
        (equal(Fraction(1, 3), Fraction(1, 2)), Fraction(-1, 3)),
        (equal(0, 0), 0),
    ],
)
def test_fractions_stay_fractions(case, margin):
    assert (case.margin, case.is_exact) == (margin, True)


@pytest.mark.parametrize("number", [1, 1.0])
def test_a_case_keeps_its_tolerance_and_what_it_reached(number):
    bounds = at_most(number, 2, 0.1, n=3), at_least(number, 1, 0.1, n=3), within(number, 0, 2, 0.1, n=3)
    equalities = equal(number, 1, 0.1, n=3), to_digits(number, 1, 3, n=3), to_digits(number - 1, 0, 3, n=3)
    assert [case.reached for case in (*bounds, *equalities)] == [{"n": 3}] * 6
    assert [case.tolerance for case in (*bounds, equalities[0])] == [0.1] * 4
    assert [case.equality for case in (*bounds, *equalities)] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    "case", [at_most(0.5, 1), at_least(1, 0.5), within(1, 0.5, 2), equal(1, 1.0), equal(1, 1, 0.1)]
)
def test_one_float_or_a_tolerance_is_enough_to_be_not_exact(case):
    assert not case.is_exact


def test_computed_claims_state_what_rounding_could_do(ledger):
    with pytest.raises(ValueError, match="a-claim: level computed needs a tolerance where a margin is below 1e-13"):
        framework.run(enter(level="computed", margins=(1.0, 1e-14)))
    for number, (margin, tolerance) in enumerate([(1e-14, 1e-12), (1e-12, 0.0), (0, 0.0)]):
        claim = enter(f"fine-{number}", level="computed", margins=(margin,), tolerance=tolerance)
        assert framework.run(claim).verdict == "holds"


def test_digits_are_met_to_half_a_unit_in_the_last():
    assert to_digits(0.9990234375, 0.999023438, 9).verdict == "holds"  # a tie
    assert to_digits(0.00346450384, 0.00346450383, 9).verdict == "refuted"
    assert [to_digits(value, 0, 9).verdict for value in (0.0, 5e-324)] == ["holds", "refuted"]
    for wanted in (math.inf, math.nan):
        with pytest.raises(ValueError, match=f"wanted = {wanted}: must be finite"):
            to_digits(1.0, wanted, 9)


def test_ranges_that_cases_cover_whole_stay_apart(ledger):
    def cases(xp, broken=None):
        yield Case(-1 if broken else 1, reached={"a": (0, 0.1), "n0": 7, "boxes": 3})
        yield Case(1, reached={"a": (0.7, 1.5), "n0": 2, "boxes": 5})
        yield Case(1, reached={"a": (0, 0.1), "n0": 9, "boxes": 1})

    framework.claim("two-boxes", **(FIELDS | {"level": "certified"}))(cases)
    evidence = framework.run(framework.find("two-boxes"))
    assert evidence.reached == {"a": (0, 0.1), "a (2)": (0.7, 1.5), "boxes": (1, 5), "n0": (2, 9)}
    table = tables.certified_table({"two-boxes": evidence.to_json()})
    assert [*map(str, table.rows[0])] == ["two-boxes", "2 to 9", "3", "5", "a: 0 to 0.1; a (2): 0.7 to 1.5"]


def test_rounding_is_no_violation_and_no_margin(ledger):
    evidence = framework.run(enter(margins=(-5e-16,), tolerance=1e-15))
    assert (evidence.verdict, evidence.margin) == ("holds", 0.0)
    beyond = framework.run(enter("beyond", margins=(-2e-15,), tolerance=1e-15))
    assert (beyond.verdict, beyond.margin) == ("refuted", -2e-15)
    assert framework.run(enter("above-noise", margins=(1e-10,), tolerance=1e-12)).margin == 1e-10


def test_a_case_that_is_not_a_number_is_the_worst_one(ledger):
    for number, margins in enumerate([(math.nan, -1.0, 2.0), (2.0, -1.0, math.nan)]):
        assert math.isnan(framework.run(enter(f"not-a-number-{number}", margins=margins)).margin)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": "Not A Name"}, "lower-case words"),
        ({"mark": "ours"}, "mark = 'ours'"),
        ({"level": "sure"}, "level = 'sure'"),
        ({"level": "proved"}, "level = 'proved'"),
        ({"expect": "true"}, "expect = 'true'"),
        ({"control": " "}, "control = ' ': must be a text"),
        ({"violations": ()}, "at least one amount"),
        ({"violations": (2, 1)}, "ascending"),
        ({"violations": (1, 1)}, "ascending"),
        ({"statement": ""}, "statement = '': must be a text"),
        ({"source": ""}, "source = '': must be a text"),
        ({"chapter": ""}, "chapter = '': must be a text"),
        ({"tests": " "}, "tests = ' ': must be a text"),
        ({"tests": ()}, r"tests = \(\): must be functions of the library, or say why"),
        ({"tests": (math.log,)}, "must be functions of the library"),
        ({"tests": (relu, math.log)}, "must be functions of the library"),
        ({"coarse": (("0.7", " "),)}, "a-claim: coarse: reason = ' ': must be a text"),
        ({"coarse": (("", "why"),)}, "a-claim: coarse: numbers = '': must be a text"),
        ({"tests": (framework.run,)}, "must be functions of the library"),
        ({"tests": ("paper.network.relu",)}, "must be functions of the library"),
    ],
)
def test_entries_that_are_refused(ledger, changes, message):
    with pytest.raises(ValueError, match=message):
        enter(**changes)
    assert not ledger


def test_a_claim_without_control_is_refused(ledger):
    fields = {name: value for name, value in FIELDS.items() if name != "control"}
    with pytest.raises(TypeError, match="control"):
        framework.claim("no-control", **fields)


def test_ids_are_never_reused(ledger):
    enter()
    with pytest.raises(ValueError, match="is in the ledger already"):
        enter()


def test_definitions_cannot_be_checked(ledger):
    framework.definition("def-x", mark="source", source="1", statement="x", chapter="c")
    with pytest.raises(ValueError, match="no claim of this name"):
        framework.check("def-x")


def test_intervals_that_straddle_are_undecided():
    assert Case(-1.0, upper=-0.5).verdict == "refuted"
    assert Case(-1.0, upper=0.5).verdict == "undecided"
    assert Case(-1.0, upper=0.0).verdict == "undecided"
    with pytest.raises(TypeError, match="upper = '0': must be a real number"):
        Case(-1.0, upper="0")
    assert Case(math.nan).verdict == "undecided"
    assert Case(-1.0, 0.1, upper=-0.05).verdict == "undecided"  # the upper end may be rounding
    assert Case(-1.0, 0.1, upper=-0.2).verdict == "refuted"


def test_margins_are_relative():
    assert at_most(3.0, 4.0).margin == 0.25
    assert at_least(5.0, 4.0).margin == 0.25
    assert within(2.0, 1.0, 8.0).margin == 0.75
    assert within(0.5, 1.0, 8.0).margin == -0.5
    assert equal(3.0, 4.0).margin == -0.25
    assert equal(0.5, 0.0).margin == -0.5
    assert equal(np.array([-4.0, 1.0]), np.array([-2.0, 1.0])).margin == -1
    assert math.isnan(within(math.nan, 1.0, 2.0).margin)
    assert math.isnan(equal(math.nan, 1.0).margin)


def test_margins_of_negative_and_zero_bounds_keep_their_sign():
    assert at_most(-3.0, -2.0).margin == 0.5
    assert at_most(-1.0, -2.0).margin == -0.5
    assert at_least(-1.0, -2.0).margin == 0.5
    assert at_most(0.5, 0.0).margin == -0.5


def test_all_seeds_can_be_shifted_and_0_changes_nothing(ledger):
    drawn = {}

    def cases(xp, broken=None):
        drawn[framework._SHIFT.get()] = [framework.generator(seed).random() for seed in (7, 8)]
        yield Case(1.0 - (broken or 0))

    framework.claim("a-claim", **FIELDS)(cases)
    for seeds in (0, 1, 2):
        framework.verify(seeds=seeds)
    assert drawn[0] == [np.random.default_rng(seed).random() for seed in (7, 8)]
    assert len({number for numbers in drawn.values() for number in numbers}) == 6
    assert framework.generator(7).random() == drawn[0][0]  # the shift ends with the run
    with pytest.raises(ValueError, match="seeds = -1"):
        framework.run(framework.find("a-claim"), seeds=-1)


def test_the_shift_of_the_seeds_ends_with_each_run(ledger):
    drawn = []

    def inner(xp, broken=None):
        raise ArithmeticError

    def outer(xp, broken=None):
        before = framework.generator(7).random()
        with pytest.raises(ArithmeticError):
            framework.run(framework.find("inner"), seeds=2)
        drawn.append((before, framework.generator(7).random()))
        yield Case(1.0 - (broken or 0))

    framework.claim("inner", **FIELDS)(inner)
    framework.claim("outer", **FIELDS)(outer)
    framework.run(framework.find("outer"), seeds=3)
    assert {before == after for before, after in drawn} == {True}
    assert framework.generator(7).random() == np.random.default_rng(7).random() != drawn[0][0]


def test_two_shifts_share_no_draws(ledger):
    def cases(xp, broken=None):
        drawn.update(framework.generator(seed).random() for seed in (7, 8, 9))
        yield Case(1.0 - (broken or 0))

    drawn = set()
    framework.claim("a-claim", **FIELDS)(cases)
    for seeds in (1, 2, 3):
        framework.run(framework.find("a-claim"), seeds=seeds)
    assert len(drawn) == 9


def test_a_run_says_the_largest_tolerance_and_equality_only_of_all_cases(ledger):
    def cases(xp, broken=None):
        yield Case(1.0 - (broken or 0), 1.2345678e-9, {"n": 1, "d": 2}, equality=True)
        yield Case(0.5 - (broken or 0))

    framework.claim("a-claim", **FIELDS)(cases)
    evidence = framework.run(framework.find("a-claim"))
    assert (evidence.margin, evidence.tolerance, evidence.equality) == (0.5, 1.2345678e-9, False)
    assert [*evidence.reached] == ["d", "n"]
    row = dataclasses.replace(evidence, seconds=1.2345).to_json()
    assert (row["tolerance"], row["seconds"]) == (1.23e-9, 1.234)


def test_the_alarms_of_the_cases_add_up(ledger):
    def cases(xp, broken=None):
        yield from (Case(1.0 - (broken or 0), alarm=1e-9), Case(2.0), Case(3.0, alarm=2e-9))

    framework.claim("a-claim", **FIELDS)(cases)
    evidence = framework.run(framework.find("a-claim"))
    assert evidence.to_json()["alarm"] == 3e-9
    assert tables.status_line({"a-claim": evidence.to_json()}).endswith("with probability at most 3e-09.")
    with pytest.raises(ValueError, match="alarm = 1"):
        Case(0.0, alarm=1)


def test_the_whole_runs_false_alarm_rate():
    rows = record.read_record()
    assert 0 < sum(row["alarm"] for row in rows.values()) <= 1e-6
    assert {row["level"] for row in rows.values() if row["alarm"]} == {"sampled"}
    assert [id for id, row in rows.items() if row["level"] == "sampled" and not row["alarm"]] == []


def test_cases_refuse_what_would_pass_anything():
    with pytest.raises(ValueError, match="tolerance = inf"):
        Case(-5.0, tolerance=math.inf)
    with pytest.raises(ValueError, match=r"shapes \(3,\) and \(1,\), must be equal"):
        equal(np.ones(3), np.ones(1))
    with pytest.raises(ValueError, match=r"value = .* is too large for a double"):
        equal(10**400, 1.0)


def test_claims_compute_with_the_library_that_they_are_given(ledger):
    seen = []
    framework.claim("a-claim", **FIELDS)(lambda xp, broken=None: seen.append(xp) or [Case(1.0 - (broken or 0))])
    pytest.importorskip("array_api_strict")
    strict = namespace("array_api_strict")
    assert framework.run(framework.find("a-claim"), strict).backend == "array_api_strict"
    assert set(seen) == {strict}


def test_verify_needs_no_progress_bar(ledger, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    enter()
    assert [item.verdict for item in framework.verify(progress=True)] == ["holds"]


def test_a_bar_is_shown_in_a_terminal_only(ledger, capsys):
    enter()
    framework.verify(progress=True)
    assert capsys.readouterr() == ("", "")


def test_claims_that_are_named_in_the_ledgers_order_stay_in_it(ledger):
    enter("b-claim")
    enter("a-claim")
    assert [item.claim.id for item in framework.verify(["b-claim", "a-claim"])] == ["b-claim", "a-claim"]


def test_verify_runs_an_id_once_and_refuses_a_bare_string(ledger):
    enter()
    assert len(framework.verify(["a-claim", "a-claim"])) == 1
    with pytest.raises(TypeError, match="ids = 'a-claim': must be a sequence"):
        framework.verify("a-claim")
    with pytest.raises(TypeError, match=r"ids: 2\.5 is no text"):  # the first of those that are none
        framework.verify(["a-claim", 2.5, None])
    with pytest.raises(ValueError, match=r"id = \['a-claim'\]"):
        framework.find(["a-claim"])


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"verdict": "holds"}]'])
def test_a_file_that_is_no_record_is_named(tmp_path, monkeypatch, text):
    path = tmp_path / "record.json"
    path.write_text(text)
    monkeypatch.setenv("ATTNSEP_RECORD", str(path))
    with pytest.raises(ValueError, match=r"record\.json: is no record of claims"):
        record.read_record()


def test_margins_take_the_worst_entry(xp):
    values = xp.asarray([1.0, 2.0, 3.0])
    assert at_most(values, 4.0).margin == 0.25
    assert at_least(values, 0.5).margin == 1.0
    assert equal(values, xp.asarray([1.0, 2.0, 4.0])).margin == -0.25


def test_json_is_valid_and_has_the_contracts_fields(ledger):
    row = framework.run(enter(margins=(math.nan,))).to_json()
    contract = {"id", "mark", "level", "expect", "verdict", "as_expected", "margin", "cases", "control_fails"}
    assert contract | {"seconds", "backend"} <= row.keys()
    assert row["margin"] is None
    assert json.loads(json.dumps(row)) == row


def test_the_record_notices_a_changed_margin_a_missing_claim_and_a_stray_one(ledger):
    evidence = [framework.run(enter())]
    stored = {row["id"]: row for row in json.loads(record.record_text(evidence))}
    assert record.differences(evidence, stored) == []
    changed = {"a-claim": stored["a-claim"] | {"margin": 0.6}}
    assert record.differences(evidence, changed) == ["a-claim: margin is 0.5, the record has 0.6"]
    (other,) = record.differences(evidence, {"a-claim": stored["a-claim"] | {"check": "0"}})
    assert re.fullmatch(r"a-claim: check is '\w{16}', the record has '0'", other)
    assert record.differences(evidence, {}) == ["a-claim: not in the record"]
    stray = record.differences(evidence, stored | {"old": {"id": "old"}})
    assert stray == ["old: in the record, but no claim of the ledger"]


def test_tables_show_what_failed(ledger):
    enter()
    framework.definition("def-x", mark="source", source="section <1>", statement="x", chapter="somewhere")
    evidence = framework.run(framework.find("a-claim")).to_json()
    failed = evidence | {"as_expected": False, "control_fails": False}
    assert "NOT AS EXPECTED" in repr(tables.claims_table({"a-claim": failed}))
    assert "DOES NOT TURN" in repr(tables.claims_table({"a-claim": failed}))
    assert "not run" in repr(tables.claims_table({}))
    assert tables.status_line({"a-claim": evidence}).startswith("1 of 1 claims came out as expected (1 verified)")
    assert tables.status_line({"a-claim": failed}).startswith("0 of 1")
    table = tables.claims_table({"a-claim": evidence})
    row = dict(zip(table.header, map(str, table.rows[0]), strict=True))
    assert row["who says it"] == "extension"
    assert row["in the source card"] == "none"
    assert (row["verdict"], row["to spare"], row["evidence"]) == ("holds", "0.5", "verified, 2 cases")
    assert (row["control"], row["chapter"]) == ("fails at 1", "somewhere")
    html = tables.card("somewhere")._repr_html_()
    assert '<a href="somewhere.html#a-claim">a-claim</a>' in html
    assert "section &lt;1&gt;" in html


def test_claims_come_in_the_order_of_the_book(ledger):
    for id, chapter in (("c-claim", "two"), ("a-claim", "three"), ("b-claim", "one")):
        enter(id, chapter=chapter)
    assert [claim.id for claim in framework.claims()] == ["c-claim", "a-claim", "b-claim"]


def test_an_empty_ledger_is_no_ledger_of_which_all_holds(ledger):
    with pytest.raises(RuntimeError, match="the ledger is empty: import attnsep"):
        framework.claims()


@pytest.mark.slow
def test_processes_find_what_one_process_finds():
    ids = ("tensor-trick", "main-theorem-worked-instance", "golden-ratio-law")
    rows = [[item.to_json() | {"seconds": 0} for item in framework.verify(ids, jobs=jobs)] for jobs in (1, 2)]
    assert rows[0] == rows[1]
    assert [row["id"] for row in rows[0]] == list(ids)
    with pytest.raises(ValueError, match="jobs = 0: must be at least 1"):
        framework.verify(ids, jobs=0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_draw_as_many_numbers_as_one_does(monkeypatch, jobs):
    asked = []
    monkeypatch.setattr(framework, "run", lambda entry, xp, seeds: asked.append(seeds))
    monkeypatch.setattr(framework, "_run_in_process", lambda module, id, backend, seeds: asked.append(seeds))
    monkeypatch.setattr(framework, "FreshProcesses", lambda jobs, **_: nullcontext(SimpleNamespace(map=map)))
    framework.verify(("tensor-trick", "golden-ratio-law"), jobs=jobs, seeds=3)
    assert asked == [3, 3]


@pytest.mark.parametrize("jobs", [1, 2])
def test_processes_compute_with_the_library_that_is_given(monkeypatch, jobs):
    pytest.importorskip("array_api_strict")
    strict, asked = namespace("array_api_strict"), []
    monkeypatch.setattr(framework, "run", lambda entry, xp, seeds: asked.append(backend_name(xp)))
    monkeypatch.setattr(framework, "_run_in_process", lambda module, id, backend, seeds: asked.append(backend))
    monkeypatch.setattr(framework, "FreshProcesses", lambda jobs, **_: nullcontext(SimpleNamespace(map=map)))
    framework.verify(("tensor-trick", "golden-ratio-law"), xp=strict, jobs=jobs)
    assert asked == ["array_api_strict"] * 2


def test_there_are_no_more_processes_than_claims_and_one_that_is_killed_is_told(monkeypatch):
    asked = []

    def killed(*_):
        raise BrokenProcessPool
        yield

    def pool(jobs, **_):
        asked.append(jobs)
        return nullcontext(SimpleNamespace(map=killed))

    monkeypatch.setattr(framework, "FreshProcesses", pool)
    with pytest.raises(RuntimeError, match=f"^jobs = 2: {re.escape(ENDED)}"):
        framework.verify(("tensor-trick", "golden-ratio-law"), jobs=9)
    assert asked == [2]


@pytest.mark.parametrize(("set_to", "given"), [("", "1"), ("3", "3")])
def test_processes_side_by_side_have_one_thread_each_unless_somebody_set_another_number(monkeypatch, set_to, given):
    asked = []

    def pool(jobs, **environment):
        asked.append(environment)
        raise BrokenProcessPool

    monkeypatch.setattr(framework, "FreshProcesses", pool)
    monkeypatch.setenv("OMP_NUM_THREADS", set_to)
    with pytest.raises(BrokenProcessPool):
        framework.verify(("tensor-trick", "golden-ratio-law"), jobs=2)
    assert asked == [{"OMP_NUM_THREADS": given}]


def test_what_a_chapter_found_counts_where_both_are_told_one_folder(monkeypatch, tmp_path, capsys):
    claim = framework.find("tensor-trick")
    monkeypatch.setenv("ATTNSEP_EVIDENCE", str(tmp_path))
    assert framework.kept(claim) is None
    framework.check(claim.id)
    found = framework.kept(claim)
    assert f"{Badge(found)}\n" == capsys.readouterr().out
    assert found.to_json() | {"seconds": 0} == framework.run(claim).to_json() | {"seconds": 0}
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(framework, "backend_name", lambda xp: "cupy")
        assert framework.kept(claim) is None  # nobody ran it there
    assert framework.kept(claim, SimpleNamespace(asarray=None, __name__="cupy")) is None
    monkeypatch.setattr(framework, "run", lambda *_: pytest.fail("ran again"))
    assert cli.main(["verify", "--compare", claim.id]) == 0
    assert f"ok   {claim.id}: {found.line}\n" in capsys.readouterr().out
    with pytest.raises(pytest.fail.Exception, match="ran again"):  # without --compare the claim runs
        cli.main(["verify", claim.id])


def test_what_fails_in_a_chapter_is_kept_too(ledger, monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNSEP_EVIDENCE", str(tmp_path))
    with pytest.raises(ClaimFailed):
        framework.check(enter(margins=(-1.0,)).id)
    assert framework.kept(framework.find("a-claim")).verdict == "refuted"


@pytest.mark.parametrize("folder", [None, "", "not-there"])
def test_a_chapter_writes_nothing_unless_a_folder_is_named(ledger, monkeypatch, tmp_path, folder):
    monkeypatch.chdir(tmp_path)
    if folder is not None:
        monkeypatch.setenv("ATTNSEP_EVIDENCE", folder)
    framework.check(enter().id)
    assert [*tmp_path.iterdir()] == []


def test_a_chapter_that_found_something_else_is_noticed(monkeypatch, tmp_path, capsys):
    claim = framework.find("tensor-trick")
    monkeypatch.setenv("ATTNSEP_EVIDENCE", str(tmp_path))
    whole = framework.run(claim)
    monkeypatch.setattr(framework, "run", lambda *_: dataclasses.replace(whole, cases=whole.cases - 1))
    framework.check(claim.id)
    assert cli.main(["verify", "--compare", claim.id]) == 1
    assert f"{claim.id}: cases is {whole.cases - 1}, the record has {whole.cases}" in capsys.readouterr().err


def test_a_slack_beyond_all_doubles_is_refused_by_name():
    assert at_most(10**400, 10**401).margin == Fraction(9, 10)
    assert at_least(0, 10**400).verdict == "refuted"
    for compare in (at_most, at_least):
        with pytest.raises(ValueError, match="value, bound: their difference is too large for a double"):
            compare(10**400, 0)
    with pytest.raises(ValueError, match="value, wanted: their difference is too large for a double"):
        equal(10**300, Fraction(1, 10**300))


def test_numpys_whole_numbers_do_not_wrap_around():
    assert at_most(np.uint8(200), 0).verdict == "refuted"
    assert at_least(np.int64(2**63 - 1), np.int64(-1)).verdict == "holds"
    assert at_least(np.array([3, 200], dtype=np.uint8), 3).margin == 0
    assert equal(np.array([1], dtype=np.uint8), np.array([2], dtype=np.uint8)).margin == -0.5
    assert within(np.uint8(200), -1, 1).verdict == "refuted"


def test_infinite_entries_that_are_equal_leave_a_case_undecided():
    assert equal(np.asarray([np.inf, 1.0]), np.asarray([np.inf, 1.0])).verdict == "undecided"


@pytest.mark.parametrize("margin", [np.float32(0.5), np.float64(0.5), 0.5])
def test_a_margin_that_was_rounded_becomes_pythons_own(margin):
    assert type(Case(margin).margin) is float
    assert Case(margin).verdict == "holds"
    assert type(Case(Fraction(1, 2)).margin) is Fraction
    assert type(Case(1).margin) is int


def test_what_nothing_is_said_of_is_0(ledger):
    evidence = framework.run(enter(margins=()))
    assert (evidence.tolerance, evidence.alarm, evidence.cases) == (0, 0, 0)
    given = {field.name: getattr(evidence, field.name) for field in dataclasses.fields(evidence)}
    del given["tolerance"], given["alarm"]
    assert framework.Evidence(**given) == evidence
    assert (Case(1.0).tolerance, Case(1.0).alarm, Case(1.0).upper, Case(1.0).reached) == (0, 0, None, {})
