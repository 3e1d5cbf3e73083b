"""Chapters are executed in a stated environment, and what no guard would accept is not stored."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tools import notebooks
from tools.files import ROOT

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
        claim = SimpleNamespace(id="tensor-trick")
        failed.append(SimpleNamespace(as_expected=False, claim=claim, line="Refuted"))
    monkeypatch.setattr(notebooks, "verify", lambda **options: failed)
    monkeypatch.setattr(notebooks, "record_text", lambda evidence: "[]")
    monkeypatch.setattr(notebooks, "ratchet_with", lambda record, reasons: ("", []))
    monkeypatch.setattr(notebooks, "executed", fails)
    monkeypatch.setattr(notebooks, "unfit", lambda path, text: [])
    monkeypatch.setattr(notebooks, "picture", lambda text, name: b"")
    monkeypatch.setattr(notebooks, "store", lambda texts: pytest.fail("stored"))
    assert notebooks.main(chapter) == 1
    assert capsys.readouterr().err.rstrip().endswith("; nothing was stored.")
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
