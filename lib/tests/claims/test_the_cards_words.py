"""The page with the card's words: short quotations, claims that exist, verdicts that a record gives."""

import re

import pytest

from attnsep.claims import LEDGER
from attnsep.claims.the_cards_words import MOST_WORDS, PARTS, SENTENCES, Sentence, Words, card_words
from attnsep.ledger.framework import claims
from attnsep.ledger.record import read_record

pytestmark = pytest.mark.usefixtures("nothing_set")
PLACES = re.compile(
    "none: .+|section (?:1.1|3.3|6)|Lemma (?:4.1|D.2)|(?:Break condition of )?Mechanism [123]|Foundational Learning|"
    "Design tradeoffs, Failure signatures|First experiments [123]|Open Question [123]|Limitations|Next checks? [123]"
)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: f"{sentence.part}, {sentence.place}")
def test_each_sentence_is_short_and_names_claims(sentence):
    assert 1 < len(sentence.words.split()) <= MOST_WORDS
    assert sentence.part in PARTS
    assert sentence.reading.endswith(".")
    assert {*sentence.claims} <= LEDGER.keys()


def test_no_place_is_told_twice_and_no_refuted_claim_left_out():
    assert len({(sentence.part, sentence.place) for sentence in SENTENCES}) == len(SENTENCES)
    told = {id for sentence in SENTENCES for id in sentence.claims}
    assert {claim.id for claim in claims() if claim.expect == "refuted"} <= told


def test_sources_are_places_of_the_card():
    for entry in LEDGER.values():
        for place in entry.source.split("; "):
            assert PLACES.match(place), f"{entry.id}: {place}"


@pytest.mark.parametrize(
    ("named", "found", "own", "asks", "verdict"),
    [
        ((), (), False, False, "No run decides this."),
        (("x", "y"), ("holds", "holds"), True, False, "It holds."),
        (("x", "y"), ("holds", "holds"), False, False, "Our reading of it holds."),
        (("x", "y"), ("holds", "holds"), False, True, "Our answer holds."),
        (("x",), ("refuted",), True, False, "A run refutes it."),
        (("x",), ("refuted",), False, True, "Our reading of it fails."),
        (("x", "y"), ("holds", "refuted"), False, False, "Undecided."),
        (("x", "y"), ("holds",), False, False, "Undecided."),
    ],
)
def test_verdicts_come_from_the_record(named, found, own, asks, verdict):
    sentence = Sentence("", "", "", "", claims=named, own=own, asks=asks)
    assert sentence._verdict(dict(zip(named, found, strict=False))) == verdict


@pytest.mark.parametrize("verdict", ["holds", "undecided"])
def test_page_and_terminal_show_what_the_record_says(verdict):
    id, record = "mechanism-3-no-linear-classifier", read_record()
    record[id] |= {"verdict": verdict}
    words = card_words("Mechanism 3", record)
    assert f"{id} ({verdict})" in str(words)
    assert f"</a> ({verdict}, {LEDGER[id].level})</p>" in words._repr_html_()
    assert f"{id} (not run)" in str(card_words("Mechanism 3", {}))
    assert f"</a> (not run, {LEDGER[id].level})</p>" in card_words("Mechanism 3", {})._repr_html_()


def test_words_are_shown_as_they_are_on_a_page_too():
    page = Words((Sentence("", "a < b", "c < d", "e < f"),), {})._repr_html_()
    assert all(shown in page for shown in ("a &lt; b", "c &lt; d", "e &lt; f"))


def test_page_and_terminal_show_the_same():
    page, text = card_words("Mechanism 3")._repr_html_(), str(card_words("Mechanism 3"))
    for sentence in (sentence for sentence in SENTENCES if sentence.part == "Mechanism 3"):
        for shown in (sentence.place, sentence.words, sentence.reading, *sentence.claims):
            assert shown in text
            assert shown.replace("'", "&#x27;") in page
    assert 'href="mechanisms.html#mechanism-3-no-linear-classifier"' in page
    assert page.count("A run refutes it.") == text.count("A run refutes it.") == 1
    with pytest.raises(ValueError, match="part = 'Settings': must be one of Mechanism 1"):
        card_words("Settings")
