"""What rests on what: followed and drawn as the ledger says."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from attnsep.claims import LEDGER, claims_map, rests_on
from attnsep.ledger.framework import Claim

SVG = re.search(r"<svg.*</svg>", claims_map()._repr_html_(), re.DOTALL)[0]
LINKS = ElementTree.fromstring(SVG).findall("a")


def uses(id):
    return getattr(LEDGER[id], "uses", ())


def slow(id):
    return {id} | {below for used in uses(id) for below in slow(used)}


@pytest.mark.parametrize("id", ["def-vec", "tensor-trick", "main-theorem", "certified-finite-main-theorem"])
def test_rests_on_is_all_that_can_be_reached(id):
    assert set(rests_on(id)) == slow(id) - {id}
    assert list(rests_on(id)) == sorted(rests_on(id), key=list(LEDGER).index)


def test_rests_on_names_what_it_does_not_find():
    with pytest.raises(ValueError, match="id = 'none': the ledger has no entry of this name"):
        rests_on("none")


def test_every_statement_is_one_link_to_its_place_with_one_line_for_each_use():
    marks = {link.get("href").partition("#")[2]: link for link in LINKS if "#" in link.get("href")}
    assert list(marks) == list(LEDGER)
    for id, link in marks.items():
        entry = LEDGER[id]
        assert link.get("href") == f"{entry.chapter}.html#{id}"
        assert link.get("class") == f"mark-{entry.mark}"
        assert link.find("title").text.startswith(f"{id}: {entry.mark}")
        assert len(link.findall("path")) == len(uses(id))
        assert (link.find("rect") is None) == isinstance(entry, Claim)
        assert ("proved" in {dot.get("class") for dot in link.findall("circle")}) == getattr(entry, "is_proved", False)


def test_lines_begin_and_end_at_their_marks():
    def centre(link):
        dot = link.find("circle")
        return dot.get("cx"), dot.get("cy")

    places = {link.get("href").partition("#")[2]: centre(link) for link in LINKS if "#" in link.get("href")}
    assert len(set(places.values())) == len(places)
    for link in LINKS:
        id = link.get("href").partition("#")[2]
        for path, used in zip(link.findall("path"), uses(id) if id else (), strict=True):
            numbers = re.findall(r"\d+", path.get("d"))
            assert (tuple(numbers[:2]), tuple(numbers[-2:])) == (places[id], places[used])
            assert (path.get("data-from"), path.get("data-to")) == (id, used)


def test_a_title_says_what_a_statement_uses():
    for link in LINKS:
        if id := link.get("href").partition("#")[2]:
            title = link.find("title").text
            assert title.endswith(f"; uses {', '.join(uses(id))}") if uses(id) else "uses" not in title


def test_the_drawing_says_how_many_statements_it_shows():
    label = ElementTree.fromstring(SVG).get("aria-label")
    assert label == f"{len(LEDGER)} statements, chapter by chapter"


def test_what_is_expected_to_be_refuted_is_a_ring_and_its_title_says_so():
    for link in LINKS:
        entry = LEDGER.get(link.get("href").partition("#")[2])
        if isinstance(entry, Claim):
            refuted = entry.expect == "refuted"
            assert (", expected to be refuted" in link.find("title").text) == refuted
            shapes = {dot.get("class") for dot in link.findall("circle")}
            assert shapes & {"ring", "disc"} == {"ring" if refuted else "disc"}


def numbers(shape, *names):
    return [float(shape.get(name)) for name in names]


def test_marks_lie_inside_the_drawing_and_apart_below_the_name_of_their_chapter():
    width, height = numbers(ElementTree.fromstring(SVG), "width", "height")
    rows, names = {}, {}
    for link in LINKS:
        chapter, _, id = link.get("href").partition(".html")
        if not id:
            names[chapter] = numbers(link.find("text"), "y")[0]
            continue
        x, y, near = numbers(link.find("circle"), "cx", "cy", "r")
        assert near <= x <= width - near
        assert near <= y <= height - near
        rows.setdefault(chapter, []).append((x, y, near))
        for square in link.findall("rect"):
            left, top, wide, high = numbers(square, "x", "y", "width", "height")
            assert (left + wide / 2, top + high / 2) == (x, y)
    assert [*rows] == [*names]
    above = 0
    for chapter, marks in rows.items():
        (y,) = {y for _, y, _ in marks}
        assert above < names[chapter] < y
        assert all(two[0] - one[0] > one[2] + two[2] for one, two in pairwise(marks))
        above = y


def test_lines_hang_below_their_row_or_run_between_two():
    rows = sorted({numbers(link.find("circle"), "cy")[0] for link in LINKS if link.find("circle") is not None})
    between = min(below - above for above, below in pairwise(rows))
    for link in LINKS:
        for path in link.findall("path"):
            start, *middle, end = [float(y) for y in re.findall(r"\d+ (-?\d+)", path.get("d"))]
            assert len({*middle}) == 1
            if start == end:
                assert start < middle[0] < start + between / 2
            else:
                assert min(start, end) < middle[0] < max(start, end)


def test_in_a_terminal_the_map_is_a_table_of_chapters():
    rows = repr(claims_map()).splitlines()[1:]
    assert [row.split()[0] for row in rows] == list(dict.fromkeys(entry.chapter for entry in LEDGER.values()))
    chapters = [entry.chapter for entry in LEDGER.values()]
    assert [int(row.split()[1]) for row in rows] == [chapters.count(name) for name in dict.fromkeys(chapters)]
    (row,) = [row for row in rows if row.startswith("main-theorem ")]
    assert row.split(maxsplit=2)[2] == "lemma-d2, one-column"
