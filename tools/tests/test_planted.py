"""Each step reports the fault that is planted for it; the quick ones here, all of them in `make test-planted`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tools import planted
from tools.files import ROOT
from tools.tests.test_makefile import RUNS

SETTINGS = ("pyproject.toml", "conftest.py", "lib/conftest.py", "lib/tests/conftest.py", "chapters/conftest.py")
SETTINGS += (
    "chapters/ruff.toml",
    "tools/__init__.py",
    "tools/counted.py",
    "tools/pictures.py",
    "requirements.lock",
    "tools/files.py",
    "tools/places.py",
)
SETTINGS += ("tools/steps.py",)


def run_steps(folder, surroundings, *names):
    """Run steps in a tree that has this project's settings and the planted files alone; return what they print."""
    for name in SETTINGS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "tools/counts.json").write_text('{"tests": {}, "notebooks": {}}')
    planted.plant(folder)
    command = [sys.executable, "-m", "tools.steps", *names]
    environment = planted.environment(folder, surroundings)
    run = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert run.returncode == 1
    return run.stdout.decode()


@pytest.mark.slow
@pytest.mark.parametrize("names", [("format", "lint", "tests"), ("types", "notebooks")])
def test_a_quick_step_reports_its_fault(tmp_path, surroundings, names):
    output = run_steps(tmp_path, surroundings, *names)
    found = planted.unreported(output, {name: planted.SAID[name] for name in names})
    why = "so it would not report a real one; look at what pyproject.toml, a conftest and tools/steps.py tell it"
    assert found == [], f"A step does not report a fault that tools/planted.py plants, {why}: {found}\n{output}"


def test_each_step_of_make_test_has_a_planted_fault():
    assert planted.SAID.keys() == set(RUNS["test"][0].split()[1:])


# What `make test-planted` is made of, without a run


def written(folder):
    """Return {path: text} of all files of a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_faults_are_new_files_and_changes_of_those_that_are_there(tmp_path):
    planted.plant(tmp_path / "empty")
    assert written(tmp_path / "empty") == planted.NEW
    before = {
        "chapters/nbval-failed.md": "# Ein Büchlein\n",
        "lib/attnsep/ledger/ratchet.jsonl": "one\ntwo\nthree\n",
        "lib/attnsep/ledger/record.json": '[{"id": "ä", "verdict": "holds"}, {"id": "b", "verdict": "holds"}]',
        "lib/tests/test_marker.py": "an older one",
        "tools/counts.json": '{"tests": {"lib/tests/test_one.py": 7}, "web": {}}',
    }
    for name, text in before.items():
        (tmp_path / "full" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "full" / name).write_text(text, encoding="utf-8")
    planted.plant(tmp_path / "full", ["lib/tests/test_marker.py"])
    found = written(tmp_path / "full")
    assert json.loads(found.pop("tools/counts.json")) == {
        "tests": {"lib/tests/test_one.py": 7, "lib/tests/lost.py": 3},
        "web": {"lib/tests/lost.py": 3},
    }
    assert json.loads(found.pop("lib/attnsep/ledger/record.json")) == [
        {"id": "ä", "verdict": "planted"},
        {"id": "b", "verdict": "holds"},
    ]
    assert found == {
        "chapters/nbval-failed.md": "# Ein Büchlein\n" + planted.PAGE,
        "lib/attnsep/ledger/ratchet.jsonl": "two\nthree\n",
        "lib/tests/test_marker.py": planted.UNKNOWN_MARKER,
    }


SILENT = "lint: did not say '^a.py: E1'"


@pytest.mark.parametrize(
    ("outcome", "part", "found"),
    [
        ("FAILED", "a.py: E1\n", []),
        ("FAILED", "first\n--- a line that begins like a step\na.py: E1 and more\n", []),
        ("FAILED", "only within a line: a.py: E1\n", [SILENT]),
        ("FAILED", "", [SILENT]),  # the step after it says so, which does not count
        ("passed", "a.py: E1\n", ["lint: passed, although a fault was planted for it"]),
        ("NOT RUN", "", ["lint: NOT RUN, although a fault was planted for it", SILENT]),
    ],
)
def test_a_step_must_fail_and_say_its_own_fault(outcome, part, found):
    output = f"--- lint\n{part}--- web\na.py: E1\n--- summary\nlint   {outcome}   1 s\nweb   FAILED   1 s\n"
    said = {"lint": ["^a.py: E1"], "web": ["E1"]}
    assert planted.unreported(output, said) == found
    assert planted.unreported(output.partition("--- summary")[0], said) == [
        *("lint: did not run", *[sentence for sentence in found if sentence == SILENT], "web: did not run")
    ]


def test_a_tree_is_run_with_its_own_modules(tmp_path):
    plain = {"RUFF_OUTPUT_FORMAT": "concise", "COLUMNS": "300", "NO_COLOR": "1"}
    own = f"{tmp_path / 'lib'}{os.pathsep}{tmp_path}"
    assert planted.environment(tmp_path, {"COLUMNS": "40", "LANG": "C"}) == plain | {"LANG": "C", "PYTHONPATH": own}
    inherited = {"PYTHONPATH": "/mine"}
    assert planted.environment(tmp_path, inherited) == plain | {"PYTHONPATH": f"{own}{os.pathsep}/mine"}


@pytest.mark.parametrize(
    ("code", "outcome", "status", "last"),
    [
        (2, "FAILED", 0, ["1 steps, 0 faults that were not reported"]),
        (
            2,
            "passed",
            1,
            ["lint: passed, although a fault was planted for it", "1 steps, 1 faults that were not reported"],
        ),
        (
            0,
            "FAILED",
            1,
            [
                "make test: passed, although each of its steps has a fault",
                "1 steps, 1 faults that were not reported",
            ],
        ),
    ],
)
def test_a_copy_is_run_and_what_it_says_decides(tmp_path, monkeypatch, capsys, code, outcome, status, last):
    root, runs = tmp_path / "book", []
    for name in (".git/HEAD", ".venv/bin/python", "lib/a.py"):
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text("as it was", encoding="utf-8")
    output = f"--- lint\na.py: E1\n--- summary\nlint   {outcome}   1 s\n"

    def run(command, cwd, env, **options):
        runs.append((command, cwd, written(cwd), env["PYTHONPATH"].split(os.pathsep)[:2]))
        return SimpleNamespace(returncode=code, stdout=output)

    monkeypatch.setattr(planted, "ROOT", root)
    monkeypatch.setattr(planted, "SAID", {"lint": ["^a.py"]})
    monkeypatch.setattr(planted.subprocess, "run", run)
    before = written(root)
    assert planted.main() == status
    assert capsys.readouterr().out.splitlines() == [*output.splitlines(), "", "--- planted faults", *last]
    ((command, copy, files, paths),) = runs
    assert command == ["make", f"PYTHON={sys.executable}", f"VENV={Path(sys.prefix)}", "test"]
    assert files == {".git/HEAD": "as it was", "lib/a.py": "as it was"} | planted.NEW
    assert paths == [str(copy / "lib"), str(copy)]
    assert written(root) == before
    assert not copy.exists()
