"""What is a record, and what a run and a record are told apart by."""

import dataclasses
import json

import pytest

from attnsep.ledger import record
from lib.tests.strategies import EVIDENCE

EMPTY = dict.fromkeys(record.FIELDS)


def test_a_record_has_all_fields_and_amounts_that_are_numbers_or_absent():
    good = {"one": EMPTY, "two": EMPTY | {"margin": -1.5, "smallest_failing": 3, "more": "words"}}
    assert record.require_record(good) is good


@pytest.mark.parametrize("change", [{"margin": "0.5"}, {"smallest_failing": [1]}, {"largest_passing": "1"}])
def test_one_amount_that_is_no_number_is_enough_to_refuse_a_record(change):
    with pytest.raises(TypeError, match=r"record: 'one' has .*must have the evidence of a claim"):
        record.require_record({"one": EMPTY | change})


@pytest.mark.parametrize("name", sorted(record.FIELDS))
def test_a_record_without_a_field_is_refused(name):
    with pytest.raises(TypeError, match="must have the evidence of a claim"):
        record.require_record({"one": {field: None for field in record.FIELDS if field != name}})


def test_a_claim_that_the_record_lacks_hides_no_other_difference():
    other = dataclasses.replace(EVIDENCE, claim=dataclasses.replace(EVIDENCE.claim, id="other"))
    (row,) = json.loads(record.record_text([EVIDENCE]))
    found = record.differences([other, EVIDENCE], {row["id"]: row | {"cases": 0}})
    assert found == ["other: not in the record", f"{row['id']}: cases is {row['cases']}, the record has 0"]


@pytest.mark.parametrize("side", ["the run", "the record"])
def test_a_value_that_only_one_side_has_is_a_difference(side):
    (row,) = json.loads(record.record_text([EVIDENCE]))
    stored = row | {"more": 1} if side == "the record" else {name: row[name] for name in row if name != "cases"}
    said = "more is None, the record has 1" if side == "the record" else f"cases is {row['cases']}, the record has None"
    assert record.differences([EVIDENCE], {row["id"]: stored}) == [f"{row['id']}: {said}"]


def test_every_value_of_the_record_is_compared():
    (row,) = json.loads(record.record_text([EVIDENCE]))
    for name in row.keys() - {"id", "parts"}:  # the digest of the check covers its parts
        (found,) = record.differences([EVIDENCE], {row["id"]: row | {name: -1}})
        assert found.startswith(f"{row['id']}: {name} is ")


@pytest.mark.parametrize("call", [lambda x: record.differences(x, {}), record.record_text])
def test_only_evidence_is_compared_or_stored(call):
    with pytest.raises(TypeError, match="evidence"):
        call([EVIDENCE, EVIDENCE.to_json()])


def test_a_record_is_read_where_it_is_said_to_lie_and_only_a_missing_one_is_empty(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNSEP_RECORD", "")
    own = record.record_path()
    assert (own.name, own.parent.name) == ("record.json", "ledger")
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "none.json"))
    assert record.read_record() == {}
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path))
    with pytest.raises(ValueError, match=r"is no record of claims \((?!\[Errno)"):  # the path is named once
        record.read_record()


def test_a_record_shows_every_letter_as_it_is():
    claim = dataclasses.replace(EVIDENCE.claim, source="§ 6, Grünwald")
    assert '"source": "§ 6, Grünwald"' in record.record_text([dataclasses.replace(EVIDENCE, claim=claim)])


@pytest.mark.parametrize(
    ("level", "ends"), [("certified", [1 / 3, 2 / 3]), ("exact", [0.333, 0.667]), ("computed", [0.333, 0.667])]
)
def test_the_ends_of_a_certified_box_keep_all_digits(level, ends):
    claim = dataclasses.replace(EVIDENCE.claim, level=level)
    found = dataclasses.replace(EVIDENCE, claim=claim, reached={"n": (1 / 3, 2 / 3)})
    (row,) = json.loads(record.record_text([found]))
    assert row["reached"] == {"n": ends}


def test_what_varies_between_runs_is_not_compared():
    (row,) = json.loads(record.record_text([EVIDENCE]))
    assert not row.keys() & {"seconds", "backend"}
    assert record.differences([dataclasses.replace(EVIDENCE, seconds=1e9, backend="other")], {row["id"]: row}) == []
