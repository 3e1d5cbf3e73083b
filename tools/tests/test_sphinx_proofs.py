"""Pages show what Coq has proved: a fold under each such statement, each file of proofs/, Model.v beside the book."""

import html
import re
import tomllib
from types import SimpleNamespace

import pytest
from docutils import nodes

from attnsep.ledger import proofs
from tools import sphinx_proofs
from tools.coq_sources import MODEL, read_sources
from tools.files import ROOT
from tools.tests.test_sphinx_statements import statement

LABEL, NAME = "golden-ratio-width", "Golden.golden_ratio_width"
APP = SimpleNamespace(env=SimpleNamespace(docname="chapters/golden-ratio"))


def folded(label):
    """Return what stands behind a statement with this label on a page."""
    page = nodes.section("", statement(label, "Law"), nodes.paragraph("", "then"))
    sphinx_proofs._add_folds(APP, page)
    assert page[-1].astext() == "then"
    return page[1:-1]


def test_a_proved_statement_has_a_fold_with_coqs_words_and_a_link_to_the_proof():
    (fold,) = folded(LABEL)
    text = "".join(str(part.rawsource or part.astext()) for part in fold.children)
    theorem = proofs.read_proofs()["statements"][LABEL]["theorems"][NAME]
    (block,) = fold.findall(nodes.literal_block)
    assert (block["language"], block.astext()) == ("coq", theorem["statement"])
    assert '<a href="../proofs/Golden.html#golden_ratio_width">golden_ratio_width</a>' in text
    assert "<span>Proved</span> in Coq, by one theorem" in text
    assert all(axiom.rpartition(".")[2] in text for axiom in proofs.read_proofs()["axioms"])
    assert text.count("<details") == text.count("</details>") == 1


def test_one_that_is_proved_in_part_says_so(monkeypatch):
    record = proofs.read_proofs()
    entry = record["statements"][LABEL] | {"whole": False}
    monkeypatch.setattr(sphinx_proofs, "read_proofs", lambda: record | {"statements": {LABEL: entry}})
    (fold,) = folded(LABEL)
    assert "<span>Proved in part</span>" in fold[0].astext()


def test_a_statement_with_two_theorems_shows_both(monkeypatch):
    theorems = {f"Golden.{name}": {"statement": f"what {name} says"} for name in ("one", "two")}
    record = {"statements": {LABEL: {"whole": True, "theorems": theorems}}, "axioms": []}
    monkeypatch.setattr(sphinx_proofs, "read_proofs", lambda: record)
    (fold,) = folded(LABEL)
    assert "<span>Proved</span> in Coq, by 2 theorems<" in fold[0].astext()
    assert [block.astext() for block in fold.findall(nodes.literal_block)] == ["what one says", "what two says"]
    links = re.findall(r'<a href="../proofs/Golden.html#(\w+)">\1</a> in Golden.v', fold.astext())
    assert links == ["one", "two"]


@pytest.mark.parametrize(("name", "up"), [("index", ""), ("chapters/golden-ratio", "../"), ("a/b/c", "../../")])
def test_a_link_leads_to_the_proof_from_a_page_in_any_folder(name, up):
    page = nodes.section("", statement(LABEL, "Law"))
    sphinx_proofs._add_folds(SimpleNamespace(env=SimpleNamespace(docname=name)), page)
    assert f'<a href="{up}proofs/Golden.html#golden_ratio_width">' in page.astext()


def test_each_mutant_stands_in_a_row_with_what_became_of_it(monkeypatch):
    mutants = [{"why": "n + 1", "file": "Sum.v"}, {"why": "same", "file": "Sum.v", "equivalent": "it is"}]
    mutants.append({"why": "new", "file": "Row.v"})
    monkeypatch.setattr(sphinx_proofs, "read_mutants", lambda: mutants)
    monkeypatch.setattr(sphinx_proofs, "read_answers", lambda: {"n + 1": {"answer": "breaks Sum.one"}})
    needed = []
    directive = SimpleNamespace(env=SimpleNamespace(note_dependency=needed.append))
    (node,) = sphinx_proofs.Mutants.run(directive)
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", node.astext(), re.DOTALL)]
    assert [row for row in rows if row] == [
        ["n + 1", "Sum.v", "breaks Sum.one"],
        ["same", "Sum.v", "it is"],
        ["new", "Row.v", "not tried yet"],
    ]
    assert needed == ["proofs/mutants.toml", "proofs/mutants.json"], "the page would not change when one of them does"


def test_any_other_statement_has_none():
    assert folded("cost-memory") == []


def test_each_file_is_a_page_with_an_anchor_for_each_theorem():
    highlighter = SimpleNamespace(highlight_block=lambda text, language: f"<div><pre>{text}</pre></div>")
    pages = {
        name: context
        for name, context, _ in sphinx_proofs._pages(SimpleNamespace(builder=SimpleNamespace(highlighter=highlighter)))
    }
    assert {*pages} == {f"proofs/{name.removesuffix('.v')}" for name in read_sources()}
    body = pages["proofs/Golden"]["body"]
    assert re.search(r'^<span id="golden_ratio_law"></span>Theorem golden_ratio_law', body, re.MULTILINE)
    places = {
        f"{name.partition('.')[0]}.html#{name.partition('.')[2]}"
        for entry in proofs.read_proofs()["statements"].values()
        for name in entry["theorems"]
    }
    ids = {f"{name[7:]}.html#{id}" for name, page in pages.items() for id in re.findall(r'id="([^"]+)"', page["body"])}
    assert places <= ids


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Signs.hoeffding_one_sided", True),
        ("Signs.none", False),
        ("No.none", False),
        ("Golden.hoeffding_one_sided", False),
    ],
)
def test_the_role_leads_to_a_theorem_or_warns(name, found):
    warned = []
    inliner = SimpleNamespace(
        document=SimpleNamespace(settings=SimpleNamespace(env=APP.env)),
        reporter=SimpleNamespace(warning=lambda message, line: warned.append(message) or nodes.system_message()),
    )
    (node,), messages = sphinx_proofs._role("coq", "", name, 1, inliner)
    if found:
        assert node["refuri"] == "../proofs/Signs.html#hoeffding_one_sided"
        assert warned == messages == []
    else:
        assert warned == [f"coq: there is no theorem {name}"]
        assert [type(message) for message in messages] == [nodes.system_message]


def test_the_list_of_what_is_not_proved_has_every_such_statement_of_the_card_or_completed():
    """Written once more from the file, whose sections say whose statements they are."""
    needed = []
    directive = SimpleNamespace(env=SimpleNamespace(note_dependency=needed.append))
    (node,) = sphinx_proofs.Coverage.run(directive)
    assert needed == ["proofs/coverage.toml"], "the page would not change when the file does"
    listed = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", node.astext())
    found = {html.unescape(why): re.findall(r"#([\w-]+)", links) for why, links in listed}
    text = (ROOT / "proofs/coverage.toml").read_text(encoding="utf-8")
    wanted = {}
    for label, words in tomllib.loads(text)["source-and-completed"].items():
        if words != "proved":
            wanted.setdefault(words.removeprefix("no: "), []).append(label)
    assert len(wanted) > 3
    assert found == wanted


def test_each_section_of_the_model_stands_beside_the_definitions_that_it_names():
    parsed = []
    directive = SimpleNamespace(
        env=SimpleNamespace(docname="chapters/proof-assistant", note_dependency=lambda name: None),
        state=SimpleNamespace(nested_parse=lambda words, offset, node: parsed.append("\n".join(words))),
        content_offset=0,
        _row=lambda section, book: sphinx_proofs.Model._row(directive, section, book),
    )
    rows = sphinx_proofs.Model.run(directive)
    code = "\n\n".join(row[1].astext() for row in rows)
    assert code == read_sources()[MODEL].strip() or code.split() == read_sources()[MODEL].split()
    for label in proofs.read_proofs()["definitions"]:
        assert label == MODEL or any(f"{{prf:ref}}`{label}`" in words for words in parsed)
