"""Headline theorems once more, in plain NumPy and without the library.

A wrong definition that the library, its twins and its claims share would pass every other test.
"""

from itertools import product
from math import comb, erf

import numpy as np


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
