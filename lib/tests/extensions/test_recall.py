"""The floor of recall against singular values, and what it refuses."""

import numpy as np
import pytest

from attnsep.extensions.recall import REPORTED, recall_floor


@pytest.mark.parametrize(("N", "m"), [(1, 1), (6, 2), (9, 8), (9, 20)])
def test_the_floor_is_the_distance_to_the_matrices_of_that_rank(rng, N, m):
    orthogonal, _ = np.linalg.qr(rng.standard_normal((N, N)))
    nearest = orthogonal[:, :m] @ orthogonal[:, :m].T
    assert np.linalg.matrix_rank(nearest) == min(m, N)
    np.testing.assert_allclose(np.sum((np.eye(N) - nearest) ** 2) / (2 * N), float(recall_floor(N, m)), atol=1e-12)
    u, s, v = np.linalg.svd(nearest + 0.1 * rng.standard_normal((N, N)))
    other = u[:, :m] * s[:m] @ v[:m]
    assert np.sum((np.eye(N) - other) ** 2) / (2 * N) >= float(recall_floor(N, m)) - 1e-12


def test_the_reported_table_has_both_kernels_at_the_same_sizes():
    assert REPORTED["softmax"].keys() == REPORTED["elu+1"].keys()
    assert len(REPORTED["softmax"]) == 11


@pytest.mark.parametrize(("pairs", "features"), [(0, 1), (1, 0)])
def test_bad_sizes_are_rejected(pairs, features):
    with pytest.raises(ValueError, match="must be at least 1"):
        recall_floor(pairs, features)
