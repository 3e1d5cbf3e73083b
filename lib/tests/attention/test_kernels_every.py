"""What every kernel must be: its slow twin, and the gain that is entered for it.  A new one is found by its name."""

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention import reference
from attnsep.attention.attend import attend, values
from attnsep.attention.kernels import KERNELS, OfScores, require_kernel
from attnsep.paper import tokens
from attnsep.paper.gains import GAINS, Infinite, gains, has_gain
from attnsep.paper.tokens import TokenData

TEXTS = [f"{name}:2" if kernel.usage().startswith(f"{name}:") else name for name, kernel in KERNELS.items()]
OF_SCORES = [text for text in TEXTS if isinstance(require_kernel(text), OfScores)]
FIXED = [text for text in TEXTS if not require_kernel(text).random]
WITH_GAIN = [text for text in TEXTS if has_gain(text)]


@pytest.mark.parametrize("kernel", OF_SCORES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5)])
def test_weights_are_those_of_the_slow_twin(xp, rng, kernel, dtype, tolerance):
    scores = rng.uniform(-1, 3, (5, 17)).astype(dtype)
    scores[:, 3] = scores[:, 5] = 2.5  # ties of large scores
    f = require_kernel(kernel).weights(xp.asarray(scores))
    assert f.dtype == getattr(xp, dtype)
    wanted = [reference.weights(row, kernel) for row in scores.tolist()]
    np.testing.assert_allclose(to_numpy(f), wanted, rtol=tolerance, atol=tolerance / 100)


@pytest.mark.parametrize("kernel", OF_SCORES)
def test_no_row_of_any_size_warns_or_has_weights_that_do_not_sum_to_one(xp, kernel):
    for size in (5e-324, 1e-160, 1.0, 1e9, 1e160, 1.5e308):
        f = to_numpy(require_kernel(kernel).weights(xp.asarray([[size, 0.0, size / 2], [0.0, size, size]])))
        np.testing.assert_allclose(f.sum(axis=1), 1, rtol=1e-14)


@pytest.mark.parametrize("kernel", FIXED)
def test_outputs_are_those_of_the_slow_twin(xp, rng, kernel):
    q, k, v = (rng.uniform(-0.2, 1, shape) for shape in ((6, 3), (6, 3), (6, 2)))
    q[:, 0] = k[:, 0] = 1  # no row sum near 0
    found = attend(*map(xp.asarray, (q, k, v)), kernel=require_kernel(kernel))
    wanted = reference.attend(q.tolist(), k.tolist(), v.tolist(), kernel)
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=1e-12)


@pytest.mark.quartered
@pytest.mark.parametrize("kernel", WITH_GAIN)
@pytest.mark.parametrize("a", ["0", "0.05", "0.5", "1.5"])
def test_the_gain_is_that_of_matrices(xp, kernel, a):
    """The first token's entry of an output is a √L times its weight; at a = 0 the gain is 1."""
    data = TokenData(n=12, d=8, a=a, c="0.5")
    A = data.matrix(xp)
    if a == "0":
        assert all(isinstance(R, Infinite) or R.shares(1) == (0.5, 0.5) for R in gains(12, 0, kernel, d=8))
        return
    found = to_numpy(values(A, A, A, data.X(xp), kernel))[:, 0] / (float(a) * data.log_n**0.5)
    closed = tokens.weights(12, a, kernel, d=8)
    np.testing.assert_allclose(found, [closed.p] + [closed.q] * 11, rtol=1e-12)


def test_every_gain_is_that_of_a_kernel_and_some_have_none():
    assert GAINS.keys() < KERNELS.keys()
    assert not has_gain("window:4")
