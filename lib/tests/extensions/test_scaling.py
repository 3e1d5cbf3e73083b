"""The laws far out against 60 digits, all sign vectors and the closed forms at large sizes."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import namespace
from attnsep.attention.attend import values
from attnsep.extensions import scaling
from attnsep.paper import gains, tokens
from attnsep.paper.tokens import TokenData
from lib.tests.digits import mp, number


def test_temperature_is_in_the_firing_probabilities():
    for beta, a in product((Fraction(1, 4), 2), (0.3, 1.1)):
        rows = [number(beta) * e for e in (number(a) * (1 + number(a)), number(a))]
        fired = 0
        for y in product((1, -1), repeat=6):
            for e in rows:
                w = 1 / (1 + 7 * mp.power(8, -e))
                r = (1 - w) / 7
                own, others = w + r, 2 * r
                if number(a) * w * y[0] + mp.mpf("0.4") * (own * y[1] + others * sum(y[2:5])) > number("0.1") + (
                    mp.mpf("0.6") * (1 - y[5])
                ):
                    fired += 1
                    break
        assert tokens.law(8, 6, a, "0.6", f"softmax:{beta}").column_probability() == fired / 64
        m = tokens.law(8, 6, a, "0.6", f"softmax:{beta}").fires(3)
        assert m == pytest.approx(1 - (1 - fired / 64) ** 3, rel=1e-12)


def test_linear_attention_takes_no_temperature():
    with pytest.raises(ValueError, match="kernel = 'linear:5': must be linear"):
        gains.gains(8, 0.3, "linear:5")


@pytest.mark.parametrize(("a", "c"), [("0.7", "0.5"), ("0.7", "0.9"), ("0.55", "0.5"), ("2", "0.3"), ("1", "0.05")])
def test_column_limit_counts_patterns(a, c):
    a, c = Fraction(a), Fraction(c)
    sums = [a * y + (1 - c) * k + c * z for y, k, z in product((1, -1), repeat=3)]
    assert scaling.column_limit(a, c) == Fraction(sum(s > c + Fraction(1, 10) for s in sums), 8)
    assert scaling.column_limit(a, c, "0.33") == Fraction(sum(s > c + Fraction(33, 100) for s in sums), 8)


@pytest.mark.parametrize("d", [3, 4, 6, 9])
@pytest.mark.parametrize("a", ["0", "0.05", "0.5", "0.7", "1", "1.5"])
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_width_limit_is_the_enumeration_of_all_signs(d, a, kernel):
    a, c, k = Fraction(a), Fraction("0.53"), d - 2
    ws = {"linear": {0}, "softmax": {int(a * (1 + a) > 1), Fraction(1, 2) if a == 1 else int(a > 1)}}[kernel]
    fired = 0
    for y in product((1, -1), repeat=d):
        own = [w * (a * y[0] + (1 - c) * y[1]) + (1 - w) * (1 - c) * Fraction(sum(y[1:-1]), k) for w in ws]
        fired += any(value > Fraction(1, 10) + c * (1 - y[-1]) for value in own)
    assert scaling.width_limit(d, a, c, kernel) == fired / 2**d
    assert scaling.width_limit(d, a, c, kernel, gap=5) == 0  # no sum of a row reaches 5
    assert tokens.law(k * 10**290, d, a, c, kernel).column_probability() == pytest.approx(fired / 2**d, rel=1e-12)


def test_accuracies_have_the_gap_that_they_are_given():
    silent, softmax, linear, fired = tokens.errors(4, 4, 1, 0, 1, "0.5", gap="0.3")
    found = scaling.accuracies(4, 4, 1, 0, 1, "0.5", gap="0.3")
    assert found == (1 - (silent + softmax) / 2, 0.5 + (fired - linear) / 2)
    assert found != scaling.accuracies(4, 4, 1, 0, 1, "0.5")


@pytest.mark.parametrize("x", [0, 1e-9, 0.125, 0.2, 0.5, 0.999999, 1])
def test_sign_rate(x):
    z = mp.mpf(x)
    wanted = ((1 + z) * mp.log(1 + z) + ((1 - z) * mp.log(1 - z) if x < 1 else 0)) / 2
    assert scaling.sign_rate(x) == pytest.approx(float(wanted), rel=1e-9, abs=1e-24 if x else 0)
    assert scaling.sign_rate(x) >= x**2 / 2 * (1 - 1e-9) - 1e-24


def test_accuracies_are_counted(rng):
    """Answers of matrices: 4000 columns, m = 1."""
    n, d, c = 24, 14, 0.53
    y = rng.choice([-1.0, 1.0], (d, 4000))
    found = scaling.accuracies(n, d, 1, 0.05, 0.8, c)
    for kernel, accuracy in zip(tokens.KERNELS, found, strict=True):
        right = []
        for a in (0.05, 0.8):
            data = TokenData(n=n, d=d, a=a, c=c)
            A = data.matrix(namespace("numpy"))
            fired = np.max(values(A, A, A, data.X(namespace("numpy")), kernel) @ y, axis=0) > data.tau
            right.append(np.mean(fired == (a == 0.8)))
        assert abs(np.mean(right) - accuracy) < 6 * 0.5 / math.sqrt(8000)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: scaling.column_limit(0.7, 1), "c = 1"),
        (lambda: scaling.column_limit(0.7, 0.5, 0), "gap = 0"),
        (lambda: scaling.column_limit("0.6", "0.5"), "a = 0.6, c = 0.5, gap = 0.1: a pattern of signs attains the gap"),
        (lambda: scaling.width_limit(2, 0.05, 0.5), "d = 2"),
        (lambda: scaling.width_limit(10**300, 0.05, 0.5), r"d = 10+ … 0+ .*: must be at most 10\^9"),
        (lambda: scaling.width_limit(5, 0.05, 0.5, "cosine"), "kernel = 'cosine'"),
        (lambda: scaling.width_limit(12, 0.05, 0.5), "d = 12: in the limit a row ties"),
        (lambda: scaling.sign_rate(1.1), "x = 1.1"),
        (lambda: scaling.accuracies(7, 5, 1, 0.05, 0.7, 0.5), "n = 7, d = 5"),
        (lambda: tokens.weights(5, 0.5, "softmax:-1"), "kernel = .softmax:-1.: beta = .-1.: must be at least 0"),
        (lambda: tokens.law(6, 5, 0.5, 0.5, "softmax:hot").column_probability(), "beta = .hot."),
        (lambda: tokens.law(6, 5, 0.5, 0.5, "softmax:inf").fires(1), "beta = .inf."),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(("d", "a"), [(23, "0.05"), (42, "0.7"), (60, "0.05"), (61, "1")])
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_width_limit_is_the_law_far_out(d, a, kernel):
    far = tokens.law((d - 2) * 10**290, d, a, "0.53", kernel).column_probability()
    assert scaling.width_limit(d, a, "0.53", kernel) == pytest.approx(far, rel=1e-12)
