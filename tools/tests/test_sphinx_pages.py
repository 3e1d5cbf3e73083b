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
from tools import (
    sphinx_buttons,
    sphinx_checks,
    sphinx_cite,
    sphinx_described,
    sphinx_punctuation,
    sphinx_roles,
    sphinx_without_thebe,
)
from tools.files import ROOT
from tools.sphinx_card import CardLinks

BOOK = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
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


def test_cells_that_only_call_check_are_left_out_one_after_the_other():
    cells = [nodes.container("", nodes.literal_block("", f'check("{id}")'), classes=["cell_input"]) for id in "abc"]
    document = page(*cells, nodes.paragraph("", "text"))
    sphinx_checks._link(None, document)
    assert document.astext() == "text"


def test_a_badge_with_its_links_looks_as_it_did():
    document = page(nodes.raw("", BADGE, format="html", classes=["output", "text_html"]))
    sphinx_checks._link(None, document)
    assert document[0]["classes"] == ["output", "text_html"]


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


def test_each_formula_of_a_line_keeps_its_own_stop():
    document = new_document("page", get_default_settings())
    parts = [nodes.math("", "x"), nodes.Text(", "), nodes.math("", "y"), nodes.Text(" or "), nodes.math("", "z")]
    document += nodes.paragraph("", "", *parts, nodes.Text("."))
    said = document.astext()
    sphinx_punctuation.Together(document).run()
    assert document.astext() == said
    assert [box.astext() for box in document.findall(nodes.inline)] == ["x,", "z."]


def test_every_entry_of_the_bibliography_is_an_item_of_its_list():
    context = {"body": '<div role="doc-biblioentry">One</div><div role="doc-biblioentry">Two</div>'}
    sphinx_roles._rename(None, "chapters/references", "page.html", context, object())
    assert context["body"] == '<div role="listitem">One</div><div role="listitem">Two</div>'


def test_nothing_of_thebe_is_heard_and_all_others_are():
    def listener(module):
        return SimpleNamespace(handler=SimpleNamespace(__module__=module))

    ours, theirs = listener("sphinx_book_theme"), listener("sphinx_thebe")
    names = ("env-before-read-docs", "doctree-resolved", "builder-inited")
    events = SimpleNamespace(listeners={name: [theirs, ours, theirs] for name in names})
    sphinx_without_thebe._disconnect(SimpleNamespace(events=events), None)
    assert [events.listeners[name] for name in names[:2]] == [[ours], [ours]]
    assert theirs in events.listeners["builder-inited"]  # its style sheet, which the pages still link


CITATION = {"title": "A <book>", "authors": [{"name": "Us"}], "version": "2.0"}


def test_a_page_says_how_to_cite_it_and_where_to_object():
    told = sphinx_cite.words("a-page", "A page", "https://example.org/a/b", CITATION)
    assert "Us: “A page”, in <em>A &lt;book&gt;</em>, version 2.0, not released yet, chapters/a-page." in told
    assert 'href="https://example.org/a/b/issues/new?template=wrong-statement.yml&amp;title=wrong:%20a-page"' in told
    assert "report a mistake" not in sphinx_cite.words("a-page", "A page", "", CITATION)


def test_all_authors_are_cited_and_a_title_is_shown_as_it_is_written():
    both = CITATION | {"authors": [{"name": "One & Co"}, {"name": "Two"}]}
    assert "One &amp; Co, Two: “From 1 &lt; n”, in" in sphinx_cite.words("a-page", "From 1 < n", "", both)


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


def test_a_formula_further_down_does_not_matter():
    below = nodes.paragraph("", "", nodes.Text("For "), nodes.math("", "n = 3"))
    document = page(nodes.title("", "A page"), nodes.paragraph("", "", BOLD.deepcopy()), below)
    assert sphinx_described.sentence(document) == "It <wins>."


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
    silent = page(nodes.title("", "A page"), nodes.paragraph("", "It wins."))
    assert 'content="The book."' in head("chapters/benchmarks", silent)["metatags"], "every page is described"
    numbered = head(
        "chapters/benchmarks", chapter, "<span>22. </span>Seven &amp; eight", repository_url="https://x.org/a/b"
    )
    assert '<meta property="og:title" content="Seven &amp; eight">' in numbered["metatags"].splitlines()


def test_the_first_page_has_the_title_that_is_cited():
    context = head("chapters/index", None)
    assert (context["title"], context["docstitle"]) == ("Softmax versus linear attention: an executable companion", "")
    assert head("chapters/benchmarks", None)["docstitle"] == "The book's short title"


def test_every_extension_script_and_style_of_ours_reaches_the_pages():
    ours = {path.stem: "tools" for path in (ROOT / "tools").glob("sphinx_*.py")}
    assert BOOK["sphinx"]["local_extensions"] == ours
    assert "sphinx.ext.viewcode" in BOOK["sphinx"]["extra_extensions"], "badges would lead to no code"
    files = BOOK["sphinx"]["config"]["html_js_files"] + BOOK["sphinx"]["config"]["html_css_files"]
    assert sorted(files) == sorted(path.name for path in (ROOT / "assets").iterdir() if path.suffix in (".js", ".css"))


def test_all_statements_have_one_counter_as_in_the_paper():
    kinds = ("definition", "lemma", "proposition", "corollary", "example", "remark")
    assert BOOK["sphinx"]["config"]["prf_realtyp_to_countertyp"] == dict.fromkeys(kinds, "theorem")


def test_the_icon_is_a_picture_that_is_there():
    icon = BOOK["html"]["favicon"]
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


def test_the_card_is_a_link_once_in_each_paragraph():
    document = new_document("page")
    document.settings.env = SimpleNamespace(docname="chapters/limitations")
    for _ in range(2):
        document += nodes.paragraph("", "", nodes.Text("The card says so, and the card is right."))
    CardLinks(document).apply()
    found = [len([*paragraph.findall(addnodes.pending_xref)]) for paragraph in document.findall(nodes.paragraph)]
    assert found == [1, 1]


@pytest.mark.parametrize(
    ("url", "icon"),
    [
        ("https://git.example.org/a/b", "fab fa-git-alt"),
        ("https://code.gitlab.example.org/a/b", "the theme's"),
        ("https://github.com/a/b", "the theme's"),
        (None, "the theme's"),
    ],
)
def test_only_an_unknown_host_gets_an_icon_of_no_company(url, icon):
    names = ("source-issues-button", "source-repository-button")
    context = {"header_buttons": [{"label": name, "icon": "the theme's"} for name in names]}
    app = SimpleNamespace(config=SimpleNamespace(html_theme_options={"repository_url": url}))
    sphinx_buttons._plain_icon(app, "chapters/index", "page.html", context, None)
    shown = {"source-issues-button": "the theme's", "source-repository-button": icon}
    assert {button["label"]: button["icon"] for button in context["header_buttons"]} == shown
