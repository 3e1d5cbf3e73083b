"""Mutation testing: change the library in one place at a time and see whether a test notices.

    make mutants                                  every module of MODULES; writes tools/mutants.json
    make mutants ONLY=attention.kernels           one module; the others' results stay
    make mutants ONLY=attention.kernels:survivors only what is listed as a survivor: does a new test kill it?

cosmic-ray makes the changes (OPERATORS), in decorated functions too, where mutmut 3 makes none; `Swap` and `Drop` add
two kinds that it lacks.  Each mutant is written into a copy of the project, never into the project itself, and meets
the module's doctests and the quick ones of the tests named in MODULES, in two processes.

A mutant is killed if a test fails or the module no longer loads.  One that needs more processor time than the
unchanged code by the factor and seconds of LIMIT has looped, which counts as killed; a slow or busy machine adds
waiting, not processor time.  After PATIENCE times as long by the clock it is given up without a verdict, and the run
fails.
"""

import ast
import contextlib
import importlib
import importlib.metadata
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
from difflib import SequenceMatcher
from pathlib import Path

from tools.files import ROOT, write

# Module: the tests beside its doctests.  To add a module, add a line.
MODULES = {
    "attention.kernels": "lib/tests/attention/test_kernels.py lib/tests/attention/test_kernels_names.py",
    "attention._rows": "lib/tests/attention/test_kernels.py",
    "paper.network": "lib/tests/paper/test_network.py",
    "probability.sign_sums": "lib/tests/probability/test_sign_sums.py",
    "paper.one_query": "lib/tests/paper/test_one_query.py",
    "checks": "lib/tests/test_checks.py",
    "attention.attend": "lib/tests/attention/test_attend_scores.py lib/tests/attention/test_attend.py",
    "attention._streams": "lib/tests/attention/test_attend.py",
    "probability.intervals": "lib/tests/probability/test_intervals.py",
}
# One in so many of a long module's mutants, drawn by a hash of each: an edit leaves the lot of the others.
ONE_IN = {"attention.attend": 4, "attention._streams": 4}
LEAST = 0.9
LEAST_OF = {
    "attention.attend": 0.8,
    "attention._streams": 0.8,
}  # where many numbers choose sizes of blocks, or units that cancel, and no result
LIMIT = 4, 10  # times the unchanged tests' processor time, and seconds more
PATIENCE = 30
MEMORY = 4 << 30  # bytes; a mutant that asks for more gets a MemoryError
RESULT = ROOT / "tools/mutants.json"
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

    found = {meaning(source): source}
    names = [f"core/{kind}{name}" for kind, names in OPERATORS.items() for name in names.split()]
    for operator in [*(get_operator(name)() for name in names), Swap(), Drop()]:
        for occurrence in itertools.count():
            code = mutate_code(source, operator, occurrence)
            if code is None:
                break
            with contextlib.suppress(SyntaxError):  # a * for the ** before a dictionary
                found.setdefault(meaning(code), code)
    return list(found.values())[1:]


def meaning(code):
    """Return a text that is the same for programs that differ only in how they write a `not`, or in which parameters
    may or must be passed by name."""

    class Shorten(ast.NodeTransformer):
        def visit_UnaryOp(self, node):
            inner = self.generic_visit(node).operand
            if isinstance(node.op, ast.Not) and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not):
                return inner.operand
            if isinstance(node.op, ast.Not) and isinstance(inner, ast.Compare) and type(inner.ops[0]) in opposite:
                return ast.Compare(inner.left, [opposite[type(inner.ops[0])]()], inner.comparators)
            return node

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
    changes = [block for block in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if block[0] != "equal"]
    first = changes[0][1]
    where = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and min([node.lineno, *(d.lineno for d in node.decorator_list)]) <= first + 1 <= node.end_lineno
    ]
    return {
        "where": ".".join(node.name for node in where) or "module",
        "from": " ".join(line.strip() for line in old[first : changes[-1][2]]),
        "to": " ".join(line.strip() for line in new[changes[0][3] : changes[-1][4]]),
    }


def prepare(folder):
    """Give this process a copy of the project of its own, and what takes long to import but is not under test."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv*", "_build", "__pycache__", ".*_cache"))
    os.chdir(copy)
    sys.path.insert(0, str(copy / "lib"))  # before the folder where the project is installed from
    sys.dont_write_bytecode = False  # all but the mutant is compiled once
    for name in ("array_api_compat.numpy", "array_api_strict", "flint", "mpmath", "numpy", "pytest"):
        importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "attnsep"]:
        del sys.modules[name]  # what `tools` imported is the installed one


def judge(module, code, seconds):
    """Return (verdict, processor seconds) of the tests of `module` with `code` in its place."""
    path = Path("lib/attnsep", *module.split(".")).with_suffix(".py")
    original = path.read_text(encoding="utf-8")
    path.write_text(code, encoding="utf-8")
    Path(importlib.util.cache_from_source(path)).unlink(missing_ok=True)  # else Python may run the last mutant again
    try:
        child = os.fork()
        if child == 0:
            _run([str(path), *MODULES[module].split()], seconds)
        status, usage = _wait(child, time.monotonic() + PATIENCE * seconds)
    finally:
        path.write_text(original, encoding="utf-8")
    verdicts = {0: "survived", 1: "killed", 2: "killed", -signal.SIGXCPU: "looped"}  # 2: the module does not load
    return verdicts.get(status, f"unclear: status {status}"), usage


def _run(arguments, seconds):
    import pytest

    output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 10))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    status = 3
    try:
        status = int(pytest.main(["-q", "-x", "--no-header", "--tb=line", "-m", "not slow", *arguments]))
        sys.stdout.flush()
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
    return "none in time", end


def believe(pool, module, source):
    """Return the processor time a mutant of `module` may take, once the tests pass and planted faults die."""
    verdict, usage = pool.submit(judge, module, source, 600).result()
    if verdict != "survived":
        raise SystemExit(f"{module}: its tests do not pass on the unchanged code ({verdict})")
    seconds = LIMIT[0] * usage + LIMIT[1]
    planted = [(source + HARMLESS, "survived"), (source + "\nraise RuntimeError\n", "killed")]
    planted += [(source + ENDLESS, "looped")] if module == next(iter(MODULES)) else []
    for name, old, new in PLANTED:
        if name == module:
            if source.count(old) != 1:
                raise SystemExit(f"{module}: the place of a planted fault is gone: {old.strip()}")
            planted.append((source.replace(old, new), "killed"))
    for code, expected in planted:
        verdict, _ = pool.submit(judge, module, code, seconds).result()
        if verdict != expected:
            raise SystemExit(f"{module}: a planted fault is {verdict}, not {expected}: {describe(source, code)}")
    return seconds, len(planted)


def examine(pool, module, earlier, again):
    """Return the entry of `module` for the result file; with `again` only the listed survivors run."""
    start = time.monotonic()
    source = ROOT.joinpath("lib/attnsep", *module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    if again and earlier.get("source") != zlib.crc32(source.encode()):
        raise SystemExit(f"{module}: has changed since its survivors were listed; run all of it")
    seconds, planted = believe(pool, module, source)
    every = [(code, describe(source, code)) for code in mutants(source)]
    drawn = [pair for pair in every if zlib.crc32(str(pair[1]).encode()) % ONE_IN.get(module, 1) == 0]
    codes, places = zip(*drawn, strict=True)
    reasons = {(old["where"], old["from"], old["to"]): old["reason"] for old in earlier.get("survivors", [])}
    chosen = [i for i, place in enumerate(places) if not again or tuple(place.values()) in reasons]
    verdicts = ["killed"] * len(codes)
    futures = [(i, pool.submit(judge, module, codes[i], seconds)) for i in chosen]
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
        "source": zlib.crc32(source.encode()),
        "possible": len(every),
        "mutants": len(codes),
        "killed": killed,
        "looped": earlier.get("looped", 0) if again else verdicts.count("looped"),
        "unclear": sum(verdict.startswith("unclear") for verdict in verdicts),
        "planted": planted,
        "minutes": earlier.get("minutes") if again else round((time.monotonic() - start) / 60, 1),
        "survivors": survivors,
    }


def faults(result):
    """Return one sentence for each thing wrong with a result."""
    found = []
    for module, entry in result["modules"].items():
        if "killed" not in entry:  # only the reasons for its survivors are known, from another module's run
            continue
        least = LEAST_OF.get(module, LEAST)
        if entry["killed"] < least * entry["mutants"]:
            found.append(f"{module}: {entry['killed']} of {entry['mutants']} killed, less than {least:.0%}")
        if entry["unclear"]:
            found.append(f"{module}: {entry['unclear']} mutants without a verdict")
        missing = [place for place in entry["survivors"] if not place["reason"]]
        found += [f"{module}: no test kills this and no reason is given: {place}" for place in missing]
    if missing := {name for name in MODULES if "killed" not in result["modules"].get(name, {})}:
        found.append(f"not run: {', '.join(sorted(missing))}")
    return found


def main(only=""):
    """Run and write the result; the exit status is 1 if there is anything wrong with it."""
    name, _, again = only.partition(":")
    if name not in ("", *MODULES) or again not in ("", "survivors"):
        raise SystemExit(f"ONLY={only}: must be one of {', '.join(MODULES)}, or one of them and :survivors")
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"), "1")
    result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"modules": {}}
    result["tool"] = f"cosmic-ray {importlib.metadata.version('cosmic-ray')}"
    result["date"] = date.today().isoformat()
    with tempfile.TemporaryDirectory() as folder:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(2, spawn, prepare, (folder,)) as pool:
            for module in [name] if name else MODULES:
                earlier = result["modules"].get(module, {})
                result["modules"][module] = examine(pool, module, earlier, again)
                write(RESULT, json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    for sentence in (found := faults(result)):
        print(sentence)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
