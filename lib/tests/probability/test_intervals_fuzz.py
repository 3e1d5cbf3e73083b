"""attnsep.probability.intervals meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import sympy
from hypothesis import strategies as st

from attnsep.probability import intervals
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import some

EXACT = some(0, 1, "0.5", Fraction(-1, 3), "-2")
INTERVAL = some(
    intervals.interval(0, 1), intervals.interval("0.5", 2), intervals.interval(-1, "1e300"), intervals.interval(3)
)


@fuzz(intervals.exact_fraction, name=st.just("value"), value=EXACT, kept={"name"})
def test_a_fraction_is_exact(result, name, value):
    assert result == number(value)


@fuzz(intervals.interval, low=some(0, "-0.5", Fraction(-1, 3)), high=some(None, 0, 1, "2.5"))
def test_ends_are_ordered(result, low, high):
    assert result.low <= result.high


def contains(operation):
    def check(result, self):
        for end in (self.low, self.high):
            value = operation(float(end)) if float(end) > -1 else math.nan
            assert not float(result.high) < value * (1 - 1e-9) - 1e-9
            assert not float(result.low) > value * (1 + 1e-9) + 1e-9

    return check


def guarded(operation):
    def value(x):
        try:
            return operation(x)
        except (ValueError, OverflowError):
            return math.nan

    return value


for name in ("exp", "expm1", "log", "log1p"):
    test_intervals_contain_the_function = fuzz(getattr(intervals.Interval, name), self=INTERVAL)(
        contains(guarded(getattr(math, name)))
    )


def parabola(x):
    return x * x - x + "0.3"


@fuzz(
    intervals.certify,
    slack=st.just(parabola),
    box=some({"x": (0, 1)}, {"x": ("0.5", "0.5")}),
    most_boxes=some(64, 4096),
    kept={"slack"},
)
def test_a_parabola_is_certified_to_its_margin(result, slack, box, most_boxes):
    assert result.verdict in ("holds", "undecided")
    assert most_boxes < 64 or (result.verdict == "holds" and 0 <= result.margin <= 0.05 + 1e-12)


@fuzz(
    intervals.certify_from,
    n0=some(2, 3),
    slack=st.just(lambda n, x: n - x),
    growths=st.just([(lambda: intervals.interval(1), {})]),
    box=some({"x": (0, 1)}),
    most_boxes=some(64),
    kept={"box", "slack", "growths"},
    about_several=True,
)
def test_a_growing_slack_is_certified(result, n0, box, **given):
    assert result.verdict == "holds"


@fuzz(
    intervals.certify_identity,
    difference=st.just(sympy.Symbol("x") * 0),
    point=some({"x": 3}, {"x": "0.5"}),
    kept={"difference"},
)
def test_zero_is_certified(result, difference, point):
    assert result.verdict == "holds"
