"""What `make mutants` stores and how it counts.  That the mutants really run is what its planted faults show."""

import json

import pytest

from tools import mutants
from tools.files import ROOT

RESULT = json.loads(mutants.RESULT.read_text(encoding="utf-8"))
SOURCE = """\
@cached
def area(a, b):
    if not a is None:
        return a * b
"""


def source(module):
    return ROOT.joinpath("lib/attnsep", *module.split(".")).with_suffix(".py").read_text(encoding="utf-8")


def test_the_stored_result_is_in_order():
    assert [fault for fault in mutants.faults(RESULT) if not fault.startswith("not run: ")] == []
    assert RESULT["modules"].keys() <= {*mutants.MODULES, "paper.tokens"}


@pytest.mark.parametrize("module", mutants.MODULES)
def test_every_survivor_is_a_line_that_still_stands(module):
    lines = " ".join(line.strip() for line in source(module).splitlines())
    entry = RESULT["modules"].get(module, {"survivors": []})
    assert [place["from"] for place in entry["survivors"] if place["from"] not in lines] == []
    assert "killed" not in entry or entry["killed"] + len(entry["survivors"]) == entry["mutants"] <= entry["possible"]


@pytest.mark.parametrize(("module", "tests"), mutants.MODULES.items())
def test_the_tests_of_a_module_exist(module, tests):
    assert all((ROOT / path).is_file() for path in tests.split())
    assert source(module)


@pytest.mark.parametrize(("module", "old", "new"), mutants.PLANTED)
def test_the_places_of_the_planted_faults_stand(module, old, new):
    assert source(module).count(old) == 1 != source(module).count(new)


def test_ways_to_write_a_not_are_one_mutant():
    meanings = {mutants.meaning(f"{words}: f()") for words in ("if a is b", "if not a is not b", "if not not a is b")}
    assert len(meanings) == 1
    assert mutants.meaning("a < b") != mutants.meaning("not a >= b")  # they differ for a NaN
    assert mutants.meaning("def f(a, *, b=1): g()") == mutants.meaning("def f(a, /, b=1): g()")
    assert mutants.meaning("def f(a, *, b=1): g()") != mutants.meaning("def f(a, *, b=2): g()")


def test_a_mutant_is_described_by_its_function_and_line():
    place = mutants.describe(SOURCE, SOURCE.replace("a * b", "a / b"))
    assert place == {"where": "area", "from": "return a * b", "to": "return a / b"}
    assert mutants.describe(SOURCE, SOURCE.replace("@cached\n", ""))["where"] == "area"
    assert mutants.describe("ONE = 1\n", "ONE = 2\n") == {"where": "module", "from": "ONE = 1", "to": "ONE = 2"}


def test_what_is_wrong_with_a_result_is_said():
    place = {"where": "area", "from": "a", "to": "b", "reason": ""}
    entry = {"mutants": 10, "killed": 8, "unclear": 1, "survivors": [place]}
    found = mutants.faults({"modules": {"paper.network": entry}})
    assert found[0] == "paper.network: 8 of 10 killed, less than 90%"
    assert found[1] == "paper.network: 1 mutants without a verdict"
    assert found[2].startswith("paper.network: no test kills this and no reason is given: {'where': 'area'")
    assert found[3].startswith("not run: attention._rows, attention._streams, attention.attend, ")


def test_every_kind_of_change_is_made():
    pytest.importorskip("cosmic_ray", reason="comes with make mutants")
    found = mutants.mutants(SOURCE + "\n\ndef least(x):\n    guard(x)\n    return min(x), {**x}\n")
    changed = {tuple(mutants.describe(SOURCE, code).values())[1:] for code in mutants.mutants(SOURCE)}
    assert {("return a * b", "return a / b"), ("return a * b", "return a + b"), ("@cached", "")} <= changed
    assert any("max(x)" in code for code in found)
    assert any("    pass\n" in code for code in found)


@pytest.mark.parametrize("only", ["flint", "paper.network:all"])
def test_an_unknown_module_is_named(only):
    with pytest.raises(SystemExit, match=f"ONLY={only}: must be one of attention.kernels, "):
        mutants.main(only)
