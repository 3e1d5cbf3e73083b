"""Headline theorems once more, in plain NumPy and without the library.

A wrong definition that the library, its twins and its claims share would pass every other test.
"""

import ast
from itertools import product
from math import comb, erf
from pathlib import Path

import numpy as np
import pytest


def weights(scores):
    return np.exp(scores) / np.exp(scores).sum(), scores / scores.sum()


def test_lemma_4_1(rng):
    low, high, kappa = np.log(1.2), np.log(1.4), 4.0
    for n in (2, 5, 100, 20_000):
        x = rng.standard_normal(3)
        v = rng.uniform(low, high, n)
        for spike in (False, True):
            if spike:
                v[n // 2] = kappa * np.log(n)
            B = rng.standard_normal((n, 3))
            A = np.outer(v, x) / (x @ x) + B - np.outer(B @ x, x) / (x @ x)
            f_exp, f_lin = weights(A @ x)
            if spike:
                others = np.arange(n) != n // 2
                total = (n - 1) * low + kappa * np.log(n)
                assert f_exp[n // 2] >= (1 - 1e-9) / (1 + (n - 1) * 1.4 / n**kappa)
                assert np.all(f_exp[others] <= (1 + 1e-9) * 1.4 / n**kappa)
                assert f_lin[n // 2] <= (1 + 1e-9) * kappa * np.log(n) / total
                assert np.all(f_lin[others] <= (1 + 1e-9) * high / total)
            else:
                assert np.all((f_exp * n >= (1 - 1e-9) * 1.2 / 1.4) & (f_exp * n <= (1 + 1e-9) * 1.4 / 1.2))
                assert np.all((f_lin * n >= (1 - 1e-9) * low / high) & (f_lin * n <= (1 + 1e-9) * high / low))


def test_tensor_trick(rng):
    n, d = 4, 3
    A1, A2, X = (rng.integers(-5, 6, shape) for shape in ((n, d), (n, d), (d, d)))
    K = np.kron(A1, A2)
    assert K.shape == (n**2, d**2)
    for j in range(n):
        assert np.array_equal(K[j * n : (j + 1) * n] @ X.reshape(-1), (A1 @ X @ A2.T)[j])


def token_matrix(n, d, a, c, marked):
    """n tokens of width d: a mark, one of d − 2 classes, a constant; all times the square root of log n."""
    A = np.zeros((n, d))
    A[marked, 0] = a
    A[np.arange(n), 1 + np.arange(n) % (d - 2)] = 1 - c
    A[:, -1] = c
    return np.sqrt(np.log(n)) * A


@pytest.mark.slow
def test_lemma_d_2():
    for (n, d), a, c in product(((2, 3), (12, 6), (200, 52)), (0, 0.05, 0.5, 1.0), (0.1, 0.5, 0.9)):
        A, j, L = token_matrix(n, d, a, c, n // 2), n // 2, np.log(n)
        others = np.arange(n) != j
        scores = A @ np.ones((d, d)) @ A.T
        for row in range(n):
            u_exp, u_lin, own = np.exp(scores[row]), scores[row], (1 + a) if row == j else 1
            np.testing.assert_allclose(u_exp[j], n ** (own * (1 + a)), rtol=1e-11)
            np.testing.assert_allclose(u_exp[others], n**own, rtol=1e-11)
            np.testing.assert_allclose(u_lin[j], own * (1 + a) * L, rtol=1e-13)
            np.testing.assert_allclose(u_lin[others], own * L, rtol=1e-13)
            np.testing.assert_allclose(u_exp.sum(), n ** (own * (1 + a)) + (n - 1) * n**own, rtol=1e-11)
            np.testing.assert_allclose(u_lin.sum(), own * (n + a) * L, rtol=1e-13)
            f_exp, f_lin = weights(scores[row])
            np.testing.assert_allclose(f_exp[j], 1 / (1 + (n - 1) * n ** (-own * a)), rtol=1e-11)
            np.testing.assert_allclose(f_lin[j], (1 + a) / (n + a), rtol=1e-12)


def fired(A, tau, signs):
    """Which columns of signs make the network with softmax, and the one with linear attention, exceed τ somewhere."""
    scores = A @ np.ones((A.shape[1], A.shape[1])) @ A.T
    f = [weights(row) for row in scores]
    return [np.max(np.array([pair[kind] for pair in f]) @ A @ signs, axis=0) > tau for kind in (0, 1)]


def test_theorem_3_6(rng):
    """n = 120, d = 122, a0 = 0.05, a1 = 0.7, c = 0.5: P[some of m columns exceeds τ] from 20000 columns of signs."""
    n, d, c, m = 120, 122, 0.5, 9
    tau = (c + 0.1) * np.sqrt(np.log(n))
    signs = rng.choice([-1.0, 1.0], (d, 20_000))
    (exp0, lin0), (exp1, lin1) = (fired(token_matrix(n, d, a, c, 5), tau, signs) for a in (0.05, 0.7))
    network = {name: 1 - (1 - np.mean(x)) ** m for name, x in (("e0", exp0), ("l0", lin0), ("e1", exp1), ("l1", lin1))}
    assert network["e1"] >= 1 - (7 / 8) ** m
    assert network["e1"] > 0.88
    assert max(network["e0"], network["l0"], network["l1"]) < 0.12
    p, q = (1 / (1 + (n - 1) * n ** (-0.05 * own)) for own in (1.05, 1))
    bound = sum(
        np.exp(-((0.1 - 0.05 * w) ** 2) / (2 * c**2 * (w**2 + (d - 3) * ((1 - w) / (n - 1)) ** 2))) for w in (p, q)
    )
    assert np.mean(exp0) <= bound


@pytest.mark.slow
def test_audit_of_mechanism_2():
    """n = 480, d = 122, a0 = 0.05, a1 = 0.7, c = 0.5, 20000 columns: what normalising does to exp and to linear."""
    n, d, c, rng = 480, 122, 0.5, np.random.default_rng(41)
    L, signs = np.log(n), rng.choice([-1.0, 1.0], (d, 20_000))
    paper, grown = (c + 0.1) * np.sqrt(L), c * np.sqrt(1.05 * 1.7) * n * L**1.5
    pi = {}
    for a in (0.05, 0.7):
        A = token_matrix(n, d, a, c, 5)
        scores = A @ np.ones((d, d)) @ A.T
        for kind, u in (("exp", np.exp(scores)), ("lin", scores)):
            raw, normalised = u @ A, u @ A / u.sum(axis=1, keepdims=True)
            for name, rows, tau in (("raw", raw, paper), ("raw grown", raw, grown), ("norm", normalised, paper)):
                pi[kind, name, a] = np.mean(np.max(rows @ signs, axis=0) > tau)
            if kind == "lin":
                assert np.all((normalised[:, 0] > 0.4 / n * np.sqrt(L)) == (a == 0.7))
    assert pi["exp", "norm", 0.7] - pi["exp", "norm", 0.05] > 0.15
    assert abs(pi["lin", "norm", 0.7] - pi["lin", "norm", 0.05]) < 0.03
    assert abs(pi["exp", "raw", 0.7] - 5 / 8) < 0.02
    assert all(abs(pi[key] - 0.5) < 0.02 for key in (("exp", "raw", 0.05), ("lin", "raw", 0.05), ("lin", "raw", 0.7)))
    assert pi["lin", "raw grown", 0.05] < 0.01
    assert pi["lin", "raw grown", 0.7] > 0.4


@pytest.mark.slow
def test_any_readout(rng):
    """n = 12, d = 8: the nearer output is right with probability Φ(Δ/(2s)), and Δ²/L is the formula for linear."""
    n, d, c, draws = 12, 8, 0.5, 20_000
    t, b, L, a0, a1 = n // (d - 2), 1 - c, np.log(n), 0.05, 0.7
    for kind in (0, 1):
        M = []
        for a in (a0, a1):
            A = token_matrix(n, d, a, c, 3)
            M.append(np.array([weights(row)[kind] for row in A @ np.ones((d, d)) @ A.T]) @ A)
        distance = np.linalg.norm(M[1] - M[0])
        if kind == 1:
            g0, g1 = (a * (1 + a) / (n + a) for a in (a0, a1))
            own = (t + a1) / (n + a1) - (t + a0) / (n + a0)
            other = t * (1 / (n + a1) - 1 / (n + a0))
            wanted = n * L * ((g1 - g0) ** 2 + b**2 * (own**2 + (d - 3) * other**2))
            np.testing.assert_allclose(distance**2, wanted, rtol=1e-10)
            assert (a1 - a0) * np.sqrt(L / n) <= distance
            assert distance <= (a1 - a0) * np.hypot(1 + a0 + a1, b) * np.sqrt(L / n)
        else:
            assert np.linalg.norm((M[1] - M[0])[3]) >= 0.4 * np.sqrt(L)
        for ratio in (0.25, 0.5, 1.0):
            truth = rng.integers(0, 2, draws)
            Y = np.array(M)[truth] + ratio * distance * rng.standard_normal((draws, n, d))
            nearer = np.sum((Y - M[1]) ** 2, axis=(1, 2)) < np.sum((Y - M[0]) ** 2, axis=(1, 2))
            best = (1 + erf(1 / (2 * np.sqrt(2) * ratio))) / 2
            assert abs(np.mean(nearer == truth) - best) < 6 * np.sqrt(0.25 / draws)
            one_entry = Y[:, 3, 0] > (M[0] + M[1])[3, 0] / 2
            assert np.mean(one_entry == truth) < best + 6 * np.sqrt(0.25 / draws)


def test_golden_ratio_law():
    """The marked row's weight on matrices: 1/(2 − 1/n) at 1/φ, and one logistic curve of (a² + a − 1) log n."""
    golden = (np.sqrt(5) - 1) / 2
    for n, d in ((2, 3), (100, 12), (900, 5)):
        for a in (0.3, golden, 0.7):
            A, j, L = token_matrix(n, d, a, 0.5, n // 2), n // 2, np.log(n)
            p = weights(A[j] @ np.ones((d, d)) @ A.T)[0][j]
            odds = n ** (a**2 + a - 1) / (1 - 1 / n)
            np.testing.assert_allclose(p, odds / (1 + odds), rtol=1e-12)
            assert abs(p - 1 / (1 + np.exp(-(a**2 + a - 1) * L))) <= (1 + 1e-9) / (4 * (n - 1))
            if a == golden:
                np.testing.assert_allclose(p, 1 / (2 - 1 / n), rtol=1e-12)


def test_neighbours(rng):
    """Bounded entries disperse; one state of linear attention holds many memories; only one row is spiky."""
    for n, d, a in ((12, 8, 0.7), (900, 5, 1.5)):
        A = token_matrix(n, d, a, 0.5, 3) / np.sqrt(np.log(n))
        f = np.array([weights(A[j] @ np.ones((d, d)) @ A.T)[0] for j in (3, 0)])
        np.testing.assert_allclose(f[0, 3], 1 / (1 + (n - 1) * np.exp(-a * (1 + a))), rtol=1e-12)
        np.testing.assert_allclose(f[1, 3], 1 / (1 + (n - 1) * np.exp(-a)), rtol=1e-12)
        np.testing.assert_allclose(A.max(), max(a, 0.5), rtol=1e-12)
        assert f[0].max() <= (1 + 1e-12) * np.exp(a * (1 + a)) / n

    K = rng.uniform(0.5, 1.5, (7, 3))
    z = np.linalg.svd(K.T)[2][-1]  # Kᵀz = 0
    for q in rng.uniform(0.5, 1.5, (20, 3)):
        soft, lin = weights(K @ q)
        assert abs(lin @ z) < 1e-12 < 1e-6 < abs(soft @ z)
        np.testing.assert_allclose(weights(-2.5 * K @ q)[1], lin, rtol=1e-12)

    n = 902
    A = token_matrix(n, 4, 0.7, 0.5, 3)
    (marked, linear_marked), (other, linear_other) = (
        [-(f @ np.log(f)) / np.log(n) for f in weights(A[j] @ np.ones((4, 4)) @ A.T)] for j in (3, 0)
    )
    assert marked < 0.3
    assert other > 0.93
    assert min(linear_marked, linear_other) > 0.999


def test_robust_region():
    """All four errors at the two worst corners of the region, and one step of m outside, by counting sums."""

    def column(a, c, gap, rows_of):
        d, n = 1200, 1198
        rows = [(w, (1 - w) / (n - 1)) for w in rows_of(a, n)]
        fired, S = 0.0, 2 * np.arange(d - 2) - (d - 3)
        share = np.array([comb(d - 3, k) / 2 ** (d - 3) for k in range(d - 2)])
        for first, own, last in product((1, -1), repeat=3):
            above = [a * w * first + (1 - c) * (w * own + r * S) + c * last > c + gap for w, r in rows]
            fired += share @ np.any(above, axis=0) / 8
        return fired

    def softmax(a, n):
        return [1 / (1 + (n - 1) * n**-e) for e in (a * (1 + a), a)]

    def linear(a, n):
        return [(1 + a) / (n + a)]

    for kernel, a in ((softmax, 0.1), (linear, 0.1), (linear, 2)):
        assert 1 - (1 - column(a, 0.4, 0.08, kernel)) ** 100 <= 0.01
    silent = [(1 - column(0.65, 0.4, 0.4, softmax)) ** m for m in (34, 35)]
    assert silent[0] > 0.01 >= silent[1]


def test_which_attentions():
    """Firing probabilities at n = 512, d = 130, m = 10 from the weights of two score vectors, by counting sums."""
    n, d, t, c, m, L = 512, 130, 4, 0.5, 10, np.log(512)

    def entmax(s):
        low, high = s.max() / 2 - 1, s.max() / 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if (np.maximum(s / 2 - middle, 0) ** 2).sum() > 1 else (low, middle)
        return np.maximum(s / 2 - low, 0) ** 2

    kernels = {
        "softmax": (lambda s: np.exp(s - s.max()), 0.0649, 0.9909),
        "linear": (lambda s: s, 0.0649, 0.0530),
        "degree 2": (lambda s: s**2, 0.0649, 0.0634),
        "degree 8": (lambda s: s**8, 0.0601, 0.7647),
        "degree 16": (lambda s: s**16, 0.0554, 0.9909),
        "taylor": (lambda s: 1 + s + s**2 / 2, 0.0649, 0.0530),
        "degree 60": (lambda s: s**60, 0.940, 0.9909),
        "sigmoid": (lambda s: 1 / (1 + np.exp(-s)), 0.0649, 0.0530),
        "entmax-1.5": (entmax, 0.5245, 0.9909),
        "hard": (lambda s: (s == s.max()) * 1.0, 0.9437, 0.9909),
    }
    S = np.arange(-(d - 3), d - 2, 2)
    share = np.array([comb(d - 3, k) / 2 ** (d - 3) for k in range(d - 2)])
    for name, (kernel, *wanted) in kernels.items():
        for a, want in zip((0.1, 0.8), wanted, strict=True):
            pi = 0.0
            rows = [kernel(own * L * np.array([1 + a] + [1.0] * (n - 1))) for own in (1 + a, 1)]
            for first, own, last in product((1, -1), repeat=3):
                above = np.zeros(d - 2, bool)
                for w, r, *_ in (row / row.sum() for row in rows):
                    above |= a * w * first + (1 - c) * ((w + (t - 1) * r) * own + t * r * S) + c * last > c + 0.1 + 1e-9
                pi += share @ above / 8
            assert abs(1 - (1 - pi) ** m - want) < 6e-5 * (1 + 9 * (name == "degree 60")), (name, a)


def test_counting(rng):
    """n = 256, d = 66, a = 0.7, c = 0.5, 20000 columns: linear attention tells 1/4 from 3/4, softmax does not."""
    n, d, a, c, m = 256, 66, 0.7, 0.5, 10
    b, P = 1 - c, {share: share * (1 + a) / (1 + share * a) for share in (0.25, 0.75)}
    g, s = a * sum(P.values()) / 2, a * (P[0.75] - P[0.25]) / 2
    E = {x: np.exp(-(x**2) * (d - 2) / (2 * b**2)) for x in (s, g, 2 * c + g - a)}
    signs, network, columns = rng.choice([-1.0, 1.0], (d, 20_000)), {}, {}
    for share in P:
        A = token_matrix(n, d, 0, c, 0)
        A[: int(share * n), 0] = a * np.sqrt(np.log(n))
        columns[share] = fired(A, (c + g) * np.sqrt(np.log(n)), signs)
        network[share] = [1 - (1 - np.mean(x)) ** m for x in columns[share]]
    exp, lin = 0, 1
    assert np.mean(columns[0.25][lin]) <= 2 * E[s] + 1e-3
    assert np.mean(columns[0.75][lin]) >= (1 - E[s]) / 4 - 0.02
    assert network[0.75][lin] > 0.9
    assert network[0.25][lin] < 0.05
    K = (1 + a) * (8 + 3 * a) / (8 + 5 * a)
    assert n ** (a * (1 + a)) > 3 * K
    own = a * n ** (a * (1 + a)) / (n ** (a * (1 + a)) + 3) - g
    bound = (np.exp(-(own**2) * (d - 2) / (2 * b**2)) + 2 * E[g] + E[2 * c + g - a]) / 4
    assert np.mean(columns[0.25][exp] != columns[0.75][exp]) <= bound + 1e-3
    assert min(network[share][exp] for share in P) > 0.9


def test_main_theorem_holds_for_a_whole_box_from_n_1068_on(rng):
    """All four errors at most 0.1 with m = 18 and t = 1, for a0 ≤ 0.1, 0.7 ≤ a1 ≤ 1.5, 0.05 ≤ c ≤ 0.95."""
    m, delta = 18, 0.1

    def bound(n, a, c, w):
        norm = w**2 + (1 - w) ** 2 / (n - 1)  # t = 1: every token is its own class
        return m * np.exp(-((0.1 - a * w) ** 2) / (2 * (1 - c) ** 2 * norm))

    def errors(n, a0, a1, c):
        p, q = (n**e / (n**e + n - 1) for e in (a0 * (1 + a0), a0))
        seen = a1 * n ** (a1 * (1 + a1)) / (n ** (a1 * (1 + a1)) + n - 1) > 0.1
        linear = [bound(n, a, c, (1 + a) / (n + a)) for a in (a0, a1)]
        return np.max([np.where(seen, (7 / 8) ** m, 1.0), bound(n, a0, c, p) + bound(n, a0, c, q), *linear], axis=0)

    draws = 20_000
    box = rng.uniform(0, 0.1, draws), rng.uniform(0.7, 1.5, draws), rng.uniform(0.05, 0.95, draws)
    for n in (1068, 1069, 2000, 10**6, 10**12):
        assert np.max(errors(n, *box)) <= delta
    assert errors(1068.0, 0.1, 0.7, 0.05) <= delta < errors(1067.0, 0.1, 0.7, 0.05)


# Exact laws of one random column, by counting: the eight signs of the mark, its class and the constant column, and a
# sum S of the d − 3 other classes' signs.


def shares(k):
    """P[S = −k], P[S = 2 − k], …, P[S = k] for a sum of k signs."""
    steps = np.concatenate([[0.0], np.cumsum(np.log(np.arange(k, 0, -1) / np.arange(1, k + 1)))])
    return 2 * np.arange(k + 1) - k, np.exp(steps - k * np.log(2))


def column(n, d, a, c, rows, theta, terms=None):
    """P[some row exceeds θ√L] where a row gives the mark the weight w and every other token r."""
    t, fired, (S, share) = n // (d - 2), 0.0, terms or shares(d - 3)
    for first, own, last in product((1, -1), repeat=3):
        above = np.zeros(d - 2, bool)
        for w, r in rows:
            size = w + (n - 1) * r  # 1 where the weights are normalised
            value = a * w * first + (1 - c) * ((w + (t - 1) * r) * own + t * r * S) + c * size * last
            above |= value > theta + 1e-12 * size  # a tie does not fire
        fired += share @ above / 8
    return fired


def row(w, n):
    return w, (1 - w) / (n - 1)


def softmax_rows(n, a, beta=1.0):
    return [row(1 / (1 + (n - 1) * float(n) ** (-beta * own * a)), n) for own in (1 + a, 1)]


def linear_rows(n, a):
    return [row((1 + a) / (n + a), n)]


def network(pi, m):
    return -np.expm1(m * np.log1p(-pi))


def four(n, d, m, c, a0=0.05, a1=0.7, gap=0.1, beta=1.0):
    """P[fires] for softmax on D_0 and D_1 and for linear attention on D_0 and D_1."""
    terms = shares(d - 3)
    rows = [softmax_rows(n, a, beta) for a in (a0, a1)] + [linear_rows(n, a) for a in (a0, a1)]
    return [network(column(n, d, a, c, r, c + gap, terms), m) for a, r in zip((a0, a1) * 2, rows, strict=True)]


def test_hoeffding():
    """All sums of up to 11 signs; the factor 2 and the independence are needed; the exponent is short by 1.39."""
    for w in ([1] * 7, [1] * 10, [3, 1, 1, 1], [5, 4, -3, 2, 2, 1, 1, 1], list(range(1, 12))):
        sums = np.array(list(product((-1, 1), repeat=len(w)))) @ w
        for s in np.unique(sums[sums > 0]):
            bound = np.exp(-(s**2) / (2 * np.dot(w, w)))
            assert np.mean(sums >= s) <= bound
            assert np.mean(np.abs(sums) >= s) <= 2 * bound
            if set(w) == {1}:
                assert np.mean(sums >= s) >= 2.0 ** (-(s**2) / len(w)) / (len(w) + 1)
    assert np.exp(-1 / 6) < 1  # three signs: |S| ≥ 1 always
    assert np.exp(-(7**2) / (2 * 7)) < 0.5  # seven equal signs: S = 7 every other time


def test_lemma_4_1_is_sharp():
    """One high or one low score among equal others: the extreme weights, and from which n a factor 2 fails."""
    for n, r in product((2, 3, 9, 50), (1.2, 2.5, 4.0)):
        for one, others in ((r, 1.0), (1.0, r)):
            scores = np.full(n, others)
            scores[0] = one
            for f in (weights(np.log(scores))[0], weights(scores)[1]):
                np.testing.assert_allclose(f[0], r / (r + n - 1) if one == r else 1 / (1 + (n - 1) * r), rtol=1e-13)
                assert f @ f <= f.max() <= r / n
                if one == r:
                    assert (f[0] > 2 / n) == (r > 2 and n > 2 * (r - 1) / (r - 2))
                else:
                    assert (f[0] < 1 / (2 * n)) == (r > 2 and n > (r - 1) / (r - 2))


def test_network_fires_if_a_column_exceeds():
    """All signs of three rows and two columns: the shifted ReLUs' sum, and 1 − (1 − π)²."""
    f, tau, fired, above = np.array([0.5, 0.3, 0.2]), 0.35, [], []
    for entries in product((-1.0, 1.0), repeat=6):
        z = f @ np.reshape(entries, (3, 2))
        fired.append(np.maximum(np.sum(np.maximum(z - tau, 0)), 0) > 0)
        assert fired[-1] == np.any(z > tau)
        above.append(z[0] > tau)
    assert abs(np.mean(fired) - (1 - (1 - np.mean(above)) ** 2)) < 1e-15


def test_one_query_separation():
    """ℓ = log 1.2, h = log 1.4, κ = 4, τ = ½: the smallest n by counting (equal scores) and by the bound."""
    low, ratio, kappa, tau = np.log(1.2), 1.4 / 1.2, 4.0, 0.5

    def silent(n, m):
        """The three errors of a network that fires where it must not, exactly, for equal scores ℓ."""
        w = kappa * np.log(n) / (kappa * np.log(n) + (n - 1) * low)
        (S, share), (S1, share1) = shares(n), shares(n - 1)
        flat = network(share @ (S / n > tau), m)
        spiked = [share1 @ (sign * w + (1 - w) / (n - 1) * S1 > tau) for sign in (1, -1)]
        return max(flat, network(np.mean(spiked), m))

    def bound(n, m):
        L, high = kappa * np.log(n), np.log(1.4)
        N = (L / (L + (n - 1) * low)) ** 2 + (n - 1) * (high / ((n - 1) * low + L)) ** 2
        return m * np.exp(-(tau**2) / 2 * min(n / ratio, n * low / high, 1 / N))

    for delta, m, exact, proved in ((0.1, 4, 150, 678), (0.01, 7, 193, 1032), (0.001, 10, 225, 1313)):
        assert 2.0**-m <= delta < 2.0 ** (1 - m)
        assert all(1 / (1 + (n - 1) * 1.4 / n**kappa) > 0.75 for n in (exact, proved))  # so softmax fires with ½
        assert [n for n in range(2, exact + 1) if silent(n, m) <= delta] == [exact]
        assert [n for n in range(2, proved + 1) if bound(n, m) <= delta] == [proved]
    assert silent(151, 4) > 0.1


def test_main_theorem():
    """The worked instance to nine digits, the four bounds, and the least weight of the mark."""
    digits = [f"{x:.9g}" for x in four(1024, 258, 10, 0.5)]
    assert digits == ["0.00346450383", "0.943686969", "0.00346450383", "0.00321684311"]
    for (d, t), c in product(((8, 1), (50, 3), (258, 4), (1026, 1)), (0.3, 0.5, 0.8)):
        n = (d - 2) * t
        for a0, a1, m in ((0.0, 0.7, 1), (0.05, 0.7, 10), (0.09, 2.0, 10)):
            soft0, soft1, lin0, lin1 = four(n, d, m, c, a0, a1)
            assert soft1 >= 1 - (7 / 8) ** m
            assert soft0 <= silent_bound(n, d, m, a0, c, softmax_rows(n, a0))
            assert lin0 <= silent_bound(n, d, m, a0, c, linear_rows(n, a0))
            assert n <= 9 * a1 + 10 * a1**2 or lin1 <= silent_bound(n, d, m, a1, c, linear_rows(n, a1))
    p = np.array([softmax_rows(n, 0.7)[0][0] for n in range(2, 3000)])
    assert np.argmin(p) + 2 == 6
    assert p.min() >= 0.627
    np.testing.assert_allclose(column(2, 3, 0.7, 0.5, softmax_rows(2, 0.7), 0.6), 1 / 8, rtol=1e-12)
    assert max(four(200, 52, 10, 0.96, 0.05, 0.06)) == 0  # a + b ≤ 0.1
    ties = [0.75 * w - 0.65 * w + 0.65 * r * 8 for w, r in (row(w, 53) for w in (0.01, 0.3, 0.9))]
    np.testing.assert_allclose(ties, 0.1, rtol=1e-14)


def silent_bound(n, d, m, a, c, rows):
    """m times the sum over the rows of Hoeffding's bound; each row has a w < 0.1."""
    t = n // (d - 2)
    norms = [(w + (t - 1) * r) ** 2 + (d - 3) * (t * r) ** 2 for w, r in rows]
    exponents = [(0.1 - a * w) ** 2 / (2 * (1 - c) ** 2 * x) for (w, _), x in zip(rows, norms, strict=True)]
    return m * sum(np.exp(-x) for x in exponents)


@pytest.mark.slow
def test_main_theorem_sizes():
    """The smallest d, for some m, that makes all four errors at most δ: by counting, and by the bounds."""
    deltas = (0.1, 0.01, 0.001)
    tables = {
        (0.5, 1): [(106, 108, 9), (236, 238, 17), (361, 363, 25)],
        (0.5, 4): [(376, 96, 8), (916, 231, 17), (1416, 356, 25)],
        (0.9, 1): [(19, 21, 9), (25, 27, 17), (31, 33, 25)],
    }
    for (c, t), wanted in tables.items():
        pis = {d: four((d - 2) * t, d, 1, c) for d in range(4, wanted[-1][1] + 1)}
        for delta, (n, d, m) in zip(deltas, wanted, strict=True):
            found = {}
            for width, (soft0, soft1, lin0, lin1) in pis.items():
                columns = int(np.ceil(np.log(delta) / np.log1p(-soft1)))
                if network(max(soft0, lin0, lin1), columns) <= delta:
                    found[width] = columns
            assert (next(iter(found.items())), n) == ((d, m), (d - 2) * t)
    assert network(max(four(380, 97, 1, 0.5)[i] for i in (0, 2, 3)), 8) > 0.1  # d = 97 fails where d = 96 did not
    for delta, wanted in zip(deltas, ((296, 298, 18), (445, 447, 35), (580, 582, 52)), strict=True):
        m = int(np.ceil(np.log(delta) / np.log(7 / 8)))
        rows = ((softmax_rows, 0.05), (linear_rows, 0.05), (linear_rows, 0.7))
        bad = {n: max(silent_bound(n, n + 2, m, a, 0.5, of(n, a)) for of, a in rows) for n in range(20, 600)}
        assert (next(n for n, bound in bad.items() if bound <= delta), m) == (wanted[0], wanted[2])


def test_ablation():
    """exp or linear, normalised or not, at n = 1024, d = 258, m = 10: only exp normalised separates at τ."""
    n, d, m, c, L = 1024, 258, 10, 0.5, np.log(1024)

    def rows(kernel, normalised, a):
        if normalised:
            return softmax_rows(n, a) if kernel == "exp" else linear_rows(n, a)
        if kernel == "exp":
            return [(float(n) ** ((1 + a) * own), float(n) ** own) for own in (1 + a, 1)]
        return [((1 + a) * own * L, own * L) for own in (1 + a, 1)]

    def fires(kernel, normalised, a, theta=0.6):
        return network(column(n, d, a, c, rows(kernel, normalised, a), theta), m)

    for kernel, normalised in product(("exp", "lin"), (True, False)):
        gain = fires(kernel, normalised, 0.7) - fires(kernel, normalised, 0.05)
        assert gain > 0.94 if (kernel, normalised) == ("exp", True) else gain < 0.001
    raw = [column(n, d, a, c, rows(kernel, False, a), 0.6) for kernel, a in product(("exp", "lin"), (0.05, 0.7))]
    np.testing.assert_allclose(raw, [1 / 2, 5 / 8, 1 / 2, 1 / 2], rtol=1e-9)
    grown = c * np.sqrt(1.05 * 1.7) * n * L  # the card's "information lost" is refuted: at such a threshold it is there
    np.testing.assert_allclose(
        [fires("lin", False, a, grown) for a in (0.05, 0.7)], [3.59658497e-5, 0.999020695], rtol=2e-9
    )
    np.testing.assert_allclose([fires("exp", False, a, n**2.4) for a in (0.05, 0.7)], [0, 0.999023438], rtol=1e-9)
    thetas = np.linspace(0.02, 1.2, 60)  # normalised linear attention: no threshold separates
    assert max(fires("lin", True, 0.7, x) - fires("lin", True, 0.05, x) for x in thetas) < 1.4 / np.sqrt(n)


def test_refuted_statements():
    """What the source card says and does not hold, with the numbers that refute it."""
    n, d, t = 1024, 258, 4
    f = linear_rows(n, 0.7)[0]
    np.testing.assert_allclose(f[0] + (n - 1) * f[1], 1)  # linear attention is normalised, too
    _, soft1, lin0, lin1 = four(n, d, 10, 0.5)
    assert abs(lin1 - lin0) < 0.001  # and its weights that sum to 1 preserve nothing that this network sees
    assert soft1 - four(n, d, 10, 0.5, a0=0.3)[0] > 0.1  # a0 = 0.3 still separates
    first = [a * (1 + a) / (n + a) for a in (0.0, 0.1, 0.7, 3.0)]
    assert max(first[:2]) < 0.4 / n < min(first[2:])  # one linear classifier separates, whatever the signs
    sizes = np.array([t] * (d - 3) + [t + 1])  # one token too many still separates
    pi = [ragged(sizes, 0, a, 0.5, softmax_rows(sizes.sum(), a)) for a in (0.05, 0.7)]
    assert network(pi[1], 10) - network(pi[0], 10) > 0.1
    a = np.sqrt(n / 5)  # a strong mark: linear attention separates without an exponential
    assert four(n, d, 10, 0.5, a1=a)[3] > 0.94
    assert 10 * a * (1 + a) > n + a
    for a, n in product((0.05, 0.7), (12, 300)):  # the sum of all products tells, too
        A = token_matrix(n, 8, a, 0.5, 2)
        np.testing.assert_allclose((A @ np.ones((8, 8)) @ A.T).sum(), (n + a) ** 2 * np.log(n), rtol=1e-12)


def ragged(sizes, own, a, c, rows):
    """P[some row exceeds (c + 0.1)√L] for classes of any sizes, the mark in class `own`, by the law of Σ t_k y_k."""
    fired, rest = 0.0, np.delete(sizes, own)
    values, counts = np.unique(rest, return_counts=True)
    sums, law = np.zeros(1), np.ones(1)
    for size, count in zip(values, counts, strict=True):
        S, share = shares(int(count))
        sums, law = np.add.outer(sums, size * S).ravel(), np.outer(law, share).ravel()
    for first, mine, last in product((1, -1), repeat=3):
        above = np.zeros(len(sums), bool)
        for w, r in rows:
            value = a * w * first + (1 - c) * ((w + (sizes[own] - 1) * r) * mine + r * sums) + c * last
            above |= value > c + 0.1 + 1e-12
        fired += law @ above / 8
    return fired


def test_ragged_classes():
    """Half of all tokens in one class: both attentions fire on D_0 with ¼; a share of 0.15 lets them fall silent."""
    for n, share, rows in product((1024, 4096), (0.5, 0.15), (softmax_rows, linear_rows)):
        big = round(share * n)
        sizes = np.array([1] * (n - big) + [big])
        pi = ragged(sizes, 0, 0.05, 0.5, rows(n, 0.05))
        assert abs(pi - 0.25) < 1e-6 if share == 0.5 else pi < (1e-3 if n == 4096 else 0.1)
    sizes = np.array([9, 1, 4, 20, 1, 1])
    for own in range(len(sizes)):
        assert ragged(sizes, own, 0.7, 0.5, softmax_rows(sizes.sum(), 0.7)) >= 1 / 8


def test_scaling_and_temperature():
    """Limits in the width and in n, the rate, the margins, and the window of the inverse temperature."""
    pi = [column(n, n // 4 + 2, 0.7, 0.5, softmax_rows(n, 0.7), 0.6) for n in (16384, 1048576)]
    np.testing.assert_allclose(pi, [1 / 4, 3 / 8], rtol=1e-6)
    assert column(65536, 16386, 0.5, 0.5, softmax_rows(65536, 0.5), 0.6) < 1e-28  # a = 0.5 is too weak
    assert abs(network(column(65536, 16386, 0.6, 0.5, softmax_rows(65536, 0.6), 0.6), 10) - 0.737) < 5e-4
    I = (1.2 * np.log(1.2) + 0.8 * np.log(0.8)) / 2  # the rate function at 0.1/b = 0.2
    for a, rows in ((0.05, softmax_rows), (0.7, linear_rows)):
        n = 4 * 4096
        rate = -np.log(column(n, 4098, a, 0.5, rows(n, a), 0.6)) / 4098
        assert I < rate < 1.2 * I
    S, share = shares(6)  # d = 8 is fixed, n grows
    flat = [np.mean([share @ (0.5 * S / 6 + 0.5 * (last - 1) > 0.1 + 1e-12) for last in (1, -1)])]
    for a, rows in ((0.05, softmax_rows), (0.05, linear_rows), (0.7, linear_rows)):
        found = column(6 * 10**12, 8, a, 0.5, rows(6 * 10**12, a), 0.6)
        np.testing.assert_allclose(found, flat[0], rtol=1e-9)
        assert found >= 2.0**-8
    for n in (100.0, 1e6, 1e12):
        (p0, p1), (l0, l1) = ([of(n, a)[0][0] for a in (0.05, 0.7)] for of in (softmax_rows, linear_rows))
        assert p1 - p0 >= 1 - n ** -(0.7**2 + 0.7 - 1) - n ** -(1 - 0.05 - 0.05**2)
        np.testing.assert_allclose(l1 - l0, 0.65 * (n - 1) / (n + 0.7) / (n + 0.05), rtol=1e-6)
    for beta, separates in ((0.5, (False, False)), (2, (False, True)), (30, (True, True))):
        found = four(65536, 16386, 10, 0.5, beta=beta)[:2]
        assert tuple(x > 0.9 for x in found) == separates
        A, L = token_matrix(100, 12, 0.7, 0.5, 3), np.log(100)
        p = weights(beta * A[3] @ np.ones((12, 12)) @ A.T)[0][3]
        np.testing.assert_allclose(p, 1 / (1 + np.exp((1 - beta * 0.7 * 1.7) * L + np.log(0.99))), rtol=1e-11)
    for d in (256, 1024):  # β = 1/√d hides a mark of 0.7 and shows one with a(1 + a) = 1.19 √d
        n, strong = 4 * (d - 2), (np.sqrt(1 + 4 * 1.19 * np.sqrt(d)) - 1) / 2
        assert max(four(n, d, 10, 0.5, beta=d**-0.5)[:2]) < 0.005
        assert four(n, d, 10, 0.5, a1=strong, beta=d**-0.5)[1] > 0.94


def test_finite_precision(rng):
    """float16: of all columns almost all differ between D_0 and D_1 at n = 1024, fewer than 40 % at n = 10240."""
    for n, least, most in ((1024, 0.99, 1), (10240, 0, 0.4)):
        d, t, L = n // 4 + 2, 4, np.log(n)
        first, own, last = rng.choice([-1, 1], (3, 4000))
        S = 2 * rng.binomial(d - 3, 0.5, 4000) - (d - 3)
        found = []
        for a in (0.05, 0.7):
            ((w, r),) = linear_rows(n, a)
            found.append(np.sqrt(L) * (a * w * first + 0.5 * ((w + (t - 1) * r) * own + t * r * S) + 0.5 * last))
        assert np.max(np.abs(found[1] - found[0])) <= 0.65 * (1 + 0.75 + 1) * np.sqrt(L) / n
        assert least <= np.mean(found[0].astype(np.float16) != found[1].astype(np.float16)) <= most


def test_limitations(rng):
    """Wrong entries of size ε, several strengths, the strength itself; noise on the outputs at growing n."""
    n, d, a, c, eps = 64, 66, 0.7, 0.9, 1e-4
    clean, L, eta = token_matrix(n, d, a, c, 0), np.log(n), 1e-4 * d
    for E in (np.ones((n, d)), -np.ones((n, d)), rng.uniform(-1, 1, (n, d))):
        A = clean + eps * np.sqrt(L) * E
        f = np.array([weights(row) for row in A @ np.ones((d, d)) @ A.T])
        assert f[0, 0, 0] >= 1 / (1 + (n - 1) * n ** (-(1 + a - eta) * (a - 2 * eta)))
        assert f[:, 0, 0].max() <= 1 / (1 + (n - 1) * n ** (-(1 + a + eta) * (a + 2 * eta)))
        assert f[:, 1, 0].max() <= (1 + a + eta) / (1 + a + eta + (n - 1) * (1 - eta))
        np.testing.assert_allclose(f[:, 1], f[:1, 1].repeat(n, axis=0), rtol=1e-12)
    for n, a in ((12, 0.05), (256, 2.0)):
        v = a * linear_rows(n, a)[0][0]
        np.testing.assert_allclose((v - 1 + np.sqrt((v - 1) ** 2 + 4 * n * v)) / 2, a, rtol=1e-9)

    def distance(n, a0, a1, rows):
        """Distance of the two outputs, t = 1 and c = ½: the marked row and n − 1 equal ones."""
        w0, w1 = (np.array([w for w, _ in (rows(n, a) * 2)[:2]]) for a in (a0, a1))
        squares = (a1 * w1 - a0 * w0) ** 2 + 0.25 * n / (n - 1) * (w1 - w0) ** 2
        return np.sqrt(np.log(n) * (squares[0] + (n - 1) * squares[1]))

    strengths = (0.05, *np.arange(0.6, 1.25, 0.1))
    tv = {
        rows: np.array([[erf(distance(1e6, *sorted((x, y)), rows) / 8**0.5) for y in strengths] for x in strengths])
        for rows in (softmax_rows, linear_rows)
    }
    assert 1 - np.sum(1 - tv[softmax_rows] - np.eye(8)) / 16 > 0.999
    assert (1 + tv[linear_rows].sum(axis=0).min()) / 8 < 1 / 8 + 0.01
    for n in (1e4, 1e8, 1e12):  # linear attention fades, softmax grows for a1 above one half and fades below
        assert distance(n, 0.05, 0.7, linear_rows) <= 0.65 * np.hypot(1.75, 0.5) * np.sqrt(np.log(n) / n)
        assert distance(100 * n, 0.05, 0.3, softmax_rows) < distance(n, 0.05, 0.3, softmax_rows)
        assert distance(100 * n, 0.05, 0.6, softmax_rows) > distance(n, 0.05, 0.6, softmax_rows)
        assert distance(n, 0.1, 0.7, softmax_rows) >= 0.4 * np.sqrt(np.log(n))
        soft, lin = ((1 + erf(distance(n, 0.1, 0.7, rows) / 8**0.5)) / 2 for rows in (softmax_rows, linear_rows))
        assert soft >= 1 - n ** (-1 / 50) / 2
        assert lin <= 0.5 + 0.6 * (1.8 + 0.5) / np.sqrt(8 * np.pi) * np.sqrt(np.log(n) / n)


def test_what_else_the_chapters_state(rng):
    """X = I does not show the mark; streaming; small entries; the degrees of a polynomial; a Gaussian prompt."""
    n, d, a, c = 60, 8, 0.7, 0.5
    A, t = token_matrix(n, d, a, c, 0), 10
    p = weights(A[0] @ A.T)[0][0]
    wanted = 1 / (1 + (t - 1) * n ** -(a**2) + (n - t) * n ** -(a**2 + (1 - c) ** 2))
    np.testing.assert_allclose(p, wanted, rtol=1e-12)
    Q, K, V = rng.uniform(0.1, 1, (3, 9, 4))
    direct = np.array([weights(row)[1] for row in Q @ K.T]) @ V
    np.testing.assert_allclose(Q @ (K.T @ V) / (Q @ K.sum(axis=0))[:, None], direct, rtol=1e-12)
    for B in (0.3, 1.5):
        q, keys = rng.uniform(-B, B, (2, 50, 6))
        assert weights(keys @ q[0] / 6)[0].max() <= 1 / (1 + 49 * np.exp(-2 * B**2))
    for n, first, last in ((1024, 14, 142), (10**6, 27, 283), (10**12, 53, 566)):
        window = [k for k in range(1, 700) if 1.7**k >= n - 1 > 1.05**k]
        assert (window[0], window[-1], len(window)) == (first, last, last - first + 1)
    k, share = np.polynomial.hermite_e.hermegauss(60)
    for sigma, q in ((1.0, 0.5), (2.0, -0.3)):
        tilt = share * np.exp(q * sigma * k)
        np.testing.assert_allclose(tilt @ (sigma * k) / tilt.sum(), sigma**2 * q, rtol=1e-10)
    (S, share), lin = shares(256), {rho: rho * (1 + a) / (1 + rho * a) for rho in (0.25, 0.75)}
    g = a * sum(lin.values()) / 2
    for rho, wanted in ((0.25, 1.03130315e-7), (0.75, 0.943686478)):  # linear attention counts, n = 1024, m = 10
        patterns = list(product((1, -1), repeat=2))
        above = [g + 0.5 * (1 - last) - a * first * lin[rho] < S / 512 for first, last in patterns]
        np.testing.assert_allclose(network(np.mean(above, axis=0) @ share, 10), wanted, rtol=5e-9)
    np.testing.assert_allclose(network(0.25, 10), 0.943686485, rtol=2e-9)


def test_this_file_does_not_use_the_library():
    nodes = list(ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8"))))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} == {"ast", "itertools", "math", "numpy", "pathlib", "pytest"}
    calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not calls & {"__import__", "eval", "exec"}
