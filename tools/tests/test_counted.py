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
    folders = [counted.ROOT / name for name in counted.FOLDERS]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".ipynb")]
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


def test_the_assertions_of_every_file_compare_as_much_as_they_did():
    stored = json.loads(counted.ASSERTED.read_text(encoding="utf-8"))
    found = [
        problem
        for name, source in counted.sources().items()
        for problem in counted.assertion_problems(name, source, stored.get(name))
    ]
    assert "\n".join(found) == ""
    assert stored.keys() == counted.sources().keys()


STRONG = """\
TOLERANCE = 3e-3
for x in (1, 2, 3):
    assert f(x) == y
assert abs(x - y) < 1e-12
assert_allclose(x, y, rtol=2e-9, atol=8 * finfo(float).eps)
with raises(TypeError): f()
"""


@pytest.mark.parametrize(
    ("old", "new", "less"),
    [
        ("f(x) == y", "f(x)", "6 comparisons after 10"),
        ("f(x) == y", "f(x) >= y", "8 comparisons after 10"),
        ("f(x) == y", "f(x) == f(x)", "6 comparisons after 10"),
        ("    assert f(x) == y", "    f(x)", "4 comparisons after 10"),
        ("    assert f(x) == y", "    f(x)\nassert f(x) == y", "7 comparisons after 10"),  # out of the loop
        ("_allclose(x, y", "_allclose(y, y", "9 comparisons after 10"),
        ("with raises(TypeError): f()", "f()", "9 comparisons after 10"),
        ("1e-12", "1e-6", "16.3 digits of tolerances after 22.3"),
        ("1e-12", "100 * 1e-12", "20.3 digits of tolerances after 22.3"),
        ("2e-9", "2e-7", "20.3 digits of tolerances after 22.3"),
        ("8 * finfo", "800 * finfo", "20.3 digits of tolerances after 22.3"),
        ("3e-3", "3e-1", "19.8 digits of tolerances after 22.3"),
        ("(1, 2, 3)", "(3,)", "1 cases after 3"),
    ],
)
def test_an_assertion_that_compares_less_is_refused(old, new, less):
    assert counted.assertion_problems("a.py", STRONG, counted.asserted(STRONG)) == []
    (problem,) = counted.assertion_problems("a.py", STRONG.replace(old, new), counted.asserted(STRONG))
    assert problem.startswith(f"a.py: its assertions compare less than they did ({less}).")


@pytest.mark.parametrize("stored", [None, [9, 22.3, 3], [10, 22.2, 3], [10, 22.3, 2]])
def test_numbers_that_lag_behind_are_refused(stored):
    """Else what was added could be taken away again."""
    (problem,) = counted.assertion_problems("a.py", STRONG, stored)
    assert "compare more than tools/asserted.json says" in problem


@pytest.mark.parametrize(("words", "status"), [([], 1), (["--less", "lib/tests/test_a.py"], 0)])
def test_less_is_stored_only_where_it_is_asked_for(tmp_path, monkeypatch, capsys, words, status):
    for name, text in (
        ("COUNTS", '{"unit": {"lib/tests/test_a.py": 1}}'),
        ("ASSERTED", '{"lib/tests/test_a.py": [3, 0.0, 0]}'),
    ):
        monkeypatch.setattr(counted, name, tmp_path / name)
        getattr(counted, name).write_text(text)
    monkeypatch.setattr(counted.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    monkeypatch.setattr(counted, "sources", lambda: {"lib/tests/test_a.py": "assert x.dtype"})
    assert counted.main(words) == status
    assert json.loads(counted.ASSERTED.read_text()) == {
        "lib/tests/test_a.py": [1, 0.0, 0] if status == 0 else [3, 0.0, 0]
    }
    said = capsys.readouterr()
    assert "lib/tests/test_a.py: compared [3, 0.0, 0] and compares [1, 0.0, 0]" in said.out
    assert ("--less lib/tests/test_a.py" in said.err) == (status == 1)


def test_no_reason_to_skip_is_so_short_that_others_begin_with_it():
    reasons = ("needs time", "needs a rewrite", "comes with version 3", "compares nothing", "has no use", "root cannot")
    reasons += ("there is no time", "there is no CuPy", "this test is slow", "this is flaky", "CuPyless", "later")
    assert len(counted.skip_problems({reason: f"Skipped: {reason}" for reason in reasons})) == len(reasons)


def _has_tests(path):
    return ".ipynb_checkpoints" not in path.parts and (path.name.startswith("test_") or path.suffix == ".ipynb")
