"""The tests of tools.broken, in a process of their own: it forks, and hundreds of loaded modules make a fork slow."""

import re
import subprocess
import sys

import pytest

from tools.files import ROOT

INSIDE = "tools/tests/broken_functions.py"


@pytest.mark.slow
def test_what_breaks_functions_does_so_and_leaves_this_process_alone(surroundings):
    plain = surroundings | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", INSIDE]
    run = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stdout + run.stderr
    written = len(re.findall(r"^def test_", (ROOT / INSIDE).read_text(encoding="utf-8"), re.MULTILINE))
    assert f"{written} passed" in run.stdout
