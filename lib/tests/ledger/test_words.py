"""What a reader sees of a claim's evidence: the same words on a page and in a terminal."""

import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

import attnsep.claims  # noqa: F401 – enters them into the ledger
from attnsep.ledger import framework, words
from attnsep.ledger.framework import Evidence, find, run

pytestmark = pytest.mark.usefixtures("nothing_set")

BASE = Evidence(
    claim=SimpleNamespace(
        id="a-claim",
        level="computed",
        evidence="computed",
        expect="holds",
        control="n is lower by this",
        violations=(1, 2),
    ),
    verdict="holds",
    margin=0.25,
    cases=12,
    reached={"n": (2, 10**300)},
    fails=(2,),
    passes=(1,),
    seconds=0.0,
    backend="numpy",
)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, "Holds – computed, 12 cases, n from 2 to 10^300. The tightest case has 25 % of its bound to spare."),
        ({"cases": 1, "reached": {}}, "Holds – computed, 1 case. The tightest case has 25 % of its bound to spare."),
        (
            {"reached": {"n": (8, 8)}, "margin": 0},
            "computed, 12 cases, n = 8. The tightest case meets its bound exactly.",
        ),
        ({"reached": {"n": (10**7 - 1, 10**7)}}, "computed, 12 cases, n from 9999999 to 10^7. "),
        ({"margin": 1.005}, "The tightest case has 100 % of its bound to spare."),
        ({"margin": 1.5}, "The tightest case has 1.5 times its bound to spare."),
        ({"margin": 1e-5}, "The tightest case has 0.001 % of its bound to spare."),
        ({"margin": 0.9e-5}, "The tightest case has 9e-06 of its bound to spare."),
        ({"margin": 0, "tolerance": 1e-12}, "The tightest case meets its bound, up to 1e-12 of it."),
        ({"margin": 0, "tolerance": 1.23e-12}, "The tightest case meets its bound, up to 1e-12 of it."),
        ({"margin": 0, "equality": True}, "Every value is the stated one exactly."),
        ({"margin": 0, "equality": True, "tolerance": 2e-9}, "Every value is the stated one to within 2e-09 of it."),
        ({"alarm": 1e-9}, "spare. Other draws would refute a true statement with probability at most 1e-09."),
        ({"verdict": "refuted", "margin": -3.0}, "The worst case misses its bound by 3 times that bound."),
        ({"verdict": "refuted", "margin": -0.5, "equality": True}, "The worst value is off by 50 % of the stated one."),
        (
            {"verdict": "undecided", "cases": 0, "reached": {}},
            "Undecided – computed, 0 cases. Not every case came to a",
        ),
        ({"verdict": "undecided", "margin": float("nan")}, "Undecided – computed, 12 cases, n from 2 to 10^300. Not "),
    ],
)
def test_the_first_sentence_says_what_was_found(changes, found):
    assert found in words.Badge(replace(BASE, **changes)).sentences[0]


@pytest.mark.parametrize(
    ("changes", "expect", "found"),
    [
        ({}, "holds", "Broken on purpose: n is lower by 2. Then it fails, as it must; with 1 instead it still holds."),
        ({"passes": (0,)}, "holds", "Broken on purpose: n is lower by 2. Then it fails, as it must."),
        ({"fails": ()}, "holds", "n is lower by 2. This must turn the verdict over, and NEVER does."),
        ({}, "refuted", "Changed on purpose: n is lower by 2. Then it holds; with 1 instead it is still refuted."),
    ],
)
def test_the_second_sentence_says_what_the_control_did(changes, expect, found):
    claim = SimpleNamespace(**(vars(BASE.claim) | {"expect": expect}))
    assert words.Badge(replace(BASE, claim=claim, **changes)).sentences[1].endswith(found)


@pytest.mark.parametrize(
    ("verdict", "found", "colour"),
    [
        ("holds", "Holds – proved; sampled, 12 cases", "level-proved"),
        ("refuted", "Refuted – sampled, 12 cases", "level-sampled"),
        ("undecided", "Undecided – sampled, 12 cases", "level-sampled"),
    ],
)
def test_a_proof_is_named_before_the_check_and_not_where_the_check_does_not_agree(verdict, found, colour):
    claim = SimpleNamespace(**(vars(BASE.claim) | {"level": "sampled", "evidence": "proved; sampled"}))
    badge = words.Badge(replace(BASE, claim=claim, verdict=verdict))
    assert badge.sentences[0].startswith(found)
    assert f" {colour}" in badge._repr_html_()


def test_a_proof_is_named_also_where_the_control_does_not_fail():
    claim = SimpleNamespace(**(vars(BASE.claim) | {"evidence": "proved; computed"}))
    assert (
        words.Badge(replace(BASE, claim=claim, fails=())).sentences[0].startswith("Holds – proved; computed, 12 cases")
    )


@pytest.mark.parametrize("amounts", [("much", 0), (1, "little")])
def test_a_control_has_amounts_that_are_numbers(amounts):
    with pytest.raises(
        TypeError, match=r"(smallest_failing = 'much'|largest_passing = 'little'): must be a real number"
    ):
        words.control_words("holds", *amounts)


@pytest.mark.parametrize("id", ["hoeffding-one-sided", "mechanism-3-no-linear-classifier"])
def test_a_badge_says_the_same_on_a_page_as_in_a_terminal(id):
    badge = words.Badge(run(find(id)))
    page = re.sub(r"<[^>]+>", " ", badge._repr_html_())
    assert page.split() == repr(badge).replace(" – ", " ").split()
    verdict = find(id).expect
    assert f'class="check check-{verdict} ' in badge._repr_html_()
    assert f'data-claim="{id}"' in badge._repr_html_()


def test_a_control_may_have_a_colon_of_its_own():
    claim = SimpleNamespace(**(vars(BASE.claim) | {"control": "one of two: n is lower by this"}))
    page = words.Badge(replace(BASE, claim=claim))._repr_html_()
    assert "<em>Broken on purpose:</em> one of two: n is lower by 2." in page


def test_a_verdict_that_was_not_expected_looks_wrong():
    assert 'class="check check-wrong ' in words.Badge(replace(BASE, verdict="refuted"))._repr_html_()


def test_a_notebook_gets_the_badge_itself(monkeypatch, capsys):
    shown = []
    shell = SimpleNamespace(kernel=None)
    there = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=shown.append))
    monkeypatch.setitem(sys.modules, "IPython", there)
    framework.check("tensor-trick")
    assert capsys.readouterr().out == ""
    del shell.kernel  # IPython in a terminal shows text
    framework.check("tensor-trick")
    assert capsys.readouterr().out == f"{shown[0]}\n"


def test_each_control_of_the_ledger_has_one_place_for_its_amount_unless_it_has_but_one():
    places = {claim.id: len(words.AMOUNT.findall(claim.control)) for claim in framework.claims()}
    single = {claim.id for claim in framework.claims() if claim.violations == (1,)}
    assert [id for id, count in places.items() if count != 1 and not (count == 0 and id in single)] == []
    assert "this many" not in "".join(claim.control for claim in framework.claims())  # "1 many" is no English
