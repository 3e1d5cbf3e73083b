"""No parameter is ignored: for each there are two calls that differ in it alone and have different results.

For a fuzzed function they are looked for among what its strategy draws (`parameters.search`); where that finds none,
POINTS has them.  A parameter that nothing covers fails, and so does one that no longer changes anything.
"""

import dataclasses
import inspect
import itertools
import os

import numpy as np
import pytest
import sympy

from attnsep import arrays, checks, files
from attnsep import tables as tables_of_pages
from attnsep.attention import attend, kernels
from attnsep.bench import cost
from attnsep.extensions import any_readout, sensitivity
from attnsep.learn import model, table, tasks, train
from attnsep.ledger import framework, record, sampled, tables
from attnsep.paper import gains, network, one_query, tokens
from attnsep.probability import intervals, sign_sums
from attnsep.reportcard import cards
from attnsep.reportcard.card import report
from lib.tests.fuzzing import strict
from lib.tests.parameters import (
    HELP,
    defaults_without_point,
    entries_of,
    of_name,
    of_points,
    search,
    unseen,
    without_effect,
)
from lib.tests.reportcard.stand_ins import linear
from lib.tests.test_fuzz import IN_OTHER_TESTS, WITH_FILES

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
# Not searched: what is drawn, figures/test_figures_parameters.py; what is measured, bench/test_measure_competitor.py;
# what reads a set of data has a point.
OWN = ("figures.", "bench.measure.", "learn.tasks.Digits")

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
    pytest.param("learn.table.read_rows", table.read_rows, {}, {"path": table.grid_path()}, marks=pytest.mark.slow),
    (
        "reportcard.card.report",
        report,
        {"attention": linear, "library": "numpy", "width": 8, "lines": ["sees"], "n": 128},
        {"n": 256, "name": "mine", "dtype": "float32", "lines": ["numerics"]},
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
    pytest.param(
        "learn.tasks.Digits.source",
        tasks.task("digits").source,
        {"rng": np.random.default_rng(1)},
        {"rng": np.random.default_rng(2)},
        marks=pytest.mark.slow,
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


KNOWN = of_points(POINTS) | ELSEWHERE.keys()


@pytest.mark.parametrize(("name", "function", "base", "others"), POINTS)
def test_at_its_point_a_parameter_changes_the_result(name, function, base, others):
    ignored = without_effect(function, base, others)
    assert not ignored, f"{name}: {', '.join(ignored)} changes nothing. {HELP}"


@pytest.mark.slow
def test_every_parameter_changes_a_result(nothing_set):
    entries = {name: cases for name, cases in entries_of().items() if not name.startswith(OWN)}
    missing = unseen(entries, KNOWN)
    assert not missing, f"{', '.join(missing)}: no change of it changed any result. {HELP}"


def test_every_default_of_a_function_that_is_not_fuzzed_has_a_point():
    names = [name for name in sorted(WITH_FILES | IN_OTHER_TESTS.keys()) if not name.startswith(OWN)]
    missing = defaults_without_point(names, KNOWN)
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
