import os
import re
import shutil
import subprocess
from itertools import chain

import pytest

from attnsep.bench import measure
from tools.files import ROOT
from tools.steps import STEPS

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def verbs():
    """Return {verb: its description, or nothing} for the targets that a person types."""
    return dict(re.findall(r"^([a-z][a-z-]*):(?!=)[^#\n]*(?:## (.*))?$", MAKEFILE, re.MULTILINE))


def test_every_verb_is_described_so_that_help_lists_it():
    assert [verb for verb, description in verbs().items() if not description] == []


def test_every_verb_is_phony():
    (phony,) = re.findall(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == list(verbs())


def make(folder, *words):
    """Run make with this project's Makefile in another folder; return what it prints."""
    shutil.copy(ROOT / "Makefile", folder)
    command = ["make", "--no-print-directory", *words]
    kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("GIT_")}
    return subprocess.run(command, cwd=folder, env=kept, check=True, capture_output=True, encoding="utf-8").stdout


def test_clean_keeps_the_readers_copies_and_their_own_environment_and_says_so(tmp_path):
    for name in (".venv", ".venv-oldest", ".venv-own", "_build/lab", "_build/html", "_build/jupyter_execute"):
        (tmp_path / name).mkdir(parents=True)
    assert "_build/lab was kept: what you changed there is nowhere else." in make(tmp_path, "clean").splitlines()
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"Makefile", ".venv-own", "_build", "_build/lab"}


def test_clean_removes_all_that_was_built_where_there_are_no_copies(tmp_path):
    (tmp_path / "_build/html").mkdir(parents=True)
    make(tmp_path, "clean")
    assert [path.name for path in tmp_path.iterdir()] == ["Makefile"]


def test_clean_removes_what_all_tools_left_wherever_it_is(tmp_path):
    for name in (
        "dist",
        "_build/a b",
        "_build/lab",
        "lib/a.egg-info",
        "lib/__pycache__",
        "tools/__pycache__",
        "web/__pycache__/more",
    ):
        (tmp_path / name).mkdir(parents=True)
    for name in (".mypy_cache", ".pytest_cache", ".ruff_cache"):
        (tmp_path / name).mkdir()
    make(tmp_path, "clean")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"Makefile", "_build", "_build/lab", "lib", "tools", "web"}


def test_help_shows_every_verb_and_what_it_does(tmp_path):
    assert make(tmp_path, "help").splitlines() == [f"{verb:14}{words}" for verb, words in verbs().items()]
    assert make(tmp_path) == make(tmp_path, "help"), "make alone helps"


@pytest.mark.parametrize("verb", ["book", "lab", "check", "test-hostile", "prove", "gpu"])
def test_a_python_that_is_not_there_is_named_before_anything_runs(tmp_path, verb):
    shutil.copy(ROOT / "Makefile", tmp_path)
    command = ["make", "--no-print-directory", "PYTHON=python9", verb]
    run = subprocess.run(command, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, encoding="utf-8")
    said = "This project needs Python 3.11 or newer, but there is no 'python9' here. Name another one: make PYTHON="
    assert (run.returncode, run.stdout, run.stderr.partition("python3")[0]) == (2, "", said)
    assert run.stderr.count("python9") == 1, "and then it was tried all the same"


@pytest.mark.parametrize("verb", ["gpu", "prove", "prove-all"])
def test_where_no_environment_is_made_the_books_own_library_comes_first(tmp_path, verb):
    """Before another version that is installed there; README: On a GPU, says what COMPAT is for."""
    found = re.findall(r'PYTHONPATH="(.*?)"', make(tmp_path, "-n", verb, "COMPAT=/compat"))
    own = f"{tmp_path.resolve()}/lib"
    assert found == [f"{own}:/compat:$PYTHONPATH" if verb == "gpu" else own]


def test_a_benchmark_takes_the_threads_and_the_processor_as_they_are():
    (line,) = re.findall(r"^\t@env (.*) \\$", MAKEFILE, re.MULTILINE)
    assert {*re.findall(r"-u (\w+)", line)} == {
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"),
        *measure.BLAS_SETTINGS,  # of which `attnsep bench` would warn
    }


@pytest.mark.parametrize(("verb", "extra"), [("book", "book"), ("lab", "lab"), ("check", ""), ("test", "")])
def test_a_verb_asks_for_what_it_needs_and_no_more(tmp_path, verb, extra):
    (asked,) = re.findall(r"tools/environment.py (.*)", make(tmp_path, "-n", verb))
    assert asked.split() == [".venv", *extra.split()]


def test_a_variable_changes_what_the_verb_runs_that_names_it(tmp_path):
    named = {(verb, name) for verb, words in verbs().items() for name in re.findall(r"\b([A-Z]+)=", words)}
    assert {("release", "DRY"), ("notebooks", "REASON"), ("lab", "EDIT")} <= named
    ignored = [
        f"make {verb} {name}=…: {name} is in the verb's description, and the verb runs the same without it"
        for verb, name in sorted(named)
        if make(tmp_path, "-n", verb, f"{name}=planted") == make(tmp_path, "-n", verb)
    ]
    assert ignored == [], "\n".join(ignored)


# What each verb runs, written once more: who takes a step out does it twice, and a reviewer sees it.
RUNS = {
    "book": ["tools.steps book"],
    "lab": ["tools.lab"],
    "test": ["tools.steps format lint types tests notebooks claims ratchet learn book pages web"],
    "test-strict": ["tools.steps strict notebooks"],
    "test-lab": ["tools.steps book lab"],
    "test-web": ["tools.steps book web"],
    "check": ["tools.steps format lint types unit claims"],
    "verify": ["attnsep verify --jobs 2"],
    "notebooks": ["tools.notebooks"],
    "format": ["ruff format .", "ruff check --fix ."],
    "lock": ["tools.lock"],
    "test-oldest": [".venv-oldest/bin tools.steps tests notebooks claims learn"],
    "test-newest": [".venv-newest/bin tools.steps tests notebooks claims learn"],
    "test-cupy": [".venv-cupy/bin tools.steps fallback tests notebooks claims"],
    "test-oracles": [".venv-oracles/bin tools.steps oracles"],
    "bench": [".venv-oracles/bin attnsep bench --dtype float64 float32 --out lib/attnsep/bench/bench.json"],
    "cards": [".venv-cards/bin tools.cards"],
    "test-colab": ["tools.launch .venv-colab"],
    "test-hostile": [". tools/environment.py", ". tools.hostile check"],
    "test-planted": ["tools.planted"],
    "fuzz": ["tools.steps fuzz"],
    "mutants": [".venv-mutants/bin tools.mutants"],
    "noticed": ["tools.noticed"],
    "prove": [". tools/environment.py", ". tools.prove"],
    "prove-all": [". tools/environment.py", ". tools.prove --all"],
    "gpu": [". tools/environment.py", ". tools.gpu --backend cupy --result "],
    "release": ["tools.release "],
    "pdf": ["tools.steps book", "tools.pdf _build/html _build/book.pdf"],
    "address": ["tools.address "],
}
OTHERS = {"help", "clean", "lock-request", "repeat"}  # shell alone; `repeat` is below
TELLS = """#!/bin/sh
case "$*" in *environment.py\\ .venv*) exit 0;; esac
test "${0##*/}" = attnsep && set -- attnsep "$@"
set -- "${0%/*}$OMP_NUM_THREADS" "$@"
echo "$*" >>told
test "$*" != "$FAILS"
"""


def told(folder, verb, fails="nothing"):
    """Run a verb where every program only writes down its words and one call fails; return the words and the status."""
    for place in ("python", *(f".venv{kind}/bin/{name}" for kind in KINDS for name in ("python", "attnsep"))):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(TELLS)
        (folder / place).chmod(0o755)
    shutil.copy(ROOT / "Makefile", folder)
    command = ["make", "PYTHON=./python", verb]
    run = subprocess.run(command, cwd=folder, env={"PATH": os.environ["PATH"], "FAILS": fails}, capture_output=True)
    words = (folder / "told").read_text().splitlines()
    (folder / "told").unlink()
    return words, run.returncode


KINDS = ("", "-oldest", "-newest", "-cupy", "-oracles", "-cards", "-mutants", "-colab")


@pytest.mark.slow
@pytest.mark.parametrize("verb", RUNS)
def test_a_verb_runs_what_this_table_says_and_fails_with_it(tmp_path, verb):
    words, status = told(tmp_path, verb)
    runs = [each.removeprefix(".venv/bin ").replace("-m ", "") for each in words]
    assert status == 0
    assert runs == RUNS[verb], (
        f"make {verb} runs {runs}, RUNS in this file says {RUNS[verb]}; if it is meant, change both"
    )
    for number, call in enumerate(words):
        assert told(tmp_path, verb, call) == (words[: number + 1], 2), f"make {verb} passes although `{call}` fails"


def test_every_verb_stands_in_the_table():
    assert verbs().keys() == RUNS.keys() | OTHERS
    ran = " ".join(chain.from_iterable(RUNS.values()))
    assert [name for name in STEPS if not re.search(rf"tools.steps .*\b{name}\b", ran)] == []


def test_repeat_tries_every_draw_library_and_version_and_ends_where_one_fails(tmp_path):
    words, status = told(tmp_path, "repeat")
    assert status == 0
    assert words[:20] == [f".venv/bin attnsep verify --jobs 2 --seeds {seed}" for seed in range(1, 21)]
    assert words[20:32] == [
        f".venv{kind}/bin{threads} attnsep verify --compare --backend {library}"
        for kind in ("", "-oldest", "-newest")
        for library in ("numpy", "array_api_strict")
        for threads in (1, 2)
    ]
    assert words[32].startswith(".venv/bin -c from tools.notebooks import ")
    assert words[-1].lstrip() == 'assert executed(path) == executed(path), "two executions differ"'
    for call in (words[0], words[19], words[20], words[31]):
        assert told(tmp_path, "repeat", call)[1] == 2, f"make repeat passes although `{call}` fails"


def test_repeat_runs_every_chapter_twice_and_notices_where_the_two_differ(monkeypatch, capsys):
    from tools import notebooks

    (program,) = re.findall(r"^define CHAPTERS_TWICE\n(.*?)^endef$", MAKEFILE, re.MULTILINE | re.DOTALL)
    names, ran = sorted(path.stem for path in (ROOT / "chapters").glob("*.ipynb")), []
    monkeypatch.setattr(notebooks, "prepare", lambda: ran.append("prepared"))
    monkeypatch.setattr(notebooks, "executed", lambda path: ran.append(path.stem) or "the same")
    exec(program, {})
    assert ran == ["prepared", *(name for name in names for _ in range(2))]
    monkeypatch.setattr(notebooks, "executed", lambda path: ran.append(path.stem) or len(ran))
    with pytest.raises(AssertionError, match="two executions differ"):
        exec(program, {})
