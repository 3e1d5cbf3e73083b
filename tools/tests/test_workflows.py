"""The files that a service reads and we cannot run: they are valid YAML and use what exists."""

import re

import pytest
import yaml

from tools.files import ROOT
from tools.tests.test_makefile import verbs

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
    assert {path.stem for path in WORKFLOWS} == {"test", "versions", "weekly", "publish"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_is_a_verb_of_the_makefile(path):
    workflow = read(path)
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert commands
    called = matrix_verbs(workflow)
    for command in commands:
        make, verb = command.split(" ", 1)
        assert make == "make"
        called += [] if verb == "${{ matrix.verb }}" else [verb]
    assert called
    assert set(called) <= verbs().keys()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_official_and_pinned_to_a_major_version(path):
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    assert used
    assert [action for action in used if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read_and_ends_by_itself(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


def test_publishing_waits_for_the_workflow_test():
    trigger = read(ROOT / ".github/workflows/publish.yml")[True]["workflow_run"]  # YAML reads the key `on` as true
    assert trigger["workflows"] == [read(ROOT / ".github/workflows/test.yml")["name"]]


def test_binder_lists_nothing_twice():
    dependencies = read(ROOT / "environment.yml")["dependencies"]
    assert dependencies == ["python>=3.11", "pip", {"pip": ["-e .[lab]"]}]
