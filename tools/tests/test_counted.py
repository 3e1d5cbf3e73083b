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


@pytest.mark.parametrize(("status", "least", "then"), [(1, 0, 1), (2, 1, 2), (0, 0, 0)])
def test_a_run_that_failed_does_not_pass_because_all_its_tests_ran(tmp_path, monkeypatch, status, least, then):
    monkeypatch.setattr(counted, "COUNTS", tmp_path / "counts.json")
    counted.COUNTS.write_text(json.dumps({"unit": {"a.py": least}}))
    session = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(collectonly=False)), exitstatus=status)
    counted.Counted("unit").pytest_sessionfinish(session)
    assert session.exitstatus == then


def test_each_test_that_was_skipped_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(counted, "COUNTS", tmp_path / "counts.json")
    counted.COUNTS.write_text("{}")
    run = counted.Counted("unit")
    for name in ("a", "b"):
        skipped = {"skipped": True, "longrepr": ("a.py", 1, f"Skipped: later, says {name}")}
        run.pytest_runtest_logreport(SimpleNamespace(when="call", nodeid=f"a.py::{name}", **skipped))
    session = SimpleNamespace(config=SimpleNamespace(option=SimpleNamespace(collectonly=False)), exitstatus=0)
    run.pytest_sessionfinish(session)
    assert [problem.partition(",")[0] for problem in run.problems] == [
        f"a.py::{name}: was skipped (later" for name in ("a", "b")
    ]


MOST = counted.MOST_LINES


@pytest.mark.parametrize(
    ("problems", "shown", "more"),
    [(1, 1, ""), (MOST, MOST, ""), (MOST + 1, MOST, "and 1 more. "), (MOST + 30, MOST, "and 30 more. ")],
)
def test_the_first_problems_are_shown_in_red_with_what_to_do(problems, shown, more):
    run, lines = counted.Counted("unit"), []
    terminal = SimpleNamespace(line=lambda text, **style: lines.append((text, style)))
    run.pytest_terminal_summary(terminal)
    assert lines == []
    run.problems = [f"problem {number}" for number in range(problems)]
    run.pytest_terminal_summary(terminal)
    assert lines == [(text, {"red": True}) for text in [*run.problems[:shown], more + counted.WHAT_TO_DO]]


@pytest.mark.parametrize(
    ("collectonly", "names", "stored"),
    [
        (True, ["b.py::test_b", "a.py::test_a[::]", "b.py::test_c"], {"a.py": 1, "b.py": 2}),
        (True, [], {"a.py": 9}),  # where collecting fails, or finds nothing
        (False, ["a.py::test_a"], {"a.py": 9}),
    ],
)
def test_a_run_that_only_collects_stores_the_numbers(tmp_path, monkeypatch, collectonly, names, stored):
    monkeypatch.setattr(counted, "COUNTS", tmp_path / "counts.json")
    counted.COUNTS.write_text('{"slow": {"c.py": 3}, "unit": {"a.py": 9}}')
    session = SimpleNamespace(
        config=SimpleNamespace(option=SimpleNamespace(collectonly=collectonly)),
        items=[SimpleNamespace(nodeid=name) for name in names],
        exitstatus=0,
    )
    run = counted.Counted("unit")
    run.pytest_collection_finish(session)
    assert json.loads(counted.COUNTS.read_text()) == {"slow": {"c.py": 3}, "unit": stored}
    if collectonly:  # nothing ran, which is no fault
        run.pytest_sessionfinish(session)
        assert (run.problems, session.exitstatus) == ([], 0)


@pytest.mark.parametrize(("own", "steps"), [({}, ["unit"]), ({"workerinput": {}}, [])])
def test_only_the_process_that_begins_the_others_counts(own, steps):
    registered = []
    config = SimpleNamespace(
        pluginmanager=SimpleNamespace(register=registered.append), getoption={"counted": "unit"}.get, **own
    )
    counted.pytest_configure(config)
    assert [plugin.step for plugin in registered] == steps


def test_the_assertions_of_every_file_compare_as_much_as_they_did():
    stored = json.loads(counted.ASSERTED.read_text(encoding="utf-8"))
    found = [
        problem
        for name, source in counted.sources().items()
        for problem in counted.assertion_problems(name, source, stored.get(name))
    ]
    assert found == [], "\n".join(found)
    assert stored.keys() == counted.sources().keys()


def test_only_what_became_another_one_is_counted_again(monkeypatch):
    now = "def a(): assert x\ndef b(): assert {}"
    then = counted.described(now.format("y"))
    seen = []
    monkeypatch.setattr(counted, "asserted", lambda *parts: seen.append(parts) or [0, 0.0, 0, 0.0, 0])
    assert counted.described(now.format("y"), then) == then
    assert seen == []
    found = counted.described(now.format("z"), then)
    assert found["a"] == then["a"]
    assert found["b"][1:] == [0, 0.0, 0, 0.0, 0]
    assert found["b"][0] != then["b"][0]
    assert len(seen) == 1


STRONG = """\
TOLERANCE = 3e-3
x = draw(100)
for x in (1, 2, 3):
    assert f(x) == y
assert abs(x - y) < 1e-12
assert_allclose(x, y, rtol=2e-9, atol=8 * finfo(float).eps)
assert_array_equal(x, y)
assert all(x == y for x, y in draws)
assert x == "one two" and y < 2
with raises(TypeError, match="must be of"): f()
"""


@pytest.mark.parametrize(
    ("old", "new", "less"),
    [
        ("f(x) == y", "f(x)", "34 comparisons after 42"),
        ("f(x) == y", "f(x) >= y", "38 comparisons after 42"),
        ("f(x) == y", "f(x) == approx(y)", "38 comparisons after 42"),
        ("f(x) == y", "f(x) == f(x)", "34 comparisons after 42"),
        ("    assert f(x) == y", "    f(x)", "30 comparisons after 42"),
        ("    assert f(x) == y", "    f(x)\nassert f(x) == y", "36 comparisons after 42"),  # out of the loop
        ("    assert f(x) == y", "    if x:\n        assert f(x) == y", "39 comparisons after 42"),
        ("    assert f(x) == y", "    with suppress(E):\n        assert f(x) == y", "39 comparisons after 42"),
        ("    assert f(x) == y", "    if x: break\n    assert f(x) == y", "41 comparisons after 42"),
        ("    assert f(x) == y", "    if x: return\n    assert f(x) == y", "41 comparisons after 42"),
        ("    assert f(x) == y", "    if x: continue\n    assert f(x) == y", "41 comparisons after 42"),
        ("_allclose(x, y", "_allclose(y, y", "40 comparisons after 42"),
        ("_allclose(x, y, rtol=", "_allclose(y, y, ", "40 comparisons after 42"),
        ("_array_equal(x, y", "_allclose(x, y", "40 comparisons after 42"),
        ("all(x", "any(x", "40 comparisons after 42"),
        ("in draws)", "in draws if x)", "41 comparisons after 42"),
        (" and y < 2", "", "40 comparisons after 42"),
        (" and y < 2", " or y < 2", "38 comparisons after 42"),
        ('raises(TypeError, match="must be of"): f()', "nothing: f()", "38 comparisons after 42, 6 letters after 14"),
        ("raises(TypeError,", "raises((TypeError, OSError),", "40 comparisons after 42"),
        ("raises(TypeError,", "raises(Exception,", "40 comparisons after 42"),
        ("1e-12", "1e-6", "16.3 digits of tolerances after 22.3"),
        ("1e-12", "100 * 1e-12", "20.3 digits of tolerances after 22.3"),
        ("2e-9", "2e-7", "20.3 digits of tolerances after 22.3"),
        ("8 * finfo", "800 * finfo", "20.3 digits of tolerances after 22.3"),
        ("3e-3", "3e-1", "19.8 digits of tolerances after 22.3"),
        ("(1, 2, 3)", "(3,)", "1 cases after 3, 3.4 digits of sizes and draws after 3.7"),
        ("(1, 2, 3)", "(1, 2, 3)[1:]", "2 cases after 3"),
        ("100", "10", "2.7 digits of sizes and draws after 3.7"),
        ("must be of", "must", "10 letters after 14"),
        ("one two", "one", "11 letters after 14"),
    ],
)
def test_an_assertion_that_compares_less_is_refused(old, new, less):
    stored = counted.described(STRONG)
    assert counted.assertion_problems("a.py", STRONG, stored) == []
    (problem,) = counted.assertion_problems("a.py", STRONG.replace(old, new), stored)
    assert problem.startswith(f"a.py: {counted.ELSE} asks for less ({less}"), problem
    assert problem.endswith(f". Does it still find what it is to find? If so, {counted.STORE}, {counted.CHANGED}")


TESTS = """\
import os
LARGE = 10**6  # why
def test_a():
    before = dict(os.environ)
    change()
    assert os.environ == before
@mark.parametrize("x", [1, 2])
def test_b(x):
    assert f(x) < LARGE
"""
OTHER = "is another one now, and compares no more than before"


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("dict(os.environ)", "os.environ", f"test_a {OTHER}"),
        ("    change()\n", "", f"test_a {OTHER}"),
        ("f(x) < LARGE", "g(x) < LARGE", f"test_b {OTHER}"),
        ('"x", [1, 2]', '"y", [1, 2]', f"test_b {OTHER}"),
        ("10**6", "6**10", f"{counted.ELSE} {OTHER}"),
        ("LARGE = 10**6", "del LARGE", f"{counted.ELSE} asks for less (0.0 digits of sizes and draws after 1.8)"),
        ("[1, 2]", "[1]", "test_b asks for less (1 cases after 2, 0.0 digits of sizes and draws after 0.3)"),
        ("def test_a()", "def run_a()", "test_a is gone"),
        ("[1, 2]", "[1, 2, 3]", None),
        ("os.environ == before", "os.environ == before != {}", None),
        (TESTS, TESTS + "def test_c(): pass", None),
        ("  # why", "  # since", ""),
        ("import os", "import os, sys\n\n", ""),
    ],
)
def test_a_test_that_is_another_one_is_read_and_what_is_new_is_stored(old, new, found):
    problems = counted.assertion_problems("a.py", TESTS.replace(old, new), counted.described(TESTS))
    if found:
        assert problems == [
            f"a.py: {found}. Does it still find what it is to find? If so, {counted.STORE}, {counted.CHANGED}"
        ]
    else:
        more = "a.py: has more than tools/asserted.json knows, which could be taken away again unseen: "
        assert problems == ([more + counted.STORE] if found is None else [])


def test_all_that_is_gone_is_named_and_what_stays_is_still_compared():
    then = counted.described("def test_a(): pass\ndef test_b(): pass\ndef test_c(): assert x == 1")
    now = counted.described("def test_c(): assert x")
    assert counted.changes(now, then) == [
        *(f"test_{letter} is gone" for letter in "ab"),
        "test_c asks for less (2 comparisons after 6)",
    ]


def test_a_file_that_is_not_known_is_stored():
    (problem,) = counted.assertion_problems("a.py", TESTS, None)
    assert problem.startswith("a.py: has more than tools/asserted.json knows")


A, B, C = (f"lib/tests/test_{letter}.py" for letter in "abc")
FEWER, GONE = f"unit: {A} had 2 tests and has 1", f"unit: {B} had 1 tests and has 0"
WEAKER = f"{C}: {counted.ELSE} asks for less (2 comparisons after 6)"


@pytest.mark.parametrize(
    ("ran", "source", "less", "allowed"),
    [
        ({A: 2, B: 1, C: 1}, "assert x.dtype == y.dtype", {}, []),
        ({A: 3, B: 1, C: 1, "new.py": 1}, "assert x.dtype is y.dtype is z.dtype", {}, []),
        ({A: 1, B: 1, C: 1}, "assert x.dtype == y.dtype", {A: FEWER}, []),
        ({A: 1, B: 1, C: 1}, "assert x.dtype == y.dtype", {A: FEWER}, [A]),
        ({A: 1, C: 1}, "assert x.dtype == y.dtype", {A: FEWER, B: GONE}, [A]),
        ({A: 1, C: 1}, "assert x.dtype == y.dtype", {A: FEWER, B: GONE}, [A, B]),
        ({A: 2, B: 1, C: 1}, "assert x.dtype", {C: WEAKER}, [A]),
        ({A: 2, B: 1, C: 1}, "assert x.dtype", {C: WEAKER}, [C]),
        ({A: 1, B: 1, C: 1}, "assert x.dtype", {A: FEWER, C: WEAKER}, []),
        ({A: 2, B: 1}, "assert x.dtype", {C: f"unit: {C} had 1 tests and has 0\n{WEAKER}"}, []),
    ],
)
def test_less_is_stored_only_where_it_is_asked_for(tmp_path, monkeypatch, capsys, ran, source, less, allowed):
    """Of all files or of none; a step that cannot run here, as `lab`, keeps its numbers and is named."""
    before = {"lab": {"web/test_lab.py": 4}, "unit": {A: 2, B: 1, C: 1}}
    for name, content in (
        ("COUNTS", before),
        ("ASSERTED", {C: counted.described("assert x.dtype == y.dtype"), "gone.py": {}}),
    ):
        monkeypatch.setattr(counted, name, tmp_path / name)
        getattr(counted, name).write_text(json.dumps(content))
    texts = counted.COUNTS.read_text(), counted.ASSERTED.read_text()
    commands = []

    def collects(command, cwd, env, stdout):
        commands.append(command[1:])
        if command[1:] == [*STEPS["unit"], "--collect-only"]:
            counted.COUNTS.write_text(json.dumps(before | {"unit": ran}))
            return SimpleNamespace(returncode=0)
        return SimpleNamespace(returncode=5)

    monkeypatch.setattr(counted.subprocess, "run", collects)
    monkeypatch.setattr(counted, "sources", lambda: {C: source, "new.py": "assert x"})
    refused = [name for name in less if name not in allowed]
    assert counted.main(["--changed", *allowed] if allowed else []) == int(bool(refused))
    assert commands == [[*STEPS[step], "--collect-only"] for step in ("lab", "unit")]
    said = capsys.readouterr()
    lines = "\n".join(less.values()).splitlines()
    assert said.out.splitlines()[: len(lines)] == lines
    if refused:
        assert said.out.splitlines()[len(lines) :] == []
        assert said.err == f"Nothing was stored; where that is right: --changed {' '.join(refused)}\n"
        assert (counted.COUNTS.read_text(), counted.ASSERTED.read_text()) == texts
    else:
        left_out = "As they were, because another verb or a browser brings what they need: lab"
        assert (said.out.splitlines()[len(lines) :], said.err) == ([left_out], "")
        assert json.loads(counted.COUNTS.read_text()) == before | {"unit": ran}
        assert json.loads(counted.ASSERTED.read_text()) == {
            C: counted.described(source),
            "new.py": counted.described("assert x"),
        }


def test_where_every_step_can_run_nothing_more_is_said(tmp_path, monkeypatch, capsys):
    for name in ("COUNTS", "ASSERTED"):
        monkeypatch.setattr(counted, name, tmp_path / name)
        getattr(counted, name).write_text("{}")
    counted.COUNTS.write_text('{"unit": {}}')
    monkeypatch.setattr(counted.subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    monkeypatch.setattr(counted, "sources", dict)
    assert counted.main([]) == 0
    assert capsys.readouterr() == ("", "")


def test_no_reason_to_skip_is_so_short_that_others_begin_with_it():
    reasons = ("needs time", "needs a rewrite", "comes with version 3", "compares nothing", "has no use", "root cannot")
    reasons += ("there is no time", "there is no CuPy", "this test is slow", "this is flaky", "CuPyless", "later")
    assert len(counted.skip_problems({reason: f"Skipped: {reason}" for reason in reasons})) == len(reasons)


def _has_tests(path):
    return ".ipynb_checkpoints" not in path.parts and (path.name.startswith("test_") or path.suffix == ".ipynb")
