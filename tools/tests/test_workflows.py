"""The files that a service reads and we cannot run: they are valid YAML and use what exists."""

import os
import re
import subprocess

import pytest
import yaml

from attnsep.claims import LEDGER
from tools.files import ROOT
from tools.tests.test_makefile import make, verbs

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def matrix_verbs(workflow):
    matrices = [job.get("strategy", {}).get("matrix", {}) for job in workflow["jobs"].values()]
    listed = [verb for matrix in matrices for verb in matrix.get("verb", [])]
    return listed + [row["verb"] for matrix in matrices for row in matrix.get("include", []) if "verb" in row]


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"test", "versions", "weekly", "publish", "lock"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_is_a_verb_of_the_makefile(path):
    workflow = read(path)
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    called = matrix_verbs(workflow)
    for command in commands:
        make, verb = command.split(" ", 1)
        assert make == "make"
        called += [] if verb == "${{ matrix.verb }}" else [verb.partition(" ")[0]]  # without variables
    assert called
    assert set(called) <= verbs().keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_official_and_pinned_to_a_major_version(path):
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


# The one job that writes offers a branch of its own.
WRITES = {"publish": {"pages": "write", "id-token": "write"}, "lock": {"contents": "write", "pull-requests": "write"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_but_for_one_job_and_ends_by_itself(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    own = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    assert own == [WRITES[path.stem]] if path.stem in WRITES else own == []
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_publishing_waits_for_the_workflow_test():
    trigger = read(ROOT / ".github/workflows/publish.yml")[True]["workflow_run"]  # YAML reads the key `on` as true
    assert trigger["workflows"] == [read(ROOT / ".github/workflows/test.yml")["name"]]


def test_binder_lists_nothing_twice():
    dependencies = read(ROOT / "environment.yml")["dependencies"]
    assert dependencies == ["python>=3.11", "pip", {"pip": ["-e .[lab]"]}]


# What a pull request asks of gh: it answers that so many are open, and notes what it was told to open.
GH = """#!/bin/sh
if test "$2" = list; then echo {number}; else echo "$@" >>"{told}"; fi
"""


@pytest.fixture
def lent(tmp_path, monkeypatch):
    """A clone with a lock, and a gh that knows no open request."""
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@b")
    monkeypatch.delenv("GIT_DIR", raising=False)
    clone = tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "origin")
    git(tmp_path, "clone", "--quiet", "origin", "clone")
    (clone / "requirements.lock").write_text("numpy==2.0\n")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message", "locked")
    gh(tmp_path, 0)
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    return clone


def git(folder, *words):
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def gh(folder, number):
    (folder / "gh").write_text(GH.format(number=number, told=folder / "told"))
    (folder / "gh").chmod(0o755)


def requested(clone):
    told = clone.parent / "told"
    return told.read_text().splitlines() if told.exists() else []


def test_a_lock_that_is_as_it_was_asks_for_nothing(lent):
    assert make(lent, "lock-request") == "requirements.lock is as it was.\n"
    assert (git(lent, "branch", "--list", "lock"), requested(lent)) == ("", [])


def test_a_changed_lock_becomes_one_request_however_often_it_changes(lent):
    before = git(lent, "branch", "--show-current").strip()
    for number, text in enumerate(("numpy==2.1\n", "numpy==2.2\n")):
        git(lent, "checkout", "--quiet", before)
        gh(lent.parent, number)
        (lent / "requirements.lock").write_text(text)
        make(lent, "lock-request")
        assert git(lent, "show", "origin/lock:requirements.lock") == text
        assert git(lent, "diff", "--name-only", "origin/lock~", "origin/lock").split() == ["requirements.lock"]
    (request,) = requested(lent)
    assert request.startswith("pr create --head lock --title The newest allowed versions")


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))


def test_there_are_forms_for_a_statement_a_run_and_an_idea():
    assert [path.stem for path in FORMS] == ["failing-run", "idea", "wrong-statement"]
    assert read(ROOT / ".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": False}


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_what_github_asks_of_one(path):
    form = read(path)
    assert form.keys() == {"name", "description", "title", "labels", "body"}
    assert {field["type"] for field in form["body"]} <= {"input", "textarea"}
    assert all(field["attributes"]["label"] for field in form["body"])
    assert len({field["id"] for field in form["body"]}) == len(form["body"])
    assert form["body"][0]["validations"]["required"]


def test_who_reports_a_wrong_statement_must_give_its_label():
    first = read(ROOT / ".github/ISSUE_TEMPLATE/wrong-statement.yml")["body"][0]
    assert (first["id"], first["validations"]) == ("label", {"required": True})
    assert first["attributes"]["placeholder"] in LEDGER


@pytest.mark.parametrize("path", [ROOT / "SECURITY.md", *FORMS], ids=lambda path: path.stem)
def test_readme_leads_to_each_form(path):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({path.relative_to(ROOT).as_posix()})" in page
