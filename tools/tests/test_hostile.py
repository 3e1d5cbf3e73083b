"""The surroundings are as hostile as promised, and what happens in them decides the exit status."""

import os
import re
import shutil
import stat
import sys
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


def test_whatever_is_set_a_test_may_ask_for_nothing(monkeypatch, request):
    """conftest.py promises it, and outside of these surroundings hardly anything is set."""
    for name in ("ATTNSEP_BACKEND", "ATTNSEP_OF_LATER", *measure.BLAS_SETTINGS):
        monkeypatch.setenv(name, "nonsense")
    request.getfixturevalue("nothing_set")
    assert not [name for name in os.environ if name.startswith("ATTNSEP_") or name in measure.BLAS_SETTINGS]


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
    for name in (".venv", ".venv-oracles"):
        (outside / hostile.NAME / name).mkdir()
    outside.chmod(0o700)
    assert hostile.main(["check", "book", "--folder", str(outside)]) == 3
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755, "nobody could enter the folder of the copy"
    ((command, options),) = ran
    assert command == ["sh", "-c", 'exec "$@" <&-', "sh", "make", f"PYTHON={sys.executable}", "check", "book"]
    assert options["user"] == os.geteuid(), "make runs as another user than the one who is not root"
    assert options["umask"] == 0o077
    assert options["cwd"] == outside / hostile.NAME
    names = {path.name for path in options["cwd"].iterdir()}
    assert {"Makefile", "lib", "tools", "chapters", ".venv", ".venv-oracles"} <= names
    assert not {".git", "_build"} & names
    assert not stale.exists()
    home = outside / "home"
    assert options["env"]["HOME"] == str(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o555
    assert options["env"].keys() >= hostile.SETTINGS.keys()
    assert not [value for value in options["env"].values() if "{" in value]
    out = capsys.readouterr().out
    assert re.fullmatch(
        r"--- make check book in hostile surroundings\n--- in hostile surroundings: FAILED, \d+ s\n", out
    )


def test_a_temporary_copy_is_removed(ran, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert hostile.main([]) == 3
    ((command, _),) = ran
    assert command[-1] == "check"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_made_and_taken_over_and_all_in_it_belongs_to_the_user(ran, tmp_path, monkeypatch, capsys):
    root, outside, owners = tmp_path / "book", tmp_path / "not/there/yet", {}
    passed = SimpleNamespace(returncode=0)
    (root / "lib").mkdir(parents=True)
    (root / "lib/a.py").touch()
    monkeypatch.setattr(hostile, "ROOT", root)
    monkeypatch.setattr(hostile, "somebody", lambda: {"user": 7, "group": 8})
    monkeypatch.setattr(hostile.os, "chown", lambda path, *ids, **options: owners.update({str(path): (ids, options)}))
    monkeypatch.setattr(hostile.os, "environ", {"PIP_NO_INDEX": "1", "http_proxy": "here", "LANG": "de", "MINE": "1"})
    monkeypatch.setattr(hostile.subprocess, "run", lambda *_, **options: ran.append(options) or passed)
    for _ in range(2):
        assert hostile.main(["--folder", str(outside)]) == 0
        assert "--- in hostile surroundings: passed, " in capsys.readouterr().out
    odd = outside / "odd place"
    assert ran[1]["env"] == {
        **{"PATH": os.defpath, "HOME": str(outside / "home"), "PIP_NO_INDEX": "1", "http_proxy": "here"},
        **{name: value.replace("{odd}", str(odd)) for name, value in hostile.SETTINGS.items()},
    }
    assert [path.name for path in odd.iterdir()] == ["unexpected.py"]
    assert owners == dict.fromkeys(map(str, [outside, *outside.rglob("*")]), ((7, 8), {"follow_symlinks": False}))
    assert str(outside / hostile.NAME / "lib/a.py") in owners


@pytest.mark.parametrize(("number", "found"), [(0, {"user": 7, "group": 8, "extra_groups": []}), (1000, {})])
def test_root_becomes_nobody_and_everybody_else_stays(monkeypatch, number, found):
    nobody = SimpleNamespace(pw_uid=7, pw_gid=8)
    monkeypatch.setattr(hostile.os, "geteuid", lambda: number)
    monkeypatch.setattr(hostile.pwd, "getpwnam", {"nobody": nobody}.__getitem__)
    assert hostile.somebody() == found


@pytest.mark.parametrize("python", ["/none/python", shutil.which("false")], ids=["none", "one that fails"])
def test_a_python_that_only_root_can_run_is_named(monkeypatch, capsys, python):
    monkeypatch.setattr(hostile, "somebody", dict)
    monkeypatch.setattr(hostile.sys, "executable", python)
    assert hostile.main([]) == 2
    assert f"cannot run {python}. Name another one" in capsys.readouterr().err


def test_whether_python_can_be_run_is_asked_as_the_user_who_is_to_run_it(monkeypatch):
    asked = []
    monkeypatch.setattr(hostile.subprocess, "run", lambda command, **options: asked.append(options))
    assert hostile.cannot({"user": 7, "group": 8}) is None
    assert asked == [{"check": True, "cwd": "/", "user": 7, "group": 8}]


def test_the_python_that_runs_this_can_be_run():
    assert hostile.cannot({}) is None
