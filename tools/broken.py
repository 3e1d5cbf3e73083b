"""Does a claim notice that a library function which it names (`tests`) is broken?

A function is broken in one place at a time: a number, a sign, an operator, a comparison, min for max, the value that is
returned.  The places are those that the claim's check runs through, in the function, or in all methods of a class, and
in the private helpers of its module that it uses; PLACES of them are drawn, by a hash of each, so that an edit leaves
the lot of the others.  The new code takes the place of the old inside the function object itself, so that it reaches
every module that has imported it, and each time a process of its own, whose caches are empty, runs the check.

A broken function refutes a claim if the verdict is no longer the expected one; it moves a claim if a margin is another
one.  What needs too much time or memory, or ends in an error, says nothing about what the check compares: it is left
out.
"""

import ast
import contextlib
import copy
import functools
import gc
import hashlib
import inspect
import os
import pickle
import resource
import signal
import sys
import time
import traceback
import warnings
import zlib
from fractions import Fraction
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import numpy as np

from attnsep.arrays import namespace
from attnsep.ledger import ratchet

PLACES = 6  # of each function
SECONDS = 5, 4  # of the processor, and times those of the check as it is
MEMORY = 4 << 30
OTHER = "_another_value"
BINARY = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.MatMult: ast.Add,
}
COMPARED = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SWAPS = {"min": "max", "minimum": "maximum", "floor": "ceil", "any": "all", "exp": "expm1", "log": "log1p"}
SWAPS |= {new: old for old, new in SWAPS.items()} | {"sum": "max"}
NAMESPACES = "common_namespace", "namespace_of"
# What refuses wrong inputs, what says so, and types: no claim is about them.
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.AnnAssign, ast.Import, ast.ImportFrom)


class Trial(NamedTuple):
    """What one run of a check found: its margins up to the first refutation, and whether its control differs."""

    refuted: bool
    margins: list
    control: bool


class Found(NamedTuple):
    """How many of the places where a function was broken refute a claim, and how many move one of its margins."""

    refuted: int
    moved: int
    tried: int

    def __str__(self):
        return f"{self.refuted} of {self.tried} refute, {self.moved} move"


# Functions and their code


def name_of(function):
    """Return how a function is called below attnsep.

    Examples
    --------
    >>> from attnsep.paper import tokens
    >>> name_of(tokens.Law.fires)
    'paper.tokens.Law.fires'
    """
    return f"{function.__module__}.{function.__qualname__}".removeprefix("attnsep.")


def digest(function):
    """Return a digest of the code that is broken for a function, without docstrings, comments and white space."""
    texts = [(module, name, _parts(module)[name][1]) for module, name in sorted(_used(function))]
    return hashlib.sha256(repr(texts).encode("utf-8")).hexdigest()[:16]


@cache
def _used(function):
    """Return (module, qualified name) of all that is broken for a function: itself, or the methods of a class, and the
    private helpers that these use, in its module and in private ones."""
    own = function.__module__
    left, found = [(own, name) for name in _below(own, function.__qualname__)], {}
    if not left:
        raise ValueError(f"{name_of(function)}: no function or class at the top of its module")
    while left:
        module, name = left.pop(0)
        if (module, name) not in found:
            found[module, name] = None
            left += _helpers(module, name)
    return [*found]


def _helpers(module, name):
    """Yield (module, qualified name) of the private helpers that a function or method uses itself."""
    owner, space = name.rpartition(".")[0], vars(sys.modules[module])
    used = sorted({getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(_parts(module)[name][0])} - {""})
    private = [space[word].__name__ for word in used if _is_private(getattr(space.get(word), "__name__", ""))]
    for word in used:
        last = getattr(space.get(word), "__module__", None)
        if word.startswith("_") and not word.startswith("__"):
            yield from ((module, other) for other in _below(module, word))
            yield from ((module, other) for other in _below(module, f"{owner}.{word}") if owner)
        elif last and _is_private(last):  # from attnsep.attention._rows import word
            yield from ((last, other) for other in _below(last, word))
        for other in private:  # from attnsep.attention import _rows
            yield from ((other, part) for part in _below(other, word))


def _is_private(module):
    return module.startswith("attnsep.") and module.rpartition(".")[2].startswith("_")


def _below(module, name):
    """Return the qualified names of a function, or of the methods of a class, in a module."""
    return [part for part in _parts(module) if part == name or part.startswith(name + ".")]


@cache
def _parts(module):
    """Return {qualified name: (tree, text)} of the functions and methods of a module."""
    lines, found = inspect.getsource(sys.modules[module]).splitlines(), {}
    for node in _tree(module).body:
        for prefix, part in [("", node)] if isinstance(node, ast.FunctionDef) else _methods(node):
            found[prefix + part.name] = (part, ratchet._text(lines, part))
    return found


def _methods(node):
    if not isinstance(node, ast.ClassDef):
        return []
    return [(f"{node.name}.", part) for part in node.body if isinstance(part, ast.FunctionDef)]


# Places where a function can be broken


def _changes(node):
    """Yield (place, new node) for each way to break a function: the place is a node of its tree."""
    for part in _walk(node):
        if isinstance(part, ast.Constant) and type(part.value) in (bool, int, float):
            yield part, ast.Constant(another(part.value, 1))
        elif isinstance(part, ast.BinOp) and type(part.op) in BINARY:
            yield part, ast.BinOp(part.left, BINARY[type(part.op)](), part.right)
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub | ast.Not):
            yield part, part.operand
        elif isinstance(part, ast.Compare):
            for operator in COMPARED[type(part.ops[0])]:
                yield part, ast.Compare(part.left, [operator(), *part.ops[1:]], part.comparators)
        elif isinstance(part, ast.BoolOp):
            yield part, ast.BoolOp(ast.Or() if isinstance(part.op, ast.And) else ast.And(), part.values)
        elif isinstance(part, ast.Name) and part.id in SWAPS and isinstance(part.ctx, ast.Load):
            yield part, ast.Name(SWAPS[part.id], ast.Load())
        elif isinstance(part, ast.Attribute) and part.attr in SWAPS and isinstance(part.ctx, ast.Load):
            yield part, ast.Attribute(part.value, SWAPS[part.attr], ast.Load())
        elif isinstance(part, ast.AugAssign) and type(part.op) in BINARY:
            yield part, ast.AugAssign(part.target, BINARY[type(part.op)](), part.value)
        elif isinstance(part, ast.Return | ast.Yield) and part.value is not None:
            for sign in (1, -1):
                yield part, type(part)(_other_call(part.value, sign))
        elif isinstance(part, ast.Call) and getattr(part.func, "id", "") not in NAMESPACES:
            for number, argument in enumerate(part.args):
                if not isinstance(argument, ast.Constant | ast.Starred | ast.Lambda):
                    other = [*part.args[:number], _other_call(argument, 1), *part.args[number + 1 :]]
                    yield part, ast.Call(part.func, other, part.keywords)
            for number, keyword in enumerate(part.keywords):
                if keyword.arg and not isinstance(keyword.value, ast.Constant | ast.Lambda):
                    other = [*part.keywords]
                    other[number] = ast.keyword(keyword.arg, _other_call(keyword.value, 1))
                    yield part, ast.Call(part.func, part.args, other)


def _other_call(node, sign):
    return ast.Call(ast.Name(OTHER, ast.Load()), [node, ast.Constant(sign)], [])


def _walk(node):
    """Yield the nodes of a function's body, without what is skipped."""
    left = [*node.body]
    while left:
        part = left.pop(0)
        if isinstance(part, SKIPPED) or (isinstance(part, ast.Expr) and not isinstance(part.value, ast.Yield)):
            continue
        if isinstance(part, ast.If) and isinstance(part.body[0], ast.Raise):
            left += part.orelse
            continue
        yield part
        left_out = "annotation", "returns", "decorator_list", "defaults", "kw_defaults"
        if isinstance(part, ast.Call) and getattr(part.func, "id", "").startswith("require_"):
            left_out = ("keywords",)
        for name, value in ast.iter_fields(part):
            if name not in left_out:
                left += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]


class _Replace(ast.NodeTransformer):
    """Put a new node at one place."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        """Return the new node at the place, else the node with its parts visited."""
        return self.new if node is self.old else self.generic_visit(node)


class Break(NamedTuple):
    """One way to break a function: whose code becomes which."""

    module: ModuleType
    qualname: str
    line: int
    code: CodeType
    old: str
    new: str


def breaks(function, lines):
    """Return at most PLACES ways to break a function on these lines, {file: numbers}, two of them what it returns."""
    found = []
    for name, qualname in _used(function):
        module, node = sys.modules[name], _parts(name)[qualname][0]
        for place, new in _changes(node):
            if lines.get(module.__file__, set()).isdisjoint(range(place.lineno, place.end_lineno + 1)):
                continue
            new = ast.fix_missing_locations(ast.copy_location(copy.deepcopy(new), place))
            texts = ast.unparse(place), ast.unparse(new)
            is_own = name == function.__module__ and qualname.startswith(function.__qualname__)
            rank = 3 if isinstance(place, ast.Call) else 2 if not is_own else 0 if isinstance(place, ast.Return) else 1
            draw = rank, zlib.crc32(f"{qualname} {texts} {_context(node, place)}".encode())
            found.append((draw, module, qualname, node, place, new, texts))
    found.sort(key=lambda way: way[0])
    results = [way for way in found if way[0][0] == 0][:2]
    chosen = (results + [way for way in found if way[0][0] > 0])[:PLACES]
    return [
        Break(module, qualname, place.lineno, _compiled(module, qualname, node, place, new), *texts)
        for _, module, qualname, node, place, new, texts in chosen
    ]


def _context(node, place):
    """Return the text of the statement around a place, so that equal expressions draw different lots."""
    around = [part for part in ast.walk(node) if isinstance(part, ast.stmt) and _is_inside(place, part)]
    return ast.unparse(min(around, key=lambda part: part.end_lineno - part.lineno)) + str(place.col_offset)


def _is_inside(place, part):
    return part.lineno <= place.lineno and place.end_lineno <= part.end_lineno


@cache
def _tree(module):
    return ast.parse(inspect.getsource(sys.modules[module]))


def _compiled(module, name, node, place, new):
    """Return the code of a function with a new node at one place."""
    top = next(part for part in _tree(module.__name__).body if _is_inside(node, part))
    tree = ast.Module([copy.deepcopy(top)], [])
    old = next(part for part in ast.walk(tree) if _same_place(part, place))
    changed = ast.fix_missing_locations(_Replace(old, new).visit(tree))
    code = compile(changed, module.__file__, "exec", dont_inherit=True)
    return next(part for part in _codes(code) if part.co_qualname == name)


def _same_place(one, two):
    return type(one) is type(two) and _place(one) == _place(two)


def _place(node):
    return [getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")]


def _codes(code):
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


@cache
def _functions():
    """Return {(file, qualified name): function objects} of all that the library has made, wrapped ones too."""
    found = {}
    gc.unfreeze()  # else what others have frozen is not listed
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            found.setdefault((function.__code__.co_filename, function.__code__.co_qualname), []).append(function)
    return found


def _put(broken):
    """Break a function, in this process."""
    for function in _functions()[broken.module.__file__, broken.qualname]:
        function.__code__ = broken.code


# Runs


def another(value, sign, changed=None):
    """Return a value of the same kind that is a little larger, or smaller, and note in a list that it is another one.

    Of an array all entries are larger, or the first one is smaller; a list has larger entries, or lacks the last one.

    Examples
    --------
    >>> another(2, 1), another(0.5, -1), another(Fraction(0), 1), another((1, True), -1), another("a", 1)
    (3, 0.4375, Fraction(1, 8), (0, False), 'a')
    >>> another(np.array([8.0, 0.0]), 1), another(np.array([8.0, 0.0]), -1)
    (array([9.   , 0.125]), array([7., 0.]))
    """
    if isinstance(value, list) and len(value) > 1 and sign < 0:
        if changed is not None:
            changed.append(value)
        return value[:-1]
    if isinstance(value, tuple | list):
        made = [another(part, sign, changed) for part in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {key: another(part, sign, changed) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic) and value.size and value.dtype.kind in "biufc":
        made, where = np.array(value), slice(None) if sign > 0 else slice(1)
        old = made.flat[where]
        is_whole, is_flag = value.dtype.kind in "iu", value.dtype.kind == "b"
        made.flat[where] = ~old if is_flag else old + sign if is_whole else old + sign * np.where(old == 0, 1, old) / 8
        if changed is not None:
            changed.append(value)
        return made if isinstance(value, np.ndarray) else made[()]
    if not isinstance(value, int | float | complex | Fraction):
        return value
    if changed is not None:
        changed.append(value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + sign
    return value + sign * ((value or type(value)(1)) / 8)


def _margins(claim, broken=None):
    for case in claim.cases(namespace("numpy"), broken=broken):
        yield case.verdict, repr((case.margin, case.upper, case.tolerance))


def _trial(claim, control):
    """Run a check up to its first refutation, and its control up to the first margin that is not in `control`.

    Return None where the check ends in an error: that is noticed, but not by what the check compares.
    """
    margins, verdicts = [], set()
    try:
        for verdict, margin in _margins(claim):
            margins.append(margin)
            verdicts.add(verdict)
            if claim.expect == "holds" and verdict != "holds":
                break
    except MemoryError:
        raise
    except Exception:
        return None
    refuted = verdicts != {"holds"} if claim.expect == "holds" else "refuted" not in verdicts
    return Trial(refuted, margins, control is not None and _differs(claim, control))


def _differs(claim, control):
    try:
        return [margin for _, margin in _margins(claim, claim.violations[-1])] != control
    except MemoryError:
        raise
    except Exception:
        return False


def _in_a_child(work, seconds):
    """Return what `work` returns in a process of its own, or None where it needs too much time or memory."""
    ours, theirs = os.pipe()
    with warnings.catch_warnings(action="ignore"):
        # Python 3.12 warns where another thread waits, such as pytest's, and so does JAX, which the child never calls.
        child = os.fork()
    if child == 0:
        try:
            os.close(ours)
            with os.fdopen(theirs, "wb") as pipe:
                pickle.dump(_answer(work, seconds), pipe)
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    if not answer:  # it was stopped
        return None
    found, error = pickle.loads(answer)
    if error is not None:
        raise RuntimeError(error)
    return found


def _answer(work, seconds):
    """Return (what `work` returns, None), or (None, a text) where this tool itself is wrong; keep to the limits."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        return work(), None
    except MemoryError:
        return None, None
    except Exception:
        return None, traceback.format_exc()


def _as_it_is(claim):
    """Return a check's margins, its control's and the seconds of the processor that they took."""
    start = time.process_time()
    margins = _trial(claim, None).margins
    control = [margin for _, margin in _margins(claim, claim.violations[-1])]
    return margins, control, time.process_time() - start


def _lines(claim):
    """Return {file: lines} of the library's that a check runs through."""
    found = {}
    wanted = {sys.modules[module].__file__ for function in claim.tests for module, _ in _used(function)}

    def calls(frame, event, argument):
        return lines if frame.f_code.co_filename in wanted else None

    def lines(frame, event, argument):
        found.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return lines

    sys.settrace(calls)
    try:
        for _ in _margins(claim):
            pass
    finally:
        sys.settrace(None)
    return found


def report(claim):
    """Return {function: Found}, whether a broken function moves the control, and a line for each place that stands."""
    _functions()
    for wrapper in [part for part in gc.get_objects() if isinstance(part, functools._lru_cache_wrapper)]:
        wrapper.cache_clear()
    gc.freeze()  # pages that a child need not copy
    margins, control, seconds = _in_a_child(lambda: _as_it_is(claim), 3600)
    lines = _in_a_child(lambda: _lines(claim), 3600)
    found, moves_control, standing = {}, False, []
    for function in claim.tests:
        trials = []
        for broken in breaks(function, lines):
            compared = None if moves_control else control
            trial = _in_a_child(
                lambda broken=broken, compared=compared: _try(claim, broken, compared),
                SECONDS[0] + SECONDS[1] * seconds,
            )
            if trial is None:
                continue
            moves_control = moves_control or trial.control
            trials.append((trial.refuted, trial.refuted or trial.margins != margins))
            if not trial.refuted:
                what = "moves it" if trials[-1][1] else "changes nothing"
                where = f"{name_of(function)}: {broken.qualname}:{broken.line}"
                standing.append(f"{where}: {broken.old} → {broken.new}: {what}")
        refuted, moved = (sum(trial[which] for trial in trials) for which in (0, 1))
        found[name_of(function)] = Found(refuted, moved, len(trials))
    return found, moves_control, standing


def _try(claim, broken, control):
    changed = []
    setattr(broken.module, OTHER, lambda value, sign: another(value, sign, changed))
    _put(broken)
    trial = _trial(claim, control)
    return trial if changed or OTHER not in broken.new else None
