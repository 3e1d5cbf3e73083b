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


# Typed a second time: Schlag, Irie and Schmidhuber (2021), best evaluation loss of each number of pairs.
TYPED_AGAIN = """
pairs    20     40     60     80     100    120    160    200    300    400    600
softmax  0.0006 0.0003 0.0001 0.0000 0.0000 0.0000 0.0000 0.0000 0.0000 0.0000 0.0303
elu+1    0.0009 0.0008 0.0245 0.1084 0.1642 0.2322 0.3011 0.3420 0.3971 0.4216 0.4513
"""


def test_the_reported_table_was_typed_the_same_way_twice():
    """Whoever finds the two copies differ looks into the paper, and mends the wrong one."""
    sizes, *rows = (line.split() for line in TYPED_AGAIN.strip().splitlines())
    again = {name: dict(zip(map(int, sizes[1:]), map(float, losses), strict=True)) for name, *losses in rows}
    assert again == REPORTED


@pytest.mark.parametrize(("pairs", "features"), [(0, 1), (1, 0)])
def test_bad_sizes_are_rejected(pairs, features):
    with pytest.raises(ValueError, match="must be at least 1"):
        recall_floor(pairs, features)


def test_the_reported_losses_are_those_of_the_paper():
    """In ten-thousandths, typed a second time."""
    again = {
        "softmax": "20: 6, 40: 3, 60: 1, 80: 0, 100: 0, 120: 0, 160: 0, 200: 0, 300: 0, 400: 0, 600: 303",
        "elu+1": "20: 9, 40: 8, 60: 245, 80: 1084, 100: 1642, 120: 2322, "
        "160: 3011, 200: 3420, 300: 3971, 400: 4216, 600: 4513",
    }
    for kernel, losses in REPORTED.items():
        assert ", ".join(f"{pairs}: {round(10_000 * loss, 9):g}" for pairs, loss in losses.items()) == again[kernel]
