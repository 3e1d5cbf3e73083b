"""attnsep.attention.kernels meets drawn arguments: it is right about them, or refuses them by name."""

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.attention import kernels
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import KERNEL, PAIR, matrices, some


def rows_sum_to_one(result, scores):
    f, given = to_numpy(result), to_numpy(scores)
    assert f.shape == given.shape
    assert f.dtype == given.dtype
    assert np.all(np.isfinite(f))
    size = np.sum(np.abs(f), axis=-1)
    assert np.all(np.abs(np.sum(f, axis=-1) - 1) <= 64 * np.finfo(f.dtype).eps * f.shape[-1] * size)


def grows_with_the_score(result, scores):
    rows_sum_to_one(result, scores)
    f, s = to_numpy(result), to_numpy(scores)
    assert np.all((f >= 0) & (f <= 1 + 1e-6))
    order = np.argsort(s, axis=-1, kind="stable")
    assert np.all(np.diff(np.take_along_axis(f, order, axis=-1), axis=-1) >= -1e-6)


@fuzz(kernels.require_kernel, kernel=KERNEL)
def test_a_kernel_is_parsed_exactly(result, kernel):
    assert result == kernels.Kernel.parse(str(result))
    assert str(result).partition(":")[0] == str(kernel).partition(":")[0]


@fuzz(kernels.require_pair, kernel=PAIR)
def test_one_of_the_pair_passes(result, kernel):
    assert result == kernel in kernels.PAIR


SCORES = matrices(("scores", "rn"))
ROWS = matrices(("q", "nd"), ("k", "nd"))
NUMBER = some(1, 2, 3, 10**6, np.int64(2))
RISING = ("softmax", "sigmoid", "hard", "sparsemax", "entmax", "squared-relu")


def parameter(kernel):
    """Return {name: strategy} of the number that the class of a kernel takes, if any."""
    named = kernel.usage().partition("[:" if "[" in kernel.usage() else ":")[2].rstrip("]")
    return {named: some(2, "0.5") if kernel is kernels.Softmax else NUMBER} if named else {}


def made(kernel):
    return st.just(kernel(1) if parameter(kernel) else kernel())


for kernel in kernels.KERNELS.values():

    @fuzz(kernel, **parameter(kernel))
    def test_a_kernel_is_what_its_text_says(result, **parameter):
        assert result == kernels.Kernel.parse(str(result))


for kernel in kernels.KERNELS.values():
    if issubclass(kernel, kernels.OfScores):

        @fuzz(kernel.weights, SCORES, self=made(kernel))
        def test_weights_of_scores_sum_to_one_and_grow_where_they_should(result, scores, self):
            (grows_with_the_score if self.name in RISING else rows_sum_to_one)(result, scores)


for kernel in (*kernels.KERNELS.values(), kernels.FeatureMap):
    if not issubclass(kernel, kernels.OfScores) and "weights" in vars(kernel):
        kinds = some(kernels.Elu(), kernels.Relu()) if kernel is kernels.FeatureMap else made(kernel)

        @fuzz(kernel.weights, ROWS, self=kinds, positions=st.none())
        def test_each_query_has_weights(result, q, k, self, positions):
            assert result.shape == (q.shape[0], k.shape[0])
            assert np.all(to_numpy(result) >= 0)
            assert np.allclose(np.sum(to_numpy(result), axis=1), 1, rtol=1e-4)


for function in (kernels.softmax, kernels.linear):

    @fuzz(function, SCORES)
    def test_rows_of_the_pair_sum_to_one(result, scores):
        rows_sum_to_one(result, scores)


@fuzz(kernels.weights, SCORES, kernel=KERNEL)
def test_rows_sum_to_one_under_every_kernel(result, scores, kernel):
    rows_sum_to_one(result, scores)
