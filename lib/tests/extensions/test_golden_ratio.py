"""The threshold of the mark against 60 digits."""

import math

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
