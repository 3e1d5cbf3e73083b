from fractions import Fraction

import numpy as np
import pytest

from attnsep import reference
from attnsep.arrays import to_numpy
from attnsep.kernels import KERNELS, linear, softmax

ROWS = [[0.5], [1.0, 3.0], [-2.0, 0.5, 4.0], [700.0, -700.0, 699.0], [-3.0, -1.0], [1e-300, 2e-300], [5.0] * 9]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("row", ROWS)
def test_equal_to_the_slow_twin(xp, name, row):
    f = to_numpy(KERNELS[name](xp.asarray(row)))
    np.testing.assert_allclose(f, getattr(reference, name)(row), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", KERNELS)
def test_rows_sum_to_one_and_dtype_is_kept(xp, rng, name, dtype):
    scores = xp.asarray(rng.uniform(0.1, 5.0, (3, 4, 17)), dtype=getattr(xp, dtype))
    f = KERNELS[name](scores)
    assert f.dtype == scores.dtype
    assert f.shape == scores.shape
    np.testing.assert_allclose(to_numpy(xp.sum(f, axis=-1)), 1.0, rtol=20 * np.finfo(dtype).eps)


def test_softmax_against_sixty_digits(rng):
    mpmath = pytest.importorskip("mpmath")
    scores = rng.uniform(-700, 700, 40)
    with mpmath.workdps(60):
        u = [mpmath.exp(mpmath.mpf(float(s))) for s in scores]
        wanted = [float(entry / mpmath.fsum(u)) for entry in u]
    np.testing.assert_allclose(softmax(scores), wanted, rtol=4 * np.finfo(float).eps * 1401)


def test_linear_against_fractions(rng):
    scores = rng.uniform(-1, 2, 40)
    wanted = [float(entry) for entry in reference.linear([Fraction(float(s)) for s in scores])]
    np.testing.assert_allclose(linear(scores), wanted, rtol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_permuting_tokens_permutes_weights(rng, name):
    scores, order = rng.uniform(0.1, 3, 12), rng.permutation(12)
    np.testing.assert_allclose(KERNELS[name](scores[order]), KERNELS[name](scores)[order], rtol=1e-14)


def test_masked_tokens_get_no_weight():
    assert softmax(np.array([0.0, -np.inf, 0.0])).tolist() == [0.5, 0.0, 0.5]


@pytest.mark.parametrize("row", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_softmax_rejects_rows_without_weights(xp, row):
    with pytest.raises(ValueError, match="scores: a row has NaN or inf"):
        softmax(xp.asarray([[1.0, 2.0], row]))


@pytest.mark.parametrize("row", [[1.0, -1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [0.1, 0.2, -0.3]])
def test_linear_rejects_rows_without_a_sum(xp, row):
    """0.1 + 0.2 − 0.3 is 5.6e-17 in doubles: a sum that is nothing but rounding is no normaliser."""
    with pytest.raises(ValueError, match="alpha_lin = 0"):
        linear(xp.asarray(row))


def test_linear_accepts_long_rows_of_one_sign():
    f = linear(np.ones(10_000_000, dtype=np.float32))  # here n times float32's epsilon is above 1
    assert float(f[0]) == pytest.approx(1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values())
def test_kernels_reject_what_has_no_rows(kernel):
    with pytest.raises(TypeError, match="must be an array"):
        kernel([1.0, 2.0])
    with pytest.raises(TypeError, match="dtype int64, must be float64 or float32"):
        kernel(np.array([1, 2]))
    for empty in (np.ones((2, 0)), np.array(1.0)):
        with pytest.raises(ValueError, match="at least one token"):
            kernel(empty)


@pytest.mark.parametrize("kernel", KERNELS.values())
def test_half_precision_is_refused(kernel):
    """Its sum over 70000 tokens overflows, and all weights would be 0."""
    with pytest.raises(TypeError, match="scores: dtype float16"):
        kernel(np.ones(70_000, np.float16))
