"""Maps against the scalar law, ties included, and against a law of 60 digits that shares no code with it."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.extensions import sensitivity
from attnsep.extensions.sensitivity import column_map, error_map, fires_map, steps_within, worst
from attnsep.paper import tokens

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp.clone()
mp.dps = 60


def columns(points):
    """Return {name: array} of a list of equal dictionaries."""
    return {name: np.array([point[name] for point in points], dtype=object) for name in points[0]}


def random_points(rng, k, largest=80):
    """Yield decimals of few digits, so that ties are frequent, corners included."""
    for _ in range(k):
        d = int(rng.integers(3, largest))
        t = int(rng.integers(1, 7)) if rng.random() < 0.7 else 10 ** int(rng.integers(1, 290))
        yield {
            "n": max(2, (d - 2) * t),
            "d": d,
            "m": int(rng.choice([1, 2, 10, 10**6])),
            "a": [0, 0.05, "0.1", 0.7, 0.75, 1, Fraction(2, 3), 3.5, 20][rng.integers(9)],
            "c": [0.05, "0.35", 0.5, 0.9, Fraction(1, 3)][rng.integers(5)],
            "gap": [0, 0.1, "0.25", 0.3, 1][rng.integers(5)],
        }


def scalar_law(m, **point):
    return tokens.law(**point).fires(m)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_map_is_the_scalar_law(kernel, rng):
    points = list(random_points(rng, 500))
    found = fires_map(**columns(points), kernel=kernel)
    wanted = [scalar_law(**point, kernel=kernel) for point in points]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_the_law_of_arrays_is_the_law_of_numbers(kernel, rng):
    """Not only π but what each of the eight patterns needs, on thousands of points of which many tie."""
    points = [{name: x for name, x in point.items() if name != "m"} for point in random_points(rng, 2000)]
    parameters = sensitivity._checked(**columns(points))
    _, found = sensitivity._least_plus(parameters, kernel)
    laws = [tokens.law(**point, kernel=kernel) for point in points]
    assert found.tolist() == [[law.least_plus(signs) for signs in tokens.PATTERNS] for law in laws]


@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_constructed_ties(kernel):
    """With a = 0, t = 1 a row ties where n − 2 signs and y_k* add up to n gap/b: choose the gap for each sum."""
    n, sums = 30, np.arange(0, 29, 2)
    gaps = [Fraction(int(s), 60) for s in sums]
    for less, counted in ((0, 1), (Fraction(1, 10**40), 0)):
        found = column_map(n, n + 2, 0, "0.5", kernel, [max(gap - less, 0) for gap in gaps])
        for s, pi in zip(sums.tolist(), found.tolist(), strict=True):
            if s:
                most = sum(math.comb(n, k) for k in range(n + 1) if 2 * k - n >= s + 2 * counted) / 2**n
                assert pi == pytest.approx(most / 2, rel=1e-12)  # with y_d = -1 the threshold is out of reach


def test_the_tie_of_the_irrational_weight():
    pi = column_map(53, 55, 0.75, 0.35, gap=[Fraction(1, 10), Fraction(1, 10) - Fraction(1, 10**50)])
    assert round(pi[0], 6) == 0.265506
    assert pi[1] - pi[0] == pytest.approx(math.comb(52, 30) / 2**55, rel=1e-10)


def law_of_60_digits(n, d, m, a, c, gap, kernel):
    """P[fires] from the weights alone, by counting sums of d − 3 signs; no point of the test ties."""
    a, c, gap = (mp.mpf(x) for x in (a, c, gap))
    logs = [mp.log(1 + a)] * 2 if kernel == "linear" else [a * (1 + a) * mp.log(n), a * mp.log(n)]
    t, rows, total = n // (d - 2), [], mp.mpf(0)
    for log in logs:
        w = 1 / (1 + (n - 1) * mp.exp(-log))
        r = (1 - w) / (n - 1)
        rows.append((w, (1 - c) * (w + (t - 1) * r), (1 - c) * t * r))
    for first, own, last in product((1, -1), repeat=3):
        for k in range(d - 2):
            S = 2 * k - (d - 3)
            if any(a * w * first + x * own + z * S + c * last > c + gap for w, x, z in rows):
                total += mp.binomial(d - 3, k)
    pi = total / mp.mpf(2) ** d
    return float(1 - (1 - pi) ** m), float((1 - pi) ** m)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", tokens.KERNELS)
def test_map_against_60_digits(kernel, rng):
    points = []
    for _ in range(25):
        d, t = int(rng.integers(3, 70)), 10 ** int(rng.choice([0, 1, 5, 100, 290]))
        decimals = {"a": (0, 2), "c": (0.02, 0.98), "gap": (0.01, 0.4)}
        point = {name: f"{rng.uniform(*ends):.13f}" for name, ends in decimals.items()}
        points.append({"n": max(2, (d - 2) * t), "d": d, "m": int(rng.integers(1, 30)), **point})
    wanted = np.array([law_of_60_digits(**point, kernel=kernel) for point in points])
    np.testing.assert_allclose(fires_map(**columns(points), kernel=kernel), wanted[:, 0], rtol=1e-12)
    if kernel == "softmax":
        data = columns(points)
        silent = error_map(a0=data["a"], a1=data.pop("a"), **data).softmax_silent_on_d1
        np.testing.assert_allclose(silent, wanted[:, 1], rtol=1e-12)


def test_errors_are_those_of_tokens_and_broadcast():
    errors = error_map([[1024], [256]], 258, [10, 20], 0.05, 0.7, 0.5)
    for name, error in errors._asdict().items():
        assert error.shape == (2, 2)
        for (row, n), (column, m) in product(enumerate((1024, 256)), enumerate((10, 20))):
            scalar = getattr(tokens.errors(n, 258, m, 0.05, 0.7, 0.5), name)
            assert error[row, column] == pytest.approx(scalar, rel=1e-12)
    assert worst(errors)[0, 0] == max(error[0, 0] for error in errors)


def test_no_law_is_computed_twice_along_the_other_strength(monkeypatch):
    sizes, original = [], sensitivity.column_map

    def counted(*arguments):
        found = original(*arguments)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(sensitivity, "column_map", counted)
    errors = error_map(64, 18, 10, np.linspace(0, 0.1, 5)[:, None], np.linspace(0.6, 1, 7), 0.5)
    assert errors[0].shape == (5, 7)
    assert sorted(sizes) == [5, 5, 7, 7]


def test_numbers_mean_the_decimals_that_they_print():
    single = np.array([0.75, 0.35], dtype=np.float32)
    wanted = tokens.law(53, 55, 0.75, 0.35).column_probability()
    assert column_map(53, 55, single[:1], single[1:])[0] == wanted
    assert column_map(53, 55, ["0.75", Fraction(3, 4), 0.75], 0.35).tolist() == [wanted] * 3


def test_numbers_that_begin_with_the_same_digits_are_told_apart():
    N = 10**59 + 7
    one, other = Fraction(N, 2 * 10**59 + 10**20 + 1), Fraction(N, 9 * 10**59 + 10**20 + 1)  # about 1/2 and 1/9
    both = sensitivity.column_map(1024, 258, [one, other], [Fraction(1, 2)])
    alone = [sensitivity.column_map(1024, 258, a, Fraction(1, 2)).item() for a in (one, other)]
    assert both.tolist() == alone
    assert alone[0] > 100 * alone[1]


def test_undecided_points_are_left_to_the_exact_decision(monkeypatch):
    points = {"n": 1024, "d": 258, "a": np.linspace(0, 1.5, 31).round(3)[:, None], "c": [0.3, 0.5, 0.75]}
    wanted = column_map(**points)
    monkeypatch.setattr(sensitivity, "SLACK", 1e-3)  # now many more floors are in doubt, and the answer is the same
    assert np.array_equal(column_map(**points), wanted)


@pytest.mark.parametrize("tiny", ["1e-9", "3e-13", "7e-16", "1e-200"])
def test_c_next_to_one(tiny):
    """b = 1 − c is read before rounding: the gap decides at sums of b/30 which sign vectors exceed it."""
    b = Fraction(tiny)
    for a, kernel in product((0, Fraction(tiny) / 4), tokens.KERNELS):
        gaps = [b * s / 30 * (1 + near) for s in (2, 10, 24) for near in (0, Fraction(1, 10**12), -Fraction(1, 10**12))]
        wanted = [tokens.law(30, 32, a, 1 - b, kernel, gap).column_probability() for gap in gaps]
        assert column_map(30, 32, a, 1 - b, kernel, gaps) == pytest.approx(wanted, rel=1e-12, abs=0)


@pytest.mark.parametrize("extreme", [{"a": "1e300"}, {"a": "1e-900"}, {"c": 1 - Fraction(1, 10**400)}, {"gap": 1e300}])
def test_extreme_parameters(extreme):
    point = {"n": 10**300, "d": 12, "a": 0.5, "c": 0.5, "gap": 0.1} | extreme
    for kernel in tokens.KERNELS:
        assert float(column_map(**point, kernel=kernel)) == tokens.law(**point, kernel=kernel).column_probability()


def test_steps_within_stops_at_the_first_wall_on_each_side():
    errors = tokens.TokenErrors(*np.array([[0, 9, 0, 0, 0, 9, 0], [0] * 7, [0] * 7, [0, 0, 5, 0, 0, 0, 0]]) / 10)
    assert steps_within(errors, 0.4, 4) == (3, 4)
    assert steps_within(errors, 0.6, 2) == (2, 4)
    assert steps_within(errors, 0.6, 6) == (6, 6)
    assert steps_within(errors, 0.95, 0) == (0, 6)


GOOD = {"n": 8, "d": 6, "m": 1, "a": 0.5, "c": 0.5, "gap": 0.1}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n": [8, 9]}, ValueError, "n = 9, d = 6: n must be"),
        ({"n": 8.0}, TypeError, "n = 8.0: must be an integer"),
        ({"n": 1}, ValueError, "n = 1: must be at least 2"),
        ({"n": 4 * 10**300}, ValueError, "must be at most 1e[+]300"),
        ({"d": 2}, ValueError, "d = 2: must be at least 3"),
        ({"n": 10**6, "d": 10**6 + 2}, ValueError, "d = 1000002: must be at most 1e[+]06"),
        ({"m": [1, 0]}, ValueError, "m = 0: must be at least 1"),
        ({"m": 10**301}, ValueError, "must be at most 10.300"),
        ({"m": [1, True]}, TypeError, "m = True: must be an integer"),
        ({"a": [0.5, -0.1]}, ValueError, "a = -0.1: must be at least 0"),
        ({"a": math.nan}, ValueError, "a = nan: must be a finite number"),
        ({"a": [[0.5], [0.1, 0.2]]}, TypeError, "a = .*: must be a real number"),
        ({"c": [0.5, 1]}, ValueError, "c = 1.0: must lie strictly between 0 and 1"),
        ({"gap": "wide"}, ValueError, "gap = 'wide': must be a finite number"),
        ({"kernel": "hard"}, ValueError, "kernel = 'hard': must be softmax or linear here"),
        ({"a": [0.1] * 2, "c": [0.5] * 3}, ValueError, "broadcast"),
    ],
)
def test_bad_input_is_named(change, error, message):
    with pytest.raises(error, match=message):
        fires_map(**GOOD | change)


@pytest.mark.parametrize("name", ["a0", "a1"])
def test_bad_strengths_are_named(name):
    strengths = {"a0": 0.05, "a1": 0.7} | {name: [0.1, -1]}
    with pytest.raises(ValueError, match=f"{name} = -1: must be at least 0"):
        error_map(8, 6, 1, **strengths, c=0.5)


def test_bad_steps_are_named():
    errors = tokens.TokenErrors(*np.array([[0.1, 0.5]] * 4))
    with pytest.raises(ValueError, match="start = 2: must be below 2"):
        steps_within(errors, 0.2, 2)
    with pytest.raises(ValueError, match="start = 1: the worst error there exceeds limit = "):
        steps_within(errors, 0.2, 1)
    with pytest.raises(ValueError, match="limit = 2: must be a number strictly between"):
        steps_within(errors, 2, 0)
    with pytest.raises(ValueError, match=r"errors: shape \(2, 2\), must be \(k,\)"):
        steps_within(np.ones((4, 2, 2)), 0.5, 0)


def test_one_entry_beyond_the_largest_is_enough_to_refuse_a_grid():
    with pytest.raises(ValueError, match=r"n = 4.*: must be at most 1e[+]300"):
        column_map([8, 4 * 10**300], 6, 0.5, 0.5)
    with pytest.raises(ValueError, match=r"^n, d, a, c, gap: their shapes do not broadcast"):
        column_map([8, 8], 6, [0.5] * 3, 0.5)
    with pytest.raises(ValueError, match=r"^n, d, m, a, c, gap: their shapes do not broadcast"):
        fires_map([8, 8], 6, 1, [0.5] * 3, 0.5)
    with pytest.raises(ValueError, match=r"^n, d, m, a0, a1, c, gap: their shapes do not broadcast"):
        error_map(8, 6, 1, [0.1] * 2, [0.5] * 3, 0.5)


def test_a_grid_may_have_no_points():
    assert column_map([], 6, 0.5, 0.5).shape == fires_map(8, 6, [], 0.5, 0.5).shape == (0,)
    assert [error.shape for error in error_map(8, 6, [1, 2], np.zeros((0, 1)), 0.5, 0.5)] == [(0, 2)] * 4


@pytest.mark.parametrize("entry", [-0.5, -1e-300, 1.5, math.nan])
def test_errors_are_probabilities(entry):
    with pytest.raises(TypeError, match="must be an array of probabilities"):
        worst([np.array([0.5, entry]), np.array([0.0, 1.0])])
