"""attnsep.ledger.framework meets drawn arguments: it is right about them, or refuses them by name."""

import json
import math
import numbers
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.ledger import framework, words
from attnsep.paper.network import relu
from lib.tests.fuzzing import fuzz, strict
from lib.tests.strategies import CLAIM, EVIDENCE, XP, some

TEXT = some("a b", "x")
CARD = {"mark": st.sampled_from(framework.MARKS), "source": TEXT, "statement": TEXT, "chapter": TEXT}


@fuzz(
    framework.Case,
    margin=some(0.0, -1.0, 1e300),
    tolerance=some(0.0, 1e-9),
    reached=some({}),
    upper=some(None, 2.0),
    kept={"reached"},
    passes_nan=True,
)
def test_a_case_has_a_verdict(result, **given):
    assert result.verdict in ("holds", "refuted", "undecided")


@fuzz(framework.Evidence.to_json, self=st.just(EVIDENCE))
def test_evidence_is_json(result, self):
    assert json.loads(json.dumps(result))["id"] == CLAIM.id


@fuzz(
    words.control_words,
    expect=some("holds", "refuted"),
    smallest_failing=some(None, 1, 1e-9),
    largest_passing=some(None, 0, 0.5),
)
def test_a_control_has_words(result, **given):
    assert result


@st.composite
def new_id(draw):
    return f"fuzz-{draw(st.integers(0, 10**9))}"


@fuzz(framework.definition, id=new_id(), **CARD)
def test_a_definition_has_its_id(result, **given):
    assert result.id == given["id"]


@fuzz(
    framework.claim,
    id=new_id(),
    **CARD,
    level=st.sampled_from(framework.CHECKED),
    control=TEXT,
    violations=some((1,), [0, 0.5]),
    tests=some((relu,), "its formula stands in the check"),
    assumes=some(""),
    uses=some(()),
    expect=some("holds", "refuted"),
)
def test_a_claim_leaves_its_function_as_it_is(result, **given):
    def cases(xp, *, broken):
        yield framework.at_most(broken or 0, 0)

    assert result(cases) is cases
    del framework.LEDGER[given["id"]]


@fuzz(framework.run, claim=some(CLAIM), xp=XP)
def test_a_run_is_as_expected(result, claim, xp):
    assert result.as_expected


@fuzz(framework.kept, claim=some(CLAIM), xp=XP)
def test_nothing_is_kept_unless_asked_for(result, claim, xp):
    assert result is None


@fuzz(framework.tex, number=st.one_of(st.floats(-1e300, 1e300), some(0, 10**14, Fraction(1, 3))))
def test_a_number_in_latex_has_all_its_digits(result, number):
    digits, _, power = result.rpartition("10^")
    value = float((digits.replace(r" \cdot ", "") or "1") + "e" + power.strip("{}"))
    assert math.isclose(value, float(number), rel_tol=1e-15)


@fuzz(framework.find, id=some("tensor-trick", "def-vec"))
def test_a_claim_is_found_by_its_id(result, id):
    assert result.id == id


@fuzz(framework.check, id=some("tensor-trick"))
def test_a_check_returns_nothing(result, id):
    assert result is None


@fuzz(
    framework.verify,
    ids=some(["tensor-trick"], [], "tensor-trick", ["x"], [1], 3, [None], [[]]),
    kept={"ids"},
    xp=XP,
    progress=some(False),
)
def test_every_claim_asked_for_is_run(result, ids, xp, progress):
    assert [item.claim.id for item in result] == [*ids]


def as_float(x):
    return np.asarray(x if np.ndim(x) == 0 else to_numpy(x), dtype=np.float64)


VALUE = st.one_of(st.floats(-1e3, 1e3), some(0, 1, np.array([0.5, 0.25]), strict(np.array([1.0]))))
TOLERANCE = some(0.0, 1e-9)


def comparable(*values):
    """Return the values as they are where all are exact, else as doubles."""
    exact = all(isinstance(value, numbers.Rational) for value in values)
    return [Fraction(int(x.numerator), int(x.denominator)) if exact else as_float(x) for x in values]


@fuzz(framework.at_most, value=VALUE, bound=some(1.0, 0, -2.5, 1e300), tolerance=TOLERANCE, passes_nan=True)
def test_at_most_holds_where_no_value_is_above_the_bound(result, value, bound, tolerance):
    value, bound = comparable(value, bound)
    assert (result.margin >= 0) == bool(abs(bound) < math.inf and np.all(value <= bound))


@fuzz(framework.at_least, value=VALUE, bound=some(1.0, 0, -2.5, 1e300), tolerance=TOLERANCE, passes_nan=True)
def test_at_least_holds_where_no_value_is_below_the_bound(result, value, bound, tolerance):
    value, bound = comparable(value, bound)
    assert (result.margin >= 0) == bool(abs(bound) < math.inf and np.all(value >= bound))


@fuzz(framework.within, value=VALUE, low=some(-1, 0.0), high=some(1, 2.5), tolerance=TOLERANCE, passes_nan=True)
def test_within_holds_where_every_value_is_inside(result, value, low, high, tolerance):
    value, low, high = comparable(value, low, high)
    finite = max(abs(low), abs(high)) < math.inf
    assert (result.margin >= 0) == bool(finite and np.all((value >= low) & (value <= high)))


@fuzz(
    framework.equal,
    value=some(1.0, 2, np.ones(2)),
    wanted=some(1.0, 0, np.ones(2)),
    tolerance=TOLERANCE,
    passes_nan=True,
)
def test_equal_holds_where_every_value_is_equal(result, value, wanted, tolerance):
    value, wanted = comparable(value, wanted)
    assert (result.margin >= 0) == bool(np.all(abs(wanted) < math.inf) and np.all(value == wanted))


@fuzz(
    framework.to_digits,
    value=st.floats(-1e3, 1e3),
    wanted=st.one_of(st.floats(-1e3, 1e3), some(0, 12.5)),
    number=some(1, 9),
    passes_nan=True,
)
def test_to_digits_holds_within_half_a_unit(result, value, wanted, number):
    value, wanted, number = float(value), float(wanted), int(number)  # small NumPy integers wrap around
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(wanted))) + 1 - number) if wanted else 0
    off = abs(value - wanted)
    if not math.isfinite(off) or abs(off - half) > 1e-9 * abs(wanted):  # nearer than that rounding decides
        assert (result.verdict == "holds") == (off <= half)


@fuzz(framework.generator, seed=some(0, 2500, 10**30))
def test_draws_lie_between_zero_and_one(result, seed):
    assert 0 <= result.random() < 1


@fuzz(framework.exactly, broken=some(None, 0.5, 10**30), kept={"broken"})
def test_an_amount_is_the_decimal_that_it_prints(result, broken):
    assert result == Fraction(str(broken or 0))


@fuzz(framework.alarm_sentence, alarms=some([], [1e-9, 0.0]), kept={"alarms"})
def test_alarms_are_a_sentence(result, alarms):
    assert result.endswith(".")
