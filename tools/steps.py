"""Run named steps, each to its end, and sum up: python -m tools.steps format lint unit

Most keep two cores busy; one that keeps a single core busy runs beside them.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from tools.files import PENDING, ROOT, pending
from tools.places import kernel_environment, writable_places

NOT_RUN = 77  # exit status of a step that finds no browser
# A test that waits for ever fails after ten minutes and shows where it waits.
# Nothing here logs, and to catch what is logged takes longer than many a test.
PYTEST = ("-m", "pytest", "-q", "-pno:logging", "-ptimeout", "--timeout=600", "-pxdist", "-n2", "--dist", "loadfile")
COUNTED = ("-p", "tools.counted", "--counted")  # and the step's name: fewer tests than it has make it fail
OUTCOMES = {0: "passed", NOT_RUN: "NOT RUN"}
LAB = "web/test_lab.py"  # on a busy machine JupyterLab may take minutes; in no run that others wait for
LEARN = "lib/tests/training"  # training takes a minute, too long for daily life
STEPS = {
    "format": ("-m", "ruff", "format", "--check", "."),
    "lint": ("-m", "ruff", "check", "."),
    "types": ("-m", "mypy"),
    "unit": (*PYTEST, *COUNTED, "unit", "--ignore", LEARN, "-m", "not slow"),
    "tests": (*PYTEST, *COUNTED, "tests", "--ignore", LEARN),  # those of `unit`, and the slow ones
    # A few files, one of which takes most of the time.
    "learn": (*PYTEST[:-1], "worksteal", *COUNTED, "learn", LEARN),
    "oracles": ("-m", "pytest", "-q", *COUNTED, "oracles", "lib/tests/attention/test_kernels_oracles.py"),
    "claims": ("-m", "attnsep.cli", "verify", "--compare", "--jobs", "2"),
    "ratchet": ("-m", "tools.ratchet"),
    "fallback": ("-m", "pytest", "-q", *COUNTED, "fallback", "lib/tests/test_arrays_cupy.py"),
    # nbval drives Jupyter, whose own warnings are not ours to turn into errors.
    "notebooks": (
        *PYTEST,
        "-n3",  # in place of 2: while the kernel of a notebook starts, nobody computes
        *COUNTED,
        "notebooks",
        "-p",
        "nbval",
        "--nbval",
        "--nbval-current-env",
        "-o",
        "filterwarnings=",
        "chapters",
    ),
    "book": (
        "-c",
        "import tools; from jupyter_book.cli.main import main; main()",
        "build",
        "--all",
        "-q",
        "-n",
        "-W",
        "--keep-going",
        ".",
    ),
    "pages": ("-m", "tools.pages", "_build/html"),
    "web": (*PYTEST[:-1], "worksteal", *COUNTED, "web", "--ignore", LAB, "web"),
    "lab": ("-m", "pytest", "-q", *COUNTED, "lab", LAB),
}
BESIDE = ("types", "ratchet", "book", "pages")  # one after the other, in one core
READ_THE_BOOK = ("web", "lab")
# A second array library, which promises nothing beyond the array API, stands in for a GPU.  The notebooks check every
# claim, and their lines must be those that NumPy gave.  Not part of `make test`, whose time it would nearly double.
STEPS["strict notebooks"] = STEPS["notebooks"]
# Fuzzing: random inputs, many more than the fixed ones that the unit tests take.
STEPS["fuzz"] = (*PYTEST, *COUNTED, "fuzz", "-m", "fuzz", "lib")
# A step states what must not differ between machines, and leaves alone what its tests themselves should stand.  First
# what only Python, pytest, Jupyter and Sphinx read: an empty value is as good as none.
PLAIN = {
    "MPLBACKEND": "",  # figures go into cells and files
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # nbval alone takes a second in each process
    "PYTHONDONTWRITEBYTECODE": "",  # each process would compile all tests again
    "PYTHONIOENCODING": "utf-8",  # pytest's processes tell each other the project's folder, umlauts and all
    "PYTHONOPTIMIZE": "",  # would remove the asserts that tests are made of
    "PYTHONSTARTUP": "",
    "PYTHONWARNINGS": "",
}
# The answers of claims and chapters are compared with those stored by `make notebooks`.
AS_STORED = {"ATTNSEP_BACKEND": "auto", "ATTNSEP_EVIDENCE": "", "ATTNSEP_RECORD": ""}
ENVIRONMENT = {
    "claims": AS_STORED,
    "notebooks": AS_STORED,
    "strict notebooks": AS_STORED | {"ATTNSEP_BACKEND": "array_api_strict"},
    "book": AS_STORED,
    "unit": {"ATTNSEP_FUZZ": ""},
    "tests": {"ATTNSEP_FUZZ": ""},
    "fuzz": {"ATTNSEP_FUZZ": "300"},
}


def surroundings(name, places, empty):
    """Return the environment of a step; `places` as from `writable_places`, `empty` a folder for IPython's settings."""
    inherited = kernel_environment(empty) if "notebooks" in name else os.environ
    inherited = {key: value for key, value in inherited.items() if not key.startswith("PYTEST_")}
    # Two processes share two cores: a second thread of BLAS in each would only wait.
    inherited = {"OMP_NUM_THREADS": "1"} | inherited
    # Where Python cannot read this folder's name in the user's encoding, as with LC_ALL=C and PYTHONUTF8=0.
    unreadable = {"PYTHONUTF8": "1"} if any("\udc80" <= letter <= "\udcff" for letter in str(ROOT)) else {}
    return inherited | PLAIN | unreadable | places | ENVIRONMENT.get(name, {})


def run(name, environment, **output):
    """Run one step; return its outcome, its seconds, and what it printed where `output` catches that."""
    start = time.monotonic()
    ran = subprocess.run([sys.executable, *STEPS[name]], cwd=ROOT, env=environment, **output)
    return OUTCOMES.get(ran.returncode, "FAILED"), time.monotonic() - start, ran.stdout


def run_all(names, environment_of):
    """Run the steps and yield name, outcome and seconds of each; what runs beside others is heard after them."""
    beside = [name for name in names if name in BESIDE]
    first = [name for name in names if name not in BESIDE + READ_THE_BOOK]
    last = [name for name in names if name in READ_THE_BOOK]
    if not first:
        first, beside = beside, []
    with ThreadPoolExecutor(1) as lane:
        caught = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        waiting = [lane.submit(run, name, environment_of(name), **caught) for name in beside]
        try:
            for name in first:
                print(f"--- {name}", flush=True)
                yield name, *run(name, environment_of(name))[:2]
            for name, result in zip(beside, waiting, strict=True):
                outcome, seconds, output = result.result()
                print(f"--- {name}", flush=True)
                sys.stdout.buffer.write(output)
                sys.stdout.flush()
                yield name, outcome, seconds
        except BaseException:  # Ctrl-C, say: what has not begun does not begin
            lane.shutdown(wait=False, cancel_futures=True)
            raise
    for name in last:
        print(f"--- {name}", flush=True)
        yield name, *run(name, environment_of(name))[:2]


def main(names):
    """Run the steps; a failure does not stop the later ones, but makes the exit status 1, as if nothing could run."""
    if pending():
        print(f"Nothing was run: {PENDING}.", file=sys.stderr)
        return 1
    places = writable_places()
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as evidence:

        def environment_of(name):
            # What the chapters' checks find counts: no claim runs twice.
            shared = {"ATTNSEP_EVIDENCE": evidence} if name in ("notebooks", "claims") else {}
            return surroundings(name, places, empty) | shared

        results = {name: ended for name, *ended in run_all(names, environment_of)}
    print("--- summary")
    for name in names:
        outcome, seconds = results[name]
        print(f"{name:<18}{outcome:<7}{seconds:7.0f} s")
    outcomes = [outcome for outcome, _ in results.values()]
    if "book" in results and results["book"][0] == "passed":
        print(f"open {(ROOT / '_build/html/index.html').as_uri()}")
    passed, failed, left_out = (outcomes.count(outcome) for outcome in ("passed", "FAILED", "NOT RUN"))
    print(f"{passed} passed, {failed} failed" + (f", {left_out} NOT RUN: no Chromium here" if left_out else ""))
    return int(failed > 0 or not passed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
