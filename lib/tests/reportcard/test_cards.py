"""Stored cards are read, refused where they are none, shown as a table and placed in a picture."""

import json
import math

import pytest

from attnsep.reportcard.cards import cards_table, cards_text, place_of, read_cards

ROW = {"attention": "mine", "adapter": "a:b", "packages": {"a": "1"}, "not tried": None}
ROW["card"] = {"attention": "mine", "called": {}, "lines": [{"name": "sees", "verdict": "yes", "numbers": {}}]}
LEFT_OUT = ROW | {"card": None, "not tried": "it needs a GPU"}


def test_rows_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_text(cards_text([ROW, LEFT_OUT]), encoding="utf-8")
    assert read_cards(path) == [ROW, LEFT_OUT]
    assert "√d" in cards_text([ROW | {"attention": "scale 1/√d"}])


@pytest.mark.parametrize(
    "row", [[], {}, ROW | {"more": 1}, ROW | {"card": None}, ROW | {"card": {}}, ROW | {"card": {"lines": [3]}}]
)
def test_what_is_no_row_is_refused(tmp_path, row):
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(ValueError, match="holds no cards of make cards"):
        read_cards(path)
    with pytest.raises(TypeError, match="rows = "):
        cards_text([row])
    with pytest.raises(ValueError, match="path = "):
        read_cards(tmp_path / "nothing")


def test_the_table_has_a_row_for_each_and_says_what_was_not_tried():
    table = cards_table([ROW, LEFT_OUT])
    assert table.rows[0] == ("mine", "yes", "", "", "", "", "")
    assert table.rows[1][1:] == ("not tried",) * 6


def test_a_place_needs_growth_and_recall():
    assert place_of(LEFT_OUT) is None
    assert place_of(ROW) is None
    sees = {"name": "sees", "numbers": {"growth": None, "sizes": [{"n": 64, "weight": 0.9}, {"n": 128, "weight": 1.0}]}}
    recalls = {"name": "recalls", "numbers": {"sizes": [{"pairs": 4, "loss": 0.25}, {"pairs": 16, "loss": 0.75}]}}
    assert place_of(ROW | {"card": {"lines": [sees, recalls]}}) == (math.inf, 0)
    sees["numbers"]["sizes"][-1]["weight"] = 0.5
    assert place_of(ROW | {"card": {"lines": [sees, recalls]}}) is None
