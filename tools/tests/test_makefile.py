import os
import re
import shutil
import subprocess

import pytest

from tools.files import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def verbs():
    """Return {verb: its description, or nothing} for the targets that a person types."""
    return dict(re.findall(r"^([a-z][a-z-]*):(?!=)[^#\n]*(?:## (.*))?$", MAKEFILE, re.MULTILINE))


def test_every_verb_is_described_so_that_help_lists_it():
    assert [verb for verb, description in verbs().items() if not description] == []


def test_every_verb_is_phony():
    (phony,) = re.findall(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == list(verbs())


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_verb_that_a_page_names_exists(page):
    named = set(re.findall(r"(?:^|`)make (?!PYTHON)([a-z-]+)", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE))
    assert named
    assert named <= verbs().keys()


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


@pytest.mark.parametrize(("verb", "extra"), [("book", "book"), ("lab", "lab"), ("check", ""), ("test", "")])
def test_a_verb_asks_for_what_it_needs_and_no_more(tmp_path, verb, extra):
    (asked,) = re.findall(r"tools/environment.py (.*)", make(tmp_path, "-n", verb))
    assert asked.split() == [".venv", *extra.split()]
