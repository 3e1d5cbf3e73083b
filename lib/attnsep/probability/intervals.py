"""Inequalities proved for whole boxes of real parameters, by interval arithmetic and branch and bound.

Every number is an interval with outward-rounded ends (arb numbers of python-flint, 256 bits), so whatever the function
says of an interval is true of every point in it.  There are three verdicts: a box may also be left undecided.
"""

import heapq
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from attnsep.checks import require_instance, require_integer, require_items, text_of
from attnsep.kinds import Exact

BITS = 256


MOST_BOXES = 4096


FAR = [2 ** (k * k) for k in range(1, 31)]  # times n0: where to look for a counter-example


NARROWER = [Fraction(1, 2**k) for k in range(91)] + [Fraction()]


def _flint():
    """Return python-flint, or say what is missing: the rest of the library runs without it."""
    try:
        import flint
    except ImportError as error:
        hint = 'pip install ".[certify]" in the folder of the book'
        raise ImportError(f"python-flint is missing, certificates need it: {hint}") from error
    return flint


def exact_fraction(name: str, value: Any) -> Fraction:
    """Return an int, Fraction or decimal string as a Fraction; a float is refused, it is not the decimal it shows.

    Examples
    --------
    >>> exact_fraction("a", "0.1")
    Fraction(1, 10)
    >>> exact_fraction("a", 0.1)
    Traceback (most recent call last):
    ...
    TypeError: a = 0.1: must be an int, a Fraction or a decimal string
    """
    if isinstance(value, bool) or not isinstance(value, (int, Fraction, str)):
        raise TypeError(f"{name} = {text_of(value)}: must be an int, a Fraction or a decimal string")
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name} = {text_of(value)}: must be an int, a Fraction or a decimal string") from None


def _shown_end(end):
    """Return a Fraction as text; Python refuses to print very long ones.

    Examples
    --------
    >>> _shown_end(Fraction(1, 3)), _shown_end(Fraction(10**5000))
    ('1/3', 'a number of more than 4300 digits')
    """
    try:
        return str(end)
    except ValueError:
        return text_of(end)


class Interval:
    """All reals from `low` to `high`; operations return intervals that contain every possible result.

    Parameters
    ----------
    low, high : arb
        Exact numbers, low ≤ high; infinite where nothing is known.

    Notes
    -----
    A ball (middle and radius), arb's own form, loses a sign that this form keeps: [0, 2] · [1, 3] is [0, 6] here and
    [−2, 6] as a ball.  Make intervals with `interval`.
    """

    __slots__ = ("high", "low")

    def __init__(self, low, high):
        # A NaN end, as from ∞ − ∞, means that nothing is known.
        self.low = -_flint().arb("inf") if low.is_nan() else low
        self.high = _flint().arb("inf") if high.is_nan() else high

    def __repr__(self):
        return f"[{float(self.low):.6g}, {float(self.high):.6g}]"

    def __add__(self, other: "Interval | Exact") -> "Interval":
        other = interval(other)
        return Interval((self.low + other.low).lower(), (self.high + other.high).upper())

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __sub__(self, other: "Interval | Exact") -> "Interval":
        return self + (-interval(other))

    def __mul__(self, other: "Interval | Exact") -> "Interval":
        other = interval(other)
        ends = [_product(x, y) for x in (self.low, self.high) for y in (other.low, other.high)]
        return Interval(min(end.lower() for end in ends), max(end.upper() for end in ends))

    def __truediv__(self, other: "Interval | Exact") -> "Interval":
        other = interval(other)
        if not (other.low > 0 or other.high < 0):
            return Interval(_flint().arb("nan"), _flint().arb("nan"))
        return self * Interval((1 / other.high).lower(), (1 / other.low).upper())

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: "Interval | Exact") -> "Interval":
        return interval(other) - self

    def __rtruediv__(self, other: "Interval | Exact") -> "Interval":
        return interval(other) / self

    def _increasing(self, name):
        """Return the interval between the values of an increasing function at the two ends."""
        low, high = getattr(self.low, name)(), getattr(self.high, name)()
        return Interval(low.lower(), high.upper())

    def exp(self) -> "Interval":
        """e^x."""
        return self._increasing("exp")

    def expm1(self) -> "Interval":
        """e^x − 1."""
        return self._increasing("expm1")

    def log(self) -> "Interval":
        """log x; nothing is known below where the interval reaches 0 or less."""
        return self._increasing("log")

    def log1p(self) -> "Interval":
        """log(1 + x)."""
        return self._increasing("log1p")


def _product(x, y):
    return _flint().arb(0) if x.is_zero() or y.is_zero() else x * y  # 0 · ∞ is 0: ∞ only says that no bound is known


def interval(low: Interval | Exact, high: Exact | None = None) -> Interval:
    """Return the interval from `low` to `high`, or the narrowest one around one number.

    Parameters
    ----------
    low, high : int, Fraction or str
        Exact ends; an Interval as `low` alone is returned as it is.

    Returns
    -------
    Interval

    Raises
    ------
    ValueError, TypeError
        If an end is a float or no number, or low > high.

    Examples
    --------
    >>> interval(0, 2) * interval(1, 3), interval(-1, 1) - interval(-1, 1)
    ([0, 6], [-2, 2])
    """
    if isinstance(low, Interval) and high is None:
        return low
    low = exact_fraction("low", low)
    high = low if high is None else exact_fraction("high", high)
    if low > high:
        raise ValueError(f"low = {_shown_end(low)}, high = {_shown_end(high)}: must satisfy low <= high")
    arb, fmpq = _flint().arb, _flint().fmpq
    ends = [arb(fmpq(end.numerator, end.denominator)) for end in (low, high)]
    return Interval(ends[0].lower(), ends[1].upper())


@dataclass(frozen=True)
class Certificate:
    """What was proved.

    Parameters
    ----------
    verdict : str
        ``holds``: slack ≥ 0 on the whole box.  ``refuted``: slack < 0 on all of `box`.  ``undecided``: neither.
    margin : float
        holds: a lower bound of the slack on the whole box.  refuted: an upper bound of it on `box`.
        undecided: a lower bound of it on `box`, the worst one left.
    boxes : int
        Number of boxes looked at.
    box : dict of str to (Fraction, Fraction), optional
        The counter-example box, or the worst undecided one.
    """

    verdict: str
    margin: float
    boxes: int
    box: dict[str, tuple[Fraction, Fraction]] | None = None


def certify(
    slack: Callable[..., Interval | Exact],
    box: Mapping[str, tuple[Exact, Exact]],
    *,
    most_boxes: int = MOST_BOXES,
) -> Certificate:
    """Prove or refute that slack ≥ 0 at every point of a box.

    Parameters
    ----------
    slack : callable
        Takes the box's parameters by name, as Interval, and returns an Interval.
    box : dict of str to (low, high)
        Ends as int, Fraction or str; equal ends are a point.
    most_boxes : int
        After so many boxes the answer is "undecided".

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError, TypeError
        If an end is no exact number, the slack does not take the box's parameters, or most_boxes < 1.

    Notes
    -----
    Branch and bound: the box with the least lower bound is looked at first.  Proved boxes are dropped; one whose
    middle point violates the inequality is narrowed around that point until the violation is proved on all of it;
    the others are halved across the side where that lifts the lower bounds most.

    Examples
    --------
    >>> certify(lambda x: x * x - x + "0.3", {"x": (0, 1)}).verdict
    'holds'
    >>> certify(lambda x: x * x - x + "0.2", {"x": (0, 1)}).verdict
    'refuted'
    >>> certify(lambda x: x * x - x + "0.25", {"x": (0, 1)}).verdict
    'undecided'
    """
    box, most_boxes = _exact_box(box), require_integer("most_boxes", most_boxes, least=1)
    _require_parameters(slack, box)
    with _flint().ctx.workprec(BITS):
        return _branch_and_bound(slack, box, most_boxes)


def _exact_box(box):
    found = {}
    for name, ends in require_instance("box", box, dict).items():
        found[name] = tuple(exact_fraction(f"box: {name}", end) for end in require_items(f"box: {name}", ends))
        if len(found[name]) != 2 or found[name][0] > found[name][1]:
            raise ValueError(f"box: {name} = {text_of(ends)}: must satisfy low <= high, and have no more ends")
    return found


def _require_parameters(slack, box, *first):
    """Raise a TypeError unless the function takes `first` and the box's parameters."""
    if not callable(slack):
        raise TypeError(f"slack = {text_of(slack)}: must be a function")
    try:
        inspect.signature(slack).bind(*first, **box)
    except TypeError as error:
        raise TypeError(f"box: {', '.join(box) or 'no parameter'} does not fit the function ({error})") from None
    except ValueError:
        raise TypeError(f"slack = {text_of(slack)}: must be a function that tells its parameters") from None


def _branch_and_bound(slack, box, most_boxes):
    order, seen = count(), 1
    heap = [_ranked(slack, box, order)]
    while True:
        bound, _, part, value = heapq.heappop(heap)
        if value.low >= 0:  # so is every other one, whose bound is no lower
            return Certificate("holds", bound, seen)
        middle = {name: ((low + high) / 2,) * 2 for name, (low, high) in part.items()}
        seen += 1
        if _value(slack, middle).high < 0:
            return _narrowed(slack, part, middle, seen)
        sides = [name for name, (low, high) in part.items() if low < high]
        if not sides or seen >= most_boxes:
            return Certificate("undecided", bound, seen, part)
        halves = [[_ranked(slack, piece, order) for piece in _halved(part, name)] for name in sides]
        seen += 2 * len(sides)
        for half in max(halves, key=lambda pair: sum(max(bound, -1e9) for bound, *_ in pair)):
            heapq.heappush(heap, half)


def _ranked(slack, box, order):
    """Return a box with its slack, so that the one with the least lower bound comes first."""
    value = _value(slack, box)
    return _double(value.low, -math.inf), next(order), box, value


def _double(end, towards):
    """Return an end as a double, rounded in this direction where it is none."""
    value = float(end)
    beyond = value > end if towards < 0 else value < end
    return math.nextafter(value, towards) if beyond else value


def _halved(box, name):
    low, high = box[name]
    middle = (low + high) / 2
    return box | {name: (low, middle)}, box | {name: (middle, high)}


def _value(slack, box):
    return interval(slack(**{name: interval(*ends) for name, ends in box.items()}))


def _narrowed(slack, part, point, seen):
    """Return a refutation on the largest of the boxes around the point, each half as wide as the one before."""
    for shrink in NARROWER:  # at the last one, the point itself, the violation is known
        ends = {
            name: (x - shrink * (x - part[name][0]), x + shrink * (part[name][1] - x)) for name, (x, _) in point.items()
        }
        value = _value(slack, ends)
        seen += 1
        if value.high < 0:
            break
    return Certificate("refuted", _double(value.high, math.inf), seen, ends)


def certify_from(n0, slack, growths, box, *, most_boxes=MOST_BOXES):
    """Prove or refute that slack ≥ 0 at every point of a box, for every whole n ≥ n0.

    Parameters
    ----------
    n0 : int
        Smallest n, at least 2.
    slack : callable
        As in `certify`, with n as its first argument.
    growths : sequence of (callable, box)
        Functions with this meaning, which is proved by hand and not here: where all of them are ≥ 0 on their boxes,
        the slack does not fall as n grows from n0 on.  A parameter u is 1/n, so its side must contain [0, 1/n0]; one
        that `box` has too must have at least the same side.
    box : dict
        As in `certify`.
    most_boxes : int
        As in `certify`, for each of its runs.

    Returns
    -------
    Certificate
        The margin is that at n0; a counter-example box has the whole number n.

    Raises
    ------
    ValueError, TypeError
        As in `certify`, or if n0 is no whole number of at least 2 or a growth's box is too small.

    Notes
    -----
    Branch and bound at n0, then for the growths.  Where those are not proved, single n up to n0 · 2^900 are tried for
    a counter-example; without one the answer is "undecided".

    Examples
    --------
    >>> slack = lambda n, a: n - 2 * a
    >>> certify_from(3, slack, [(lambda u: interval(1), {"u": (0, "1/3")})], {"a": (0, 1)}).verdict
    'holds'
    >>> certify_from(3, lambda n, a: 8 * a - n, [(lambda: interval(-1), {})], {"a": (1, 2)}).box["n"]
    (Fraction(48, 1), Fraction(48, 1))
    """
    n0 = require_integer("n0", n0, least=2)
    box = _exact_box(box)
    _require_parameters(slack, box, n0)
    needed = box | {"u": (0, Fraction(1, n0))}
    for _, over in growths:
        for name in over.keys() & needed.keys():
            _require_covered(name, over[name], needed[name])
    first = certify(lambda **point: slack(interval(n0), **point), box, most_boxes=most_boxes)
    if first.verdict == "refuted":
        return Certificate("refuted", first.margin, first.boxes, first.box | {"n": (Fraction(n0),) * 2})
    steps = [certify(growth, over, most_boxes=most_boxes) for growth, over in growths]
    boxes = first.boxes + sum(step.boxes for step in steps)
    if growths and {first.verdict, *(step.verdict for step in steps)} == {"holds"}:
        return Certificate("holds", first.margin, boxes)
    for n in (n0 * factor for factor in FAR):
        found = certify(lambda n=n, **point: slack(interval(n), **point), box, most_boxes=most_boxes)
        boxes += found.boxes
        if found.verdict == "refuted":
            return Certificate("refuted", found.margin, boxes, found.box | {"n": (Fraction(n),) * 2})
    return Certificate("undecided", min(first.margin, 0.0), boxes, first.box)


def _require_covered(name, side, needed):
    low, high = (exact_fraction(name, end) for end in side)
    least, largest = (exact_fraction(name, end) for end in needed)
    if not low <= least <= largest <= high:
        raise ValueError(f"{name} in [{low}, {high}]: the box of a growth must contain [{least}, {largest}]")


def certify_identity(difference, point):
    """Prove or refute that a SymPy expression is 0 for all values of its symbols.

    Parameters
    ----------
    difference : sympy expression
        Left side minus right side.
    point : dict of str to int, Fraction or str
        Values of all symbols, for a counter-example.

    Returns
    -------
    Certificate
        ``refuted`` if its value at the point, to 60 digits, is not 0; ``holds`` if SymPy turns the expression into 0.

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> certify_identity((x + 1) ** 2 - x**2 - 2 * x - 1, {"x": 3}).verdict
    'holds'
    >>> certify_identity((x + 1) ** 2 - x**2 - 1, {"x": 3}).verdict
    'refuted'
    """
    import sympy

    point = require_instance("point", point, dict)
    values = {name: exact_fraction(f"point: {name}", value) for name, value in point.items()}
    if missing := {x.name for x in difference.free_symbols} - values.keys():
        raise ValueError(f"point: must have a value of {', '.join(sorted(missing))}")
    numbers = {x: sympy.Rational(values[x.name].numerator, values[x.name].denominator) for x in difference.free_symbols}
    value = difference.subs(numbers).evalf(60)
    if abs(value) > sympy.Float("1e-40"):
        ends = {name: (value, value) for name, value in values.items()}
        return Certificate("refuted", -abs(float(value)), 1, ends)
    # Only what may be 0 is simplified: a refuted one with long rationals would take powers of their length.
    if sympy.simplify(difference) == 0:
        return Certificate("holds", 0.0, 1)
    return Certificate("undecided", math.nan, 1)
