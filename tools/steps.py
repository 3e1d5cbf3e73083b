"""Run named steps, each to its end, and sum up: python -m tools.steps format lint unit"""

import os
import subprocess
import sys
import time

from tools.files import PENDING, ROOT, pending

PYTEST = ("-m", "pytest", "-q", "-n", "2", "--dist", "loadfile")
LEARN = "lib/tests/learn"  # training takes a minute, too long for daily life
STEPS = {
    "format": ("-m", "ruff", "format", "--check", "."),
    "lint": ("-m", "ruff", "check", "."),
    "unit": (*PYTEST, "--ignore", LEARN),
    "learn": (*PYTEST, LEARN),
    "oracles": ("-m", "pytest", "-q", "lib/tests/test_oracles.py"),
    "claims": ("-m", "attnsep.cli", "verify", "--compare", "--jobs", "2"),
    "fallback": ("-m", "tools.cupy_fallback"),
    # nbval drives Jupyter, whose own warnings are not ours to turn into errors.
    "notebooks": (*PYTEST, "--nbval", "--nbval-current-env", "-o", "filterwarnings=", "chapters"),
    "book": (
        "-c",
        "from jupyter_book.cli.main import main; main()",
        "build",
        "--all",
        "-q",
        "-n",
        "-W",
        "--keep-going",
        ".",
    ),
    "pages": ("-m", "tools.pages", "_build/html"),
}
# A second array library, which promises nothing beyond the array API, stands in for a GPU.  The notebooks check every
# claim, and their lines must be those that NumPy gave.  Not part of `make test`, whose time it would nearly double.
STEPS["strict notebooks"] = STEPS["notebooks"]
# Fuzzing: random inputs, many more than the fixed ones that the unit tests take.
STEPS["fuzz"] = (*PYTEST, "lib/tests/test_fuzz.py", "lib/tests/test_fuzz_cli.py")
ENVIRONMENT = {"strict notebooks": {"ATTNSEP_BACKEND": "array_api_strict"}, "fuzz": {"ATTNSEP_FUZZ": "300"}}


def main(names):
    """Run the steps; a failure does not stop the later ones, but makes the exit status 1."""
    if pending():
        print(f"Nothing was run: {PENDING}.", file=sys.stderr)
        return 1
    results = []
    for name in names:
        print(f"--- {name}", flush=True)
        start = time.monotonic()
        environment = os.environ | ENVIRONMENT.get(name, {})
        code = subprocess.run([sys.executable, *STEPS[name]], cwd=ROOT, env=environment).returncode
        results.append((name, code == 0, time.monotonic() - start))
    print("--- summary")
    for name, passed, seconds in results:
        print(f"{name:<18}{'passed' if passed else 'FAILED'}{seconds:8.0f} s")
    if ("book", True) in [result[:2] for result in results]:
        print(f"open {(ROOT / '_build/html/index.html').as_uri()}")
    failed = sum(not passed for _, passed, _ in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
