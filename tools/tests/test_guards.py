"""The tree keeps its rules, and each guard rejects one input that breaks its rule."""

import re
import sys
from dataclasses import replace

import nbformat
import pytest
import yaml
from importlinter.cli import lint_imports

from attnsep.claims import LEDGER
from attnsep.claims.the_cards_words import SENTENCES
from attnsep.ledger.framework import LEVELS, Claim, Definition
from tools.address import address
from tools.files import CHAPTERS, ROOT
from tools.guards import (
    closure_problems,
    draw_problems,
    exercise_problems,
    import_problems,
    level_problems,
    limit_problems,
    name_problems,
    notebook_problems,
    owner_problems,
    read_notebooks,
    repeated_functions,
    said_of_the_paper,
    unknown_ids,
)

NOTEBOOKS = read_notebooks(CHAPTERS)
STANDARD = set(sys.stdlib_module_names)


# The tree itself


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_stored_outputs_are_fit_to_be_compared(name):
    assert notebook_problems(name, NOTEBOOKS[name]) == []


WITHOUT_EXERCISES = {
    "index",
    "ledger",
    "map",
    "gpu",
    "the-cards-words",
}  # pages that say where to begin, and pages to look things up


@pytest.mark.parametrize("name", sorted(NOTEBOOKS.keys() - WITHOUT_EXERCISES))
def test_every_chapter_has_exercises_with_hints_and_solutions(name):
    assert exercise_problems(name, NOTEBOOKS[name]) == []


def test_no_function_stands_in_two_chapters():
    assert repeated_functions(NOTEBOOKS) == []


def test_ledger_and_chapters_name_the_same_things():
    assert closure_problems(NOTEBOOKS) == []


def test_every_page_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    files = [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]
    pages = [path.stem for path in CHAPTERS.iterdir() if path.suffix in (".ipynb", ".md")]
    assert sorted(files) == sorted(["CHANGELOG", "CONTRIBUTING", *(f"chapters/{name}" for name in pages)])


def test_imports_run_one_way():
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0


def test_an_import_that_runs_back_is_found(tmp_path, capsys):
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    upside_down = text.replace('"extensions",\n  "paper"', '"paper",\n  "extensions"')
    assert upside_down != text
    (tmp_path / "pyproject.toml").write_text(upside_down, encoding="utf-8")
    assert lint_imports(str(tmp_path / "pyproject.toml"), no_cache=True) == 1
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "attnsep.extensions is not allowed to import attnsep.paper" in " ".join(said.split())


def test_the_core_imports_little():
    library = ROOT / "lib" / "attnsep"
    problems = []
    for path in sorted(library.rglob("*.py")):
        module = ".".join(path.relative_to(library).with_suffix("").parts)
        problems += import_problems(module, path.read_text(encoding="utf-8"), STANDARD)
    assert problems == []


def test_claims_draw_from_one_place():
    modules = sorted((ROOT / "lib/attnsep/claims").rglob("*.py"))
    found = [draw_problems(f"claims.{path.stem}", path.read_text(encoding="utf-8")) for path in modules]
    assert [problem for problems in found for problem in problems] == []


def test_no_level_says_more_than_its_check_shows():
    assert level_problems() == []


def test_a_limit_says_where_it_was_checked():
    assert limit_problems() == []


LISTS_THE_LEVELS = (
    "chapters/ledger",
    "chapters/what-the-checks-prove",
    "chapters/index",
    "chapters/glossary",
    "CONTRIBUTING",
)


@pytest.mark.parametrize("name", LISTS_THE_LEVELS)
def test_pages_agree_on_the_levels(name):
    """Every level stands there, from strong to weak, in one sentence, one entry or the first column of one table."""
    path = ROOT / f"{name}.md"
    page = NOTEBOOKS.get(path.stem)
    text = path.read_text(encoding="utf-8") if page is None else "\n".join(cell.source for cell in page.cells)
    table = re.search(r"^\| level \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    if table:
        found = re.findall(r"^\| (\w+) \|", table[1], re.MULTILINE)
    else:
        found = re.findall(rf"\b(?:{'|'.join(LEVELS)})\b", re.search(r"^.*proved.*measured.*$", text, re.MULTILINE)[0])
    assert found == list(LEVELS)


def test_nothing_installs_or_links_what_somebody_else_could_own():
    folders = (".ci", ".github", "assets", "chapters", "lib", "tools", "web")
    files = [path for name in folders for path in (ROOT / name).rglob("*") if ".ipynb_checkpoints" not in path.parts]
    endings = {".cff", ".js", ".ipynb", ".json", ".md", ".py", ".toml", ".yml"}
    texts = [path for path in [*files, *ROOT.glob("*")] if path.suffix in endings or path.name in ("Makefile", "run")]
    assert len(texts) > 150
    own = address()
    found = [owner_problems(path.name, path.read_text(encoding="utf-8"), own) for path in texts]
    assert [problem for problems in found for problem in problems] == []


def test_every_sentence_about_the_paper_is_reviewed():
    """Whoever adds one compares it with the source card first, and then adds it to the list."""
    texts = [cell.source for page in NOTEBOOKS.values() for cell in page.cells if cell.cell_type == "markdown"]
    texts += [path.read_text(encoding="utf-8") for path in [*CHAPTERS.glob("*.md"), ROOT / "README.md"]]
    texts += [entry.statement for entry in LEDGER.values()] + [sentence.reading for sentence in SENTENCES]
    found = {sentence for text in texts for sentence in said_of_the_paper(text)}
    reviewed = (ROOT / "tools/said_of_the_paper.txt").read_text(encoding="utf-8").splitlines()
    assert len(found) > 15
    assert sorted(found - {*reviewed}) == []  # not in tools/said_of_the_paper.txt
    assert sorted({*reviewed} - found) == []  # there, and on no page
    assert reviewed == sorted({*reviewed})


# The guards' own tests


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
    assert said_of_the_paper(text) == said


NAME = "attnsep"  # written apart, so that this file keeps the rule
OURS = f"https://codeberg.org/us/{NAME}"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (f'pip install ".[book]"\nand import {NAME}', None),
        ("pip uninstall attnsep", None),
        ("`pip install -e .` installs `attnsep`", None),
        ("see https://example.org/other and https://arxiv.org/abs/2310.11685v1", None),
        (f'%pip install -q "{NAME}[notebooks] @ git+{OURS}"', OURS),
        (f"{OURS}/issues, {OURS}.", OURS),
        (f"https://git.example.org/owner/{NAME}", None),
    ],
)
def test_owner_guard_accepts(text, address):
    assert owner_problems("a.md", text, address) == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
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
    ],
)
def test_owner_guard_rejects(text, address):
    (problem,) = owner_problems("a.md", text, address)
    assert problem.startswith("a.md: ")


@pytest.mark.parametrize(
    "source",
    [
        "rng = np.random.default_rng(1)",
        "from numpy.random import default_rng",
        "import random",
        "x = numpy.random.normal()",
        "x = np.random.RandomState(1)",
    ],
)
def test_draw_guard_rejects(source):
    assert draw_problems("claims.tokens", source)
    assert draw_problems("claims.framework", "rng = np.random.default_rng(1)\n" + source)


def test_draw_guard_accepts():
    assert draw_problems("claims.tokens", "rng = generator(1)\nx = rng.random()") == []
    assert draw_problems("claims.framework", "rng = np.random.default_rng(1)") == []


def altered(id, **changes):
    return {id: replace(LEDGER[id], **changes)}


@pytest.mark.parametrize(
    ("id", "level", "what"),
    [
        ("golden-ratio-law", "exact", "golden_ratio_law calls math.log"),
        ("tensor-trick", "proved", "no proof assistant"),
        ("main-theorem-worked-instance", "certified", "a constant has the float 0.00346450383"),
        ("scaled-queries-look-alike", "measured", "reads no stored file"),
        ("cost-memory", "verified", "reads a stored file"),
        ("recall-learnt", "computed", "reads a stored file"),
    ],
)
def test_level_guard_rejects(id, level, what):
    assert any(what in problem for problem in level_problems(altered(id, level=level)))
    assert level_problems(altered(id)) == []


@pytest.mark.parametrize("words", [r"$p \to 0$", r"$m \sim n$", "it tends to 0", r"for $n = \infty$", r"$a \approx 1$"])
def test_limit_guard_rejects(words):
    assert limit_problems(altered("tensor-trick", statement=words))
    assert limit_problems(altered("tensor-trick", statement=words, assumes="checked at n = 10")) == []
    assert limit_problems(altered("tensor-trick", statement=words, level="certified")) == []


def test_limit_guard_accepts():
    assert limit_problems(altered("tensor-trick", statement=r"$B \sim \mathrm{Bin}(n, p)$, $\tanh \top$")) == []


def code(source="print(1)", outputs=(), count=1, **metadata):
    cell = nbformat.v4.new_code_cell(source, execution_count=count, outputs=list(outputs), metadata=metadata)
    return nbformat.v4.new_notebook(cells=[cell])


def printed(text, name="stdout"):
    return nbformat.v4.new_output("stream", name=name, text=text)


PNG = nbformat.v4.new_output("display_data", data={"image/png": "iVBORw0", "text/plain": "<Figure>"})
ALT = {"image": {"alt": "A line that falls from one to zero as n grows."}}


@pytest.mark.parametrize(
    "notebook",
    [
        code(),
        code(outputs=[printed("n = 3, 50% of all, see https://example.org/home/page")]),
        code("x = 1  # a comment;\nprint(x)"),
        code("curves(x, title='Why?')", outputs=[PNG], mystnb=ALT),
        code("\n".join(["x = 1"] * 20)),
        code("print('!false')\n# %nosuchmagic\nx = 7 % 4\ny = x != 3"),
    ],
)
def test_notebook_guard_accepts(notebook):
    assert notebook_problems("chapter", notebook) == []


@pytest.mark.parametrize(
    ("notebook", "problem"),
    [
        (code(count=None), "execution count None"),
        (code(count=2), "execution count 2, must be 1"),
        (code("\n".join(["x = 1"] * 21)), "21 lines"),
        (code("print(1);"), "ends in ';'"),
        *[
            (code(source), "is not plain Python")
            for source in (
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
        ],
        (code("# NBVAL_IGNORE_OUTPUT\nprint(1)"), "look away"),
        (code(tags=["nbval-skip"]), "look away"),
        (code(tags=["remove-cell"]), "a reader must see"),
        (code(tags=["remove-output", "hide-input"]), "a reader must see"),
        (code(outputs=[nbformat.v4.new_output("error", ename="ValueError", evalue="", traceback=[])]), "an error"),
        (code(outputs=[printed("careful", name="stderr")]), "stderr"),
        (code(outputs=[printed("/home/me/file.py")]), "an absolute path"),
        (code(outputs=[printed("in /var/folders/x/matplotlib-y")]), "an absolute path"),
        (code(outputs=[printed("<object at 0x7f3c2a1b>")]), "a memory address"),
        (code(outputs=[printed(" 40%|████      | 4/10")]), "a progress bar"),
        (code(outputs=[printed("np.float64(1.0)")]), "bare repr"),
        (code("curves(x, title='Why?')", outputs=[PNG]), "without alt text"),
        (code("curves(x, title='Why?')", outputs=[PNG], mystnb={"image": {"alt": "figure"}}), "without alt text"),
        (code("curves(x, title='Weights')", outputs=[PNG], mystnb=ALT), "title= is no question"),
        (code("curves(x)", outputs=[PNG], mystnb=ALT), "title= is no question"),
        (code("curves(x, title='Why?')", mystnb=ALT), "shows no figure"),
        (code("curves(x, title='Why?')", mystnb={"figure": {"name": "fig"}}), "shows no figure"),
    ],
)
def test_notebook_guard_rejects(notebook, problem):
    (found,) = notebook_problems("chapter", notebook)
    assert problem in found


PREDICT = "```{admonition} Exercise 1: predict, then run\nIs it so?\n```\n"
SECOND = "```{admonition} Exercise 2\nWhy?\n```\n"
FOLDED = "\n```{dropdown} Hint\nLook.\n```"


def with_exercises(*texts, tags=("hide-cell",), answers=("yes",)):
    cells = []
    for text in texts:
        solution = nbformat.v4.new_code_cell("print()", outputs=[*map(printed, answers)], metadata={"tags": list(tags)})
        cells += [nbformat.v4.new_markdown_cell(text), solution]
    return nbformat.v4.new_notebook(cells=cells)


def test_exercise_guard_accepts():
    assert exercise_problems("chapter", with_exercises("## Exercises\n\n" + PREDICT + FOLDED, SECOND + FOLDED)) == []


@pytest.mark.parametrize(
    ("notebook", "problem"),
    [
        (with_exercises(PREDICT + FOLDED), "exercises [1], must be 1 to 2"),
        (with_exercises(PREDICT + FOLDED, SECOND.replace("2", "3") + FOLDED), "exercises [1, 3]"),
        (with_exercises(PREDICT.replace(": predict, then run", "") + FOLDED, SECOND + FOLDED), "asks for a prediction"),
        (with_exercises(PREDICT + FOLDED, FOLDED + "\n" + SECOND), "exercise 2: no folded hint"),
        (with_exercises(PREDICT + FOLDED, SECOND + FOLDED, tags=()), "exercise 1: the next cell"),
        (with_exercises(PREDICT + FOLDED, SECOND + FOLDED, answers=()), "exercise 1: the next cell"),
    ],
)
def test_exercise_guard_rejects(notebook, problem):
    assert problem in exercise_problems("chapter", notebook)[0]


def test_a_cell_that_is_no_python_stops_no_other_guard():
    magic = code("%nosuchmagic")
    assert repeated_functions({"a": magic}) == closure_problems({"a": magic}, {}) == []
    assert len(notebook_problems("a", code("!false", outputs=[PNG], mystnb=ALT))) == 2  # and no question


def test_repeated_functions_guard():
    first, second = code("def fires(x):\n    return x"), code("if True:\n    def fires(x):\n        return x")
    assert repeated_functions({"a": first, "b": code("fires = 1")}) == []
    assert repeated_functions({"a": first, "b": second}) == ["def fires: in a, b"]


@pytest.mark.parametrize("source", ["import numpy\nfrom attnsep.arrays import namespace", "def f():\n    import tqdm"])
def test_import_guard_accepts(source):
    assert import_problems("m", source, STANDARD) == []


@pytest.mark.parametrize("source", ["import tqdm", "from tqdm import tqdm", "import tqdm.auto"])
def test_import_guard_rejects(source):
    (found,) = import_problems("m", source, STANDARD)
    assert found == "m: imports tqdm at its top; the core runs with numpy and array-api-compat alone"


def entry(**changes):
    fields = {"id": "a-claim", "mark": "extension", "source": "s", "statement": "$1 < 2$", "chapter": "one"}
    rest = {"level": "exact", "assumes": "", "uses": (), "expect": "holds", "control": "c", "violations": (1,)}
    rest["tests"] = "none"
    return Claim(**(fields | rest | {"cases": None} | changes))


BLOCK = "```{prf:lemma} A title · extension\n:label: a-claim\n:class: mark-extension\n\n$1 <\n2$\n```"


def chapter(block=BLOCK, source='check("a-claim")'):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(block), nbformat.v4.new_code_cell(source)])


def test_closure_guard_accepts():
    used = Definition(id="def-x", mark="source", source="s", statement="x", chapter="one")
    block = BLOCK + "\n\n````{prf:definition} X · source\n:label: def-x\n:class: mark-source\n\nx\n````"
    ledger = {"a-claim": entry(uses=("def-x",)), "def-x": used}
    assert closure_problems({"one": chapter(block)}, ledger) == []


@pytest.mark.parametrize(
    ("notebooks", "ledger", "problem"),
    [
        ({"one": chapter(block="")}, {"a-claim": entry()}, "no statement block"),
        ({"two": chapter()}, {"a-claim": entry()}, "no statement block in its chapter 'one'"),
        ({"one": chapter(source="")}, {"a-claim": entry()}, "never calls check"),
        ({"one": chapter()}, {"a-claim": entry(statement="$1 < 3$")}, "not word for word"),
        ({"one": chapter(BLOCK.replace("title · extension", "title"))}, {"a-claim": entry()}, "must name its mark"),
        ({"one": chapter(BLOCK.replace("mark-ext", "mark-complet"))}, {"a-claim": entry()}, "must have the class"),
        ({"one": chapter(BLOCK.replace("2$", "2$ And more."))}, {"a-claim": entry()}, "not word for word"),
        ({"one": chapter(BLOCK + "\n\n:::{prf:theorem} X\n:::")}, {"a-claim": entry()}, "no block of backticks"),
        ({"one": chapter(BLOCK + "\n\n- ```{prf:lemma} X\n  ```")}, {"a-claim": entry()}, "no block of backticks"),
        ({"one": chapter()}, {"a-claim": entry(uses=("b-claim",))}, "uses 'b-claim', which is not"),
        ({"one": chapter()}, {"a-claim": entry(uses=("a-claim",))}, "a cycle among a-claim"),
        ({"one": chapter(BLOCK + "\n\n" + BLOCK)}, {"a-claim": entry()}, "stands twice"),
        (
            {"one": chapter(BLOCK + "\n\n" + BLOCK.replace("a-claim", "stray"))},
            {"a-claim": entry()},
            "'stray' names nothing",
        ),
        ({"one": chapter(source='check("a-claim")\ncheck("other")')}, {"a-claim": entry()}, "'other') names no claim"),
        ({"one": chapter(BLOCK.replace(":label: a-claim\n", "") + "\n\n" + BLOCK)}, {"a-claim": entry()}, "(none)"),
    ],
)
def test_closure_guard_rejects(notebooks, ledger, problem):
    found = closure_problems(notebooks, ledger)
    assert len(found) == 1
    assert problem in found[0]


def test_a_label_without_claim_and_a_claim_without_label_are_noticed_in_the_real_chapters():
    without = {id: entry for id, entry in LEDGER.items() if id != "lemma-4-1-sharp"}
    extra = {"new-claim": entry(id="new-claim", chapter="one-query-weights")}
    problems = closure_problems(NOTEBOOKS, without | extra)
    assert any("'lemma-4-1-sharp' names nothing" in problem for problem in problems)
    assert any(problem.startswith("new-claim: no statement") for problem in problems)


def modules_of(folder):
    return {path.stem for path in (ROOT / "lib" / folder).iterdir()} - {"__init__", "__pycache__"}


def headings():
    """Return {file name: heading} of the chapters: the notebooks, and the explorer, which is a page without code."""
    texts = {name: notebook.cells[0].source for name, notebook in NOTEBOOKS.items()}
    texts["explorer"] = (CHAPTERS / "explorer.md").read_text(encoding="utf-8")
    return {name: re.search(r"^# (.*)$", text, re.MULTILINE)[1] for name, text in texts.items()}


def test_the_names_of_a_chapter_meet():
    places = [modules_of(f) for f in ("attnsep/claims", "attnsep/extensions", "tests/extensions")]
    assert name_problems((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), headings(), *places) == []


NAMES_IN_ORDER = (
    "| A title | `one-name` | `claims.one_name` | `extensions.one_name` |\n| Later | `later` (planned) |  |  |\n"
)


@pytest.mark.parametrize(
    ("change", "titles", "places", "problem"),
    [
        (("A title", "Another"), {}, {}, "one-name: the table calls it 'Another', the page 'A title'"),
        (("A title", "A b c d e f"), {"one-name": "A b c d e f"}, {}, "one-name: a title has at most 5 words"),
        ((), {"later": "Later"}, {}, "later: is there, and the table says that it is planned"),
        (("claims.one", "claims.two"), {}, {}, "one-name: its module of claims is one_name, if any"),
        (("`extensions.one_name`", ""), {}, {}, "one-name: its module of extension is one_name, if any"),
        ((), {}, {"claims": {"one_name", "lost"}}, "lost: a module that no chapter is named after"),
        ((), {}, {"tests": set()}, "extensions.one_name: has no test_one_name.py"),
        ((), {"new": "New"}, {}, "new: the table calls it None, the page 'New'"),
    ],
)
def test_names_that_do_not_meet_are_found(change, titles, places, problem):
    table = NAMES_IN_ORDER.replace(*change) if change else NAMES_IN_ORDER
    all_places = {"claims": {"one_name"}, "extensions": {"one_name"}, "tests": {"test_one_name"}}
    assert name_problems(NAMES_IN_ORDER, {"one-name": "A title"}, **all_places) == []
    found = name_problems(table, {"one-name": "A title"} | titles, **(all_places | places))
    assert [text for text in found if text.startswith(problem)]


def test_every_claim_that_a_docstring_names_exists():
    for path in sorted((ROOT / "lib").rglob("*.py")):
        assert unknown_ids(path.read_text(encoding="utf-8"), LEDGER) == [], path


def test_tests_stand_in_the_tree_of_what_they_test():
    """A test file of a folder begins with the name of a module of the folder of that name."""
    for folder in (path for path in (ROOT / "lib/tests").iterdir() if (ROOT / "lib/attnsep" / path.name).is_dir()):
        names = [path.stem.strip("_") for path in (ROOT / "lib/attnsep" / folder.name).iterdir()] + [folder.name]
        for path in folder.glob("test_*.py"):
            assert any(path.stem.startswith(f"test_{name}") for name in names), path
