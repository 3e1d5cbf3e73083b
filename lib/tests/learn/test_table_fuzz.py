"""attnsep.learn.table meets drawn arguments: it is right about them, or refuses them by name."""

import json

from hypothesis import strategies as st

from attnsep.learn import table, tasks
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import DRAWN, some

ROW = {
    **{"task": "mqar", "kernel": "softmax", "seed": 0, "settings": DRAWN[tasks.Recall].settings, "steps": 1},
    **{"result": {"all": 0.5, "diverged": False}, "versions": {}, "machine": {}, "seconds": 1.0},
}


@fuzz(table.rows_text, rows=some([ROW], []))
def test_every_row_is_a_line(result, rows):
    assert len(result.splitlines()) == len(rows)


@fuzz(table.run_of, row=some(ROW))
def test_a_run_is_json_that_begins_with_its_task(result, row):
    assert json.loads(result)[0] == "mqar"


@fuzz(table.command, row=some(ROW))
def test_a_row_has_the_command_that_makes_it(result, row):
    assert result.startswith("attnsep learn mqar --kernel softmax --seed 0 --set ")


@fuzz(table.student, degrees=st.integers(1, 9), comparisons=some(1, 8, 1000))
def test_a_quantile_of_student_is_between_its_ends(result, degrees, comparisons):
    assert 1.9 < result < 1e5


@fuzz(table.interval, values=some([0.5, 1], [1e9, 0, -3.5]), comparisons=some(1, 8, 1000))
def test_the_interval_has_its_middle_among_the_values(result, values, comparisons):
    assert min(values) <= result[0] <= max(values)
    assert result[1] >= 0


@fuzz(
    table.by_seed,
    rows=some([ROW]),
    name=some("mqar"),
    kernel=some("softmax"),
    path=some(("result", "all")),
)
def test_numbers_come_by_seed(result, rows, name, kernel, path):
    assert result == {0: 0.5}


@fuzz(
    table.chosen_rate,
    rows=some([ROW | {"seed": table.VALIDATION}]),
    name=some("mqar"),
    kernel=some("softmax"),
    test=some("all"),
)
def test_a_rate_is_one_of_the_rows(result, rows, name, kernel, test):
    assert result == ROW["settings"]["rate"]


@fuzz(table.paired, ones=some({0: 0.5, 1: 1.0}), others=some({0: 0.25, 1: 0.5}), comparisons=some(1, 8))
def test_pairs_have_a_mean_difference(result, ones, others, comparisons):
    assert (result.mean, result.pairs, result.lost) == (0.375, 2, 0)


@fuzz(table.prediction, values=some([0.5, 1], [1e9, 0, -3.5]), comparisons=some(1, 8, 1000))
def test_the_mean_is_predicted(result, values, comparisons):
    assert result[0] <= sum(values) / len(values) <= result[1]
