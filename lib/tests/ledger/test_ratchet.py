"""The ratchet: what it refuses, and what a check is."""

import ast
import importlib.util
import json
import re
import sys
from dataclasses import replace

import pytest

import attnsep.claims  # noqa: F401 – enters them into the ledger
from attnsep.arrays import namespace
from attnsep.ledger import framework, proofs, ratchet, record, tables
from attnsep.ledger.ratchet import FIELDS, extended, problems

pytestmark = pytest.mark.usefixtures("nothing_set")
ID = "tensor-trick"


@pytest.fixture(scope="module")
def row():
    """The record of a claim that has a tolerance."""
    rows = json.loads(record.record_text([framework.run(framework.find("linear-ignores-scale"), namespace("numpy"))]))
    return rows[0] | {"id": ID}


def lines_of(row):
    lines, refused = extended([], {ID: row}, {}, {})
    assert refused == []
    return lines


WEAKER = {
    "fewer cases": lambda row: {"cases": row["cases"] - 1},
    "a wider tolerance": lambda row: {"tolerance": 10 * row["tolerance"]},
    "a coarser control": lambda row: {"smallest_failing": 100 * row["smallest_failing"]},
    "no control": lambda row: {"smallest_failing": None},
    "a raised level": lambda row: {"level": "exact"},
    "a lowered level": lambda row: {"level": "measured"},
    "another source": lambda row: {"source": "section 6"},
    "another mark": lambda row: {"mark": "source"},
    "another claim's check": lambda row: {"check": ratchet.digest(framework.find("column-law"))},
}


@pytest.mark.quartered
@pytest.mark.parametrize("what", WEAKER)
def test_what_is_weaker_needs_a_reason(row, what):
    lines, worse = lines_of(row), row | WEAKER[what](row)
    (changed,) = WEAKER[what](row)
    assert problems(lines, {ID: worse}) == [f"{ID}: record and ratchet differ in {changed}"]
    longer, refused = extended(lines, {ID: worse}, {}, {})
    assert [sentence.startswith(f"{ID}: {changed}: ") for sentence in refused] == [True]
    assert [f"{sentence}, and the ratchet gives no reason" for sentence in refused] == problems(longer, {ID: worse})
    reasoned, refused = extended(lines, {ID: worse}, {ID: "two cases were the same"}, {})
    assert (refused, reasoned[-1]["reason"]) == ([], "two cases were the same")
    assert problems(reasoned, {ID: worse}) == []


def test_a_check_that_goes_less_far_than_it_did_needs_a_reason(row):
    lines, reached = lines_of(row), {"n": [10.0, 200.0]}
    before, fewer = {ID: row | {"reached": reached}}, row | {"check": "0" * 16, "reached": {"n": [10.0, 190.0]}}
    (refused,) = extended(lines, {ID: fewer}, {}, before)[1]
    assert refused.endswith("; n goes from 10 to 190, after 10 to 200")
    assert extended(lines, {ID: fewer}, {ID: "200 takes too long"}, before)[1] == []
    later = fewer | {"reached": {"n": [11.0, 200.0]}}
    assert "n goes from 11 to 200, after 10 to 200" in extended(lines, {ID: later}, {}, before)[1][0]
    as_far = fewer | {"reached": {"n": [10.0, 200.0], "d": [4.0, 4.0]}}
    assert "goes from" not in extended(lines, {ID: as_far}, {}, before)[1][0]
    assert "goes from" not in extended(lines, {ID: fewer}, {}, {})[1][0]  # a new claim


def test_more_cases_that_go_less_far_need_a_reason(row):
    before, more = {ID: row | {"reached": {"n": [10.0, 200.0]}}}, {"cases": row["cases"] + 1}
    (refused,) = extended(lines_of(row), {ID: row | more | {"reached": {"n": [10.0, 190.0]}}}, {}, before)[1]
    assert refused == f"{ID}: n goes from 10 to 190, after 10 to 200"


def test_a_reason_stands_only_where_one_is_needed(row):
    better = row | {"cases": row["cases"] + 1}
    assert extended(lines_of(row), {ID: better}, {ID: "of no use"}, {})[0][-1]["reason"] is None


def test_all_reasons_count_and_those_without_a_claim_are_named_in_order():
    reasons = ratchet.reasons_from(["e-claim a-claim: why", "d-claim: because"])
    assert reasons == {"e-claim": "why", "a-claim": "why", "d-claim": "because"}
    refused = extended([], {}, reasons | dict.fromkeys(("c-claim", "b-claim"), "no"), {})[1]
    assert [sentence[0] for sentence in refused] == ["a", "b", "c", "d", "e"]


def test_a_refusal_says_what_of_the_check_is_another(row):
    """A statement that says more, with the check that it had, is the worst of them."""
    lines, parts = lines_of(row), row["parts"]
    for name, found in (
        ("statement", "another statement, and the code of the check is as it was"),
        ("control", "another control, and the code of the check is as it was"),
        (
            "linear_ignores_scale",
            "other code: linear_ignores_scale; the words of statement and control are as they were",
        ),
    ):
        assert f"{name}=" in parts
        other = row | {"check": "0" * 16, "parts": re.sub(rf"{name}=\w+", f"{name}=0", parts)}
        (refused,) = extended(lines, {ID: other}, {}, {ID: row})[1]
        assert refused.endswith(f"; {found}")


def test_a_claim_that_vanished_needs_a_reason_and_so_does_its_return(row):
    lines = lines_of(row)
    longer, refused = extended(lines, {}, {}, {})
    assert [sentence.startswith(f"{ID}: level: gone after") for sentence in refused] == [True]
    assert problems(lines, {}) == [f"{ID}: record and ratchet differ in {', '.join(FIELDS[1:])}"]
    assert len(problems(longer, {})) == 1
    gone, refused = extended(lines, {}, {ID: "merged into column-law"}, {})
    assert (refused, problems(gone, {})) == ([], [])
    assert len(extended(gone, {ID: row}, {}, {})[1]) == 1


def test_what_is_stronger_or_new_gets_its_line_and_what_is_equal_gets_none(row):
    lines = lines_of(row)
    better = row | {"cases": row["cases"] + 1, "smallest_failing": row["smallest_failing"] / 10, "tolerance": 0.0}
    longer, refused = extended(lines, {ID: better}, {}, {})
    assert (refused, len(longer), longer[-1]["reason"]) == ([], 2, None)
    assert problems(longer, {ID: better}) == []
    assert extended(longer, {ID: better}, {ID: "of no use"}, {}) == (longer, [])
    assert problems([], {ID: row}) == [f"{ID}: record and ratchet differ in {', '.join(FIELDS)}"]
    bare = row | {"smallest_failing": None}
    assert extended(lines_of(bare), {ID: bare | {"cases": row["cases"] + 1}}, {}, {})[1] == []
    assert extended([], {}, {"no-such-claim": "why"}, {})[1] == ["no-such-claim: has a reason, but is no claim"]


def test_a_weaker_line_between_two_strong_ones_is_seen(row):
    first, better = lines_of(row)[0], row["cases"] + 1
    lines = [first, first | {"cases": 1}, first | {"cases": better}]
    assert problems(lines, {ID: row | {"cases": better}}) == [
        f"{ID}: cases: 1 after {row['cases']}, and the ratchet gives no reason"
    ]


def test_the_ledgers_files_are_found_from_every_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert ratchet.read_ratchet()
    assert record.read_record()
    assert proofs.proofs_path().is_file()
    assert any(noticed != "–" for _, noticed, _ in tables.noticed_table().rows)


def test_record_and_ratchet_of_the_book_agree():
    assert problems(ratchet.read_ratchet(), record.read_record()) == []
    assert record.read_record().keys() == {entry.id for entry in framework.claims()}


@pytest.mark.parametrize("text", ["{", "[1]", '{"id": "one"}'])
def test_a_file_that_is_no_ratchet_is_named(tmp_path, monkeypatch, text):
    monkeypatch.setattr(ratchet, "ratchet_path", lambda: tmp_path / "ratchet.jsonl")
    assert ratchet.read_ratchet() == []
    (tmp_path / "ratchet.jsonl").write_text(text + "\n")
    with pytest.raises(ValueError, match=r"ratchet\.jsonl"):
        ratchet.read_ratchet()


def test_a_line_with_a_key_too_many_is_named_and_a_folder_is_no_ratchet(tmp_path, monkeypatch, row):
    path, lines = tmp_path / "ratchet.jsonl", lines_of(row)
    monkeypatch.setattr(ratchet, "ratchet_path", lambda: path)
    path.write_text(ratchet.ratchet_text(lines) + ratchet.ratchet_text(lines))
    assert ratchet.read_ratchet() == lines * 2
    path.write_text(ratchet.ratchet_text([*lines, lines[0] | {"more": 1}]))
    with pytest.raises(ValueError, match=r"ratchet\.jsonl, line 2: must have exactly the keys id, "):
        ratchet.read_ratchet()
    monkeypatch.setattr(ratchet, "ratchet_path", lambda: tmp_path)
    with pytest.raises(ValueError, match="is no ratchet"):
        ratchet.read_ratchet()


@pytest.mark.parametrize("text", ["no colon", ": no claim", "tensor-trick: ", ""])
def test_a_reason_names_claims_and_says_why(text):
    with pytest.raises(ValueError, match="must be ids of claims, a colon, and why"):
        ratchet.reasons_from([text])


# What a check is

SOURCE = '''
LIMIT = 5
BOX = {"a": 1}
BOX |= {"b": 2}

def helper(x):
    """Say something."""
    # a remark
    return x < LIMIT

def unused():
    return 1

def check(xp, broken=None):
    yield helper(BOX)
'''


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """Return the digest of the check in a module with this text."""

    def found(text, **changes):
        name, path = "attnsep.claims.made_up", tmp_path / f"{len([*tmp_path.iterdir()])}.py"
        path.write_text(text)
        ratchet._top.cache_clear()
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return ratchet.digest(replace(framework.find(ID), cases=module.check, **changes))

    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 5", "LIMIT = 50"),
        ('{"a": 1}', '{"a": 3}'),
        ('{"b": 2}', '{"b": 3}'),
        ("x < LIMIT", "x <= LIMIT"),
        ("yield helper(BOX)", "yield True"),
        ("def check(xp, broken=None)", "def check(xp, broken=1)"),
    ],
)
def test_a_change_of_a_check_or_of_what_it_uses_changes_its_digest(digest_of, old, new):
    assert digest_of(SOURCE) != digest_of(SOURCE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def helper(x)", "def helper(x, most=OTHER)"),
        ('BOX |= {"b": 2}', 'BOX |= {"b": OTHER}'),
        ("< LIMIT", "< OTHER"),
    ],
)
def test_what_a_default_or_a_later_line_uses_counts_too(digest_of, old, new):
    text = SOURCE.replace(old, new)
    assert digest_of("OTHER = 1" + text) != digest_of("OTHER = 2" + text)


@pytest.mark.parametrize("field", ["statement", "assumes", "control", "expect"])
def test_a_change_of_the_words_changes_the_digest(digest_of, field):
    assert digest_of(SOURCE) != digest_of(SOURCE, **{field: "other words"})


def test_remarks_spaces_and_what_a_check_does_not_use_are_not_in_its_digest(digest_of):
    text = SOURCE.replace("Say something", "Say more").replace("a remark", "another").replace("return 1", "return 2")
    assert digest_of(SOURCE) == digest_of(text.replace("\n\n", "\n\n\n"))


def test_two_claims_never_have_one_digest():
    digests = [ratchet.digest(entry) for entry in framework.claims()]
    assert len(digests) == len(set(digests)) > 0


def test_what_stands_in_another_module_of_claims_counts():
    used = {
        name
        for _, name in ratchet._used("attnsep.claims.what_the_checks_prove.finite_sizes", "certified_finite_weights")
    }
    assert {"_weights_rows", "weight_at_least", "A0", "KAPPA"} <= used


def test_a_claim_that_is_as_it_was_hides_no_other(row):
    lines, _ = extended([], {ID: row}, {}, {})
    found, refused = extended(lines, {ID: row, "another": row | {"id": "another"}}, {}, {})
    assert ([line["id"] for line in found], refused) == ([ID, "another"], [])


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ('def f(x):\n    """Say."""\n    y = 1\n    return y', True),
        ('def f(x):\n    """Say.\n\n    More.\n    """\n    # why\n    y  =  1\n    return y', True),
        ('def f(x):\n    """Say."""\n    y = 2\n    return y', False),
        ('def f(x):\n    """Say."""\n    return y', False),
        ('def f(x, y):\n    """Say."""\n    y = 1\n    return y', False),
    ],
)
def test_a_functions_text_is_all_but_its_words(code, same):
    plain = "def f(x):\n    y = 1\n    return y"
    texts = [ratchet._text(part.splitlines(), ast.parse(part).body[0]) for part in (plain, code)]
    assert (texts[0] == texts[1]) is same
