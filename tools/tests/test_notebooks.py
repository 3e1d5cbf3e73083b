"""Chapters are executed in a stated environment, and what no guard would accept is not stored."""

import base64
import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tools import notebooks
from tools.address import address, launch_source
from tools.files import CHAPTERS, PENDING, ROOT

FIGURE = """\
import matplotlib.pyplot as plt

figure, axis = plt.subplots(num="title=?")
plt.close(figure)
figure"""
SETTINGS = """\
import os

names = ("COLUMNS", "NO_COLOR", "PYTHONWARNINGS", "JAX_ENABLE_X64", "ATTNSEP_FUZZ")
print([name for name in names if name in os.environ], plt.rcParams["figure.dpi"])"""
HOSTILE = {
    **{"MPLBACKEND": "Agg", "COLUMNS": "40", "LINES": "3", "NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"},
    **{"PYTHONWARNINGS": "error", "PYTHONSTARTUP": os.devnull, "PYTHONHASHSEED": "1", "PYTHONOPTIMIZE": "2"},
    **{"JAX_ENABLE_X64": "1", "XLA_FLAGS": "", "ATTNSEP_FUZZ": "300"},
}


@pytest.fixture(autouse=True)
def no_record_named(monkeypatch):
    """A run names its record in this process, for its kernels: tests that come later must not read it."""
    monkeypatch.setenv("ATTNSEP_RECORD", "")


def notebook(*sources):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def test_kernels_inherit_nothing_that_changes_a_page(monkeypatch, tmp_path):
    kept = {"PYTHONPATH": "here", "ATTNSEP_BACKEND": "numpy", "ATTNSEP_RECORD": "record.json", "MPLCONFIGDIR": "there"}
    for name, value in (HOSTILE | kept).items():
        monkeypatch.setenv(name, value)
    found = notebooks.kernel_environment(str(tmp_path))
    assert HOSTILE.keys() & found.keys() == set()
    assert found.items() >= kept.items()
    assert found.items() >= {"IPYTHONDIR": str(tmp_path), "PATH": os.environ["PATH"]}.items()


def outputs():
    """Return what a cell puts out in pieces."""
    pieces = [
        *(("stdout", text) for text in "abc"),
        ("stderr", "d"),
        ("stderr", "e"),
        None,
        ("stdout", "f"),
        None,
        None,
    ]
    return [
        nbformat.v4.new_output("stream", name=piece[0], text=piece[1])
        if piece
        else nbformat.v4.new_output("display_data", {"text/plain": "x"})
        for piece in pieces
    ]


def test_a_chapter_is_kept_with_one_first_cell_and_streams_in_one_piece(monkeypatch, tmp_path):
    """However often it runs, and whatever another program wrote about its kernel."""
    cells = [
        nbformat.v4.new_markdown_cell("# Title"),
        *notebook("first").cells,
        nbformat.v4.new_markdown_cell("between"),
        *notebook("second").cells,
    ]
    path, clients, surroundings = tmp_path / "chapter.ipynb", [], []
    metadata = {"kernelspec": {"name": "mine", "display_name": "Mine"}, "colab": {}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
    monkeypatch.setenv("COLUMNS", "40")

    class Client:
        def __init__(self, notebook, **options):
            self.notebook = notebook
            clients.append(options)

        def execute(self, env):
            surroundings.append((env.get("COLUMNS"), env["MATPLOTLIBRC"], os.listdir(env["IPYTHONDIR"])))
            for cell in self.notebook.cells:
                if cell.cell_type == "code" and cell.source == "second":
                    cell.outputs = outputs()

    monkeypatch.setattr(notebooks, "NotebookClient", Client)
    text = notebooks.executed(path)
    path.write_text(text, encoding="utf-8")
    assert notebooks.executed(path) == text
    page = nbformat.reads(text, as_version=4)
    assert [(cell.cell_type, cell.source) for cell in page.cells] == [
        ("markdown", "# Title"),
        ("code", launch_source(address())),
        ("code", "first"),
        ("markdown", "between"),
        ("code", "second"),
    ]
    assert (page.cells[1].id, page.cells[1].metadata) == ("launch", {"tags": ["remove-cell"]})
    assert [(found.get("name"), found.get("text")) for found in page.cells[4].outputs] == [
        ("stdout", "abc"),
        ("stderr", "de"),
        (None, None),
        ("stdout", "f"),
        (None, None),
        (None, None),
    ]
    assert page.metadata == {"kernelspec": notebooks.KERNEL, "language_info": {"name": "python"}}
    assert text.endswith("}\n")
    assert surroundings == [(None, os.devnull, [])] * 2
    for options in clients:
        assert (options["kernel_name"], options["resources"]) == ("python3", {"metadata": {"path": tmp_path}})
        assert (options["record_timing"], "allow_errors" in options) == (False, False)


@pytest.mark.slow
@pytest.mark.parametrize("home", ["none", "with settings"])
def test_a_page_is_the_same_whoever_runs_it(tmp_path, home):
    """Where HOME cannot be written, and where the user's files change figures and print a line in each kernel."""
    path, folder = tmp_path / "chapter.ipynb", tmp_path / "home"
    nbformat.write(notebook(FIGURE, SETTINGS), path)
    if home == "none":
        folder.write_text("a file, so that nobody can write there")
    else:
        for name, text in {
            ".ipython/profile_default/startup/first.py": "import sys; print('hello'); print('hello', file=sys.stderr)",
            ".ipython/profile_default/ipython_config.py": "c.InlineBackend.figure_formats = {'svg'}",
            ".config/matplotlib/matplotlibrc": "figure.dpi: 30",
            ".matplotlib/matplotlibrc": "figure.dpi: 30",
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from tools import notebooks; notebooks.prepare();"
            "sys.stdout.buffer.write(notebooks.executed(Path(sys.argv[1])).encode())",
            path,
        ],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "lib"), "HOME": str(folder)} | HOSTILE,
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr.decode()
    launch, figure, settings = nbformat.reads(run.stdout.decode(), as_version=4).cells
    assert launch.outputs == []
    assert [set(output.data) for output in figure.outputs] == [{"image/png", "text/plain"}]
    assert [output.text for output in settings.outputs] == ["[] 100.0\n"]


WARNING = nbformat.v4.new_output("stream", name="stderr", text="/tmp/matplotlib-x: careful")


@pytest.mark.parametrize(("outputs", "status"), [([], 0), ([WARNING], 1)])
def test_what_a_guard_objects_to_is_not_stored(monkeypatch, tmp_path, capsys, outputs, status):
    page = notebook("x = 1")
    page.cells[0].update(execution_count=1, outputs=outputs)
    stored = []
    monkeypatch.setattr(notebooks, "verify", lambda **options: [])
    monkeypatch.setattr(notebooks, "executed", lambda path: nbformat.writes(page))
    monkeypatch.setattr(notebooks, "picture", lambda text, name: b"")
    monkeypatch.setattr(notebooks, "status_line", lambda: "")
    monkeypatch.setattr(notebooks, "ratchet_with", lambda record, reasons: ("", []))
    monkeypatch.setattr(notebooks, "store", lambda texts: stored.append(texts) or [])
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "another.json"))
    assert notebooks.main("index") == status
    said = capsys.readouterr().err
    assert len(stored) == 1 - status
    assert not any(tmp_path in path.parents for texts in stored for path in texts)  # but in the book
    assert ("index, code cell 1: writes to stderr" in said) == ("Nothing was stored." in said) == bool(status)


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize(
    ("chapter", "pictures"),
    [
        ("index", ["index"]),
        ("your-own-attention", ["index", "your-own-attention"]),
        (None, ["index", "your-own-attention"]),
    ],
)
@pytest.mark.parametrize("kept", [[], ["README.md"]])
def test_all_that_shows_a_run_is_stored_at_once(monkeypatch, tmp_path, capsys, interrupted, chapter, pictures, kept):
    """Each page reads the new record; what an interrupted run left is completed first."""
    stored, asked = [], []

    def shown(*what):
        return f"{what} shows {Path(os.environ['ATTNSEP_RECORD']).read_text(encoding='utf-8')}"

    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "another.json"))
    for name, stand_in in {
        "pending": lambda: interrupted,
        "finish": lambda: asked.append("finish") or (["chapters/edited.ipynb"] if interrupted else []),
        "verify": lambda **options: asked.append(options) or [SimpleNamespace(as_expected=True)],
        "record_text": lambda evidence: f"the record of {len(evidence)} claims",
        "ratchet_with": lambda record, reasons: (f"the ratchet with {record}, {reasons}", []),
        "executed": lambda path: shown(path.stem),
        "unfit": lambda path, text: [],
        "picture": lambda text, name: f"{name} of {text}",
        "status_line": lambda: shown("README"),
        "with_status": lambda readme, sentence: sentence,
        "store": lambda texts: stored.append(texts) or kept,
    }.items():
        monkeypatch.setattr(notebooks, name, stand_in)
    assert notebooks.main(chapter, ["a: why"]) == int(bool(kept))
    assert asked == ["finish", {"progress": True, "jobs": 2}]
    record = "the record of 1 claims"
    names = sorted(
        {chapter, *notebooks.READ_THE_RECORD} if chapter else [path.stem for path in CHAPTERS.glob("*.ipynb")]
    )
    pages = {name: f"{(name,)} shows {record}" for name in names}
    assert stored == [
        {CHAPTERS / f"{name}.ipynb": text for name, text in pages.items()}
        | {ROOT / "assets" / f"{name}.png": f"{notebooks.PICTURES[name]} of {pages[name]}" for name in pictures}
        | {ROOT / "README.md": f"{('README',)} shows {record}"}
        | {notebooks.ratchet_path().with_name("record.json"): record}  # and not where the environment said
        | {notebooks.ratchet_path(): f"the ratchet with {record}, {['a: why']}"}
    ]
    left = [*(["chapters/edited.ipynb"] if interrupted else []), *kept]
    assert capsys.readouterr() == (
        f"{len(names)} chapters, the record, the ratchet and the README's status line stored.\n",
        "Completing what an interrupted run had begun to store.\n" * interrupted
        + "".join(f"{name}: changed since the run that was to replace it, so it was left alone\n" for name in left),
    )


@pytest.mark.parametrize(
    ("interrupted", "words", "status", "said"),
    [
        (False, [], 130, "Interrupted: what is stored comes from one run.\n"),
        (True, [], 130, f"Completing what an interrupted run had begun to store.\nInterrupted: {PENDING}.\n"),
        (False, ["no-such-chapter"], 2, "CHAPTER=no-such-chapter: must be one of "),
    ],
)
def test_the_command_says_how_it_ended(monkeypatch, capsys, interrupted, words, status, said):
    """While claims are verified, somebody interrupts it."""
    commands = []

    def verify(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr("attnsep.claims.verify", verify)
    monkeypatch.setattr("tools.files.pending", lambda: interrupted)
    monkeypatch.setattr("tools.files.finish", list)
    monkeypatch.setattr("tools.places.writable_places", lambda: {"MPLCONFIGDIR": "there"})
    monkeypatch.setenv("MPLCONFIGDIR", "here")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: commands.append(command))
    monkeypatch.setattr(sys, "argv", ["tools.notebooks", *words])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(notebooks.__file__, run_name="__main__")
    assert (end.value.code, os.environ["MPLCONFIGDIR"]) == (status, "there")
    assert commands == [[sys.executable, "-c", "import matplotlib.font_manager"]]  # which lists the fonts aloud
    told = capsys.readouterr()
    assert (told.out, told.err if status == 130 else told.err[: len(said)]) == ("", said)


@pytest.mark.parametrize("chapter", ["index", None])
@pytest.mark.parametrize("what", ["a claim", "a cell"])
def test_nothing_is_stored_after_a_failure(monkeypatch, capsys, chapter, what):
    """Neither of one chapter nor of all, and no later page in place of the one that failed."""
    failed, executed = [], []

    def fails(path):
        executed.append(path)
        if what == "a cell" and path.stem == "index":
            raise CellExecutionError("x", "NameError", "x")
        return nbformat.writes(notebook("x = 1"))

    if what == "a claim":
        for id, expected in (("tensor-trick", False), ("lemma-4-1", True), ("one-query", False)):
            failed.append(SimpleNamespace(as_expected=expected, claim=SimpleNamespace(id=id), line="Refuted"))
    monkeypatch.setattr(notebooks, "verify", lambda **options: failed)
    monkeypatch.setattr(notebooks, "record_text", lambda evidence: "[]")
    monkeypatch.setattr(notebooks, "ratchet_with", lambda record, reasons: ("", []))
    monkeypatch.setattr(notebooks, "executed", fails)
    monkeypatch.setattr(notebooks, "unfit", lambda path, text: [])
    monkeypatch.setattr(notebooks, "picture", lambda text, name: b"")
    monkeypatch.setattr(notebooks, "store", lambda texts: pytest.fail("stored"))
    assert notebooks.main(chapter) == 1
    said = {
        "a claim": "tensor-trick: Refuted\none-query: Refuted\nA claim is not as expected; nothing was stored.\n",
        "a cell": "index.ipynb: x\nA cell failed; nothing was stored.\n",
    }
    assert capsys.readouterr() == ("", said[what])
    assert [path.stem for path in executed[-1:]] == (["index"] if what == "a cell" else [])


@pytest.mark.parametrize(("reasons", "status"), [([], 1), (["tensor-trick: the larger sizes were the same"], 0)])
def test_a_weaker_check_is_stored_with_a_reason_alone(nothing_set, monkeypatch, capsys, reasons, status):
    """The record of a run whose first claim has lost a case, and then gets a reason."""
    stored, text = [], notebooks.record_path().read_text(encoding="utf-8")
    rows = json.loads(text)
    (row,) = [row for row in rows if row["id"] == "tensor-trick"]
    row["cases"] -= 1
    monkeypatch.setattr(notebooks, "verify", lambda **options: [])
    monkeypatch.setattr(notebooks, "record_text", lambda evidence: json.dumps(rows))
    monkeypatch.setattr(notebooks, "executed", lambda path: nbformat.writes(notebook("x = 1")))
    monkeypatch.setattr(notebooks, "unfit", lambda path, text: [])
    monkeypatch.setattr(notebooks, "picture", lambda text, name: b"")
    monkeypatch.setattr(notebooks, "store", lambda texts: stored.append(texts) or [])
    assert notebooks.main("index", reasons) == status
    said = capsys.readouterr().err
    assert (f"tensor-trick: cases: {row['cases']} after {row['cases'] + 1}" in said) == bool(status)
    assert ('make notebooks REASON="tensor-trick: why"' in said) == bool(status)
    if status == 0:
        last = json.loads(stored[0][notebooks.ratchet_path()].splitlines()[-1])
        assert (last["id"], last["cases"], last["reason"]) == (row["id"], row["cases"], reasons[0].split(": ")[1])


def test_reasons_stand_on_the_command_line_or_in_a_file(tmp_path):
    path = tmp_path / "reasons"
    path.write_text("--reason=one two: why\n--reason=three: because\n")
    assert notebooks.options(["ledger", f"@{path}"]).reason == ["one two: why", "three: because"]
    assert notebooks.options(["--reason", "one: why"]).chapter is None


def test_of_a_cell_that_draws_two_pictures_readme_shows_the_first():
    page, data = notebook("draws"), [base64.b64encode(word).decode() for word in (b"first", b"second")]
    page.cells[0].metadata = {"mystnb": {"figure": {"name": "fig-two"}}}
    page.cells[0].outputs = [nbformat.v4.new_output("display_data", {"image/png": each}) for each in data]
    assert notebooks.picture(nbformat.writes(page), "fig-two") == b"first"


def test_a_new_record_is_compared_with_the_ratchet_and_with_the_record_before_it(monkeypatch):
    """The first says how far a check ever went, the second how far it went last."""
    monkeypatch.setattr(notebooks, "read_ratchet", lambda: ["a line"])
    monkeypatch.setattr(notebooks, "read_record", lambda: {"one": "before"})
    monkeypatch.setattr(notebooks, "extended", lambda *words: (words, ["refused"]))
    monkeypatch.setattr(notebooks, "ratchet_text", lambda words: words)
    compared = (["a line"], {"one": {"id": "one"}}, {"one": "why"}, {"one": "before"})
    assert notebooks.ratchet_with('[{"id": "one"}]', ["one: why"]) == (compared, ["refused"])


def test_the_status_stands_in_readme_as_it_is_written():
    readme = "a\n<!-- status -->\nold\n<!-- end of status -->\nb"
    assert notebooks.with_status(readme, r"\1 of \g<0>\n") == readme.replace("old", r"\1 of \g<0>\n")
