"""Headline theorems once more, in plain NumPy and without the library.

A wrong definition that the library, its twins and its claims share would pass every other test.
"""

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
