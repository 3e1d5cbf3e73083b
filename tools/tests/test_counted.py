"""Fewer tests than there were are noticed, whatever leaves them out."""

import json

from tools import counted
from tools.steps import STEPS


def test_every_step_that_runs_tests_is_counted_under_its_name():
    counts = json.loads(counted.COUNTS.read_text(encoding="utf-8"))
    steps = {name: words for name, words in STEPS.items() if "pytest" in words and name != "strict notebooks"}
    assert steps.keys() == counts.keys()
    for name, words in steps.items():
        assert words[words.index("--counted") + 1] == name
        assert min(counts[name].values()) > 0


def test_every_file_of_tests_has_a_number():
    """Beside the counting itself, so that a step whose path is wrong is noticed too."""
    folders = ("lib/tests", "tools/tests", "web", "chapters")
    files = [path for name in folders for path in (counted.ROOT / name).rglob("*") if path.suffix in (".py", ".ipynb")]
    names = {path.relative_to(counted.ROOT).as_posix() for path in files if _has_tests(path)}
    counts = json.loads(counted.COUNTS.read_text(encoding="utf-8"))
    assert names - {name for files in counts.values() for name in files} == set(), counted.WHAT_TO_DO


def _has_tests(path):
    return ".ipynb_checkpoints" not in path.parts and (path.name.startswith("test_") or path.suffix == ".ipynb")
