"""The report card meets drawn arguments: it is right about them, or refuses them by name."""

import json
from dataclasses import replace

from hypothesis import strategies as st

from attnsep.reportcard import card, cards
from attnsep.reportcard._lines import LINES
from attnsep.reportcard.card import Card, Line
from lib.tests.fuzzing import fuzz
from lib.tests.reportcard import stand_ins
from lib.tests.strategies import some

LINE = Line("sees", "no", "It does not.", {"growth": 0.5, "sizes": [{"n": 64, "weight": 0.1}]})
CARDS = some(Card("mine", {}, ()), Card("yours", {"seed": 1}, (LINE,)))
SIZES = [{"pairs": 4, "loss": 0.25}]
FOUND = [
    {"name": "sees", "verdict": "no", "numbers": {"growth": 0.5}},
    {"name": "recalls", "verdict": "yes", "numbers": {"sizes": SIZES}},
]
ROW = {"attention": "mine", "adapter": "", "packages": {}, "card": {"lines": FOUND}, "not tried": None}
ROWS = some(ROW, ROW | {"card": None, "not tried": "it needs a GPU"})


def short(attention):
    """Return the attention for at most 64 tokens, so that a card is quick."""

    def called(q, k, v):
        if len(q) > 64:
            raise ValueError("64 tokens at most")
        return attention(q, k, v)

    called.__module__ = "numpy"
    return called


@fuzz(
    card.report,
    attention=some(*map(short, (stand_ins.softmax, stand_ins.linear, stand_ins.causal))),
    name=some(None, "mine"),
    layout=some(None, "nd"),
    library=some(None, "numpy"),
    dtype=some(None, "float64", "float32"),
    width=some(8, 18),
    n=some(128, 256),
    lines=some(["counts"], ("selects",), ["recalls"]),
    seconds=some(50, 60.0),
    seed=some(0, 7),
    progress=some(True, False),
    kept=("seconds", "progress"),
    passes_nan=True,
)
def test_a_card_has_the_lines_that_were_asked_for(result, lines, **given):
    assert [line.name for line in result.lines] == list(lines)
    assert {line.verdict for line in result.lines} <= {"yes", "no", "partly", "not judged"}


@fuzz(card.Card.as_dict, self=CARDS)
def test_a_card_as_data_is_json(result, self):
    assert json.loads(json.dumps(result, allow_nan=False))["attention"] == self.attention


@fuzz(card.Card.html, self=CARDS)
def test_a_page_names_the_attention(result, self):
    assert self.attention in result


@fuzz(
    card.failed,
    card=some(Card("yours", {}, (LINE,)), Card("ours", {}, (replace(LINE, verdict="yes"),))),
    required=some([], ["sees"], ("sees", "sees")),
)
def test_what_failed_was_required(result, card, required):
    assert result == (list(required) if card.attention == "yours" else [])


@fuzz(card.named, attention=some("softmax", "linear", "performer:2", "math:prod"))
def test_what_is_named_can_be_called(result, attention):
    assert callable(result)


@fuzz(cards.cards_text, rows=st.lists(ROWS, max_size=2))
def test_stored_cards_are_lines_of_text(result, rows):
    assert len(result.splitlines()) == len(rows)


@fuzz(cards.cards_table, rows=st.lists(ROWS, max_size=2))
def test_stored_cards_are_rows_of_a_table(result, rows):
    assert len(result.rows) == len(rows)


@fuzz(cards.place_of, row=ROWS)
def test_a_place_is_a_growth_and_a_share(result, row):
    assert result == (None if row["card"] is None else (0.5, 0.5))
    assert {*LINES} >= {line["name"] for line in FOUND}
