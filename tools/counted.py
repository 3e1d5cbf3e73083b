"""Count the tests that a step ran: pytest -p tools.counted --counted unit; python -m tools.counted stores new counts

A glob, a marker or an option that is one word wrong leaves tests out, and a run without them passes.  So
tools/counts.json says for every step how many tests each file has, and fewer, or one that skips itself for a reason
that is not listed here, make the step fail.  More are welcome; a file without a number is not.

A test that compares less passes, too.  So tools/asserted.json says how much the assertions of each file compare, and
has a digest of each test: one that became another is read by somebody, who names its file.
"""

import argparse
import ast
import json
import math
import subprocess
import sys
import zlib
from collections import Counter

import pytest

from tools.files import ROOT, write

COUNTS, ASSERTED = ROOT / "tools/counts.json", ROOT / "tools/asserted.json"
FOLDERS = ("lib/tests", "tools/tests", "web", "chapters")  # of tests
STORE = "`.venv/bin/python -m tools.counted` stores the tests of today"
CHANGED = "where that is right, with --changed FILE for each such file; say why in the commit"
WHAT_TO_DO = f"""\
Look for what leaves tests out: a glob, a marker, an option, a conftest, a skip. Where tests are new, {STORE};
{CHANGED}."""
# What a machine may lack, or another verb brings.  A package of the extra `dev` is not among it.
MAY_BE_MISSING = (
    "CuPy ",
    "comes with make mutants",
    "compares with PyTorch",
    "has no /dev/full",
    "needs CuPy",
    "pictures are compared with",
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


SMALL = 0.01  # a number below it is mostly a tolerance
KINDS = ("comparisons", "digits of tolerances", "cases", "digits of sizes and draws", "letters")  # that become less
BROAD = ("Exception", "BaseException", "Warning")  # nearly everything is one of them
CLOSE = ("allclose", "approx", "isclose")


def asserted(*parts):
    """Return how much the assertions of some source, or of parsed parts of it, compare: a number for each of KINDS.

    The first counts each assertion, each comparison in one, an equality twice, of alternatives the weakest, and each
    error that must come, a narrow one twice.  They count more for each loop around them, and less where a condition is
    around them; what is compared with itself counts for nothing, and what leaves a test or a turn of a loop early, or
    some of its cases out, takes away.  The second counts decimal digits, of numbers below 0.01 and, with a minus, of
    what multiplies tolerances.  The third counts the cases that loops and parameters list; the fourth digits of
    numbers above 1 that are not asserted, mostly sizes, seeds and draws; the fifth letters of what messages and files
    are compared with.

    Examples
    --------
    >>> asserted("assert x.dtype == y.dtype")
    [6, 0.0, 0, 0.0, 0]
    >>> asserted("assert x.dtype")
    [2, 0.0, 0, 0.0, 0]
    >>> asserted("assert abs(x) < 1e-12\\nassert x == approx(y, rel=4e-6)\\nwith raises(ValueError, match='x'): f(10)")
    [12, 17.4, 0, 1.0, 1]
    >>> asserted("assert x < 100 * eps") < asserted("assert x < 10 * eps")
    True
    >>> asserted("for x in (1, 2, 3): assert f(x) == f(x)")
    [4, 0.0, 3, 0.8, 0]
    >>> asserted("for x in product((1, 2), (3, 4)): assert f(*x)")[2]
    6
    >>> asserted("for x in y: assert f(x)")[0] > asserted("for x in y: f(x)\\nassert f(x)")[0]
    True
    """
    compared, digits, cases, draws, letters = 0, 0.0, 0, 0.0, 0
    left = [(ast.parse(part) if isinstance(part, str) else part, 2, False) for part in parts]
    while left:
        node, times, is_asserted = left.pop()
        if isinstance(node, ast.Assert):
            compared += times * (1 + _compares(node.test))
        elif isinstance(node, ast.Call):
            name = _name(node.func)
            compared += times * _demands(name, node.args)
            cases += sum(map(_listed, node.args)) if name == "parametrize" else 0
            cases += len(node.args) if name == "product" else 0  # else a zip, which tries fewer, would count as much
        elif isinstance(node, ast.For | ast.comprehension):
            cases += _listed(node.iter)
            compared -= len(getattr(node, "ifs", ()))
        elif isinstance(node, ast.Continue | ast.Break) or (isinstance(node, ast.Return) and node.value is None):
            compared -= 1
        elif isinstance(node, ast.Constant):
            letters += sum(map(str.isalnum, node.value)) if isinstance(node.value, str) else 0
            is_large = isinstance(node.value, int | float) and 1 < node.value < math.inf
            draws += math.log10(node.value) if is_large and not is_asserted else 0
        digits += _digits(node)
        times += 2 * isinstance(node, ast.For | ast.While)
        inner = max(1, times - _is_conditional(node))
        is_asserted |= isinstance(node, ast.Assert)
        left += [(child, inner, is_asserted) for child in ast.iter_child_nodes(node) if not _is_said(child)]
    return [compared, round(digits, 1), cases, round(draws, 1), letters]


def _compares(node):
    """Return how much an expression compares: an equality twice, one up to rounding once, of alternatives the least."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return min(map(_compares, node.values))
    inner = sum(map(_compares, ast.iter_child_nodes(node)))
    if isinstance(node, ast.Call):
        return inner + (_name(node.func) == "all")
    if not isinstance(node, ast.Compare) or _same(node.left, *node.comparators):
        return inner
    close = any(_name(getattr(part, "func", None)) in CLOSE for part in ast.walk(node))
    return inner + sum(1 + (isinstance(operator, ast.Eq | ast.Is) and not close) for operator in node.ops)


def _demands(name, arguments):
    """Return how much a call asks for by its own: an assertion of NumPy, or an error that must come."""
    if name in ("raises", "warns"):
        return 1 + (bool(arguments) and not isinstance(arguments[0], ast.Tuple) and _name(arguments[0]) not in BROAD)
    return (2 if "equal" in name else 1) if name.startswith("assert_") and not _same(*arguments[:2]) else 0


def _name(node):
    """Return the last word of a name such as pytest.raises; nothing for what has no name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _is_conditional(node):
    """Whether what stands in a node may not run, or may fail unseen."""
    suppresses = isinstance(node, ast.With) and "suppress" in ast.dump(node.items[0].context_expr)
    return isinstance(node, ast.If | ast.Try) or suppresses


def _is_said(node):
    """Whether a statement is a docstring, or another text that is there to be read."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _same(*nodes):
    return len(nodes) > 1 and len({ast.dump(node) for node in nodes}) == 1


def _listed(node):
    """Return how many entries the lists in an expression have, one less for each part that is cut off."""
    parts = [*ast.walk(node)]
    lists = [part for part in parts if isinstance(part, ast.List | ast.Tuple | ast.Set | ast.Dict)]
    entries = sum(len(part.keys if isinstance(part, ast.Dict) else part.elts) for part in lists)
    return entries - sum(isinstance(part, ast.Slice) for part in parts)


def _digits(node):
    """Return the digits of a small number; of a tolerance times a number, what they lose by it."""
    number = _number(node)
    if number is not None and number < SMALL:
        return -math.log10(number)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_tolerance(node):
        return -sum(math.log10(part) for part in map(_number, (node.left, node.right)) if part and part >= SMALL)
    return 0.0


def _is_tolerance(product):
    """Whether a product has a factor that is called eps, or is a small number."""
    parts = [*ast.walk(product)]
    names = {getattr(part, "attr", getattr(part, "id", None)) for part in parts}
    return bool(names & {"eps", "EPS"}) or any((_number(part) or 1) < SMALL for part in parts)


def _number(node):
    number = getattr(node, "value", None)
    return number if isinstance(node, ast.Constant) and isinstance(number, float | int) and number > 0 else None


def sources():
    """Return {name: source} of all Python files beside tests."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


ELSE = "what stands outside of its functions"


def described(source, known=None):
    """Return what each function and class of a file is, and all else but imports, texts and comments.

    What is as in ``known``, an earlier result, is not counted once more.

    Examples
    --------
    >>> before = described("import a\\nX = 1\\ndef test(): return 1  # why")
    >>> now = described("X = 1\\n\\ndef test():\\n    # a comment\\n    return 2")
    >>> [name for name in before if now[name] != before[name]]
    ['test']

    Returns
    -------
    dict
        {name: a digest of the code, then the numbers that `asserted` returns for it}.
    """
    apart, lines = {ELSE: []}, source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            apart[node.name] = [node]
        elif not isinstance(node, ast.Import | ast.ImportFrom) and not _is_said(node):
            apart[ELSE].append(node)
    codes = {name: " ".join(_code(node, lines) for node in nodes) for name, nodes in apart.items()}
    digests = {name: f"{zlib.crc32(code.encode()):08x}" for name, code in codes.items()}
    same = {name: row for name, row in (known or {}).items() if row[0] == digests.get(name)}
    return {name: same.get(name) or [digest, *asserted(*apart[name])] for name, digest in digests.items()}


def _code(node, lines):
    """Return the lines of a statement without comments and blanks; unlike ast.unparse, alike in every Python."""
    start = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    code = (line.partition("  # ")[0].strip() for line in lines[start - 1 : node.end_lineno])
    return " ".join(line for line in code if line and not line.startswith("#"))


def changes(now, then):
    """Return which parts of a file of tests, as `described` returns them, ask for less, or are other ones and ask for
    no more, as words."""
    found = []
    for name, (digest, *before) in then.items():
        if name not in now:
            found.append(f"{name} is gone")
            continue
        less = [
            f"{new} {of} after {old}" for new, old, of in zip(now[name][1:], before, KINDS, strict=True) if new < old
        ]
        if less:
            found.append(f"{name} asks for less ({', '.join(less)})")
        elif digest != now[name][0] and now[name][1:] == before:
            found.append(f"{name} is another one now, and compares no more than before")
    return found


def assertion_problems(name, source, stored):
    """Return whether the tests of a file are those that are stored.

    Parameters
    ----------
    name, source : str
        Of a file of tests.
    stored : dict, or None
        What `described` returned when tools/asserted.json was written.
    """
    now = described(source, stored)
    if found := changes(now, stored or {}):
        return [f"{name}: {'; '.join(found)}. Does it still find what it is to find? If so, {STORE}, {CHANGED}"]
    if now != stored:
        return [f"{name}: has more than tools/asserted.json knows, which could be taken away again unseen: {STORE}"]
    return []


def main(words=None):
    """Store how many tests each file has, of all steps that can run here, and what they are.

    Where something became less or another one, nothing is stored unless --changed names the file.
    """
    from tools.steps import STEPS, surroundings

    parser = argparse.ArgumentParser(prog="python -m tools.counted")
    parser.add_argument(
        "--changed",
        action="extend",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files whose tests are rightly fewer or other ones than before",
    )
    allowed = parser.parse_args(words).changed
    texts = {path: path.read_text(encoding="utf-8") for path in (COUNTS, ASSERTED)}
    before, left_out = json.loads(texts[COUNTS]), []
    for step in before:
        command = [sys.executable, *STEPS[step], "--collect-only"]
        run = subprocess.run(command, cwd=ROOT, env=surroundings(step, {}, ""), stdout=subprocess.DEVNULL)
        left_out += [step] if run.returncode else []
    now, stored = json.loads(COUNTS.read_text(encoding="utf-8")), json.loads(texts[ASSERTED])
    changed = {
        name: f"{step}: {name} had {files[name]} tests and has {now[step].get(name, 0)}"
        for step, files in before.items()
        for name in files
        if now[step].get(name, 0) < files[name]
    }
    found = {name: described(source) for name, source in sources().items()}
    for name in found.keys() & stored.keys():
        if words := changes(found[name], stored[name]):
            fewer = f"{changed[name]}\n" if name in changed else ""
            changed[name] = f"{fewer}{name}: {'; '.join(words)}"
    for name in sorted(changed):
        print(changed[name])
    if refused := sorted(changed.keys() - {*allowed}):
        for path, text in texts.items():
            write(path, text)
        print(f"Nothing was stored; where that is right: --changed {' '.join(refused)}", file=sys.stderr)
        return 1
    write(ASSERTED, json.dumps(found, sort_keys=True).replace("}, ", "},\n ").replace("], ", "],\n  ") + "\n")
    if left_out:
        print(f"As they were, because another verb or a browser brings what they need: {', '.join(left_out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
