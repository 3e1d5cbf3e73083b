"""Counting data against all sign vectors at 60 digits, plain matrices, and every guard."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.extensions import where_linear_wins
from attnsep.extensions.where_linear_wins import SHARES, CountData
from lib.tests.digits import mp, number

QUARTER = {"n": 8, "d": 4, "a": 1, "c": "0.5", "share": "1/4"}


def columns(data, kernel):
    """For every sign vector of A_ρ, whether some row exceeds τ: from the definition, with nothing of the library."""
    name, _, beta = kernel.partition(":")
    own = [1 + number(data.a)] * int(data.share * data.n)
    own += [mp.mpf(1)] * (data.n - len(own))
    marked, rows = int(data.share * data.n), []
    for asking in {1 + number(data.a), mp.mpf(1)}:
        u = [mp.power(data.n, number(beta or 1) * asking * s) if name == "softmax" else asking * s for s in own]
        f = [x / mp.fsum(u) for x in u]
        classes = [number(data.b) * mp.fsum(f[k :: data.d - 2]) for k in range(data.d - 2)]
        rows.append([number(data.a) * mp.fsum(f[:marked]), *classes, number(data.c)])
    tau = number(data.c + data.gap) + mp.mpf(10) ** -50
    return [
        any(mp.fsum(x * s for x, s in zip(row, y, strict=True)) > tau for row in rows)
        for y in product((1, -1), repeat=data.d)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["softmax", "softmax:0", "softmax:0.1", "softmax:2", "linear"])
@pytest.mark.parametrize(("classes", "t"), [(1, 4), (2, 8), (5, 4)])
def test_law_is_that_of_all_sign_vectors(classes, t, kernel):
    for a, c, gap in product(("0.05", "0.7", "4"), ("0.375", "0.9"), (None, "0.3")):
        fired = []
        for share in SHARES:
            data = CountData(n=classes * t, d=classes + 2, a=a, c=c, share=share, gap=gap)
            fired.append(columns(data, kernel))
            law = sum(fired[-1]) / 2**data.d
            assert where_linear_wins.column_probability(data, kernel) == pytest.approx(law, abs=1e-15)
        differ = sum(x != y for x, y in zip(*fired, strict=True)) / 2**data.d
        assert where_linear_wins.differ_probability(data, kernel) == pytest.approx(differ, abs=1e-15)


def test_worked_instance_at_60_digits():
    a, b, c, g, classes = number("0.7"), number("0.5"), number("0.5"), mp.mpf(0), 256
    mass = {(R, share): share * R / (share * R + 1 - share) for R in (1 + a,) for share in map(number, SHARES)}
    g = a * mp.fsum(mass.values()) / 2
    for kernel, (high, low) in {
        "linear": (1 + a, 1 + a),
        "softmax": (mp.power(1024, a * (1 + a)), mp.power(1024, a)),
    }.items():
        for share in SHARES:
            P = [number(share) * R / (number(share) * R + 1 - number(share)) for R in (high, low)]
            pi = mp.mpf(0)
            for first, last in product((1, -1), repeat=2):
                bar = (g + c * (1 - last) - max(a * p * first for p in P)) * classes / b
                ways = sum(mp.binomial(classes, k) for k in range(classes + 1) if 2 * k - classes > bar)
                pi += ways / mp.mpf(2) ** classes / 4
            data = CountData(n=1024, d=258, a="0.7", c="0.5", share=share)
            wanted = 1 - (1 - pi) ** 10
            assert where_linear_wins.fires_probability(data, 10, kernel) == pytest.approx(float(wanted), rel=1e-12)


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
def test_matrix_and_values(xp, kernel):
    data = CountData(n=12, d=5, a="0.7", c="0.4", share="3/4")
    A = np.zeros((12, 5))
    A[:9, 0], A[np.arange(12), 1 + np.arange(12) % 3], A[:, -1] = 0.7, 0.6, 0.4
    found = data.matrix(xp)
    np.testing.assert_allclose(to_numpy(found), A * np.log(12) ** 0.5, rtol=1e-14)
    own = A.sum(axis=1)
    scores = np.log(12) * np.outer(own, own)
    u = np.exp(scores) if kernel == "softmax" else scores
    wanted = u / u.sum(axis=1, keepdims=True) @ A * np.log(12) ** 0.5
    np.testing.assert_allclose(to_numpy(values(found, found, found, data.X(xp), kernel)), wanted, rtol=1e-12)
    P = [float(mass) for mass in where_linear_wins.marked_mass(12, "0.7", "3/4", kernel)]
    np.testing.assert_allclose(wanted[[0, -1], 0] / np.log(12) ** 0.5, 0.7 * np.array(P), rtol=1e-12)
    assert (data.marked, data.t) == (9, 4)
    assert data.tau == pytest.approx((0.4 + float(data.gap)) * np.log(12) ** 0.5)


def test_mass_is_enclosed_and_rational_where_it_is():
    for n, a, share, kernel in product((4, 10**300), ("0.7", 1), SHARES, ("softmax", "softmax:0.01", "linear")):
        for mass, own in zip(where_linear_wins.marked_mass(n, a, share, kernel), (1 + number(a), 1), strict=True):
            beta = number(kernel.partition(":")[2] or 1)
            R = 1 + number(a) if kernel == "linear" else mp.power(n, beta * number(a) * own)
            low, high = mass.enclosure(50)
            wanted = 1 - (1 - number(share)) / (number(share) * R + 1 - number(share))
            assert number(low) * (1 - mp.mpf(10) ** -55) <= wanted <= number(high) * (1 + mp.mpf(10) ** -55)
            assert float(mass) == pytest.approx(float(wanted), rel=1e-12)
            rational = mass.rational() if n == 4 else None
            assert rational is None or number(rational) == pytest.approx(wanted, rel=1e-50)
    assert where_linear_wins.marked_mass(4, 1, "1/4")[0].rational() == Fraction(16, 19)
    assert where_linear_wins.marked_mass(5, "0.7", "1/4")[0].rational() is None


def test_critical_gain_is_where_the_mass_meets_the_midpoint():
    for a in map(Fraction, ("0.05", "0.7", "3", "20")):
        K, middle = where_linear_wins.critical_gain(a), where_linear_wins.midpoint(a) / a
        for share, R in ((Fraction(1, 4), 3 * K), (Fraction(3, 4), K / 3)):
            assert share * R / (share * R + 1 - share) == middle


def test_bounds_at_a_second_size():
    """E, N and κ from their formulas."""
    data = CountData(n=400, d=102, a="0.7", c="0.6", share="1/4")
    g = 0.7 * (1.7 / 4.7 + 5.1 / 6.1) / 2
    assert float(data.gap) == pytest.approx(g)
    P = {R: [s * R / (s * R + 1 - s) for s in (0.25, 0.75)] for R in (400**1.19, 400**0.7)}
    E = {x: np.exp(-(x**2) * 100 / (2 * 0.16)) for x in (0.7 * P[400**1.19][0] - g, g, 1.2 + g - 0.7)}
    assert where_linear_wins.differ_bound(data) == pytest.approx(np.dot([1, 2, 1], [*E.values()]) / 4, rel=1e-9)
    points = sum(np.ceil(0.7 * (high - low) * 100 / 0.8) for low, high in P.values())
    assert where_linear_wins.any_threshold_bound(data) == pytest.approx(
        float(mp.binomial(100, 50)) / 2**100 * points / 2
    )
    assert where_linear_wins.miss_bound(data, -0.1) == 1
    far = CountData(n=8, d=4, a=200, c="0.5", share="1/4")  # the masses agree to all digits of a double
    assert where_linear_wins.any_threshold_bound(far) == 0.5


@pytest.mark.parametrize("a", [10**20, Fraction(10**300), "1e18"])
def test_strengths_beyond_the_digits_of_a_double(a):
    """The masses agree in all digits of a double, but a times their difference is still 8/3."""
    data = CountData(n=12, d=5, a=a, c="0.5", share="1/4")
    assert where_linear_wins.slack(data, "linear") == pytest.approx(4 / 3, rel=1e-12)
    assert where_linear_wins.differ_probability(data, "linear") > 0.4
    assert where_linear_wins.any_threshold_bound(data, "linear") == 1
    above = replace(data, a=10**60, gap=None)  # 12^(100 + 10^-58) is far above a, so that a(1 − P) is nearly 0
    assert where_linear_wins.slack(above, "softmax:1e-118") == pytest.approx(5 / 3, rel=1e-12)


def test_a_gap_of_0_is_no_gap_left_out():
    data = CountData(**QUARTER, gap=0)
    assert (data.gap, data.tau) == (0, 0.5 * math.log(8) ** 0.5)


@pytest.mark.parametrize("kernel", ["linear", "softmax"])
def test_points_of_the_bound_are_the_definition_at_60_digits(kernel):
    for d, a, c in product((3, 6, 19, 40, 90), ("0.05", "0.3", "0.8", "1.5"), ("0.1", "0.5")):
        n, points = 4 * (d - 2), 0
        for R in (
            [1 + number(a)] * 2
            if kernel == "linear"
            else [mp.mpf(n) ** (number(a) * (1 + number(a))), mp.mpf(n) ** number(a)]
        ):
            low, high = (share * R / (share * R + 1 - share) for share in (mp.mpf(1) / 4, mp.mpf(3) / 4))
            points += int(mp.ceil(number(a) * (high - low) * (d - 2) / (2 * (1 - number(c))) - mp.mpf(10) ** -50))
        bound = min(1, mp.binomial(d - 2, (d - 2) // 2) / mp.mpf(2) ** (d - 2) * points / 2)
        found = where_linear_wins.any_threshold_bound(CountData(n=n, d=d, a=a, c=c, share="1/4"), kernel)
        assert found == pytest.approx(float(bound), rel=1e-12)


@pytest.mark.parametrize(("d", "a", "points"), [(4, 2, 1), (16, 1, 4), (35, Fraction(1, 2), 5)])
def test_a_whole_number_of_points_is_not_rounded_up(d, a, points):
    """a(w_{3/4} − w_{1/4})(d − 2)/(2b) is whole here, where a double of it may be a little more."""
    data = CountData(n=4 * (d - 2), d=d, a=a, c="0.2", share="1/4")
    bound = Fraction(math.comb(d - 2, (d - 2) // 2), 2 ** (d - 2)) * points
    assert where_linear_wins.any_threshold_bound(data, "linear") == pytest.approx(float(bound), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 7}, "n = 7, d = 4"),
        ({"d": 2}, "d = 2"),
        ({"a": 0}, "a = 0: must be above 0"),
        ({"a": -1}, "a = -1"),
        ({"c": 1}, "c = 1: must lie"),
        ({"share": 0}, "share = 0: must lie"),
        ({"share": "1/3"}, "n = 8, d = 4, share = 1/3: share .* t is 4"),
        ({"gap": -1}, "gap = -1"),
    ],
)
def test_bad_parameters_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        CountData(**{**QUARTER, **change})


def test_other_bad_input_is_rejected():
    data = CountData(**QUARTER)
    for kernel in ("hard", "topk:2", "cosine"):
        with pytest.raises(ValueError, match="kernel"):
            where_linear_wins.column_probability(data, kernel)
    with pytest.raises(ValueError, match="share = 1"):
        where_linear_wins.marked_mass(8, 1, 1)
    for a in (10**6, 400):  # 8^400 in the other rows is no longer than 362 digits
        with pytest.raises(ValueError, match="at most 100000 digits"):
            where_linear_wins.marked_mass(8, a, "1/4")
    with pytest.raises(ValueError, match="m = 0"):
        where_linear_wins.fires_probability(data, 0)
    with pytest.raises(ValueError, match=r"share \* t"):
        where_linear_wins.differ_probability(replace(data, n=4, share="1/2"))
    with pytest.raises(ValueError, match="a = -1"):
        where_linear_wins.critical_gain(-1)
    with pytest.raises(TypeError, match=r"n = 2\.5"):
        CountData(**{**QUARTER, "n": 2.5})


def test_every_term_of_the_bound_counts_where_d_is_small():
    data = CountData(n=400, d=7, a="0.7", c="0.3", share="1/4")
    g, R = float(data.gap), 400**1.19
    E = [np.exp(-(x**2) * 5 / (2 * 0.49)) for x in (0.7 * R / (R + 3) - g, g, 0.6 + g - 0.7)]
    assert min(E) > 0.1
    assert where_linear_wins.differ_bound(replace(data, share="3/4")) == where_linear_wins.differ_bound(data)
    assert where_linear_wins.differ_bound(data) == pytest.approx(np.dot([1, 2, 1], E) / 4, rel=1e-9)


def test_a_bound_of_what_no_double_tells_from_0_is_a_bound():
    data = CountData(n=1024, d=258, a="0.7", c="0." + 200 * "9", share="1/4")
    assert where_linear_wins.miss_bound(data, 0.1) == 0
    assert where_linear_wins.miss_bound(data, 0) == where_linear_wins.miss_bound(data, -1) == 1
