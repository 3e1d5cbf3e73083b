"""The tree keeps its rules, and each guard accepts what keeps its rule and refuses what breaks it.

A guard is a function of ``tools.guards`` that returns one sentence for each fault.  ``THE_TREE`` says what each of them
reads here, ``INPUTS`` what it must accept, and what it must refuse with which words.
"""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import distributions
from io import StringIO

import nbformat
import pytest
from importlinter.cli import lint_imports
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from attnsep import cli
from attnsep.claims import LEDGER
from attnsep.claims.the_cards_words import SENTENCES
from attnsep.ledger.framework import LEVELS, Claim, Definition
from tools import counted, guards, minutes, symbols, written
from tools.address import address
from tools.files import CHAPTERS, ROOT
from tools.minutes import page_order
from tools.pages import listed
from tools.ratchet import git
from tools.tests.test_environment import closure

NOTEBOOKS = guards.read_notebooks(CHAPTERS)
STANDARD = set(sys.stdlib_module_names)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXTRAS = PROJECT["project"]["optional-dependencies"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


# What the guards read in this tree

WITHOUT_EXERCISES = {"index", "for-lecturers", "ledger", "map", "gpu", "the-cards-words"}  # they teach no statement
LISTS_THE_LEVELS = (
    "chapters/ledger",
    "chapters/what-the-checks-prove",
    "chapters/index",
    "chapters/glossary",
    "CONTRIBUTING",
)


def prose():
    """Return {name: text} of all pages and of the files about the project."""
    texts = {f"chapters/{path.name}": path.read_text(encoding="utf-8") for path in CHAPTERS.glob("*.md")}
    texts |= {name: read(name) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")}
    cells = {
        name: [cell.source for cell in page.cells if cell.cell_type == "markdown"] for name, page in NOTEBOOKS.items()
    }
    return texts | {f"chapters/{name}.ipynb": "\n\n".join(sources) for name, sources in cells.items()}


def beside(text, cells=(), statements=()):
    """Return a text as a page with what computes its numbers: code of a chapter; statements, too far to be rounded."""
    blocks = "\n\n".join(f"```{{prf:lemma}} L\n\n{statement}\n```" for statement in statements)
    code = [nbformat.v4.new_code_cell(cell.source, outputs=cell.outputs) for cell in cells if cell.cell_type == "code"]
    words = (blocks, *[""] * guards.NEAR, text) if statements else (text,)
    return nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_markdown_cell, words), *code])


# What the glossary speaks of, besides definitions; few, since a number of any statement would excuse a wrong one.
BASICS = {"main-theorem-worked-instance", "certified-golden-ratio", "certified-finite-main-theorem"}


# Formulas of the glossary beside those; the others somebody looked up in chapters.
LAWS = ("mechanism-1-amplifies", "mark-decides-fires", "fires-iff-a-column-exceeds")
LOOKED_UP = ("\\beta = 1", "aw > 0.1", "1/\\varphi \\approx 0.618")


def basics():
    return [LEDGER[id].statement for id in LEDGER if id in BASICS or not isinstance(LEDGER[id], Claim)]


def pages_with_numbers():
    """Return (name, notebook) of the chapters, of README as far as it tells the result, and of the glossary."""
    intro = guards.FENCED.sub("", read("README.md").partition("## Read the book")[0])
    others = {"README": beside(intro, NOTEBOOKS["index"].cells)}
    others["glossary"] = beside(read("chapters/glossary.md"), statements=basics())
    return [*NOTEBOOKS.items(), *others.items()]


def under_pictures():
    """Yield (chapter, its captions and alt texts)."""
    for name, page in NOTEBOOKS.items():
        described = [cell.metadata.get("mystnb", {}) for cell in page.cells]
        places = [("figure", "caption"), ("image", "alt")]
        yield name, "\n".join(part.get(kind, {}).get(what, "") for part in described for kind, what in places)


def said_here():
    about = {name: text for name, text in prose().items() if name not in ("CONTRIBUTING.md", "SECURITY.md")}
    texts = [*about.values(), *(entry.statement for entry in LEDGER.values()), *(each.reading for each in SENTENCES)]
    return {sentence for text in texts for sentence in guards.said_of_the_paper(text)}


def followed():
    """Return {page: the statements that it links to}, as somebody followed the links."""
    lines = read("tools/links.txt").splitlines()
    pages = [line.partition(": ")[0] for line in lines]
    assert pages == sorted({*pages} & {*prose()}), "tools/links.txt: one line for a page, in order"
    return {page: line.partition(": ")[2].split() for page, line in zip(pages, lines, strict=True)}


RUN_BY_NO_TEST = [
    ".ci/run",
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "Makefile",
    "_config.yml",
    "assets/book.css",
    "chapters/ruff.toml",
    "environment.yml",
    "pyproject.toml",
    "references.bib",
]
RUN_BY_NO_TEST += sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github").rglob("*") if path.is_file())


WRITTEN = re.compile(  # by make address and make release
    r"(?m)^(?:repository-code:|  url:|version:|date-released:|__version__ =|## \d).*"
)


@cache
def words():
    """Return (place, words) of all that somebody has to read, since nothing computes it."""
    of_chapters = [part for item in NOTEBOOKS.items() for part in guards.words_of(*item)]
    files = {name.removeprefix("chapters/"): text for name, text in prose().items() if name.endswith(".md")}
    apart = guards.entries_of(files.pop("glossary.md"), files.pop("symbols.md"))
    pages = [part for item in files.items() for part in guards.sections_of(*item).items()]
    paths = [*(ROOT / "lib/attnsep").rglob("*.py"), *(ROOT / "tools").glob("*.py"), *(ROOT / "assets").rglob("*.js")]
    inside = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    texts = {name: read(name) for name in RUN_BY_NO_TEST + inside}
    texts = {name: WRITTEN.sub("", text) for name, text in texts.items()}
    others = [(name, guards.strings_in(name, text) if name in inside else text) for name, text in texts.items()]
    return [*of_chapters, *pages, *apart, *others]


def all_texts():
    """Return {name: text} of all files that a person wrote or that name an address."""
    folders = (".ci", ".github", "assets", "chapters", "lib", "tools", "web")
    files = [path for name in folders for path in (ROOT / name).rglob("*") if ".ipynb_checkpoints" not in path.parts]
    endings = {".cff", ".js", ".ipynb", ".json", ".md", ".py", ".toml", ".yml"}
    texts = [path for path in [*files, *ROOT.glob("*")] if path.suffix in endings or path.name in ("Makefile", "run")]
    assert len(texts) > 150
    found = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in texts}
    return {name: re.sub(r'"image/png": "[^"]*"', "", text) for name, text in found.items()}  # most of the letters


def at_the_top():
    """Return the names at the top of the tree that git has; none where the tree came without it."""
    return {name.partition("/")[0] for name in os.fsdecode(git(ROOT, "ls-files", "-z") or b"").split("\0") if name}


def library(folder=""):
    """Return {module below attnsep: text}."""
    base = ROOT / "lib/attnsep"
    paths = sorted((base / folder).rglob("*.py"))
    return {".".join(path.relative_to(base).with_suffix("").parts): path.read_text(encoding="utf-8") for path in paths}


def modules_of(folder):
    return {path.stem for path in (ROOT / "lib" / folder).iterdir()} - {"__init__", "__pycache__"}


def headings():
    """Return {file name: heading} of the chapters: the notebooks, and the explorer, which is a page without code."""
    texts = {name: notebook.cells[0].source for name, notebook in NOTEBOOKS.items()}
    texts["explorer"] = read("chapters/explorer.md")
    return {name: re.search(r"^# (.*)$", text, re.MULTILINE)[1] for name, text in texts.items()}


def folders_of_tests():
    """Yield (folder, modules, tests) of the library's folders that have tests in a folder of that name."""
    for folder in sorted(
        path.name for path in (ROOT / "lib/tests").iterdir() if (ROOT / "lib/attnsep" / path.name).is_dir()
    ):
        yield (
            folder,
            modules_of(f"attnsep/{folder}"),
            [path.stem for path in (ROOT / "lib/tests" / folder).glob("test_*.py")],
        )


def pages_of(folder):
    return [f"chapters/{path.stem}" for path in sorted(folder.iterdir()) if path.suffix in (".ipynb", ".md")]


def locked():
    """Return what the extra `dev` brings, where this environment has the versions that requirements.lock pins."""
    here = {canonicalize_name(each.name): each.version for each in distributions()}
    pins = [Requirement(line) for line in read("requirements.lock").splitlines() if "==" in line]
    pins = [
        pin for pin in pins if canonicalize_name(pin.name) in here and (pin.marker is None or pin.marker.evaluate())
    ]
    return closure("dev") if all(here[canonicalize_name(pin.name)] in pin.specifier for pin in pins) else None


def words_of_attnsep(words):
    """Return what attnsep's command line says against words, without running what they ask for."""
    return _said_against(*words)


@cache
def _said_against(*words):
    if len(words) == 1:  # the name of a command, in a sentence about it
        words = [*words, "--help"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        for name in ("claims", "verify", "fires", "sizes", "bench", "learn", "report"):
            patch.setattr(cli, f"_{name}", lambda options: 0)
        try:
            status = cli.main(words) if words else 0
        except SystemExit as error:
            status = error.code
    return said.getvalue() if status else None


THE_TREE = {
    guards.notebook_problems: lambda: NOTEBOOKS.items(),
    guards.exercise_problems: lambda: [item for item in NOTEBOOKS.items() if item[0] not in WITHOUT_EXERCISES],
    guards.ending_problems: lambda: [item for item in NOTEBOOKS.items() if item[0] not in WITHOUT_EXERCISES],
    guards.link_problems: lambda: [(*page, headings()) for page in prose().items()],
    guards.number_problems: lambda: [(*item, read("tools/read_off.txt").splitlines()) for item in pages_with_numbers()],
    guards.formula_problems: lambda: [
        (
            "glossary",
            read("chapters/glossary.md"),
            "\n".join([*basics(), *(LEDGER[id].statement for id in LAWS), read("chapters/symbols.md")]),
            LOOKED_UP,
        )
    ],
    guards.reading_problems: lambda: [(NOTEBOOKS, page_order(), WITHOUT_EXERCISES)],
    guards.way_problems: lambda: [(NOTEBOOKS, page_order())],
    guards.swap_problems: lambda: NOTEBOOKS.items(),
    guards.side_problems: lambda: [*prose().items(), *under_pictures()],
    guards.version_problems: lambda: [(*page, PROJECT["project"]["requires-python"][2:]) for page in prose().items()],
    guards.paper_problems: lambda: [
        (name, text, read("references.bib"))
        for name, text in [*prose().items(), *((name, read(name)) for name in ("CITATION.cff", "references.bib"))]
    ],
    guards.function_problems: lambda: [(NOTEBOOKS,)],
    guards.closure_problems: lambda: [(NOTEBOOKS,)],
    guards.contents_problems: lambda: [(listed(), ["CHANGELOG", "CONTRIBUTING", *pages_of(CHAPTERS)])],
    guards.import_problems: lambda: [(module, text, STANDARD) for module, text in library().items()],
    guards.draw_problems: lambda: [(f"claims.{module}", text) for module, text in library("claims").items()],
    guards.level_problems: lambda: [()],
    guards.limit_problems: lambda: [()],
    guards.order_problems: lambda: [(name, text_of(name), LEVELS) for name in LISTS_THE_LEVELS],
    guards.owner_problems: lambda: [(*item, own) for own in [address()] for item in all_texts().items()],
    guards.pointer_problems: lambda: [(name, text, followed().get(name, [])) for name, text in prose().items()],
    guards.review_problems: lambda: [(said_here(), read("tools/said_of_the_paper.txt").splitlines())],
    guards.word_problems: lambda: [(words(), read("tools/signed.txt").splitlines())],
    guards.name_problems: lambda: [
        (
            read("CONTRIBUTING.md"),
            headings(),
            *map(modules_of, ("attnsep/claims", "attnsep/extensions", "tests/extensions")),
        )
    ],
    guards.id_problems: lambda: [(name, text, LEDGER) for name, text in all_texts().items() if name.startswith("lib/")],
    guards.beside_problems: folders_of_tests,
    guards.lock_problems: lambda: [(read("requirements.lock"), PROJECT["project"], locked())],
    guards.command_problems: lambda: [(*page, MAKEFILE, EXTRAS, words_of_attnsep) for page in prose().items()],
    guards.symbol_problems: lambda: [(symbols.read_pages(), read("chapters/symbols.md"))],
    guards.top_problems: lambda: [(at_the_top(),)],
    guards.place_problems: lambda: [(name, read(name)) for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")],
}


def text_of(name):
    return prose()[f"{name}.ipynb" if f"{name}.ipynb" in prose() else f"{name}.md"]


@pytest.mark.parametrize("guard", THE_TREE, ids=lambda guard: guard.__name__)
def test_the_tree_keeps_the_rule_of(guard):
    found = [problem for arguments in THE_TREE[guard]() for problem in guard(*arguments)]
    assert found == [], "\n".join(found)


# What each guard must accept and refuse


def altered(id, **changes):
    return {id: replace(LEDGER[id], **changes)}


def code(source="print(1)", outputs=(), count=1, **metadata):
    cell = nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs), metadata=metadata)
    return nbformat.v4.new_notebook(cells=[cell])


def printed(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


PNG = nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0", "text/plain": "<Figure>"})
ALT = {"image": {"alt": "A line that falls from one to zero as n grows."}}


PREDICT = "```{admonition} Exercise 1: predict, then run\nIs it so?\n```\n"
SECOND = "```{admonition} Exercise 2\nWhy?\n```\n"
FOLDED = "\n```{dropdown} Hint\nLook.\n```"


def with_exercises(*texts, tags=("hide-cell",), answers=("yes",)):
    cells = []
    for text in texts:
        solution = nbformat.v4.new_code_cell("print()", outputs=[*map(printed, answers)], metadata={"tags": list(tags)})
        cells += [nbformat.v4.new_markdown_cell(text), solution]
    return nbformat.v4.new_notebook(cells=cells)


TITLES = {"main": "The main theorem", "data": "The data"}


def ending(*sections):
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(f"Words.\n\n## {title}") for title in sections]
    )


def open_solution(**changes):
    """Return exercises of which the first has an unfit solution, the second a fit one."""
    first, second = with_exercises(PREDICT + FOLDED, **changes), with_exercises(SECOND + FOLDED)
    return nbformat.v4.new_notebook(cells=first.cells + second.cells)


def entry(**changes):
    fields = {"id": "a-claim", "mark": "extension", "source": "s", "statement": "$1 < 2$", "chapter": "one"}
    rest = {"level": "exact", "assumes": "", "uses": (), "expect": "holds", "control": "c", "violations": (1,)}
    rest["tests"] = "none"
    return Claim(**(fields | rest | {"cases": None} | changes))


BLOCK = "```{prf:lemma} A title · extension\n:label: a-claim\n:class: mark-extension\n\n$1 <\n2$\n```"


def chapter(block=BLOCK, source='check("a-claim")'):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(block), nbformat.v4.new_code_cell(source)])


NAMES_IN_ORDER = (
    "| A title | `one-name` | `claims.one_name` | `extensions.one_name` |\n| Later | `later` (planned) |  |  |\n"
)


NAME = "attnsep"  # written apart, so that this file keeps the rule
OURS = f"https://codeberg.org/us/{NAME}"


def closed(block=BLOCK, source='check("a-claim")', place="one", more=(), **changes):
    """Return a chapter and a ledger with one claim, as arguments of the guard."""
    return {place: chapter(block, source)}, {"a-claim": entry(**changes), **dict(more)}


USED = Definition(id="def-x", mark="source", source="s", statement="x", chapter="one")
WITH_DEFINITION = BLOCK + "\n\n````{prf:definition} X · source\n:label: def-x\n:class: mark-source\n\nx\n````"


def names(change=("", ""), titles=(), **places):
    """Return a table of names and the names that are there, as arguments of the guard."""
    there = {"claims": {"one_name"}, "extensions": {"one_name"}, "tests": {"test_one_name"}} | places
    return NAMES_IN_ORDER.replace(*change), {"one-name": "A title", **dict(titles)}, *there.values()


REFERENCE = "  year = {2023},\n  eprint = {2310.11685},\n  doi = {10.48550/arXiv.2310.11685},\n"
TABLE = "| level | means |\n|---|---|\n" + "".join(f"| {level} | that |\n" for level in LEVELS)
FALSE = BLOCK.replace("A title ·", "A title that is false ·").replace("mark-extension", "mark-extension refuted")
REPAIRED = FALSE.replace("\n```", "\n\nWhat is true instead: {prf:ref}`another`.\n```")
READ = ("one, A", "Because.")
SIGNED = ["one, A 8e18bd2e335c"]
PROJECT_OF_TWO = {
    "name": "ours",
    "dependencies": ["one>=2"],
    "optional-dependencies": {"dev": ["ours[more]"], "more": ["Two_2>=1,<2"]},
}
LOCK = "# Made so.\none==2.1\ntwo-2==1.5\n"
LOCK += "three==1 ; python_full_version < '3.12'\nthree==2 ; python_full_version >= '3.12'\n"


def typed(text):
    makefile = "CHAPTER ?=\nhelp:  ## verbs\nnotebooks: .ready  ## run\n.ready:\n"
    return "a.md", text, makefile, {"lab"}, lambda words: None if words == ["verify"] else "no such words"


def pinned(text, brought=None):
    return text, PROJECT_OF_TWO, brought


MAGIC = (
    "!false",
    "x = 1\n!false",
    "x = !false",
    "%nosuchmagic",
    "y = %who",
    "%%bash\nfalse",
    "print?",
    "get_ipython().run_line_magic('nosuchmagic', '')",
    "from subprocess import run\nrun(['false'])",
    "import os\nos.system('false')",
)
FIGURE = "figures.chart(x)"
LOG_LOG = "figures.chart(x_scale='log', y_scale='log')"
BOLD = {"figure": {"caption": "For one n. **It falls to zero.**"}}


def described(caption, printed, read_off=()):
    return "one", code(f"print({printed})", mystnb={"figure": {"caption": caption}}), read_off


def pictured(caption, text="", code="f()", read_off=()):
    """Return a page of a text and a picture of two panels, as arguments of the guard of numbers."""
    picture = {"image/png": "iVBORw0", "text/plain": "<Figure size 896x544 with 2 Axes>"}
    shown = [nbformat.v4.new_output("display_data", data=picture)]
    cell = nbformat.v4.new_code_cell(code, outputs=shown, metadata={"mystnb": {"figure": {"caption": caption}}})
    return "one", nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text), cell]), read_off


def said(text, source="print(0.7)", outputs=(), read_off=()):
    """Return a page of one text and one cell, as arguments of the guard of numbers."""
    page = code(source, outputs=[*map(printed, outputs)])
    page.cells.insert(0, nbformat.v4.new_markdown_cell(text))
    return "one", page, read_off, {"lemma": USED_LEMMA}


def far(text, cells=5):
    """Return a page whose output 0.6987 is so many cells away from a text."""
    name, page, *rest = said(text, "print()", ["0.6987"])
    page.cells[1:1] = [nbformat.v4.new_markdown_cell("") for _ in range(cells - 1)]
    return name, page, *rest


USED_LEMMA = entry(id="lemma", chapter="early", statement="$n = 345$")
ASKED = "```{admonition} Exercise 1 (easy): predict, then run\nWhat is it at $m = 8$ and 345 tokens?\n```"
WAYS = """````{grid} 2
```{grid-item-card} 20 minutes
1. [Early](early.ipynb) first.
2. [Late](late.ipynb).
```
````"""
LATE = "1 minute · read first: [Early](early.ipynb)\n\nBy {prf:ref}`lemma`."
VIA = LATE.replace("[Early](early", "[Middle](middle")
USES = "1 minute · read first: nothing\n\n```{prf:lemma} U\n:label: use\n\nx\n```\n"
LEMMA = "```{prf:lemma} L\n:label: lemma\n\nx\n```\n\n"
FOLDED_USE = "```{dropdown} Proof\nBy {prf:ref}`lemma`.\n```"
NOTHING = "1 minute · read first: nothing"


def pages(early="12 minutes · read first: nothing", middle=NOTHING, late=LATE, index=WAYS):
    """Return pages of which the last uses a statement of the first, as arguments of the guard of reading."""
    texts = {"index": f"# Index\n\n## The ways\n\n{index}", "early": f"# Early\n\n{early}\n\n{LEMMA}" + "word " * 2400}
    texts |= {"middle": f"# Middle\n\n{middle}", "late": f"# Late\n\n{late}"}
    cells = {name: [nbformat.v4.new_markdown_cell(text)] for name, text in texts.items()}
    ledger = {"lemma": USED_LEMMA, "use": entry(id="use", chapter="late", uses=("lemma",))}
    return {name: nbformat.v4.new_notebook(cells=cells[name]) for name in texts}, [*texts], ["index"], ledger


def ways(old="", new="", **changes):
    notebooks, order, _, ledger = pages(index=WAYS.replace(old, new), **changes)
    return notebooks, order, ledger


def alt(letters, caption="For one n. **It falls to zero.**"):
    return {"image": {"alt": "x" * letters}, "figure": {"caption": caption}}


ROWS = ("| $a_0$, $a$ | strength · `a` |", "| $x$ | query |", "| $Y$ | signs |")
FOLD_OF_THREE = f"""````{{dropdown}} Symbols of this page
| symbol | meaning · in code |
|---|---|
{chr(10).join(ROWS)}

[All symbols of the book](symbols.md)
````"""


def met(page="Let $a_0 > a$.", text=FOLD_OF_THREE, more=(), first="[](one.ipynb)", rest="$x Y$"):
    """Return a page that has this fold, and a table of symbols, as arguments of the guard."""
    table = "# Symbols\n\n## Strength\n\n| symbol | meaning · in code | first met |\n|---|---|---|\n"
    rows = [*(f"{row} {first} |" for row in ROWS), *more]
    return {"one": f"{page}\n{rest}\n{text}"}, table + "".join(f"{row}\n" for row in rows)


# {guard: (arguments that it accepts, arguments that it refuses and the words of its one sentence)}
INPUTS = {
    guards.notebook_problems: (
        [
            ("chapter", notebook)
            for notebook in (
                code(),
                code(outputs=[printed("n = 3, 50% of all, see https://example.org/home/page")]),
                code("x = 1  # a comment;\nprint(x)"),
                code(FIGURE, outputs=[PNG], mystnb=alt(30)),
                code("\n".join(["x = 1"] * 20)),
                code("figures.chart([Rule(x=0.6, words='τ')])", outputs=[PNG], mystnb=alt(30, "At 0.6 **it falls**.")),
                code("figures.chart([Rule(y=0.01, words='1 %')])", outputs=[PNG], mystnb=alt(30)),
                code(
                    "figures.chart(y_scale='log')", outputs=[PNG], mystnb=alt(30, "On a logarithmic axis **it falls**.")
                ),
                code(LOG_LOG, outputs=[PNG], mystnb=alt(30, "On doubly logarithmic axes **it falls**.")),
                code(
                    "figures.chart([Rule(y=0.5, words='a coin')])", outputs=[PNG], mystnb=alt(30, "**Half**, a half.")
                ),
                code("print('!false')\n# %nosuchmagic\nx = 7 % 4\ny = x != 3"),
            )
        ],
        [
            (("chapter", notebook), problem)
            for notebook, problem in [
                (code(count=None), "execution count None"),
                (code(count=2), "execution count 2, must be 1"),
                (code("\n".join(["x = 1"] * 21)), "21 lines"),
                (code("print(1);"), "ends in ';'"),
                *[(code(source), "is not plain Python") for source in MAGIC],
                (code("# NBVAL_IGNORE_OUTPUT\nprint(1)"), "look away"),
                (code(tags=["nbval-skip"]), "look away"),
                (code(tags=["remove-cell"]), "a reader must see"),
                (code(tags=["remove-output", "hide-input"]), "a reader must see"),
                (
                    code(outputs=[nbformat.v4.new_output("error", ename="ValueError", evalue="", traceback=[])]),
                    "an error",
                ),
                (code(outputs=[printed("careful", name="stderr")]), "stderr"),
                (code(outputs=[printed("/home/me/file.py")]), "an absolute path"),
                (code(outputs=[printed("in /var/folders/x/matplotlib-y")]), "an absolute path"),
                (code(outputs=[printed("<object at 0x7f3c2a1b>")]), "a memory address"),
                (code(outputs=[printed(" 40%|████      | 4/10")]), "a progress bar"),
                (code(outputs=[printed("np.float64(1.0)")]), "bare repr"),
                (code(FIGURE, outputs=[PNG], mystnb=BOLD), "without alt text"),
                (code(FIGURE, outputs=[PNG], mystnb=alt(29)), "without alt text"),
                (code("plt.plot(x)", outputs=[PNG], mystnb=alt(30)), "past attnsep.figures"),
                (code(FIGURE, outputs=[PNG], mystnb=ALT), "answer in bold"),
                (
                    code(
                        "figures.chart([Rule(x=0.5, words='τ')])", outputs=[PNG], mystnb=alt(30, "At 0.6 **it falls**.")
                    ),
                    "draws rule at x = 0.5, which its words, caption and alt text never name",
                ),
                (
                    code("figures.chart([Window(low=5, high=y, words='lost')])", outputs=[PNG], mystnb=alt(30)),
                    "draws window at low = 5",
                ),
                (
                    code(
                        LOG_LOG.replace("y_scale='log'", ""),
                        outputs=[PNG],
                        mystnb=alt(30, "Both axes are logarithmic. **It falls**."),
                    ),
                    "says of 2 axes that they are logarithmic, and its code says 'log' 1 times",
                ),
                (code(LOG_LOG, outputs=[PNG], mystnb=alt(30, "On a logarithmic axis **it falls**.")), "says of 1 axes"),
                (code(FIGURE, mystnb=ALT), "shows no figure"),
                (code(FIGURE, mystnb={"figure": {"name": "fig"}}), "shows no figure"),
            ]
        ],
    ),
    guards.exercise_problems: (
        [("chapter", with_exercises("## Exercises\n\n" + PREDICT + FOLDED, SECOND + FOLDED))],
        [
            (("chapter", notebook), problem)
            for notebook, problem in [
                (with_exercises(PREDICT + FOLDED), "exercises [1], must be 1 to 2"),
                (with_exercises(PREDICT + FOLDED, SECOND.replace("2", "3") + FOLDED), "exercises [1, 3]"),
                (with_exercises(PREDICT.replace(": predict, then run", "") + FOLDED, SECOND + FOLDED), "a prediction"),
                (with_exercises(PREDICT + FOLDED, FOLDED + "\n" + SECOND), "exercise 2: no folded hint"),
                (open_solution(tags=()), "exercise 1: the next cell"),
                (open_solution(answers=()), "exercise 1: the next cell"),
            ]
        ],
    ),
    guards.ending_problems: (
        [
            ("one", ending("What to remember", "What this does not show", "Exercises")),
        ],
        [
            (
                ("one", ending("What to remember", "Exercises")),
                "one: ends with the sections What to remember, Exercises;",
            ),
            (
                ("one", ending("Exercises", "What this does not show")),
                "a page ends with What to remember, What this does",
            ),
            (("one", ending()), "one: ends with the sections none"),
        ],
    ),
    guards.link_problems: (
        [
            ("a.md", "[the main  theorem](other.ipynb), [The data](data.ipynb#x), [data](http://the-data.org)", TITLES),
            ("a.md", "[the main theorem](main.ipynb#a-heading)", TITLES),
        ],
        [
            (
                ("a.md", "[The Main theorem](data.ipynb)", TITLES),
                "a.md: the link [The Main theorem] leads to data, and main has this title",
            )
        ],
    ),
    guards.function_problems: (
        [
            ({"a": code("def fires(x):\n    return x"), "b": code("fires = 1")},),
            ({"a": code("%nosuchmagic")},),  # a cell that is no Python stops no other guard
        ],
        [(({name: code("if True:\n    def fires(x):\n        return x") for name in "ab"},), "def fires: in a, b")],
    ),
    guards.closure_problems: (
        [
            closed(),
            closed(WITH_DEFINITION, uses=("def-x",), more={"def-x": USED}),
            closed(REPAIRED, expect="refuted"),
            ({"a": code("%nosuchmagic")}, {}),
        ],
        [
            (closed(block=""), "no statement block"),
            (closed(place="two"), "no statement block in its chapter 'one'"),
            (closed(source=""), "never calls check"),
            (closed(statement="$1 < 3$"), "not word for word"),
            (closed(BLOCK.replace("title · extension", "title")), "must name its mark"),
            (closed(BLOCK.replace("mark-ext", "mark-complet")), "must have the class"),
            (closed(BLOCK.replace("2$", "2$ And more.")), "not word for word"),
            (closed(BLOCK + "\n\n:::{prf:theorem} X\n:::"), "no block of backticks"),
            (closed(BLOCK + "\n\n- ```{prf:lemma} X\n  ```"), "no block of backticks"),
            (closed(uses=("b-claim",)), "uses 'b-claim', which is not"),
            (closed(uses=("a-claim",)), "a cycle among a-claim"),
            (closed(expect="refuted"), "must have the class mark-extension refuted", 2),
            (closed(FALSE, expect="refuted"), "the title of a false statement"),
            (closed(BLOCK.replace("A title", "A false title")), "the title of a false statement"),
            (closed(REPAIRED.replace("that is false ", ""), expect="refuted"), "the title of a false statement"),
            (closed(BLOCK + "\n\n" + BLOCK), "stands twice"),
            (closed(BLOCK + "\n\n" + BLOCK.replace("a-claim", "stray")), "'stray' names nothing"),
            (closed(source='check("a-claim")\ncheck("other")'), "'other') names no claim"),
            (closed(BLOCK.replace(":label: a-claim\n", "") + "\n\n" + BLOCK), "(none)"),
            (
                (NOTEBOOKS, {id: LEDGER[id] for id in LEDGER if id != "lemma-4-1-sharp"}),
                "check('lemma-4-1-sharp') names no claim",
                6,
            ),
            ((NOTEBOOKS, LEDGER | {"new": entry(id="new", chapter="one-query-weights")}), "new: no statement"),
        ],
    ),
    guards.contents_problems: (
        [(["a", "b"], ["b", "a"])],
        [
            ((["a"], ["a", "b"]), "b: must stand in _toc.yml once, stands there 0 times"),
            ((["a", "a"], ["a"]), "a: must stand in _toc.yml once, stands there 2 times"),
            ((["a", "c"], ["a"]), "c: is in _toc.yml, and there is no such page"),
        ],
    ),
    guards.import_problems: (
        [
            ("m", "import numpy\nfrom attnsep.arrays import namespace", STANDARD),
            ("m", "def f():\n    import tqdm", STANDARD),
        ],
        [
            (("m", source, STANDARD), "m: imports tqdm at its top; the core runs with numpy and array-api-compat alone")
            for source in ("import tqdm", "from tqdm import tqdm", "import tqdm.auto", "import numpy.linalg as a, tqdm")
        ],
    ),
    guards.draw_problems: (
        [
            ("claims.tokens", "rng = generator(1)\nx = rng.random()"),
        ],
        [
            *[
                (("claims.tokens", source), "claims draw from framework.generator(seed) alone")
                for source in (
                    "from numpy.random import f",
                    "import random",
                    "x = numpy.random.normal()",
                    "default_rng(1)",
                )
            ],
            (("claims.tokens", "x = np.RandomState(1)"), "RandomState"),
            (("claims.tokens", "rng = np.random.default_rng(1)"), "default_rng", 2),
        ],
    ),
    guards.level_problems: (
        [(altered(id),) for id in ("golden-ratio-law", "cost-memory", "recall-learnt")],
        [
            ((altered("golden-ratio-law", level="exact"),), "golden_ratio_law calls math.log", 5),
            (
                (altered("main-theorem-worked-instance", level="certified"),),
                "a constant has the float 0.00346450383",
                4,
            ),
            ((altered("scaled-queries-look-alike", level="measured"),), "reads no stored file"),
            ((altered("cost-memory", level="verified"),), "reads a stored file"),
            ((altered("recall-learnt", level="computed"),), "reads a stored file"),
        ],
    ),
    guards.limit_problems: (
        [
            (altered("tensor-trick", statement=r"$B \sim \mathrm{Bin}(n, p)$, $\tanh \top$"),),
            (altered("tensor-trick", statement=r"$p \to 0$", assumes="checked at n = 10"),),
            (altered("tensor-trick", statement=r"$p \to 0$", level="certified"),),
        ],
        [
            ((altered("tensor-trick", statement=words),), "its `assumes` must say where that was checked")
            for words in (r"$p \to 0$", r"$m \sim n$", "it tends to 0", r"for $n = \infty$", r"$a \approx 1$")
        ],
    ),
    guards.order_problems: (
        [("a.md", TABLE, LEVELS), ("a.md", f"Levels: {', '.join(LEVELS)}.", LEVELS)],
        [
            (
                ("a.md", TABLE.replace("| exact | that |\n", ""), LEVELS),
                "a.md: lists the levels proved, certified, computed",
            ),
            (("a.md", f"Levels: {', '.join(reversed(LEVELS))}.", LEVELS), "a.md: lists the levels"),
            (
                ("a.md", TABLE.replace("| exact | that |\n", "") + "| exact | that |\n", LEVELS),
                "a.md: lists the levels proved, certified, computed",
            ),
        ],
    ),
    guards.owner_problems: (
        [
            ("a.md", text, own)
            for text, own in [
                (f'pip install ".[book]"\nand import {NAME}', None),
                ("pip uninstall attnsep", None),
                ("`pip install -e .` installs `attnsep`", None),
                ("see https://example.org/other and https://arxiv.org/abs/2310.11685v1", None),
                (f'%pip install -q "{NAME}[notebooks] @ git+{OURS}"', OURS),
                (f"{OURS}/issues, {OURS}.", OURS),
                (f"https://git.example.org/owner/{NAME}", None),
            ]
        ],
        [
            (("a.md", text, own), "nobody owns this name or address, so anybody could")
            for text, own in [
                (f"pip install {NAME}", None),
                (f"pip3 install -U '{NAME}[book]'", OURS),
                (f"%pip install -q {NAME}==0.1", OURS),
                (f"python -m pip install numpy {NAME}", None),
                (f"uv add {NAME}", None),
                (f"conda install -c conda-forge {NAME}", None),
                (f"https://github.com/{NAME}/{NAME}", None),
                (f"https://{NAME}.readthedocs.io", None),
                (f"https://github.com/{NAME}/{NAME}", OURS),
                (f"{OURS}-2", OURS),
                ("pip install git+" + "https://github.com/somebody/book", None),
                ("pip install git+" + "https://github.com/somebody/book", OURS),
            ]
        ],
    ),
    guards.review_problems: (
        [({"a", "b"}, ["a", "b"])],
        [
            (({"a", "b"}, ["a"]), "'b': is not in tools/said_of_the_paper.txt; compare it with the source card"),
            (({"a"}, ["a", "b"]), "'b': is in tools/said_of_the_paper.txt, and on no page"),
            (({"a", "b"}, ["b", "a"]), "must be sorted"),
        ],
    ),
    guards.pointer_problems: (
        [("a.md", "See {prf:ref}`one` and {prf:ref}`the other <two>`.", ["one", "two"]), ("a.md", "No link.", [])],
        [
            (
                ("a.md", "See {prf:ref}`two`.", ["one"]),
                "a.md: its links and citations are not those that somebody followed (two, one): read each",
            ),
            (("a.md", "{prf:ref}`two`, {prf:ref}`one`", ["one", "two"]), "(the order): read each"),
            (("a.md", "{cite:p}`a2020`, {cite}`b2021`", ["b2021", "a2020"]), "(the order): read each"),
            (("a.md", "{prf:ref}`one`", []), "then tools/links.txt, which has 'a.md:', has the line: a.md: one"),
        ],
    ),
    guards.number_problems: (
        [
            described("It falls to 0.70.", 0.6987),
            described("It falls to 70 %.", 0.7),
            described("It ends at $10^{24}$.", "10**24"),
            described("It falls to 0.70.", 0.6, ["one 0.70", "two 0.8"]),
            said("At $n = 1024$, $d = 258$ it is 27.2 %, $2.7 \\cdot 10^{-9}$.", "f(2**10, 258)", ["0.2718, 2.71e-09"]),
            said("A million is 1,000,000, in 2023, arXiv 2310.11685, section 17.3, and $a_{17}$.", "10**6"),
            said("Twelve is 12, all is 100 %, `x = 77` is code, and {term}`so <99>` is [this](page-88.ipynb)."),
            said(
                "$3822/(3822 + 1023) = 0.79$, $n^{0.5 \\cdot 1.5} = n^{0.75}$, $\\sqrt{255} \\cdot 0.002 \\approx 0.03$"
            ),
            said("By {prf:ref}`lemma` from $n = 345$ on."),
            far("It falls to 0.6987."),
            far("It falls to 0.70.", cells=4),
            said("It needs about 4000 tokens.", outputs=["3945"]),
            said(
                "$2^{40} \\approx 1.1 \\cdot 10^{12}$, $50 \\cdot 8.16 / 0.92^2 \\approx 480$, $6.93\\,(2.89 + 1) = 27$"
            ),
            said("```{dropdown} Proof\nIt is 77.\n```\n```{prf:lemma} L\n$n = 88$\n```\n\nSo 88."),
            said("3 minutes · read first: nothing\n\n" + ASKED, "f(8, 345)"),
            pictured("Two small maps. **Three of the eight patterns fire.**", "Eight\npatterns, three of the eight."),
            pictured("One of two.", read_off=["one two"]),
            pictured("Fifteen of about a million, of fifteen.", code="f(15, 2**20)"),
        ],
        [
            (described("It falls to 0.70.", 0.7099), "one 0.70: this number of its caption stands in no output"),
            (
                pictured("Seven patterns fire.", "Eight patterns"),
                "one seven patterns: so its caption counts, and nothing",
            ),
            (
                pictured("Three maps."),
                "one three maps: so its caption counts, and nothing else on the page does. Is it",
            ),
            (pictured("Two bells."), "then tools/read_off.txt has the line: one two bells"),
            (pictured("A thousand.", code="f(2**20)"), "one thousand: this number of its caption stands in no output"),
            (
                pictured("It falls.", read_off=["one two"]),
                "one two: is in tools/read_off.txt, and no number or count of",
            ),
            (said("A gap of 0.0."), "0.0"),
            (described("It ends at $10^{24}$.", "10**42"), "tools/read_off.txt has the line: one 10^24"),
            (described("It falls to 0.70.", 0.7, ["one 0.70"]), "one 0.70: is in tools/read_off.txt, and no number"),
            (said("It is 0.944.", outputs=["0.9537"]), "one 0.944: this number of its text stands in no output"),
            (far("It falls to 0.70."), "one 0.70: this number of its text stands in no output"),
            (said("It is 27.3 %.", outputs=["0.2718"]), "one 27.3 %: this number of its text"),
            (said("It is 27 %.", outputs=["27 tokens"]), "one 27 %: this number of its text"),
            (said("It is $2.8 \\cdot 10^{-9}$.", outputs=["2.71e-09"]), "one 2.8·10^-9: this number of its text"),
            (said("It needs 4000 tokens.", outputs=["3945"]), "one 4000: this number of its text"),
            (said("It needs about 4000 tokens.", outputs=["3245"]), "one 4000: this number of its text"),
            (said("$3822/(3822 + 1023) = 0.78$"), "one: $3822/(3822 + 1023) = 0.78$ is false", 4),
            (said("$0.7 \\cdot 0.79 = 0.56$"), "one: $0.7 \\cdot 0.79 = 0.56$ is false", 3),
            (said("From 345 on."), "one 345: this number of its text"),
            (said("It is $1 - (3/4)^{10} = 0.954$."), "one: $1 - (3/4)^{10} = 0.954$ is false", 2),
            (said("It is $n^{0.5 \\cdot 1.5} = n^{0.85}$."), "is false", 4),
            (said(ASKED, "f(9, 345)"), "one exercise 1 8: this number of its question stands in no code"),
            (said(ASKED, "f(8, 344)"), "one 345: this number of its text", 2),
        ],
    ),
    guards.formula_problems: (
        [("a", "One of $d - 2$, $\\pi$, $1 - c$, $(1)$.", "$b = 1 - c$, $t(d-2)$, $\\left(1\\right)$", ("(1)",))],
        [
            (("a", "One of $d - 1$.", "$t(d-2)$"), "a: $d - 1$ stands in no definition, claim or table that the page"),
            (("a", "One of $d - 1$.", "$t(d-1)$", ("d - 1",)), "a: $d - 1$ needs not be looked up"),
        ],
    ),
    guards.reading_problems: (
        [
            pages(),
            pages(early="10 minutes · read first: nothing"),
            pages(late=VIA, middle="1 minute · read first: [Early](early.ipynb)"),
            pages(late=USES + FOLDED_USE),
            pages(early="12 minutes · read first: nothing\n\nLater {prf:ref}`use`."),
            pages(early="12 minutes · read first: nothing\n\nBelow, {prf:ref}`lemma`."),  # its own
        ],
        [
            (pages(late=""), "late: the line under its result is missing. By count and by the ledger it is: 1 minute"),
            (
                pages(early="9 minutes · read first: nothing"),
                "early: says 9 minutes, and by words and formulas takes 12",
            ),
            (pages(early="12 minutes · read first: [Late](late.ipynb)"), "early: asks to read late first, which is no"),
            (pages(middle="1 minute · read first: [No](no.ipynb)"), "middle: asks to read no first, which is no"),
            (pages(late=VIA), "late: uses lemma of early, and nobody is asked to read that page first"),
            (pages(late=USES), "late: uses lemma of early"),
        ],
    ),
    guards.way_problems: (
        [
            ways(),
            ways("[Early](early.ipynb) first", "The explorer (2 minutes)", late=NOTHING),
            ways("[Late](late.ipynb)", "[Late](late.ipynb), its beginning"),
            ways("1. [Early", "1. This page, down to here.\n2. [Early"),
            ways(
                "[Late](late.ipynb)", "[Middle](middle.ipynb), down to “Two”", middle=f"{NOTHING}\n\n## Two\n\n## Three"
            ),
        ],
        [
            (ways("20 minutes", "10 minutes"), "10 minutes: its steps take 12"),
            (ways("20 minutes", "An hour", early="60 minutes\n\n" + "more " * 12_000), "An hour: its steps take 72"),
            (ways(" first", ", “None”"), "the page has no heading 'None': quote one that it has"),
            (ways("[Early](early.ipynb)", "The explorer"), "The explorer first.: nothing to count: link a chapter", 3),
            (ways("early", "middle"), "the page asks to read early first, and the way does not", 2),
            (
                ways("[Late](late", "[Middle](middle", middle="1 minute · read first: [Index](index.ipynb)"),
                "20 minutes, middle: the page asks to read index first, and the way does not",
            ),
            (ways("early", "middle", late="{prf:ref}`lemma`"), "uses lemma of early, which the way has not read"),
        ],
    ),
    guards.swap_problems: (
        [
            ("one", code(source))
            for source in (
                'for data, a in (("D_0", 0.05), ("D_1", 0.7)):\n    law(1024, a, 0.5, data=data)',
                'for data, a in (("D_1", 0.7), ("D_0", 0.05)):\n    pass',
                "for label, a in ((1, 0.7), (0, 0.05)):\n    pass",
                "[law(a, 0.5) for a in (0.05, 0.7)]",
                'names = {"a = 0.7": "D_1", "a = 0.05": "D_0"}',
                'for data, side in (("D_0", -0.5), ("D_1", 0.5)):\n    pass',
                'Region(words="only $D_0$", x=0.7, y=0.4)',
            )
        ],
        [
            (("one", code('(("D_0", 0.7), ("D_1", 0.05))')), "one, code cell 1: 0.7 beside D_0 in `('D_0', 0.7)`", 2),
            (("one", code("[law(a, 0.5) for a in (0.7, 0.05)]")), "0.7 before 0.05 in `(0.7, 0.05)`: the mark of D_0"),
            (("one", code("for label, a in ((1, 0.05), (0, 0.05)):\n    pass")), "0.05 beside D_1"),
            (("one", code('names = {"a = 0.7": "D_0", "a = 0.05": "D_0"}')), "0.7 beside D_0"),
            (("one", code('law(n, 0.05, "D_1")')), "0.05 beside D_1"),
            (("one", code('law(n, a=0.05, data="D_1")')), "0.05 beside D_1"),
            (("one", code("errors(n, d, m, 0.7, 0.05, 0.5)")), "0.7 before 0.05"),
        ],
    ),
    guards.side_problems: (
        [
            (
                "a.md",
                "The mark is 0.05 on $D_0$ and 0.7 on $D_1$, $a_0 = 0.05$; solid on $D_1$, dashed lines are $D_0$.",
            ),
            ("a.md", "1.7 on $D_0$, $a_1 = 0.055$, open on $D_0$ and filled on $D_1$"),
        ],
        [
            (("a.md", "It is 0.7 on $D_0$."), "a.md: '0.7 on $D_0': D_0 has the weak mark, 0.05, dashed lines"),
            (("a.md", "$a_1 = 0.05$"), "D_1 has the strong mark, 0.7"),
            (("a.md", "solid lines are $D_0$"), "Are the two swapped?"),
            (("a.md", "open on D_1"), "'open on D_1'"),
        ],
    ),
    guards.version_problems: (
        [("a.md", "It needs Python 3.11 or newer, and runs on Python 3.13.", "3.11")],
        [(("a.md", "Python 3.10 or newer", "3.11"), "a.md: asks for Python 3.10, and pyproject.toml for 3.11")],
    ),
    guards.paper_problems: (
        [
            ("a.md", "arXiv 2310.11685, arXiv:2310.11685v1, https://arxiv.org/abs/2310.11685v2, 2310.116", REFERENCE),
            ("references.bib", REFERENCE, REFERENCE),
        ],
        [
            (("a.md", "arXiv 2310.11658", REFERENCE), "a.md: names arXiv 2310.11658, which references.bib does not"),
            (("a.md", "https://arxiv.org/abs/2310.11658v1", REFERENCE), "a.md: names arXiv 2310.11658, which"),
            (("a.md", REFERENCE.replace("2023", "2024"), REFERENCE), "a.md: arXiv 2310.11685 is of 2023, and its year"),
            (
                ("references.bib", REFERENCE.replace("arXiv.2310.11685", "arXiv.2310.11658"), REFERENCE),
                "references.bib: eprint 2310.11685 has the doi '10.48550/arXiv.2310.11658', not 10.48550/arXiv.2310.11",
            ),
            (
                ("references.bib", REFERENCE.replace("doi", "url"), REFERENCE),
                "references.bib: eprint 2310.11685: must stand between its year and its doi",
            ),
        ],
    ),
    guards.word_problems: (
        [([READ], SIGNED), ([("one, A", "  Because.\n")], SIGNED), ([], [])],
        [
            (([READ], []), f"then their line in tools/signed.txt is: {SIGNED[0]}"),
            (([("one, A", "Why not.")], SIGNED), "one, A: these words are not those that were read"),
            (([("one fig-a, picture", "iVBO")], SIGNED), "one fig-a, picture: the stored picture is not the one", 2),
            (
                ([("one.py", "Say.")], SIGNED),
                "one.py: a docstring, a message or another text in quotes is not the one",
                2,
            ),
            (([], SIGNED), "one, A 8e18bd2e335c: is in tools/signed.txt, and nothing has these words"),
        ],
    ),
    guards.name_problems: (
        [names()],
        [
            (names(("A title", "Another")), "one-name: the table calls it 'Another', the page 'A title'"),
            (names(("A title", "A b c d e f"), {"one-name": "A b c d e f"}), "one-name: a title has at most 5 words"),
            (names(titles={"later": "Later"}), "later: the table calls it None, the page 'Later'", 2),
            (names(("claims.one", "claims.two")), "one-name: its module of claims is one_name, if any"),
            (names(("`extensions.one_name`", "")), "one-name: its module of extension is one_name, if any"),
            (names(claims={"one_name", "lost"}), "lost: a module that no chapter is named after"),
            (names(tests=set()), "extensions.one_name: has no test_one_name.py"),
            (names(titles={"new": "New"}), "new: the table calls it None, the page 'New'"),
        ],
    ),
    guards.id_problems: (
        [("m", "Completed.  Claims: tensor-trick.", {"tensor-trick"})],
        [
            (
                ("m", "Claims: tensor-trick,\n    no-such-claim.", {"tensor-trick"}),
                "m: names no-such-claim, which is not in",
            )
        ],
    ),
    guards.beside_problems: (
        [("paper", ["law", "_tokens"], ["test_law_fuzz", "test_tokens", "test_paper"])],
        [(("paper", ["law"], ["test_laws_of", "test_tokens"]), "paper/test_tokens.py: begins with no module of paper")],
    ),
    guards.lock_problems: (
        [pinned(LOCK), pinned(LOCK, {"one", "two-2", "three"})],
        [
            (pinned(LOCK.replace("one==2.1\n", "")), "one: pyproject.toml asks for it, and no line pins it"),
            (pinned(LOCK.replace("==1.5", "==2.0")), "two-2==2.0: pyproject.toml asks for Two_2<2,>=1"),
            (pinned(LOCK + "One==2.1\n"), "one: pinned twice for Python 3.11 on linux", 12),
            (
                pinned(LOCK.replace(">=", ">").replace("< '3.12'", "< '4'")),
                "three: pinned twice for Python 3.12 on linux",
                9,
            ),
            (pinned(LOCK.replace("==1.5", ">=1.5")), "two-2>=1.5: must be a name, == and one version", 2),
            (
                pinned(LOCK.replace("one==2.1", "one==2.1 ; sys_platform == 'linux'")),
                "one: pyproject.toml asks for it, and no line pins it for Python 3.11 on darwin",
            ),
            (pinned(LOCK, {"one", "two-2", "three", "four"}), "four: another package needs it, and no line pins it"),
            (pinned(LOCK, {"one", "two-2"}), "three: nothing needs it"),
        ],
    ),
    guards.command_problems: (
        [
            typed(
                "`make notebooks CHAPTER=a`, make it\n\n```\n.venv/bin/attnsep verify  # all\npip install .[lab]\n```"
            ),
            typed("```python\nmake(it)\n```\n`python -m tools.guards`"),
        ],
        [
            (typed("`make notebook`"), "a.md: `make notebook`: the Makefile has no notebook"),
            (typed("`make .ready`"), "the Makefile has no .ready"),
            (
                typed("```\nmake help CHAPTERS=a  # all\n```\n"),
                "a.md: `make help CHAPTERS=a`: the Makefile has no CHAPTERS",
            ),
            (typed("`attnsep verfy`"), "a.md: `attnsep verfy`: no such words"),
            (typed('`pip install ".[lab,labs]"`'), "pyproject.toml has no extra labs"),
            (typed("`.venv/bin/python -m tools.guard x`"), "there is no tools/guard.py"),
        ],
    ),
    guards.top_problems: (
        [(guards.AT_THE_TOP,), ((),)],
        [
            (
                ({*guards.AT_THE_TOP, "fontlist 3.json"},),
                "fontlist 3.json: git has it at the top of the tree, and AT_THE_TOP of tools/guards.py does not list "
                "it. If it came by accident: `git rm -r --cached 'fontlist 3.json'`, and a line in .gitignore. If it",
            )
        ],
    ),
    guards.place_problems: (
        [("a.md", "[one](README.md), [here](#here), [there](https://example.org/none), `tools/guards.py`, `none.py`")],
        [
            (("a.md", "[one](README.txt)"), "README.txt: there is no such file"),
            (("a.md", "`tools/guard.py`"), "tools/guard.py: there"),
        ],
    ),
    guards.symbol_problems: (
        [
            met(),
            met(
                "${\\bar a} = \\mathrm{ln}\\,a_0^{a_{\\mathrm{lin}}}$, `$b$`, $\\text{if } e^a$\n```python\n$c$\n```\n"
            ),
            met("```{prf:lemma} So\n$a_0$\n```\n$$\na_1'\n$$\n```\n$b$\n```"),
            met("$a_0$ and $a$\n````{dropdown} Proof\nLet $b$.\n```{math}\n```\n````\n"),
            met("$a_0$, $a$\n```{admonition} Why\n:class: dropdown\n$b$\n```\n"),
            met(
                more=[
                    "\n## What everybody writes\n\n| symbol | meaning | first met |\n|---|---|---|",
                    "| $\\pi_i$ |  | [](one.ipynb) |",
                ],
                page="$a_0 a \\pi_2$",
            ),
        ],
        [
            (met("$a_0 + a + b$"), "one: uses b, which chapters/symbols.md lacks"),
            (met("$a_0 a^{\\bar b}$"), "one: uses \\bar{b}, which"),
            (met("$a_0 a e^{\\kappa_{\\mathrm{x}}}$"), "one: uses \\kappa, which"),
            *[
                (met(f"$a_0 a {letter}$"), f"one: uses {letter}, which")
                for letter in ("\\aleph", "\\varkappa", "א", "β")
            ],
            (met("$a_0 a$\n```{dropdown} Hint\nLook at $b$.\n```\n"), "one: uses b, which"),
            (met(text=""), "one: uses symbols and has no fold"),
            (met(text=FOLD_OF_THREE.replace("strength", "force")), "one: its fold 'Symbols of this page' is not"),
            (met("$a_0 a$", rest="$x$"), "one: its fold 'Symbols of this page' is not", 3),
            (met(more=["| $b_i$ | height |  |"]), "chapters/symbols.md: b_i is used on no page"),
            (met("$a$"), "chapters/symbols.md: a_0 is used on no page"),
            (met("$a$ $a_0$", more=["| $a$ | area | [](one.ipynb) |"]), "one: its fold", 2),
            (met(first="[](two.ipynb)"), "chapters/symbols.md: the column 'first met' is not"),
        ],
    ),
}


def cases(number):
    return [
        pytest.param(guard, case, id=f"{guard.__name__}-{place}")
        for guard, inputs in INPUTS.items()
        for place, case in enumerate(inputs[number])
    ]


@pytest.mark.parametrize(("guard", "arguments"), cases(0))
def test_it_is_accepted(guard, arguments):
    assert guard(*arguments) == []


@pytest.mark.parametrize(("guard", "case"), cases(1))
def test_it_is_refused_in_one_sentence(guard, case):
    arguments, words, number = (*case, 1)[:3]
    found = guard(*arguments)
    assert words in found[0]
    assert len(found) == number


def test_every_guard_reads_the_tree_and_has_inputs_of_both_kinds():
    here = [
        guard for name, guard in inspect.getmembers(guards, inspect.isfunction) if re.search("^[a-z].*_problems$", name)
    ]
    assert set(here) == INPUTS.keys() == THE_TREE.keys()
    assert all(accepted and refused for accepted, refused in INPUTS.values())


# Exemptions: one that is not needed any more goes, before it hides something else.


def test_every_page_without_exercises_has_none():
    found = [name for name in WITHOUT_EXERCISES if not guards.exercise_problems(name, NOTEBOOKS[name])]
    assert found == [], "these have all that a chapter needs, so they leave WITHOUT_EXERCISES"


def test_all_words_of_a_chapter_are_read_but_those_that_are_compared():
    """Its text, proofs, hints and solutions, in their section; a picture, its code, caption and alt text."""
    parts = {
        "title": "# A\n\n3 minutes · read first: nothing\n\nOf a.",
        "symbols": "````{dropdown} Symbols of this page\n| a | b |\n```\n````\n\nAfter.",
        "statement": "```{prf:lemma} L\n:label: l\n\nStated.\n```\n\n````{dropdown} Proof\nBecause.\n````",
        "exercise": "## B\n\n```{dropdown} Hint\n# Count\n```\n\n**Bold.**\n\n### C",
    }
    page = code(FIGURE, mystnb={"figure": {"name": "fig-x", "caption": "Cap."}, "image": {"alt": "Alt."}})
    page.cells = [nbformat.v4.new_markdown_cell(part) for part in parts.values()] + page.cells
    page.cells[-1].outputs = [nbformat.v4.new_output("display_data", {"image/png": "iVBO"})]
    found = {place: words.split() for place, words in guards.words_of("one", page)}
    assert found == {
        "one, A": ["Of", "a.", "After.", "L", "````{dropdown}", "Proof", "Because.", "````"],
        "one, B": ["```{dropdown}", "Hint", "#", "Count", "```", "**Bold.**"],
        "one, C": ["```", FIGURE, "```"],
        "one fig-x": ["Cap.", "Alt."],
        "one fig-x, picture": ["iVBO"],
    }
    assert guards.sections_of("README.md", "<!-- status -->\n5 claims\n<!-- end of status -->\nWords.") == {
        "README.md": "\nWords."
    }


def test_every_helper_that_rounds_does(monkeypatch):
    monkeypatch.setattr(guards, "ROUNDS_AND_SAYS_WHY", {})
    unrounded = {id: entry for id, entry in LEDGER.items() if getattr(entry, "level", "") in ("exact", "certified")}
    found = guards.level_problems(unrounded)
    round_here = {re.match(r"\S+: (\S+)", problem)[1] for problem in found}
    assert round_here == ROUNDS, "ROUNDS_AND_SAYS_WHY of tools/guards.py names those that exact claims need, no others"


ROUNDS = {*guards.ROUNDS_AND_SAYS_WHY}


def test_the_core_needs_what_the_project_depends_on():
    needed = {requirement.name.replace("-", "_") for requirement in guards.requirements_of(PROJECT["project"])}
    assert needed == guards.WITHOUT_IMPORT


def test_every_rule_that_ruff_leaves_out_would_find_something():
    """Of all rules that pyproject.toml leaves out, everywhere or in some files, each is broken there."""
    lint = PROJECT["tool"]["ruff"]["lint"]
    left_out = [("*", code) for code in lint["ignore"]]
    left_out += [(pattern, code) for pattern, codes in lint["per-file-ignores"].items() for code in codes]
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--output-format", "concise", "--config"]
    command += [
        "lint.ignore=[]",
        "--config",
        "lint.per-file-ignores={}",
        "--select",
        ",".join(code for _, code in left_out),
    ]
    printed = subprocess.run([*command, "."], cwd=ROOT, capture_output=True, encoding="utf-8").stdout
    lines = re.sub(r"\x1b\[[0-9;]*m", "", printed)  # some settings of a terminal colour it
    found = re.findall(r"^(\S+?):(?:cell \d+:)?\d+:\d+: ([A-Z]+\d+)", lines, re.MULTILINE)
    unneeded = [
        f"{pattern}: {code}: nothing needs this exemption of ruff in pyproject.toml; take it out"
        for pattern, code in left_out
        if not any(fnmatch(name, pattern) and rule.startswith(code) for name, rule in found)
    ]
    assert unneeded == [], "\n".join(unneeded)


# What mypy does not ask of the modules that pyproject.toml excepts, and those of which it asks everything.
NOT_ASKED = {
    "check_untyped_defs",
    "disable_error_code",
    "disallow_any_generics",
    "disallow_untyped_calls",
    "disallow_untyped_decorators",
    "disallow_untyped_defs",
}
STRICT = {"", "arrays", "checks", "kinds", "paper", "paper.network", "probability", "probability.sign_sums"}


def test_mypy_asks_as_much_as_it_did():
    settings = PROJECT["tool"]["mypy"]
    settings_of_all = {"files": ["lib/attnsep"], "mypy_path": "lib", "strict": True, "warn_return_any": False}
    less = "mypy is told something else than here; where it then asks less, say why, and change both"
    assert {name: settings[name] for name in settings if name != "overrides"} == settings_of_all, less
    ours = [row for row in settings["overrides"] if "attnsep." in str(row["module"])]
    assert {name for row in ours for name in row} == {"module", *NOT_ASKED}, less
    patterns = [name for row in ours for name in ([row["module"]] if isinstance(row["module"], str) else row["module"])]
    lax = {
        name
        for name in STRICT
        for pattern in patterns
        if fnmatch(f"attnsep.{name}".rstrip(".") + ".", f"{pattern.removesuffix('.*')}.*")
    }
    assert lax == set(), "mypy asks less of these modules than it did"


def test_every_reason_to_skip_is_some_tests_own():
    texts = [
        path.read_text(encoding="utf-8") for folder in ("lib", "tools/tests") for path in (ROOT / folder).rglob("*.py")
    ]
    assert [reason for reason in counted.MAY_BE_MISSING if not any(f'"{reason}' in text for text in texts)] == []


# What is more than a function that returns sentences


def test_imports_run_one_way():
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0
    (contract,) = PROJECT["tool"]["importlinter"]["contracts"]
    assert contract["exhaustive"], "a room that no line lists could import everything"
    assert contract.keys() == {"name", "type", "containers", "exhaustive", "layers"}, "no exemptions from the one way"
    assert ":" not in "".join(contract["layers"]), "rooms beside each other must not import each other: write |"


def test_an_import_that_runs_back_is_found(tmp_path, capsys):
    text = read("pyproject.toml")
    upside_down = text.replace('"extensions",\n  "paper"', '"paper",\n  "extensions"')
    assert upside_down != text
    (tmp_path / "pyproject.toml").write_text(upside_down, encoding="utf-8")
    assert lint_imports(str(tmp_path / "pyproject.toml"), no_cache=True) == 1
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "attnsep.extensions is not allowed to import attnsep.paper" in " ".join(said.split())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("We say. The paper proves\nit for $n$. So do we.", ["The paper proves it for $n$."]),
        (
            "- one\n- the paper's own (data). *It* lies\n\nThis paper, too",
            ["the paper's own (data).", "This paper, too"],
        ),
        ("| a | of the paper | b |", ["of the paper"]),
        ("```{prf:lemma} Of the paper\n:label: x\n\nThis paper.\n```", ["Of the paper", "This paper."]),
        ("papers, a newspaper, paper", []),
    ],
)
def test_sentences_about_the_paper_are_found(text, said):
    assert guards.said_of_the_paper(text) == said


def test_a_figure_past_the_grammar_in_a_cell_that_is_no_python_is_two_faults():
    assert len(guards.notebook_problems("a", code("!false", outputs=[PNG], mystnb=alt(30)))) == 2


@pytest.mark.parametrize(
    ("words", "others"),
    [("(c + 0.1)", "(c + 0.2)"), ("94 %", "93 %"), ("a_0 = 0.05", "a_0 = 0.06"), ("0.618", "0.619")],
)
def test_a_wrong_number_of_the_glossary_is_refused(words, others):
    text = read("chapters/glossary.md")
    assert words in text
    page = beside(text.replace(words, others), statements=basics())
    found = guards.number_problems("glossary", page, read("tools/read_off.txt").splitlines())
    assert any("this number of its text stands in no" in problem for problem in found)


def test_the_tree_is_read_at_all():
    """What a guard does not get to read it cannot refuse."""
    assert len(said_here()) > 10
    places = [place for place, _ in words()]
    assert len(places) == len({*places}) >= 650
    for part in ("lemma-d2, Exercises", "recall fig-circle", "README.md, On a GPU", "glossary gain", "symbols $Q_w$"):
        assert part in places
    assert len(read("tools/read_off.txt").splitlines()) >= 10
    assert sum(map(len, followed().values())) >= 150
    assert sum(len(guards.commands_of(text)) for text in prose().values()) >= 80
    assert sum(1 for entry in LEDGER.values() if isinstance(entry, Claim)) >= 204


# What the guards of reading and of numbers rest on.


def test_words_formulas_and_what_is_looked_at_take_their_time():
    assert [minutes.Count(*found).minutes for found in ((200, 0, 0), (0, 30, 0), (0, 0, 4))] == [1, 1, 1]


def test_of_all_that_a_page_needs_the_line_names_what_the_others_do_not_lead_to_in_reading_order():
    texts = {name: f"# {name.title()}\n\n{NOTHING}" for name in ("zeta", "alpha", "last")}
    texts["last"] += "\n\nBy {prf:ref}`one` and {prf:ref}`two`. " + "word " * 300
    cells = {name: [nbformat.v4.new_markdown_cell(text)] for name, text in texts.items()}
    notebooks = {name: nbformat.v4.new_notebook(cells=cells[name]) for name in texts}
    ledger = {"one": entry(id="one", chapter="alpha"), "two": entry(id="two", chapter="zeta")}
    line = minutes.suggested("last", notebooks, [*texts], ledger)
    assert line == "2 minutes · read first: [Zeta](zeta.ipynb), [Alpha](alpha.ipynb)"
    assert minutes.suggested("alpha", notebooks, [*texts], ledger) == "1 minute · read first: nothing"


def test_every_statement_that_a_page_uses_and_nobody_reads_before_is_named():
    notebooks, order, without, ledger = pages(
        late="1 minute · read first: nothing\n\nBy {prf:ref}`a` and {prf:ref}`b`."
    )
    ledger |= {label: entry(id=label, chapter="early") for label in "ab"}
    (problem,) = guards.reading_problems(notebooks, order, without, ledger)
    assert problem.startswith("late: uses a, b of early, and nobody is asked to read that page first. ")


def test_exercises_are_no_part_of_what_a_page_takes_to_read():
    cell = nbformat.v4.new_markdown_cell("# A\n\nOne.\n\n## Exercises\n\nSolve.\n\n## References\n\nTwo.")
    read = minutes.whole(nbformat.v4.new_notebook(cells=[cell]))
    assert minutes.WORD.findall(read) == ["A", "One", "Two"]


@pytest.mark.parametrize(
    ("words", "read", "left"),
    [
        ("This page, down to here", ["First", "Start"], ["Way"]),
        ("[A](a.ipynb)", ["First", "Two", "Three", "Four"], ["Solve"]),
        ("[A](a.ipynb), down to “Two”, and “Four”", ["First", "Two", "Four"], ["Three", "Solve"]),
        ("[A](a.ipynb), its beginning and “Three”", ["First", "Three"], ["Two", "Four", "Solve"]),
    ],
)
def test_a_step_of_a_way_reads_what_it_says(words, read, left):
    """Words at the beginning of each section say which it is."""
    own = f"# A\n\nFirst.\n\n## Start\n\nStart.\n\n## Ways\n\nWay.\n\n```{{grid-item-card}} Way\n1. {words}.\n```\n"
    page = "# A\n\nFirst.\n\n## Two\n\nTwo.\n\n## Three\n\nThree.\n\n## Four\n\nFour.\n\n## Exercises\n\nSolve.\n"
    notebooks = {
        name: nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)])
        for name, text in (("index", own), ("a", page))
    }
    ((step,),) = minutes.ways(notebooks).values()
    assert [word for word in (*read, *left) if f"{word}." in step.text] == read


def test_the_minutes_of_all_pages_and_ways_are_printed(monkeypatch, capsys):
    notebooks, order, *_ = pages()
    monkeypatch.setattr(guards, "read_notebooks", lambda folder: notebooks)
    monkeypatch.setattr(minutes, "page_order", lambda: order)
    minutes.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["words", "formulas", "looks", "minutes", "said"],
        ["index", "9", "0", "0", "0.0", "–"],  # which says none
        ["early", "2408", "0", "0", "12.0", "12"],
        ["middle", "6", "0", "0", "0.0", "1"],
        ["late", "8", "0", "0", "0.0", "1"],
        [],
        ["20", "minutes:", "12.1", "minutes"],
        ["12.0", "[Early](early.ipynb)", "first."],
        ["0.0", "[Late](late.ipynb)."],
    ]


def test_a_percentage_is_evidence_of_the_number_that_it_is():
    shown = written.Evidence(written.numbers("90 %, 10 % and 50.0 %"))
    assert [shown.has(number) for number in written.numbers("0.9, 0.1, 0.500 and 0.51")] == [True, True, True, False]


@pytest.mark.parametrize(("total", "true"), [("7.0362", True), ("7.0370", False)])
def test_each_rounded_part_of_a_sum_may_be_off_by_half_a_unit(total, true):
    """Of three parts with three digits by 0.0015 together, and no more."""
    ((_, _, found),) = written.equations(f"$1.234 + 2.345 + 3.456 = {total}$")
    assert found is true


def test_a_number_that_is_about_so_large_may_be_rounded_to_its_last_digit_that_is_not_0():
    assert [each.half for each in written.numbers(r"$n \approx 3800$, about 3800 and 3800")] == [50, 50, 0.5]
