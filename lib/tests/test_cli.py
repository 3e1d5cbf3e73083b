import io
import json
import multiprocessing
import os
import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from attnsep import cli
from attnsep.bench import measure
from attnsep.checks import text_of
from attnsep.learn import table
from attnsep.learn.tasks import task
from attnsep.ledger import framework, record
from attnsep.reportcard.card import LINES, Card, Line
from lib.tests.children import run
from lib.tests.fuzzing import hurry

pytestmark = pytest.mark.usefixtures("nothing_set", "contenders_here")


def test_claims_lists_every_claim(capsys):
    assert cli.main(["claims"]) == 0
    out = capsys.readouterr().out
    assert all(entry.id in out for entry in framework.claims())
    assert out == f"{cli.claims_table()}\n\n{cli.status_line()}\n"


def test_claims_json(capsys):
    assert cli.main(["claims", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["id"] for row in rows] == [entry.id for entry in framework.claims()]
    assert all(row["verdict"] == row["expect"] for row in rows)
    stored = record.read_record()
    for row, entry in zip(rows, framework.claims(), strict=True):
        assert row.pop("proved") is entry.is_proved
        assert row.pop("verdict") == stored[entry.id]["verdict"]
        assert row == json.loads(json.dumps({name: getattr(entry, name) for name in row}))
    fields = ["id", "mark", "source", "level", "expect", "chapter", "statement", "assumes", "uses", "control"]
    assert [*row] == fields


def test_a_claim_that_the_record_lacks_was_not_run(capsys, monkeypatch):
    monkeypatch.setattr(cli, "read_record", dict)
    assert cli.main(["claims", "--json"]) == 0
    assert {row["verdict"] for row in json.loads(capsys.readouterr().out)} == {"not run"}


def test_verify_one_claim_on_another_backend(capsys):
    pytest.importorskip("array_api_strict")
    assert cli.main(["verify", "tensor-trick", "--json", "--backend", "array_api_strict"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["verdict"], row["backend"]) == ("tensor-trick", "holds", "array_api_strict")


@pytest.fixture
def verified(monkeypatch):
    """Return what `verify` is asked for from here on, and the evidence of two claims: one fails, and none is run."""
    asked, found = [], {"tensor-trick": framework.run(framework.find("tensor-trick"))}
    found["column-law"] = replace(found["tensor-trick"], claim=framework.find("column-law"), verdict="refuted")
    monkeypatch.setattr(cli, "verify", lambda ids, **more: asked.append((ids, more)) or [found[id] for id in ids])
    return asked, found


def test_verify_runs_each_claim_once_as_asked_for_and_fails_with_one(capsys, verified):
    asked, found = verified
    fails, holds = found["column-law"], found["tensor-trick"]
    assert fails.line.startswith("Refuted")
    words = ["verify", "column-law", "tensor-trick", "column-law"]
    assert cli.main([*words, "--jobs", "3", "--backend", "numpy"]) == 1
    assert capsys.readouterr().out == (
        f"FAIL column-law: {fails.line}\nok   tensor-trick: {holds.line}\n"
        f"1 passed, 1 failed. {framework.alarm_sentence([fails.alarm, holds.alarm])}\n"
    )
    assert cli.main([*words, "--json", "--seeds", "2"]) == 1
    assert json.loads(capsys.readouterr().out) == [fails.to_json(), holds.to_json()]
    given = {"xp": cli.namespace("numpy"), "progress": True, "jobs": 3, "seeds": 0}
    assert asked == [
        (words[1:3], given),
        (words[1:3], {"xp": cli.namespace(None), "progress": False, "jobs": 1, "seeds": 2}),
    ]
    assert cli.main(["verify", "tensor-trick"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("1 passed, 0 failed. With other random draws such a run refutes")


def test_verify_compare_runs_only_what_no_chapter_has_run(capsys, monkeypatch, verified):
    asked, found = verified
    monkeypatch.setattr(cli, "kept", lambda entry, xp: found[entry.id] if entry.id == "tensor-trick" else None)
    words = ["verify", "tensor-trick", "column-law", "--json"]
    for more, run_now in (([], ["tensor-trick", "column-law"]), (["--compare"], ["column-law"])):
        assert cli.main([*words, *more]) == 1
        assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["tensor-trick", "column-law"]
        assert asked.pop()[0] == run_now


def test_verify_compare_looks_at_the_whole_record_unless_claims_are_named(capsys, monkeypatch):
    seen, evidence = [], framework.run(framework.find("tensor-trick"))
    monkeypatch.setattr(cli, "verify", lambda ids, **_: [evidence] * len(ids))
    monkeypatch.setattr(cli, "claims", lambda: [evidence.claim])
    monkeypatch.setattr(cli, "differences", lambda evidence, record: seen.append(record) or ["one differs"])
    monkeypatch.setattr(cli, "problems", lambda lines, record: seen.append((lines, record)) or ["another is weaker"])
    whole, lines = record.read_record(), cli.read_ratchet()
    named = {"tensor-trick": whole["tensor-trick"]}
    for words, known in (
        ([], (lines, whole)),
        (["tensor-trick"], ([line for line in lines if line["id"] in named], named)),
    ):
        assert cli.main(["verify", *words, "--compare"]) == 1
        assert seen[-2:] == [known[1], known]
        out, err = capsys.readouterr()
        assert "1 passed, 0 failed." in out
        assert err == (
            "attnsep: one differs; run `make notebooks` if this is meant\n"
            "attnsep: another is weaker; run `make notebooks` if this is meant\n"
        )


@pytest.mark.slow
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
    assert "attnsep" in captured.err.splitlines()[-1]
    assert not captured.out


def test_without_words_those_of_the_process_are_taken(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["attnsep", *SMALL_FIRES])
    assert cli.main() == 0
    said = capsys.readouterr().out
    assert cli.main(SMALL_FIRES) == 0
    assert said == capsys.readouterr().out != ""


def test_help_is_printed_on_standard_output_and_is_no_error(capsys, monkeypatch):
    monkeypatch.setenv("PYTHON_COLORS", "0")
    for words in ([], ["fires"], ["learn"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*words, "--help"])
        out, err = capsys.readouterr()
        assert (ended.value.code, err) == (0, "")
        assert out.startswith(" ".join(["usage: attnsep", *words]))
        assert "--help" in out.partition("options:")[2], "the usage alone is no help"


def test_an_error_is_one_line_with_no_more_than_the_ends_of_a_long_word():
    long, spaced = "x" * 301, "a b c " * 50  # just too long, and as long as may be
    for words, message, shown in (
        ([], "two\n  lines \n", "two lines"),
        ([long], f"found {long} there", f"found {text_of(long)} there"),
        ([long], f"kernel = {long!r}: is none", f"kernel = {text_of(long)}: is none"),
        ([f"--set={spaced}d"], f"found {spaced}d there", f"found {text_of(spaced + 'd')} there"),
        ([spaced], f"found {spaced}there", f"found {spaced}there"),
        ([f"{spaced}d"], f"found {spaced}d there", f"found {text_of(spaced + 'd')} there"),
        ([], f"found {long} there", f"found {text_of(long)} there"),  # another's word
        ([], f"found {long[2:]} there", f"found {long[2:]} there"),
    ):
        assert cli._shortened(message, words) == shown


def test_a_backend_that_cannot_run_is_bad_usage(capsys, monkeypatch):
    monkeypatch.setattr(cli, "namespace", lambda backend: (_ for _ in ()).throw(RuntimeError("CuPy cannot run here")))
    assert cli.main(["verify", "--backend", "cupy"]) == 2
    assert capsys.readouterr().err == "attnsep: CuPy cannot run here\n"


def test_the_record_can_be_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNSEP_RECORD", str(tmp_path / "none.json"))
    assert record.read_record() == {}


WORKED = ["--n", "1024", "--d", "258", "--m", "10", "--c", "0.5"]
SMALL_FIRES = ["fires", "--n", "6", "--d", "5", "--m", "3", "--a", "0.7", "--c", "0.5"]


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
    assert len(lines) == 3
    assert cli.main(["fires", *WORKED, "--a", "0.05"]) == 0
    assert capsys.readouterr().out == (
        "P[F fires] = 0.00346450383258 (exact)\nproved: at most 0.120403\none instance (seed 0): is silent\n"
    )


def test_a_network_is_drawn_only_where_its_signs_fit_into_memory(capsys, monkeypatch):
    for most, last in ((2580, "one instance (seed 0): fires"), (2579, "not drawn: more than 2579 signs")):
        monkeypatch.setattr(cli, "MOST_SIGNS", most)
        assert cli.main(["fires", *WORKED, "--a", "0.7"]) == 0
        assert capsys.readouterr().out.splitlines()[-1].endswith(last)
        assert cli.main(["fires", *WORKED, "--a", "0.7", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["fires"] is (True if most == 2580 else None)


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
    ("words", "exact", "bound"),
    [
        (["--delta", "0.1", "--c", "0.9"], (1, 19, 21, 9), (1, 30, 32, 18)),
        (["--delta", "0.1", "--c", "0.5", "--t", "4"], (4, 376, 96, 8), (4, 1180, 297, 18)),
    ],
)
def test_sizes(capsys, words, exact, bound):
    words = ["sizes", "--a0", "0.05", "--a1", "0.7", *words]
    assert cli.main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {by: dict(zip("tndm", sizes, strict=True)) for by, sizes in (("bound", bound), ("exact", exact))}
    assert found == {"t": exact[0]} | rows
    assert cli.main(words) == 0
    form = "bound: t = {}, n = {}, d = {}, m = {}\nexact: t = {}, n = {}, d = {}, m = {}\n"
    assert capsys.readouterr().out == form.format(*bound, *exact)


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


@pytest.mark.parametrize(
    ("kernel", "bound"),
    [("softmax", 1 - (7 / 8) ** 10), ("topk:3", 1 - (15 / 16) ** 10), ("polynomial:16", 1 - (15 / 16) ** 10)],
)
def test_the_bound_is_that_of_the_theorem_for_its_two_attentions_and_of_the_mark_for_others(capsys, kernel, bound):
    """One column fires with probability at least 1/8 by the theorem, and at least 1/16 by the law of the mark."""
    words = ["fires", "--n", "512", "--d", "130", "--m", "10", "--a", "0.8", "--c", "0.5", "--kernel", kernel]
    assert cli.main(words) == 0
    assert f"\nproved: at least {bound:.6g}\n" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["performer:16", "window:0", "window:" + "9" * 40])
def test_fires_by_sampling(capsys, kernel):
    words = ["fires", "--n", "8", "--d", "6", "--m", "2", "--a", "0.8", "--c", "0.5", "--kernel", kernel]
    assert cli.main([*words, "--draws", "40"]) == 0
    out = capsys.readouterr().out
    assert cli.main([*words, "--draws", "40", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    low, high = row["interval"]
    assert 0 <= low < row["probability"] < high <= 1
    assert [row["interval"]] == [[*cli.clopper_pearson(round(40 * row["probability"]), 40, cli.ALARM)]]
    assert [row[name] for name in ("bound", "side", "method", "draws")] == [None, None, "sampled", 40]
    assert out == (
        f"P[F fires] ≈ {row['probability']:.4g} (sampled: the frequency in 40 random networks)\n"
        f"between {low:.4g} and {high:.4g}, with a confidence of 1 − 1e-06\n"
        f"one instance (seed 0): {'fires' if row['fires'] else 'is silent'}\n"
    )
    alone = []
    for seed in range(12):  # the instance is one network, however many others are drawn
        rows = []
        for draws in ("1", "5"):
            assert cli.main([*words, "--draws", draws, "--seed", str(seed), "--json"]) == 0
            rows.append(json.loads(capsys.readouterr().out))
        assert rows[0]["probability"] == rows[0]["fires"] == rows[1]["fires"]
        alone.append(rows[0]["fires"])
    assert {*alone} == {True, False}


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


def test_json_comes_after_what_was_printed_before_it(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8"))
    sys.stdout.write("before\n")
    cli._show_json({"a": "ü"}, indent=1)
    assert out.getvalue() == b'before\n{\n "a": "\\u00fc"\n}\n'


def test_what_a_terminal_lacks_is_shown_as_an_escape(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="ascii", errors="strict"))
    assert cli.main([*SMALL_FIRES, "--kernel", "window:0", "--draws", "3"]) == 0
    assert out.getvalue().startswith(b"P[F fires] \\u2248 ")


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


@pytest.mark.parametrize("json_too", [[], ["--json"]])
@pytest.mark.parametrize("broken", ["write", "flush"])
@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
        (OSError(28, "No space left"), 2, "attnsep: the output cannot be written (No space left)\n"),
    ],
)
def test_a_reader_that_went_away_needs_no_sentence(monkeypatch, capsys, json_too, broken, error, status, said):
    def fail(*_):
        raise error

    whole = {"write": len, "flush": lambda: None}
    text, binary = (whole, whole | {broken: fail}) if json_too else (whole | {broken: fail}, whole)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(**text, buffer=SimpleNamespace(**binary)))
    assert cli.main([*SMALL_FIRES, *json_too]) == status
    assert capsys.readouterr().err == said
    assert sys.stdout is None, "Python would flush it once more as it ends, and complain"


def test_where_no_error_can_be_shown_the_status_is_that_of_the_error(monkeypatch, capsys):
    for stream in (None, type("Full", (io.StringIO,), {"write": full})()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert cli.main([*SMALL_FIRES, "--seed", "-1"]) == 2
        assert capsys.readouterr().out == "", "what is no result stands where results do"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ValueError("n = 0: is none"), "n = 0: is none"),
        (TypeError("n = 'x': is none"), "n = 'x': is none"),
        (ZeroDivisionError("division by zero"), "division by zero"),
        (ImportError("needs flint"), "needs flint"),
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


def test_an_interruption_has_the_status_that_shells_know(monkeypatch, capsys):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "claims_table", interrupted)
    assert cli.main(["claims"]) == 130
    assert capsys.readouterr() == ("", "attnsep: interrupted\n")


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


@pytest.mark.slow
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_result_is_shown_even_where_it_can_no_longer_be_stored(monkeypatch, capsys, tmp_path, json_too):
    monkeypatch.setattr("attnsep.bench.cost.write", full)
    path = tmp_path / "b.json"
    assert cli.main([*JSON["bench"], "--out", str(path), *json_too]) == 2
    captured = capsys.readouterr()
    assert len(captured.out) > 100
    assert f"path = {text_of(str(path))}: cannot be written (No space left on device)" in captured.err


ROW = table.read_rows()[0]


@pytest.fixture
def trained(monkeypatch):
    """Return what a training and a grid are asked for from here on; both give the first row of the book's table."""
    asked = []
    monkeypatch.setattr("attnsep.learn.train.train", lambda *run, **more: asked.append((*run, more)) or ROW)
    monkeypatch.setattr("attnsep.learn.grid.run_grid", lambda *runs, **more: asked.append((*runs, more)) or [ROW, ROW])
    return asked


def in_words(row):
    result = ", ".join(f"{name} {value}" for name, value in row["result"].items() if name != "diverged")
    return f"{table.command(row)}\n  {row['steps']} steps, {row['seconds']} s: {result}"


def test_learn_trains_what_is_asked_for_and_shows_its_row(trained, capsys, monkeypatch, tmp_path):
    words = ["learn", "retrieval", "--kernel", "elu+1", "--seed", "3", "--set", "pairs=40", "rate=1e-2"]
    assert cli.main(words) == 0
    assert capsys.readouterr() == (in_words(ROW) + "\n", "")
    assert cli.main([*words, "--json", "--checkpoint", str(tmp_path / "state")]) == 0
    assert json.loads(capsys.readouterr().out) == ROW
    run = task("retrieval", {"pairs": 40, "rate": 0.01}), "elu+1", 3
    more = {"checkpoint": None, "progress": True}
    assert trained == [(*run, more), (*run, {"checkpoint": str(tmp_path / "state"), "progress": False})]
    lost = ROW | {"result": ROW["result"] | {"diverged": True}}
    monkeypatch.setattr("attnsep.learn.train.train", lambda *_, **__: lost)
    assert cli.main(words) == 0
    assert capsys.readouterr().out == in_words(ROW) + " (a loss was not finite)\n"


def test_a_grid_leaves_out_the_rows_that_the_table_has_and_shows_the_others(trained, capsys, tmp_path):
    path, out = tmp_path / "g.json", tmp_path / "t.jsonl"
    path.write_text(json.dumps([{name: ROW[name] for name in table.RUN}]), encoding="utf-8")
    words = ["learn", "--grid", str(path), "--out", str(out)]
    assert cli.main([*words, "--jobs", "2"]) == 0
    assert capsys.readouterr().out == f"{in_words(ROW)}\n" * 2
    assert table.read_rows(out) == [ROW]
    assert cli.main([*words, "--dask", "tcp://x:1", "--json"]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [ROW] * 2
    runs = [{name: ROW[name] for name in table.RUN}]
    assert trained == [
        (runs, {"done": [], "jobs": 2, "dask": None, "progress": True}),
        (runs, {"done": [ROW], "jobs": 1, "dask": "tcp://x:1", "progress": False}),
    ]


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_row_is_shown_even_where_it_can_no_longer_be_stored(trained, monkeypatch, capsys, tmp_path, json_too):
    monkeypatch.setattr(table, "write", full)
    assert cli.main(["learn", "retrieval", "--out", str(tmp_path / "t.jsonl"), *json_too]) == 2
    out, err = capsys.readouterr()
    assert (json.loads(out) == ROW) if json_too else (out == in_words(ROW) + "\n")
    assert "cannot be written (No space left on device)" in err


def test_a_setting_may_hold_an_equals_sign():
    assert cli._setting("name=a=b") == ("name", "a=b")
    assert cli._setting("name=") == ("name", "")


def test_bench_says_what_makes_times_unfair_and_measures_what_is_asked_for(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(measure, "bench", lambda **given: asked.append(given) or {"rows": [{"settled": False}]})
    monkeypatch.setattr(measure, "load", lambda: measure.MOST_LOAD)
    assert cli.main(["bench", "--json"]) == 0
    assert capsys.readouterr() == ('{"rows": [{"settled": false}]}\n', "")
    for name in measure.BLAS_SETTINGS:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(measure, "load", lambda: 0.25)
    assert cli.main(["bench", "--json", "--n", "4", "8", "--seconds", "2", "--dtype", "float32"]) == 0
    assert capsys.readouterr().err == (
        "attnsep: OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are set, which changes how fast NumPy is; for a fair time "
        "unset them\nattnsep: others keep 25% of the cores busy, so that cells may not settle; better wait until they "
        "are done\n"
    )
    given = {"n": [4, 8], "seconds": 2.0, "dtype": ["float32"], "progress": False}
    assert asked == [{"dtype": ["float64"], "progress": False}, given]
    monkeypatch.delenv(measure.BLAS_SETTINGS[0])
    monkeypatch.setattr(measure, "load", lambda: 0)
    assert cli.main(["bench", "--json"]) == 0
    alone = "attnsep: OPENBLAS_L2_SIZE is set, which changes how fast NumPy is; for a fair time unset it\n"
    assert capsys.readouterr().err == alone


def test_bench_counts_the_cells_that_did_not_settle(nothing_set, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(measure, "load", lambda: 0)
    monkeypatch.setattr("attnsep.bench.cost.write_result", lambda path, result: None)
    one, some = (
        "1 cell did not settle and is not stored; it is marked",
        "2 cells did not settle and are not stored; they are",
    )
    for number, says in ((1, one), (2, some)):
        rows = [{"settled": False}] * number + [{"settled": True}]
        monkeypatch.setattr(measure, "bench", lambda rows=rows, **given: {"rows": rows})
        assert cli.main(["bench", "--json", "--out", str(tmp_path / "b.json")]) == 0
        assert says in capsys.readouterr().err


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


@pytest.mark.usefixtures("trained")
def test_no_row_is_made_for_a_file_that_is_no_table(monkeypatch, capsys, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text("[1, 2]\n", encoding="utf-8")
    monkeypatch.setattr("attnsep.learn.train.train", lambda *_, **__: pytest.fail("has begun"))
    assert cli.main(["learn", "retrieval", "--out", str(path)]) == 2
    out, err = capsys.readouterr()
    assert (out, path.read_text(encoding="utf-8")) == ("", "[1, 2]\n")
    assert err.endswith(": is no table of attnsep learn (row = [1, 2]: must be a row of attnsep learn)\n")


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


@pytest.mark.slow
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


@pytest.fixture
def judged(monkeypatch):
    """Return what a card is asked for from here on; it says no to two lines and yes to one."""
    asked = []
    verdicts = {"sees": "no", "selects": "yes", "counts": "unsure"}
    card = Card("mine", {"seed": 0}, tuple(Line(name, said, "So.", {}) for name, said in verdicts.items()))
    monkeypatch.setattr(cli.card, "named", len)
    monkeypatch.setattr(cli.card, "report", lambda *given, **more: asked.append((*given, more)) or card)
    return asked, card


@pytest.mark.parametrize(
    ("required", "status", "said"),
    [
        ("", 0, ""),
        ("selects", 0, ""),
        (",selects,", 0, ""),
        ("selects,sees", 1, "attnsep: --require: sees is not yes\n"),
        ("counts,selects,sees", 1, "attnsep: --require: counts, sees are not yes\n"),
    ],
)
def test_each_required_line_that_is_not_yes_is_named(judged, capsys, required, status, said):
    asked, card = judged
    assert cli.main(["report", "softmax", "--require", required]) == status
    assert capsys.readouterr() == (f"{card}\n", said)
    settings = dict.fromkeys(("layout", "library", "dtype"))
    settings |= {"width": cli.card.WIDTH, "n": cli.card.MOST, "seconds": cli.card.SECONDS, "seed": 0}
    assert asked == [(len("softmax"), {"name": "softmax", "lines": tuple(LINES), "progress": True} | settings)]


def test_no_card_is_made_for_a_page_that_cannot_be_written(judged, capsys, tmp_path):
    assert cli.main(["report", "softmax", "--html", str(tmp_path / "none" / "x")]) == 2
    assert capsys.readouterr().err.startswith("attnsep: --html = ")
    assert judged[0] == []


def test_no_line_is_not_every_line(capsys):
    assert cli.main(["report", "softmax", "--lines", ""]) == 2
    assert capsys.readouterr().err.startswith("attnsep: lines = '': must be one of sees, ")


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_card_is_shown_even_where_its_page_can_no_longer_be_written(judged, monkeypatch, capsys, tmp_path, json_too):
    asked, card = judged
    monkeypatch.setattr(cli, "write", full)
    path = str(tmp_path / "card.html")
    assert cli.main(["report", "softmax", "--html", path, "--lines", "sees,counts", *json_too]) == 2
    out, err = capsys.readouterr()
    assert (json.loads(out) == card.as_dict()) if json_too else (out == f"{card}\n")
    assert err == f"attnsep: --html = {text_of(path)}: cannot be written (No space left on device)\n"
    assert (asked[0][1]["lines"], asked[0][1]["progress"]) == (["sees", "counts"], not json_too)
