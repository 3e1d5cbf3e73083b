"""attnsep.learn.model meets drawn arguments: it is right about them, or refuses them by name."""

import numpy as np

from attnsep.learn import model
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import LEARN, RNG, some


@fuzz(model.require_learn_kernel, kernel=LEARN)
def test_a_kernel_of_the_models_passes(result, kernel):
    assert result == kernel


@fuzz(model.weights, q=some(np.ones((2, 3))), k=some(np.ones((4, 3))), kernel=LEARN, kept={"q", "k"})
def test_equal_scores_have_equal_weights(result, q, k, kernel):
    assert np.allclose(result, np.sqrt(3) if kernel == model.UNNORMALISED else 1 / 4)


@fuzz(model.normaliser_margin, u=some(np.array([[1.0, 1.0], [3.0, -1.0]])), kept={"u"})
def test_a_margin_lies_between_0_and_1(result, u):
    assert result == 0.5


@fuzz(model.concentration, u=some(np.array([[1.0, 0.0], [1.0, -1.0]])), kept={"u"})
def test_shares_are_those_of_sizes(result, u):
    assert np.allclose(result, [np.log(2) / 2, 0.75])


@fuzz(model.initial_block, rng=RNG, d=some(1, 4), width=some(2), hidden=some(3), kind=some("full", "bare"))
def test_a_block_has_the_asked_shape(result, rng, d, width, hidden, kind):
    assert result["up"].shape == (d, hidden)


BLOCK = model.initial_block(np.random.default_rng(1), d=2, width=2, hidden=3)


@fuzz(model.block, p=some(BLOCK), x=some(np.ones((1, 2, 2))), kernel=LEARN, kept={"p", "x"})
def test_a_block_keeps_the_shape(result, p, x, kernel):
    assert result.shape == x.shape


@fuzz(model.gaussian, rng=RNG, rows=some(1, 5), columns=some(1, 3))
def test_a_gaussian_matrix_has_the_asked_shape(result, rng, rows, columns):
    assert result.shape == (rows, columns)
