"""The floor of recall against singular values, and what it refuses."""

from fractions import Fraction

import numpy as np
import pytest

from attnsep.extensions.recall import REPORTED, recall_floor, reported_weights, weighted_floor
from attnsep.learn.tasks import task


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


def test_the_reported_losses_are_the_least_of_the_public_logs():
    """Typed from there, to a millionth."""
    logs = {
        "softmax": "20 634, 40 324, 60 72, 80 30, 100 20, 120 11, 160 6, 200 9, 300 5, 400 3, 600 30332",
        "elu+1": "20 889, 40 829, 60 24510, 80 108433, 100 164205, 120 232224, "
        "160 301111, 200 341958, 300 397073, 400 421559, 600 451346",
    }
    for kernel, losses in REPORTED.items():
        again = dict(map(int, entry.split()) for entry in logs[kernel].split(","))
        assert losses == {pairs: round(loss / 1e6, 4) for pairs, loss in again.items()}


@pytest.mark.parametrize(("n", "m"), [(1, 1), (6, 2), (9, 8), (9, 20)])
def test_the_weighted_floor_is_a_distance_to_the_matrices_of_that_rank(rng, n, m):
    """No matrix of rank m is nearer to I in the weighted norm than one that keeps the heaviest questions."""
    weights = [Fraction(int(x), 100) for x in rng.integers(0, 100, n)]
    w = np.array(weights, float)
    floor = float(weighted_floor(weights, m))
    nearest = np.diag((np.argsort(np.argsort(-w)) < m).astype(float))
    np.testing.assert_allclose(w @ np.sum((np.eye(n) - nearest) ** 2, axis=1) / 2, floor, atol=1e-12)
    for _ in range(50):
        near = nearest + 0.1 * rng.standard_normal((n, n))
        u, s, v = np.linalg.svd(near)
        other = u[:, :m] * s[:m] @ v[:m]
        assert w @ np.sum((np.eye(n) - other) ** 2, axis=1) / 2 >= floor - 1e-12
    assert weighted_floor([Fraction(1, n)] * n, m) == recall_floor(n, m)


@pytest.mark.parametrize("pairs", [20, 60, 100, 200, 300])
def test_reported_weights_are_those_of_an_evaluation(rng, pairs):
    chosen = task("retrieval", {"pairs": pairs})
    scores = rng.random((20, min(pairs, chosen.asked)))
    weights = np.array(reported_weights(pairs), float)
    assert len(weights) == pairs
    np.testing.assert_allclose(chosen.judged(scores), np.mean(scores @ weights[: scores.shape[1]]), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_floor([1, -1], 1), "weights"),
        (lambda: weighted_floor([1], 0), "features = 0"),
        (lambda: reported_weights(0), "pairs = 0"),
    ],
)
def test_bad_weights_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
