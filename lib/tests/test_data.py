import math

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.data import QueryData


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 1}, "n = 1: must be at least 2"),
        ({"n": 2, "d": 0}, "d = 0: must be at least 1"),
        ({"n": 2, "position": 2}, "position = 2: must be below n = 2"),
        ({"n": 2, "position": -1}, "position = -1: must be at least 0"),
        ({"n": 2, "low": 0.0}, "low = 0.0: must be finite and above 0"),
        ({"n": 2, "low": -1.0}, "low = -1.0: must be finite and above 0"),
        ({"n": 2, "high": math.inf}, "high = inf: must be finite and above 0"),
        ({"n": 2, "high": math.nan}, "high = nan: must be finite and above 0"),
        ({"n": 2, "low": 2.0, "high": 1.0}, "low = 2.0, high = 1.0: must satisfy low <= high"),
        ({"n": 2, "spike": 0.0}, "spike = 0.0: must be finite and above 0"),
    ],
)
def test_values_that_break_a_rule(parameters, message):
    with pytest.raises(ValueError, match=message):
        QueryData(**parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 2.0}, "n = 2.0: must be an integer"),
        ({"n": True}, "n = True: must be an integer"),
        ({"n": "8"}, "n = '8': must be an integer"),
        ({"n": 2, "low": "1"}, "low = '1': must be a real number"),
        ({"n": 2, "low": True}, "low = True: must be a real number"),
        ({"n": 2, "spike": 1j}, "spike = 1j: must be a real number"),
    ],
)
def test_types_that_break_a_rule(parameters, message):
    with pytest.raises(TypeError, match=message):
        QueryData(**parameters)


def test_borders_are_allowed():
    data = QueryData(n=np.int64(2), low=1.0, high=1.0, spike=1e-9, position=1, d=1)
    assert data.spike_score == pytest.approx(1e-9 * math.log(2))


@pytest.mark.parametrize("spike", [None, 2.0])
@pytest.mark.parametrize("position", [0, 3, 6])
@pytest.mark.parametrize("fill", ["uniform", "low", "high", "one-low", "one-high"])
def test_scores_lie_in_the_data_set(rng, spike, position, fill):
    data = QueryData(n=7, low=0.5, high=1.5, spike=spike, position=position)
    v = data.scores(rng, fill=fill)
    ordinary = np.delete(v, position) if spike else v
    assert np.all((ordinary >= 0.5) & (ordinary <= 1.5))
    if spike:
        assert v[position] == 2.0 * math.log(7)
    different = {"low": (0, 7), "high": (7, 0), "one-low": (6, 1), "one-high": (1, 6)}
    if fill in different and not spike:
        assert (int(np.sum(v == 1.5)), int(np.sum(v == 0.5))) == different[fill]


def test_one_low_and_one_high_keep_their_odd_token_beside_a_spike_at_the_end():
    v = QueryData(n=3, low=1.0, high=2.0, spike=5.0, position=2).scores(None, fill="one-high")
    assert v[:2].tolist() == [1.0, 2.0]


def test_unknown_fill():
    with pytest.raises(ValueError, match="fill = 'middle': must be uniform"):
        QueryData(n=2).scores(None, fill="middle")


@pytest.mark.parametrize("d", [1, 2, 8])
def test_matrix_has_the_wanted_product_and_full_rank(xp, rng, d):
    data = QueryData(n=50, spike=3.0, position=49, d=d)
    v = data.scores(rng)
    A, x = data.matrix(rng, scores=v, xp=xp)
    assert A.shape == (50, d)
    assert x.shape == (d,)
    assert np.linalg.matrix_rank(to_numpy(A)) == d
    np.testing.assert_allclose(to_numpy(xp.matmul(A, x)), v, rtol=1e-13)


def test_matrix_draws_scores_of_its_own(rng):
    data = QueryData(n=20, low=0.5, high=1.5)
    A, x = data.matrix(rng)
    assert np.all((A @ x > 0.5 - 1e-12) & (A @ x < 1.5 + 1e-12))


@pytest.mark.parametrize(("scores", "message"), [(np.ones(3), r"shape \(3,\)"), (np.array([1.0, np.nan]), "finite")])
def test_matrix_rejects_scores_that_it_cannot_have(rng, scores, message):
    with pytest.raises(ValueError, match=f"scores: .*{message}"):
        QueryData(n=2).matrix(rng, scores=scores)
