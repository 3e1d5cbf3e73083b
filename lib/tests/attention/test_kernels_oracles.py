"""Our kernels against the libraries that their users know: make test-oracles."""

import numpy as np
import pytest

from attnsep.attention import attend, kernels

WHY = "compares with PyTorch and the package entmax: make test-oracles"
entmax = pytest.importorskip("entmax", reason=WHY)
torch = pytest.importorskip("torch", reason=WHY)

ORACLES = {
    "sparsemax": lambda x: entmax.sparsemax(x, dim=-1),
    "entmax": lambda x: entmax.entmax15(x, dim=-1),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "softmax:2": lambda x: torch.softmax(2 * x, dim=-1),
    "sigmoid": lambda x: torch.sigmoid(x) / torch.sigmoid(x).sum(-1, keepdim=True),
    "squared-relu": lambda x: torch.relu(x) ** 2 / (torch.relu(x) ** 2).sum(-1, keepdim=True),
}
ROWS = {
    "random": lambda rng: rng.standard_normal((50, 40)),
    "spread": lambda rng: 30 * rng.standard_normal((50, 40)),
    "close": lambda rng: 1e-6 * rng.standard_normal((50, 40)) + 1,
    "ties": lambda rng: rng.integers(0, 3, (50, 40)) / 4,
    "long": lambda rng: rng.standard_normal((3, 20_000)),
    "outlier": lambda rng: np.hstack([rng.uniform(0, 1, (50, 9)), np.full((50, 1), 1e6), np.full((50, 1), -1e6)]),
    "one": lambda rng: rng.uniform(1, 2, (5, 1)),
}


@pytest.mark.parametrize("kernel", ORACLES)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_weights_are_the_librarys(rng, kernel, rows, dtype):
    scores = ROWS[rows](rng).astype(dtype)
    wanted = ORACLES[kernel](torch.from_numpy(scores)).numpy()
    found = kernels.weights(scores, kernel)
    eps = np.finfo(dtype).eps * scores.shape[-1]  # of sums of so many scores
    np.testing.assert_allclose(found, wanted, rtol=50 * eps, atol=50 * eps / scores.shape[-1] ** 0.5)
    assert abs(found.sum(-1) - 1).max() < 10 * eps


def test_elu_features_are_the_librarys(rng):
    q, k, v = (3 * rng.standard_normal(shape) for shape in ((6, 4), (9, 4), (9, 2)))
    phi = [torch.nn.functional.elu(torch.from_numpy(x)) + 1 for x in (q, k)]
    f = phi[0] @ phi[1].T
    wanted = (f / f.sum(-1, keepdim=True)) @ torch.from_numpy(v)
    np.testing.assert_allclose(attend.attend(q, k, v, kernel="elu+1"), wanted.numpy(), rtol=1e-12)
