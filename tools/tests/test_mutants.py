"""What `make mutants` stores and how it counts.  That the mutants really run is what its planted faults show."""

import json
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import yaml

from tools import mutants
from tools.files import ROOT

ENTRIES = json.loads(mutants.RESULT.read_text(encoding="utf-8"))["modules"]
SOURCE = """\
@cached
def area(a, b):
    if not a is None:
        return a * b
"""


def test_every_module_was_run_and_its_survivors_have_reasons():
    assert mutants.faults(ENTRIES, mutants.modules()) == []


def test_what_was_run_is_there():
    gone = ENTRIES.keys() - {*mutants.modules()}
    assert not gone, f"{mutants.STORED} has entries of modules that are not there; delete them: {sorted(gone)}"


@pytest.mark.parametrize("module", [name for name in mutants.modules() if "killed" in ENTRIES.get(name, {})])
def test_every_survivor_is_a_line_that_still_stands(module):
    lines = " ".join(line.strip() for line in mutants.source_of(module).splitlines())
    entry = ENTRIES[module]
    changed = [place["from"] for place in entry["survivors"] if place["from"] not in lines]
    assert not changed, (
        f"lines of {module} that no test noticed have changed; run make mutants ONLY={module}: {changed}"
    )
    most = mutants.MOST_OF.get(module, mutants.MOST)
    assert entry["killed"] + len(entry["survivors"]) == entry["mutants"] == min(most, entry["possible"])


def test_every_module_has_tests_of_its_name_or_is_left_out_with_a_reason():
    assert [module for module in mutants.modules() if not mutants.belonging_to(module)] == []
    assert all((mutants.TESTS / path).is_file() for paths in mutants.TESTED_BY.values() for path in paths)
    assert {*mutants.TESTED_BY} <= {*mutants.modules()}
    left_out = [mutants.LIBRARY.joinpath(*name.split(".")) for name in mutants.EXCLUDED]
    assert all(path.is_dir() or path.with_suffix(".py").is_file() for path in left_out)
    assert all(mutants.EXCLUDED.values())


@pytest.mark.parametrize("name", mutants.LEAST_OF)
def test_a_limit_is_that_of_a_module_or_a_room(name):
    assert any(mutants.least_of(module) == mutants.LEAST_OF[name] for module in mutants.modules() if name in module)


@pytest.mark.parametrize(
    ("module", "least"),
    [("paper.tokens", 0.9), ("attention.kernels", 0.9), ("attention._fast", 0.75), ("files", 0.75)],
)
def test_what_all_else_rests_on_has_the_higher_limit(module, least):
    assert mutants.least_of(module) == least


def test_a_new_module_is_missed(tmp_path, monkeypatch):
    (tmp_path / "paper").mkdir()
    for name in ("__init__.py", "cli.py", "paper/__init__.py", "paper/three_queries.py"):
        (tmp_path / name).write_text("")
    monkeypatch.setattr(mutants, "LIBRARY", tmp_path)
    assert mutants.modules() == ["paper.three_queries"]
    (found,) = mutants.faults(ENTRIES, mutants.modules())
    assert found.startswith("paper.three_queries: no mutant of it was ever run; run make mutants ONLY=paper.three_q")


def test_weekly_runs_each_module_in_a_job_of_its_own():
    jobs = yaml.safe_load((ROOT / ".github/workflows/weekly.yml").read_text(encoding="utf-8"))["jobs"]
    listed = jobs["mutants"]["strategy"]["matrix"]["module"]
    assert listed == mutants.modules(), "the matrix of the job mutants in weekly.yml must list these modules"
    assert jobs["mutants"]["steps"][-1]["run"] == "make mutants ONLY=${{ matrix.module }}:stored"


@pytest.mark.parametrize(
    ("code", "same"),
    [
        ("def f(x):\n    return x + 1\n", True),
        ('def f(x):\n    """Return more."""\n    # one\n    return (x + 1)\n', True),
        ('def f(x):\n    "Return more."\n    return x + 2\n', False),
        ("def f(x):\n    return 'one' + 1\n", False),
    ],
)
def test_a_result_is_stale_when_the_code_is_another(code, same, monkeypatch):
    monkeypatch.setattr(mutants, "source_of", lambda module: code)
    entries = {"files": {"source": mutants.digest('def f(x):\n    "Say."\n    return x + 1\n')}}
    assert mutants.is_stale("files", entries) != same
    assert mutants.is_stale("arrays", entries)  # never run


def test_a_mutant_that_is_run_stays_one_when_others_are_gone():
    pairs = [(f"code {i}", {"where": "f", "from": f"{i}", "to": "0"}) for i in range(10)]
    found = mutants.drawn(pairs, 3)
    assert len(found) == 3
    assert found == [pair for pair in pairs if pair in found]
    assert mutants.drawn([pair for pair in pairs if pair in found or pair == pairs[5]], 3) == found
    assert mutants.drawn(pairs[:2], 3) == pairs[:2]


@pytest.mark.parametrize(("module", "old", "new"), mutants.PLANTED)
def test_the_places_of_the_planted_faults_stand(module, old, new):
    source = mutants.source_of(module)
    assert source.count(old) == 1 != source.count(new)


def test_ways_to_write_a_not_are_one_mutant():
    meanings = {mutants.meaning(f"{words}: f()") for words in ("if a is b", "if not a is not b", "if not not a is b")}
    assert len(meanings) == 1
    assert mutants.meaning("a < b") != mutants.meaning("not a >= b")  # they differ for a NaN
    assert mutants.meaning("def f(a, *, b=1): g()") == mutants.meaning("def f(a, /, b=1): g()")
    assert mutants.meaning("def f(a, *, b=1): g()") != mutants.meaning("def f(a, *, b=2): g()")


def test_what_type_checkers_alone_read_makes_no_mutant():
    code = "if TYPE_CHECKING:\n    x = 1\nx: int = 2"
    assert mutants.meaning(code) == mutants.meaning(code.replace("1", "3").replace("if", "if not"))
    assert mutants.meaning(code) != mutants.meaning(code.replace("2", "3"))


def test_a_mutant_is_described_by_its_function_and_line():
    place = mutants.describe(SOURCE, SOURCE.replace("a * b", "a / b"))
    assert place == {"where": "area", "from": "return a * b", "to": "return a / b"}
    assert mutants.describe(SOURCE, SOURCE.replace("@cached\n", ""))["where"] == "area"
    assert mutants.describe("ONE = 1\n", "ONE = 2\n") == {"where": "module", "from": "ONE = 1", "to": "ONE = 2"}


def test_what_is_wrong_with_a_result_is_said():
    place = {"where": "area", "from": "a", "to": "b", "reason": ""}
    entry = {"mutants": 10, "killed": 8, "unclear": 1, "survivors": [place]}
    found = mutants.faults({"paper.network": entry, "files": entry}, ["paper.network"])
    assert found[0].startswith("paper.network: 8 of 10 killed, less than 90%; write tests that fail for its survivors")
    assert found[1].startswith("paper.network: 1 mutants without a verdict")
    assert found[2].startswith("paper.network: no test fails with this change; write one, or give the reason in tools/")
    assert len(found) == 3
    kept = place | {"reason": "both are 0"}
    assert mutants.faults({"files": entry | {"unclear": 0, "survivors": [kept]}}, ["files"]) == []


def test_every_kind_of_change_is_made():
    pytest.importorskip("cosmic_ray", reason="comes with make mutants")
    found = mutants.mutants(SOURCE + "\n\ndef least(x):\n    guard(x)\n    return min(x), {**x}\n")
    changed = {tuple(mutants.describe(SOURCE, code).values())[1:] for code in mutants.mutants(SOURCE)}
    assert {("return a * b", "return a / b"), ("return a * b", "return a + b"), ("@cached", "")} <= changed
    assert any("max(x)" in code for code in found)
    assert any("    pass\n" in code for code in found)


@pytest.mark.parametrize("only", ["flint", "paper.network:all"])
def test_an_unknown_module_is_named(only):
    with pytest.raises(SystemExit, match=f"ONLY={only}: must be stale or one of arrays, "):
        mutants.main(only)


def test_a_mutant_stands_in_the_copy_only_while_its_tests_run(tmp_path, monkeypatch):
    path, seen = tmp_path / "lib/attnsep/paper/gains.py", []
    path.parent.mkdir(parents=True)
    path.write_text("as it was")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mutants.os, "fork", lambda: 7)
    monkeypatch.setattr(mutants, "_wait", lambda child, end: seen.append((child, path.read_text())) or (0, 0.5))
    assert mutants.judge("paper.gains", "changed", 5) == ("survived", 0.5)
    assert seen == [(7, "changed")]
    assert path.read_text() == "as it was"


@pytest.mark.parametrize(("again", "reasons", "minutes"), [(True, ["why"], 7), (False, ["why", ""], 0.0)])
def test_a_survivor_keeps_its_reason_and_only_a_whole_run_tells_how_long_it_takes(monkeypatch, again, reasons, minutes):
    places = {code: {"where": code, "from": "before", "to": code} for code in ("one", "two")}
    monkeypatch.setattr(mutants, "source_of", lambda module: "source")
    monkeypatch.setattr(mutants, "believe", lambda pool, module, source: (5, {}, 3))
    monkeypatch.setattr(mutants, "mutants", lambda source: [*places])
    monkeypatch.setattr(mutants, "describe", lambda source, code: places[code])
    survives = SimpleNamespace(submit=lambda *words: SimpleNamespace(result=lambda: ("survived", 0.1)))
    earlier = {"source": mutants.digest("source"), "minutes": 7, "survivors": [places["one"] | {"reason": "why"}]}
    found = mutants.examine(survives, "paper.gains", earlier, again)
    assert [survivor["reason"] for survivor in found["survivors"]] == reasons
    assert found["minutes"] == minutes


def test_a_result_that_is_of_other_code_is_named_although_all_mutants_die_today(tmp_path, monkeypatch, capsys):
    (tmp_path / "mutants.json").write_text('{"modules": {}}')
    monkeypatch.setattr(mutants, "RESULT", tmp_path / "mutants.json")
    monkeypatch.setattr(mutants.os, "environ", {})
    monkeypatch.setattr(mutants.compileall, "compile_dir", lambda folder, quiet: None)
    monkeypatch.setattr(mutants, "ProcessPoolExecutor", lambda *words: nullcontext())
    died = {"killed": 30, "mutants": 30, "unclear": 0, "survivors": []}
    monkeypatch.setattr(mutants, "examine", lambda pool, module, earlier, again: died)
    assert mutants.main("paper.gains:stored") == 1
    said = "paper.gains: its code is not that of tools/mutants.json; run make mutants ONLY=paper.gains, and commit it\n"
    assert capsys.readouterr().out == said
    assert mutants.RESULT.read_text() == '{"modules": {}}'
