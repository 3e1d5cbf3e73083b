"""Check what happens where CuPy is installed and no GPU is: python -m tools.cupy_fallback

Left to itself the book computes with NumPy and says so once; asked for CuPy it stops with one clear sentence.
"""

import os
import subprocess
import sys

from attnsep.arrays import NOT_INSTALLED, namespace
from tools.files import ROOT

SENTENCE = "attnsep: CuPy is installed but cannot run here ("
# Two checks in one process: the second must not repeat the sentence.
AUTOMATIC = """
from attnsep.arrays import backend_name, namespace
from attnsep.claims import check
check("tensor-trick")
check("tensor-trick")
print(backend_name(namespace()))
"""


def run(*words, backend=None):
    """Run this Python with the words; return exit status, standard output and standard error."""
    environment = {name: value for name, value in os.environ.items() if name != "ATTNSEP_BACKEND"}
    if backend:
        environment["ATTNSEP_BACKEND"] = backend
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def automatic_problems(code, out, err):
    """Return what is wrong with a run that was left to choose for itself."""
    found = [] if code == 0 else [f"auto: exit status {code}, must be 0"]
    if out.splitlines()[-1:] != ["numpy"]:
        found.append("auto: did not compute with NumPy")
    if len(err.splitlines()) != 1 or not err.startswith(SENTENCE):
        found.append(f"auto: must say once and alone on stderr that NumPy computes, not {err!r}")
    return found


def forced_problems(code, out, err):
    """Return what is wrong with a run that was told to use CuPy."""
    found = [] if code == 2 else [f"forced cupy: exit status {code}, must be 2"]
    if out:
        found.append(f"forced cupy: must print nothing on stdout, not {out!r}")
    if len(err.splitlines()) != 1 or "CuPy cannot run here (" not in err:
        found.append(f"forced cupy: must say in one line on stderr that CuPy cannot run here, not {err!r}")
    return found


def main():
    """Run the checks; return the exit status."""
    try:
        namespace("cupy")
    except RuntimeError as error:
        if NOT_INSTALLED in str(error):
            print("CuPy is not installed here, so there is nothing to fall back from: make test-cupy", file=sys.stderr)
            return 2
    else:
        print("CuPy runs here. This check is for machines without a GPU, so it is left out.")
        return 0
    automatic = run("-c", AUTOMATIC)
    by_option = run("-m", "attnsep.cli", "verify", "--backend", "cupy")
    by_variable = run("-m", "attnsep.cli", "verify", backend="cupy")
    print(f"auto:        {automatic[2]}forced cupy: {by_option[2]}", end="")
    problems = [
        *automatic_problems(*automatic),
        *forced_problems(*by_option),
        *forced_problems(*by_variable),
    ]
    for problem in problems:
        print(problem, file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
