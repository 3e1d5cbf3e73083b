"""Run tests, claims and notebooks on this machine's GPU and store what came out: python -m tools.gpu

It makes no environment and asks no network: it takes the Python that starts it, with the packages found there.
A rehearsal (--backend numpy) runs the same without a GPU and writes where --result says.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from tools.files import ROOT, require_writable, write
from tools.steps import LEARN

RESULT = ROOT / "lib/attnsep/ledger/gpu.json"
NEEDED = ("numpy", "pytest", "matplotlib", "array_api_compat")
JUPYTER = ("nbval", "nbformat", "ipykernel")
CERTIFY = ("flint", "sympy")
N = 10**6  # tokens in a timing
ROUNDS = 11
WORKERS = 4  # processes of pytest, where xdist is installed; each keeps some memory of the card
# Attention beside PyTorch's on the same device; d = 66.
ATTENTION = {
    "cupy": {"float64": (4096, 16384, 65536), "float32": (16384, 262144)},
    "numpy": {"float64": (256,)},
}


def main(arguments=None):
    """Run all parts; return 0 if all passed, 1 if something failed or cannot run, 2 for bad usage."""
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--backend", choices=("cupy", "numpy"), default="cupy")
    parser.add_argument("--compat", default="", help="folder that holds array_api_compat, if it is not installed")
    parser.add_argument("--result", default="", help=f"file to write (default: {RESULT.relative_to(ROOT)})")
    options = parser.parse_args(arguments)
    target = Path(options.result or RESULT).resolve()
    if options.backend != "cupy" and target == RESULT:
        print("make gpu: a rehearsal must not replace the stored result: name a file, RESULT=path", file=sys.stderr)
        return 2
    prepare(options.backend, options.compat)
    sentence = missing()
    if sentence:
        print(sentence, file=sys.stderr)
        return 1
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
    result = machine(options.backend)
    print(f"--- {result['device']}, {', '.join(f'{name} {number}' for name, number in result['versions'].items())}")
    # Trainings compute with JAX, which would take most of the card's memory for itself.
    result["tests"] = run_pytest("lib/tests", "--ignore", LEARN)
    result["notebooks"] = run_notebooks()
    result["claims"] = run_claims(xp)
    result |= {"timings": [], "timings_broke_off": False}
    try:
        result["timings"] += timings(options.backend)
        for dtype, sizes in ATTENTION[options.backend].items():
            result["timings"] += attention_timings(options.backend, dtype, sizes)
    except Exception:  # what is known by now must still be written
        traceback.print_exc()
        result["timings_broke_off"] = True
    write(target, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    problems = failures(result)
    print(f"--- summary\n{summary(result)}\nwritten: {target}")
    for problem in problems:
        print(f"make gpu: {problem}", file=sys.stderr)
    return int(bool(problems))


def prepare(backend, compat=""):
    """Let this process and those that it starts find the library and use the backend."""
    folders = [str(ROOT / "lib"), *([str(Path(compat).resolve())] if compat else [])]
    sys.path[:0] = folders
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["ATTNSEP_BACKEND"] = backend


def missing(names=NEEDED):
    """Return one sentence about packages that are not there, or None."""
    absent = [name for name in names if find_spec(name) is None]
    if not absent:
        return None
    hint = "; array_api_compat may lie in a folder: make gpu COMPAT=folder" if "array_api_compat" in absent else ""
    return f"make gpu: {sys.executable} lacks {', '.join(absent)}{hint}."


def machine(backend):
    """Return what the run says about itself: device, day (UTC), cores and versions."""
    import numpy

    versions = {"Python": platform.python_version(), "NumPy": numpy.__version__}
    try:
        versions["array-api-compat"] = version("array_api_compat")
    except PackageNotFoundError:  # a bare folder has no metadata
        import array_api_compat

        versions["array-api-compat"] = array_api_compat.__version__
    device = "no GPU (a rehearsal with NumPy)"
    if backend == "cupy":
        import cupy

        cuda = cupy.cuda.runtime
        device = cuda.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
        versions["CuPy"] = cupy.__version__
        versions["CUDA runtime"] = cuda_version(cuda.runtimeGetVersion())
        versions["CUDA driver"] = cuda_version(cuda.driverGetVersion())
    day = time.strftime("%Y-%m-%d", time.gmtime())
    return {"device": device, "backend": backend, "date": day, "cores": os.cpu_count(), "versions": versions}


def cuda_version(number):
    """Return CUDA's number as people write it.

    Examples
    --------
    >>> cuda_version(12080)
    '12.8'
    """
    return f"{number // 1000}.{number % 1000 // 10}"


def run_pytest(*words):
    """Run pytest; return how many tests passed, failed and were skipped, and the seconds it took."""
    print(f"--- pytest {' '.join(words)}", flush=True)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-rs", f"--junitxml={report}", *shares(), *words]
        code = subprocess.run(command, cwd=ROOT).returncode
        counted = counts(report.read_text(encoding="utf-8")) if report.exists() else counts("<testsuites/>")
    if code and not counted["failed"]:  # pytest itself broke off, or found no test
        counted["failed"] = 1
    return {**counted, "seconds": round(time.perf_counter() - start, 1)}


def shares():
    """Return the words that let processes of pytest share the files, if they can."""
    workers = min(WORKERS, os.cpu_count() or 1)
    return ("-p", "xdist", "-n", str(workers), "--dist", "loadfile") if find_spec("xdist") and workers > 1 else ()


def counts(report):
    """Return what a JUnit report counts.

    Examples
    --------
    >>> counts('<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2"/></testsuites>')
    {'passed': 5, 'failed': 2, 'skipped': 2}
    """
    total = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in ElementTree.fromstring(report).iter("testsuite"):
        for name in total:
            total[name] += int(suite.get(name, 0))
    failed = total["failures"] + total["errors"]
    return {"passed": total["tests"] - failed - total["skipped"], "failed": failed, "skipped": total["skipped"]}


def run_notebooks():
    """Run the chapters against their stored outputs; None where Jupyter is not there."""
    absent = [name for name in JUPYTER if find_spec(name) is None]
    if absent:
        print(f"--- notebooks are left out: {', '.join(absent)} not found here")
        return None
    return run_pytest("-p", "nbval", "--nbval", "--nbval-current-env", "-o", "filterwarnings=", "chapters")


def run_claims(xp):
    """Run every claim; one that breaks off does not keep the others from running.

    Certified claims use no arrays; where python-flint or SymPy is not there they are left out.
    """
    from attnsep.ledger import framework, record

    print("--- claims", flush=True)
    start, rows, evidence = time.perf_counter(), [], []
    absent = [name for name in CERTIFY if find_spec(name) is None]
    if absent:
        print(f"--- certified claims are left out: {', '.join(absent)} not found here")
    for entry in framework.claims():
        if absent and entry.level == "certified":
            continue
        begun = time.perf_counter()
        try:
            item = framework.run(entry, xp)
        except Exception as error:
            traceback.print_exc()
            row = {"id": entry.id, "verdict": f"broke off ({type(error).__name__})", "as_expected": False}
        else:
            evidence.append(item)
            row = {"id": entry.id, "verdict": item.verdict, "as_expected": item.as_expected}
        rows.append({**row, "seconds": round(time.perf_counter() - begun, 3)})
        print(f"{'ok  ' if row['as_expected'] else 'FAIL'} {entry.id}: {row['verdict']}", flush=True)
    differing = record.differences(evidence, record.read_record())
    return {"rows": rows, "differ_from_record": differing, "seconds": round(time.perf_counter() - start, 1)}


def timings(backend):
    """Return median milliseconds of core functions, NumPy and the backend in turns on the same data."""
    import numpy as np

    from attnsep.arrays import namespace
    from attnsep.attention.attend import query_scores
    from attnsep.attention.kernels import linear, softmax

    print("--- timings", flush=True)
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.1, 5.0, N)
    work = [
        ("softmax", softmax, (scores,)),
        ("linear", linear, (scores,)),
        ("query_scores, d = 16", query_scores, (rng.standard_normal((N, 16)), rng.standard_normal(16))),
    ]
    names = list(dict.fromkeys(("numpy", backend)))
    rows = []
    for name, function, data in work:
        arrays = {library: [namespace(library).asarray(array) for array in data] for library in names}
        seconds = {library: [] for library in names}
        for _ in range(ROUNDS + 2):  # the first two rounds compile kernels and fill caches
            for library in names:
                seconds[library].append(timed(function, arrays[library], synchroniser(library)))
        medians = {library: float(f"{1000 * statistics.median(times[2:]):.3g}") for library, times in seconds.items()}
        rows.append({"function": name, "n": N, "milliseconds": medians})
    return rows


def attention_timings(backend, dtype, sizes):
    """Return median milliseconds of both attentions, ours and PyTorch's, and the MiB that each adds at its peak."""
    from attnsep.arrays import namespace
    from attnsep.bench import measure

    print(f"--- attention, {dtype}", flush=True)
    found = {}
    for row in measure.bench(sizes, (66,), (dtype,), most_work=1e13, xp=namespace(backend))["rows"]:
        kind = f"{row['mechanism']} attention, d = {row['d']}, {dtype}"
        entry = found.setdefault((kind, row["n"]), {"function": kind, "n": row["n"], "milliseconds": {}})
        entry["milliseconds"][row["library"]] = float(f"{1000 * row['median']:.3g}")
        if row["memory"] is not None:
            entry.setdefault("mebibytes", {})[row["library"]] = round(row["memory"] / 2**20)
    return list(found.values())


def synchroniser(library):
    """Return what waits for a GPU to finish; a call returns before its work is done."""
    if library != "cupy":
        return lambda: None
    import cupy

    return cupy.cuda.get_current_stream().synchronize


def timed(function, arrays, synchronise):
    """Return the seconds of one call, from an idle device to an idle device."""
    synchronise()
    start = time.perf_counter()
    function(*arrays)
    synchronise()
    return time.perf_counter() - start


def failures(result):
    """Return one sentence for each part of a result that is not as it should be."""
    found = [
        f"{part}: {result[part]['failed']} failed"
        for part in ("tests", "notebooks")
        if result[part] and result[part]["failed"]
    ]
    rows = result["claims"]["rows"]
    found += [f"{row['id']}: {row['verdict']}, not as expected" for row in rows if not row["as_expected"]]
    if not rows:
        found.append("claims: none was run")
    if result["timings_broke_off"]:
        found.append("timings: broke off")
    return found + result["claims"]["differ_from_record"]


def summary(result):
    """Return the closing lines; the last one counts tests, notebook cells and claims together."""
    parts = [result["tests"], *([result["notebooks"]] if result["notebooks"] else [])]
    rows = result["claims"]["rows"]
    good = sum(row["as_expected"] for row in rows)
    lines = [
        f"{row['function']}, n = {row['n']}: "
        + ", ".join(f"{name} {ms} ms" for name, ms in row["milliseconds"].items())
        for row in result["timings"]
    ]
    passed = sum(part["passed"] for part in parts) + good
    failed = sum(part["failed"] for part in parts) + len(rows) - good
    skipped = sum(part["skipped"] for part in parts)
    return "\n".join([*lines, f"{passed} passed, {failed} failed, {skipped} skipped"])


if __name__ == "__main__":
    sys.exit(main())
