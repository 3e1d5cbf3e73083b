"""attnsep.learn.table meets drawn arguments: it is right about them, or refuses them by name."""

import json

from hypothesis import strategies as st

from attnsep.learn import table, tasks
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import DRAWN, some

ROW = {
    **{"task": "mqar", "kernel": "softmax", "seed": 0, "settings": DRAWN[tasks.Recall].settings, "steps": 1},
    **{"result": {"all": 0.5}, "versions": {}, "machine": {}, "seconds": 1.0},
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


@fuzz(table.scores, rows=some([ROW]), name=some("mqar"), test=some("all"), kernel=some("softmax"), kept={"kernel"})
def test_scores_are_those_of_the_rows(result, rows, name, test, kernel):
    assert result == [0.5]


@fuzz(table.student, degrees=st.integers(1, 9), comparisons=some(1, 8, 1000))
def test_a_quantile_of_student_is_between_its_ends(result, degrees, comparisons):
    assert 1.9 < result < 1e5


@fuzz(table.interval, values=some([0.5, 1], [1e9, 0, -3.5]), comparisons=some(1, 8, 1000))
def test_the_interval_has_its_middle_among_the_values(result, values, comparisons):
    assert min(values) <= result[0] <= max(values)
    assert result[1] >= 0
