import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.paper.network import fires, network, relu, shifted_relu, signs


def loops(f, y, tau):
    """F from the definition, number by number."""
    total = 0.0
    for row in np.atleast_2d(f):
        for j in range(y.shape[1]):
            total += max(sum(float(row[i]) * float(y[i, j]) for i in range(len(row))) - tau, 0.0)
    return max(total, 0.0)


def test_signs_are_the_generators_on_every_library(xp):
    y = signs(np.random.default_rng(5), 200, 300, xp)
    assert y.shape == (200, 300)
    assert y.dtype == xp.float64
    host = to_numpy(y)
    assert set(np.unique(host)) == {-1.0, 1.0}
    np.testing.assert_array_equal(host, to_numpy(signs(np.random.default_rng(5), 200, 300, xp)))
    np.testing.assert_array_equal(host, signs(np.random.default_rng(5), 200, 300, np))
    assert abs(host.mean()) < 6 / np.sqrt(host.size)
    assert np.max(np.abs(host.T @ host / 200 - np.eye(300))) < 0.5  # columns are independent of each other


def test_relus_entry_by_entry(xp):
    z = xp.asarray([-2.0, 0.0, 0.25, 3.0])
    np.testing.assert_array_equal(to_numpy(relu(z)), [0, 0, 0.25, 3])
    np.testing.assert_array_equal(to_numpy(shifted_relu(z, 0.25)), [0, 0, 0, 2.75])
    np.testing.assert_array_equal(to_numpy(shifted_relu(z, -1.0)), [0, 1, 1.25, 4])
    narrow = xp.astype(z, xp.float32)  # which cannot hold this τ
    np.testing.assert_array_equal(to_numpy(shifted_relu(narrow, 1e300)), [0, 0, 0, 0])
    assert np.isnan(to_numpy(relu(xp.asarray([np.nan])))).all()


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (1, 4), (5, 3)])
@pytest.mark.parametrize("m", [1, 6])
@pytest.mark.parametrize("tau", [-0.5, 0.0, 0.3, 100.0])
def test_network_is_its_definition(xp, rng, shape, m, tau):
    f, y = rng.standard_normal(shape), signs(rng, shape[-1], m, np)
    F = network(xp.asarray(f), xp.asarray(y), tau)
    assert F.shape == ()
    assert float(F) == pytest.approx(loops(f, y, tau), rel=1e-13, abs=1e-13)
    assert fires(xp.asarray(f), xp.asarray(y), tau) is (loops(f, y, tau) > 0)


def test_a_tie_does_not_fire(xp):
    f, y = xp.asarray([0.75, 0.25]), xp.asarray([[1.0], [-1.0]])
    assert fires(f, y, 0.5) is False
    assert fires(f, y, 0.499) is True


def test_dtype_of_the_weights_is_kept(xp):
    f = xp.asarray([0.5, 0.5], dtype=xp.float32)
    assert network(f, xp.asarray([[1.0], [1.0]]), 0.25).dtype == xp.float32
    assert network(f, xp.asarray([[1], [1]]), 0.25).dtype == xp.float32


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda xp: signs(np.random.default_rng(1), 0, 2, xp), ValueError, "n = 0"),
        (lambda xp: signs(np.random.default_rng(1), 2, 0, xp), ValueError, "m = 0"),
        (lambda xp: signs(np.random.default_rng(1), 2.0, 1, xp), TypeError, "n = 2.0"),
        (lambda xp: signs(np.random.default_rng(1), 10**12, 2, xp), ValueError, "n, m = 1000000000000, 2: "),
        (lambda xp: signs(np.random.default_rng(1), 2, 10**12, xp), ValueError, "n, m = 2, 1000000000000: "),
        (lambda xp: signs(None, 2, 2, xp), TypeError, "rng = None: must be a numpy"),
        (lambda xp: shifted_relu(xp.asarray([1, 2]), 0.5), TypeError, "z: dtype"),
        (lambda xp: relu(xp.asarray([1, 2])), TypeError, "z: dtype"),
        (lambda xp: relu([1.0]), TypeError, "z = "),
        (lambda xp: shifted_relu([1.0], 0.5), TypeError, "z = "),
        (lambda xp: shifted_relu(xp.asarray([1.0]), "0.5"), TypeError, "tau = '0.5'"),
        (lambda xp: shifted_relu(xp.asarray([1.0]), float("nan")), ValueError, "tau = nan"),
        (lambda xp: network(xp.ones((3,)), xp.ones((2, 1)), 0.1), ValueError, r"y: shape \(2, 1\)"),
        (lambda xp: network(xp.ones((3,)), xp.ones((3,)), 0.1), ValueError, r"y: shape \(3,\), must be \(3, m\)"),
        (lambda xp: network(xp.ones((5, 3)), xp.ones((5, 2)), 0.1), ValueError, r"y: shape \(5, 2\), must be \(3, m\)"),
        (lambda xp: network(xp.ones((2, 2, 3)), xp.ones((3, 1)), 0.1), ValueError, r"f: shape \(2, 2, 3\)"),
        (lambda xp: network(xp.asarray([1, 1]), xp.ones((2, 1)), 0.1), TypeError, "f: dtype"),
        (lambda xp: network(xp.asarray([float("nan"), 1.0]), xp.ones((2, 1)), 0.1), ValueError, "not finite"),
        (lambda xp: network(xp.asarray([float("inf"), 1.0]), xp.ones((2, 1)), 0.1), ValueError, "not finite"),
        (lambda xp: network(xp.asarray([1e308, 1e308]), xp.ones((2, 1)), 0.1), ValueError, "not finite"),
        (lambda xp: fires(xp.asarray([float("nan"), 1.0]), xp.ones((2, 1)), 0.1), ValueError, "not finite"),
        (lambda xp: fires(xp.asarray([float("inf"), 1.0]), xp.ones((2, 1)), 0.1), ValueError, "not finite"),
    ],
)
def test_bad_input_is_named(xp, call, error, words):
    with pytest.raises(error, match=words):
        call(xp)


def test_mixed_libraries_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(TypeError, match="f, y: arrays of different libraries"):
        network(np.ones(2), strict.ones((2, 1)), 0.1)
