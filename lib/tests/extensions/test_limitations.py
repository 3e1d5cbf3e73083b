"""Bounds for wrong entries, against matrices in plain NumPy."""

import numpy as np
import pytest

from attnsep.extensions import limitations
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData


def tokens_with(n, d, a, c, E, eps):
    A = np.zeros((n, d))
    A[0, 0] = a
    A[np.arange(n), 1 + np.arange(n) % (d - 2)] = 1 - c
    A[:, -1] = c
    return np.sqrt(np.log(n)) * (A + eps * E)


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize("a", [0.0, 0.05, 0.7])
def test_every_matrix_keeps_the_bounds(rng, kernel, a):
    n, d, c = 12, 8, 0.4
    for eps in (1e-4, 0.01, 0.1):
        bound = limitations.weight_bounds(TokenData(n=n, d=d, a=a, c=c), eps, kernel)
        for E in rng.choice([-1.0, 1.0], (200, n, 1)) * np.ones(d):
            s = tokens_with(n, d, a, c, E, eps).sum(axis=1)
            u = np.outer(s, s) if kernel == "linear" else np.exp(np.outer(s, s))
            f = u / u.sum(axis=1, keepdims=True)
            assert bound.marked_low * (1 - 1e-12) <= f[0, 0]
            assert f[:, 0].max() <= bound.marked_high * (1 + 1e-12)
            assert f[:, 1:].max() <= bound.other_high * (1 + 1e-12)


def test_without_error_the_bounds_are_the_weights():
    bound, exact = limitations.weight_bounds(TokenData(n=100, d=27, a=0.7, c=0.5), 1e-15), tokens.weights(100, 0.7)
    assert bound.marked_low == pytest.approx(exact.p)
    assert bound.marked_high == pytest.approx(exact.p)
    data = TokenData(n=16384, d=4098, a=0.05, c=0.5)
    low, high = limitations.fires_bounds(data, 1, 1e-12)
    assert low == 0
    assert tokens.Law(data).column_bounds()[1] <= high < 1e-3


def test_too_large_errors_prove_nothing():
    assert limitations.weight_bounds(TokenData(n=12, d=8, a=0.7, c=0.5), 0.125) == (0, 1, 1)
    assert limitations.fires_bounds(TokenData(n=12, d=8, a=0.7, c=0.5), 3, 0.125) == (0, 1)


@pytest.mark.parametrize("a", [0.0, 0.05])
def test_a_mark_below_the_error_may_fall_behind(a):
    """The least of γ_j(γ_{j*} − γ_i) has the largest γ_j where the difference may be negative."""
    bound = limitations.weight_bounds(TokenData(n=12, d=8, a=a, c=0.4), 0.01)
    assert bound.marked_low == pytest.approx(1 / (1 + 11 * 12 ** -((1 + a + 0.08) * (a - 0.16))), rel=1e-12)


def test_rejects():
    with pytest.raises(ValueError, match="eps"):
        limitations.weight_bounds(TokenData(n=12, d=8, a=0.7, c=0.5), -0.1)
    with pytest.raises(ValueError, match="kernel"):
        limitations.weight_bounds(TokenData(n=12, d=8, a=0.7, c=0.5), 0.1, "cubic")


@pytest.mark.parametrize("a", [0.3, 0.7])
def test_the_softmax_bounds_are_attained(a):
    """By errors that conspire; without them a looser bound would pass every test above."""
    n, d, c, eps = 12, 8, 0.4, 0.01
    bound = limitations.weight_bounds(TokenData(n=n, d=d, a=a, c=c), eps, "softmax")

    def marked_row(raised):
        E = -np.ones((n, d))
        E[raised] = 1
        s = tokens_with(n, d, a, c, E, eps).sum(axis=1)
        return np.exp(s[0] * s)

    lowered, raised, rival = marked_row(range(1, n)), marked_row([0]), marked_row([0, 1])
    assert lowered[0] / lowered.sum() == pytest.approx(bound.marked_low, rel=1e-12)
    assert raised[0] / raised.sum() == pytest.approx(bound.marked_high, rel=1e-12)
    assert rival[1] / rival[1:].sum() == pytest.approx(bound.other_high, rel=1e-12)  # beside the marked token


@pytest.mark.parametrize("a", [0.0, 0.3])
def test_the_linear_bounds_are_attained(a):
    n, d, c, eps = 12, 8, 0.4, 0.01
    bound = limitations.weight_bounds(TokenData(n=n, d=d, a=a, c=c), eps, "linear")

    def weights(raised):
        E = -np.ones((n, d))
        E[raised] = 1
        s = tokens_with(n, d, a, c, E, eps).sum(axis=1)
        return s / s.sum()

    assert weights(range(1, n))[0] == pytest.approx(bound.marked_low, rel=1e-12)
    assert weights([0])[0] == pytest.approx(bound.marked_high, rel=1e-12)
    if a == 0:  # the mark itself is lowered as far as any other token
        assert weights([1])[1] == pytest.approx(bound.other_high, rel=1e-12)


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize(
    ("data", "eps", "m"),
    [
        (TokenData(n=1024, d=1026, a=0.05, c=0.9), 1e-5, 7),
        (TokenData(n=256, d=66, a=0.05, c=0.9, gap=0.3), 1e-4, 2),
        (TokenData(n=4, d=3, a=0, c=0.9, gap=1), 1e-3, 5),  # one class, which has all weight
    ],
)
def test_the_bound_of_firing_is_its_formula(data, eps, m, kernel):
    found, b = limitations.weight_bounds(data, eps, kernel), 1 - float(data.c)
    v, w = min(1, found.marked_high + data.t * found.other_high), found.marked_high
    spread = b * np.sqrt(v) + eps * np.sqrt(data.d - 2)
    high = m * (data.n if kernel == "softmax" else 1)
    high *= np.exp(-((float(data.gap) - float(data.a) * w - 2 * eps) ** 2) / (2 * spread**2))
    assert 0 < high < 1
    assert limitations.fires_bounds(data, m, eps, kernel) == (0, pytest.approx(high, rel=1e-9, abs=0))


def test_a_network_has_a_column():
    with pytest.raises(ValueError, match="m = 0: must be at least 1"):
        limitations.fires_bounds(TokenData(n=12, d=8, a=0.7, c=0.5), 0, 0.01)
