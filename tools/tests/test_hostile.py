"""The surroundings are as hostile as promised, and what happens in them decides the exit status."""

import os
import re
import stat
from types import SimpleNamespace

import pytest

from attnsep.bench import measure
from tools import hostile
from tools.files import ROOT


def test_every_variable_that_our_code_reads_is_set():
    sources = [
        path.read_text(encoding="utf-8") for folder in ("lib", "tools") for path in (ROOT / folder).rglob("*.py")
    ]
    ours = set(re.findall(r"\bATTNSEP_[A-Z]+\b", "\n".join(sources)))
    assert {"ATTNSEP_BACKEND", "ATTNSEP_RECORD", *measure.BLAS_SETTINGS} <= hostile.SETTINGS.keys()
    assert ours <= hostile.SETTINGS.keys()
    assert len(hostile.SETTINGS) >= 37, "this list only grows"


@pytest.fixture
def ran(monkeypatch):
    """Return the calls, instead of running anything; make ends with status 3."""
    calls = []
    monkeypatch.setattr(hostile, "somebody", lambda: {"user": os.geteuid(), "group": os.getegid()})
    monkeypatch.setattr(hostile, "cannot", lambda user: None)
    monkeypatch.setattr(
        hostile.subprocess,
        "run",
        lambda command, **options: calls.append((command, options)) or SimpleNamespace(returncode=3),
    )
    return calls


def test_the_copy_and_its_surroundings(ran, tmp_path, capsys):
    outside = tmp_path / "kept"
    stale = outside / hostile.NAME / "lib" / "stale.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    (outside / hostile.NAME / ".venv").mkdir()
    assert hostile.main(["check", "book", "--folder", str(outside)]) == 3
    ((command, options),) = ran
    assert command[-2:] == ["check", "book"]
    assert options["user"] == os.geteuid(), "make runs as another user than the one who is not root"
    assert options["cwd"] == outside / hostile.NAME
    names = {path.name for path in options["cwd"].iterdir()}
    assert {"Makefile", "lib", "tools", "chapters", ".venv"} <= names
    assert not {".git", "_build"} & names
    assert not stale.exists()
    home = outside / "home"
    assert options["env"]["HOME"] == str(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o555
    assert options["env"].keys() >= hostile.SETTINGS.keys()
    assert not [value for value in options["env"].values() if "{" in value]
    assert "FAILED" in capsys.readouterr().out


def test_a_temporary_copy_is_removed(ran, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert hostile.main([]) == 3
    ((command, _),) = ran
    assert command[-1] == "check"
    assert list(tmp_path.iterdir()) == []


def test_a_python_that_only_root_can_run_is_named(monkeypatch, capsys):
    monkeypatch.setattr(hostile.sys, "executable", "/none/python")
    assert hostile.main([]) == 2
    assert "cannot run /none/python. Name another one" in capsys.readouterr().err
