"""attnsep.learn.tasks meets drawn arguments: it is right about them, or refuses them by name."""

import json
import math

import numpy as np
from hypothesis import strategies as st

from attnsep.learn import tasks
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import DRAWN, LEARN, RNG, SHARE, STRENGTH, near, some


@fuzz(tasks.task, name=some("edge", "mqar"), settings=some(None, {}, {"steps": "200"}))
def test_a_task_has_its_class(result, name, settings):
    assert isinstance(result, tasks.TASKS[name])


@fuzz(tasks.cross_entropy, outputs=some(np.zeros((2, 3))), targets=some(np.array([0, -1])), kept={"*"}, inputs=2)
def test_equal_outputs_have_the_entropy_of_their_number(result, outputs, targets):
    near(float(result), math.log(3))


BUDGET = {"steps": some(0, 100), "batch": some(1), "rate": some(0.001), "every": some(100), "clip": some(0, 1.5)}
WIDTHS = {"width": some(1, 8), "tests": some(1, 5)}
DATA = {"n": some(32, 64), "d": some(10, 4), "a": STRENGTH, "c": SHARE, "noise": some(0, 0.5)}


for kind, more in (
    (tasks.Task, {}),
    (tasks.Sequences, {"layers": some(1, 2), "width": some(1), "block": some("full", "bare")}),
    (tasks.Tokens, WIDTHS | DATA),
    (tasks.Counting, WIDTHS | DATA),
    (tasks.Edge, WIDTHS | DATA | {"a0": STRENGTH}),
    (tasks.Digits, WIDTHS),
    (tasks.ListOps, WIDTHS | {"n": some(32, 64), "depth": some(4, 5), "args": some(4, 10)}),
    (tasks.Retrieval, WIDTHS | {"pairs": some(1, 20), "start": some("uniform", "xavier"), "asked": some(1, 200)}),
    (tasks.Recall, WIDTHS | {"pairs": some(1, 8), "n": some(32, 64), "words": some(66, 512), "d": some(3, 8)}),
):

    @fuzz(kind, **BUDGET, **more, about_several=True)
    def test_settings_are_json(result, **given):
        json.dumps(result.settings, allow_nan=False)


@fuzz(tasks.Task.source, self=some(*DRAWN.values()), rng=RNG)
def test_a_source_draws_batches_and_tests(result, self, rng):
    draw, tests = result
    assert all(len(y) == 1 for _, y in tests.values())
    assert len(draw(rng)[1]) == self.batch


for kind, name in ((tasks.Digits, "digits"), (tasks.ListOps, "listops")):

    @fuzz(kind.source, self=some(tasks.task(name, {"batch": 3, "tests": 2})), rng=RNG, inputs=2)
    def test_what_has_a_split_is_drawn_in_batches(result, self, rng):
        assert len(result[0](rng)[1]) == 3


for kind, self in DRAWN.items():
    GIVEN, ANSWERS = self.draw(np.random.default_rng(2))
    P = self.initial(np.random.default_rng(3))
    OUT = self.predict(P, GIVEN, "softmax")

    @fuzz(kind.initial, self=some(self), rng=RNG)
    def test_a_model_has_parameters(result, self, rng):
        assert result

    @fuzz(kind.predict, st.just({"inputs": GIVEN}), self=some(self), p=some(P), kernel=LEARN, kept={"p", "inputs"})
    def test_predictions_are_singles(result, self, p, inputs, kernel):
        assert result.dtype == np.float32

    @fuzz(kind.loss, self=some(self), outputs=some(OUT), targets=some(ANSWERS), kept={"*"}, inputs=2)
    def test_a_loss_is_not_negative(result, self, outputs, targets):
        assert result >= 0

    @fuzz(kind.score, self=some(self), outputs=some(OUT), targets=some(ANSWERS), kept={"*"}, inputs=2)
    def test_every_answer_has_a_score(result, self, outputs, targets):
        assert len(result) == self.batch

    if kind is not tasks.Sequences:
        counted = {"count": some(None, 2)} if kind is not tasks.Tokens else {}

        @fuzz(kind.draw, self=some(self), rng=RNG, **counted)
        def test_as_many_are_drawn_as_asked(result, self, rng, **more):
            assert len(result[1]) == (more.get("count") or 2)

        @fuzz(kind.held_out, self=some(self), rng=RNG)
        def test_every_held_out_test_has_one_answer(result, self, rng):
            assert all(len(y) == 1 for _, y in result.values())


@fuzz(tasks.Retrieval.judged, self=some(DRAWN[tasks.Retrieval]), scores=some(np.ones((1, 3))), kept={"*"}, inputs=1)
def test_groups_of_equal_scores_have_that_mean(result, self, scores):
    near(result, 1)
