"""Claims: statements with a source, a check that a computer runs, and a control that must fail.

A claim is a generator function.  Called with ``broken=None`` it yields one `Case` for every data set that meets
the claim's assumptions; called with ``broken=v`` it breaks the one hypothesis that the control names, by the
amount v, and leaves all else valid.  Everything a reader sees of a claim's status is computed from these cases.
"""

import json
import math
import numbers
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from attnsep.arrays import backend_name, common_namespace, given_namespace, namespace, quiet
from attnsep.checks import require_choice, require_double, require_instance, require_integer, require_items, text_of
from attnsep.files import write
from attnsep.kinds import Namespace
from attnsep.ledger.proofs import PROVED, is_proved
from attnsep.ledger.words import OPPOSITE, Badge
from attnsep.processes import ENDED, FreshProcesses
from attnsep.tables import shown

MARKS = ("source", "completed", "extension")


LEVELS = (PROVED, "certified", "exact", "computed", "verified", "sampled", "measured")  # from strong to weak


CHECKED = LEVELS[1:]  # those of a check; that a statement is proved is what `make prove` found


UNROUNDED = ("certified", "exact")  # their margins are whole numbers or fractions, and no tolerance is allowed


ROUNDING = 1e-13  # of a closed form in doubles; a smaller margin needs a tolerance that the case states


class ClaimFailed(AssertionError):
    """A claim's verdict is not the expected one, or its control did not fail."""


@dataclass(frozen=True)
class Case:
    """One data set's evidence: the slack of a statement, negative where it is violated.

    Parameters
    ----------
    margin : int, Fraction or float
        Slack relative to the bound (or to the compared value); NaN leaves the case undecided.  A whole number or a
        fraction stays what it is: at the levels certified and exact no other margin is allowed.
    tolerance : float
        Rounding that the margin may hide; 0 at those levels.
    reached : dict
        Parameters of the data set, or (low, high) where the case covers a range; the ledger shows their ranges.
    upper : float, optional
        Where only an interval [margin, upper] for the slack is known, its upper end.
    alarm : float
        Where the evidence is a sample: the probability, at most, that other draws refute a statement that is true.
    equality : bool
        Whether the statement is that two numbers are the same, so that there is nothing to spare.
    """

    margin: float | Fraction
    tolerance: float = 0.0
    reached: dict = field(default_factory=dict)
    upper: float | None = None
    alarm: float = field(default=0.0, repr=False)
    equality: bool = field(default=False, repr=False)

    def __post_init__(self):
        require_double("margin", self.margin)  # as a double it must be possible to show it
        if not isinstance(self.margin, numbers.Rational):
            object.__setattr__(self, "margin", float(self.margin))
        for name in ("tolerance", "upper"):
            if name != "upper" or self.upper is not None:
                object.__setattr__(self, name, require_double(name, getattr(self, name)))
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance = {self.tolerance!r}: must be finite and at least 0")
        if not 0 <= self.alarm < 1:
            raise ValueError(f"alarm = {self.alarm!r}: must be at least 0 and below 1")

    @property
    def is_exact(self):
        """Whether nothing was rounded where this case was decided, as far as its margin shows; NaN decides nothing.

        Examples
        --------
        >>> Case(Fraction(1, 3)).is_exact, Case(1 / 3).is_exact, at_most(Fraction(1, 3), 1).is_exact
        (True, False, True)
        """
        return self.tolerance == 0 and (isinstance(self.margin, numbers.Rational) or math.isnan(self.margin))

    @property
    def verdict(self):
        """``holds``, ``refuted`` or ``undecided``.

        Examples
        --------
        >>> Case(-1e-16, tolerance=1e-15).verdict, Case(-0.1).verdict, Case(-0.1, upper=0.1).verdict
        ('holds', 'refuted', 'undecided')
        """
        upper = self.margin if self.upper is None else self.upper
        if self.margin >= -self.tolerance:
            return "holds"
        return "refuted" if upper < -self.tolerance else "undecided"  # a NaN fails both comparisons


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A definition of the ledger: it has a place and a source, and nothing to check."""

    id: str
    mark: str
    source: str
    statement: str
    chapter: str


@dataclass(frozen=True, kw_only=True)
class Claim(Definition):
    """A statement with the function that checks it and the control that must fail."""

    level: str
    assumes: str
    uses: tuple
    expect: str
    control: str
    violations: tuple
    cases: Callable
    tests: tuple | str
    coarse: tuple = ()

    @property
    def is_proved(self) -> bool:
        """Whether Coq has proved this statement, word for word, and the check agrees that it holds."""
        return self.expect == "holds" and is_proved(self.id, self.statement)

    @property
    def evidence(self) -> str:
        """The levels of the proof, if there is one, and of the check, which a proof does not replace.

        Examples
        --------
        >>> from attnsep.claims import LEDGER
        >>> LEDGER["main-theorem"].evidence, LEDGER["main-theorem-classifies"].evidence
        ('proved; computed', 'sampled')
        """
        return f"{PROVED}; {self.level}" if self.is_proved else self.level


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one run found for one claim."""

    claim: Claim
    verdict: str
    margin: float
    cases: int
    reached: dict
    fails: tuple
    passes: tuple
    seconds: float
    backend: str
    alarm: float = 0.0
    tolerance: float = 0.0
    equality: bool = False

    @property
    def control_fails(self) -> bool:
        """Whether the largest violation turns the verdict over."""
        return bool(self.fails) and self.fails[-1] == self.claim.violations[-1]

    @property
    def as_expected(self) -> bool:
        """Whether the verdict is the expected one and the control fails."""
        return self.verdict == self.claim.expect and self.control_fails

    @property
    def line(self) -> str:
        """What was found and what the control did, in one line."""
        return " ".join(Badge(self).sentences)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's fields, ready for json.dump; only `seconds` and `backend` vary between runs."""
        c = self.claim
        return {
            "id": c.id,
            "mark": c.mark,
            "level": c.level,
            "expect": c.expect,
            "verdict": self.verdict,
            "as_expected": self.as_expected,
            "margin": None if math.isnan(self.margin) else float(shown(self.margin)),
            "tolerance": float(shown(self.tolerance)),
            "cases": self.cases,
            "control_fails": self.control_fails,
            "smallest_failing": min(self.fails, default=None),
            "largest_passing": max(self.passes, default=None),
            "alarm": float(shown(self.alarm)),
            "reached": {name: list(ends) for name, ends in self.reached.items()},
            "seconds": round(self.seconds, 3),
            "backend": self.backend,
        }


LEDGER: dict[str, Definition] = {}


_SHIFT = ContextVar("the shift of all seeds", default=0)


def _register(entry):
    _require_fields(entry.id, entry.mark, source=entry.source, statement=entry.statement, chapter=entry.chapter)
    LEDGER[entry.id] = entry
    return entry


def _require_fields(id, mark, **texts):
    if not isinstance(id, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        raise ValueError(f"id = {text_of(id)}: must be lower-case words joined by hyphens")
    if id in LEDGER:
        raise ValueError(f"id = {id!r}: is in the ledger already")
    require_choice(f"{id}: mark", mark, MARKS)
    for name, text in texts.items():
        _require_text(f"{id}: {name}", text)


def _require_text(name, text):
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} = {text_of(text)}: must be a text that is not empty")


def definition(id, *, mark, source, statement, chapter):
    """Enter a definition into the ledger.

    Parameters
    ----------
    id : str
        Permanent name, also the label in the chapter.
    mark : str
        source, completed or extension.
    source : str
        Where in the source card.
    statement : str
        One line of text and LaTeX, shown word for word in the chapter.
    chapter : str
        File name of the chapter, without ending.

    Returns
    -------
    Definition
    """
    return _register(Definition(id=id, mark=mark, source=source, statement=statement, chapter=chapter))


# Reasons why a check need not notice a small change of a number.
BESIDE = "a point where it was tried; with this number changed a little the statement is true as well"


LIBRARY = "the library has it, whose tests compare it with another computation"


STAY = "the whole numbers that are stated stay as they are when it changes a little"


WHOLE = "the check counts in whole numbers, without this fraction"


END = "an end of the box that was certified; the statement is true beyond it as well"


def claim(
    id,
    *,
    mark,
    source,
    level,
    chapter,
    statement,
    control,
    violations,
    tests,
    assumes="",
    uses=(),
    expect="holds",
    coarse=(),
):
    """Enter the decorated generator function into the ledger as the check of a claim.

    Parameters
    ----------
    id, mark, source, statement, chapter : str
        As in `definition`.
    level : str
        certified, exact, computed, verified, sampled or measured; nobody types *proved*.
    control : str
        The one hypothesis that ``broken`` breaks, in words, with what the amount means.
    violations : sequence of float
        Amounts to try, ascending; the last must turn the verdict over.
    assumes : str
        The claim's hypotheses, in words.
    uses : sequence of str
        Ids that the claim builds on.
    expect : str
        holds, or refuted for a sentence of the source, or our reading of it, that fails.
    tests : sequence of callable, or str
        The functions and classes of the library whose behaviour the claim is about; breaking one must refute it.  Or
        why there is none.
    coarse : sequence of (str, str)
        Numbers of the statement, by spaces apart, of which the check notices no small change, and why it need not.
        Also names of `tests`, such as ``paper.tokens.weights``, of which no fault refutes the claim, and ``control``
        where none moves it.

    Returns
    -------
    callable
        A decorator that returns the function unchanged.

    Raises
    ------
    ValueError
        If a field is empty, unknown or a claim has no control.
    """
    _require_fields(id, mark, source=source, statement=statement, chapter=chapter, control=control)
    require_choice(f"{id}: level", level, CHECKED)
    require_choice(f"{id}: expect", expect, tuple(OPPOSITE))
    amounts = [require_double("violations", amount) for amount in require_items("violations", violations)]
    if not amounts or amounts != sorted(set(amounts)):
        raise ValueError(f"{id}: violations = {violations!r}: must be at least one amount, ascending")
    if isinstance(tests, str):
        _require_text(f"{id}: tests", tests)
    else:
        tests = tuple(require_items("tests", tests))
        if not tests or not all(map(_is_of_the_library, tests)):
            raise ValueError(f"{id}: tests = {tests!r}: must be functions of the library, or say why there is none")
    uses = require_items("uses", uses)
    coarse = require_items("coarse", coarse)
    for entry in coarse:
        for name, text in zip(("numbers", "reason"), entry, strict=True):
            _require_text(f"{id}: coarse: {name}", text)

    def register(function):
        _register(
            Claim(
                id=id,
                mark=mark,
                source=source,
                statement=statement,
                chapter=chapter,
                level=level,
                assumes=assumes,
                uses=tuple(uses),
                expect=expect,
                control=control,
                violations=tuple(violations),
                cases=function,
                tests=tests,
                coarse=tuple(coarse),
            )
        )
        return function

    return register


def _is_of_the_library(function):
    """Return whether something is a function or class of attnsep that is neither a claim nor of the ledger."""
    first, _, rest = str(getattr(function, "__module__", "")).partition(".")
    return callable(function) and first == "attnsep" and rest.partition(".")[0] not in ("claims", "ledger")


def generator(seed):
    """Return the random numbers of a claim: those of its seed, or others where ``run`` shifts all seeds.

    Claims draw from here alone, so that one word exchanges all their draws.

    Examples
    --------
    >>> bool(generator(2500).random() == np.random.default_rng(2500).random())
    True
    """
    shift = _SHIFT.get()
    seed = require_integer("seed", seed, least=0)
    return np.random.default_rng((seed, shift) if shift else seed)


def run(claim, xp=None, seeds=0):
    """Run a claim and its control.

    Parameters
    ----------
    claim : Claim
        The entry to run.
    xp : module, optional
        Array namespace; left out, ``arrays.namespace()`` decides.
    seeds : int
        0 for the claims' own draws; every other number gives every claim other ones.

    Returns
    -------
    Evidence
    """
    require_instance("claim", claim, Claim)
    token = _SHIFT.set(require_integer("seeds", seeds, least=0))
    try:
        return _run(claim, given_namespace(xp))
    finally:
        _SHIFT.reset(token)


def _run(claim, xp):
    start = time.perf_counter()
    cases = list(claim.cases(xp, broken=None))
    if claim.level in UNROUNDED and not all(case.is_exact for case in cases):
        raise ValueError(f"{claim.id}: level {claim.level} allows no tolerance and no margin that is a float")
    if claim.level == "computed" and any(map(_is_rounding, cases)):
        raise ValueError(f"{claim.id}: level computed needs a tolerance where a margin is below {ROUNDING}")
    worst = min(cases, key=_badness, default=Case(math.nan))
    fails, passes = [], []
    for amount in claim.violations:
        turned = _verdict(claim.cases(xp, broken=amount)) == OPPOSITE[claim.expect]
        (fails if turned else passes).append(amount)
    return Evidence(
        claim=claim,
        verdict=_verdict(cases),
        margin=float(_without_noise(worst)),
        cases=len(cases),
        reached=_ranges(cases),
        fails=tuple(fails),
        passes=tuple(passes),
        seconds=time.perf_counter() - start,
        backend=backend_name(xp),
        alarm=math.fsum(case.alarm for case in cases),
        tolerance=max((case.tolerance for case in cases), default=0.0),
        equality=bool(cases) and all(case.equality for case in cases),
    )


def _verdict(cases):
    """Return refuted at the first counter-example; no case at all leaves the claim undecided."""
    verdicts = set()
    for case in cases:
        verdicts.add(case.verdict)
        if "refuted" in verdicts:
            return "refuted"
    return "holds" if verdicts == {"holds"} else "undecided"


def _is_rounding(case):
    """Return whether a case holds by so little that its doubles alone may have decided it."""
    return not case.is_exact and case.tolerance == 0 and 0 <= case.margin < ROUNDING


def _badness(case):
    return -math.inf if math.isnan(case.margin) else case.margin


def _without_noise(case):
    """Return the margin without digits that rounding could change: below 100 tolerances nothing is a digit."""
    if case.tolerance and abs(case.margin) < 100 * case.tolerance and case.verdict == "holds":
        return 0.0
    return case.margin


def _ranges(cases):
    """Return the least and the largest of every parameter; ranges that cases cover whole stay apart, numbered."""
    found, covered = {}, {}
    for case in cases:
        for name, value in case.reached.items():
            if isinstance(value, tuple):
                covered.setdefault(name, {})[value] = None
            else:
                found.setdefault(name, []).append(value)
    ranges = {name: (min(values), max(values)) for name, values in found.items()}
    for name, boxes in covered.items():
        ranges |= {name if k == 1 else f"{name} ({k})": box for k, box in enumerate(boxes, start=1)}
    return {name: ranges[name] for name in sorted(ranges)}


def find(id: str) -> Claim:
    """Return the claim with this id.

    Raises
    ------
    ValueError
        If the ledger has no such claim (definitions have nothing to run).

    Examples
    --------
    >>> find("no-such-claim")
    Traceback (most recent call last):
    ...
    ValueError: id = 'no-such-claim': the ledger has no claim of this name
    """
    entry = LEDGER.get(id) if isinstance(id, str) else None
    if not isinstance(entry, Claim):
        raise ValueError(f"id = {text_of(id)}: the ledger has no claim of this name")
    return entry


def check(id: str) -> None:
    """Run one claim and show what came of it: a badge in a notebook, two sentences elsewhere.

    Each statement of the book ends with a call of this function.

    Parameters
    ----------
    id : str
        The claim's id.

    Raises
    ------
    ClaimFailed
        If the verdict is not the expected one or the control does not fail.
    ValueError
        If the ledger has no such claim.
    """
    evidence = run(find(id))
    _keep(evidence)
    _show(Badge(evidence))
    if not evidence.as_expected:
        raise ClaimFailed(f"{id}: expected {evidence.claim.expect}, found: {evidence.line}")


def _show(badge):
    """Show a badge: a page has HTML, a terminal text."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if hasattr(shell, "kernel"):
        sys.modules["IPython"].display.display(badge)
    else:
        print(badge)


def _keep(evidence):
    """Leave what a chapter found where `kept` finds it, if that is wanted."""
    if _kept_at(evidence.claim).parent.is_dir():
        values = {f.name: getattr(evidence, f.name) for f in fields(evidence) if f.name != "claim"}
        write(_kept_at(evidence.claim), json.dumps(values))


def kept(claim, xp=None):
    """Return the evidence that a chapter's `check` left in the folder that ``ATTNSEP_EVIDENCE`` names, or None.

    `make test` names one, so that its chapters run the claims and `attnsep verify --compare` only the others.

    Parameters
    ----------
    claim : Claim
        The entry that was run.
    xp : module, optional
        Array namespace on which it was run; evidence of another one does not count.

    Returns
    -------
    Evidence or None

    Examples
    --------
    >>> from attnsep.claims import LEDGER
    >>> kept(LEDGER["tensor-trick"]) is None  # nobody asked for any
    True
    """
    require_instance("claim", claim, Claim)
    backend = backend_name(given_namespace(xp))
    if not _kept_at(claim).is_file():
        return None
    found = Evidence(claim=claim, **json.loads(_kept_at(claim).read_text(encoding="utf-8")))
    return found if found.backend == backend else None


def _kept_at(claim):
    return Path(os.environ.get("ATTNSEP_EVIDENCE") or os.devnull) / f"{claim.id}.json"


def verify(
    ids: Sequence[str] | None = None,
    *,
    xp: Namespace | None = None,
    progress: bool = False,
    jobs: int = 1,
    seeds: int = 0,
) -> list[Evidence]:
    """Run the checks of many claims, and their controls.

    Parameters
    ----------
    ids : sequence of str, optional
        Which; left out, all of the ledger.
    xp : module, optional
        Array namespace; left out, ``arrays.namespace()`` decides.
    progress : bool
        Show a bar on standard error if that is a terminal.
    jobs : int
        Number of processes, at least 1.  Claims do not depend on each other, so the evidence is the same.
    seeds : int
        0 for the claims' own draws; every other number gives every claim other ones.

    Returns
    -------
    list of Evidence
        In the order of ``ids``; of the ledger where they are left out.

    Raises
    ------
    ValueError, TypeError
        If an id is unknown, or jobs is no integer of at least 1.
    RuntimeError
        If a process is killed.
    """
    xp = given_namespace(xp)
    entries = claims() if ids is None else [_known(id) for id in _distinct(require_items("ids", ids))]
    jobs = max(1, min(require_integer("jobs", jobs, least=1), len(entries)))
    if jobs == 1:
        return list(_with_bar((run(entry, xp, seeds) for entry in entries), len(entries), progress))
    backend = backend_name(xp)
    # Side by side, a second thread of BLAS in each would only wait; who sets a number of threads keeps it.
    with FreshProcesses(jobs, OMP_NUM_THREADS=os.environ.get("OMP_NUM_THREADS") or "1") as pool:
        found = pool.map(
            _run_in_process,
            [entry.cases.__module__ for entry in entries],
            [entry.id for entry in entries],
            [backend] * len(entries),
            [seeds] * len(entries),
        )
        try:
            return list(_with_bar(found, len(entries), progress))
        except BrokenProcessPool:
            raise RuntimeError(f"jobs = {jobs}: {ENDED}") from None


def _distinct(ids):
    if others := [id for id in ids if not isinstance(id, str)]:
        raise TypeError(f"ids: {text_of(others[0])} is no text")
    return dict.fromkeys(ids)


def _known(id):
    try:
        return find(id)
    except ValueError as error:
        raise ValueError(f"ids: {error}") from None


def _run_in_process(module, id, backend, seeds):
    import_module(module)  # enters the claim into the ledger of this process
    return run(find(id), namespace(backend), seeds)


def _with_bar(evidence, total, progress):
    """Return the evidence as it comes, with a bar where that is wanted and possible."""
    try:
        from tqdm import tqdm
    except ImportError:  # a bar is a comfort, not a dependency
        return evidence
    return tqdm(evidence, total=total, unit="claim", disable=None if progress else True, leave=False)


def exactly(broken):
    """Return a control's amount as the decimal that it prints, 0 where nothing is broken.

    Examples
    --------
    >>> exactly(None), exactly(1e-9)
    (Fraction(0, 1), Fraction(1, 1000000000))
    """
    return Fraction(str(broken or 0))


def alarm_sentence(alarms):
    """Return what the alarms of a run add up to, in one sentence.

    Examples
    --------
    >>> alarm_sentence([1e-9, 0, 3e-9])
    'With other random draws such a run refutes a true claim with probability at most 4e-09.'
    """
    return (
        f"With other random draws such a run refutes a true claim with probability at most {shown(math.fsum(alarms))}."
    )


def claims():
    """Return all claims, in the order of the book."""
    if not LEDGER:
        raise RuntimeError("the ledger is empty: import attnsep.claims, which fills it")
    return [entry for entry in LEDGER.values() if isinstance(entry, Claim)]


def at_most(value, bound, /, tolerance=0.0, **reached):
    """Case for max(value) ≤ bound, with the slack relative to the bound; an infinite bound leaves it undecided.

    Examples
    --------
    >>> at_most(0.5, 1.0, n=2)
    Case(margin=0.5, tolerance=0.0, reached={'n': 2}, upper=None)
    >>> at_most(0.5, math.inf).verdict
    'undecided'
    """
    if _are_rational(value, bound):
        return Case(_slack(bound, value, bound), tolerance, reached)
    bound = require_double("bound", bound)
    return Case((bound - _largest("value", value)) / _size(bound), tolerance, reached)


def at_least(value, bound, /, tolerance=0.0, **reached):
    """Case for min(value) ≥ bound, with the slack relative to the bound.

    Examples
    --------
    >>> at_least(0.5, 1.0).verdict
    'refuted'
    """
    if _are_rational(value, bound):
        return Case(_slack(value, bound, bound), tolerance, reached)
    bound = require_double("bound", bound)
    return Case((_smallest("value", value) - bound) / _size(bound), tolerance, reached)


def within(value, low, high, /, tolerance=0.0, **reached):
    """Case for low ≤ value ≤ high; the worse of the two relative slacks.

    Examples
    --------
    >>> within(2.0, 1.0, 4.0).margin
    0.5
    """
    if not _are_rational(value, low, high):
        low, high = require_double("low", low), require_double("high", high)
    slacks = (at_least(value, low).margin, at_most(value, high).margin)
    return Case(math.nan if any(map(math.isnan, slacks)) else min(slacks), tolerance, reached)


def equal(value, wanted, /, tolerance=0.0, **reached):
    """Case for value = wanted: minus the largest difference relative to the largest wanted entry.

    Where all wanted entries are 0 the difference itself counts.

    Examples
    --------
    >>> equal(1.0, 2.0).margin
    -0.5
    """
    value, wanted = _signed("value", value), _signed("wanted", wanted)
    if _are_rational(value, wanted):
        return Case(-abs(_slack(value, wanted, wanted, "value, wanted")), tolerance, reached, equality=True)
    shapes = [tuple(getattr(side, "shape", ())) for side in (value, wanted)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"value, wanted: shapes {shapes[0]} and {shapes[1]}, must be equal")
    if shapes[0]:
        common_namespace(value=value, wanted=wanted)
    size = _size(_largest("wanted", abs(wanted)))
    with quiet():  # ∞ − ∞ leaves the case undecided
        difference = abs(value - wanted)
    return Case(-_largest("value", difference) / size, tolerance, reached, equality=True)


def to_digits(value, wanted, number, /, **reached):
    """Case for a value that has these digits: off by at most half a unit in the last of so many significant ones.

    Examples
    --------
    >>> to_digits(0.12345, 0.123, 3).verdict, to_digits(0.12355, 0.123, 3).verdict
    ('holds', 'refuted')
    """
    value, wanted, number = (
        require_double("value", value),
        require_double("wanted", wanted),
        require_integer("number", number, least=1),
    )
    if not math.isfinite(wanted):
        raise ValueError(f"wanted = {wanted!r}: must be finite")
    if not wanted and math.isfinite(value):
        return equal(Fraction(value), 0, **reached)  # 0 has no digits: the value is 0 or it is not
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(wanted) or 1.0)) + 1 - number)
    return equal(value, wanted, half / _size(abs(wanted)) + ROUNDING, **reached)


def tex(number):
    """Return a number as LaTeX, by a power of ten.

    Examples
    --------
    >>> print(tex(1.3e-05), tex(0.001), tex(10**6), tex(10**100))
    1.3 \\cdot 10^{-5} 10^{-3} 10^6 10^{100}
    """
    if not math.isfinite(require_double("number", number)):
        raise ValueError(f"number = {number}: must be finite")
    top, bottom = map(Decimal, Fraction(str(number)).as_integer_ratio())
    digits, _, power = f"{(top / bottom).normalize():E}".partition("E")
    ten = f"10^{int(power)}" if 0 <= int(power) < 10 else f"10^{{{int(power)}}}"
    return ten if digits == "1" else rf"{digits} \cdot {ten}"


def _slack(larger, smaller, size, names="value, bound"):
    """Return by how much one number is the larger, relative to a size; nothing is rounded, and NumPy's do not wrap."""
    larger, smaller, size = (int(x) if isinstance(x, numbers.Integral) else x for x in (larger, smaller, size))
    slack = Fraction(larger - smaller) / _size(size)
    try:
        float(slack)  # it will be shown
    except OverflowError:
        raise ValueError(f"{names}: their difference is too large for a double") from None
    return slack


def _size(bound):
    """Return what a slack is relative to: the bound's size, or 1 where the bound is 0."""
    return abs(bound) or 1


def _are_rational(*values):
    """Return whether all are whole numbers or fractions, so that comparing them rounds nothing."""
    return all(isinstance(value, numbers.Rational) for value in values)


def _signed(name, value):
    """Return a number or an array with a sign: a real Python number as it is, NumPy's unsigned ones widened."""
    if isinstance(value, numbers.Real):
        require_double(name, value)
        return int(value) if isinstance(value, numbers.Integral) else value
    xp = common_namespace(**{name: value})
    if not all(value.shape):
        raise ValueError(f"{name}: shape {tuple(value.shape)}, must have at least one entry")
    return xp.astype(value, xp.int64) if xp.isdtype(value.dtype, "unsigned integer") else value


def _largest(name, value):
    """Return the largest entry of an array, or the number itself, as a Python float; NaN wins."""
    value = _signed(name, value)
    if not isinstance(value, numbers.Real):
        value = common_namespace(value=value).max(value)
    return require_double(name, value if isinstance(value, numbers.Real) else float(value))


def _smallest(name, value):
    """Return the smallest entry of an array, or the number itself, as a Python float; NaN wins."""
    return -_largest(name, -_signed(name, value))
