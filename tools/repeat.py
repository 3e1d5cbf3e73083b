"""Repeat what must not depend on luck or on the machine: python -m tools.repeat [reruns] [seeds] [notebooks] [kills]

reruns: `attnsep verify` in three environments, on two array libraries, with one and two threads: the same text.
seeds: `attnsep verify` with other random draws: every verdict and every control as expected.
notebooks: every chapter executed twice: the same file.
kills: what `tools.interrupt` does, 800 times.
"""

import os
import subprocess
import sys
import time
from itertools import chain, cycle, islice, product

from tools import interrupt
from tools.files import CHAPTERS, ROOT
from tools.notebooks import executed

RERUNS = SEEDS = 20
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CONFIGURATIONS = tuple(product((".venv", ".venv-oldest", ".venv-newest"), ("numpy", "array_api_strict"), (1, 2)))


def verified(environment, *words, threads=2):
    """Return the exit status and the text of `attnsep verify` in one of the project's environments."""
    command = [ROOT / environment / "bin" / "python", "-m", "attnsep.cli", "verify", *words]
    settings = os.environ | dict.fromkeys(THREADS, str(threads))
    run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def reruns():
    """Yield what differs between runs of the same claims in other surroundings."""
    first = None
    for environment, backend, threads in islice(cycle(CONFIGURATIONS), RERUNS):
        where = f"{environment}, {backend}, {threads} threads"
        status, text = verified(environment, "--backend", backend, threads=threads)
        if status:
            yield f"{where}: exit status {status}\n{text}"
        lines = set(text.splitlines())
        first = first or lines
        yield from (f"{where}: {line}" for line in lines ^ first)
        said(where)


def seeds():
    """Yield the claims that are not as expected with other draws."""
    for seed in range(1, SEEDS + 1):
        status, text = verified(".venv", "--jobs", "2", "--seeds", str(seed))
        if status:
            lines = [line for line in text.splitlines() if not line.startswith("ok ")]
            yield f"seeds {seed}: exit status {status}\n" + "\n".join(lines)
        said(f"seeds {seed}")


def notebooks():
    """Yield the chapters that two executions turn into two files."""
    for path in sorted(CHAPTERS.glob("*.ipynb")):
        if executed(path) != executed(path):
            yield f"{path.name}: two executions differ"
        said(path.stem)


def kills():
    """Yield a sentence if a killed verb leaves something wrong."""
    if interrupt.main():
        yield "kills: see above"


PARTS = {"reruns": reruns, "seeds": seeds, "notebooks": notebooks, "kills": kills}
START = time.monotonic()


def said(what):
    """Print what is done and the time it took so far."""
    print(f"{time.monotonic() - START:6.0f} s  {what}", flush=True)


def main(names):
    """Run the parts (all of them if none is named); return 1 if anything differs."""
    found = 0
    for problem in chain.from_iterable(PARTS[name]() for name in names or PARTS):
        print(problem, file=sys.stderr, flush=True)  # as it comes: all parts together take an hour
        found += 1
    print(f"{len(names or PARTS)} parts, {found} differences")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
