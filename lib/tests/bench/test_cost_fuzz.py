"""attnsep.bench.cost meets drawn arguments: it is right about them, or refuses them by name."""

import math

import numpy as np
import pytest

from attnsep.bench import cost
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import PAIR, some

ROWS = [
    {"mechanism": name, "library": "attnsep", "n": n, "d": 8, "dtype": "float64"}
    | dict.fromkeys(("median", "min", "max"), time)
    | {"turns": [time, time]}
    for name, times in (("softmax", (1.0, 2.0, 9.0)), ("linear", (2.0, 1.0, 1.0)))
    for n, time in zip((4, 8, 16), times, strict=True)
]


@fuzz(cost.multiply_adds, n=some(1, 16, 10**300), d=some(1, 64), kernel=PAIR)
def test_multiply_adds_are_counted(result, n, d, kernel):
    n, d = int(n), int(d)  # a product of small NumPy integers wraps around
    assert result == (2 * n * n * d if kernel == "softmax" else 2 * n * d * d + 2 * n * d)


@fuzz(cost.crossover, rows=some(ROWS, ROWS[::2]), d=some(8), dtype=some("float64"))
def test_the_crossover_is_one_of_the_sizes(result, rows, d, dtype):
    assert result in (None, 4, 8, 16)


@fuzz(cost.medians, rows=some(ROWS), d=some(8), dtype=some("float64"))
def test_every_size_has_a_median(result, rows, d, dtype):
    assert list(result) == [4, 8, 16]


@fuzz(cost.exponent, sizes=some([1, 2], (1.0, 10.0, 100.0)), numbers=some([3, 4], (5.0, 5.0, 5.0)))
def test_the_exponent_is_finite(result, sizes, numbers):
    assert math.isfinite(result)


@fuzz(
    cost.growth,
    rows=some(ROWS),
    attention=some("softmax", "linear"),
    d=some(8),
    first=some(1, 4),
    last=some(8, 16),
    rng=some(np.random.default_rng(0)),
    dtype=some("float64"),
    library=some("attnsep"),
)
def test_equal_turns_leave_no_doubt(result, attention, first, last, **_):
    assert result[0] == pytest.approx(result[1], abs=1e-12) == pytest.approx(result[2], abs=1e-12)


@fuzz(
    cost.least_seconds,
    limits=some({"multiply_adds": 1e9, "powers": 2e8}),
    n=some(1, 4096),
    d=some(1, 64),
)
def test_the_least_time_is_products_and_powers(result, limits, n, d):
    assert result == pytest.approx(2 * int(n) ** 2 * int(d) / 1e9 + int(n) ** 2 / 2e8)


@fuzz(cost.table, result=some({"rows": ROWS}, {"rows": []}))
def test_the_table_has_a_line_for_each_row(text, result):
    assert len(text.splitlines()) == 1 + len(result["rows"])
