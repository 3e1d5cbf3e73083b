"""Fewer tests than there were are noticed, whatever leaves them out."""

import json
from types import SimpleNamespace

import pytest

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


@pytest.mark.parametrize(("least", "ran", "status"), [(1, 1, 0), (2, 1, 1), (1, 2, 0)])
def test_a_run_that_passes_with_fewer_tests_fails(tmp_path, monkeypatch, least, ran, status):
    monkeypatch.setattr(counted, "COUNTS", tmp_path / "counts.json")
    counted.COUNTS.write_text(json.dumps({"unit": {"a.py": least}}))
    run = counted.Counted("unit")
    for number in range(ran):
        run.pytest_runtest_logreport(SimpleNamespace(when="setup", nodeid=f"a.py::{number}", skipped=False))
        run.pytest_runtest_logreport(SimpleNamespace(when="call", nodeid=f"a.py::{number}", skipped=False))
    session = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(collectonly=False)), exitstatus=0)
    run.pytest_sessionfinish(session)
    assert session.exitstatus == status


@pytest.mark.parametrize("kind", [{"longrepr": ("a.py", 1, "Skipped: later")}, {"wasxfail": "reason: later"}])
def test_a_run_that_passes_with_a_test_skipped_or_expected_to_fail_fails(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(counted, "COUNTS", tmp_path / "counts.json")
    counted.COUNTS.write_text("{}")
    run = counted.Counted("unit")
    run.pytest_runtest_logreport(SimpleNamespace(when="call", nodeid="a.py::a", skipped=True, **kind))
    session = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(collectonly=False)), exitstatus=0)
    run.pytest_sessionfinish(session)
    assert (session.exitstatus, len(run.problems)) == (1, 1)


def _has_tests(path):
    return ".ipynb_checkpoints" not in path.parts and (path.name.startswith("test_") or path.suffix == ".ipynb")
