"""Run tests, notebooks, claims and timings on this machine's GPU and store what came out: python -m tools.gpu

It makes no environment and asks no network: it takes the Python that starts it, with the packages found there.
It takes at most MINUTES: timings and claims come first, and tests and notebooks that are not done by then are stopped,
which the result says.  A rehearsal (--backend numpy) runs the same without a GPU and writes where --result says.
"""

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from attnsep.files import require_writable, write
from tools.files import ROOT
from tools.steps import LEARN, STEPS

RESULT = ROOT / "lib/attnsep/ledger/gpu.json"
CERTIFY = ("flint", "sympy")
NBVAL = STEPS["notebooks"][STEPS["notebooks"].index("nbval") - 1 :]
GRACE = 20  # seconds that pytest has to write what it found
WORKERS = 4  # processes of pytest, where xdist is installed; each keeps some memory of the card
SIZES, WIDTHS, DTYPES = (4096, 16384, 65536), (66,), ("float64", "float32")  # at which both attentions are timed
MINUTES = 12
BY = {"claims": 0.4, "tests": 0.7, "notebooks": 0.97}  # of these minutes: when a part is stopped
MOST_WORK = {"cupy": 1e13, "numpy": 2e9}  # n²d of softmax: seconds on a GPU, a tenth of one on two cores


def main(arguments=None):
    """Run all parts; return 0 if all passed, 1 if something failed or cannot run, 2 for bad usage."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=("cupy", "numpy"), default="cupy")
    parser.add_argument("--result", default="", help=f"file to write (default: {RESULT.relative_to(ROOT)})")
    options = parser.parse_args(arguments)
    target = Path(options.result or RESULT).resolve()
    if options.backend != "cupy" and target == RESULT:
        print("make gpu: a rehearsal must not replace the stored result: name a file, RESULT=path", file=sys.stderr)
        return 2
    try:  # better known before the run than after it
        require_writable("RESULT", target)
    except ValueError as error:
        print(f"make gpu: {error}", file=sys.stderr)
        return 2
    from attnsep.arrays import namespace

    try:
        xp = namespace(options.backend)
    except RuntimeError as error:
        print(f"make gpu: {error}. Nothing was run.", file=sys.stderr)
        return 1
    os.environ["ATTNSEP_BACKEND"] = options.backend  # for the processes that are started from here
    start = time.monotonic()
    until = {part: start + 60 * MINUTES * share for part, share in BY.items()}
    result = {
        "device": device(options.backend),
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "bench": run_bench(options.backend),
        "claims": run_claims(xp, until["claims"]),
        # Trainings compute with JAX, which would take most of the card's memory for itself.
        "tests": run_pytest("lib/tests", "--ignore", LEARN, until=until["tests"]),
        "notebooks": run_pytest(*NBVAL, until=until["notebooks"])
        if find_spec("nbval") and find_spec("ipykernel")
        else None,
        "seconds": round(time.monotonic() - start),
    }
    write(target, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    problems = failures(result)
    print(f"--- summary\n{summary(result)}\nwritten: {target}")
    for problem in problems:
        print(f"make gpu: {problem}", file=sys.stderr)
    return int(bool(problems))


def device(backend):
    """Return what computes: a GPU's name, or that there is none."""
    if backend != "cupy":
        return "no GPU (a rehearsal with NumPy)"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()


# A process that a shell has put into the background ignores an interrupt, and so do those that it starts.
INTERRUPTIBLE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import pytest; sys.exit(pytest.main())"
)


def run_pytest(*words, until=math.inf):
    """Run pytest; return how many tests passed, failed and were skipped, the seconds it took, and if it was stopped."""
    print(f"--- pytest {' '.join(words)}", flush=True)
    workers = min(WORKERS, os.cpu_count() or 1) if find_spec("xdist") else 1
    shares = ("-p", "xdist", "-n", str(workers), "--dist", "loadfile") if workers > 1 else ()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-c", INTERRUPTIBLE, "-q", "-rs", f"--junitxml={report}", *shares, *words]
        code, stopped = _run_until(command, until)
        counted = counts(report.read_text(encoding="utf-8")) if report.exists() else counts("<testsuites/>")
    if code and not counted["failed"] and not stopped:  # pytest itself broke off, or found no test
        counted["failed"] = 1
    return counted | {"stopped": stopped}


def _run_until(command, until):
    """Run a command; return its exit status, and whether it was interrupted because its time was over."""
    process = subprocess.Popen(command, cwd=ROOT)
    for signal_of_end, seconds in ((None, until - time.monotonic()), (signal.SIGINT, GRACE), (signal.SIGKILL, None)):
        if signal_of_end is not None:
            process.send_signal(signal_of_end)
        try:
            status = process.wait(None if seconds in (None, math.inf) else max(0.0, seconds))
            return status, signal_of_end is not None
        except subprocess.TimeoutExpired:
            print("--- the time is over", flush=True)
    raise AssertionError("a killed process ends")


def counts(report):
    """Return what a JUnit report counts.

    Examples
    --------
    >>> counts('<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2" time="0.5"/></testsuites>')
    {'passed': 5, 'failed': 2, 'skipped': 2, 'seconds': 0.5}
    """
    suites = list(ElementTree.fromstring(report).iter("testsuite"))
    total, failures, errors, skipped, seconds = (
        sum(float(suite.get(name, 0)) for suite in suites)
        for name in ("tests", "failures", "errors", "skipped", "time")
    )
    failed = failures + errors
    found = {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}
    return {name: int(number) for name, number in found.items()} | {"seconds": seconds}


def run_claims(xp, until=math.inf):
    """Run every claim here, until the time is over, so that one that breaks off does not keep the others from running.

    `attnsep verify` would end there.  Certified claims use no arrays; where python-flint or SymPy is not there they are
    left out.
    """
    import attnsep.claims  # noqa: F401  fills the ledger
    from attnsep.ledger import framework, record

    print("--- claims", flush=True)
    rows, evidence = [], []
    absent = [name for name in CERTIFY if find_spec(name) is None]
    if absent:
        print(f"--- certified claims are left out: {', '.join(absent)} not found here")
    for entry in framework.claims():
        if absent and entry.level == "certified":
            continue
        if time.monotonic() > until:
            rows.append({"id": entry.id, "verdict": "not run: the time was over", "as_expected": None})
            continue
        try:
            evidence.append(framework.run(entry, xp))
            row = evidence[-1].to_json()
        except Exception as error:
            traceback.print_exc()
            row = {"id": entry.id, "verdict": f"broke off ({type(error).__name__})", "as_expected": False}
        rows.append({name: row[name] for name in ("id", "verdict", "as_expected")})
        print(f"{'ok  ' if row['as_expected'] else 'FAIL'} {entry.id}: {row['verdict']}", flush=True)
    return {"rows": rows, "differ_from_record": record.differences(evidence, record.read_record())}


def run_bench(backend):
    """Return what `attnsep bench --json` measures with NumPy and with the backend, by name; None where it broke off."""
    from attnsep.arrays import namespace
    from attnsep.bench import measure

    found = {}
    for name in dict.fromkeys(("numpy", backend)):
        print(f"--- bench, {name}", flush=True)
        try:
            found[name] = measure.bench(
                SIZES, WIDTHS, DTYPES, seconds=0.1, most_work=MOST_WORK[name], xp=namespace(name)
            )
        except Exception:  # what is known by now must still be written
            traceback.print_exc()
            return None
    return found


def failures(result):
    """Return one sentence for each part of a result that is not as it should be."""
    found = [
        f"{part}: {result[part]['failed']} failed"
        for part in ("tests", "notebooks")
        if result[part] and result[part]["failed"]
    ]
    rows = result["claims"]["rows"]
    found += [f"{row['id']}: {row['verdict']}, not as expected" for row in rows if row["as_expected"] is False]
    found += [] if rows else ["claims: none was run"]
    found += [] if result["bench"] else ["bench: broke off"]
    return found + result["claims"]["differ_from_record"]


def summary(result):
    """Return the closing line, which counts tests, notebook cells and claims together."""
    rows = result["claims"]["rows"]
    good, bad, none = (sum(row["as_expected"] is verdict for row in rows) for verdict in (True, False, None))
    parts = [result["tests"], result["notebooks"] or {}, {"passed": good, "failed": bad, "skipped": none}]
    return ", ".join(f"{sum(part.get(name, 0) for part in parts)} {name}" for name in ("passed", "failed", "skipped"))


if __name__ == "__main__":
    sys.exit(main())
