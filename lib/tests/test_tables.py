"""Tables show the same in a terminal and on a page."""

import re

import pytest

from attnsep.tables import Link, Table, shown

TABLE = Table(
    ("claim", "n", "verdict"),
    ((Link("a-claim", "somewhere"), 1024, "holds"), (Link("b<c", "elsewhere"), 0.00012345, "refuted")),
    about="two claims",
    filters=("verdict",),
)


def test_text_is_aligned_and_numbers_stand_on_the_right():
    assert repr(TABLE).splitlines() == [
        "claim           n  verdict",
        "a-claim      1024  holds",
        "b<c      0.000123  refuted",
    ]


def test_a_whole_number_is_shown_in_full_where_a_double_is_sure_of_it():
    assert [shown(10.0**15 - 1), shown(1e15), shown(-(10**15))] == ["999999999999999", "1e+15", "-1e+15"]


def test_a_column_is_as_wide_as_its_widest_cell_or_its_head():
    assert repr(Table(("tokens", "n"), ((1, 1024), (2, 8)))) == "tokens     n\n     1  1024\n     2     8"
    assert repr(Table(("tokens", "n"), ())) == "tokens  n"


def test_a_column_stands_where_its_first_cell_does():
    page = Table(("n", "found"), ((1, 0.5), (2, "never")))._repr_html_()
    assert '<td class="number">never</td>' in page


def test_a_page_shows_the_same_words_and_where_they_lead():
    page = TABLE._repr_html_()
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", page)
    assert [re.sub("<[^>]+>", "", cell).replace("&lt;", "<") for cell in cells] == repr(TABLE).split()
    assert '<a href="somewhere.html#a-claim">a-claim</a>' in page
    assert '<td class="number">1024</td>' in page
    assert '<span class="verdict verdict-refuted">refuted</span>' in page
    assert 'aria-label="two claims"' in page


def test_rows_that_can_be_chosen_can_be_linked_to():
    assert re.findall(r'<tr id="([^"]+)">', TABLE._repr_html_()) == ["row-a-claim", "row-b&lt;c"]
    assert 'data-filters="verdict"' in TABLE._repr_html_()
    plain = Table(("n",), ((1,),))._repr_html_()
    assert "data-filters" not in plain
    assert " id=" not in plain


def test_several_columns_to_choose_by_are_told_apart():
    page = Table(("claim", "said by", "n"), ((Link("a", "b"), "us", 1),), filters=("claim", "said by"))._repr_html_()
    assert 'data-filters="claim|said by"' in page


def test_a_page_has_the_words_of_a_header_and_of_readers_who_hear_it_escaped():
    page = Table(("a < b", "n"), ((1, 2),), about='"a" & b')._repr_html_()
    assert 'aria-label="&quot;a&quot; &amp; b"' in page
    assert re.findall("<th [^>]*>", page) == ['<th class="number" scope="col">'] * 2
    assert ">a &lt; b</th>" in page


@pytest.mark.parametrize(
    ("word", "kind"),
    [*((word, "mark") for word in ("source", "completed", "extension")), ("holds", "verdict"), ("refuted", "verdict")],
)
def test_marks_and_verdicts_have_their_colours(word, kind):
    page = Table(("said",), ((word,), (f"{word} so",)))._repr_html_()
    assert f'<td><span class="{kind} {kind}-{word}">{word}</span></td>' in page
    assert f"<td>{word} so</td>" in page


@pytest.mark.parametrize("other", [{"header": ("n", 3)}, {"about": 3}, {"filters": ("n", 3)}])
def test_what_heads_a_table_is_text(other):
    with pytest.raises(TypeError, match="header, about, filters = 3: must be of the class str"):
        Table(**{"header": ("n", "d"), "rows": ((1, 2),)} | other)


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match=r"rows: \(1, 2\) has 2 cells, and the header 1"):
        Table(("n",), ((1, 2),))


def test_true_is_a_word_and_a_number_that_no_double_holds_is_refused():
    assert repr(Table(("fires",), ((True,),))) == "fires\nTrue"
    with pytest.raises(ValueError, match=r"number = .*: is too large for a double"):
        repr(Table(("n",), ((10**400,),)))


def test_a_link_with_words_shows_them_and_is_no_claim():
    table = Table(("page",), ((Link("exercises", "one-column", "One < two"),),))
    assert str(table) == "page\nOne < two"
    assert '<td><a href="one-column.html#exercises">One &lt; two</a></td>' in table._repr_html_()
    assert Link("", "index", "The beginning").html == '<a href="index.html">The beginning</a>'
