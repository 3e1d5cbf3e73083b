"""Child processes of tests: what they inherit is stated, so that no variable of the machine's changes a result."""

import os
import subprocess
import sys

KEPT = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "TMPDIR")
STATED = {"OMP_NUM_THREADS": "1"}  # small products: starting threads would take a third of a child's time


def run(*words, text=True, input=None, cwd=None, **environment):
    """Run Python with these words and with no variables but those of `KEPT`, `STATED` and the ones given here."""
    environment = {name: os.environ[name] for name in KEPT if name in os.environ} | STATED | environment
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=text, input=input, cwd=cwd, env=environment, timeout=300
    )
