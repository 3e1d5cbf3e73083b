"""What a task's model adds up, and what its data lie between."""

import numpy as np
import pytest

from attnsep.learn import tasks, train
from attnsep.learn.model import block
from attnsep.learn.tasks import task

SMALL = {
    "edge": {"n": 32, "tests": 3, "batch": 4},
    "counting": {"n": 32, "tests": 3, "batch": 4},
    "retrieval": {"pairs": 5, "width": 4, "tests": 3, "batch": 4},
    "mqar": {"pairs": 3, "n": 32, "words": 64, "width": 4, "tests": 3, "batch": 4},
    "digits": {"tests": 3, "batch": 4},
    "listops": {"n": 32, "tests": 3, "batch": 4},
}


def test_every_task_is_tried():
    assert SMALL.keys() == tasks.TASKS.keys()


@pytest.mark.parametrize("name", ["edge", "counting", "mqar"])
@pytest.mark.parametrize("kernel", ["softmax", "linear"])
def test_a_models_bias_is_added_to_its_scores(rng, name, kernel):
    one = task(name, SMALL[name])
    inputs, _ = one.draw(rng)
    p = one.initial(rng)
    bias = np.arange(1, len(p["bias"]) + 1).astype(np.float32)
    plain, moved = (one.predict(p | {"bias": b}, inputs, kernel) for b in (0 * bias, bias))
    assert np.allclose(moved - plain, bias, atol=1e-4)


@pytest.mark.parametrize("name", [pytest.param(x, marks=pytest.mark.slow) if x == "digits" else x for x in SMALL])
def test_whoever_draws_needs_a_generator(name):
    if name == "digits":
        pytest.importorskip("sklearn")  # a second to import
    one = task(name, SMALL[name])
    calls = [one.initial, one.source] + ([one.draw, one.held_out] if hasattr(one, "draw") else [])
    for call in calls:
        with pytest.raises(TypeError, match="rng = 7: must be a numpy"):
            call(7)


def test_pixels_lie_between_0_and_1(rng):
    pytest.importorskip("sklearn")
    draw, tests = task("digits").source(rng)
    for inputs, targets in (draw(rng), tests["all"]):
        assert (inputs["x"].min(), inputs["x"].max()) == (0, 1)
        assert inputs["x"].shape == (len(targets), 64, 1)
        assert inputs["x"].dtype == np.float32
        assert set(targets.tolist()) <= set(range(10))


def test_an_evaluation_asks_for_the_first_keys_in_their_order(rng):
    for pairs, asked in ((6, 6), (300, 200)):
        inputs, targets = task("retrieval", {"pairs": pairs, "tests": 7}).held_out(rng)["all"]
        assert np.array_equal(inputs["asked"], np.tile(np.arange(asked), (7, 1)))
        assert np.array_equal(np.take_along_axis(inputs["keys"], targets, axis=1), inputs["asked"])


def test_groups_of_questions_weigh_alike(rng):
    """At 100 pairs there are 3 groups of 32 questions and one of 4, each a quarter of the mean."""
    scores = rng.random((20, 100))
    groups = np.concatenate([np.full(96, 1 / 128), np.full(4, 1 / 16)])
    assert np.isclose(task("retrieval", {"pairs": 100}).judged(scores), np.mean(scores @ groups))


def test_sizes_are_those_of_the_public_code(rng):
    """It embeds in int((N + N)·1.1) numbers."""
    for pairs in (20, 40, 60, 80, 100, 120, 160, 200, 300, 400, 600):
        p = task("retrieval", {"pairs": pairs, "width": 2}).initial(rng)
        e = (22 * pairs) // 10
        assert {name: x.shape for name, x in p.items()} == {
            **{"embed": (pairs, e), "k": (pairs + e, 2), "k_bias": (2,), "q": (e, 2), "q_bias": (2,)}
        }


@pytest.mark.parametrize("start", ["uniform", "xavier"])
def test_retrieval_begins_as_the_public_code_says(rng, start):
    """Keys are standard Gaussian; maps uniform by one of two laws; biases on ±1/√rows, as PyTorch's."""
    p = task("retrieval", {"pairs": 300, "start": start}).initial(rng)
    assert np.isclose(p["embed"].std(), 1, atol=0.01)
    assert abs(p["embed"].mean()) < 0.01
    for name, rows in (("k", 960), ("q", 660)):
        bound = 1 / 8 if start == "uniform" else np.sqrt(6 / (rows + 64))
        for x, most in ((p[name], bound), (p[f"{name}_bias"], rows**-0.5)):
            assert 0.95 * most < np.max(np.abs(x)) <= most * (1 + 1e-6)
            assert np.isclose(x.std(), most / np.sqrt(3), rtol=0.02 if x.size > 64 else 0.3)


def test_a_recall_is_right_where_the_value_has_the_largest_score(rng):
    one = task("mqar", {"pairs": 4})
    _, targets = one.draw(rng, 3)
    outputs = np.eye(one.words, dtype=np.float32)[targets]
    assert one.score(outputs, targets).all()
    outputs[1, 2] = np.eye(one.words)[0]
    assert np.argwhere(~one.score(outputs, targets)).tolist() == [[1, 2]]


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
def test_a_token_of_a_recall_comes_with_the_one_before_it_and_the_first_with_none(rng, kernel):
    one = task("mqar", {"pairs": 3})
    inputs, _ = one.draw(rng, 2)
    p = one.initial(rng)
    x = p["embed"][inputs["x"]]
    x[:, 1:, :] += p["previous"][inputs["x"][:, :-1]]
    every = block(p["blocks"][0], x, kernel, np.tri(x.shape[1], dtype=bool))
    wanted = np.take_along_axis(every, inputs["asked"][:, :, None], axis=1) @ p["head"] + p["bias"]
    assert np.allclose(one.predict(p, inputs, kernel), wanted, rtol=1e-3, atol=1e-4)


def test_when_training_ends_is_documented_as_it_is():
    assert f"at most {train.ENOUGH}, or at the {train.PATIENCE}th evaluation" in " ".join(
        tasks.Retrieval.__doc__.split()
    )
