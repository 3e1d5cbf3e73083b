"""The command line ends with 0, 1 or 2 and a sentence, never with a traceback, whatever it is given."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnsep import cli
from attnsep.bench import measure
from attnsep.reportcard import card
from lib.tests.fuzzing import INPUTS, KERNELS, SETTINGS, WORDS, hurry, time_limit

pytestmark = [pytest.mark.fuzz, pytest.mark.slow, pytest.mark.usefixtures("nothing_set", "contenders_here")]

BAD = [*WORDS, "0", "-3", "1.5", "10" * 150, "1" + "0" * 400, "9" * 5000, "-inf", "é", "\udcff", "--", "-x", "1e-300"]
BAD = [word.replace("\0", "?") for word in BAD]
GOOD = {
    "fires": {"--n": "6", "--d": "5", "--m": "3", "--a": "0.7", "--c": "0.5", "--kernel": "softmax", "--gap": "0.1"},
    "sizes": {"--delta": "0.3", "--a0": "0.05", "--a1": "0.7", "--c": "0.9", "--t": "1", "--d-max": "40"},
    "bench": {"--n": "4", "--d": "3", "--dtype": "float64", "--seconds": "1e-9"},
    "learn": {"--kernel": "elu+1", "--seed": "3"},
    "verify": {"--backend": "numpy", "--jobs": "1"},
    "report": {"--width": "8", "--lines": "selects", "--seed": "3", "--dtype": "float64", "--seconds": "50"},
    "claims": {},
}
MORE = {"fires": {"--seed": "3", "--draws": "20"}, "sizes": {"--gap": "0.1"}, "bench": {}, "verify": {}, "claims": {}}
MORE |= {
    "learn": {"--jobs": "2"},
    "report": {"--library": "numpy", "--layout": "nd", "--require": "selects", "--n": "128"},
}
PLACES = ["no-such-folder/result.json", ".", "", "/proc/result.json", "bad\udcff/x.json", "a" * 300]


@st.composite
def command_lines(draw, verb):
    """Draw the words after attnsep: good ones, of which some are replaced, left out or added."""
    options = GOOD[verb] | {name: value for name, value in MORE[verb].items() if draw(st.booleans())}
    for name in draw(st.lists(st.sampled_from(sorted(options) or ["--json"]), max_size=2)):
        kind = draw(st.integers(0, 5))
        if kind == 0 and verb != "bench":  # whose full table takes minutes
            options.pop(name, None)
        elif name in options:
            options[name] = draw(st.sampled_from(KERNELS if name == "--kernel" else BAD)).replace("\0", "?")
    words = [verb, *(word for pair in options.items() for word in pair)]
    if verb == "verify":
        words += draw(st.sampled_from([["tensor-trick"], ["tensor-trick", "x"], ["def-vec"], ["é"], [" "]]))
        words += draw(st.sampled_from([[], ["--compare"]]))
    if verb == "learn":
        words += draw(st.sampled_from([["retrieval"], ["chess"], ["--grid", "x"], []]))
        words += ["--set", "steps=0", draw(st.sampled_from(["pairs=3", "pairs=3", "pairs=", "x=1", "3"]))]
    if verb == "report":
        words += draw(st.sampled_from([["softmax"], ["relu"], ["x:y"], ["topk:0"], ["math:pi"], []]))
    if verb == "bench" and draw(st.integers(0, 3)) == 0:
        words += ["--out", draw(st.sampled_from(PLACES))]
    return words + draw(st.sampled_from([[], ["--json"], ["--json"], ["--no-such-option"]]))


@pytest.mark.parametrize("verb", sorted(GOOD))
def test_a_sentence_and_an_exit_status(verb, capsys, monkeypatch):
    called, codes = 0, set()
    hurry(monkeypatch)

    @SETTINGS
    @given(command_lines(verb))
    def run(words):
        nonlocal called
        called += 1
        try:
            with time_limit():
                code = cli.main(words)
        except SystemExit as error:  # argparse
            code = error.code
        out, err = capsys.readouterr()
        codes.add(code)
        assert code in (0, 1, 2)
        assert "Traceback" not in err + out
        assert (code == 2 or (code == 1 and verb == "report")) == bool(err)  # --require says what is not yes
        if code == 2:
            assert "attnsep" in err
        elif "--json" in words:
            json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} in {out}"))
        else:
            assert "nan" not in out.lower().split()

    run()
    assert called >= min(INPUTS, 8)  # `claims` has no options to spoil
    assert codes >= {0, 2}


LONG = ["9" * 5000, "-" + "9" * 4000, "1e" + "1" * 4000, "x" * 5000, "x=" + "y z " * 1200, "a b " * 1200, "ü'" * 2500]
OWN = {
    "bench": ["--out"],
    "learn": ["--set", "--checkpoint", "--grid", "--jobs", "--dask", "--out"],
    "verify": ["--seeds"],
    "fires": ["--seed", "--draws"],
    "sizes": [],
    "report": ["--html"],
    "claims": [],
}


def begun(*_):
    raise ValueError("the work has begun")


@pytest.mark.parametrize("verb", sorted(GOOD))
def test_no_error_repeats_a_long_word(verb, capsys, monkeypatch, tmp_path):
    """No more than about a hundred characters of it, whatever the option and whoever finds it wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "_timed", begun)
    monkeypatch.setattr("attnsep.learn.train._libraries", begun)
    monkeypatch.setattr(card, "report", begun)
    positional = {"verify": ["tensor-trick"], "learn": ["retrieval"], "report": ["softmax"]}.get(verb, [])
    good = [word for pair in GOOD[verb].items() for word in pair]
    for word in LONG:
        lines = [[verb, *positional, *good, option, word] for option in [*GOOD[verb], *MORE[verb], *OWN[verb]]]
        lines += [[verb, *positional, *good, f"{option}={word}"] for option in [*GOOD[verb], *OWN[verb]]]
        lines += [[verb, *good, word], [word], [verb, "--no-such-option", word], [verb, f"--no-such-option={word}"]]
        for words in lines:
            try:
                code = cli.main(words)
            except SystemExit as error:
                code = error.code
            err = capsys.readouterr().err.splitlines()
            if code == 0:  # a few are right, such as a file's name
                continue
            assert code == 2
            assert "attnsep" in err[-1]
            assert len(err[-1]) < 800, words[:-1]


def test_every_verb_is_fuzzed(capsys):
    with pytest.raises(SystemExit):
        cli.main(["no-such-verb"])
    choices = capsys.readouterr().err.split("choose from")[1]
    assert set(re.findall(r"[a-z]+", choices)) == GOOD.keys()


GARBAGE = [
    "",
    "{",
    "[]",
    "[1]",
    "{}",
    "3",
    "null",
    '[{"id": 3}]',
    '[{"id": "tensor-trick"}]',
    "\0",
    '{"rows": 3}',
    "NaN",
]


@pytest.mark.parametrize("text", GARBAGE)
@pytest.mark.parametrize("words", [["claims"], ["claims", "--json"], ["verify", "tensor-trick", "--compare"]])
def test_a_record_of_garbage(text, words, capsys, monkeypatch, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setenv("ATTNSEP_RECORD", str(path))
    code = cli.main(words)
    out, err = capsys.readouterr()
    readable = text in ("[]", "{}")  # nothing was run yet
    assert code == (2 if not readable else 1 if "--compare" in words else 0)
    assert ("record.json: is no record of claims" in err) == (not readable)
    assert not (out and code == 2 and "--compare" not in words)


def test_a_record_that_cannot_be_read(capsys, monkeypatch, tmp_path):
    for place in (tmp_path, tmp_path / "record.json"):
        monkeypatch.setenv("ATTNSEP_RECORD", str(place))
        if place != tmp_path:
            place.write_bytes(b"\xff\xfe\x00")
        assert cli.main(["claims"]) == 2
        assert "is no record of claims" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may write everywhere")
def test_a_result_in_a_read_only_folder(capsys, tmp_path):
    tmp_path.chmod(0o555)
    assert cli.main(["bench", "--n", "4", "--d", "3", "--seconds", "1e-9", "--out", str(tmp_path / "x.json")]) == 2
    assert "x.json" in capsys.readouterr().err
    tmp_path.chmod(0o755)


@pytest.fixture
def run_shell(surroundings):
    """Return a function that runs a command of bash, in which python and attnsep stand for those of the tests."""
    python = shlex.quote(sys.executable)
    words = {"python": python, "attnsep": f"{python} -m attnsep.cli"}

    def run(command):
        command = re.sub(r"\b(?:attnsep|python)\b", lambda word: words[word[0]], command)
        words_of_bash = ["bash", "-c", command.encode("utf-8")]  # text would be written in the user's encoding
        return subprocess.run(words_of_bash, capture_output=True, encoding="utf-8", env=surroundings)

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "codes"),
    [
        ("set -o pipefail; attnsep claims --json | head -c 10", {0, 1}),
        ("set -o pipefail; attnsep fires --n 6 --d 5 --m 1 --a 1 --c 0.5 | true", {0, 1}),
        ("attnsep claims >&-", {0}),
        ("attnsep fires --n 7 --d 5 --m 1 --a 1 --c 0.5 2>&-", {2}),
        ("attnsep claims </dev/null >/dev/full", {2}),
        ("PYTHONIOENCODING=ascii attnsep fires --n 6 --d 5 --m 1 --a 1 --c 0.5 --kernel é", {2}),
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="has no /dev/full")
def test_pipes_and_terminals_that_go_away(run_shell, command, codes):
    done = run_shell(command)
    if command.endswith("2>&-") and run_shell("python -c 'import array_api_compat.numpy' 2>&-").returncode:
        pytest.skip("this NumPy does not load without a standard error")
    assert done.returncode in codes
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
