"""No parameter is ignored: for each there are two calls that differ in it alone and have different results.

For a fuzzed function they are looked for among what its strategy draws (`parameters.search`); where that finds none,
POINTS has them.  A parameter that nothing covers fails, and so does one that no longer changes anything.
"""

import dataclasses
import inspect
import itertools
import os
from importlib import import_module

import numpy as np
import pytest
import sympy

from attnsep import arrays, checks, figures, files
from attnsep import tables as tables_of_pages
from attnsep.attention import attend, kernels
from attnsep.bench import cost
from attnsep.extensions import any_readout, sensitivity
from attnsep.figures import Curve, Map, Rule, grammar
from attnsep.learn import model, table, tasks, train
from attnsep.ledger import framework, record, sampled, tables
from attnsep.paper import gains, network, one_query, tokens
from attnsep.probability import intervals, sign_sums
from attnsep.reportcard import cards
from attnsep.reportcard.card import report
from lib.tests.fuzzing import CASES, name_of, strict
from lib.tests.parameters import fresh, home, search, trace
from lib.tests.reportcard.stand_ins import linear
from lib.tests.test_fuzz import IN_OTHER_TESTS, WITH_FILES, covered

HELP = "Use the parameter, or cut it; for a new one add a point to POINTS in lib/tests/test_parameters.py"
# Why no change of it changes a result, and where it is tested what it does instead.
ELSEWHERE = {
    "attention.attend.attend.threads": "the same numbers: attention/test_fast_threads.py",
    "attention.attend.attend.unique": "the same numbers, from fewer rows: attention/test_fast_threads.py",
    "ledger.framework.check.id": "printed: ledger/test_framework.py",
    "attention.kernels.FeatureMap.weights.positions": "places, for kernels of places alone: Window has a point",
    "ledger.framework.kept.claim": "nothing, where no evidence is kept: ledger/test_framework.py",
    "ledger.framework.kept.xp": "nothing, where no evidence is kept: ledger/test_framework.py",
    "paper.gains.Infinite.shares.rest": "an infinite gain takes all",
    "ledger.framework.verify.jobs": "the same evidence, from other processes: ledger/test_framework.py",
    "learn.grid.run_grid.done": "training/test_golden.py, with all of run_grid",
    "learn.grid.run_grid.jobs": "training/test_grid.py",
    "learn.grid.run_grid.dask": "training/test_grid.py",
    "learn.grid.run_grid.progress": "training/test_golden.py",
    "learn.train.train.checkpoint": "training/test_golden.py, with all of train",
    "learn.train.train.progress": "training/test_golden.py",
    "learn.train.trained_or_stored.settings": "training/test_golden.py",
    "cli.main.arguments": "test_options.py",
    "reportcard.card.report.library": "the same numbers, from other arrays: reportcard/test_callables.py",
    "reportcard.card.report.layout": "found where it is left out: reportcard/test_callables.py",
    "reportcard.card.report.seconds": "how far it looks: reportcard/test_card.py",
    "reportcard.card.report.progress": "on a terminal: reportcard/test_card.py",
}
ELSEWHERE |= {
    f"learn.tasks.Task.{name}": "only training reads it: training/test_golden.py"
    for name in ("steps", "rate", "every", "clip")
}
SLOW = ("figures.", "learn.tasks.Digits")  # they draw, and read a set of data
OWN = ("bench.measure.",)  # measures: bench/test_measure_competitor.py

A, B = np.array([[1.0, 2.0], [3.0, 1.0]]), np.array([[0.5, 1.0], [2.0, 1.5]])
KEEP = np.array([[True, False], [True, True]])
BLOCK = model.initial_block(np.random.default_rng(1), d=2, width=2, hidden=3)
TIMES = [
    {"mechanism": name, "library": library, "n": n, "d": d, "dtype": dtype, "memory": 7 * n}
    | {"median": 2.0 if name == "softmax" else 3.0 if n < d else 1.0, "min": 0.5, "max": 4.0 + (library == cost.PEER)}
    for name in ("softmax", "linear")
    for library in (cost.OURS, cost.PEER)
    for n, d, dtype in ((4, 3, "float64"), (8, 3, "float64"), (4, 6, "float64"), (8, 6, "float64"), (16, 6, "float32"))
]
OF_TIMES = {"rows": TIMES, "d": 6, "dtype": "float64"}
KINDS = itertools.product(("softmax", "linear"), (cost.OURS, cost.PEER), (2, 3), cost.DTYPES)
OF_TURNS = {
    "rows": [
        {"mechanism": name, "library": library, "n": n, "d": d, "dtype": dtype, "median": 1.0}
        | {"turns": [n**power * (1 + n / k) for k in range(1, 10)]}
        for power, (name, library, d, dtype) in enumerate(KINDS, 1)
        for n in (1, 2, 4)
    ],
    **{"attention": "softmax", "d": 2, "first": 1, "last": 4, "rng": np.random.default_rng(0)},
}
SPIKED = {"delta": "0.2", "tau": "0.9", "low": 1, "high": 1.5, "spike": 1.9}
SIZES = {"delta": "0.1", "a0": "0.05", "a1": "0.7", "c": "0.5"}
CLAIMED = {"id": "a-claim", "mark": "source", "source": "x", "statement": "x 1", "chapter": "x", "level": "exact"}
CLAIMED |= {
    "control": "x",
    "violations": (1,),
    "assumes": "",
    "uses": (),
    "expect": "holds",
    "coarse": (),
    "tests": "none",
}
DEFINED = {name: CLAIMED[name] for name in ("id", "mark", "source", "statement", "chapter")}
TABLE = {"header": ("n",), "rows": ((1,),), "about": "one", "filters": ()}
ROW = {"task": "mqar", "kernel": "softmax", "seed": 0, "settings": {}, "steps": 1, "result": {"all": 0.5, "x": 1.0}}
ROW |= {"versions": {}, "machine": {}, "seconds": 1.0}
ROW["result"]["diverged"] = False
CHOSEN = [
    ROW
    | {"seed": table.VALIDATION, "kernel": kernel, "settings": {"rate": rate}}
    | {"result": {"diverged": False} | found}
    for kernel, rate, found in (
        ("softmax", 0.001, {"all": 0.5, "x": 0.25}),
        ("softmax", 0.003, {"all": 0.25, "x": 0.5}),
        ("linear", 0.01, {"all": 0.5, "x": 0.5}),
    )
]
SAMPLE = {"k": 60, "draws": 100, "reached": {}}
TOLD = {"n": 8, "d": 6, "a0": 0, "a1": "0.001", "c": "0.5", "form": "bfloat16", "kernel": "linear"}
TOLD_OTHERWISE = {"n": 4, "d": 4, "form": "float32", "kernel": "softmax"}
SYMBOL = sympy.Symbol("x")


@pytest.fixture(autouse=True)
def own_ledger(monkeypatch):
    """Let claims that are entered on the way be gone afterwards."""
    monkeypatch.setattr(framework, "LEDGER", dict(framework.LEDGER))


def called(function, arguments):
    """Return what a function returns; keywords of any name, such as `reached`, are one argument."""
    kinds = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
    first = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_ONLY]
    rest = {}
    for name in arguments.keys() - first:
        free = kinds.get(name) is inspect.Parameter.VAR_KEYWORD
        rest |= arguments[name] if free else {name: arguments[name]}
    return function(*(arguments[name] for name in first), **rest)


def entered(**words):
    """Return what the ledger keeps of a claim or a definition."""
    if "level" in words:
        framework.claim(**words)(lambda xp, broken=None: iter([framework.equal(0, broken or 0)]))
    else:
        framework.definition(**words)
    return {name: value for name, value in vars(framework.LEDGER.pop(words["id"])).items() if name != "cases"}


def on_a_page(**fields):
    """Return a table as a page shows it."""
    return tables_of_pages.Table(**fields)._repr_html_()


def judged(**fields):
    """Return what the ledger makes of a case."""
    case = framework.Case(**fields)
    return case.verdict, case.margin, case.reached, case.alarm, case.equality


def smallest(sizes, suffice, missing):
    return sign_sums.smallest_size(sizes, lambda n: n, suffice, missing)


def certified_from(slack, most_boxes):
    growths = [(lambda a: intervals.interval(1), {"a": (0, 1)})]
    return intervals.certify_from(3, slack, growths, {"a": (0, 1)}, most_boxes=most_boxes)


def above(least):
    """Return a slack that holds from 1/4 on; to see that of 3/10 takes some boxes."""
    return lambda *n, a: a * a - a + least


def drawn_claim(run):
    """Return a function of seeds that runs a claim whose only case is a drawn number."""

    def cases(xp, broken=None):
        yield framework.at_most(framework.generator(1).random(), 9 - (broken or 0))

    def margin(seeds):
        entry = dataclasses.replace(
            framework.LEDGER["tensor-trick"], id="a-claim", cases=cases, level="verified", violations=(9,)
        )
        framework.LEDGER["a-claim"] = entry
        try:
            return run(seeds).margin
        finally:
            del framework.LEDGER["a-claim"]

    return margin


RUN = drawn_claim(lambda seeds: framework.run(framework.find("a-claim"), np, seeds))
VERIFY = drawn_claim(lambda seeds: framework.verify(["a-claim"], xp=np, seeds=seeds)[0])


def drawn(scores):
    return one_query.QueryData(n=4).matrix(np.random.default_rng(0), scores=scores, xp=np)


REACHED = {"reached": {"n": 3}}
# By function: what is called, arguments, and of each parameter that `search` cannot judge another value.
POINTS = [
    ("arrays.common_namespace", arrays.common_namespace, {"arrays": {"A": A}}, {"arrays": {"A": strict(A)}}),
    ("arrays.require_real_dtype", arrays.require_real_dtype, {"xp": np, "dtype": np.float32}, {"dtype": np.float64}),
    (
        "attention.attend.attend",
        attend.attend,
        {"q": A, "k": B, "v": A, "kernel": "performer:4", "rng": np.random.default_rng(1)},
        {"rng": np.random.default_rng(2)},
    ),
    (
        "attention.attend.attend",
        attend.attend,
        {"q": A, "k": B, "v": A, "kernel": "linear"},
        {"cancellation": True, "k": A},
    ),
    (
        "attention.attend.values",
        attend.values,
        {"A1": A, "A2": B, "A3": A, "X": B, "kernel": "performer:4", "rng": np.random.default_rng(1)},
        {"rng": np.random.default_rng(2)},
    ),
    (
        "attention.kernels.Window.weights",
        kernels.Window(0).weights,
        {"q": A, "k": B},
        {"positions": np.array([1, 0])},
    ),
    (
        "attention.kernels.Performer",
        lambda features: attend.attend(A, B, A, kernel=kernels.Performer(features), rng=np.random.default_rng(1)),
        {"features": 4},
        {"features": 3},
    ),
    ("bench.cost.crossover", cost.crossover, OF_TIMES, {"d": 3, "dtype": "float32"}),
    ("bench.cost.medians", cost.medians, OF_TIMES, {"d": 3, "what": "memory", "dtype": "float32"}),
    ("bench.cost.medians", cost.medians, OF_TIMES | {"what": "max"}, {"library": cost.PEER}),
    ("bench.cost.growth", cost.growth, OF_TURNS, {"d": 3, "attention": "linear", "dtype": "float32"}),
    ("bench.cost.growth", cost.growth, OF_TURNS, {"library": cost.PEER, "first": 2, "last": 2}),
    ("bench.cost.growth", cost.growth, OF_TURNS, {"rng": np.random.default_rng(1)}),
    ("bench.cost.read_result", cost.read_result, {}, {"path": table.grid_path()}),
    ("checks.require_choice", checks.require_choice, {"name": "x", "value": "a", "choices": "ab"}, {"choices": "cd"}),
    ("checks.require_decimal", checks.require_decimal, {"name": "x", "value": 1, "least": 0}, {"least": 2}),
    (
        "checks.require_finite",
        checks.require_finite,
        {"xp": np, "result": np.array([np.inf]), "names": "x"},
        {"xp": 3, "names": "y"},
    ),
    (
        "checks.require_floating",
        checks.require_floating,
        {"xp": np, "arrays": {"A": A}},
        {"xp": 3, "arrays": {"A": A > 0}},
    ),
    ("checks.require_instance", checks.require_instance, {"name": "x", "value": 1, "kind": int}, {"kind": str}),
    (
        "checks.require_integer",
        checks.require_integer,
        {"name": "x", "value": 5, "least": 1, "most": 9},
        {"least": 6, "most": 4},
    ),
    (
        "checks.require_plain",
        checks.require_plain,
        {"name": "x", "array": np.ma.masked_array(A)},
        {"name": "y", "array": A},
    ),
    (
        "checks.require_shape",
        checks.require_shape,
        {"name": "x", "array": A, "shape": (3, 2)},
        {"name": "y", "array": np.ones((3, 2)), "shape": (2, 2)},
    ),
    ("checks.require_size", checks.require_size, {"lengths": {"n": 3}}, {"lengths": {"n": 10**9}}),
    (
        "extensions.any_readout.share_told_apart",
        any_readout.share_told_apart,
        TOLD,
        TOLD_OTHERWISE,
    ),
    (
        "extensions.any_readout.share_told_apart",
        any_readout.share_told_apart,
        {"n": 64, "d": 10, "a0": "0.05", "a1": "0.06", "c": "0.5", "form": "float16", "kernel": "linear"},
        {"c": "0.2"},
    ),
    (
        "extensions.sensitivity.fires_map",
        sensitivity.fires_map,
        {"n": 8, "d": 6, "m": 2, "a": "0.7", "c": "0.5"},
        {"n": 32},
    ),
    (
        "extensions.sensitivity.steps_within",
        sensitivity.steps_within,
        {"errors": sensitivity.error_map(4, 4, [1, 2, 99, 2, 1], 0, 1, "0.5"), "limit": 0.5, "start": 1},
        {"start": 3},
    ),
    ("files.require_writable", files.require_writable, {"name": "x", "path": os.devnull}, {"kept": True}),
    (
        "learn.model.block",
        model.block,
        {"p": BLOCK, "x": A[None], "kernel": "softmax"},
        {"kernel": "linear", "keep": KEEP, "asked": np.array([[1, 0]])},
    ),
    (
        "learn.model.weights",
        model.weights,
        {"q": A, "k": B, "kernel": "linear"},
        {"q": B, "kernel": "elu+1", "keep": KEEP},
    ),
    ("learn.table.read_rows", table.read_rows, {}, {"path": table.grid_path()}),
    (
        "reportcard.card.report",
        report,
        {"attention": linear, "library": "numpy", "width": 8, "lines": ["sees"], "n": 128},
        {"n": 256},
    ),
    ("reportcard.cards.read_cards", cards.read_cards, {}, {"path": table.grid_path()}),
    (
        "learn.table.by_seed",
        table.by_seed,
        {"rows": [ROW, ROW | {"kernel": "linear", "result": {"all": 1.0}}], "name": "mqar", "kernel": "softmax"}
        | {"path": ("result", "all"), "wanted": {}},
        {"kernel": "linear", "path": ("result", "x"), "wanted": {"pairs": 3}},
    ),
    (
        "learn.table.chosen_rate",
        table.chosen_rate,
        {"rows": CHOSEN, "name": "mqar", "kernel": "softmax", "test": "all", "wanted": {}},
        {"name": "edge", "kernel": "linear", "test": "x", "wanted": {"pairs": 3}},
    ),
    ("learn.train.record", train.record, {"lengths": [1, 2], "margins": None}, {"margins": [0.5, 0.1], "clip": 1.5}),
    (
        "learn.tasks.Recall.score",
        tasks.task("mqar", {"pairs": 1}).score,
        {"outputs": np.eye(2)[None], "targets": np.array([[0, 1]])},
        {"outputs": 1 - np.eye(2)[None], "targets": np.array([[1, 1]])},
    ),
    (
        "learn.tasks.Recall",
        lambda **settings: tasks.task("mqar", settings).draw(np.random.default_rng(1)),
        {"pairs": 4, "n": 32},
        {"n": 34},
    ),
    (
        "learn.tasks.Retrieval.draw",
        tasks.task("retrieval", {"pairs": 4}).draw,
        {"rng": np.random.default_rng(1)},
        {"count": 2},
    ),
    (
        "learn.tasks.Retrieval",
        lambda **settings: tasks.task("retrieval", settings).source(np.random.default_rng(1)),
        {"pairs": 4, "asked": 4},
        {"asked": 2},
    ),
    (
        "learn.tasks.Retrieval",
        lambda **settings: tasks.task("retrieval", settings).initial(np.random.default_rng(1)),
        {"pairs": 4, "start": "uniform"},
        {"start": "xavier"},
    ),
    (
        "learn.tasks.Retrieval.judged",
        tasks.task("retrieval", {"pairs": 4}).judged,
        {"scores": np.zeros((2, 4))},
        {"scores": np.ones((2, 4))},
    ),
    (
        "learn.tasks.cross_entropy",
        tasks.cross_entropy,
        {"outputs": A, "targets": np.array([0, 1])},
        {"outputs": B, "targets": np.array([0, -1])},
    ),
    (
        "ledger.framework.Case",
        judged,
        {"margin": -0.5},
        {"margin": -1.5, "tolerance": 1.0, "reached": {"n": 3}, "upper": 1.0, "alarm": 0.5, "equality": True},
    ),
    ("ledger.framework.at_least", framework.at_least, {"value": 2, "bound": 1, "reached": {}}, REACHED),
    ("ledger.framework.at_most", framework.at_most, {"value": 2, "bound": 1, "reached": {}}, REACHED),
    (
        "ledger.framework.claim",
        entered,
        CLAIMED,
        {"id": "y", "mark": "extension", "source": "y", "statement": "y", "chapter": "y", "level": "verified"}
        | {"control": "y", "violations": (2,), "assumes": "y", "uses": ("def-vec",), "expect": "refuted"}
        | {"coarse": [("1", "y")], "tests": (network.relu,)},
    ),
    (
        "ledger.framework.definition",
        entered,
        DEFINED,
        {"source": "y", "statement": "y", "mark": "extension", "chapter": "y"},
    ),
    ("ledger.framework.equal", framework.equal, {"value": 2, "wanted": 1, "reached": {}}, REACHED),
    ("tables.Table", on_a_page, TABLE, {"header": ("m",), "rows": ((2,),), "about": "two", "filters": ("n",)}),
    ("ledger.framework.find", framework.find, {"id": "tensor-trick"}, {"id": "linear-flat"}),
    ("ledger.framework.run", RUN, {"seeds": 0}, {"seeds": 1}),
    ("ledger.framework.to_digits", framework.to_digits, {"value": 2, "wanted": 1, "number": 1, "reached": {}}, REACHED),
    ("ledger.framework.verify", VERIFY, {"seeds": 0}, {"seeds": 1}),
    ("ledger.framework.within", framework.within, {"value": 2, "low": 1, "high": 3, "reached": {}}, REACHED),
    (
        "ledger.record.require_record",
        record.require_record,
        {"record": {"x": {}}, "fields": frozenset()},
        {"fields": {"y"}},
    ),
    (
        "ledger.sampled.inside_clopper_pearson",
        sampled.inside_clopper_pearson,
        SAMPLE | {"p": 0.5},
        {"alarm": 0.1, "reached": {"n": 3}},
    ),
    ("ledger.sampled.not_above", sampled.not_above, SAMPLE | {"p": 0.5}, {"alarm": 0.1, "reached": {"n": 3}}),
    (
        "ledger.sampled.same_probability",
        sampled.same_probability,
        SAMPLE | {"other": 70},
        {"alarm": 0.1, "reached": {"n": 3}},
    ),
    (
        "ledger.sampled.surely_inside",
        sampled.surely_inside,
        SAMPLE | {"low": 0, "high": 0.9},
        {"alarm": 0.1, "reached": {"n": 3}},
    ),
    ("ledger.tables.gpu_table", tables.gpu_table, {"path": "none"}, {"path": table.grid_path()}),
    ("paper.gains.gains", gains.gains, {"n": 4, "a": 1, "kernel": "elu+1", "d": 3}, {"d": 4}),
    ("paper.one_query.QueryData.matrix", drawn, {"scores": None}, {"scores": np.array([0.2, 0.3, 0.2, 0.3])}),
    ("paper.one_query.query_sizes_bound", one_query.query_sizes_bound, SPIKED, {"n_max": 3}),
    ("paper.one_query.query_sizes_exact", one_query.query_sizes_exact, SPIKED, {"n_max": 3, "shape": "extreme"}),
    (
        "paper.tokens.Scaled.X",
        tokens.TokenData(n=6, d=5, a=1, c="0.5").X,
        {"xp": np},
        {"dtype": np.float32},
    ),
    (
        "paper.tokens.TokenData.matrix",
        tokens.TokenData(n=6, d=5, a=1, c="0.5").matrix,
        {"xp": np},
        {"dtype": np.float32},
    ),
    ("paper.tokens.sizes", tokens.sizes, SIZES, {"d_max": 90, "a0": "0.3"}),
    ("paper.tokens.weights", tokens.weights, {"n": 4, "a": 1, "kernel": "elu+1", "d": 3}, {"d": 4}),
    (
        "probability.intervals.certify",
        intervals.certify,
        {"slack": above("0.3"), "box": {"a": (0, 1)}},
        {"slack": above("0.2"), "most_boxes": 1},
    ),
    (
        "probability.intervals.certify_from",
        certified_from,
        {"slack": above("0.3"), "most_boxes": 4096},
        {"slack": above("0.2"), "most_boxes": 1},
    ),
    (
        "probability.intervals.certify_identity",
        intervals.certify_identity,
        {"difference": SYMBOL - 3, "point": {"x": 3}},
        {"difference": SYMBOL - SYMBOL, "point": {"x": 4}},
    ),
    (
        "probability.sign_sums.smallest_size",
        smallest,
        {"sizes": range(1, 5), "suffice": lambda n, m: n > 2, "missing": "x"},
        {"sizes": range(4, 5), "suffice": lambda n, m: n > 3},
    ),
    (
        "probability.sign_sums.smallest_size",
        smallest,
        {"sizes": range(1, 5), "suffice": lambda n, m: False, "missing": "x"},
        {"missing": "y"},
    ),
]


def charted(**fields):
    """Return a chart of a curve with these fields beside another one."""
    fields = {"x": [1, 2], "y": [1, 2], "panel": "one"} | fields
    other = Curve(x=[1, 2], y=[2, 1], mechanism="linear", data="D_1", at={"n": 9}, panel="one")
    return figures.chart([Curve(**fields), other], x="n", y="fires", title="Why?")


def ruled(**fields):
    """Return a chart with a threshold that has these fields, in one of two panels or in both."""
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, Rule(**fields)], x="n", y="fires", title="Why?")


def banded(**fields):
    """Return a chart with a band that has these fields, in one of two panels."""
    fields = {"x": [1, 2], "low": [0, 0], "high": [1, 1], "words": "a", "panel": "one"} | fields
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, grammar.Band(**fields)], x="n", y="fires", title="Why?")


def counted(**fields):
    """Return a chart with a histogram that has these fields, in one of two panels."""
    fields = {"values": [0.5, 1.5], "bins": [0, 1, 2], "mechanism": "softmax", "panel": "one"} | fields
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, grammar.Histogram(**fields)], x="n", y="fires", title="Why?")


PAIR = [Curve(x=[1, 2], y=[1, 2], mechanism=name, panel=name) for name in ("softmax", "linear", "relu")]
CHART = {"things": PAIR, "x": "n", "y": "fires", "title": "Why?"}
CHART_OTHERWISE = {"things": PAIR[:1], "x": "m", "y": "weight", "title": "How?", "x_scale": "log", "y_scale": "log"}
CHART_OTHERWISE |= {"x_range": (0, 9), "y_range": (0, 9), "columns": 1, "height": 9}
PLAIN_MAP = {"x": [0.0, 1.0], "y": [0.0, 1.0], "x_name": "d", "y_name": "m"}
MAP = Map(**PLAIN_MAP, values=np.array([[0.0, 1.0], [0.3, 0.6]]))
MAPS = {"things": [MAP], "levels": [0, 0.5, 1], "line": 0.5, "title": "Why?"}
MAPS_OTHERWISE = {"things": [MAP, MAP], "levels": [0, 0.7, 1], "line": 0.4, "name": "x", "title": "How?"}
HEAT = {"arrays": {"a": np.eye(2), "b": np.eye(2)}, "title": "Why?"}
HEAT_OTHERWISE = {
    "arrays": {"a": np.eye(2)},
    "mechanisms": {"a": "cosine"},  # is none; how colours look: figures/test_plots.py
    "marked": 1,
    "most": 9,
    "y": "x",
    "x": "x",
}
HEAT_OTHERWISE |= {"columns": 1, "title": "How?"}
CURVE_OTHERWISE = {
    "x": [1, 3],
    "y": [1, 3],
    "mechanism": "softmax",
    "data": "D_0",
    "at": {"n": 3},
    "role": "bound",
    "words": "more",
    "panel": "two",
    "steps": "mid",
    "dots": True,
}
POINTS += [
    ("figures.grammar.Band", banded, {"words": "a"}, {"mechanism": "softmax", "panel": "two"}),
    ("figures.grammar.Histogram", counted, {"values": [0.5, 1.5]}, {"panel": "two"}),
    ("figures.grammar.Curve", charted, {"words": "a"}, CURVE_OTHERWISE),
    ("figures.grammar.Curve", charted, {"words": "a", "low": [0, 0], "high": [3, 3]}, {"low": [0, 1], "high": [3, 4]}),
    ("figures.grammar.Curve", charted, {"words": "a"}, {"label": False}),
    ("figures.grammar.Rule", ruled, {"words": "τ", "x": 1.5}, {"words": "g", "x": 1, "panel": "two", "along": 0.5}),
    ("figures.grammar.Rule", ruled, {"words": "τ", "y": 1.5}, {"y": 1}),
    (
        "figures.grammar.spread",
        grammar.spread,
        {"wanted": [0.0, 1.0], "heights": [0.1, 0.1]},
        {"low": 0.2, "high": 0.8},
    ),
    ("figures.plots.chart", figures.chart, CHART, CHART_OTHERWISE),
    ("figures.plots.level_maps", figures.level_maps, MAPS, MAPS_OTHERWISE),
    ("figures.plots.heat_maps", figures.heat_maps, HEAT, HEAT_OTHERWISE),
]


def at_point(function, arguments):
    """Return the trace of a result, or of a refusal: what a parameter forbids is seen where it forbids."""
    try:
        return trace(called(function, fresh(arguments)))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


def without_effect(function, base, others):
    """Return the parameters whose other values change nothing."""
    before = at_point(function, base)
    return [name for name, value in others.items() if at_point(function, base | {name: value}) == before]


MARKED = [pytest.param(*point, marks=pytest.mark.slow) if point[0].startswith(SLOW) else point for point in POINTS]


@pytest.mark.parametrize(("name", "function", "base", "others"), MARKED)
def test_at_its_point_a_parameter_changes_the_result(name, function, base, others):
    ignored = without_effect(function, base, others)
    assert not ignored, f"{name}: {', '.join(ignored)} changes nothing. {HELP}"


def entries_of():
    """Return the entries of fuzzing by function, without those that only draw, and those of classes apart."""
    covered()
    found = {}
    for cases in CASES.values():
        for entry in cases:
            found.setdefault(name_of(entry.function), []).append(entry)
    return found


def wanted_of(function):
    """Return the parameters of a function that have to matter; an object's fields are looked at one by one."""
    return set(inspect.signature(function).parameters) - {"self"}


def of_name(name):
    """Return the public function of this name."""
    *place, last = name.split(".")
    while True:
        try:
            found = import_module(".".join(["attnsep", *place]))
            break
        except ModuleNotFoundError:
            last = f"{place.pop()}.{last}"
    for part in last.split("."):
        found = getattr(found, part)
    return found


def fields_brought_in(kind):
    """Return the fields that a dataclass has and its parents have not."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    homes = {home(kind, field.name) for field in fields if field.init}
    return {place for place in homes if place.rpartition(".")[0] == name_of(kind)}


def unseen(entries, known):
    """Return the parameters, and the fields of dataclasses, of which no change was found to change a result."""
    kinds = {cases[0].function for cases in entries.values() if inspect.isclass(cases[0].function)}
    fields = set().union(*map(fields_brought_in, kinds)) - known
    missing = []
    for name, cases in entries.items():
        if cases[0].function in kinds:
            continue
        left = {x for x in wanted_of(cases[0].function) if f"{name}.{x}" not in known}
        for entry in cases:
            found = search(entry, left, fields)
            left, fields = left - found, fields - found
        missing += [f"{name}.{parameter}" for parameter in sorted(left)]
    return missing + sorted(fields)


def known():
    """Return what POINTS and ELSEWHERE are about."""
    return {f"{name}.{parameter}" for name, _, _, others in POINTS for parameter in others} | ELSEWHERE.keys()


@pytest.mark.slow
def test_every_parameter_changes_a_result(nothing_set):
    entries = {name: cases for name, cases in entries_of().items() if not name.startswith((*SLOW, *OWN))}
    missing = unseen(entries, known())
    assert not missing, f"{', '.join(missing)}: no change of it changed any result. {HELP}"


@pytest.mark.slow
def test_every_parameter_of_a_figure_changes_it(nothing_set):
    entries = {name: cases for name, cases in entries_of().items() if name.startswith(SLOW)}
    missing = unseen(entries, known())
    assert not missing, f"{', '.join(missing)}: no change of it changed the picture. {HELP}"


def test_every_default_of_a_function_that_is_not_fuzzed_has_a_point():
    missing = [
        f"{name}.{p.name}"
        for name in sorted(WITH_FILES | IN_OTHER_TESTS.keys())
        for p in inspect.signature(of_name(name)).parameters.values()
        if p.default is not p.empty and f"{name}.{p.name}" not in known()
    ]
    assert not missing, f"{', '.join(missing)}: nothing says what it changes. {HELP}"


def test_what_is_tested_elsewhere_is_still_there():
    for place in ELSEWHERE:
        name, _, parameter = place.rpartition(".")
        assert parameter in inspect.signature(of_name(name)).parameters, f"{place} is no more: cut it from ELSEWHERE"


def test_what_is_ignored_is_noticed(nothing_set):
    (shifted,) = entries_of()["paper.network.shifted_relu"]
    assert search(shifted, {"z", "tau"}) == {"z", "tau"}
    assert search(dataclasses.replace(shifted, function=lambda z, tau: network.relu(z)), {"z", "tau"}) == {"z"}
    (matrix,) = entries_of()["paper.tokens.TokenData.matrix"]
    strength = {"paper.tokens.TokenData.a"}
    assert search(matrix, {"xp"}, strength) == {"xp"} | strength
    assert search(dataclasses.replace(matrix, function=lambda self, xp, **_: xp), {"xp"}, strength) == {"xp"}
    assert without_effect(lambda x, y: x, {"x": 1, "y": 1}, {"x": 2, "y": 2}) == ["y"]
