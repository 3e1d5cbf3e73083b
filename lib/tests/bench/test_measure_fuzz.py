"""attnsep.bench.measure meets drawn arguments: it is right about them, or refuses them by name."""

import numpy as np
import pytest

from attnsep.bench import measure
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some

pytestmark = pytest.mark.usefixtures("contenders_here")


@fuzz(measure.load, seconds=some(1e-9, 0.001))
def test_a_load_is_a_part_of_the_cores(result, seconds):
    assert result is None or 0 <= result <= 1


@pytest.mark.slow
@fuzz(
    measure.bench,
    n=some([1], (3, 2)),
    d=some([4]),
    dtype=some(["float64"], ("float32", "float64")),
    seconds=some(1e-9, 0.001),
    most_work=some(1e3, 10**9),
    progress=some(False),
    xp=some(None, np),
)
def test_every_size_has_its_rows(result, n, d, dtype, seconds, most_work, progress, xp):
    ours = [row["mechanism"] for row in result["rows"] if row["library"] == "attnsep"]
    assert ours.count("linear") == len(n) * len(d) * len(dtype)
    assert ours.count("softmax") == sum(int(x) ** 2 * int(y) <= most_work for x in n for y in d) * len(dtype)
    assert all(0 < row["min"] <= row["median"] <= row["max"] for row in result["rows"])
