import json
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import attnsep.claims  # noqa: F401  fills the ledger
from attnsep.arrays import namespace
from attnsep.checks import text_of
from attnsep.ledger import framework, tables
from lib.tests.fuzzing import hurry
from tools import gpu

PART = {"passed": 5, "failed": 0, "skipped": 1, "seconds": 0.1}


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


def test_a_rehearsal_does_not_replace_the_stored_result(quick, capsys):
    assert gpu.main(["--backend", "numpy"]) == 2
    assert gpu.main(["--backend", "numpy", "--result", str(gpu.RESULT)]) == 2
    assert "must not replace" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_to_is_named_before_anything_runs(quick, tmp_path, capsys):
    for path, why in ((tmp_path / "none" / "gpu.json", "its folder does not exist"), (tmp_path, "it is a folder")):
        assert rehearse(path) == 2
        assert f"RESULT = {text_of(str(path))}: cannot be written ({why})" in capsys.readouterr().err


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


def test_claims_for_which_no_time_is_left_are_named_and_do_not_fail(quick, capsys):
    found = gpu.run_claims(namespace("numpy"), until=0)
    assert [row["verdict"] for row in found["rows"]] == ["not run: the time was over"] * 2
    result = {"tests": PART, "notebooks": None, "claims": found, "bench": {"numpy": {}}}
    assert gpu.failures(result) == []
    assert gpu.summary(result) == "5 passed, 0 failed, 3 skipped"


def test_the_gpu_is_named(monkeypatch):
    runtime = SimpleNamespace(getDeviceProperties=lambda id: {"name": f"GPU {id}".encode()})
    cuda = SimpleNamespace(runtime=runtime, Device=lambda: SimpleNamespace(id=0))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    assert gpu.device("cupy") == "GPU 0"


def test_without_python_flint_certified_claims_are_left_out(monkeypatch, capsys):
    few = [framework.find("certified-flat-weights"), framework.find("linear-ignores-scale")]
    monkeypatch.setattr(framework, "claims", lambda: few)
    monkeypatch.setattr(gpu, "CERTIFY", ("no_such_module",))
    assert [row["id"] for row in gpu.run_claims(namespace("numpy"))["rows"]] == ["linear-ignores-scale"]
    assert "certified claims are left out: no_such_module not found here" in capsys.readouterr().out
