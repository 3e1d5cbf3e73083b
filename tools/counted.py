"""Count the tests that a step ran: pytest -p tools.counted --counted unit; python -m tools.counted stores new counts

A glob, a marker or an option that is one word wrong leaves tests out, and a run without them passes.  So
tools/counts.json says for every step how many tests each file has, and fewer, or one that skips itself for a reason
that is not listed here, make the step fail.  More are welcome; a file without a number is not.
"""

import json
import subprocess
import sys
from collections import Counter

import pytest

from tools.files import ROOT, write

COUNTS = ROOT / "tools/counts.json"
WHAT_TO_DO = """\
Look for what leaves tests out: a glob, a marker, an option, a conftest, a skip. Where tests are new or rightly gone,
`.venv/bin/python -m tools.counted` stores the numbers of today; say in the commit why some are gone."""
# What a machine may lack, or another verb brings.  A package of the extra `dev` is not among it.
MAY_BE_MISSING = (
    "CuPy ",
    "comes with make mutants",
    "compares with PyTorch",
    "has no /dev/full",
    "needs CuPy",
    "root may write everywhere",
    "there is no Chromium",
    "this NumPy does not load",
    "this system ",
)


def count_problems(step, ran, counts):
    """Return where a step ran fewer tests of a file than it has, or tests of a file that has no number.

    Parameters
    ----------
    step : str
        Name as in ``tools.steps``.
    ran : dict
        {file: number of its tests}.
    counts : dict
        {step: {file: least number}}.

    Examples
    --------
    >>> count_problems("unit", {"a.py": 2, "c.py": 1}, {"unit": {"a.py": 3, "b.py": 1}, "slow": {"c.py": 1}})
    ['a.py: 2 of its 3 tests ran', 'b.py: 0 of its 1 tests ran']
    >>> count_problems("unit", {"a.py": 4, "new.py": 1}, {"unit": {"a.py": 3}})
    ['new.py: has no number in tools/counts.json yet']
    """
    least = counts.get(step, {})
    found = [
        f"{name}: {ran.get(name, 0)} of its {least[name]} tests ran" for name in least if ran.get(name, 0) < least[name]
    ]
    known = {name for files in counts.values() for name in files}
    return found + [f"{name}: has no number in tools/counts.json yet" for name in sorted(ran.keys() - known)]


def skip_problems(skipped):
    """Return which tests, given as {name: reason}, skipped themselves for a reason that is not in MAY_BE_MISSING.

    Examples
    --------
    >>> skip_problems({"a.py::test_a": "Skipped: CuPy cannot run here", "a.py::test_b": "Skipped: later"})
    ['a.py::test_b: was skipped (later), and tools/counted.py does not list this reason']
    """
    reasons = {name: reason.removeprefix("Skipped: ") for name, reason in skipped.items()}
    return [
        f"{name}: was skipped ({reason}), and tools/counted.py does not list this reason"
        for name, reason in reasons.items()
        if not reason.startswith(MAY_BE_MISSING)
    ]


MOST_LINES = 12


class Counted:
    """What pytest tells of a run; where several processes run tests, the one that began them hears of all."""

    def __init__(self, step):
        self.step, self.ran, self.skipped, self.problems = step, Counter(), {}, []

    def pytest_runtest_logreport(self, report):
        if report.when == "setup":
            self.ran[report.nodeid.partition("::")[0]] += 1
        if hasattr(report, "wasxfail"):
            self.skipped[report.nodeid] = f"expected to fail: {report.wasxfail}"
        elif report.skipped:
            self.skipped[report.nodeid] = report.longrepr[2]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if not session.config.option.collectonly:
            counts = json.loads(COUNTS.read_text(encoding="utf-8"))
            self.problems = skip_problems(self.skipped) + count_problems(self.step, self.ran, counts)
            session.exitstatus = session.exitstatus or int(bool(self.problems))

    def pytest_terminal_summary(self, terminalreporter):
        for problem in self.problems[:MOST_LINES]:
            terminalreporter.line(problem, red=True)
        if self.problems:
            more = len(self.problems) - MOST_LINES
            terminalreporter.line((f"and {more} more. " if more > 0 else "") + WHAT_TO_DO, red=True)

    def pytest_collection_finish(self, session):
        """Store the numbers where nothing is run: ``python -m tools.counted`` asks for that."""
        if session.config.option.collectonly and session.items:
            counts = json.loads(COUNTS.read_text(encoding="utf-8"))
            counts[self.step] = Counter(item.nodeid.partition("::")[0] for item in session.items)
            write(COUNTS, json.dumps(counts, indent=1, sort_keys=True) + "\n")


def pytest_addoption(parser):
    parser.addoption("--counted", metavar="STEP", help="compare the numbers of tests with those of this step")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Counted(config.getoption("counted")))


def main():
    """Store how many tests each file has, of all steps that can run here, and print what became less."""
    from tools.steps import STEPS, surroundings

    before, left_out = json.loads(COUNTS.read_text(encoding="utf-8")), []
    for step in before:
        command = [sys.executable, *STEPS[step], "--collect-only"]
        run = subprocess.run(command, cwd=ROOT, env=surroundings(step, {}, ""), stdout=subprocess.DEVNULL)
        left_out += [step] if run.returncode else []
    now = json.loads(COUNTS.read_text(encoding="utf-8"))
    for step, files in before.items():
        for name in files:
            if now[step].get(name, 0) < files[name]:
                print(f"{step}: {name} had {files[name]} tests and has {now[step].get(name, 0)}")
    if left_out:
        print(f"As they were, because another verb or a browser brings what they need: {', '.join(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
