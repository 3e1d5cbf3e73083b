"""Kill the verbs that store files, and look at what is left: python -m tools.interrupt [kills] [seed]

Each verb runs its own code that writes, over and over in a process of its own, on a small tree; what takes long
(claims, chapters, tests, the package index) is replaced by texts that name their version.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import redirect_stdout
from itertools import count
from pathlib import Path
from threading import RLock
from types import SimpleNamespace

from tqdm import tqdm

from attnsep.bench import cost
from tools import files, gpu, lock, notebooks

README = "<!-- status -->\n0\n<!-- end of status -->\n"
SIGNALS = (signal.SIGKILL, signal.SIGINT)
LINES = 3000


def text(version):
    """Return a text whose every line names its version, so that half of one shows."""
    return f"{version}\n" * LINES


def store_notebooks(version):
    """Run `make notebooks` with chapters and claims that take no time."""
    notebooks.verify = lambda **options: []
    notebooks.record_text = lambda evidence: text(version)
    notebooks.record_path = lambda: files.ROOT / "record.json"
    notebooks.ratchet_with = lambda record, reasons: (text(version), [])
    notebooks.ratchet_path = lambda: files.ROOT / "ratchet.jsonl"
    notebooks.executed = lambda path: text(version)
    notebooks.unfit = lambda path, text: []
    notebooks.picture = lambda text, name: text.encode()
    notebooks.status_line = lambda: text(version).rstrip()
    notebooks.main()


def store_lock(version):
    """Run `make lock` with an index that answers at once."""
    lock.subprocess = SimpleNamespace(run=lambda *_, **__: SimpleNamespace(stdout=text(version)))
    lock.main()


def store_bench(version):
    """Write what `attnsep bench --out` writes."""
    row = {"version": version, "median": 1.0}
    cost.write_result(files.ROOT / "bench.json", {"version": version, "rows": [row] * LINES})


def store_gpu(version):
    """Run `make gpu` with tests, claims and timings that take no time."""
    rows = [{"id": version, "verdict": "holds", "as_expected": True}] * LINES
    counted = {"passed": version, "failed": 0, "skipped": 0}
    for name, found in {
        "prepare": None,
        "missing": None,
        "machine": {"device": str(version), "versions": {}},
        "run_pytest": counted,
        "run_notebooks": counted,
        "run_claims": {"rows": rows, "differ_from_record": []},
        "timings": [{"function": "f", "n": 1, "milliseconds": {"numpy": 1.0}}],
    }.items():
        setattr(gpu, name, lambda *_, found=found, **__: found)
    gpu.main(["--backend", "numpy", "--result", str(files.ROOT / "gpu.json")])


VERBS = {"notebooks": store_notebooks, "lock": store_lock, "bench": store_bench, "gpu": store_gpu}


def versions_in(path):
    """Return the set of versions of a file's lines, or None where the file is not whole."""
    content = path.read_text(encoding="utf-8")
    if path.suffix == ".json" and path.stem != "record":
        result = json.loads(content)
        rows = result["rows"] if "rows" in result else result["claims"]["rows"]
        return {row.get("version", row.get("id")) for row in rows} if len(rows) == LINES else None
    lines = [int(line) for line in content.splitlines() if line.isdecimal()]
    return set(lines) if len(lines) == LINES else None


def make_tree(folder):
    """Make a small tree, and let the verbs work on it."""
    files.ROOT = notebooks.ROOT = lock.ROOT = folder
    files.STAGE, notebooks.CHAPTERS = folder / ".storing", folder / "chapters"
    for name in ("chapters", "assets"):
        (folder / name).mkdir()
    for name in (notebooks.PICTURE[0], "index", "ledger", "a", "b", "c"):
        (folder / "chapters" / f"{name}.ipynb").touch()
    (folder / "README.md").write_text(README)


def kill(store, first, delay, sign):
    """Let a process store version after version from `first` on, and kill it after `delay` seconds."""
    child = os.fork()
    if child == 0:
        try:
            with open(os.devnull, "w") as nowhere:
                sys.stdout = sys.stderr = nowhere
                for version in count(first):
                    store(version)
        finally:
            os._exit(1)
    time.sleep(delay)
    os.kill(child, sign)
    for _ in range(200):  # Python drops a KeyboardInterrupt that comes while it tidies up
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def main(kills="200", seed="0"):
    """Kill each verb so often; return 1 at the first thing that is left wrong."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may ignore it
    tqdm.set_lock(RLock())  # its own is shared with the processes: one killed while it holds it would stop us for ever
    rng, mixed, stray = random.Random(int(seed)), 0, 0
    for verb, store in VERBS.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_tree(folder)
            kill_free(store, 1)
            whole = sorted(path for path in folder.rglob("*") if path.is_file())
            stored = [path for path in whole if path.stat().st_size > len(README)]
            first = 1
            for number in range(int(kills)):
                kill(store, first, rng.uniform(0, 0.12 if verb == "notebooks" else 0.03), SIGNALS[number % 2])
                found = [versions_in(path) for path in stored]
                if not all(found) or any(len(versions) != 1 for versions in found):
                    return complain(verb, number, "a file is not whole")
                if len(set().union(*found)) > 1:
                    mixed += 1
                    if not files.pending():
                        return complain(verb, number, "files of two versions, and no plan to complete them")
                stray += sorted(path for path in folder.rglob("*") if path.is_file()) != whole
                files.finish()
                found = set().union(*(versions_in(path) for path in stored))
                if len(found) > 1:
                    return complain(verb, number, "files of two versions after `finish`")
                first = max(found) + 1
            kill_free(store, first)
            if sorted(path for path in folder.rglob("*") if path.is_file()) != whole:
                return complain(verb, number, "files are left over after the next run")
    print(f"{int(kills) * len(VERBS)} kills over {', '.join(VERBS)}: no file was left half-written")
    print(f"{mixed} cut a set of files in two, {stray} left something beside them; the next run mended all of it")
    return 0


def kill_free(store, version):
    """Store one version without being killed and without its messages."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        store(version)


def complain(verb, number, what):
    """Say what was found wrong; return the exit status."""
    print(f"{verb}, kill {number}: {what}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
