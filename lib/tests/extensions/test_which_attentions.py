"""Sampled networks against the weights' definitions, draw by draw."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import namespace
from attnsep.attention.attend import values
from attnsep.attention.kernels import require_kernel
from attnsep.extensions import which_attentions
from attnsep.extensions.which_attentions import fired_networks
from attnsep.paper.network import fires
from attnsep.paper.tokens import Law, TokenData
from attnsep.probability.sign_sums import clopper_pearson

xp = namespace("numpy")


def window_fires(data, width, draws, power):
    """Return for each matrix of signs whether F > 0, from all rows, scores, weights and values.

    `power` raises n to an exponent, exactly.
    """
    n, d, a, b, c = data.n, data.d, data.a, data.b, data.c
    A = [[a * (i == 0), *(b * (i % (d - 2) == k) for k in range(d - 2)), c] for i in range(n)]
    sums, rows = [sum(row) for row in A], []
    for j in range(n):
        near = [i for i in range(n) if abs(i - j) <= width]
        u = [power(n, sums[j] * sums[i]) for i in near]
        value = [sum(f * A[i][k] for f, i in zip(u, near, strict=True)) for k in range(d)]
        rows.append((value, (c + data.gap) * sum(u)))
    return [
        any(
            sum(v * s for v, s in zip(value, column, strict=True)) > threshold
            for value, threshold in rows
            for column in y.T.tolist()
        )
        for y in draws
    ]


@pytest.mark.quartered
@pytest.mark.parametrize("width", [0, 1, 2, 3, 8, 9, 10**30])
@pytest.mark.parametrize(("n", "d", "m"), [(2, 3, 1), (4, 6, 1), (9, 5, 1), (9, 11, 1), (6, 5, 3)])
@pytest.mark.parametrize(
    ("a", "c", "gap"), [(0, "0.5", "0.1"), (1, "0.4", "0.2"), (2, "0.9", "0.1"), (1, "0.5", "0.5")]
)
def test_windows_fire_where_fractions_do(n, d, m, a, c, gap, width):
    """With whole a all weights are rational, and many sums tie with the threshold."""
    data = TokenData(n=n, d=d, a=a, c=c, gap=gap)
    signs = [2 * np.random.default_rng(seed).integers(0, 2, (d, m)) - 1 for seed in range(12)]
    wanted = window_fires(data, width, signs, lambda base, exponent: Fraction(base) ** int(exponent))
    for seed in range(12):
        found = fired_networks(np.random.default_rng(seed), data, m, f"window:{width}", draws=1)
        assert found == wanted[seed]


@pytest.mark.quartered
@pytest.mark.parametrize("a", ["0.05", "0.5", "0.7"])
@pytest.mark.parametrize("width", [1, 3, 100])
def test_windows_with_irrational_weights_fire_where_sixty_digits_do(a, width):
    mp = pytest.importorskip("mpmath").mp.clone()
    mp.dps = 60

    def power(base, exponent):
        x = mp.power(base, mp.mpf(exponent.numerator) / exponent.denominator)
        return Fraction(int(x * 10**55), 10**55)

    data, twin = TokenData(n=8, d=6, a=a, c="0.45"), np.random.default_rng(3)
    wanted = sum(window_fires(data, width, [2 * twin.integers(0, 2, (6, 2)) - 1 for _ in range(20)], power))
    assert fired_networks(np.random.default_rng(3), data, 2, f"window:{width}", draws=20) == wanted


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", ["performer:1", "performer:6", "performer:50"])
@pytest.mark.parametrize(("n", "d", "a"), [(2, 3, "0.7"), (12, 5, "1"), (30, 12, "0.4")])
def test_performers_fire_where_attention_with_the_same_features_does(n, d, a, kernel):
    data, twin = TokenData(n=n, d=d, a=a, c="0.5"), np.random.default_rng(11)
    A, fired = data.matrix(xp), 0
    for _ in range(40):
        y = 2.0 * twin.integers(0, 2, (d, 3)) - 1
        fired += fires(values(A, A, A, data.X(xp), kernel, rng=twin), y, data.tau)
    assert fired_networks(np.random.default_rng(11), data, 3, kernel, draws=40) == fired


def test_a_window_over_everything_has_the_law_of_softmax():
    data = TokenData(n=8, d=6, a="0.7", c="0.5")
    hits = fired_networks(np.random.default_rng(1), data, 2, "window:7", draws=2000)
    low, high = clopper_pearson(hits, 2000, 1e-9)
    assert low < Law(data).fires(2) < high


def test_huge_parameters_are_decided_without_a_warning():
    rng = np.random.default_rng(0)
    for kernel in ("window:1", "window:" + "9" * 40, "performer:4"):
        far, strong = ({"a": "0.5", "gap": "1e300"}, {"a": "1e300"})
        assert fired_networks(rng, TokenData(n=6, d=5, c="0.5", **far), 2, kernel, draws=20) == 0
        assert 0 <= fired_networks(rng, TokenData(n=6, d=5, c="0.5", **strong), 2, kernel, draws=20) <= 20


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"rng": 7}, TypeError, "rng = 7: must be a numpy.random.Generator"),
        ({"kernel": "softmax"}, ValueError, "kernel = 'softmax': has an exact law"),
        ({"kernel": "window"}, ValueError, "kernel = 'window': must be window:width"),
        ({"m": 0}, ValueError, "m = 0: must be at least 1"),
        ({"draws": 0}, ValueError, "draws = 0: must be at least 1"),
        ({"data": 7}, TypeError, "data = 7: must be of the class TokenData"),
        ({"data": TokenData(n=6, d=5, a=1, c="0.5", marked=1)}, ValueError, "marked = 1: must be 0, the first token"),
        (
            {"data": TokenData(class_sizes=(2, 1), a=1, c="0.5"), "kernel": "performer:2"},
            ValueError,
            "class_sizes = .* no common t",
        ),
        (
            {"data": TokenData(n=10**6, d=3, a=1, c="0.5"), "m": 101},
            ValueError,
            "n, d, m, kernel = 1000000, 3, 101, .*: one",
        ),
        ({"m": 10**8}, ValueError, "one network must need at most 10\\^8 numbers"),
        ({"kernel": "performer:100000000"}, ValueError, "one network must need at most 10\\^8 numbers"),
    ],
)
def test_bad_input_is_named(changes, error, words):
    data = TokenData(n=6, d=5, a=1, c="0.5")
    parameters = {"rng": np.random.default_rng(0), "data": data, "m": 2, "kernel": "window:1"}
    with pytest.raises(error, match=words):
        fired_networks(**(parameters | changes))


def test_too_many_draws_of_large_networks_are_refused_at_once(rng):
    with pytest.raises(ValueError, match="draws = 1000: must be at most 199 for networks of this size"):
        fired_networks(rng, TokenData(n=10**6, d=10**6 + 2, a="0.7", c="0.5"), 10, "window:3", draws=1000)


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize(("n", "d", "a", "c"), [(4, 6, "0.6", "0.1"), (6, 5, "0.9", "0.3"), (6, 8, "0.4", "0.5")])
def test_rows_of_matrices_exceed_where_the_law_says(kernel, n, d, a, c):
    """As for a kernel that has no gain; some sums tie with the threshold and must not fire."""
    data = TokenData(n=n, d=d, a=a, c=c)
    exceeds, law = which_attentions._matrix_rows(data, require_kernel(kernel), None), Law(data, kernel)
    for column in product((1, -1), repeat=d):
        y = np.array(column)[:, None]
        assert exceeds(y) == law.fires_on(y)


def test_random_features_are_drawn_anew_for_every_network():
    data, kernel, twin = TokenData(n=6, d=5, a="0.7", c="0.5"), require_kernel("performer:2"), np.random.default_rng(5)
    exceeds, A = which_attentions._matrix_rows(data, kernel, np.random.default_rng(5)), data.matrix(xp)
    columns = [np.array(column)[:, None] for column in product((1.0, -1.0), repeat=5)]
    wanted = [fires(values(A, A, A, data.X(xp), kernel, rng=twin), y, data.tau) for y in columns]
    assert [exceeds(y) for y in columns] == wanted
    assert len({*wanted}) == 2
