"""Each step reports the fault that is planted for it; the quick ones here, all of them in `make test-planted`."""

import shutil
import subprocess
import sys

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
