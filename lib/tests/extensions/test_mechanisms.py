"""Laws of the four attentions against all sign vectors at 60 digits, and every guard."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.extensions import mechanisms
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData
from lib.tests.digits import mp, number

FOUR = [*product(("softmax", "linear"), (True, False))]


def rows(n, d, a, c, kernel, normalised):
    """All o_j from the definitions, in 60 digits; token 0 is marked."""
    a, c, L = number(Fraction(a)), number(Fraction(c)), mp.log(n)
    A = [[a * (i == 0)] + [(1 - c) * (i % (d - 2) == k) for k in range(d - 2)] + [c] for i in range(n)]
    A = [[mp.sqrt(L) * x for x in row] for row in A]
    sums = [mp.fsum(row) for row in A]
    for s in sums[:2]:
        u = [mp.exp(s * other) if kernel == "softmax" else s * other for other in sums]
        alpha = mp.fsum(u) if normalised else 1
        yield [mp.fsum(u[i] * A[i][k] for i in range(n)) / alpha for k in range(d)]


@pytest.mark.quartered
@pytest.mark.parametrize(("kernel", "normalised"), FOUR)
@pytest.mark.parametrize(("n", "d", "a", "c"), [(6, 5, "0.7", "0.5"), (12, 8, "0.05", "0.3"), (9, 11, "1.3", "0.8")])
def test_law_is_that_of_all_sign_vectors(n, d, a, c, kernel, normalised):
    found = [*rows(n, d, a, c, kernel, normalised)]
    closed = mechanisms.values_closed(TokenData(n=n, d=d, a=a, c=c), kernel, normalised)
    for row, value in zip(found, closed, strict=True):
        wanted = [float(row[0]), float(row[1]), float(row[2]), float(row[-1])]
        assert [*value] == pytest.approx(wanted, rel=1e-13)
    tops = [
        max(mp.fsum(x * s for x, s in zip(row, y, strict=True)) for row in found) for y in product((1, -1), repeat=d)
    ]
    for tau in (0.41 * float(max(tops)), 0.083 * float(max(tops)), 1.01 * float(max(tops))):
        wanted = sum(top > tau for top in tops) / len(tops)
        assert mechanisms.column_probability(TokenData(n=n, d=d, a=a, c=c), tau, kernel, normalised) == pytest.approx(
            wanted, abs=1e-15
        )


def test_agrees_with_the_exact_law_of_the_normalised_two():
    for (n, d), a, kernel in product(((1024, 258), (98, 100)), ("0.05", "0.7"), ("softmax", "linear")):
        tau = TokenData(n=n, d=d, a=a, c="0.45").tau
        found = mechanisms.column_probability(TokenData(n=n, d=d, a=a, c="0.45"), tau, kernel)
        assert found == pytest.approx(tokens.law(n, d, a, "0.45", kernel).column_probability(), rel=1e-12)


def test_best_threshold_is_the_best_of_all_and_attained():
    for kernel, normalised in FOUR:
        best = mechanisms.best_threshold(
            TokenData(n=40, d=22, a="0.05", c="0.45"), TokenData(n=40, d=22, a="0.7", c="0.45"), 3, kernel, normalised
        )
        fires = [
            mechanisms.fires_probability(TokenData(n=40, d=22, a=a, c="0.45"), 3, best.tau, kernel, normalised)
            for a in ("0.05", "0.7")
        ]
        assert [best.on_d0, best.on_d1] == pytest.approx(fires, abs=1e-12)
        weak, strong = (
            mechanisms.column_law(TokenData(n=40, d=22, a=a, c="0.45"), kernel, normalised)[0] for a in ("0.05", "0.7")
        )
        steps = np.concatenate([weak, strong])
        next_below, next_above = steps[steps < best.tau].max(), steps[steps > best.tau].min()
        assert best.tau == pytest.approx((next_below + next_above) / 2, rel=1e-12)
        top = strong.max()
        for share in np.linspace(0.013, 1.2, 60):
            on_d0, on_d1 = (
                mechanisms.fires_probability(
                    TokenData(n=40, d=22, a=a, c="0.45"), 3, float(share * top), kernel, normalised
                )
                for a in ("0.05", "0.7")
            )
            assert on_d1 - on_d0 <= best.on_d1 - best.on_d0 + 1e-12


def test_outputs_on_matrices(xp):
    rng = np.random.default_rng(5)
    A, X = rng.standard_normal((7, 4)), rng.standard_normal((4, 4))
    for kernel in ("softmax", "linear"):
        u = np.exp(A @ X @ A.T) if kernel == "softmax" else A @ X @ A.T
        found = mechanisms.outputs(xp.asarray(A), xp.asarray(X), kernel, normalised=False)
        np.testing.assert_allclose(to_numpy(found), u @ A, rtol=1e-12)


@pytest.mark.parametrize(("kernel", "normalised"), FOUR)
def test_the_size_of_a_row_is_the_sum_of_its_entries(kernel, normalised):
    data = TokenData(n=12, d=8, a="0.7", c="0.3")
    size = mechanisms.column_law(data, kernel, normalised)[3]
    wanted = [
        row.first + row.own + 5 * row.others + row.last for row in mechanisms.values_closed(data, kernel, normalised)
    ]
    assert size.tolist() == pytest.approx(wanted, rel=1e-14)


def test_the_best_threshold_keeps_the_two_data_sets_apart():
    """The weaker mark fires more often at no useful threshold; the other difference would be near 1."""
    weak, strong = (TokenData(n=40, d=22, a=a, c="0.45") for a in ("0.05", "0.7"))
    best = mechanisms.best_threshold(strong, weak, 3)
    assert 0 <= best.on_d1 - best.on_d0 < 0.01


def test_bad_input_is_rejected():
    with pytest.raises(ValueError, match="kernel = 'cosine'"):
        mechanisms.values_closed(TokenData(n=6, d=5, a=1, c="0.5"), "cosine", normalised=False)
    with pytest.raises(ValueError, match="kernel = 'cosine'"):
        mechanisms.outputs(np.ones((2, 2)), np.ones((2, 2)), "cosine", normalised=False)
    for normalised in (True, False):
        with pytest.raises(TypeError, match="A: dtype float16, must be float64 or float32"):
            mechanisms.outputs(np.ones((2, 2), np.float16), np.ones((2, 2)), normalised=normalised)
        with pytest.raises(TypeError, match=r"^X: dtype int64, must be float64 or float32"):
            mechanisms.outputs(np.ones((2, 2)), np.ones((2, 2), np.int64), normalised=normalised)
    with pytest.raises(ValueError, match="exponential of a score is too large"), np.errstate(over="ignore"):
        mechanisms.outputs(np.full((2, 1), 40.0), np.ones((1, 1)), normalised=False)
    with pytest.raises(ValueError, match="tau = -1"):
        mechanisms.column_probability(TokenData(n=6, d=5, a=1, c="0.5"), -1.0)
    with pytest.raises(ValueError, match="doubles cannot tell"):
        mechanisms.column_probability(TokenData(n=6, d=5, a=0, c="0.5"), 0.5 * np.log(6) ** 0.5 * (1 + 0.5 * 2 / 3))
    with pytest.raises(ValueError, match="m = 0"):
        mechanisms.best_threshold(TokenData(n=6, d=5, a=0, c="0.5"), TokenData(n=6, d=5, a=1, c="0.5"), 0)


def test_outputs_are_normalised_unless_told_otherwise(rng):
    A, X = rng.standard_normal((7, 4)), rng.standard_normal((4, 4))
    u = np.exp(A @ X @ A.T)
    np.testing.assert_allclose(mechanisms.outputs(A, X), u @ A / u.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(mechanisms.outputs(A, X, normalised=False), u @ A, rtol=1e-12)
    v = A @ X @ A.T
    linear = v @ A / v.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mechanisms.outputs(A, X, "linear"), linear, rtol=1e-9)
    with pytest.raises(ValueError, match=r"A: shape \(4,\), must be \(n, d\)"):
        mechanisms.outputs(np.ones(4), X, normalised=False)


def test_one_output_that_no_double_holds_is_enough_to_refuse():
    """The marked token has strength 0, so the first entry is 0."""
    with pytest.raises(ValueError, match="an output is too large for a double"):
        mechanisms.values_closed(TokenData(n=10**154, d=3, a=0, c="0.5"), "softmax", normalised=False)


def test_a_law_may_have_values_of_mass_0_and_none_below():
    values, thresholds = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.5, 2.0])
    found = mechanisms.upper_tail(values, np.array([0.5, 0.0, 0.5]), thresholds)
    assert found.tolist() == [1, 0.5, 0.5, 0.5]
    with pytest.raises(ValueError, match="mass: must have no entry below 0"):
        mechanisms.upper_tail(values, np.array([0.5, -1e-300, 0.5]), thresholds)
