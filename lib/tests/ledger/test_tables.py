"""The tables show each number of a record in the column that says what it is."""

import json
import re
from pathlib import Path

import pytest

import attnsep.claims  # noqa: F401 – enters them into the ledger
from attnsep.ledger import framework, tables
from attnsep.ledger.framework import LEDGER, Claim
from attnsep.ledger.record import read_record
from attnsep.ledger.words import control_words
from attnsep.tables import shown

pytestmark = pytest.mark.usefixtures("nothing_set")


def columns(table):
    """Return {id in the first column: {name of a column: what stands there}}."""
    return {str(row[0]): dict(zip(table.header, row, strict=True)) for row in table.rows}


def test_the_claims_table_shows_the_record():
    record, rows = read_record(), columns(tables.claims_table())
    assert tables.claims_table().filters == ("chapter", "who says it", "evidence", "verdict")
    assert [*rows] == [claim.id for claim in framework.claims()]
    for id, row in rows.items():
        claim, found = LEDGER[id], record[id]
        assert (row["who says it"], row["chapter"]) == (claim.mark, claim.chapter)
        assert row["evidence"] == f"{claim.evidence}, {found['cases']} cases"
        assert row["verdict"] == found["verdict"]
        assert row["in the source card"] == claim.source
        slack = "–" if found["margin"] is None else shown(found["margin"])
        rounding = f" (tolerance {shown(found['tolerance'])})" if found["tolerance"] else ""
        assert row["to spare"] == slack + rounding
        assert row["control"] == control_words(claim.expect, found["smallest_failing"], found["largest_passing"])


def test_of_a_claim_that_was_not_run_nothing_is_said_but_that():
    row = columns(tables.claims_table({}))["tensor-trick"]
    assert [row[name] for name in ("evidence", "verdict", "to spare", "control")] == [
        "proved; exact",
        "not run",
        "",
        "",
    ]


def test_the_certified_table_shows_boxes_and_first_n():
    record, rows = read_record(), columns(tables.certified_table())
    assert {*rows} == {claim.id for claim in framework.claims() if claim.level == "certified"}
    for id, row in rows.items():
        reached = record[id]["reached"]
        assert (row["certificates"], row["most boxes"]) == (record[id]["cases"], reached["boxes"][1])
        ends = [f"{end:.6g}" for end in reached.get("n0", ())]
        assert row["first n"] == (" to ".join(dict.fromkeys(ends)) or "–")
        sides = [name for name in reached if name not in ("boxes", "n0", "false at n")]
        assert [side.partition(":")[0] for side in row["sides of the parameters' boxes"].split("; ")] == (
            sides or ["identities"]
        )
        for side in sides:
            low, high = reached[side]
            assert f"{side}: {low:.6g} to {high:.6g}" in row["sides of the parameters' boxes"]
    assert tables.certified_table({}).rows == ()


def test_the_definitions_table_has_every_definition():
    rows = columns(tables.definitions_table())
    entries = {entry.id: entry for entry in LEDGER.values() if not isinstance(entry, Claim)}
    assert [*rows] == [*entries]
    for id, row in rows.items():
        assert (row["who says it"], row["chapter"]) == (entries[id].mark, entries[id].chapter)
        assert row["in the source card"] == entries[id].source


def test_a_card_has_the_statements_of_its_chapter():
    rows = columns(tables.card("tensor-trick"))
    assert [*rows] == [entry.id for entry in LEDGER.values() if entry.chapter == "tensor-trick"]
    assert (rows["tensor-trick"]["evidence"], rows["def-vec"]["evidence"]) == ("proved; exact", "definition")
    assert rows["def-vec"]["who says it"] == LEDGER["def-vec"].mark


@pytest.mark.parametrize(
    ("number", "change", "words"),
    [
        ("10^300", "-2", "10^300: ±2"),
        ("5", "1", "5: ±1"),
        ("0.7", "-0.01", "0.7: 1 %"),
        ("1.5", "1e-06", "1.5: 0.0001 %"),
    ],
)
def test_what_is_noticed_is_told_in_whole_numbers_or_percent(number, change, words):
    assert tables._noticed(number, change) == words


def test_the_noticed_table_says_of_each_number_what_is_noticed_or_why_not():
    found = json.loads(Path(tables.__file__).with_name("noticed.json").read_text(encoding="utf-8"))
    rows = columns(tables.noticed_table())
    for claim in framework.claims():
        changes = found.get(claim.id, {"numbers": {}})["numbers"]
        noticed = {number for number, change in changes.items() if change not in ("never", "absent", "not tried")}
        assert (claim.id in rows) == bool(noticed or claim.coarse)
        if claim.id in rows:
            words = rows[claim.id]["number: noticed from"]
            assert {part.partition(":")[0] for part in words.split("; ")} == (noticed or {"–"})
            assert all(reason in rows[claim.id]["why not from less"] for _, reason in claim.coarse)


def test_the_status_counts_what_came_out_as_expected():
    record, entries = read_record(), framework.claims()
    words = tables.status_line()
    refuted = sum(entry.expect == "refuted" for entry in entries)
    assert words.startswith(f"{len(entries)} of {len(entries)} claims came out as expected (")
    proved = sum(entry.evidence.startswith("proved; ") for entry in entries)
    assert f"; {proved} of them are proved as well" in words
    assert f"; {refuted} of them are refuted" in words
    assert f"; {len(entries)} of {len(entries)} controls turn the verdict over" in words
    for level in framework.LEVELS:
        number = sum(entry.level == level for entry in entries)
        assert (f"{number} {level}" in words) == bool(number)
    found = [level for level in framework.LEVELS if f" {level}" in words.partition("(")[2].partition(")")[0]]
    assert re.findall(r"\d+ (\w+)", words.partition("(")[2].partition(")")[0]) == found  # from strong to weak
    stray = record | {"a-claim-of-the-past": record["tensor-trick"] | {"alarm": 0.5}}
    assert tables.status_line(stray) == words
    wrong = next(entry.id for entry in entries if entry.expect == "refuted")
    record[wrong] |= {"as_expected": False, "control_fails": False}
    words = tables.status_line(record)
    assert words.startswith(f"{len(entries) - 1} of {len(entries)} claims came out as expected (")
    assert f"; {refuted - 1} of them are refuted" in words
    assert f"; {len(entries) - 1} of {len(entries)} controls" in words
    other = next(entry.id for entry in entries if entry.is_proved)
    record[other] |= {"as_expected": False}
    words = tables.status_line(record)
    assert f"; {proved - 1} of them are proved as well" in words
    assert f"; {len(entries) - 1} of {len(entries)} controls" in words
