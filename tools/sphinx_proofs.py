"""A Sphinx extension for what Coq has proved: a fold under each such statement, and Coq's files as pages.

Three directives, `coq-model`, `coq-mutants` and `coq-coverage`, show Model.v beside the book, the mutants, and what is
not proved; the role `coq` leads to a theorem, as in ``{coq}`Signs.cosh_le` ``.  All of it is made while the book is
built, so that no page holds a copy.
"""

from html import escape

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from attnsep.claims import LEDGER
from attnsep.ledger.proofs import read_proofs
from attnsep.tables import Link, Table
from tools.coq_sources import MODEL, lines, read_sources, sections
from tools.prove import read_answers, read_book, read_coverage, read_mutants

PAGES = "proofs"  # the folder of Coq's files in the built book
CHAPTER = "proof-assistant"


def setup(app):
    """Enter the directives, the role, the folds and the pages."""
    app.add_directive("coq-model", Model)
    app.add_directive("coq-mutants", Mutants)
    app.add_directive("coq-coverage", Coverage)
    app.add_role("coq", _role)
    app.connect("doctree-read", _add_folds)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# Under a statement


def _add_folds(app, doctree):
    proved = read_proofs()["statements"]
    for node in list(doctree.findall(nodes.Element)):
        if "realtype" in node and node["label"] in proved:
            here = f"{app.env.docname}.html"
            node.parent.insert(node.parent.index(node) + 1, _fold(proved[node["label"]], here))


def _fold(entry, here):
    """Return the fold of a statement: what Coq states, what the proofs rest on, where they stand."""
    parts = [_html('<details class="coq-proof"><summary>' + _summary(entry) + "</summary>")]
    for name, theorem in entry["theorems"].items():
        parts += [_html(f"<p>{_link(name, here)}</p>"), _block(theorem["statement"])]
    parts.append(_html(f"<p>{_rests_on(read_proofs()['axioms'])} {ABOUT}</p></details>"))
    return nodes.container("", *parts)


ABOUT = (
    f'What the letters mean stands in <a href="{CHAPTER}.html#the-definitions-side-by-side">Model.v, beside the '
    "book's definitions</a>."
)


def _summary(entry):
    words = "Proved" if entry["whole"] else "Proved in part"
    number = len(entry["theorems"])
    return f"<span>{words}</span> in Coq, by {'one theorem' if number == 1 else f'{number} theorems'}"


def _rests_on(axioms):
    names = ", ".join(f"<code>{axiom.rpartition('.')[2]}</code>" for axiom in axioms)
    words = f'<a href="{CHAPTER}.html#four-axioms">axioms of Coq\'s real numbers</a>'
    return f"Taken on trust: no more than the {words} ({names})."


def _link(name, here):
    file, _, theorem = name.partition(".")
    up = "../" * here.count("/")
    return f'<a href="{up}{PAGES}/{file}.html#{theorem}">{theorem}</a> in {file}.v'


def _html(text):
    return nodes.raw("", text, format="html")


def _block(text):
    return nodes.literal_block(text, text, language="coq")


# Coq's files as pages


def _pages(app):
    for file, text in read_sources().items():
        name = file.removesuffix(".v")
        shown = app.builder.highlighter.highlight_block(text.rstrip("\n"), "coq")
        yield f"{PAGES}/{name}", {"title": file, "body": f"<h1>{file}</h1>{_anchored(shown, text)}"}, "page.html"


def _anchored(shown, text):
    """Return a highlighted file with an anchor for each theorem."""
    before, start, rest = shown.partition("<pre>")
    rows = rest.split("\n")
    for name, line in lines(text).items():
        rows[line - 1] = f'<span id="{name}"></span>' + rows[line - 1]
    return before + start + "\n".join(rows)


# Model.v beside the book


class Model(SphinxDirective):
    """All sections of Model.v, each beside the definitions of the book that it names; the directive takes nothing."""

    def run(self):
        """Return one row for each section."""
        book = read_book()
        self.env.note_dependency(f"proofs/{MODEL}")
        return [self._row(section, book) for section in sections(read_sources()[MODEL])]

    def _row(self, section, book):
        words = [f"**{section.title}**", ""]
        for label in section.labels:
            if label in book and book[label].kind == "definition":
                words += [f"{{prf:ref}}`{label}`", "", *book[label].words.splitlines(), ""]
        left, right = nodes.container(classes=["book-side"]), nodes.container(classes=["coq-side"])
        self.state.nested_parse(StringList(words, source=self.env.docname), self.content_offset, left)
        right += _block(section.text)
        return nodes.container("", left, right, classes=["side-by-side", "full-width"])


class Mutants(SphinxDirective):
    """All mutants, each with what became of it; the directive takes nothing."""

    def run(self):
        """Return a table."""
        self.env.note_dependency("proofs/mutants.toml")
        self.env.note_dependency("proofs/mutants.json")
        answers = read_answers()
        rows = [
            (one["why"], one["file"], one.get("equivalent", answers.get(one["why"], {}).get("answer", "not tried yet")))
            for one in read_mutants()
        ]
        return [_html(Table(("what is broken", "in", "what became of it"), rows, about="mutants")._repr_html_())]


class Coverage(SphinxDirective):
    """The source card's statements that are not proved, by reason; the directive takes nothing."""

    def run(self):
        """Return a list."""
        self.env.note_dependency("proofs/coverage.toml")
        found = {}
        for label, words in read_coverage().items():
            if words != "proved" and LEDGER[label].mark != "extension":
                found.setdefault(words.removeprefix("no: "), []).append(Link(label, LEDGER[label].chapter).html)
        rows = (f"<dt>{escape(why)}</dt><dd>{', '.join(links)}</dd>" for why, links in found.items())
        return [_html(f"<dl>{''.join(rows)}</dl>")]


def _role(name, rawtext, text, lineno, inliner, options=None, content=()):
    """Return a link to a theorem, or a warning where there is none of this name."""
    file, _, theorem = text.partition(".")
    if theorem not in lines(read_sources().get(f"{file}.v", "")):
        message = inliner.reporter.warning(f"coq: there is no theorem {text}", line=lineno)
        return [nodes.literal("", text)], [message]
    up = "../" * inliner.document.settings.env.docname.count("/")
    link = nodes.reference("", "", nodes.literal("", theorem), refuri=f"{up}{PAGES}/{file}.html#{theorem}")
    return [link], []
