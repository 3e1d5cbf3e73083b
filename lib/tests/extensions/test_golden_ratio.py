"""The threshold of the mark against 60 digits."""

import math
from fractions import Fraction

import pytest

from attnsep.extensions import golden_ratio
from attnsep.paper import tokens
from lib.tests.digits import mp, number


@pytest.mark.parametrize("n", [2, 100, 65536, 10**300])
@pytest.mark.parametrize("a", ["0", "0.05", "0.61", "0.618", "0.7", "1.5"])
@pytest.mark.parametrize("beta", ["0", "0.125", 1, "2/3", "7"])
def test_weights_and_their_curve_at_any_temperature(n, a, beta):
    p, q = (1 / (1 + (n - 1) * mp.power(n, -number(beta) * e)) for e in (number(a) * (1 + number(a)), number(a)))
    found = tokens.weights(n, a, f"softmax:{beta}")
    for weight, wanted in zip(found, (p, q, 1 - p, 1 - q), strict=True):
        assert weight == pytest.approx(float(wanted), rel=1e-12) or wanted < mp.mpf(10) ** -40
    x = golden_ratio.collapsed(n, a, beta)
    assert x == pytest.approx(float((number(beta) * number(a) * (1 + number(a)) - 1) * mp.log(n)), rel=1e-14)
    assert 1 / (1 + math.exp(-(x - math.log1p(-1 / n)))) == pytest.approx(float(p), rel=1e-12)


@pytest.mark.parametrize("beta", [1e-12, 0.125, 0.7, 1, 3.0, 1e12, 1e300, 1.7e308])
def test_threshold_to_fifteen_digits(beta):
    b = mp.mpf(beta)
    assert (
        golden_ratio.threshold_strength(beta) == pytest.approx(float((mp.sqrt(1 + 4 / b) - 1) / 2), rel=4e-16)
        or b > 1e14
    )
    a = mp.mpf(golden_ratio.threshold_strength(beta))
    assert abs(a * (1 + a) * b - 1) < mp.mpf("1e-15")


def test_threshold_is_the_golden_ratio():
    assert golden_ratio.threshold_strength() == pytest.approx(float(1 / mp.phi), rel=2e-16)


def test_the_largest_factor_is_where_it_is_said_to_be():
    assert golden_ratio.collapsed(2, 1, Fraction(10**300 + 1, 2)) == pytest.approx(1e300 * math.log(2))
    with pytest.raises(ValueError, match=r"a, beta: beta \* a \* \(1 \+ a\) must be at most 10\^300"):
        golden_ratio.collapsed(2, 1, Fraction(10**300 + 2, 2))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: golden_ratio.collapsed(1, 0.5), "n = 1"),
        (lambda: golden_ratio.collapsed(5, -0.5), "a = -0.5"),
        (lambda: golden_ratio.collapsed(5, 0.5, -1), "beta = -1"),
        (lambda: golden_ratio.collapsed(5, "1e200"), "a, beta"),
        (lambda: golden_ratio.threshold_strength(0), "beta = 0"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()
