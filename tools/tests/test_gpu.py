import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import attnsep.claims  # noqa: F401  fills the ledger
from attnsep.arrays import namespace
from attnsep.checks import text_of
from attnsep.ledger import framework, tables
from lib.tests.fuzzing import hurry
from tools import gpu

PART = {"passed": 5, "failed": 0, "skipped": 1, "seconds": 0.1}
ROWS = {
    "good": {"id": "one", "verdict": "holds", "as_expected": True},
    "bad": {"id": "two", "verdict": "broke off (TypeError)", "as_expected": False},
    "none": {"id": "three", "verdict": "not run: the time was over", "as_expected": None},
}
STANDING = SimpleNamespace(monotonic=lambda: 1000.0, strftime=time.strftime, gmtime=lambda: time.gmtime(86400))


@pytest.fixture
def quick(monkeypatch, contenders_here):
    """The whole run without its slow parts, and without a trace in this process."""
    monkeypatch.setenv("ATTNSEP_BACKEND", "numpy")
    monkeypatch.setattr(gpu, "run_pytest", lambda *words, until: dict(PART))
    monkeypatch.setattr(gpu, "SIZES", (64,))
    monkeypatch.setattr("attnsep.bench.measure.find_spec", lambda name: None)  # PyTorch takes seconds to load
    hurry(monkeypatch)
    first = framework.claims()[:2]
    monkeypatch.setattr(framework, "claims", lambda: first)
    monkeypatch.setattr("attnsep.ledger.record.differences", lambda evidence, record: [])


def rehearse(path):
    return gpu.main(["--backend", "numpy", "--result", str(path)])


@pytest.mark.slow
def test_a_rehearsal_writes_what_the_page_reads(quick, tmp_path, capsys):
    path = tmp_path / "gpu.json"
    assert rehearse(path) == 0
    result = json.loads(path.read_text())
    assert result["tests"] == PART
    assert [row["verdict"] for row in result["claims"]["rows"]] == ["holds", "holds"]
    assert {(row["library"], row["n"]) for row in result["bench"]["numpy"]["rows"]} == {("attnsep", 64), ("NumPy", 64)}
    assert "2 of" in repr(tables.gpu_table(path))
    assert capsys.readouterr().out.splitlines()[-2] == "12 passed, 0 failed, 2 skipped"


@pytest.mark.parametrize("jupyter", [("nbval", "ipykernel"), ("nbval",), ("ipykernel",)])
@pytest.mark.parametrize("failed", [0, 3])
def test_each_part_gets_its_share_of_the_time_and_has_its_say(monkeypatch, tmp_path, capsys, jupyter, failed):
    """Without its parts, in a time that stands still; notebooks run only where all that they need is found."""
    path, asked, claims = tmp_path / "gpu.json", [], {"rows": [ROWS["good"]], "differ_from_record": ["a line differs"]}
    monkeypatch.setenv("ATTNSEP_BACKEND", "auto")
    monkeypatch.setattr(gpu, "time", STANDING)
    monkeypatch.setattr(gpu, "find_spec", lambda name: name in jupyter or None)
    monkeypatch.setattr(gpu, "run_bench", lambda backend: {backend: {}})
    monkeypatch.setattr(gpu, "run_claims", lambda xp, until: asked.append((until, xp.__name__)) or claims)
    monkeypatch.setattr(
        gpu, "run_pytest", lambda *words, until: asked.append((until, *words)) or PART | {"failed": failed}
    )
    problems = [f"{part}: 3 failed" for part in ("tests", "notebooks")[: len(jupyter)]] if failed else []
    assert rehearse(path) == 1
    assert os.environ["ATTNSEP_BACKEND"] == "numpy"  # for the processes that the parts start
    (claims_end, tests_end, *notebooks_end), words = zip(*[(until, words) for until, *words in asked], strict=True)
    assert words[0] == [namespace("numpy").__name__]
    assert words[1:] == (["lib/tests", "--ignore", gpu.LEARN], [*gpu.NBVAL])[: len(jupyter)]
    assert gpu.NBVAL[:3] == ("-p", "nbval", "--nbval")
    ends = [1000, claims_end, tests_end, *notebooks_end]
    assert min(end - before for before, end in itertools.pairwise(ends)) >= 120, "each gets two minutes at least"
    assert ends[-1] + gpu.GRACE <= 1000 + 60 * gpu.MINUTES
    part = PART | {"failed": failed}
    result = json.loads(path.read_text(encoding="utf-8"))
    assert result == {
        "device": "no GPU (a rehearsal with NumPy)",
        "date": "1970-01-02",
        "bench": {"numpy": {}},
        "claims": claims,
        "tests": part,
        "notebooks": part if len(jupyter) == 2 else None,
        "seconds": 0,
    }
    said = capsys.readouterr()
    assert said.out == f"--- summary\n{gpu.summary(result)}\nwritten: {path}\n"
    assert said.err == "".join(f"make gpu: {problem}\n" for problem in [*problems, "a line differs"])


def test_a_rehearsal_does_not_replace_the_stored_result(quick, capsys):
    why = "make gpu: a rehearsal must not replace the stored result: name a file, RESULT=path\n"
    for words in ([], ["--result", str(gpu.RESULT)], ["--result", f"{gpu.RESULT.parent}/../ledger/gpu.json"]):
        assert gpu.main(["--backend", "numpy", *words]) == 2
        assert capsys.readouterr() == ("", why)


def test_a_place_that_cannot_be_written_to_is_named_before_anything_runs(quick, tmp_path, capsys):
    for path, why in ((tmp_path / "none" / "gpu.json", "its folder does not exist"), (tmp_path, "it is a folder")):
        assert rehearse(path) == 2
        sentence = f"make gpu: RESULT = {text_of(str(path))}: cannot be written ({why})\n"
        assert capsys.readouterr() == ("", sentence)


def test_without_cupy_nothing_runs_and_one_sentence_says_why(quick, monkeypatch, tmp_path, capsys):
    def cannot(backend=None):
        raise RuntimeError("CuPy cannot run here (no driver)")

    monkeypatch.setattr("attnsep.arrays.namespace", cannot)
    assert gpu.main(["--result", str(tmp_path / "gpu.json")]) == 1
    assert capsys.readouterr() == ("", "make gpu: CuPy cannot run here (no driver). Nothing was run.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_claim_that_breaks_off_fails_alone(quick, monkeypatch, tmp_path, capsys):
    whole, first = framework.run, framework.claims()[0]

    def run(entry, xp):
        if entry is first:
            raise TypeError("implicit conversion")
        return whole(entry, xp)

    monkeypatch.setattr(framework, "run", run)
    assert rehearse(tmp_path / "gpu.json") == 1
    rows = json.loads((tmp_path / "gpu.json").read_text())["claims"]["rows"]
    assert [row["verdict"] for row in rows] == ["broke off (TypeError)", "holds"]
    assert f"{first.id}: broke off (TypeError), not as expected" in capsys.readouterr().err


def test_timings_that_break_off_keep_the_rest(quick, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("attnsep.bench.measure._timed", lambda *_: 1 / 0)
    assert rehearse(tmp_path / "gpu.json") == 1
    result = json.loads((tmp_path / "gpu.json").read_text())
    assert (result["bench"], len(result["claims"]["rows"])) == (None, 2)
    assert "bench: broke off" in capsys.readouterr().err


@pytest.mark.slow
def test_pytest_is_counted_and_its_breaking_off_is_a_failure(tmp_path):
    good = tmp_path / "test_good.py"
    good.write_text("import pytest\ndef test_a(): pass\n@pytest.mark.skip\ndef test_b(): pass\n")
    counted = gpu.run_pytest(str(good))
    assert (counted["passed"], counted["failed"], counted["skipped"]) == (1, 0, 1)
    assert gpu.run_pytest(str(tmp_path / "none"))["failed"] == 1


@pytest.mark.slow
def test_pytest_that_takes_too_long_is_stopped_and_what_it_did_counts(tmp_path, monkeypatch):
    """Its time is over once its second test has begun, however long it took to get there; also in the background."""
    slow, begun = tmp_path / "test_slow.py", tmp_path / "begun"
    slow.write_text(
        "import pathlib, time\n"
        "def test_a(): pass\n"
        f"def test_b():\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(600)\n"
    )

    class Begins(subprocess.Popen):
        def wait(self, timeout=None):
            while self.poll() is None and not begun.exists():
                time.sleep(0.05)
            return super().wait(0.1 if timeout and timeout > gpu.GRACE else timeout)

    monkeypatch.setattr(gpu.subprocess, "Popen", Begins)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for what a shell has put there
    try:
        counted = gpu.run_pytest(str(slow), "-p", "no:xdist", until=time.monotonic() + 300)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (counted["passed"], counted["failed"], counted["stopped"]) == (1, 0, True)


@pytest.mark.parametrize(
    ("xdist", "cpus", "workers"),
    [(True, 2, 2), (True, 64, gpu.WORKERS), (True, 1, None), (True, None, None), (False, 64, None)],
)
def test_pytest_takes_as_many_processes_as_it_may(monkeypatch, xdist, cpus, workers):
    ran = []

    def run_until(command, until):
        ran.append((command, until))
        (report,) = [word for word in command if word.startswith("--junitxml=")]
        suite = '<testsuite tests="9" failures="0" errors="0" skipped="2" time="0.5"/>'
        Path(report.partition("=")[2]).write_text(suite)
        return 0, False

    monkeypatch.setattr(gpu, "find_spec", lambda name: (xdist and name == "xdist") or None)
    monkeypatch.setattr(gpu.os, "cpu_count", lambda: cpus)
    monkeypatch.setattr(gpu, "_run_until", run_until)
    counted = gpu.run_pytest("lib/tests", "-x", until=3.0)
    assert counted == {"passed": 7, "failed": 0, "skipped": 2, "seconds": 0.5, "stopped": False}
    (((python, _, code, *words), until),) = ran
    assert (python, code, until) == (sys.executable, gpu.INTERRUPTIBLE, 3.0)
    shares = ["-p", "xdist", "-n", str(workers), "--dist", "loadfile"] if workers else []
    assert words == ["-q", "-rs", words[2], *shares, "lib/tests", "-x"]


@pytest.mark.parametrize(
    ("code", "stopped", "failures", "failed"), [(4, False, 0, 1), (2, True, 0, 0), (1, False, 2, 2), (2, True, 2, 2)]
)
def test_pytest_that_breaks_off_failed_unless_it_was_stopped(monkeypatch, code, stopped, failures, failed):
    """Without a report, as where it found no test or was killed, or with what it found."""

    def run_until(command, until):
        if failures:
            (report,) = [word for word in command if word.startswith("--junitxml=")]
            Path(report.partition("=")[2]).write_text(f'<testsuite tests="{failures}" failures="{failures}"/>')
        return code, stopped

    monkeypatch.setattr(gpu, "_run_until", run_until)
    counted = gpu.run_pytest("lib/tests")
    assert counted == {"passed": 0, "failed": failed, "skipped": 0, "seconds": 0, "stopped": stopped}


@pytest.mark.parametrize(
    ("until", "waits", "signals"),
    [
        (float("inf"), [None], []),
        (1030.0, [30.0], []),
        (1030.0, [30.0, gpu.GRACE], [signal.SIGINT]),
        (990.0, [0.0, gpu.GRACE, None], [signal.SIGINT, signal.SIGKILL]),
    ],
)
def test_a_process_whose_time_is_over_is_interrupted_and_then_killed(monkeypatch, capsys, until, waits, signals):
    """It ends during the last of the waits."""
    waited, sent, started = [], [], []

    class Process:
        send_signal = sent.append

        def __init__(self, command, cwd):
            started.append((command, cwd))

        def wait(self, timeout):
            waited.append(timeout)
            if len(waited) < len(waits):
                raise subprocess.TimeoutExpired("a command", timeout)
            return 7

    monkeypatch.setattr(gpu, "time", STANDING)
    monkeypatch.setattr(gpu.subprocess, "Popen", Process)
    assert gpu._run_until(["a command"], until) == (7, bool(signals))
    assert (started, waited, sent) == ([(["a command"], gpu.ROOT)], waits, signals)
    assert capsys.readouterr().out == "--- the time is over\n" * len(signals)


def test_claims_for_which_no_time_is_left_are_named_and_do_not_fail(quick, capsys):
    found = gpu.run_claims(namespace("numpy"), until=0)
    assert [row["verdict"] for row in found["rows"]] == ["not run: the time was over"] * 2
    result = {"tests": PART, "notebooks": None, "claims": found, "bench": {"numpy": {}}}
    assert gpu.failures(result) == []
    assert gpu.summary(result) == "5 passed, 0 failed, 3 skipped"


@pytest.mark.parametrize(
    ("changes", "problems", "closing"),
    [
        ({}, [], "12 passed, 0 failed, 2 skipped"),
        ({"notebooks": None}, [], "7 passed, 0 failed, 1 skipped"),
        ({"tests": PART | {"failed": 2}}, ["tests: 2 failed"], "12 passed, 2 failed, 2 skipped"),
        ({"notebooks": PART | {"failed": 1}}, ["notebooks: 1 failed"], "12 passed, 1 failed, 2 skipped"),
        ({"bench": None}, ["bench: broke off"], "12 passed, 0 failed, 2 skipped"),
        (
            {"claims": {"rows": [*ROWS.values()], "differ_from_record": ["one: differs"]}},
            ["two: broke off (TypeError), not as expected", "one: differs"],
            "11 passed, 1 failed, 3 skipped",
        ),
        (
            {"claims": {"rows": [], "differ_from_record": []}},
            ["claims: none was run"],
            "10 passed, 0 failed, 2 skipped",
        ),
    ],
)
def test_every_part_that_is_not_as_it_should_be_is_named_and_counted(changes, problems, closing):
    claims = {"rows": [ROWS["good"]] * 2, "differ_from_record": []}
    result = {"tests": PART, "notebooks": PART, "claims": claims, "bench": {"numpy": {}}} | changes
    assert (gpu.failures(result), gpu.summary(result)) == (problems, closing)


@pytest.mark.parametrize(("backend", "names"), [("numpy", ["numpy"]), ("cupy", ["numpy", "cupy"])])
def test_numpy_is_timed_beside_the_gpu_each_with_its_own_arrays_and_work(monkeypatch, backend, names):
    asked = []
    monkeypatch.setattr("attnsep.arrays.namespace", "the arrays of {}".format)
    monkeypatch.setattr(
        "attnsep.bench.measure.bench",
        lambda *sizes, seconds, most_work, xp: asked.append((sizes, most_work, xp)) or {"rows": [xp]},
    )
    assert gpu.run_bench(backend) == {name: {"rows": [f"the arrays of {name}"]} for name in names}
    sizes = gpu.SIZES, gpu.WIDTHS, gpu.DTYPES
    assert asked == [(sizes, gpu.MOST_WORK[name], f"the arrays of {name}") for name in names]


def test_timings_of_one_library_alone_are_not_kept(monkeypatch, capsys):
    def bench(*sizes, seconds, most_work, xp):
        return {"rows": []} if xp == "numpy" else 1 / 0

    monkeypatch.setattr("attnsep.arrays.namespace", str)
    monkeypatch.setattr("attnsep.bench.measure.bench", bench)
    assert gpu.run_bench("cupy") is None
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_all_suites_of_a_report_are_counted():
    suites = '<testsuite tests="2" skipped="1" time="1"/><testsuite tests="4" failures="1" errors="1" time="2"/>'
    found = gpu.counts(f"<testsuites>{suites}</testsuites>")
    assert found == {"passed": 3, "failed": 2, "skipped": 1, "seconds": 3}


def test_the_gpu_is_named(monkeypatch):
    runtime = SimpleNamespace(getDeviceProperties=lambda id: {"name": f"GPU {id}".encode()})
    cuda = SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    assert gpu.device("cupy") == "GPU 0"
    assert gpu.device("numpy") == "no GPU (a rehearsal with NumPy)"


@pytest.mark.slow
def test_without_python_flint_certified_claims_are_left_out(monkeypatch, capsys):
    few = [framework.find("certified-flat-weights"), framework.find("linear-ignores-scale")]
    monkeypatch.setattr(framework, "claims", lambda: few)
    monkeypatch.setattr(gpu, "CERTIFY", ("no_such_module",))
    row = {"id": "linear-ignores-scale", "verdict": "holds", "as_expected": True}
    assert gpu.run_claims(namespace("numpy"))["rows"] == [row]
    assert capsys.readouterr().out.splitlines() == [
        "--- claims",
        "--- certified claims are left out: no_such_module not found here",
        "ok   linear-ignores-scale: holds",
    ]


def test_claims_go_on_after_one_that_breaks_off_and_none_is_left_out(monkeypatch, capsys):
    """What is compared with the record is what was found, of those that did not break off."""
    entries = [SimpleNamespace(id=id, level="certified") for id in ("one", "two", "three")]
    compared = []

    def run(entry, xp):
        if entry.id == "two":
            raise TypeError("implicit conversion")
        row = {"id": entry.id, "verdict": f"holds in {xp}", "as_expected": entry.id == "one", "cases": 1}
        return SimpleNamespace(id=entry.id, to_json=lambda: row)

    monkeypatch.setattr(framework, "claims", lambda: entries)
    monkeypatch.setattr(framework, "run", run)
    monkeypatch.setattr(gpu, "CERTIFY", ("sys",))
    monkeypatch.setattr("attnsep.ledger.record.read_record", lambda: "the record")
    monkeypatch.setattr(
        "attnsep.ledger.record.differences",
        lambda evidence, record: compared.append(([found.id for found in evidence], record)) or ["a line"],
    )
    found = gpu.run_claims("NumPy")
    assert found == {
        "rows": [
            {"id": "one", "verdict": "holds in NumPy", "as_expected": True},
            ROWS["bad"],
            {"id": "three", "verdict": "holds in NumPy", "as_expected": False},
        ],
        "differ_from_record": ["a line"],
    }
    assert compared == [(["one", "three"], "the record")]
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "--- claims",
        "ok   one: holds in NumPy",
        "FAIL two: broke off (TypeError)",
        "FAIL three: holds in NumPy",
    ]
    assert said.err.endswith("TypeError: implicit conversion\n")
