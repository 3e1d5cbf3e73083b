"""Stored cards are read, refused where they are none, shown as a table and placed in a picture."""

import json
import math

import pytest

from attnsep.reportcard.cards import cards_path, cards_table, cards_text, place_of, read_cards

ROW = {"attention": "mine", "adapter": "a:b", "packages": {"a": "1"}, "not tried": None}
SEES = {"name": "sees", "verdict": "yes", "numbers": {}}
ROW["card"] = {"attention": "mine", "called": {}, "lines": [SEES]}
LEFT_OUT = ROW | {"card": None, "not tried": "it needs a GPU"}


def test_rows_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_text(cards_text([ROW, LEFT_OUT]), encoding="utf-8")
    assert read_cards(path) == [ROW, LEFT_OUT]
    path.write_text("\n" + cards_text([ROW]) + " \n" + cards_text([LEFT_OUT]), encoding="utf-8")
    assert read_cards(path) == [ROW, LEFT_OUT]
    assert cards_text(read_cards()) == cards_path().read_text(encoding="utf-8")
    assert "√d" in cards_text([ROW | {"attention": "scale 1/√d"}])
    odd = ROW | {"attention": "ends of a line\u2028 of a page\x0c and of others\x85"}  # JSON leaves them as they are
    path.write_text(cards_text([odd, ROW]), encoding="utf-8")
    assert read_cards(path) == [odd, ROW]


@pytest.mark.parametrize(
    "row",
    [
        [],
        {},
        ROW | {"more": 1},
        ROW | {"attention": 3},
        *(ROW | {"card": card} for card in (None, [], {}, {"lines": {}}, {"lines": [3]}, {"lines": [SEES, 3]})),
        ROW | {"card": {"lines": [SEES, {"name": "hears"}]}},
    ],
)
def test_what_is_no_row_is_refused(tmp_path, row):
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(ValueError, match="holds no cards of make cards"):
        read_cards(path)
    for use in (cards_text, cards_table):
        with pytest.raises(
            TypeError, match=r"rows = .*: must (be rows of make cards|have a card, or the reason why it)"
        ):
            use([ROW, row])
    with pytest.raises(TypeError, match="row = "):
        place_of(row)
    with pytest.raises(ValueError, match="path = "):
        read_cards(tmp_path / "nothing")


def test_the_table_has_a_row_for_each_and_says_what_was_not_tried():
    more = ROW["card"] | {"lines": [{"name": "numerics", "verdict": "partly"}, {"name": "counts", "verdict": "no"}]}
    table = cards_table([ROW, LEFT_OUT, ROW | {"attention": "ours", "card": more}])
    assert table.rows == (
        ("mine", "yes", "", "", "", "", ""),
        ("mine", *["not tried"] * 6),
        ("ours", "", "", "no", "", "", "partly"),
    )


def test_a_place_needs_growth_and_recall():
    assert place_of(LEFT_OUT) is None
    assert place_of(ROW) is None
    sees = {"name": "sees", "numbers": {"growth": None, "sizes": [{"weight": x} for x in (0.9, 0.95, 1.0)]}}
    recalls = {"name": "recalls", "numbers": {"sizes": [{"pairs": 4, "loss": 0.25}, {"pairs": 16, "loss": 0.75}]}}
    assert place_of(ROW | {"card": {"lines": [sees, recalls]}}) == (math.inf, 0)
    recalls["numbers"]["sizes"][-1]["loss"] = 0.125
    assert place_of(ROW | {"card": {"lines": [recalls, sees]}}) == (math.inf, 0.75)
    assert place_of(ROW | {"card": {"lines": [recalls, sees | {"numbers": {"growth": 0.0}}]}}) == (0, 0.75)
    assert place_of(ROW | {"card": {"lines": [recalls, sees | {"numbers": None}]}}) is None
    assert place_of(ROW | {"card": {"lines": [sees, recalls | {"numbers": {"sizes": []}}]}}) is None
    sees["numbers"]["sizes"][-1]["weight"] = 0.5
    assert place_of(ROW | {"card": {"lines": [sees, recalls]}}) is None
