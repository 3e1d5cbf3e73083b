"""attnsep.paper.network meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.paper import network
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import RNG, XP, matrices, some


@fuzz(network.signs, rng=RNG, n=st.integers(1, 5), m=st.integers(1, 5), xp=XP)
def test_signs_are_plus_or_minus_one(result, rng, n, m, xp):
    assert to_numpy(result).shape == (n, m)
    assert np.all(np.abs(to_numpy(result)) == 1)


@fuzz(network.relu, matrices(("z", "nd")), passes_nan=True)
def test_relu_cuts_at_zero(result, z):
    assert np.array_equal(to_numpy(result), np.clip(to_numpy(z), 0, None), equal_nan=True)


@fuzz(network.shifted_relu, matrices(("z", "nd")), tau=some(0, 0.5, -1.5, Fraction(1, 3)), passes_nan=True)
def test_shifted_relu_cuts_at_tau(result, z, tau):
    with np.errstate(over="ignore"):  # where float32 cannot hold this τ
        wanted = np.clip(to_numpy(z) - float(tau), 0, None)
    assert np.allclose(to_numpy(result), wanted, equal_nan=True)


def by_hand(f, y, tau):
    f = np.atleast_2d(to_numpy(f)).astype(np.float64)
    with np.errstate(invalid="ignore"):  # an infinite product may be below τ
        return np.sum(np.clip(f @ to_numpy(y).astype(np.float64) - float(tau), 0, None))


@fuzz(network.network, matrices(("f", "rn"), ("y", "nm")), tau=some(0, 0.5, -1.5, Fraction(1, 3)))
def test_the_network_is_that_by_hand(result, f, y, tau):
    assert np.allclose(float(result), by_hand(f, y, tau), rtol=1e-4, atol=1e-4)


@fuzz(network.fires, matrices(("f", "rn"), ("y", "nm")), tau=some(0, 0.5, -1.5, Fraction(1, 3)))
def test_the_network_fires_as_by_hand(result, f, y, tau):
    sizes = [np.max(np.abs(to_numpy(x)), initial=0) for x in (f, y)]
    size = 1e-4 * (float(abs(tau)) + float(sizes[0]) * float(sizes[1])) + 1e-37  # float32 has no smaller ones
    assert result == (by_hand(f, y, tau) > 0) or by_hand(f, y, tau) < size
