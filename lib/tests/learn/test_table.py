"""Intervals of trained models against printed tables of Student's t, and what makes a run."""

import math

import pytest

from attnsep.learn import table

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
