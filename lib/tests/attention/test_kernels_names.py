from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from attnsep.attention import _streams
from attnsep.attention.attend import attend, values
from attnsep.attention.kernels import (
    KERNELS,
    FeatureMap,
    Kernel,
    Linear,
    OfRows,
    OfScores,
    Softmax,
    TopK,
    linear,
    require_kernel,
    require_pair,
    softmax,
)
from attnsep.bench import cost
from attnsep.extensions import (
    any_readout,
    limitations,
    mechanisms,
    scaling,
    sensitivity,
    where_linear_wins,
    which_attentions,
)
from attnsep.learn import model
from attnsep.paper import tokens
from attnsep.paper.gains import gains
from attnsep.probability.sign_sums import clopper_pearson


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("softmax", ("softmax", 1)),
        ("softmax:0", ("softmax", 0)),
        ("softmax:0.7", ("softmax", Fraction(7, 10))),
        ("softmax:1e300", ("softmax", 10**300)),
        ("polynomial:+3", ("polynomial", 3)),
        ("polynomial:" + "9" * 300, ("polynomial", 10**300 - 1)),
        ("performer:64", ("performer", 64)),
        ("topk:016", ("topk", 16)),
        ("window:0", ("window", 0)),
    ],
)
def test_a_kernel_is_a_name_and_a_number(text, kernel):
    found = Kernel.parse(text)
    assert (found.name, found.parameter) == kernel
    assert Kernel.parse(str(found)) == found


def test_every_name_can_be_written_as_its_usage_says():
    for name, kernel in KERNELS.items():
        text = f"{name}:2" if ":" in (usage := kernel.usage()) and "[" not in usage else name
        assert type(require_kernel(text)) is kernel
        assert usage.startswith(name)


def test_a_kernel_is_its_class_and_its_parameter():
    assert Softmax(beta="0.5") == Softmax(Fraction(1, 2)) == require_kernel("softmax:0.5") != Softmax()
    assert {TopK(3): 1}[require_kernel("topk:3")] == 1
    assert (repr(TopK(16)), str(TopK(16)), repr(Softmax()), str(Softmax())) == (
        "TopK(k=16)",
        "topk:16",
        "Softmax(beta=1)",
        "softmax",
    )
    assert require_kernel(kernel := TopK(3)) is kernel


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TopK(0), ValueError, "^k = 0: must be at least 1"),
        (lambda: TopK(1.5), TypeError, "^k = 1.5: must be an integer"),
        (lambda: Softmax(beta=-1), ValueError, "^beta = -1: must be at least 0"),
        (lambda: Softmax(beta=[]), TypeError, "^beta = .*must be a real number"),
    ],
)
def test_what_is_no_parameter_is_named(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be one of softmax\\[:beta\\], linear, polynomial:degree"),
        ("Softmax", "must be one of"),
        ("topk ", "must be one of"),
        ("topk", "must be topk:k"),
        ("topk:", "k = '': must be a whole number"),
        ("topk:1.5", "k = '1.5': must be a whole number"),
        ("topk:1e3", "k = '1e3': must be a whole number"),
        ("topk:١٢", "must be a whole number"),
        ("topk:2:3", "k = '2:3': must be a whole number"),
        ("topk:-1", "k = -1: must be at least 1"),
        ("polynomial:0", "degree = 0: must be at least 1"),
        ("polynomial:1" + 300 * "0", "must be a whole number"),
        ("performer:0", "features = 0: must be at least 1"),
        ("window:-1", "width = -1: must be at least 0"),
        ("hard:1", "must be hard$"),
        ("linear:", "must be linear$"),
        ("softmax:", "beta = '': must be a finite number"),
        ("softmax:-1", "beta = '-1': must be at least 0"),
        ("softmax:nan", "beta = 'nan': must be a finite number"),
        ("softmax:1e301", "beta = '1e301': must be 0 or between 1e-1000 and 1e300"),
    ],
)
def test_what_is_no_kernel_is_named(text, words):
    with pytest.raises(ValueError, match=words) as caught:
        require_kernel(text)
    assert str(caught.value).startswith(f"kernel = {text!r}: ")


def test_a_kernel_is_a_string():
    with pytest.raises(TypeError, match="kernel = 3: must be a kernel or a string"):
        require_kernel(3)


def test_the_pair():
    assert [require_pair(kernel) for kernel in ("softmax", "linear", Softmax())] == ["softmax", "linear", "softmax"]
    for kernel in ("softmax:2", Softmax(beta=2)):
        with pytest.raises(ValueError, match="kernel = 'softmax:2': must be softmax or linear here"):
            require_pair(kernel)


DATA = tokens.TokenData(n=16, d=6, a="0.7", c="0.5")
FLAT = tokens.TokenData(n=4096, d=1026, a="0.05", c="0.5")
RAGGED = tokens.TokenData(class_sizes=[4] * 9, a="0.7", c="0.5")
CALLS = [
    lambda kernel: gains(16, 1, kernel),
    lambda kernel: tokens.weights(16, 1, kernel),
    lambda kernel: tokens.Law(DATA, kernel).column_probability(),
    lambda kernel: tokens.Law(DATA, kernel).fires_bounds(3),
    lambda kernel: tokens.Law(DATA, kernel).values(),
    lambda kernel: tokens.Law(RAGGED, kernel).column_bounds(),
    lambda kernel: any_readout.distances(16, 6, "0.1", "0.7", "0.5", kernel),
    lambda kernel: any_readout.recovery_probability(100, "0.7", "0.1", 1, kernel),
    lambda kernel: limitations.weight_bounds(DATA, 0.01, kernel),
    lambda kernel: limitations.fires_bounds(FLAT, 3, 1e-9, kernel),
    lambda kernel: mechanisms.outputs(np.eye(2), np.eye(2) + 1, kernel, normalised=False).tolist(),
    lambda kernel: mechanisms.values_closed(DATA, kernel, normalised=False),
    lambda kernel: scaling.width_limit(6, "0.7", "0.5", kernel),
    lambda kernel: sensitivity.column_map(16, 6, [0.7], [0.5], kernel).tolist(),
    lambda kernel: where_linear_wins.marked_mass(16, 1, "0.5", kernel),
    lambda kernel: cost.multiply_adds(7, 3, kernel),
    lambda kernel: model.weights(np.eye(2) + 1, np.eye(2) + 1, kernel).tolist(),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_kernel_and_its_text_are_one(call):
    assert call(Softmax()) == call("softmax")
    assert call(Linear()) == call("linear")
    assert str(call(Softmax())) != str(call(Linear()))


class Cubed(Softmax):
    """One's own: made from another kernel, without a name."""

    def weights(self, scores):
        return scores**3 / (scores**3).sum(axis=-1, keepdims=True)

    def _attend(self, xp, q, k, v, threads=None):
        return OfScores._attend(self, xp, q, k, v, threads)


def test_a_kernel_of_ones_own_attends_and_is_sampled_and_has_no_other_ones_gain(rng):
    kernel, data = Cubed(), tokens.TokenData(n=6, d=5, a=2, c="0.5")
    assert Cubed not in KERNELS.values()
    assert Cubed() != Softmax()
    A, X = data.matrix(np), data.X(np)
    np.testing.assert_allclose(attend(A @ X, A, A, kernel=kernel), values(A, A, A, X, "polynomial:3"), rtol=1e-13)
    with pytest.raises(ValueError, match="kernel = 'Cubed': no gain is known; matrices and sampling serve"):
        gains(6, 2, kernel)
    with pytest.raises(ValueError, match="kernel = 'Cubed': must be softmax or linear here"):
        require_pair(kernel)
    hits = which_attentions.fired_networks(np.random.default_rng(3), data, 2, kernel, draws=2000)
    low, high = clopper_pearson(hits, 2000, 1e-9)
    assert low < tokens.Law(data, "polynomial:3").fires(2) < high


@dataclass(frozen=True)
class Shifted(OfScores):
    """One's own, with a number that the library has no rule for."""

    by: float = 1.0

    def weights(self, scores):
        return linear(scores + self.by)


class Named(OfScores):
    def __init__(self, power):
        self.power = power

    def weights(self, scores):
        return linear(scores**self.power)


def test_kernels_of_ones_own_may_have_numbers(rng):
    q, k, v = (rng.uniform(0.1, 1, (4, 3)) for _ in "qkv")
    np.testing.assert_allclose(attend(q, k, v, kernel=Shifted(2.0)), linear(q @ k.T + 2) @ v, rtol=1e-13)
    np.testing.assert_allclose(attend(q, k, v, kernel=Named(2)), attend(q, k, v, kernel="polynomial:2"), rtol=1e-13)


class Nearer(OfRows):
    """Softmax of scores that fall with the distance of two places."""

    by_place = True

    def weights(self, q, k, positions=None):
        places = np.arange(q.shape[0]) if positions is None else positions
        return softmax(q @ k.T - np.abs(places[:, None] - np.arange(k.shape[0])))


class Squares(FeatureMap):
    def _features(self, xp, rows):
        return rows * rows


def test_kernels_of_ones_own_may_look_at_places_and_rows(rng, monkeypatch):
    monkeypatch.setattr(_streams, "BLOCK_ROWS", 3)
    q, k, v = (rng.uniform(0.1, 1, (2, 8, 3)) for _ in "qkv")
    wanted = np.stack([Nearer().weights(*pair) @ x for *pair, x in zip(q, k, v, strict=True)])
    np.testing.assert_allclose(attend(q, k, v, kernel=Nearer()), wanted, rtol=1e-13)
    np.testing.assert_allclose(attend(q, k, v, kernel=Squares()), attend(q * q, k * k, v, kernel="linear"), rtol=1e-14)
    np.testing.assert_allclose(Squares().weights(q[0], k[0]), linear(q[0] ** 2 @ (k[0] ** 2).T), rtol=1e-13)
