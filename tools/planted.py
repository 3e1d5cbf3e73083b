"""Plant one fault for each step of `make test` in a copy, and run it: each step must report its own: make test-planted

Most faults are new files, so the tests of this module (tools/tests/test_planted.py) plant those in a tree of few files
and run the quick steps there in every `make test`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat

from tools.files import ROOT
from tools.hostile import LEFT_BEHIND

# One fault of each family of ruff's rules; the rules that pass over a kind of file stand in pyproject.toml.
UNTIDY = '''
import os, sys
import numpy as np
def f(x=[], *, unused: "int"):
    """Sum.

    Args:
        x: a list
    """
    l = dict(); print("%s" % x)
    # y = f(x)
    if x == None: return list([i for i in x])
    else:
        return np.float_(1) + len([1] + x)
def g(path):
    for k in {}.keys():
        breakpoint()
    try:
        pass
    except OSError:
        pass
    return path.open("r", encoding="utf-8")...
'''.replace("...", " " * 3)
CODES = ("B", "C4", "D417", "E", "ERA", "F", "I", "NPY", "RET", "RUF", "SIM", "T10", "UP", "W")
FOLDERS = ("lib/attnsep", "lib/tests", "tools", "web")
UNTIDY_TEST = "import pytest\n\n\n@pytest.fixture()\ndef one():\n    return 1\n"

# Each of them would pass with one option of doctest more than pytest gives it.
DOCTESTS = '''
def blanks():
    """
    >>> print("a", "b")
    a  b
    """


def errors():
    """
    >>> raise ValueError("this")
    Traceback (most recent call last):
    ValueError: that
    """


def digits():
    """
    >>> 0.1 + 0.2
    0.3
    """
'''
TESTS = """import warnings

import pytest


def test_of_a_fault():
    assert "a test" == "that fails"


@pytest.mark.xfail(reason="planted")
def test_that_passes_where_it_should_fail():
    pass


@pytest.mark.skip(reason="planted: later")
def test_that_is_left_out():
    pass


@pytest.mark.slow
def test_that_is_slow():
    assert "a slow test" == "that fails"


def test_whose_warning_nobody_reads():
    warnings.warn("planted: a warning", stacklevel=1)
"""
UNKNOWN_MARKER = "import pytest\n\n\n@pytest.mark.slwo\ndef test_slow():\n    pass\n"
PAGE = """

<p style="width: 3000px">wide</p>

so \\frac{1}{2}, and {term}`a word that no page explains`
"""


def chapter():
    """Return a chapter whose stored outputs are wrong: a text, a table and a number."""
    v4, table = nbformat.v4, "class T:\n    _repr_html_ = lambda self: '1'\n    __repr__ = lambda self: 'T'\n\n\nT()"
    html = {"text/plain": "T", "text/html": "2"}
    cells = [
        v4.new_code_cell("print(1)", execution_count=1, outputs=[v4.new_output("stream", text="2\n")]),
        v4.new_code_cell(
            table, execution_count=2, outputs=[v4.new_output("execute_result", data=html, execution_count=2)]
        ),
        v4.new_code_cell("1", execution_count=3, outputs=[v4.new_output("execute_result", data={"text/plain": "2"})]),
        v4.new_code_cell("import sys\nprint('aloud', file=sys.stderr)", execution_count=4),
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return nbformat.writes(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})) + "\n"


NEW = {
    **{f"{folder}/untidy.py": UNTIDY for folder in FOLDERS},
    "tools/tests/test_untidy.py": UNTIDY_TEST,
    "lib/attnsep/planted.py": DOCTESTS,
    "lib/tests/test_planted.py": TESTS,
    "lib/tests/test_marker.py": UNKNOWN_MARKER,
    "tools/tests/test_planted_too.py": TESTS,
    "lib/tests/training/test_planted.py": TESTS,
    "chapters/planted.ipynb": chapter(),
}


def _other_verdict(text):
    rows = json.loads(text)
    rows[0]["verdict"] = "planted"
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def _more(text):
    return json.dumps({step: {**files, "lib/tests/lost.py": 3} for step, files in json.loads(text).items()}) + "\n"


CHANGED = {
    "tools/counts.json": _more,
    "lib/attnsep/ledger/record.json": _other_verdict,
    "lib/attnsep/ledger/ratchet.jsonl": lambda text: text.partition("\n")[2],
    "chapters/nbval-failed.md": lambda text: text + PAGE,
}
LOST = "lib/tests/lost.py: 0 of its 3 tests ran"
# What each step must say, as regular expressions.
SAID = {
    "format": [f"{folder}/untidy.py" for folder in FOLDERS] + ["chapters/planted.ipynb"],
    "lint": [rf"^{folder}/untidy.py:\d+:\d+: {code}\d*\b" for folder in FOLDERS for code in CODES]
    + [r"^tools/tests/test_untidy.py:\d+:\d+: PT001", r"^chapters/planted.ipynb:cell 4:\d+:\d+: I001"],
    "types": ["lib/attnsep/planted.py:2: error: Function is missing a return type annotation"],
    "tests": [
        *[rf"^FAILED lib/attnsep/planted.py::\S*{name}" for name in ("blanks", "errors", "digits")],
        *[
            rf"^FAILED {name}::{test}"
            for name in ("lib/tests/test_planted.py", "tools/tests/test_planted_too.py")
            for test in (
                "test_of_a_fault",
                "test_that_passes_where_it_should_fail - .*strict",
                "test_whose_warning_nobody_reads - UserWarning",
            )
        ],
        "^ERROR lib/tests/test_marker.py - .*'slwo' not found in `markers` configuration option",
        r"lib/tests/test_planted.py::test_that_is_left_out: was skipped \(planted: later\)",
        "lib/tests/test_planted.py: has no number in tools/counts.json yet",
        r"^FAILED lib/tests/test_planted.py::test_that_is_slow - .*'a slow test'",
        LOST,
    ],
    "notebooks": [
        "^FAILED chapters/planted.ipynb::Cell 0",
        "^FAILED chapters/planted.ipynb::Cell 1",
        "^FAILED chapters/planted.ipynb::Cell 2",
        LOST,
    ],
    "claims": [r"\S+: verdict is '\w+', the record has 'planted'"],
    "ratchet": ["a line that commit [0-9a-f]+ had was changed or removed"],
    "learn": ["^FAILED lib/tests/training/test_planted.py::test_of_a_fault", LOST],
    "book": ["nbval-failed.md.*term not in glossary: 'a word that no page explains'"],
    "pages": [r"chapters/nbval-failed.html: shows raw TeX: so \\frac\{1\}\{2\}"],
    "web": [
        r"^FAILED web/test_pages.py::test_a_page_is_whole\S*\[chapters/nbval-failed.html\]",
        "'the page itself'",
        LOST,
    ],
}


def plant(root, names=NEW):
    """Write the new files into a tree, and change those of CHANGED that are there."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(NEW[name], encoding="utf-8")
    for name, change in CHANGED.items():
        path = root / name
        if path.exists():
            path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def environment(root, inherited):
    """Return the environment of a run in the tree: its modules come first, and one line says one thing."""
    path = os.pathsep.join(filter(None, (str(root / "lib"), str(root), inherited.get("PYTHONPATH"))))
    return inherited | {"PYTHONPATH": path, "RUFF_OUTPUT_FORMAT": "concise", "COLUMNS": "300", "NO_COLOR": "1"}


def unreported(output, said):
    """Return which steps did not fail, or did not say what they must, as sentences.

    Parameters
    ----------
    output : str
        What ``python -m tools.steps`` printed.
    said : dict
        {step: regular expressions that lines of its part must match}.

    Examples
    --------
    >>> output = "--- lint\\n--- a\\na.py: E1\\n--- unit\\n--- summary\\nlint    FAILED 1 s\\nunit    passed 1 s\\n"
    >>> unreported(output, {"lint": ["^a.py"], "unit": [], "web": ["b"]})
    ['unit: passed, although a fault was planted for it', 'web: did not run', "web: did not say 'b'"]
    """
    names = "|".join(map(re.escape, [*said, "summary"]))  # what a step prints may begin like a step
    parts = dict(re.findall(rf"^--- ({names})\n((?:(?!--- (?:{names})\n).*\n)*)", output, re.MULTILINE))
    outcomes = dict(re.findall(r"^(.*?) +(passed|FAILED|NOT RUN) ", parts.get("summary", ""), re.MULTILINE))
    found = []
    for step, patterns in said.items():
        if outcomes.get(step) != "FAILED":
            ended = f"{outcomes[step]}, although a fault was planted for it" if step in outcomes else "did not run"
            found.append(f"{step}: {ended}")
        found += [
            f"{step}: did not say {pattern!r}"
            for pattern in patterns
            if not re.search(pattern, parts.get(step, ""), re.MULTILINE)
        ]
    return found


def main():
    """Run `make test` in a copy with all faults; return 1 if a step does not report its own."""
    with tempfile.TemporaryDirectory(prefix="attnsep-") as folder:
        copy = Path(folder).resolve() / "planted"
        left = [name for name in LEFT_BEHIND if name != ".git"]  # the step ratchet compares with the last commit
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*left))
        plant(copy)
        command = ["make", f"PYTHON={sys.executable}", f"VENV={Path(sys.prefix)}", "test"]
        run = subprocess.run(
            command,
            cwd=copy,
            env=environment(copy, dict(os.environ)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
    print(run.stdout)
    found = unreported(run.stdout, SAID)
    found += [] if run.returncode else ["make test: passed, although each of its steps has a fault"]
    print("--- planted faults", *found, f"{len(SAID)} steps, {len(found)} faults that were not reported", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
