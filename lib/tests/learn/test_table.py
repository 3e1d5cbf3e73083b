"""Intervals of trained models against printed tables of Student's t, and what makes a run."""

import math

import numpy as np
import pytest

from attnsep.learn import table
from attnsep.learn.tasks import task

# P[|T| > t] = 0.05, as tables print it.
PRINTED = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


@pytest.mark.parametrize(("degrees", "t"), [*enumerate(PRINTED, start=1)])
def test_quantiles_are_those_of_tables(degrees, t):
    assert table.student(degrees) == pytest.approx(t, abs=6e-4)


@pytest.mark.parametrize(
    ("degrees", "comparisons", "t"), [(1, 5, 63.657), (4, 5, 4.604), (9, 5, 3.250), (9, 50, 4.781)]
)
def test_several_intervals_share_their_error(degrees, comparisons, t):
    assert table.student(degrees, comparisons) == pytest.approx(t, abs=6e-4)


@pytest.mark.parametrize("numbers", [(0, 1), (10, 1), (2, 0), (2, 1001)])
def test_quantiles_have_limits(numbers):
    with pytest.raises(ValueError, match="must be at"):
        table.student(*numbers)
    assert table.student(9, 1000) > table.student(9, 999) > table.student(9)


@pytest.mark.parametrize("k", [2, 10])
def test_an_interval_is_of_two_to_ten_values(k):
    values = [float(i % 2) for i in range(k)]
    mean, half = table.interval(values)
    spread = math.sqrt(sum((x - 0.5) ** 2 for x in values) / (k - 1))
    assert (mean, half) == (0.5, pytest.approx(PRINTED[k - 2] * spread / math.sqrt(k), rel=1e-3))
    with pytest.raises(ValueError, match="must be two to ten numbers"):
        table.interval([0.0] if k == 2 else [0.0] * 11)


def test_a_run_is_its_task_kernel_seed_and_settings():
    row = dict(zip(table.RUN, ("edge", "softmax", 1, {"n": 64}), strict=True))
    others = [row | change for change in ({"task": "mqar"}, {"kernel": "linear"}, {"seed": 2}, {"settings": {"n": 32}})]
    assert len({table.run_of(run) for run in (row, *others)}) == 5
    assert table.run_of(row | {"steps": 9}) == table.run_of(row)
    for name in table.RUN:
        with pytest.raises(TypeError, match="must have task, kernel, seed, settings"):
            table.run_of({key: value for key, value in row.items() if key != name})


def runs(values, kernel="softmax", **more):
    """Return rows of one kernel, by seed."""
    settings = task("mqar", more).settings
    empty = {"steps": 1, "versions": {}, "machine": {}, "seconds": 1.0, "recorded": {"gradient": {"median": 0.5}}}
    return [
        {"task": "mqar", "kernel": kernel, "seed": seed, "settings": settings, **empty}
        | {"result": {"diverged": value is None, "all": value}}
        for seed, value in values.items()
    ]


def test_what_is_reported_comes_by_seed_without_the_one_that_chose_the_rate():
    rows = runs({3: 0.5, 0: 0.25, table.VALIDATION: 1.0}) + runs({0: 0.75}, "taylor")
    found = table.by_seed(rows, "mqar", "softmax", ("result", "all"))
    assert [*found.items()] == [(0, 0.25), (3, 0.5)], "in the order of the seeds, whatever that of the rows"
    assert table.by_seed(rows, "mqar", "taylor", ("recorded", "gradient", "median")) == {0: 0.5}
    with pytest.raises(ValueError, match="no such run"):
        table.by_seed(rows, "mqar", "linear", ("result", "all"))
    with pytest.raises(ValueError, match="seed 0 has several runs"):
        table.by_seed(rows + runs({0: 0.5}, rate=0.1), "mqar", "softmax", ("result", "all"))
    assert table.by_seed(rows + runs({0: 0.5}, rate=0.1), "mqar", "softmax", ("result", "all"), rate=0.1) == {0: 0.5}
    with pytest.raises(ValueError, match=r"no such run with \{'paris': 4\}"):
        table.by_seed(rows, "mqar", "softmax", ("result", "all"), paris=4)
    for path, rule in (("result",), "is no number"), (("result", "n = 8"), "a run has no 'n = 8'"):
        with pytest.raises(ValueError, match=rule):
            table.by_seed(rows, "mqar", "softmax", path)
    with pytest.raises(TypeError, match="must be a tuple of texts"):
        table.by_seed(rows, "mqar", "softmax", "all")


def test_a_run_that_diverged_has_no_result_but_says_that_it_did():
    rows = runs({0: 0.5, 1: 0.75})
    rows[1]["result"]["diverged"] = True
    found = table.by_seed(rows, "mqar", "softmax", ("result", "all"))
    assert found[0] == 0.5
    assert math.isnan(found[1])
    assert table.by_seed(rows, "mqar", "softmax", ("result", "diverged")) == {0: 0, 1: 1}
    assert table.by_seed(rows, "mqar", "softmax", ("recorded", "gradient", "median")) == {0: 0.5, 1: 0.5}


def test_the_rate_is_that_of_the_best_run_of_its_own_seed():
    def rows(**by_rate):
        return [
            row for rate, value in by_rate.items() for row in runs({100: value, 0: 1.0}, rate=float(rate[1:]) / 100)
        ]

    assert table.chosen_rate(rows(r1=0.5, r3=0.75, r10=0.25), "mqar", "softmax", "all") == 0.03
    assert table.chosen_rate(rows(r3=0.5, r1=0.5), "mqar", "softmax", "all") == 0.01
    assert table.chosen_rate(rows(r1=None, r3=0.25), "mqar", "softmax", "all") == 0.03
    with pytest.raises(ValueError, match="no run of seed 100"):
        table.chosen_rate(runs({0: 1.0}), "mqar", "softmax", "all")


def test_pairs_of_seeds_have_differences():
    found = table.paired({0: 0.5, 1: 0.75, 2: 1.0}, {2: 0.5, 1: 0.5, 0: 0.25}, comparisons=4)
    mean, half = table.interval([0.25, 0.25, 0.5], comparisons=4)
    assert found[:2] == (mean, half)
    assert found[3:] == (3, 0)
    assert table.paired({0: 1.0, 1: 1.0}, {0: 0.5, 1: 0.5}).effect == math.inf
    assert table.paired({0: 0.5, 1: 0.5}, {0: 1.0, 1: 1.0}).effect == -math.inf
    assert table.paired({0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.5}).effect == 0
    lost = table.paired({0: 1.0, 1: 1.0, 2: math.nan}, {0: 0.5, 1: 0.25, 2: 0.5})
    assert (lost.pairs, lost.lost) == (2, 1)
    with pytest.raises(ValueError, match="must have the same seeds"):
        table.paired({0: 1.0, 1: 1.0}, {0: 0.5, 2: 0.5})
    with pytest.raises(ValueError, match=r"^ones, others: 1 pair is left, two are needed$"):
        table.paired({0: 1.0, 1: math.nan}, {0: 0.5, 1: 0.5})


def test_an_effect_is_the_mean_over_the_spread():
    values = {0: 0.1, 1: 0.2, 2: 0.6}
    assert table.paired(values, dict.fromkeys(values, 0.0)).effect == pytest.approx(0.3 / math.sqrt(0.07))


def test_predictions_hold_a_new_value_as_often_as_they_say():
    rng, inside = np.random.default_rng(3), 0
    for draw in rng.standard_normal((2000, 5)):
        low, high = table.prediction([float(x) for x in draw[:4]])
        inside += low <= draw[4] <= high
    assert abs(inside / 2000 - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 2000)
    mean, half = table.interval([1.0, 2.0, 4.0], 50)
    assert table.prediction([1.0, 2.0, 4.0], 50) == pytest.approx((mean - 2 * half, mean + 2 * half))
