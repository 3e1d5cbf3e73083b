"""Every public function is fuzzed, in a test beside its unit tests, or by one of the tests named here."""

import importlib
import inspect
import pkgutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

import attnsep
from attnsep import arrays
from attnsep.attention import kernels
from attnsep.bench import measure
from attnsep.claims import the_cards_words
from attnsep.learn import model, table
from attnsep.ledger import framework, graph, record, tables
from attnsep.reportcard import cards
from lib.tests import fuzzing
from lib.tests.fuzzing import FUZZED, name_of

HERE = Path(__file__).parent
WITHOUT_ARGUMENTS = [
    kernels.Kernel,
    kernels.OfScores,
    kernels.OfRows,
    kernels.FeatureMap,
    kernels.usages,
    arrays.quiet,
    measure.cpu,
    model.noting,
    table.table_path,
    table.grid_path,
    cards.cards_path,
    framework.claims,
    graph.claims_map,
    record.record_path,
    record.read_record,
    tables.definitions_table,
    tables.noticed_table,
]
WITH_FILES = {"bench.cost.read_result", "bench.cost.write_result", "ledger.tables.gpu_table"}
WITH_FILES |= {
    f"files.{name}" for name in ("read", "write", "require_writable", "naming", "locked", "why", "from_json", "is_same")
}
WITH_FILES |= {
    "learn.table.read_rows",
    "learn.table.add_row",
    "learn.grid.read_grid",
    "learn.grid.planned_seconds",
    "reportcard.cards.read_cards",
}
IN_OTHER_TESTS = (
    {
        "processes.FreshProcesses.submit": "test_processes.py",
        "cli.main": "test_cli_fuzz.py",
        "learn.train.train": "training/test_training.py",
        "learn.train.trained_or_stored": "training/test_training.py",
        "learn.grid.run_grid": "training/test_grid.py",
    }
    | {
        f"ledger.proofs.{name}": "ledger/test_proofs.py"
        for name in ("digest", "is_proved", "proofs_path", "read_proofs")
    }
    | {f"figures.grammar.{name}": "figures/test_grammar.py" for name in ("require_own_panel", "Band", "Histogram")}
    | {
        f"ledger.ratchet.{name}": "ledger/test_ratchet.py"
        for name in (
            "ratchet_path",
            "read_ratchet",
            "ratchet_text",
            "problems",
            "extended",
            "reasons_from",
            "digest",
            "part_digests",
            "parts",
        )
    }
    | {
        f"ledger.sampled.{name}": "ledger/test_sampled.py"
        for name in ("inside_clopper_pearson", "not_above", "surely_inside", "same_probability")
    }
)


@pytest.mark.parametrize("function", WITHOUT_ARGUMENTS, ids=name_of)
def test_what_takes_no_argument_returns_something(nothing_set, function):
    assert function() is not None


def public():
    """Return the names of the library's public functions, classes and methods, but for the checks of the claims."""
    found = set()
    for part in pkgutil.walk_packages(attnsep.__path__, "attnsep."):
        if "._" in part.name:
            continue
        module = importlib.import_module(part.name)
        if part.name.startswith("attnsep.claims.") and module is not the_cards_words:
            continue
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != part.name or not callable(thing):
                continue
            if not inspect.isclass(thing):
                found.add(name_of(thing))
                continue
            if hasattr(thing, "__post_init__"):
                found.add(name_of(thing))
            found |= {name_of(m) for k, m in vars(thing).items() if not k.startswith("_") and inspect.isfunction(m)}
    return found


def covered():
    """Return the names of all functions that this test or one beside it fuzzes; to import those is enough."""
    for path in sorted(HERE.rglob("test_*_fuzz.py")):
        importlib.import_module(".".join(path.relative_to(HERE.parent.parent).with_suffix("").parts))
    return {*FUZZED, *map(name_of, WITHOUT_ARGUMENTS), *WITH_FILES, *IN_OTHER_TESTS}


def test_every_public_function_is_fuzzed():
    assert public() - covered() == set()
    assert covered() - public() == set()


def test_no_function_that_is_fuzzed_is_on_a_list_of_those_that_are_not():
    covered()
    assert {*map(name_of, WITHOUT_ARGUMENTS), *WITH_FILES, *IN_OTHER_TESTS} & {*FUZZED} == set()
    assert [path for path in IN_OTHER_TESTS.values() if not (HERE / path).is_file()] == []


def test_how_much_is_drawn():
    """Numbers that only grow; `make fuzz` takes more inputs."""
    assert fuzzing.INPUTS >= 10
    assert fuzzing.SETTINGS.max_examples == fuzzing.INPUTS
    assert len(fuzzing.NUMBERS) >= 50


def test_a_function_that_nobody_fuzzes_is_noticed(monkeypatch):
    def new():
        pass

    new.__module__, new.__qualname__ = "attnsep.arrays", "new"
    monkeypatch.setattr(arrays, "new", new, raising=False)
    assert public() - covered() == {"arrays.new"}


@pytest.mark.parametrize(("module", "ours"), [("attnsep.new", True), ("matplotlib.new", False), ("attnsepx", False)])
def test_what_others_have_to_change_is_no_error_and_what_we_have_to_change_is(module, ours):
    room = {"__name__": module}
    exec("import warnings\ndef f(x):\n    warnings.warn('old', DeprecationWarning)\n    return x\n", room)
    with pytest.raises(DeprecationWarning, match="old") if ours else nullcontext():
        assert fuzzing.call(SimpleNamespace(function=room["f"]), {"x": 1}) == 1
