"""No option of the command line is ignored: each has a point where it changes what is printed, written or computed.

An option that has no point fails `test_every_option_has_a_point`.
"""

import argparse
import inspect
import itertools
import json
import re

import pytest

from attnsep import cli
from attnsep.bench import measure
from attnsep.ledger import framework
from attnsep.ledger.ratchet import read_ratchet
from attnsep.reportcard.card import Card, Line

pytestmark = pytest.mark.usefixtures("nothing_set")
FIRES = ["fires", "--n", "6", "--d", "5", "--m", "3", "--a", "0.7", "--c", "0.5"]
SAMPLED = [*FIRES, "--kernel", "window:1", "--draws", "20"]
SIZES = ["sizes", "--delta", "0.3", "--a0", "0.05", "--a1", "0.7", "--c", "0.9", "--d-max", "40"]
BENCH = ["bench", "--n", "4", "--d", "3"]
LEARN = ["learn", "edge"]
GRID = ["learn", "--grid", "g.json"]
VERIFY = ["verify", "tensor-trick"]
REPORT = ["report", "softmax"]
# Words, and words that differ in the option alone: without it, or with another value.  An output may repeat a value,
# which is no use of it: values that differ are taken out of what is compared.
POINTS = {
    "claims --json": (["claims"], ["claims", "--json"]),
    "verify ids": (VERIFY, ["verify", "column-law"]),
    "verify --backend": (VERIFY, [*VERIFY, "--backend", "array_api_strict"]),
    "verify --jobs": (VERIFY, [*VERIFY, "--jobs", "2"]),
    "verify --json": (VERIFY, [*VERIFY, "--json"]),
    "verify --compare": (VERIFY, [*VERIFY, "--compare"]),
    "verify --seeds": (VERIFY, [*VERIFY, "--seeds", "1"]),
    "fires --n": (FIRES, [*FIRES, "--n", "600"]),
    "fires --d": (FIRES, [*FIRES, "--d", "4"]),
    "fires --m": (FIRES, [*FIRES, "--m", "4"]),
    "fires --a": (FIRES, [*FIRES, "--a", "2"]),
    "fires --c": (FIRES, [*FIRES, "--c", "0.1"]),
    "fires --gap": (FIRES, [*FIRES, "--gap", "0.4"]),
    "fires --kernel": (FIRES, [*FIRES, "--kernel", "linear"]),
    "fires --seed": ([*FIRES, "--seed", "0"], [*FIRES, "--seed", "1"]),
    "fires --draws": (SAMPLED, [*SAMPLED[:-1], "30"]),
    "fires --json": (FIRES, [*FIRES, "--json"]),
    "sizes --delta": (SIZES, [*SIZES, "--delta", "0.4"]),
    "sizes --a0": (SIZES, [*SIZES, "--a0", "0.6"]),
    "sizes --a1": (SIZES, [*SIZES, "--a1", "0.6"]),
    "sizes --c": (SIZES, [*SIZES, "--c", "0.95"]),
    "sizes --t": ([*SIZES, "--t", "1"], [*SIZES, "--t", "2"]),
    "sizes --gap": (SIZES, [*SIZES, "--gap", "0.12"]),
    "sizes --d-max": (SIZES, [*SIZES, "--d-max", "5"]),
    "sizes --json": (SIZES, [*SIZES, "--json"]),
    "bench --n": (BENCH, [*BENCH, "--n", "5"]),
    "bench --d": (BENCH, [*BENCH, "--d", "4"]),
    "bench --dtype": (BENCH, [*BENCH, "--dtype", "float32"]),
    "bench --seconds": (BENCH, [*BENCH, "--seconds", "2"]),
    "bench --out": (BENCH, [*BENCH, "--out", "bench.json"]),
    "bench --json": (BENCH, [*BENCH, "--json"]),
    "learn task": (LEARN, ["learn", "mqar"]),
    "learn --kernel": (LEARN, [*LEARN, "--kernel", "elu+1"]),
    "learn --seed": (LEARN, [*LEARN, "--seed", "1"]),
    "learn --set": (LEARN, [*LEARN, "--set", "n=64"]),
    "learn --checkpoint": (LEARN, [*LEARN, "--checkpoint", "state"]),
    "learn --grid": (GRID, ["learn", "--grid", "h.json"]),
    "learn --jobs": (GRID, [*GRID, "--jobs", "2"]),
    "learn --dask": (GRID, [*GRID, "--dask", "tcp://nowhere:1"]),
    "learn --out": (GRID, [*GRID, "--out", "rows.jsonl"]),
    "report attention": (REPORT, ["report", "linear"]),
    "report --layout": (REPORT, [*REPORT, "--layout", "nd"]),
    "report --library": (REPORT, [*REPORT, "--library", "numpy"]),
    "report --dtype": (REPORT, [*REPORT, "--dtype", "float32"]),
    "report --width": (REPORT, [*REPORT, "--width", "34"]),
    "report --lines": (REPORT, [*REPORT, "--lines", "sees,counts"]),
    "report --require": (REPORT, [*REPORT, "--require", "sees"]),
    "report --n": (REPORT, [*REPORT, "--n", "256"]),
    "report --seconds": (REPORT, [*REPORT, "--seconds", "9"]),
    "report --seed": (REPORT, [*REPORT, "--seed", "1"]),
    "report --html": (REPORT, [*REPORT, "--html", "card.html"]),
    "report --json": (REPORT, [*REPORT, "--json"]),
    "learn --json": (LEARN, [*LEARN, "--json"]),
}
TIMED = inspect.signature(measure.bench).parameters  # where tests put a stand-in for it
LIMITS = {"sizes --d-max", "sizes --a0"}  # what is beyond them is refused
ROW = {"task": "edge", "kernel": "softmax", "seed": 0, "settings": {}, "steps": 1, "result": {"diverged": False}}
ROW |= {"versions": {}, "machine": {}, "seconds": 1.0}
CARD = Card("mine", {"seed": 0}, (Line("sees", "no", "It does not.", {}),))
RESULT = {"rows": [{"mechanism": "softmax", "n": 4, "d": 3, "dtype": "float64", "library": "attnsep", "memory": None}]}
RESULT["rows"][0] |= {"median": 1.0, "min": 1.0, "max": 1.0}


@pytest.fixture
def done(monkeypatch, tmp_path, capsys):
    """Return a function from words to all that they do: status, what is printed, files, and the work that they ask for.

    What takes long is not done: what it was asked for is noted.
    """
    monkeypatch.chdir(tmp_path)
    asked, verify = [], framework.verify
    monkeypatch.setattr(measure, "bench", noting(asked, RESULT))
    monkeypatch.setattr(measure, "load", lambda: 0)
    monkeypatch.setattr(cli.card, "report", noting(asked, CARD))
    monkeypatch.setattr(cli.card, "named", len)  # a kernel is its name here, which is no use of it
    monkeypatch.setattr("attnsep.learn.train.train", noting(asked, ROW))
    monkeypatch.setattr("attnsep.learn.grid.run_grid", noting(asked, [ROW]))
    monkeypatch.setattr(cli, "verify", noting(asked, None, lambda *args, **named: verify(*args, **named | {"jobs": 1})))
    lines = [line | {"cases": line["cases"] and line["cases"] + 1} for line in read_ratchet()]
    monkeypatch.setattr(cli, "read_ratchet", lambda: lines)  # so that --compare has something to say

    def do(words):
        asked.clear()
        for path in tmp_path.iterdir():
            path.unlink()
        for name, seed in (("g.json", 0), ("h.json", 1)):
            (tmp_path / name).write_text(
                json.dumps([{"task": "edge", "kernel": "softmax", "seed": seed, "settings": {}}])
            )
        code = cli.main(words)
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted(tmp_path.iterdir())}
        return code, *capsys.readouterr(), files, list(asked)

    return do


def noting(asked, result, call=None):
    """Return a function that notes its arguments and returns this result, or that of a call."""

    def noted(*args, **named):
        asked.append(repr((args, named)))
        return call(*args, **named) if call else result

    return noted


def bare(done, words, others):
    """Return what was done as text, without the values in which two command lines differ."""
    differing = {word for pair in itertools.zip_longest(words, others) if len({*pair}) > 1 for word in pair if word}
    values = [re.escape(word) for word in differing if not word.startswith("-")]
    return re.sub(rf"(?<![\w.])({'|'.join(values)})(?![\w.])", "…", repr(done)) if values else repr(done)


@pytest.mark.slow
@pytest.mark.parametrize("option", POINTS)
def test_every_option_changes_something(done, option):
    without, given = map(done, POINTS[option])
    assert without[0] == 0, without
    assert bare(without, *POINTS[option]) != bare(given, *POINTS[option]), (
        f"attnsep {option} changes nothing: use it in attnsep.cli, or cut it"
    )
    assert given[0] in (0, 1) or option in LIMITS, given
    assert without == done(POINTS[option][0]), "the words do not do the same twice, so a difference says nothing"


def options_of(parser):
    """Return all options and words of a parser with verbs."""
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {
        f"{verb} {max(action.option_strings, key=len, default=action.dest)}"
        for verb, part in verbs.choices.items()
        for action in part._actions
        if not isinstance(action, argparse._HelpAction)
    }


def test_every_option_has_a_point():
    missing = options_of(cli._parser([])) - POINTS.keys()
    assert missing == set(), "add words to POINTS in lib/tests/test_options.py that do something else with this option"
    assert POINTS.keys() - options_of(cli._parser([])) == set(), "these are no options any more: cut their points"


def test_the_help_names_the_defaults_that_are_taken():
    """Typed twice: measure and its constants are loaded by no help."""
    (verbs,) = (action for action in cli._parser([])._actions if isinstance(action, argparse._SubParsersAction))
    found = {}
    for verb, part in verbs.choices.items():
        for action in part._actions:
            if named := re.search(r"\(default: (.+)\)", action.help or ""):
                default = action.default
                if default is None and verb == "bench":
                    default = TIMED[action.dest].default
                if default is None and verb == "learn":
                    default = cli.OF_LEARN[action.dest]
                words = [f"{x:g}" if isinstance(x, float) else str(x) for x in [default]]
                if isinstance(default, list | tuple):
                    words = (
                        [*map(str, default[:2]), "…", str(default[-1])] if len(default) > 3 else [*map(str, default)]
                    )
                found[f"{verb} {action.dest}"] = named[1], (", " if "…" in words else " ").join(words)
    assert {name for name, (_, default) in found.items() if default == "None"} == {
        "verify backend",
        "report layout",
        "report library",
        "report dtype",
        "report lines",
    }
    for name, (said, default) in found.items():
        assert default in (said, "None"), f"attnsep {name}: the help says {said}"


def test_a_bar_is_shown_where_no_json_is_asked_for(done):
    for words in (REPORT, ["bench", "--n", "4", "--d", "3"]):
        for json_too, shown in (([], True), (["--json"], False)):
            assert f"'progress': {shown}" in done([*words, *json_too])[4][0]


def test_an_option_without_a_point_is_noticed():
    parser = cli._parser([])
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    verbs.choices["fires"].add_argument("--new")
    assert options_of(parser) - POINTS.keys() == {"fires --new"}
