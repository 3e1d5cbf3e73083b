"""The index lists every statement of every page, in the book's order, with its number and its title."""

from types import SimpleNamespace

from docutils import nodes

from tools import sphinx_statements


class Statement(nodes.Element):
    """What sphinx-proof leaves in a page."""


def statement(label, title, kind="lemma"):
    return Statement("", nodes.title("", title), label=label, realtype=kind, countertype="theorem")


def application(pages, numbers):
    documents = {name: nodes.section("", *found) for name, found in pages.items()}
    env = SimpleNamespace(
        collect_relations=lambda: dict.fromkeys(documents),
        get_doctree=documents.get,
        get_domain=lambda name: math,
        titles={name: nodes.title("", f"Page {name}") for name in documents},
        toc_fignumbers={name: {"theorem": numbers} for name in documents},
    )
    math = SimpleNamespace(data={"has_equations": {}})
    builder = SimpleNamespace(get_relative_uri=lambda source, target: f"{target}.html")
    return SimpleNamespace(env=env, builder=builder), math


def test_every_statement_is_a_link_below_its_page():
    pages = {
        "b": [statement("second", " (Two)", "theorem")],
        "none": [nodes.paragraph("", "text")],
        "a": [nodes.section("", statement("first", " (One)")), statement("third", " (Three)")],
    }
    app, math = application(pages, {"second": (1,), "first": (2,), "third": (3,)})
    document = nodes.section("", sphinx_statements.StatementList())
    sphinx_statements._fill(app, document, "index")
    assert [paragraph.astext() for paragraph in document.findall(nodes.paragraph)] == [
        *("Page b", "Theorem 1 (Two)"),
        *("Page a", "Lemma 2 (One)", "Lemma 3 (Three)"),
    ]
    links = [reference["refuri"] for reference in document.findall(nodes.reference)]
    assert links == ["b.html#second", "a.html#first", "a.html#third"]
    assert math.data["has_equations"] == {"index": True}


def test_a_page_without_the_directive_is_left_alone():
    app, math = application({"a": [statement("first", " (One)")]}, {"first": (1,)})
    document = nodes.section("", nodes.paragraph("", "text"))
    sphinx_statements._fill(app, document, "a")
    assert document.astext() == "text"
    assert math.data["has_equations"] == {}
