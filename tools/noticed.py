"""What does a claim's check notice?  python -m tools.noticed [claim …]

**Numbers.**  For each number that a statement shows, the places are looked up where the claim's check has that number:
as a literal, in a constant at the top of a module of claims, as "0.7", Fraction(7, 10) or 10**-6.  One place at a time
the number is changed, up and down, by growing parts of itself (whole numbers: by 1, 2, 4, …), and the claim is run
again.  The smallest change after which the verdict is no longer the expected one is what the check notices; for a bound
one direction is towards false, and the other is not.  A number that may change without a notice is not wrong by that: a
theorem about n = 1024 may be true at 1025 as well.  Subscripts, exponents and the numbers 0, 1, 2 belong to definitions
and are left out.

**Functions.**  Each function of the library that a claim names (`tests`) is broken in a few places, one at a time
(`tools.broken`).  Some of these must refute the claim, and one must move the margins of its control: a check that
always holds, the check of another claim and a control that never looks at the library are found so.

Without ids the claims run whose check, statement or named functions are other ones than when they were run last
(`make notebooks` does not do it, `make noticed` does); with --all every claim, which takes an hour (the weekly run).
noticed.json beside the record gets, for every number, the smallest change that is noticed in any of its places, and
for every function how many broken places refute the claim.  What notices less than before is not stored but for
--accept, and the exit status is 1.

Of a statement that is the paper's, or completes it, or was once found false, a wrong equality must be noticed from
10^-6 of itself on, a wrong whole number from 1 on, and of a bound some change must be.  Where that is not so, the claim
says why (`coarse`), and so it does for a function or a control that breaks this rule, extensions too.  `make check`
reads noticed.json and refuses what breaks this rule, but runs nothing again.
"""

import argparse
import ast
import inspect
import json
import re
import signal
import sys
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from types import ModuleType

from tqdm import tqdm

import attnsep.claims  # noqa: F401  fills the ledger
from attnsep.arrays import namespace
from attnsep.ledger import framework, ratchet
from tools import broken
from tools.files import ROOT, write

RESULT = ROOT / "lib/attnsep/ledger/noticed.json"
PARTS = (*(Fraction(10) ** power for power in range(-12, -1)), Fraction(1, 20), Fraction(1, 5), Fraction(1, 2))
STEPS = (1, 2, 4, 8, 32, 128)
LEFT_OUT = {0, 1, 2}
NOT_TRIED = "not tried"
CONTROL = "control"  # the name under which a claim gives a reason for its control
VERB = "make noticed"
AGAIN = f"run `{VERB}` and commit noticed.json"
SECONDS = 10  # of the processor; a larger size may turn a second into hours
# From what change on a number is noticed, as a part of itself or as a whole number; of a bound from some change on.
LIMITS = {"equality": Fraction(1, 10**6), "whole number": 1, "bound": 1e9}
FOUND_FALSE = {  # extensions whose sentences two readers found false, overstated or not checked
    "ablation-best-threshold",
    "first-coordinate-separates",
    "golden-ratio-threshold",
    "kernel-law-exact",
    "norm-worst",
    "one-threshold-for-every-n",
    "only-exp-normalised-separates",
    "perturbed-fires",
    "perturbed-silent",
    "random-parameters",
    "raw-worked-instance",
    "readout-softmax-marked-row",
    "recall-reproduces",
    "root-d-hides-the-mark",
    "scaling-in-d",
    "scaling-late-step",
    "scaling-matrices",
    "selection-needs-a-small-b",
    "temperature-window",
}

# Numbers of a statement

NUMBER = re.compile(
    r"\\[dt]?frac(?:(?P<one>\d)(?P<two>\d)|\{(?P<top>[\d.]+)\}\{(?P<bottom>[\d.]+)\})"
    r"|(?P<number>\d+(?:\.\d+)?)(?:\s*\\cdot\s*10\^\{?(?P<times>-?\d+)\}?|\^\{?(?P<power>-?\d+)\}?|(?P<percent>(?:\\,|\s)*\\%))?"
)
DEFINES = re.compile(r"_(?:\{[^{}]*\}|\w|\\\w+)|\^(?:\{[^{}]*\}|\d)|\\(?:math\w+|text)\{[^{}]*\}")
RELATION = re.compile(
    r"=|\\(?:to|sim|approx)\b|\b(?:is|are)\b|(?P<bound><|>|\\(?:le|ge|in)\b|\b(?:at most|at least|above|below|beyond"
    r"|lies|more than|less than|fewer than|exceeds?|up to|from|between|within)\b)"
)
BOUNDS_NEXT = re.compile(r"\s*(?:<|>|\\(?:le|ge)\b)")
POWER_OF_TEN = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?\s*\\cdot\s*)?10\^(\{-?\d+\}|\d)")


def numbers(statement):
    """Return the numbers that a statement shows, as fractions, without those that belong to definitions.

    Examples
    --------
    >>> [str(number) for number in numbers(r"$a_1^2 > 0.7$, $3\\cdot 10^{-2}$, $\\frac18$, $5\\,\\%$ at $n = 10^3$")]
    ['7/10', '3/100', '1/8', '1/20', '1000']
    """
    return list(kinds(statement))


def kinds(statement):
    """Return {number: equality, whole number or bound}, by the sign or the words that stand before it.

    Examples
    --------
    >>> found = kinds(r"$\\pi = 0.25$ to 12 digits, $p > 0.1$ or below $0.3$, $0.4$; $0.7 \\le a$")
    >>> {str(number): kind for number, kind in found.items()}
    {'1/4': 'equality', '12': 'whole number', '1/10': 'bound', '3/10': 'bound', '2/5': 'bound', '7/10': 'bound'}
    """
    kept = POWER_OF_TEN.sub(lambda found: found[0].replace("^", "\0"), statement)
    text, found = DEFINES.sub(" ", kept).replace("\0", "^"), {}
    for match in NUMBER.finditer(text):
        if (number := _number(match)) not in LEFT_OUT and found.get(number, "bound") == "bound":
            before = [*RELATION.finditer(text[: match.start()])]
            bounds = BOUNDS_NEXT.match(text[match.end() :]) or (before and before[-1]["bound"])
            found[number] = "whole number" if number.denominator == 1 else "bound" if bounds else "equality"
    return found


def _number(match):
    if match["one"]:
        return Fraction(int(match["one"]), int(match["two"]))
    if match["top"]:
        return Fraction(match["top"]) / Fraction(match["bottom"])
    number = Fraction(match["number"])
    if match["times"]:
        return number * Fraction(10) ** int(match["times"])
    if match["power"]:
        return number ** int(match["power"])
    return number / 100 if match["percent"] else number


# Places of a check

ARITHMETIC = {
    ast.Pow: lambda x, y: x**y if y.denominator == 1 and abs(y) < 1000 else None,
    ast.Mult: lambda x, y: x * y,
    ast.Div: lambda x, y: x / y if y else None,
}


def value_of(node):
    """Return the number that a piece of source writes down, as a fraction, or None if it writes none.

    Examples
    --------
    >>> [str(value_of(ast.parse(text, mode="eval").body)) for text in ("0.7", "'0.7'", "Fraction(7, 10)", "n")]
    ['7/10', '7/10', '7/10', 'None']
    """
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return Fraction(node.value) if re.fullmatch(r"\d+(\.\d+)?", node.value) else None
        return Fraction(str(node.value)) if type(node.value) in (int, float) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inside = value_of(node.operand)
        return None if inside is None else -inside
    if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        left, right = value_of(node.left), value_of(node.right)
        return None if left is None or right is None else ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Fraction" and not node.keywords:
        inside = [value_of(argument) for argument in node.args]
        if inside and None not in inside and len(inside) <= 2 and 0 not in inside[1:]:
            return inside[0] / (inside[1] if len(inside) == 2 else 1)
    return None


def places(claim, number):
    """Return (module, line, column, last line, last column) for every place where the claim's check writes a number."""
    found = set()
    for module, part in ratchet.parts(claim):
        for node in part.body if isinstance(part, ast.FunctionDef) else [part]:
            found |= {(module, *place) for place in _written(node, number)}
    return sorted(found, key=lambda place: (place[0] != claim.cases.__module__, place))


def _written(node, number):
    """Return the outermost places below a node that write a number."""
    if isinstance(node, ast.expr) and value_of(node) == number:
        return [_place(node)]
    return [place for child in ast.iter_child_nodes(node) for place in _written(child, number)]


def _place(node):
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset


class _Change(ast.NodeTransformer):
    """Replace the number at one place by another."""

    def __init__(self, place, new):
        self.place, self.new = place, new

    def visit(self, node):
        """Return the new number where this is the place, else the node with its parts visited."""
        if isinstance(node, ast.expr) and _place(node) == self.place and value_of(node) is not None:
            return ast.copy_location(_like(node, self.new), node)
        return self.generic_visit(node)


def _like(node, new):
    """Return a node that writes a number in the way of an old one."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return ast.Constant(int(new))
    text = f"{Decimal(new.numerator) / new.denominator:f}"
    text = text if Fraction(text) == new else f"{new.numerator}/{new.denominator}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.Constant(text)
    if isinstance(node, ast.Call):
        return ast.Call(node.func, [ast.Constant(text)], [])
    if new.denominator == 1:
        return ast.Constant(int(new))
    return ast.Constant(float(new))


def changed(claim, place, new):
    """Return the claim as it would be with another number at a place: its module is made again, beside the ledger."""
    module, *where = place
    own = claim.cases.__module__
    kept, framework.LEDGER, original = framework.LEDGER, {}, sys.modules[module]
    try:
        _made_again(module, tuple(where), new)
        if module != own:
            own_original = sys.modules[own]
            try:
                _made_again(own)  # it imports what is changed
            finally:
                sys.modules[own] = own_original
        return framework.LEDGER[claim.id]
    finally:
        framework.LEDGER, sys.modules[module] = kept, original


def _made_again(name, where=None, new=None):
    """Put a new module in the place of one of claims, with another number where that is asked for."""
    old = sys.modules[name]
    tree = ast.parse(inspect.getsource(old))
    if where is not None:
        tree = ast.fix_missing_locations(_Change(where, new).visit(tree))
    sys.modules[name] = made = ModuleType(name)
    made.__file__ = old.__file__
    exec(compile(tree, old.__file__, "exec"), vars(made))


# What is noticed


def noticed(claim, place, number):
    """Return the smallest change of the number at a place that the check notices, with a sign, or None.

    A claim that does not end in time with a changed number, and notices no other change, is "not tried".
    """
    whole = number.denominator == 1
    smallest, found = None, set()
    for sign in (1, -1):
        steps = STEPS if whole else PARTS
        low, high = 0, len(steps) if smallest is None else steps.index(abs(smallest))
        while low < high:  # the first step that is noticed, as if every larger one were noticed too
            middle = low if whole else (low + high) // 2  # a larger whole number may take longer
            step = sign * steps[middle]
            found.add(answer := _is_noticed(claim, place, number + step if whole else number * (1 + step)))
            if answer is True:
                high = middle
            elif answer is NOT_TRIED:
                low = high
            else:
                low = middle + 1
        if low < len(steps) and (smallest is None or steps[low] < abs(smallest)):
            smallest = sign * steps[low]
    return NOT_TRIED if smallest is None and NOT_TRIED in found else smallest


def _is_noticed(claim, place, new):
    try:
        other = changed(claim, place, new)
    except LookupError:
        return NOT_TRIED  # the place is a name under which the statement looks up other numbers
    except (ArithmeticError, TypeError, ValueError):
        return True  # the module cannot even be made
    try:
        with _seconds():
            return framework._verdict(list(other.cases(namespace("numpy"), broken=None))) != claim.expect
    except (TimeoutError, MemoryError):
        return NOT_TRIED
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return True  # the library refuses it: no data have this number


@contextmanager
def _seconds():
    """Raise a TimeoutError where the processor has worked for longer than SECONDS."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def report(claim):
    """Yield each number of a claim's statement, and {place: the smallest change of it that is noticed there}.

    Where one place notices the smallest change that is tried, the other places are left out.
    """
    for number in numbers(claim.statement):
        found, least = {}, (STEPS if number.denominator == 1 else PARTS)[0]
        for place in places(claim, number):
            found[place] = noticed(claim, place, number)
            if found[place] in (least, -least):
                break
        yield _shown(number), found


def _shown(number):
    """Return a number as text, 10^300 as such.

    Examples
    --------
    >>> _shown(Fraction(10) ** 300), _shown(Fraction(65536)), _shown(Fraction(1, 8))
    ('10^300', '65536', '0.125')
    """
    if number.denominator != 1:
        return f"{float(number):.9g}"
    power = len(str(number)) - 1
    return f"10^{power}" if power > 5 and number == 10**power else str(number)


def best(changes):
    """Return the smallest change as text, or never, not tried, or absent where the check does not have the number.

    Examples
    --------
    >>> best([Fraction(-1, 5), None]), best([None]), best([])
    ('-0.2', 'never', 'absent')
    """
    found = [step for step in changes if step not in (None, NOT_TRIED)]
    if found:
        return _shown(min(found, key=abs))
    return NOT_TRIED if NOT_TRIED in changes else "never" if changes else "absent"


def coarser(id, old, new):
    """Return one sentence for each number and function of a claim of which less is noticed than before.

    Examples
    --------
    >>> old = {"numbers": {"0.7": "0.01", "5": "1"}, "functions": {"paper.tokens.weights": ["7a", 6, 8, 8]}}
    >>> new = {"numbers": {"0.7": "0.05", "5": "-1"}, "functions": {"paper.tokens.weights": ["7a", 2, 8, 8]}}
    >>> print(*coarser("one", old, new), sep="\\n")
    one: a change of 0.7 was noticed from 0.01 on, now: 0.05
    one: of 8 places where paper.tokens.weights is broken, 6 refuted it, now: 2
    """
    found = [
        f"{id}: a change of {number} was noticed from {before} on, now: {now}"
        for number, now in new["numbers"].items()
        if _size(before := old.get("numbers", {}).get(number, "never")) < _size(now)
    ]
    for name, (digest, refuted, _, tried) in old.get("functions", {}).items():
        now = new["functions"].get(name)
        if now is None:
            found.append(f"{id}: no longer names {name}; {refuted} of {tried} places where it was broken refuted it")
        elif now[0] == digest and now[1] < refuted:  # the same places: the check became weaker
            found.append(f"{id}: of {tried} places where {name} is broken, {refuted} refuted it, now: {now[1]}")
    return found


def _size(text):
    return float("inf") if text in ("never", "absent", NOT_TRIED) else abs(float(text))


def problems(claims, found):
    """Return one sentence for each number, function and control that breaks the rule, each idle reason, and one for all
    claims that must be run again."""
    stale = [claim.id for claim in claims if _is_stale(claim, found)]
    sentences = [f"{', '.join(stale)}: changed, or a function of `tests` did; {AGAIN}"] if stale else []
    for claim in claims:
        reasons = {name for names, _ in claim.coarse for name in names.split()}
        known = {*map(_shown, numbers(claim.statement)), *map(broken.name_of, _functions(claim)), CONTROL}
        sentences += [
            f"{claim.id}: gives a reason for {name}, which it does not state or test" for name in reasons - known
        ]
        if claim.id not in stale:
            sentences += _late(claim, found[claim.id]["numbers"], reasons)
            sentences += _deaf(claim, found[claim.id], reasons)
    return sentences


def _late(claim, changes, reasons):
    """Return one sentence for each number that is noticed late without a reason, or early with one."""
    if not _is_held(claim):
        return []
    shown_kinds = {_shown(number): kind for number, kind in kinds(claim.statement).items()}
    return [
        f"{claim.id}: {number} ({shown_kinds[number]}) is noticed from {change} on, "
        f"{'and needs no reason' if number in reasons else 'and no reason says why'}"
        for number, change in changes.items()
        if (_size(change) > LIMITS[shown_kinds[number]]) != (number in reasons)
    ]


def _deaf(claim, entry, reasons):
    """Return one sentence for each function that the check does not notice, and for a control that sees none."""
    sentences = []
    for name, (_, refuted, moved, tried) in entry["functions"].items():
        broken_in = f"{name} was broken in {tried} places, and"
        if not moved:
            sentences.append(
                f"{broken_in} no margin of the check changed; let the check use what the function returns, or take it "
                "out of `tests`"
            )
        elif not refuted and name not in reasons:
            sentences.append(
                f"{broken_in} none refutes the claim; sharpen the check, or say in `coarse` why it need not notice"
            )
        elif refuted and name in reasons:
            sentences.append(
                f"{name} needs no reason: {refuted} of {tried} places where it was broken refute the claim"
            )
    if entry["functions"] and not entry["control"] and CONTROL not in reasons:
        sentences.append(
            "its control stays as it is wherever a function of `tests` is broken; let it break the hypothesis where "
            "the check uses the library, or say in `coarse` why not"
        )
    if entry["functions"] and entry["control"] and CONTROL in reasons:
        sentences.append("its control needs no reason: it changes when a function of `tests` is broken")
    return [f"{claim.id}: {sentence}" for sentence in sentences]


def _functions(claim):
    return () if isinstance(claim.tests, str) else claim.tests


def _is_stale(claim, found):
    """Return whether a claim was never run, or was when its check, its statement or its functions were other ones."""
    entry = found.get(claim.id)
    return entry is None or _numbers_are_stale(claim, entry) or _functions_are_stale(claim, entry)


def _numbers_are_stale(claim, entry):
    return entry["check"] != ratchet.digest(claim) or [*entry["numbers"]] != [*map(_shown, numbers(claim.statement))]


def _functions_are_stale(claim, entry):
    before = {name: digest for name, (digest, *_) in entry.get("functions", {}).items()}
    now = {broken.name_of(function): broken.digest(function) for function in _functions(claim)}
    return entry["check"] != ratchet.digest(claim) or "control" not in entry or before != now


def _is_held(claim):
    """Return whether the numbers of a claim must be noticed early."""
    return claim.mark != "extension" or claim.id in FOUND_FALSE


def main(words):
    """Report, store what is not less than before, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.noticed")
    parser.add_argument("ids", nargs="*", metavar="claim")
    parser.add_argument("--accept", action="store_true", help="store also where less is noticed than before")
    parser.add_argument("--all", action="store_true", help="all claims, also those that are as when they were run last")
    chosen = parser.parse_args(words)
    everything, worse = bool(chosen.ids) or chosen.all, []
    entries = [framework.find(id) for id in chosen.ids] or framework.claims()
    entries = [entry for entry in entries if everything or _is_stale(entry, stored())]
    for claim in tqdm(entries, unit="claim", disable=None, leave=False):
        before = stored().get(claim.id, {})
        entry = _run(claim, before, everything)
        if not (later := [] if chosen.accept else coarser(claim.id, before, entry)):
            new = stored() | {claim.id: entry}
            kept = {other.id: new[other.id] for other in framework.claims() if other.id in new}
            write(RESULT, _text(kept))
        worse += later
    ids = {entry.id for entry in entries}
    left = [line for line in problems(entries, stored()) if line.partition(":")[0] in ids]
    if worse:
        worse.append(f"These are not stored.  Sharpen the checks, or accept what they notice: {VERB} ACCEPT=1")
    print(*worse, *left, sep="\n", end="\n" if worse or left else "", file=sys.stderr)
    return int(bool(worse or left))


def _run(claim, before, everything):
    """Return the entry of a claim, with what is still as it was before unless everything is to run."""
    entry = {"check": ratchet.digest(claim)}
    if everything or not before or _numbers_are_stale(claim, before):
        entry["numbers"] = {}
        for number, found in report(claim):
            entry["numbers"][number] = best([*found.values()])
            where = "; ".join(f"{p[0].rpartition('.')[2]}.py:{p[1]}: {best([step])}" for p, step in found.items())
            print(f"{claim.id}: {number}: {where or 'not in the check'}", flush=True)
    else:
        entry["numbers"] = before["numbers"]
    if not everything and before and not _functions_are_stale(claim, before):
        return entry | {name: before[name] for name in ("functions", "control")}
    found, moves_control, standing = broken.report(replace(claim, tests=_functions(claim)))
    for name, counts in found.items():
        print(f"{claim.id}: {name}: {counts}", flush=True)
    print(*(f"{claim.id}: stands: {line}" for line in standing), sep="\n", end="\n" if standing else "", flush=True)
    digests = {broken.name_of(function): broken.digest(function) for function in _functions(claim)}
    return entry | {"functions": {name: [digests[name], *found[name]] for name in found}, "control": moves_control}


def stored():
    """Return what was found before.

    {claim: {check: digest, numbers: {number: change}, functions: {name: [digest, refuted, moved, tried]}, control:
    whether a broken function moves it}}.
    """
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def _text(found):
    """Return what was found as JSON, one claim a line."""
    lines = [f" {json.dumps(id)}: {json.dumps(entry, ensure_ascii=False)}" for id, entry in found.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
