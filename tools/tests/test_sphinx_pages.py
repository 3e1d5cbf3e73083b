"""What the extensions of the book add to its pages: links of badges, stops with their formulas, citations, heads."""

from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from sphinx import addnodes

from attnsep.claims import LEDGER
from tools import sphinx_checks, sphinx_cite, sphinx_described, sphinx_punctuation
from tools.files import ROOT
from tools.sphinx_card import CardLinks

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
    titles = {"chapters/benchmarks": nodes.title("", "Benchmarks")}
    app = SimpleNamespace(env=SimpleNamespace(titles=titles), config=SimpleNamespace(html_theme_options={}))
    chapter, other = {"body": ""}, {"body": ""}
    sphinx_cite._add(app, "chapters/benchmarks", "page.html", chapter, object())
    sphinx_cite._add(app, "genindex", "genindex.html", other, None)
    assert "“Benchmarks”" in chapter["body"]
    assert other["body"] == ""


BOLD, PLAIN = nodes.strong("", "It <wins>."), nodes.Text("")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ([PLAIN, BOLD, PLAIN], "It <wins>."),  # MyST puts nothing before and after it
        ([BOLD, nodes.Text(" Always.")], ""),
        ([nodes.strong("", "", nodes.Text("From "), nodes.math("", "n = 3"), nodes.Text(" on."))], ""),
        ([nodes.Text("It wins.")], ""),
        (None, ""),
    ],
)
def test_a_page_is_described_by_the_bold_sentence_under_its_title(parts, said):
    below = [] if parts is None else [nodes.paragraph("", "", *(part.deepcopy() for part in parts))]
    assert sphinx_described.sentence(page(nodes.title("", "A page"), *below)) == said


def test_a_page_without_a_title_has_no_sentence():
    assert sphinx_described.sentence(page(nodes.paragraph("", "", BOLD.deepcopy()))) == ""


def head(name, doctree, title="A page", **options):
    """Return the page's context once the extension has been there."""
    config = SimpleNamespace(root_doc="chapters/index", book_description="The book.", html_theme_options=options)
    env = SimpleNamespace(titles={"chapters/benchmarks": nodes.title("", "Seven & eight")})
    context = {"title": title, "docstitle": "The book's short title", "metatags": "<meta>"}
    sphinx_described._add(SimpleNamespace(config=config, env=env), name, "page.html", context, doctree)
    return context


def test_links_to_a_page_show_it_once_there_is_an_address():
    chapter = page(nodes.title("", "A page"), nodes.paragraph("", "", BOLD.deepcopy()))
    without = head("chapters/benchmarks", chapter)["metatags"]
    assert without == '<meta><meta name="description" content="It &lt;wins&gt;.">'
    there = head("genindex", None, repository_url="https://example.org/a/b", repository_branch="new")["metatags"]
    assert there.splitlines() == [
        '<meta><meta name="description" content="The book.">',
        '<meta property="og:type" content="article">',
        '<meta property="og:title" content="A page">',
        '<meta property="og:description" content="The book.">',
        '<meta property="og:image" content="https://example.org/a/b/raw/new/assets/index.png">',
    ]
    assert (ROOT / "assets/index.png").is_file()
    numbered = head(
        "chapters/benchmarks", chapter, "<span>22. </span>Seven &amp; eight", repository_url="https://x.org/a/b"
    )
    assert '<meta property="og:title" content="Seven &amp; eight">' in numbered["metatags"].splitlines()


def test_the_first_page_has_the_title_that_is_cited():
    context = head("chapters/index", None)
    assert (context["title"], context["docstitle"]) == ("Softmax versus linear attention: an executable companion", "")
    assert head("chapters/benchmarks", None)["docstitle"] == "The book's short title"


def test_the_icon_is_a_picture_that_is_there():
    icon = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["html"]["favicon"]
    assert ElementTree.parse(ROOT / icon).getroot().tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize(
    ("page", "links"),
    [("chapters/limitations", 1), ("chapters/the-cards-words", 0), ("chapters/your-own-attention", 0)],
)
def test_the_card_is_a_link_to_its_words_where_it_is_the_source_card(page, links):
    document = new_document("page")
    document.settings.env = SimpleNamespace(docname=page)
    document += nodes.paragraph("", "", nodes.Text("Nothing of it."))
    there = nodes.reference("", "", nodes.strong("", "the card"))  # a link already, and below it some code
    words = "As the card says, a card and the card are two."
    document += nodes.paragraph("", "", there, nodes.literal("", "the card"), nodes.Text(words), nodes.Text(words))
    said = document.astext()
    CardLinks(document).apply()
    found = [*document.findall(addnodes.pending_xref)]
    assert [link.astext() for link in found] == ["the card"] * links
    assert document.astext() == said
    for link in found:
        assert link.parent.index(link) == 3
        told = {"reftype": "doc", "reftarget": "/chapters/the-cards-words", "refexplicit": True, "refwarn": True}
        assert told.items() <= link.attributes.items()
