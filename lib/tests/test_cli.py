import io
import json
import multiprocessing
import os
import signal
import sys
from dataclasses import replace

import pytest

from attnsep import cli
from attnsep.bench import measure
from attnsep.checks import text_of
from attnsep.ledger import framework, record
from lib.tests.children import run
from lib.tests.fuzzing import hurry

pytestmark = pytest.mark.usefixtures("nothing_set", "contenders_here")


def test_claims_lists_every_claim(capsys):
    assert cli.main(["claims"]) == 0
    out = capsys.readouterr().out
    assert all(entry.id in out for entry in framework.claims())


def test_claims_json(capsys):
    assert cli.main(["claims", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [entry.id for entry in framework.claims()]
    assert all(row["verdict"] == row["expect"] for row in rows)


def test_verify_one_claim_on_another_backend(capsys):
    pytest.importorskip("array_api_strict")
    assert cli.main(["verify", "tensor-trick", "--json", "--backend", "array_api_strict"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["verdict"], row["backend"]) == ("tensor-trick", "holds", "array_api_strict")


def test_verify_fails_with_a_claim(capsys, monkeypatch):
    evidence = framework.run(framework.find("tensor-trick"))
    monkeypatch.setattr(cli, "verify", lambda ids, **options: [replace(evidence, verdict="refuted")])
    assert cli.main(["verify", "tensor-trick"]) == 1
    out = capsys.readouterr().out
    assert "FAIL tensor-trick: Refuted" in out
    assert out.splitlines()[-1].startswith("0 passed, 1 failed. With other random draws such a run refutes")


def test_verify_with_other_draws_says_how_sure_it_is(capsys):
    claim = framework.find("regression-simulated")
    assert cli.main(["verify", claim.id, "--seeds", "3"]) == 0
    out = capsys.readouterr().out
    assert framework.run(claim, seeds=3).line in out
    assert out.endswith("refutes a true claim with probability at most 8e-09.\n")


def test_verify_compare_fails_where_a_check_became_weaker(capsys, monkeypatch):
    lines = cli.read_ratchet()
    assert cli.main(["verify", "tensor-trick", "--compare"]) == 0
    (line,) = [line for line in lines if line["id"] == "tensor-trick"][-1:]
    lines.append(line | {"cases": line["cases"] + 1})
    monkeypatch.setattr(cli, "read_ratchet", lambda: lines)
    capsys.readouterr()
    assert cli.main(["verify", "tensor-trick", "--compare"]) == 1
    assert "tensor-trick: record and ratchet differ in cases; run" in capsys.readouterr().err


def test_verify_compare_fails_where_the_record_differs(capsys, monkeypatch):
    monkeypatch.setattr(cli, "read_record", dict)
    assert cli.main(["verify", "tensor-trick", "--compare"]) == 1
    assert "tensor-trick: not in the record" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["verify", "no-such-claim"],
        ["verify", "def-vec"],
        ["verify", "--backend", "torch"],
        [],
        ["fly"],
        ["verify", "tensor-trick", "--seeds", "-1"],
        ["verify", "--seeds", "1", "--compare"],
    ],
)
def test_bad_usage_exits_with_2_and_says_why_on_stderr(capsys, words):
    try:
        code = cli.main(words)
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.err
    assert not captured.out


def test_a_backend_that_cannot_run_is_bad_usage(capsys, monkeypatch):
    monkeypatch.setattr(cli, "namespace", lambda backend: (_ for _ in ()).throw(RuntimeError("CuPy cannot run here")))
    assert cli.main(["verify", "--backend", "cupy"]) == 2
    assert capsys.readouterr().err == "attnsep: CuPy cannot run here\n"


def test_the_record_can_be_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "none.json"))
    assert record.read_record() == {}


WORKED = ["--n", "1024", "--d", "258", "--m", "10", "--c", "0.5"]


@pytest.mark.parametrize(
    ("a", "kernel", "probability"),
    [
        ("0.05", "softmax", 0.00346450383),
        ("0.7", "softmax", 0.943686969),
        ("0.05", "linear", 0.00346450383),
        ("0.7", "linear", 0.00321684311),
    ],
)
def test_fires_json(capsys, a, kernel, probability):
    assert cli.main(["fires", *WORKED, "--a", a, "--kernel", kernel, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    contract = [
        "kernel",
        "n",
        "d",
        "m",
        "a",
        "c",
        "gap",
        "probability",
        "bound",
        "fires",
        "seed",
        "side",
        "method",
        "interval",
        "draws",
    ]
    assert list(row) == contract
    assert float(f"{row['probability']:.9g}") == probability
    assert [row[name] for name in ("kernel", "n", "d", "m", "a", "c", "gap", "seed")] == [
        kernel, 1024, 258, 10, float(a), 0.5, 0.1, 0,
    ]  # fmt: skip
    assert row["bound"] <= row["probability"] if probability > 0.5 else row["bound"] >= row["probability"]
    assert row["fires"] is (probability > 0.5)
    assert [row[name] for name in contract[-3:]] == ["exact", None, None]
    assert row["side"] == ("at least" if probability > 0.5 else "at most")


def test_fires_in_words(capsys):
    assert cli.main(["fires", *WORKED, "--a", "0.7", "--seed", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("P[F fires] = 0.943686969")
    assert lines[1] == f"proved: at least {1 - 0.875**10:.6g}"
    assert lines[2] == "one instance (seed 3): fires"
    assert cli.main(["fires", *WORKED, "--a", "0.05"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("proved: at most 0.12")


def test_an_upper_bound_of_one_is_not_called_a_lower_one(capsys):
    sizes = ["--n", "12", "--d", "8", "--m", "1000", "--a", "0.05", "--c", "0.5", "--kernel", "linear"]
    assert cli.main(["fires", *sizes]) == 0
    assert "proved: at most 1\n" in capsys.readouterr().out


def test_fires_takes_text_as_decimals(capsys):
    assert cli.main(["fires", "--n", "53", "--d", "55", "--m", "1", "--a", "0.75", "--c", "0.35", "--json"]) == 0
    assert round(json.loads(capsys.readouterr().out)["probability"], 6) == 0.265506


def test_fires_far_beyond_matrices(capsys):
    words = ["--n", str(10**300), "--d", "1002", "--m", str(10**6), "--a", "0.62", "--c", "0.5", "--json"]
    assert cli.main(["fires", *words]) == 0
    assert json.loads(capsys.readouterr().out)["fires"] is None


@pytest.mark.parametrize(
    ("words", "exact"),
    [
        (["--delta", "0.1", "--c", "0.9"], (1, 19, 21, 9)),
        (["--delta", "0.1", "--c", "0.5", "--t", "4"], (4, 376, 96, 8)),
    ],
)
def test_sizes(capsys, words, exact):
    words = ["sizes", "--a0", "0.05", "--a1", "0.7", *words]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["t"] == exact[0]
    assert tuple(found["exact"][name] for name in ("t", "n", "d", "m")) == exact
    assert found["bound"]["n"] > found["exact"]["n"]
    assert cli.main(words) == 0
    assert "exact: t = {}, n = {}, d = {}, m = {}\n".format(*exact) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fires", "--n", "7", "--d", "5", "--m", "1", "--a", "1", "--c", ".5"], "n = 7, d = 5: n must be (d - 2)t"),
        (["fires", "--n", "6", "--d", "5", "--m", "0", "--a", "1", "--c", ".5"], "m = 0: must be at least 1"),
        (["fires", "--n", "6", "--d", "5", "--m", "1", "--a", "x", "--c", ".5"], "a = 'x': must be a finite number"),
        (["fires", "--n", "6", "--d", "5", "--m", "1", "--a", "-1", "--c", ".5"], "a = '-1': must be at least 0"),
        (["fires", "--n", "6", "--d", "5", "--m", "1", "--a", "1", "--c", "1"], "c = '1': must lie strictly"),
        (["fires", *WORKED, "--a", "1", "--seed", "-1"], "seed = -1: must be at least 0"),
        (["fires", *WORKED, "--a", "1", "--draws", "-1"], "draws = -1: must be at least 1"),
        (["fires", *WORKED, "--a", "1", "--draws", "0", "--kernel", "topk:3"], "draws = 0: must be at least 1"),
        (["fires", *WORKED, "--a", "1", "--kernel", "cosine"], "kernel = 'cosine': must be one of"),
        (["fires", *WORKED], "--a"),
        (["sizes", "--delta", "1e-1000000000", "--a0", "0", "--a1", "1", "--c", ".5"], "delta = '1e-1000000000': must"),
        (["sizes", "--delta", "2", "--a0", "0", "--a1", "1", "--c", ".5"], "delta = "),
        (["sizes", "--delta", ".1", "--a0", "0", "--a1", "1", "--c", ".5", "--t", "0"], "t = 0: must be at least 1"),
        (["sizes", "--delta", ".1", "--a0", "0", "--a1", "1", "--c", ".5", "--d-max", "9"], "d_max = 9: no d up to it"),
    ],
)
def test_bad_parameters_of_the_theorem(capsys, words, message):
    try:
        code = cli.main(words)
    except SystemExit as error:
        code = error.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert not captured.out


@pytest.mark.parametrize(
    "words",
    [
        ["--m", "3", "--a", "0.7", "--gap", "1e400"],
        ["--m", "3", "--a", "1e400"],
        ["--m", "3", "--a", "1e1000000"],
        ["--m", "3", "--a", "1e99999999999999999999"],  # with an exponent that no decimal has
        ["--m", "3", "--a", "0.7", "--gap", "1e-99999999999999999999"],
        ["--m", str(10**400), "--a", "0.7"],
        ["--m", "3", "--a", "nan"],
    ],
)
def test_fires_with_huge_values_is_bad_usage(capsys, words):
    assert cli.main(["fires", "--n", "6", "--d", "5", "--c", "0.5", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("attnsep: ")
    assert not captured.out


@pytest.mark.parametrize(
    ("kernel", "side"),
    [
        ("softmax:0.1", "at most"), ("polynomial:16", "at least"), ("squared-relu", "at most"), ("sigmoid", "at most"),
        ("elu+1", "at most"), ("relu", "at most"), ("topk:3", "at least"), ("sparsemax", "at least"),
        ("entmax", "at least"), ("hard", "at least"),
    ],
)  # fmt: skip
def test_fires_of_every_kernel(capsys, kernel, side):
    words = ["fires", "--n", "512", "--d", "130", "--m", "10", "--a", "0.8", "--c", "0.5", "--kernel", kernel]
    assert cli.main(words) == 0
    assert f"\nproved: {side} " in capsys.readouterr().out
    assert cli.main([*words, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["bound"] <= row["probability"]) is (side == "at least")
    assert [row[name] for name in ("kernel", "method", "interval", "draws")] == [kernel, "exact", None, None]


@pytest.mark.parametrize("kernel", ["performer:16", "window:0", "window:" + "9" * 40])
def test_fires_by_sampling(capsys, kernel):
    words = ["fires", "--n", "8", "--d", "6", "--m", "2", "--a", "0.8", "--c", "0.5", "--kernel", kernel]
    assert cli.main([*words, "--draws", "40"]) == 0
    out = capsys.readouterr().out
    assert "(sampled: the frequency in 40 random networks)" in out
    assert "with a confidence of 1 − 1e-06" in out
    assert cli.main([*words, "--draws", "40", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["interval"][0] < row["probability"] < row["interval"][1]
    assert [row[name] for name in ("bound", "method", "draws")] == [None, "sampled", 40]


def test_a_lower_bound_that_reaches_one_is_a_lower_bound(capsys):
    words = ["fires", "--n", "512", "--d", "130", "--m", "1000000000", "--a", "0.8", "--c", "0.5"]
    assert cli.main(words) == 0
    assert "P[F fires] = 1 (exact)\nproved: at least 1\n" in capsys.readouterr().out


# JSON is ASCII


JSON = {
    "claims": ["claims"],
    "verify": ["verify", "tensor-trick"],
    "fires": ["fires", *WORKED, "--a", "0.7"],
    "sizes": ["sizes", "--delta", "0.3", "--a0", "0.05", "--a1", "0.7", "--c", "0.9"],
    "bench": ["bench", "--n", "4", "--d", "3", "--seconds", "0.001"],
}


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-16"])
@pytest.mark.parametrize("verb", JSON)
def test_json_is_ascii_whatever_the_terminal_has(monkeypatch, verb, encoding):
    hurry(monkeypatch)
    monkeypatch.setattr(measure, "cpu", lambda: "Prozessor™ ü")
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding, errors="strict"))
    assert cli.main([*JSON[verb], "--json"]) == 0
    assert out.getvalue().isascii()
    assert json.loads(out.getvalue())


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"PYTHONIOENCODING": "utf-16"}, marks=pytest.mark.slow),
        pytest.param({"PYTHONIOENCODING": "cp1252:strict"}, marks=pytest.mark.slow),
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["utf-16", "cp1252", "C"],
)
def test_json_of_a_process_is_ascii(variables):
    done = run("-m", "attnsep.cli", "claims", "--json", text=False, **variables)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert len(json.loads(done.stdout)) == len(framework.claims())


def test_json_goes_to_a_text_stream_as_well(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert cli.main(["claims", "--json"]) == 0
    assert sys.stdout.getvalue().isascii()


# What the surroundings do


def full(*_, **__):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("words", [*JSON.values(), ["--help"], ["learn", "--help"], [*JSON["claims"], "--json"]])
def test_a_full_disk_is_said_of_the_output(monkeypatch, capsys, words):
    monkeypatch.setattr(sys, "stdout", type("Full", (io.StringIO,), {"write": full})())
    assert cli.main(words) == 2
    assert capsys.readouterr().err == "attnsep: the output cannot be written (No space left on device)\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (FileNotFoundError(2, "No such file", "x.json"), "[Errno 2] No such file: 'x.json'"),
        (RuntimeError("a device is\n\n not there"), "a device is not there"),
        (MemoryError("Unable to allocate 7 GiB"), "memory ran out (Unable to allocate 7 GiB)"),
    ],
)
def test_trouble_of_another_kind_is_not_said_of_the_output(monkeypatch, capsys, error, sentence):
    def raising():
        raise error

    monkeypatch.setattr(cli, "claims_table", raising)
    assert cli.main(["claims"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"attnsep: {sentence}\n")


def test_a_defect_shows_its_trace_and_is_no_failed_claim(monkeypatch, capsys):
    monkeypatch.setattr(cli, "claims_table", lambda: {}["a defect"])
    assert cli.main(["claims"]) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.endswith("attnsep: this should not happen; please open an issue with the lines above\n")


def test_a_killed_process_is_one_sentence(monkeypatch, capsys):
    def killing(evidence, *_):
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGKILL)
        return evidence

    monkeypatch.setattr(framework, "_with_bar", killing)
    assert cli.main(["verify", "tensor-trick", "attention-cost", "--jobs", "2"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "attnsep: jobs = 2: one of the processes was ended from outside, or memory ran out; try again, perhaps with "
        "fewer\n"
    )


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_result_is_shown_even_where_it_can_no_longer_be_stored(monkeypatch, capsys, tmp_path, json_too):
    monkeypatch.setattr("attnsep.bench.cost.write", full)
    path = tmp_path / "b.json"
    assert cli.main([*JSON["bench"], "--out", str(path), *json_too]) == 2
    captured = capsys.readouterr()
    assert len(captured.out) > 100
    assert f"path = {text_of(str(path))}: cannot be written (No space left on device)" in captured.err


@pytest.mark.parametrize("verb", ["bench", "learn"])
def test_no_work_is_done_for_a_place_that_takes_nothing(monkeypatch, capsys, tmp_path, verb):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    monkeypatch.setattr(measure, "bench", lambda **_: pytest.fail("has begun"))
    monkeypatch.setattr("attnsep.learn.train.train", lambda *_, **__: pytest.fail("has begun"))
    words = {"bench": JSON["bench"], "learn": ["learn", "retrieval"]}[verb]
    for option in ["--out"] if verb == "bench" else ["--out", "--checkpoint"]:
        for place in (tmp_path / "pipe", tmp_path, tmp_path / "none" / "x", tmp_path / "file" / "x", ""):
            assert cli.main([*words, option, str(place)]) == 2
            assert capsys.readouterr().err.startswith(f"attnsep: {option} = ")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file", tmp_path / "pipe"]


def test_a_checkpoint_is_a_regular_file_and_not_the_table(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("attnsep.learn.train.train", lambda *_, **__: pytest.fail("has begun"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "way").symlink_to(tmp_path)
    (tmp_path / "link").symlink_to("new")
    (tmp_path / "old").touch()
    os.link("old", "hard")
    before = sorted(tmp_path.iterdir())
    pairs = [("new", "new"), ("new", "./new"), ("link", "new"), ("way/new", str(tmp_path / "new"))]
    for one, other in [*pairs, ("old", "hard"), ("old", "way/old")]:
        for checkpoint, out in ((one, other), (other, one)):
            assert cli.main(["learn", "retrieval", "--checkpoint", checkpoint, "--out", out]) == 2
            assert capsys.readouterr().err == f"attnsep: --checkpoint, --out = {text_of(out)}: must be two files\n"
    (tmp_path / "null").symlink_to(os.devnull)
    for place in (os.devnull, "null"):
        assert cli.main(["learn", "retrieval", "--checkpoint", place, "--out", "new"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"attnsep: --checkpoint = {place!r}: cannot be written (it is no regular file, ")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "null"])


@pytest.fixture
def noisy(tmp_path, monkeypatch):
    """A module whose import and whose attention print, in the current folder."""
    lines = "import numpy as np", "print('imported')", "def mean(q, k, v):", "    print('called')"
    text = "\n".join([*lines, "    return np.ones((len(q), len(k))) / len(k) @ v", ""])
    (tmp_path / "noisy_attention.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield "noisy_attention:mean"
    sys.modules.pop("noisy_attention", None)


REPORT = ["--width", "8", "--n", "128", "--lines", "sees,selects"]


def test_a_card_as_json_holds_nothing_that_the_attention_prints(noisy, capsys):
    assert cli.main(["report", noisy, *REPORT, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["attention"], found["called"]["layout"]) == (noisy, "nd")
    assert [line["verdict"] for line in found["lines"]] == ["no", "no"]
    assert err.startswith("imported\ncalled\n")


def test_what_a_card_must_say_yes_to_decides_the_exit_status(noisy, capsys, tmp_path):
    assert cli.main(["report", "softmax", *REPORT, "--require", "sees,selects"]) == 0
    assert capsys.readouterr().out.startswith("softmax (library numpy, layout nd, dtype float64, width 8, seed 0)\n")
    assert cli.main(["report", noisy, *REPORT, "--require", "selects", "--html", "card.html"]) == 1
    out, err = capsys.readouterr()
    assert "averages, whatever the scores" in out
    assert err.endswith("--require: selects is not yes\n")
    assert (tmp_path / "card.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert cli.main(["report", noisy, *REPORT, "--require", "counts"]) == 2
    assert capsys.readouterr().err == "attnsep: --require counts: must be one of --lines\n"
