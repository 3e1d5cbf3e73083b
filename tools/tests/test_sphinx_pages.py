"""What the extensions of the book add to its pages: links of badges, stops that stay with formulas, citations."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from sphinx import addnodes

from attnsep.claims import LEDGER
from tools import sphinx_checks, sphinx_cite, sphinx_punctuation

BADGE = '<details class="check check-holds" data-claim="tensor-trick"><summary>Holds</summary></details>'


def page(*children):
    return nodes.section("", *children)


def test_a_badge_leads_to_its_row_and_its_code():
    document = page(nodes.raw("", BADGE, format="html", classes=["output"]))
    sphinx_checks._link(None, document)
    (signature,) = document.findall(addnodes.desc_signature)
    check = LEDGER["tensor-trick"].cases
    assert (signature["module"], signature["fullname"]) == (check.__module__, check.__name__)
    before, after = (node.astext() for node in document.findall(nodes.raw))
    assert 'href="ledger.html#row-tensor-trick"' in before
    assert 'check("tensor-trick")' in before
    assert after == "</details>"


@pytest.mark.parametrize(
    ("source", "left"),
    [('check("a-b")', 0), ('check("a")\ncheck("b-c")', 0), ('check("a")\nprint(1)', 1), ("x = check", 1)],
)
def test_a_cell_that_only_calls_check_shows_its_badge_alone(source, left):
    document = page(nodes.container("", nodes.literal_block(source, source), classes=["cell_input"]))
    sphinx_checks._link(None, document)
    assert len(list(document.findall(nodes.literal_block))) == left


def test_other_html_is_left_alone():
    document = page(nodes.raw("", "<details><p>x</p></details>", format="html"))
    sphinx_checks._link(None, document)
    assert document.astext() == "<details><p>x</p></details>"


def test_pages_of_sources_are_made_anew(tmp_path):
    (tmp_path / "_modules").mkdir()
    sphinx_checks._forget(SimpleNamespace(outdir=tmp_path))
    sphinx_checks._forget(SimpleNamespace(outdir=tmp_path))  # nothing there is as good
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("after", "kept"), [(". Then", "."), ("), so", "),"), (" and", None), ("", None)])
def test_a_stop_stays_in_the_line_of_its_formula(after, kept):
    document = new_document("page", get_default_settings())
    document += nodes.paragraph("", "", nodes.Text("So "), nodes.math("", "x"), nodes.Text(after))
    said = document.astext()
    sphinx_punctuation.Together(document).run()
    assert document.astext() == said
    assert [box.astext() for box in document.findall(nodes.inline)] == ([] if kept is None else ["x" + kept])


CITATION = {"title": "A <book>", "authors": [{"name": "Us"}], "version": "2.0"}


def test_a_page_says_how_to_cite_it_and_where_to_object():
    told = sphinx_cite.words("a-page", "A page", "https://example.org/a/b", CITATION)
    assert "Us: “A page”, in <em>A &lt;book&gt;</em>, version 2.0, not released yet, chapters/a-page." in told
    assert 'href="https://example.org/a/b/issues/new?template=wrong-statement.yml&amp;title=wrong:%20a-page"' in told
    assert "report a mistake" not in sphinx_cite.words("a-page", "A page", "", CITATION)


def test_only_chapters_are_cited():
    titles = {"chapters/digits": nodes.title("", "Handwritten digits")}
    app = SimpleNamespace(env=SimpleNamespace(titles=titles), config=SimpleNamespace(html_theme_options={}))
    chapter, other = {"body": ""}, {"body": ""}
    sphinx_cite._add(app, "chapters/digits", "page.html", chapter, object())
    sphinx_cite._add(app, "genindex", "genindex.html", other, None)
    assert "“Handwritten digits”" in chapter["body"]
    assert other["body"] == ""
