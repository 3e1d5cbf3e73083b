"""Mutation testing: change the library in one place at a time and see whether a test notices.

    make mutants                                  every module of the library; writes tools/mutants.json
    make mutants ONLY=attention.kernels           one module; the others' results stay
    make mutants ONLY=attention.kernels:survivors only what is listed as a survivor: does a new test kill it?
    make mutants ONLY=attention.kernels:stored    one module, and nothing is written: is what is stored still so?
    make mutants ONLY=stale                       the modules whose code has changed since they were run

cosmic-ray makes the changes (OPERATORS), in decorated functions too, where mutmut 3 makes none; `Swap` and `Drop` add
two kinds that it lacks.  Each mutant is written into a copy of the project, never into the project itself, and meets
the module's doctests and the tests that belong to it, in two processes.

A mutant is killed if a test fails or the module no longer loads.  One that needs more processor time than the
unchanged code by the factor and seconds of LIMIT has looped, which counts as killed; a slow or busy machine adds
waiting, not processor time.  One that is not done after PATIENCE times as long by the clock waits for what never comes,
and counts as killed too.
"""

import ast
import compileall
import contextlib
import importlib
import importlib.util
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tools.files import ROOT, write

LIBRARY = ROOT / "lib/attnsep"
TESTS = ROOT / "lib/tests"
# What no mutant is made of, and what notices a fault there.
EXCLUDED = {
    "__init__": "lib/tests/test_front_door.py asks for each name that it hands out",
    "kinds": "kinds of arguments, which mypy compares; none of it runs",
    "cli": "lib/tests/test_cli*.py start it in a process, which takes too long for each mutant",
    "figures._drawing": "what is drawn is compared, as numbers and as pictures",
    "figures.pictures": "what is drawn is compared, as numbers and as pictures",
    "figures.plots": "what is drawn is compared, as numbers and as pictures",
    "claims": "each check is changed and must notice by other means: ratchet, noticed",
    "learn.grid": "lib/tests/training trains grids, here and on a cluster, which takes too long for each mutant",
    "learn.train": "lib/tests/training compares each loss and step, which takes too long for each mutant",
}
# A module has the tests of its own name.  These have none, or not all.
TESTED_BY = {
    "attention._fast": ["attention/test_attend.py", "attention/test_attend_axes.py"],
    "attention._rows": ["attention/test_kernels.py"],
    "attention._streams": ["attention/test_attend.py"],
    "figures.grammar": ["figures/test_plots.py"],
    "ledger.record": ["ledger/test_framework.py"],
    "ledger.tables": ["ledger/test_framework.py"],
    "paper.one_query": ["probability/test_sign_sums.py", "test_checks.py"],
    "paper.tokens": ["test_checks.py"],
}
MOST = 30  # mutants of a module that are run, those with the least hashes: an edit leaves the lot of the others
MOST_OF = {"probability.sign_sums": 60}  # of thirty such numbers, luck would decide
LEAST = 0.75
LEAST_OF = {  # what all else rests on, and what it is checked by; the longest name counts
    "attention._rows": 0.9,
    "attention.attend": 0.8,  # many numbers choose sizes of blocks, or units that cancel, and no result
    "attention.kernels": 0.9,
    "attention._streams": 0.8,
    "checks": 0.9,
    "learn.tasks": 0.9,
    "ledger": 0.9,
    "ledger.graph": 0.75,  # a drawing, where many numbers are distances
    "paper": 0.9,
    "probability": 0.9,
    "probability.sign_sums": 0.85,  # where many numbers choose one of two ways to the same digits
}
LIMIT = 3, 5  # times the unchanged tests' processor time, and seconds more
PATIENCE = 10
MEMORY = 4 << 30  # bytes; a mutant that asks for more gets a MemoryError
TOOK = "took.json"
HUNG = "not done in time"
STORED = "tools/mutants.json"
RESULT = ROOT / STORED
OPERATORS = {
    "ReplaceBinaryOperator_": "Add_Sub Sub_Add Mul_Div Mul_Add Div_Mul FloorDiv_Div Mod_Mul Pow_Mul LShift_RShift",
    "ReplaceComparisonOperator_": "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Is_IsNot "
    "IsNot_Is",
    "ReplaceUnaryOperator_": "Delete_USub Delete_Not",
    "Replace": "TrueWithFalse FalseWithTrue AndWithOr OrWithAnd BreakWithContinue ContinueWithBreak",
    "": "AddNot ExceptionReplacer NumberReplacer RemoveDecorator ZeroIterationForLoop",
}
SWAPS = {"min": "max", "minimum": "maximum", "floor": "ceil", "any": "all", "ones_like": "zeros_like"}
SWAPS |= {new: old for old, new in SWAPS.items()} | {"sum": "max"}
# Faults that must die before any verdict is believed: in a cached function, a property and a plain function.  In each
# module an error on import must die as well, and a comment survive; in the first one a loop must be seen to be one.
PLANTED = [
    (
        "probability.sign_sums",
        "        return chance.ln(), (1 - chance).ln()",
        "        return chance.ln(), (2 - chance).ln()",
    ),
    ("paper.tokens", "        return self.n // (self.d - 2)", "        return self.n // (self.d - 1)"),
    ("attention._rows", "    return u / total if bool(", "    return u if bool("),
]
HARMLESS = "\n# a comment changes nothing\n"
ENDLESS = "\nwhile True:\n    pass\n"


def modules():
    """Return the modules of the library that mutants are made of, such as attention.kernels."""
    paths = [path.relative_to(LIBRARY).with_suffix("") for path in sorted(LIBRARY.rglob("*.py"))]
    names = [".".join(path.parts) for path in paths if path.stem != "__init__"]
    return [name for name in names if name not in EXCLUDED and name.partition(".")[0] not in EXCLUDED]


def source_of(module):
    """Return a module's text."""
    return LIBRARY.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")


def belonging_to(module):
    """Return the files of tests that belong to a module, random inputs last: what has its name, or its room's.

    Examples
    --------
    >>> belonging_to("paper.network")
    ['lib/tests/paper/test_network.py', 'lib/tests/paper/test_network_fuzz.py']
    """
    *room, name = module.split(".")
    own = [name.removeprefix("_"), *room[-1:]]
    found = {path for stem in own for path in TESTS.joinpath(*room).glob(f"test_{stem}*.py")}
    found |= {TESTS / path for path in TESTED_BY.get(module, [])}
    return [path.relative_to(ROOT).as_posix() for path in sorted(found, key=lambda p: ("fuzz" in p.stem, p.name))]


def least_of(module):
    """Return the part of a module's mutants that must be killed."""
    return LEAST_OF.get(module, LEAST_OF.get(module.partition(".")[0], LEAST))


def digest(source):
    """Return a number that changes with the code, and not with its comments, docstrings and line breaks.

    Examples
    --------
    >>> digest("x = 1  # one") == digest("x = (1)") != digest("x = 2")
    True
    """
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:] or [ast.Pass()]
    return zlib.crc32(ast.unparse(tree).encode())


class Swap:
    """Put min for max, floor for ceil, any for all, and so on; written like an operator of cosmic-ray."""

    def mutation_positions(self, node):
        if node.type == "name" and node.value in SWAPS and not node.is_definition():
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        node.value = SWAPS[node.value]
        return node


class Drop:
    """Leave out a call that stands as a statement, such as a guard."""

    def mutation_positions(self, node):
        if node.type == "atom_expr" and node.parent.type == "simple_stmt" and node.children[-1].type == "trailer":
            yield node.start_pos, node.end_pos

    def mutate(self, node, index):
        first = node.get_first_leaf()
        return type(first)("pass", first.start_pos, prefix=first.prefix)


def mutants(source):
    """Return the distinct programs that differ from `source` by one change, in a fixed order."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    names = [f"core/{kind}{name}" for kind, names in OPERATORS.items() for name in names.split()]
    operators = [*(get_operator(name)() for name in names), Swap(), Drop()]
    found, lines = [], source.splitlines(keepends=True)
    for node in ast.parse(source).body:  # one after the other: a whole module takes long to read a thousand times
        start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) - 1
        before, part, after = (
            "".join(lines[i:j]) for i, j in ((0, start), (start, node.end_lineno), (node.end_lineno, None))
        )
        different = {meaning(part): part}
        for operator in operators:
            for occurrence in itertools.count():
                code = mutate_code(part, operator, occurrence)
                if code is None:
                    break
                with contextlib.suppress(SyntaxError):  # a * for the ** before a dictionary
                    different.setdefault(meaning(code), code)
        found += [before + code + after for code in list(different.values())[1:]]
    return found


def meaning(code):
    """Return a text that is the same for programs that differ only in how they write a `not`, in which parameters may
    or must be passed by name, in the size of a cache, or in what type checkers alone read."""

    class Shorten(ast.NodeTransformer):
        def visit_UnaryOp(self, node):
            inner = self.generic_visit(node).operand
            if isinstance(node.op, ast.Not) and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
                return inner.operand
            if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and type(inner.ops[0]) in opposite:
                return ast.Compare(inner.left, [opposite[type(inner.ops[0])]()], inner.comparators)
            return node

        def visit_keyword(self, node):
            return self.generic_visit(node) if node.arg != "maxsize" else ast.keyword("maxsize", ast.Constant(0))

        def visit_If(self, node):
            named = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
            return self.generic_visit(node) if "TYPE_CHECKING" not in named else node.orelse

        def visit_arguments(self, node):
            self.generic_visit(node)
            named = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            defaults = [*node.defaults, *filter(None, node.kw_defaults)]
            return ast.arguments([], named, node.vararg, [], [], node.kwarg, defaults)

    pairs = (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.Eq, ast.NotEq)
    opposite = dict(pairs) | {b: a for a, b in pairs}
    return ast.dump(Shorten().visit(ast.parse(code)))


def describe(source, code):
    """Return {where, from, to}: the function that a mutant changes, the lines before and after."""
    old, new = source.splitlines(), code.splitlines()
    same = [a == b for a, b in zip(old, new, strict=False)] + [False]
    first = same.index(False)
    same = [a == b for a, b in zip(old[first:][::-1], new[first:][::-1], strict=False)] + [False]
    last = same.index(False)
    where = [name for name, start, end in _functions(source) if start <= first + 1 <= end]
    return {
        "where": ".".join(where) or "module",
        "from": " ".join(line.strip() for line in old[first : len(old) - last]),
        "to": " ".join(line.strip() for line in new[first : len(new) - last]),
    }


@cache
def _functions(source):
    return [
        (node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


def prepare(folder):
    """Give this process a copy of the project of its own, and what takes long to import but is not under test."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "_build", ".*_cache"))
    os.chdir(copy)
    sys.path.insert(0, str(copy / "lib"))  # before the folder where the project is installed from
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [str(copy / "lib"), str(copy)]
    )  # the same for processes that tests start
    sys.dont_write_bytecode = False  # all but the mutant is compiled once
    for name in ("array_api_compat.numpy", "array_api_strict", "flint", "hypothesis", "mpmath", "numpy", "pytest"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "attnsep"]:
        del sys.modules[name]  # what `tools` imported is the installed one


def judge(module, code, seconds, took=None):
    """Return (verdict, processor seconds) of the tests of `module` with `code` in its place.

    With `took`, {test: seconds}, the quickest tests come first; without it, what each took stands in TOOK afterwards.
    """
    path = Path("lib/attnsep", *module.split(".")).with_suffix(".py")
    original = path.read_text(encoding="utf-8")
    path.write_text(code, encoding="utf-8")
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)  # else Python may run the last mutant again
    try:
        child = os.fork()
        if child == 0:
            _run([str(path), *belonging_to(module)], seconds, took)
        status, usage = _wait(child, time.monotonic() + PATIENCE * seconds)
    finally:
        path.write_text(original, encoding="utf-8")
    # 2: the module does not load; 4: nor does a conftest, which needs it
    verdicts = {0: "survived", 1: "killed", 2: "killed", 4: "killed", -signal.SIGXCPU: "looped", HUNG: "looped"}
    return verdicts.get(status, f"unclear: status {status}"), usage


def first(module, source):
    """Return (verdict, processor seconds, {test: seconds}) of the tests of `module` as it stands."""
    verdict, usage = judge(module, source, 600)
    return verdict, usage, json.loads(Path(TOOK).read_text(encoding="utf-8"))


class _QuickFirst:
    """Let the quickest tests come first; a mutant that dies at all mostly dies there."""

    def __init__(self, took):
        self.took, self.now = took or {}, {}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.took.get(item.nodeid, 0))

    def pytest_runtest_logreport(self, report):
        self.now[report.nodeid] = self.now.get(report.nodeid, 0) + report.duration


def _run(arguments, seconds, took):
    import pytest

    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    status, plugin = 3, _QuickFirst(took)
    try:
        words = ["-q", "-x", "--no-header", "--tb=line", *arguments]
        status = int(pytest.main(words, plugins=[plugin]))
        sys.stdout.flush()
        if took is None:
            Path(TOOK).write_text(json.dumps(plugin.now), encoding="utf-8")
    finally:
        os._exit(status)


def _wait(child, end):
    while time.monotonic() < end:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.wait4(child, 0)
    return HUNG, 0.0


def believe(pool, module, source):
    """Return the processor time a mutant of `module` may take and {test: seconds}, once planted faults die."""
    verdict, usage, took = pool.submit(first, module, source).result()
    if verdict != "survived":
        raise SystemExit(f"{module}: its tests do not pass on the unchanged code ({verdict})")
    seconds = LIMIT[0] * usage + LIMIT[1]
    planted = [(source + HARMLESS, "survived"), (source + "\nraise RuntimeError\n", "killed")]
    planted += [(source + ENDLESS, "looped")] if module == "attention._rows" else []
    for name, old, new in PLANTED:
        if name == module:
            if source.count(old) != 1:
                raise SystemExit(f"{module}: the place of a planted fault is gone: {old.strip()}")
            planted.append((source.replace(old, new), "killed"))
    for code, expected in planted:
        verdict, _ = pool.submit(judge, module, code, seconds, took).result()
        if verdict != expected:
            raise SystemExit(f"{module}: a planted fault is {verdict}, not {expected}: {describe(source, code)}")
    return seconds, took, len(planted)


def drawn(pairs, most=MOST):
    """Return those of the mutants, given as (code, place), that are run."""
    hashes = [zlib.crc32(str(place).encode()) for _, place in pairs]
    chosen = sorted(sorted(range(len(pairs)), key=hashes.__getitem__)[:most])
    return [pairs[i] for i in chosen]


def examine(pool, module, earlier, again):
    """Return the entry of `module` for the result file; with `again` only the listed survivors run."""
    start = time.monotonic()
    source = source_of(module)
    if again and earlier.get("source") != digest(source):
        raise SystemExit(f"{module}: has changed since its survivors were listed; run make mutants ONLY={module}")
    seconds, took, planted = believe(pool, module, source)
    every = [(code, describe(source, code)) for code in mutants(source)]
    codes, places = zip(*drawn(every, MOST_OF.get(module, MOST)), strict=True)
    reasons = {(old["where"], old["from"], old["to"]): old["reason"] for old in earlier.get("survivors", [])}
    chosen = [i for i, place in enumerate(places) if not again or tuple(place.values()) in reasons]
    verdicts = ["killed"] * len(codes)
    futures = [(i, pool.submit(judge, module, codes[i], seconds, took)) for i in chosen]
    for done, (i, future) in enumerate(futures):
        verdicts[i], _ = future.result()
        if verdicts[i] not in ("killed", "looped") or done % 100 == 99:
            print(f"  {done + 1:4d} of {len(futures)}  {verdicts[i]}  {places[i]}", flush=True)
    survivors = [
        place | {"reason": reasons.get(tuple(place.values()), "")}
        for place, verdict in zip(places, verdicts, strict=True)
        if verdict not in ("killed", "looped")
    ]
    killed = len(codes) - len(survivors)
    print(f"{module}: {killed} of {len(codes)} killed, {planted} planted faults as expected", flush=True)
    return {
        "source": digest(source),
        "possible": len(every),
        "mutants": len(codes),
        "killed": killed,
        "looped": earlier.get("looped", 0) if again else verdicts.count("looped"),
        "unclear": sum(verdict.startswith("unclear") for verdict in verdicts),
        "planted": planted,
        "minutes": earlier.get("minutes") if again else round((time.monotonic() - start) / 60, 1),
        "survivors": survivors,
    }


def faults(entries, names):
    """Return one sentence for each thing wrong with the entries of these modules, with what to do."""
    found = []
    for module in names:
        if "killed" not in entries.get(module, {}):  # at most reasons are known, from before
            found.append(f"{module}: no mutant of it was ever run; run make mutants ONLY={module}, and commit {STORED}")
            continue
        entry, least = entries[module], least_of(module)
        if entry["killed"] < least * entry["mutants"]:
            found.append(
                f"{module}: {entry['killed']} of {entry['mutants']} killed, less than {least:.0%}; "
                f"write tests that fail for its survivors, then run make mutants ONLY={module}:survivors"
            )
        if entry["unclear"]:
            found.append(f"{module}: {entry['unclear']} mutants without a verdict; run make mutants ONLY={module}")
        found += [
            f"{module}: no test fails with this change; write one, or give the reason in {STORED}: {place}"
            for place in entry["survivors"]
            if not place["reason"]
        ]
    return found


def is_stale(module, entries):
    """Return whether a module was never run, or has other code than when it was."""
    return entries.get(module, {}).get("source") != digest(source_of(module))


def main(only=""):
    """Run and write the result; the exit status is 1 if there is anything wrong with it."""
    name, _, how = only.partition(":")
    if name not in ("", "stale", *modules()) or how not in ("", "survivors", "stored"):
        raise SystemExit(f"ONLY={only}: must be stale or one of {', '.join(modules())}, or with :survivors or :stored")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"), "1")
    result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"modules": {}}
    entries = result["modules"]
    chosen = [module for module in modules() if name in ("", module) or (name == "stale" and is_stale(module, entries))]
    found = [
        f"{module}: its code is not that of {STORED}; run make mutants ONLY={module}, and commit it"
        for module in chosen
        if how == "stored" and is_stale(module, entries)
    ]
    compileall.compile_dir(LIBRARY, quiet=1)  # once, and not in each copy
    with tempfile.TemporaryDirectory() as folder:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, spawn, prepare, (folder,)) as pool:
            for module in chosen:
                entries[module] = examine(pool, module, entries.get(module, {}), how == "survivors")
                if how != "stored":
                    result |= {"tool": f"cosmic-ray {version('cosmic-ray')}", "date": date.today().isoformat()}
                    result["modules"] = {module: entries[module] for module in modules() if module in entries}
                    write(RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    for sentence in (found := found + faults(entries, chosen)):
        print(sentence)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
