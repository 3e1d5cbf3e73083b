"""Certificates against 60-digit values at random points of their boxes, computed from the definitions alone."""

import dataclasses
import math
import sys
from fractions import Fraction

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention.attend import query_scores, row_scores, values
from attnsep.attention.kernels import linear, softmax
from attnsep.claims.what_the_checks_prove import boxes, certified, finite_sizes
from attnsep.cli import main
from attnsep.extensions import any_readout, where_linear_wins
from attnsep.extensions.where_linear_wins import CountData
from attnsep.paper.one_query import QueryData
from attnsep.paper.tokens import TokenData
from attnsep.probability.intervals import Interval, certify, certify_from, certify_identity, exact_fraction, interval

flint = pytest.importorskip("flint")  # a machine that lends its GPU may lack both; nothing here needs a GPU
sympy = pytest.importorskip("sympy")
mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp.clone()
mp.dps = 60


def real(value):
    """A Fraction, int or decimal string at 60 digits."""
    value = Fraction(value)
    return mp.mpf(value.numerator) / value.denominator


def draw(rng, box):
    """A random rational point of a box; every fourth coordinate is an end of its side."""
    point = {}
    for name, (low, high) in box.items():
        low, high = Fraction(low), Fraction(high)
        share = Fraction(int(rng.integers(0, 2))) if rng.random() < 0.25 else Fraction(str(round(rng.random(), 12)))
        point[name] = low + share * (high - low)
    return point


def ends(x):
    """The ends of an Interval at 60 digits; they are binary numbers, so nothing is rounded."""
    return [mp.ldexp(int(m), int(e)) for m, e in (x.low.man_exp(), x.high.man_exp())]


# Interval arithmetic


@pytest.mark.slow
def test_operations_contain_the_true_values(rng):
    operations = {
        "add": (lambda x, y: x + y, lambda x, y: x + y),
        "subtract": (lambda x, y: x - y, lambda x, y: x - y),
        "multiply": (lambda x, y: x * y, lambda x, y: x * y),
        "divide": (lambda x, y: x / (3 + y), lambda x, y: x / (3 + y)),
        "divide by negative": (lambda x, y: 1 / (y - 3), lambda x, y: 1 / (y - 3)),
        "exp": (lambda x, y: (x * y).exp(), lambda x, y: mp.exp(x * y)),
        "expm1": (lambda x, y: x.expm1(), lambda x, y: mp.expm1(x)),
        "log": (lambda x, y: (3 + x).log(), lambda x, y: mp.log(3 + x)),
        "log1p": (lambda x, y: (2 + y).log1p(), lambda x, y: mp.log1p(2 + y)),
        "mixed": (lambda x, y: "0.5" - x * Fraction(1, 3) + 2 * y, lambda x, y: real("0.5") - x / 3 + 2 * y),
    }
    flint.ctx.prec = 53  # so that a rounding in the wrong direction is larger than 10^-55; the fixture resets it
    for _ in range(60):
        box = {name: sorted(Fraction(int(k), 60) for k in rng.integers(-128, 129, 2)) for name in ("x", "y")}
        x, y = (interval(*side) for side in box.values())
        for name, (ours, theirs) in operations.items():
            low, high = ends(ours(x, y))
            for _ in range(5):
                value = theirs(*(real(v) for v in draw(rng, box).values()))
                assert low - mp.mpf(10) ** -55 <= value <= high + mp.mpf(10) ** -55, name


def test_intervals_are_tight():
    for x, wanted in (
        (interval(0, 2) * interval(1, 3), (0, 6)),  # as balls: [−2, 6]
        (interval(-1, 2) * interval(-3, 1), (-6, 3)),
        (interval(1, 2) / interval(2, 4), (0.25, 1)),
        (-interval(1, 2), (-2, -1)),
        (interval("0.5", "0.5") - interval(0, 1), (-0.5, 0.5)),
    ):
        assert (float(x.low), float(x.high)) == wanted


def test_nothing_is_known_where_a_function_is_not_defined():
    for x in (interval(1) / interval(-1, 1), interval(1) / interval(0, 1), interval(-1, 1).log(), interval(-2).log1p()):
        assert not x.low > -(10**300)
    for divisor in (interval(-1, 0), interval(-1, "0.5")):
        assert not (interval(1) / divisor).high < 10**300
    assert float(interval(0, 1).log().high) == 0
    unknown = interval(1) / interval(0, 1)
    assert float((unknown * 0).low) == float((unknown * 0).high) == 0
    assert not (unknown - unknown).low > -(10**300)


def test_a_decimal_is_not_the_double_next_to_it():
    tenth = interval("0.1")
    low, high = (Fraction(int(m)) * Fraction(2) ** int(e) for m, e in (tenth.low.man_exp(), tenth.high.man_exp()))
    assert low < Fraction("0.1") < high < Fraction(0.1)
    assert isinstance(tenth, Interval)


# Verdicts


def test_a_true_inequality_holds_with_a_true_margin(rng):
    box = {"x": (0, 1), "y": ("-0.5", "0.5")}
    found = certify(lambda x, y: (x * y).exp() - x * y - "0.9", box)
    assert found.verdict == "holds"
    assert found.box is None
    assert found.boxes > 1
    assert 0 <= found.margin <= 0.1
    for _ in range(200):
        x, y = (real(v) for v in draw(rng, box).values())
        assert mp.exp(x * y) - x * y - real("0.9") >= found.margin


@pytest.mark.parametrize("height", ["0.2499999", "0.24", "0", "-3"])
def test_a_false_inequality_gets_a_box_on_which_it_is_false(rng, height):
    found = certify(lambda x, y: x * x - x + height + 0 * y, {"x": (0, 1), "y": (2, 5)})
    assert found.verdict == "refuted"
    assert found.margin < 0
    assert all(low < high for low, high in found.box.values())
    for _ in range(50):
        x = real(draw(rng, found.box)["x"])
        assert x * x - x + real(height) <= found.margin * (1 - 1e-15) < 0


def test_the_counter_example_may_be_a_single_point():
    found = certify(lambda x: x - 1, {"x": ("0.5", "0.5")})
    assert found.box == {"x": (Fraction(1, 2), Fraction(1, 2))}
    assert certify(lambda: interval(-1), {}).verdict == "refuted"


def test_equality_in_the_middle_is_undecided_and_factored_out_it_is_not():
    box = {"x": (0, 1)}
    assert certify(lambda x: x * x - x + "0.25", box, most_boxes=500).verdict == "undecided"
    assert certify(lambda x: x - x * x, box, most_boxes=500).verdict == "undecided"
    assert certify(lambda x: x * (1 - x), box).verdict == "holds"


def test_an_undecided_answer_shows_the_worst_box():
    found = certify(lambda x: x * x - x + "0.25", {"x": (0, 1)}, most_boxes=100)
    (low, high) = found.box["x"]
    assert Fraction("0.4") < low < high < Fraction("0.6")
    assert -0.1 < found.margin < 0
    assert certify(lambda x: x - x, {"x": ("1/3", "1/3")}).verdict == "undecided"  # a point cannot be halved


def test_what_is_not_defined_is_never_proved():
    assert certify(lambda x: 1 / x, {"x": (-1, 1)}, most_boxes=200).verdict != "holds"
    assert certify(lambda x: x.log() + 100, {"x": (0, 1)}, most_boxes=200).verdict != "holds"
    assert certify(lambda x: (x - 2).log(), {"x": (0, 1)}, most_boxes=50).verdict == "undecided"


def test_margins_are_rounded_to_the_safe_side():
    for number in ("0.1", "0.7", "1/3"):
        assert Fraction(certify(lambda x=number: interval(x), {}).margin) <= Fraction(number)
        assert Fraction(certify(lambda x=number: interval("-" + x), {}).margin) >= -Fraction(number)


def test_a_margin_that_a_double_holds_is_not_moved():
    assert certify(lambda: interval("0.25"), {}).margin == 0.25
    assert certify(lambda: interval("-0.25"), {}).margin == -0.25


def narrow_enough(width):
    """A slack of 1 on boxes that are at most so wide on each side, of which nothing is known otherwise."""

    def slack(**sides):
        known = all((side.high - side.low) <= width for side in sides.values())
        return interval(1) if known else interval(-1, 1)

    return slack


def test_every_box_looked_at_is_counted():
    """The box, its middle, two halves for each side; then the same for what is left."""
    one, two = {"x": (0, 1)}, {"x": (0, 1), "y": (0, 1)}
    assert certify(narrow_enough(1), one).boxes == 1
    assert certify(narrow_enough(0.5), one).boxes == 1 + 1 + 2
    assert certify(narrow_enough(0.5), two).boxes == 1 + 1 + 4 + 2 * (1 + 4)
    assert certify(lambda x: interval(-1, 1), {"x": (1, 1)}).boxes == 1 + 1  # a point cannot be halved
    assert certify(narrow_enough(0.5), one, most_boxes=2).boxes == 2
    assert certify(narrow_enough(0.5), one, most_boxes=1).verdict == "undecided"
    assert certify(narrow_enough(0.5), one, most_boxes=3).verdict == "holds"


def test_the_side_is_halved_that_lifts_both_lower_bounds_most():
    """Halving y proves one half at a stroke and gains nothing on the other; halving x gains on both."""

    def slack(x, y):
        if y.high <= 0.5:
            return interval(5)
        if x.high - x.low <= 0.5:
            return interval(0, 1)
        return interval(-9, 1)

    assert certify(slack, {"x": (0, 1), "y": (0, 1)}).boxes == 1 + 1 + 4


def test_a_counter_example_is_the_first_box_on_which_the_violation_is_proved():
    whole = certify(lambda x: interval(-1), {"x": (0, 1)})
    assert (whole.boxes, whole.margin, whole.box) == (3, -1, {"x": (0, 1)})
    found = certify(lambda x: -x, {"x": (0, 1)})  # 0 at an end of the whole box, which is no violation
    assert (found.boxes, found.margin, found.box["x"]) == (4, -0.25, (Fraction(1, 4), Fraction(3, 4)))
    single = certify(lambda x: interval(-1) if x.low == x.high else interval(-1, 1), {"x": (0, 1)})
    assert single.box["x"] == (Fraction(1, 2), Fraction(1, 2))
    assert certify(lambda: interval(-1, 0), {}).verdict == "undecided"


def test_certificates_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        certify(lambda: interval(1), {}).verdict = "refuted"


def test_an_undecided_margin_is_never_above_0():
    """At n0 the slack is 1; that it stays there is not proved."""
    flat, unknown = [(lambda: interval(-1, 1), {})], {}
    assert certify_from(2, lambda n: interval(1), flat, unknown).margin == 0
    assert certify_from(2, lambda n: interval(-3, 1), flat, unknown).margin == -3


def test_a_growth_may_be_over_a_point():
    found = certify_from(3, lambda n, a: n - a, [(lambda a: a, {"a": (1, 1)})], {"a": (1, 1)})
    assert (found.verdict, found.margin) == ("holds", 2)
    falls = certify_from(3, lambda n, a: a - n, [(lambda a: -a, {"a": (1, 1)})], {"a": (4, 4)} | {"a": (1, 1)})
    assert falls.box["n"] == (3, 3)
    second = certify_from(3, lambda n: 5 - n, [(lambda: interval(-1), {})], {})
    assert second.box["n"] == (6, 6)


def test_from_some_n_on():
    box = {"a": (1, 2)}
    rising = [(lambda u: 1 - u, {"u": (0, Fraction(1, 4))})]
    found = certify_from(4, lambda n, a: n - 2 * a + 1, rising, box)
    assert (found.verdict, found.margin, found.boxes) == ("holds", 1.0, 2)
    false_at_first = certify_from(4, lambda n, a: n - 4 * a, rising, box)
    assert false_at_first.verdict == "refuted"
    assert false_at_first.box["n"] == (4, 4)
    falls_later = certify_from(4, lambda n, a: 10**6 * a - n, [(lambda: interval(-1), {})], box)
    n, _ = falls_later.box["n"]
    assert falls_later.verdict == "refuted"
    assert n.denominator == 1
    assert n > 10**6 * falls_later.box["a"][1]
    assert certify_from(4, lambda n, a: n - 2 * a, [(lambda: interval(-1), {})], box).verdict == "undecided"
    assert certify_from(4, lambda n, a: n - 2 * a, [], box).verdict == "undecided"


def test_sums_keep_more_digits_than_a_double():
    flint.ctx.prec = 53  # as outside the tests; the fixture resets it
    assert certify(lambda x: x + 10**30 - 10**30, {"x": (1, 2)}).margin == 1


def test_of_a_logarithm_that_does_not_exist_nothing_is_known():
    found = interval(-2, -1).log()
    assert (float(found.low), float(found.high)) == (-math.inf, math.inf)


def wavy(a):
    """Above 0 for every a, but seen only from small boxes."""
    return a * a - a + "0.3"


@pytest.mark.parametrize("most_boxes", [1, 9, 4096])
def test_each_run_of_a_certificate_for_every_n_has_the_boxes_that_are_allowed(most_boxes):
    one = {"a": (0, 1)}
    alone = certify(wavy, one, most_boxes=most_boxes)
    assert (alone.verdict == "holds") == (most_boxes == 4096)
    by_first = certify_from(2, lambda n, a: wavy(a), [(lambda: interval(1), {})], one, most_boxes=most_boxes)
    by_growth = certify_from(2, lambda n: interval(1), [(wavy, one)], {}, most_boxes=most_boxes)
    assert by_first.verdict == by_growth.verdict == alone.verdict
    later = certify_from(2, lambda n, a: (n - 2) * wavy(a), [(lambda: interval(-1), {})], one, most_boxes=most_boxes)
    first, growth = certify(lambda a: interval(0), one), certify(lambda: interval(-1), {})
    far = [certify(lambda a, n=2 * 2 ** (k * k): (n - 2) * wavy(a), one, most_boxes=most_boxes) for k in range(1, 31)]
    assert later.boxes == first.boxes + growth.boxes + sum(found.boxes for found in far)


def test_an_identity_names_the_symbols_without_a_value_in_order():
    with pytest.raises(ValueError, match=r"^point: must have a value of a, b, c, d$"):
        certify_identity(sum(sympy.symbols("d b c a x")), {"x": 1})


def test_identities():
    x, y = sympy.symbols("x y", positive=True)
    right = certify_identity((x + y) ** 2 - x**2 - 2 * x * y - y**2, {"x": 1, "y": 2})
    assert (right.verdict, right.margin, right.boxes) == ("holds", 0, 1)
    wrong = certify_identity(
        sympy.exp(x) * sympy.exp(y) - sympy.exp(x + y) - sympy.Rational(1, 10**9), {"x": 1, "y": 2}
    )
    assert wrong.verdict == "refuted"
    assert wrong.margin == pytest.approx(-1e-9)
    assert wrong.boxes == 1
    assert wrong.box == {"x": (1, 1), "y": (2, 2)}
    unknown = certify_identity(x * (x - 1), {"x": 1})  # 0 at the point alone
    assert (unknown.verdict, math.isnan(unknown.margin), unknown.boxes) == ("undecided", True, 1)
    small = certify_identity(x - 1 - sympy.Rational(1, 10**30), {"x": 1})
    assert small.verdict == "refuted"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: exact_fraction("a", 0.1), TypeError, "a = 0.1: must be an int, a Fraction or a decimal string"),
        (lambda: exact_fraction("a", True), TypeError, "a = True"),
        (lambda: exact_fraction("a", "x"), ValueError, "a = 'x'"),
        (lambda: exact_fraction("a", "nan"), ValueError, "a = 'nan'"),
        (lambda: exact_fraction("a", "1/0"), ValueError, "a = '1/0'"),
        (lambda: interval(2, 1), ValueError, "low = 2, high = 1"),
        (lambda: interval(0.5), TypeError, "low = 0.5"),
        (lambda: interval(1) + 0.5, TypeError, "low = 0.5"),
        (lambda: certify(lambda a: a, {"a": (0, 0.5)}), TypeError, "a = 0.5"),
        (lambda: certify(lambda a: a, {"a": (1, 0)}), ValueError, "box: a = (1, 0): must satisfy low <= high"),
        (lambda: certify(lambda a: a, {"a": (0, 1, 2)}), ValueError, "box: a = (0, 1, 2): must satisfy low <= high"),
        (lambda: certify(lambda a: a, {"a": (0, 1)}, most_boxes=0), ValueError, "most_boxes = 0"),
        (lambda: certify(lambda a: a, {}), TypeError, "box: no parameter does not fit the function (missing"),
        (lambda: certify(lambda a: a, {"a": (0, 1), "b": (0, 1)}), TypeError, "box: a, b does not fit the function"),
        (lambda: certify(dict, {"a": (0, 1)}), TypeError, "must be a function that tells its parameters"),
        (lambda: certify(3, {}), TypeError, "slack = 3: must be a function"),
        (lambda: certify_from(2, lambda n, a: n, [], {}), TypeError, "box: no parameter does not fit the function"),
        (lambda: certify_from(1, lambda n: n, [], {}), ValueError, "n0 = 1"),
        (lambda: certify_from(2.5, lambda n: n, [], {}), TypeError, "n0 = 2.5"),
        (
            lambda: certify_from(4, lambda n: n, [(lambda u: u, {"u": (0, "0.2")})], {}),
            ValueError,
            "must contain [0, 1/4]",
        ),
        (
            lambda: certify_from(4, lambda n, a: n, [(lambda a: a, {"a": (0, 1)})], {"a": (0, 2)}),
            ValueError,
            "a in [0, 1]",
        ),
        (lambda: certify_identity(sympy.Symbol("x"), {"x": 0.5}), TypeError, "x = 0.5"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)


def test_without_python_flint_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[certify\]" in the folder of the book'):
        certify(lambda a: a, {"a": (0, 1)})


def test_the_command_line_says_so_too(nothing_set, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "flint", None)
    assert main(["verify", "certified-flat-weights"]) == 2
    assert "python-flint is missing" in capsys.readouterr().err


# The claims' slacks, against the definitions


def shares(u):
    return [x / mp.fsum(u) for x in u]


def number(x):
    """The middle of a narrow Interval."""
    low, high = ends(x)
    assert high - low < mp.mpf(10) ** -40
    return (low + high) / 2


def at(slack, **point):
    return number(slack(**{name: interval(value) for name, value in point.items()}))


def close(x, y):
    return abs(x - y) <= mp.mpf(10) ** -30 * (1 + abs(y))


@pytest.fixture(autouse=True)
def precise():
    with flint.ctx.workprec(256):
        yield


def test_flat_slacks_are_what_they_say(rng):
    for _ in range(20):
        n, e = int(rng.integers(2, 30)), Fraction(int(rng.integers(0, 3)), 10)
        log_r = draw(rng, {"log_r": (0, 5)})["log_r"]
        r, one = mp.exp(real(log_r)), mp.mpf(1)
        top = shares([one] * (n - 1) + [r * mp.exp(real(e))])
        low = shares([one, r * mp.exp(real(e))] + [r] * (n - 2))
        u = Fraction(1, n)
        assert close(
            at(lambda log_r, u, e=e: certified.flat_above(log_r, u, e), log_r=log_r, u=u), mp.log(r / n / max(top))
        )
        assert close(
            at(lambda log_r, u, e=e: certified.flat_below(log_r, u, e), log_r=log_r, u=u), mp.log(min(low) * r * n)
        )
        inside = shares([mp.exp(real(log_r) * real(str(round(x, 9)))) for x in rng.random(n)])
        assert max(inside) <= max(shares([one] * (n - 1) + [r]))
        assert 1 / (r * n) <= min(inside)
        assert max(inside) <= r / n


def test_factor_two_slacks_are_what_they_say(rng):
    for _ in range(20):
        n, r = int(rng.integers(2, 30)), draw(rng, {"r": (1, 3)})["r"]
        u = Fraction(1, n)
        assert close(
            at(certified.two_above, r=r, u=u), (mp.mpf(2) / n - real(r) / (real(r) + n - 1)) * (real(r) + n - 1)
        )
        low = 1 + (n - 1) * real(r)
        assert close(at(certified.two_below, r=r, u=u), (1 / low - mp.mpf(1) / (2 * n)) * 2 * low)


def test_spike_slacks_are_what_they_say(rng):
    for _ in range(20):
        n, e = int(rng.integers(2, 30)), Fraction(int(rng.integers(0, 3)), 10)
        point = draw(rng, {"low": ("0.1", 1), "gap": (0, 1), "kappa": (1, 4)})
        low, high, kappa, L = real(point["low"]), real(point["low"] + point["gap"]), real(point["kappa"]), mp.log(n)
        v = [kappa * L, high + real(e)] + [low] * (n - 2)
        f = shares([mp.exp(x) for x in v])
        y = Fraction(str(mp.nstr(mp.power(n, 1 - kappa), 50)))
        found = at(
            lambda e=e, **p: certified.spike_others(p["low"], p["gap"], p["y"], p["u"], e),
            low=point["low"],
            gap=point["gap"],
            y=y,
            u=Fraction(1, n),
        )
        assert close(found, mp.log(mp.exp(high) * mp.power(n, -kappa) / f[1]))
        total = (n - 1) * low + kappa * L
        inverse = Fraction(str(mp.nstr(1 / total, 50)))
        found = at(
            lambda e=e, **p: certified.linear_others(p["low"], p["gap"], p["inverse"], e),
            low=point["low"],
            gap=point["gap"],
            inverse=inverse,
        )
        assert close(found, mp.log(high / total / shares(v)[1]))
        assert inverse <= 2


def test_norm_slacks_are_what_they_say(rng):
    for _ in range(20):
        n, e = int(rng.integers(2, 30)), Fraction(int(rng.integers(0, 3)), 10)
        k, s = int(rng.integers(0, n + 1)), draw(rng, {"s": (0, 19)})["s"]
        r, x = 1 + s, Fraction(k, n)
        u = [real(1)] * (n - k) + [real(r * (1 + e))] * k
        norm = mp.fsum(w * w for w in shares(u))
        found = at(lambda e=e, **p: certified.column_norm(p["s"], p["x"], e), s=s, x=x)
        assert close(found, (real(r) / n - norm) * n * (mp.fsum(u) / n) ** 2)
        k = int(rng.integers(0, n))
        mu = draw(rng, {"mu": ("0.01", 28)})["mu"]
        v = [real(mu * (n - 1))] + [real(1 - e)] * (n - 1 - k) + [real(1 + s)] * k
        total, ours = real((n - 1) * (1 + mu)), mp.fsum(w * w for w in shares(v))
        bound = (real(mu * (n - 1)) / total) ** 2 + (n - 1) * (real(1 + s) / total) ** 2
        found = at(
            lambda e=e, **p: certified.spiked_norm(p["n"], p["s"], p["x"], p["mu"], e),
            n=n,
            s=s,
            x=Fraction(k, n - 1),
            mu=mu,
        )
        assert close(found, (bound - ours) * total**2 * mp.fsum(v) ** 2 / mp.mpf(n - 1) ** 3)
        assert e or ours <= bound


def marked_weight(n, a, exponent):
    R = mp.power(n, exponent(a))
    return R / (R + n - 1)


def own(a):
    return a * (1 + a)


def test_the_mark_is_seen_for_every_n(rng):
    for _ in range(200):
        n = int(rng.integers(2, 12)) if rng.random() < 0.5 else int(10 ** rng.uniform(1, 17))
        a = real(draw(rng, {"a": ("0.7", "1.5" if rng.random() < 0.8 else 1000)})["a"])
        p = marked_weight(n, a, own)
        assert p >= real("0.627")
        assert a * p > real("0.1")
        assert (marked_weight(n, real("0.6181"), own) > mp.mpf(n) / (2 * n - 1)) == (n >= 2)
        assert marked_weight(n, real("0.618"), own) < mp.mpf(n) / (2 * n - 1)


def test_log_odds_slacks_are_what_they_say(rng):
    def odds(x):
        return mp.log(x / (1 - x))

    for _ in range(20):
        n, a = int(rng.integers(2, 10**6)), draw(rng, {"a": ("0.7", "1.5")})["a"]
        p = marked_weight(n, real(a), own)
        assert close(at(certified.mark_is_seen, n=n, a=a), odds(p) - odds(real("0.1") / real(a)))
        assert close(at(lambda n, a: certified.weight_at_least(n, a, "0.627"), n=n, a=a), odds(p) - odds(real("0.627")))


def test_growths_are_the_derivatives(rng):
    def log_odds(L, a):
        return a * (1 + a) * L - mp.log(mp.exp(L) - 1)

    for _ in range(10):
        n, a = int(rng.integers(3, 10**6)), draw(rng, {"a": (0, "1.5")})["a"]
        found = at(certified.weight_growth, a=a, u=Fraction(1, n))
        assert abs(found - mp.diff(lambda L, a=a: log_odds(L, real(a)), mp.log(n))) < 1e-20
        t = int(rng.integers(1, 1 + n // 2))
        falls = mp.diff(lambda L, t=t: mp.log(t * (mp.exp(L) - t) / (mp.exp(L) - 1) ** 2), mp.log(n))
        assert abs(at(lambda u, t=t: finite_sizes.norm_falls(t, u), u=Fraction(1, n)) + falls) < 1e-20
        point = draw(rng, {"s": (0, 19), "x": (0, 1), "mu": (0, 28)})
        found = at(certified.spiked_norm_growth, **point)
        step = [at(certified.spiked_norm, n=k, **point) for k in (n, n + 1)]
        assert close(found, step[1] - step[0])


def class_bound(n, t, a, c, w):
    """(0.1 − a w)²/(2 b² Q_w), with the class weights added up token by token."""
    classes = [mp.mpf(0)] * (n // t)
    for token in range(n):
        classes[token % (n // t)] += w if token == 0 else (1 - w) / (n - 1)
    return (real("0.1") - a * w) ** 2 / (2 * (1 - c) ** 2 * mp.fsum(x * x for x in classes))


def main_theorem_errors(n, t, m, a0, a1, c):
    def of(a, w):
        return mp.exp(-class_bound(n, t, a, c, w)) if a * w < real("0.1") else mp.mpf(1)

    silent = real("7/8") ** m if a1 * marked_weight(n, a1, own) > real("0.1") else mp.mpf(1)
    softmax_d0 = m * (of(a0, marked_weight(n, a0, own)) + of(a0, marked_weight(n, a0, lambda a: a)))
    return silent, softmax_d0, *(m * of(a, (1 + a) / (n + a)) for a in (a0, a1))


MAIN = [row for row in finite_sizes._main_rows() if row.what.startswith("D_0, D_1")]


@pytest.mark.slow
@pytest.mark.parametrize("row", MAIN[:2] + MAIN[3:4], ids=lambda row: row.what)
def test_main_theorem_sizes_at_random_points(rng, row):
    delta, m, t = row.what.split(" ≤ ")[1].replace("m = ", "").replace("t = ", "").split(", ")
    delta, m, t = real(delta), int(m), int(t)
    for k in range(6):
        n = row.n0 if k < 3 else row.n0 + t * int(rng.integers(0, 1000 // t))
        point = {
            name: real(v)
            for name, v in draw(rng, {"a0": (0, "0.1"), "a1": ("0.7", "1.5"), "c": ("0.05", "0.95")}).items()
        }
        assert max(main_theorem_errors(n, t, m, **point)) <= delta
    corner = {"a0": real("0.1"), "a1": real("1.5"), "c": real("0.05")}
    assert max(main_theorem_errors(row.n0, t, m, **corner)) <= delta
    assert max(main_theorem_errors(row.n0 - t, t, m, **corner)) > delta


@pytest.mark.parametrize(
    "row",
    [
        *finite_sizes._weights_rows(),
        *finite_sizes._query_rows(),
        *finite_sizes._main_rows(),
        *finite_sizes._counting_rows(),
    ],
    ids=lambda r: r.what,
)
def test_the_worst_point_turns_at_n0_and_lies_in_the_box(row):
    """A point outside the box of an inequality must not count against it."""
    verdicts = [{found.verdict for found in row.before(n).values()} for n in (row.n0 - row.step, row.n0)]
    assert "refuted" in verdicts[0]
    assert verdicts[1] == {"holds"}


def test_a_first_n_that_is_one_too_large_or_too_small_is_noticed():
    row = finite_sizes._main_rows()[0]
    for shift, wanted in ((0, "holds"), (1, "undecided"), (-1, "refuted")):
        moved = dataclasses.replace(row, n0=row.n0 + shift)
        verdicts = {case.verdict for case in moved.cases()}
        assert wanted in verdicts
        assert (verdicts == {"holds"}) == (shift == 0)


def test_single_errors_change_sides_at_their_n():
    a0, a1, c, m, delta = real("0.1"), real("1.5"), real("0.05"), 18, real("0.1")
    for number_of_error, n0 in ((1, 1068), (2, 940), (3, 1013)):
        below, there = (main_theorem_errors(n, 1, m, a0, a1, c)[number_of_error] for n in (n0 - 1, n0))
        assert there <= delta < below


def query_errors(n, m, low, high, kappa):
    L = mp.log(n)
    marked = 1 / (1 + (n - 1) * mp.exp(high) * mp.power(n, -kappa))
    total = kappa * L + (n - 1) * low
    norm = (kappa * L / total) ** 2 + (n - 1) * (high / total) ** 2
    silent = mp.mpf(2) ** -m if 2 * marked - 1 > real("0.5") else mp.mpf(1)
    return silent, *(m * mp.exp(-real("0.125") / x) for x in (mp.exp(high - low) / n, high / low / n, norm))


def test_query_sizes_at_random_points(rng):
    for row, (delta, m) in zip(finite_sizes._query_rows(), (("0.1", 4), ("0.01", 7), ("0.001", 10)), strict=True):
        for k in range(20):
            n = row.n0 if k < 10 else row.n0 + int(10 ** rng.uniform(0, 12))
            point = draw(rng, {"low": ("0.1", 1), "ratio": (1, 2), "kappa": ("1.5", 4)})
            low = real(point["low"])
            assert max(query_errors(n, m, low, low * real(point["ratio"]), real(point["kappa"]))) <= real(delta)
        corner = (real("0.1"), real("0.2"), mp.mpf(4))
        assert max(query_errors(row.n0, m, *corner)) <= real(delta) < max(query_errors(row.n0 - 1, m, *corner))


def test_weight_sizes_at_random_points(rng):
    def spike(n, high, kappa):
        return 1 / (1 + (n - 1) * mp.exp(high) * mp.power(n, -kappa))

    def linear_spike(n, low, kappa):
        return kappa * mp.log(n) / (kappa * mp.log(n) + (n - 1) * low)

    def p(n, a):
        return marked_weight(n, a, own)

    def p_lin(n, a):
        return (1 + a) / (n + a)

    checks = {
        "f_exp": (spike, {"high": ("0.1", 2), "kappa": ("1.5", 4)}, {"high": 2, "kappa": "1.5"}),
        "f_lin": (linear_spike, {"low": ("0.1", 1), "kappa": ("1.5", 4)}, {"low": "0.1", "kappa": 4}),
        "p ≥ ": (p, {"a": ("0.7", "1.5")}, {"a": "0.7"}),
        "p ≤ ": (p, {"a": (0, "0.1")}, {"a": "0.1"}),
        "p_lin": (p_lin, {"a": (0, "1.5")}, {"a": "1.5"}),
    }
    for row in finite_sizes._weights_rows():
        weight, box, worst = next(check for start, check in checks.items() if row.what.startswith(start))
        if "a ≥ 0.65" in row.what:
            box, worst = {"a": ("0.65", "1.5")}, {"a": "0.65"}
        if "a ≤ 0.6" in row.what:
            box, worst = {"a": (0, "0.6")}, {"a": "0.6"}
        if "h ≤ 1" in row.what:
            box, worst = {"high": ("0.1", 1), "kappa": ("1.5", 4)}, {"high": 1, "kappa": "1.5"}
        sign, constant = (1 if "≥" in row.what else -1), real(row.what.split()[2])
        for k in range(20):
            n = row.n0 + (0 if k < 10 else int(10 ** rng.uniform(0, 17)))
            values = {name: real(v) for name, v in draw(rng, box).items()}
            assert sign * (weight(n, **values) - constant) >= 0, row.what
        at_worst = {name: real(v) for name, v in worst.items()}
        assert sign * (weight(row.n0 - 1, **at_worst) - constant) < 0 <= sign * (weight(row.n0, **at_worst) - constant)


def test_the_largest_first_n_in_whole_numbers():
    """p ≤ 0.1 at a = 0.6 if and only if n − 1 ≥ 9 n^0.96, that is (n − 1)^25 ≥ 9^25 n^24."""
    (row,) = (row for row in finite_sizes._weights_rows() if row.what == "p ≤ 0.1 for a ≤ 0.6")
    assert [(n - 1) ** 25 >= 9**25 * n**24 for n in (row.n0 - 1, row.n0)] == [False, True]


def test_a_half_is_not_monotone_in_n():
    """f_exp,j ≥ 1/2 at h = 1, κ = 1.5: true at n = 2, false at 3 and 4, true from 5 on."""
    found = [(n - 1) * math.e <= n**1.5 for n in range(2, 9)]
    assert found == [True, False, False, True, True, True, True]


def test_counter_examples_of_the_controls_are_real(rng):
    e = Fraction(1, 2)
    found = certify(lambda log_r, u: certified.flat_above(log_r, u, e), {"log_r": (0, 5), "u": (0, Fraction(1, 2))})
    for _ in range(20):
        point = draw(rng, found.box)
        r, u = mp.exp(real(point["log_r"])), real(point["u"])
        if u:
            assert r * mp.exp(real(e)) * u / (1 + (r * mp.exp(real(e)) - 1) * u) > r * u
    found = certify(lambda r, u: (2 - r) + 2 * u * (r - 1), {"r": (1, Fraction(5, 2)), "u": (0, Fraction(1, 2))})
    for _ in range(20):
        point = draw(rng, found.box)
        r, u = real(point["r"]), real(point["u"])
        assert r / (1 + (r - 1) * u) > 2
    found = certify(lambda s, x: certified.column_norm(s, x, e), {"s": (0, 19), "x": (0, 1)})
    for _ in range(20):
        s, x = (real(v) for v in draw(rng, found.box).values())
        top = (1 + s) * real(1 + e)
        assert (1 - x + x * top**2) / (1 - x + x * top) ** 2 > 1 + s
    box = {"a": ("0.6", "1.5")}
    found = certify_from(
        7,
        lambda n, a: certified.weight_at_least(n, a, "0.627"),
        [(certified.weight_growth, box | {"u": certified.over(7)})],
        box,
    )
    n = int(found.box["n"][0])
    for _ in range(20):
        assert marked_weight(n, real(draw(rng, {"a": found.box["a"]})["a"]), own) < real("0.627")


# Matrices that attain the extrema


def test_matrices_attain_the_extrema(rng):
    for n, low, high in ((2, 0.5, 1.5), (7, 0.2, 0.9), (300, 1.0, 1.6)):
        for kernel, r in ((softmax, math.exp(high - low)), (linear, high / low)):
            for fill, wanted in (("one-high", r / (r + n - 1)), ("one-low", 1 / (1 + (n - 1) * r))):
                data = QueryData(n=n, low=low, high=high)
                f = to_numpy(kernel(query_scores(*data.matrix(rng, scores=data.scores(rng, fill=fill), xp=np))))
                assert f[-1] == pytest.approx(wanted, rel=1e-12)
        data = QueryData(n=n, low=low, high=high, spike=1.5)
        L, total = math.log(n), (n - 1) * low + 1.5 * math.log(n)
        for kernel, fill, marked, other in (
            (softmax, "high", 1 / (1 + (n - 1) * math.exp(high) * n**-1.5), None),
            (linear, "low", 1.5 * L / total, None),
            (softmax, "one-high", None, math.exp(high) / (n**1.5 + math.exp(high) + (n - 2) * math.exp(low))),
            (linear, "one-high", None, high / (total + high - low)),
        ):
            f = to_numpy(kernel(query_scores(*data.matrix(rng, scores=data.scores(rng, fill=fill), xp=np))))
            assert f[0 if other is None else -1] == pytest.approx(marked or other, rel=1e-12)


def test_a_matrix_attains_the_largest_norm(rng):
    """r = 2 and n = 3: one large score gives n ‖f‖² = (1 + r)²/(4r) = 9/8, the largest of all."""
    data = QueryData(n=3, low=1.0, high=1.0 + math.log(2))
    f = to_numpy(softmax(query_scores(*data.matrix(rng, scores=data.scores(rng, fill="one-high"), xp=np))))
    assert 3 * np.sum(f**2) == pytest.approx(9 / 8, rel=1e-12)
    x = np.linspace(0, 1, 1001)
    assert np.max((1 - x + 4 * x) / (1 + x) ** 2) <= 9 / 8


@pytest.mark.slow
def test_the_table_of_finite_sizes():
    table = finite_sizes.finite_sizes()
    assert len(table.rows) == 28
    assert {row[2] for row in table.rows} == {"holds"}
    assert all(row[3].startswith("false at ") for row in table.rows)
    firsts = {row[0]: row[1] for row in table.rows}
    assert firsts["D_0, D_1: all bounds ≤ 0.1, m = 18, t = 1"] == 1068


def test_the_other_parameters_of_a_growth_cover_every_n():
    """L/n falls from n = 3 on, 1/L < 1 there, and 2/L < 1 from n = 8 on; μ is largest at n = 2."""
    for row in finite_sizes._query_rows():
        (wide,) = (over for _, growths, _ in row.parts(row.n0) for _, over in growths if "y" in over)
        assert row.n0 >= 8
        assert math.log(row.n0) / row.n0 <= float(wide["y"][1]) <= math.log(row.n0) / row.n0 + 1e-5
        assert (wide["k"][0], wide["k"][1]) == (1, 40)
    assert all(row.n0 >= 3 for row in finite_sizes._weights_rows() if row.what.startswith("f_lin"))
    assert max(40 * math.log(n) / (n - 1) for n in range(2, 100)) < 28


def test_one_column_less_is_not_enough():
    for parts, n0 in (
        (finite_sizes._main_theorem("0.1", 17, 1), 1068),
        (finite_sizes._query_separates("0.1", 3), 1325),
    ):
        assert "refuted" in {certify_from(n0, *part).verdict for part in parts(n0)}


def test_all_four_errors_are_in_the_rows():
    A0, A1, c = (tuple(map(Fraction, side)) for side in (certified.A0, certified.A1, certified.C_BOX))
    for row in MAIN:
        boxes = [{x: tuple(map(Fraction, side)) for x, side in box.items()} for _, _, box in row.parts(row.n0)]
        assert boxes == [{"a": A1}, {}, {"a": A0, "c": c}, {"a": A0, "c": c}, {"a": A1, "c": c}]
    for row in finite_sizes._query_rows():
        assert [sorted(box) for _, _, box in row.parts(row.n0)] == [
            ["high", "kappa"],
            [],
            ["low", "ratio"],
            ["ratio"],
            ["kappa", "low", "ratio"],
        ]


def decimals(x):
    return Fraction(mp.nstr(x, 58))


def test_no_growth_is_larger_than_the_derivative_of_its_slack(rng):
    """In log n, by differences; the rows about D_0 and D_1 have growths of another kind."""
    step = Fraction(1, 10**12)
    for row in (*finite_sizes._weights_rows(), *finite_sizes._query_rows(), *finite_sizes._counting_rows()):
        for slack, ((growth, over),), box in row.parts(row.n0):
            for n in (row.n0, row.n0 + 1, 10 * row.n0, 10**6 * row.n0):
                point = draw(rng, box)
                L = mp.log(n)
                known = point | {"u": Fraction(1, n), "v": decimals(1 / L), "y": decimals(L / n)}
                known |= {"k": point["kappa"] / point["low"]} if "kappa" in point and "low" in point else {}
                ends = [at(slack, n=n * (1 + sign * step), **point) for sign in (1, -1)]
                slope = (ends[0] - ends[1]) / (2 * real(step))
                assert at(growth, **{name: known[name] for name in over}) <= slope * (1 + 1e-9) + 1e-15, row.what


def test_weights_fall_as_their_growth_says(rng):
    for row in MAIN:
        for k, (_, growths, box) in enumerate(row.parts(row.n0)[2:]):
            (falls, over), (norm, _) = growths
            assert set(over) == {"a", "u"}
            a, n = draw(rng, box)["a"], row.n0 + int(rng.integers(0, 1000))
            exponent = real(a * (1 + a)) if k == 0 else 0  # softmax first, then linear attention on D_0 and D_1
            slope = mp.diff(lambda L, e=exponent: e * L - mp.log(mp.exp(L) - 1), mp.log(n))
            assert abs(at(falls, a=a, u=Fraction(1, n)) + slope) < 1e-20
            assert at(norm, u=Fraction(1, n)) > 0


# Claims of other chapters on a box


def class_weights(n, t, w):
    """The marked token has w, every other one (1 − w)/(n − 1); added up token by token, its own class first."""
    classes = [mp.mpf(0)] * (n // t)
    for token in range(n):
        classes[token % (n // t)] += w if token == 0 else (1 - w) / (n - 1)
    return classes


def row_over_root(n, t, a, b, w):
    """An output row over √L without its last entry, which is c on both sides."""
    return [a * w, *(b * x for x in class_weights(n, t, w))]


def some_size(rng, most=40):
    """n and t, t a divisor of n."""
    n = int(rng.integers(2, most))
    return n, int(rng.choice([k for k in range(1, n + 1) if n % k == 0]))


def test_the_exponential_amplifies_outside_a_small_region(rng):
    for _ in range(60):
        n = int(rng.integers(3, 12)) if rng.random() < 0.5 else int(10 ** rng.uniform(1, 17))
        a = Fraction(str(round(10 ** rng.uniform(-6, 3), 9)))
        assert mp.power(n, own(real(a))) > 1 + real(a)
        found = at(boxes.amplifies, n=n, a=a)
        assert close(found, (own(real(a)) * mp.log(n) - mp.log1p(real(a))) / real(a))
        low, high = (real(draw(rng, {"a": side})["a"]) for side in (("0.000001", "0.2746"), ("0.2747", 1000)))
        assert mp.power(2, own(low)) < 1 + low
        assert mp.power(2, own(high)) > 1 + high
    assert ends(boxes.chord(interval(0))) == [1, 1]
    wide = ends(boxes.chord(interval(0, 1)))
    assert wide[1] == 1
    assert abs(wide[0] - mp.log(2)) < 1e-50


def test_a_matrix_of_two_tokens_that_the_exponential_does_not_amplify(rng):
    for a, amplifies in (("0.27", False), ("0.28", True)):
        data = TokenData(n=2, d=3, a=a, c="0.5")
        A = data.matrix(np)
        (soft, _), (lin, _) = (to_numpy(kernel(row_scores(A, A, data.X(np)))) for kernel in (softmax, linear))
        assert (soft[0] / soft[1] > lin[0] / lin[1]) == amplifies


def test_the_mark_is_hidden_on_d0(rng):
    for _ in range(60):
        n = int(rng.integers(2, 12)) if rng.random() < 0.5 else int(10 ** rng.uniform(1, 17))
        a = draw(rng, {"a": (0, "0.1")})["a"]
        x = real(a)
        in_rows = [marked_weight(n, x, own), marked_weight(n, x, lambda a: a), (1 + x) / (n + x)]
        assert max(x * w for w in in_rows) <= real("0.0524")
        assert close(at(lambda n, a: boxes.weight(n, a * (1 + a)), n=n, a=a), in_rows[0])
        assert close(at(boxes.linear_weight, n=n, a=a), in_rows[2])
        a = draw(rng, {"a": (0, "1.5")})["a"]
        assert (a * (1 + a) / (n + a) < Fraction(1, 10)) == (n > 9 * a + 10 * a * a)
        assert n < 37 or a * (1 + a) / (n + a) < Fraction(1, 10)
    data = TokenData(n=2, d=3, a="0.1", c="0.5")
    A = data.matrix(np)
    f = to_numpy(linear(row_scores(A, A, data.X(np))))
    assert 0.1 * f[0, 0] == pytest.approx(0.1 * 1.1 / 2.1, rel=1e-12)
    assert 0.0523 < 0.1 * f[0, 0] <= 0.0524


def test_no_score_vector_has_a_larger_norm(rng):
    for _ in range(60):
        n, r = int(rng.integers(2, 30)), 1 + 10 ** rng.uniform(-3, 2)
        u = [mp.mpf(1 + (r - 1) * x) for x in rng.choice([0, 1, *rng.random(3)], n)]
        assert n * mp.fsum(f * f for f in shares(u)) <= (1 + mp.mpf(r)) ** 2 / (4 * mp.mpf(r))
    for r, k, n in ((2, 1, 3), (4, 2, 10), (9, 1, 10)):  # x = k/n = 1/(1 + r)
        u = [mp.mpf(r)] * k + [mp.mpf(1)] * (n - k)
        assert close(n * mp.fsum(f * f for f in shares(u)), mp.mpf((1 + r) ** 2) / (4 * r))


def strengths(rng):
    n, t = some_size(rng)
    point = draw(rng, {"low": (0, 20), "step": ("0.001", 20), "b": ("0.01", "0.99")})
    return n, t, point | {"x": Fraction(t, n), "u": Fraction(1, n)}


def both_rows(n, t, point):
    a0, a1, b = real(point["low"]), real(point["low"] + point["step"]), real(point["b"])
    return [row_over_root(n, t, a, b, (1 + a) / (n + a)) for a in (a0, a1)]


def test_linear_attention_fades_at_random_points(rng):
    for _ in range(30):
        n, t, point = strengths(rng)
        step, b = real(point["step"]), real(point["b"])
        a0, a1 = real(point["low"]), real(point["low"]) + step
        squared = n * mp.fsum((y - x) ** 2 for x, y in zip(*both_rows(n, t, point), strict=True))
        D = step * mp.sqrt(((1 + a0 + a1) ** 2 + b * b) / n)
        assert step * step / n <= squared * (1 + mp.mpf(10) ** -50)
        assert squared <= D * D
        scale = ((1 + a0 / n) * (1 + a1 / n)) ** 2
        assert close(at(boxes.fades_above, **point), (D * D - squared) * n * scale)
        assert close(at(boxes.fades_below, **point), (squared * n / step**2 - 1) * scale)
        root, s = mp.sqrt(mp.log(n)), mp.mpf(10 ** rng.uniform(-2, 2))
        accuracy = (1 + mp.erf(mp.sqrt(squared) * root / (2 * mp.sqrt(2) * s))) / 2
        assert accuracy <= mp.mpf(1) / 2 + D * root / (2 * mp.sqrt(2 * mp.pi) * s)


def test_matrices_have_the_certified_distance_and_change(rng):
    """Δ, and the largest change of a pre-activation, which (1, 1, −1, …, −1, ·) attains."""
    for (n, d), a0, a1, c in (((6, 5), "0.1", "0.7", "0.5"), ((12, 8), "0", "3", "0.2"), ((4, 3), "2", "5", "0.9")):
        M = []
        for a in (a0, a1):
            data = TokenData(n=n, d=d, a=a, c=c)
            A = data.matrix(np)
            M.append(to_numpy(values(A, A, A, data.X(np), "linear")) / math.sqrt(data.log_n))
        t = n // (d - 2)
        point = {"low": Fraction(a0), "step": Fraction(a1) - Fraction(a0), "b": 1 - Fraction(c)}
        exact = point | {"x": Fraction(t, n), "u": Fraction(1, n)}
        low, high, b = (float(Fraction(x)) for x in (a0, a1, point["b"]))
        scale = (1 + low / n) * (1 + high / n)
        above, close_by = (float(at(slack, **exact)) for slack in (boxes.fades_above, boxes.close_enough))
        bound = (high - low) ** 2 * ((1 + low + high) ** 2 + b * b) / n
        assert np.sum((M[1] - M[0]) ** 2) == pytest.approx(bound - above / n / scale**2, rel=1e-9)
        change = np.abs((M[1] - M[0])[0] @ np.array([*np.ndindex(*[2] * d)]).T * 2 - np.sum((M[1] - M[0])[0]))
        largest = (high - low) * (1 + low + high + 2 * b) / n - close_by / n / scale
        assert np.max(change) == pytest.approx(largest, rel=1e-9)
        y = np.array([1, 1, *[-1] * (d - 3), 1])
        assert (M[1] - M[0])[0] @ y == pytest.approx(largest, rel=1e-9)


def test_preactivations_are_close_at_random_points(rng):
    for _ in range(30):
        n, t, point = strengths(rng)
        a0, step, b = (real(point[name]) for name in ("low", "step", "b"))
        largest = mp.fsum(abs(y - x) for x, y in zip(*both_rows(n, t, point), strict=True))
        bound = step * (1 + 2 * a0 + step + 2 * b) / n
        assert largest <= bound
        scale = (1 + a0 / n) * (1 + (a0 + step) / n)
        assert close(at(boxes.close_enough, **point), (bound - largest) * n * scale)


def test_marked_rows_are_apart_at_random_points(rng):
    for _ in range(60):
        n, t = some_size(rng)
        point = draw(rng, {"low": (0, "0.1"), "high": ("0.7", 3 if rng.random() < 0.8 else 1000), "b": (0, 1)})
        a0, a1, b = (real(x) for x in point.values())
        rows = [row_over_root(n, t, a, b, marked_weight(n, a, own)) for a in (a0, a1)]
        apart = mp.sqrt(mp.fsum((y - x) ** 2 for x, y in zip(*rows, strict=True)))
        assert apart >= real("0.416")
        first = at(boxes.first_entries, n=n, low=point["low"], high=point["high"])
        assert close(first, rows[1][0] - rows[0][0])
        root, s = mp.sqrt(mp.log(n)), mp.mpf(10 ** rng.uniform(-2, 2))
        error = mp.erfc(apart * root / (2 * mp.sqrt(2) * s)) / 2
        assert error <= mp.power(n, -real("0.0216") / s**2) / 2


def test_a_matrix_attains_the_least_distance_of_marked_rows(rng):
    rows = []
    for a in ("0.1", "0.7"):
        data = TokenData(n=4, d=3, a=a, c="0.5")
        A = data.matrix(np)
        rows.append(to_numpy(values(A, A, A, data.X(np), "softmax"))[data.marked] / math.sqrt(data.log_n))
    assert 0.416 <= np.linalg.norm(rows[1] - rows[0]) < 0.4162
    found = any_readout.distances(4, 3, "0.1", "0.7", "0.5", "softmax").marked / math.sqrt(math.log(4))
    assert found == pytest.approx(np.linalg.norm(rows[1] - rows[0]), rel=1e-12)


def test_the_window_of_gains_at_random_points(rng):
    for _ in range(60):
        a = Fraction(str(round(10 ** rng.uniform(-6, 3), 9)))
        K, g = where_linear_wins.critical_gain(a), where_linear_wins.midpoint(a)
        assert Fraction(3, 5) < K / (1 + a) < 1
        assert K / 3 < 1 + a < 3 * K
        x = a / (1 + a)
        assert close(at(boxes.below_one, x=x), real(1 - K / (1 + a)))
        assert close(at(boxes.above_three_fifths, x=x), real(K / (1 + a) - Fraction(3, 5)))
        R, share = Fraction(str(round(10 ** rng.uniform(-3, 3), 9))), Fraction(int(rng.integers(1, 100)), 100)
        mass, side = share * R / (share * R + 1 - share), K * (1 - share) / share
        assert mass - g / a == share * (1 - g / a) * (R - side) / (share * R + 1 - share)
        assert (a * mass > g) == (side < R)
        a, n = max(a, Fraction("0.647")), int(rng.integers(4, 10**6))
        assert mp.power(n, own(real(a))) > 3 * real(where_linear_wins.critical_gain(a))
        found = at(boxes.above_the_window, n=n, a=a)
        assert close(found, mp.log(mp.power(n, own(real(a))) / (3 * real(where_linear_wins.critical_gain(a)))))


def test_a_matrix_whose_softmax_row_lies_above_the_window():
    """At n = 4 one quarter is one token; its own row counts it for more than half of what the threshold asks."""
    for a, above in (("0.647", True), ("0.64", False)):
        data = CountData(n=4, d=3, a=a, c="0.5", share="0.25")
        A = data.matrix(np)
        row = to_numpy(values(A, A, A, data.X(np), "softmax"))[0] / math.sqrt(data.log_n)
        assert (row[0] > float(data.gap)) == above


def robust_errors(n, t, m, a0, a1, c, gap):
    def of(a, w):
        norm = mp.fsum(x * x for x in class_weights(n, t, w))
        return mp.exp(-((gap - a * w) ** 2) / (2 * (1 - c) ** 2 * norm)) if a * w < gap else mp.mpf(1)

    silent = real("7/8") ** m if a1 * marked_weight(n, a1, own) > gap else mp.mpf(1)
    on_d0 = m * (of(a0, marked_weight(n, a0, own)) + of(a0, marked_weight(n, a0, lambda a: a)))
    return silent, on_d0, *(m * of(a, (1 + a) / (n + a)) for a in (a0, a1))


@pytest.mark.slow
def test_the_robust_region_at_random_points(rng):
    sides = {"a0": (0, "0.1"), "a1": ("0.65", 2), "c": ("0.4", "0.99"), "gap": ("0.08", "0.4")}
    for _ in range(8):
        d, t = 1200 + int(rng.integers(0, 30)), int(rng.integers(1, 4))
        point = {name: real(x) for name, x in draw(rng, sides).items()}
        assert max(robust_errors((d - 2) * t, t, int(rng.integers(35, 101)), **point)) <= real("0.01")
    corner = {"a0": real("0.1"), "a1": mp.mpf(2), "c": real("0.4"), "gap": real("0.08")}
    assert real("0.008") < max(robust_errors(1198, 1, 100, **corner)) <= real("0.01")
    assert max(robust_errors(1198, 1, 100, **corner | {"gap": real("0.079")})) > real("0.01")


def test_robust_slacks_are_what_they_say(rng):
    for _ in range(20):
        n, t = some_size(rng)
        point = draw(rng, {"a": (0, 2), "b": (0, "0.6"), "gap": ("0.08", "0.4"), "m": (35, 100)})
        a, b, gap, m = (real(x) for x in point.values())
        for kind, w in ((True, (1 + a) / (n + a)), (False, marked_weight(n, a, own))):
            v = mp.mpf(t) / n
            squared = mp.fsum(x * x for x in class_weights(n, t, w))
            extra = (w - mp.mpf(1) / n) / (1 - mp.mpf(1) / n)
            assert close(squared, v + (1 - v) * extra**2)
            assert 0 <= extra <= w
            found = at(lambda kind=kind, **p: boxes.silent(**p, linear=kind), n=n, v=Fraction(t, n), **point)
            needed = 2 * b * b * (v + (1 - v) * w * w) * mp.log((1 if kind else 2) * 100 * m)
            assert close(found, (gap - a * w) ** 2 - needed)
            found = at(lambda kind=kind, **p: boxes.free(**p, linear=kind), n=n, a=point["a"], gap=point["gap"])
            assert close(found, gap - a * w)
        a, p = Fraction("0.65") + point["a"], marked_weight(n, real(Fraction("0.65") + point["a"]), own)
        odds = mp.log(p / (1 - p)) - mp.log(gap / real(a) / (1 - gap / real(a)))
        assert close(at(certified.mark_is_seen, n=n, a=a, gap=point["gap"]), odds)


def test_counting_sizes_at_random_points(rng):
    for row, (delta, m, width) in zip(finite_sizes._counting_rows(), finite_sizes.COUNTING, strict=True):

        def missed(d, a, c, m=m):
            masses = [share * (1 + a) / (1 + share * a) for share in (mp.mpf(1) / 4, mp.mpf(3) / 4)]
            return m * mp.exp(-((a * (masses[1] - masses[0]) / 2) ** 2) * (d - 2) / (2 * (1 - c) ** 2))

        assert row.n0 == 4 * (width - 2)
        assert real("7/8") ** m <= real(delta)
        for k in range(20):
            point = {name: real(x) for name, x in draw(rng, {"a": ("0.7", "1.5"), "c": ("0.05", "0.95")}).items()}
            assert missed(width + (0 if k < 10 else int(rng.integers(0, 1000))), **point) <= real(delta)
        corner = {"a": real("0.7"), "c": real("0.05")}
        assert missed(width, **corner) <= real(delta) < missed(width - 1, **corner)
