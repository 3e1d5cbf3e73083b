"""What a task's model adds up, and what its data lie between."""

import numpy as np
import pytest

from attnsep.learn import tasks
from attnsep.learn.model import block
from attnsep.learn.tasks import task

SMALL = {
    "edge": {"n": 32, "tests": 3, "batch": 4},
    "counting": {"n": 32, "tests": 3, "batch": 4},
    "retrieval": {"pairs": 5, "width": 4, "tests": 3, "batch": 4},
    "mqar": {"pairs": 3, "width": 4, "tests": 3, "batch": 4},
    "digits": {"tests": 3, "batch": 4},
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


@pytest.mark.parametrize("name", SMALL)
def test_whoever_draws_needs_a_generator(name):
    if name == "digits":
        pytest.importorskip("sklearn")
    one = task(name, SMALL[name])
    calls = [one.initial, one.source] + ([one.draw, one.held_out] if name != "digits" else [])
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


@pytest.mark.parametrize("name", ["keys", "values"])
def test_keys_and_values_of_a_retrieval_come_in_an_order_of_their_own(rng, name):
    """A value that stands at the place of its name could be told without the key."""
    found = task("retrieval", {"pairs": 20}).draw(rng, 200)[0][name]
    assert np.array_equal(np.sort(found, axis=1), np.tile(np.arange(20), (200, 1)))
    assert len({tuple(row) for row in found.tolist()}) == 200
    assert abs(np.corrcoef(found.ravel(), np.tile(np.arange(20), 200))[0, 1]) < 0.15  # nine deviations


def test_the_score_of_a_recall_is_the_share_of_its_questions(rng):
    one = task("mqar", {"pairs": 4})
    _, targets = one.draw(rng, 3)
    outputs = np.eye(one.words, dtype=np.float32)[np.where(targets < 0, 0, targets)]
    assert one.score(outputs, targets).tolist() == [1, 1, 1]
    place = np.flatnonzero(targets[1] >= 0)[0]
    outputs[1, place] = np.eye(one.words)[0]
    assert one.score(outputs, targets).tolist() == [1, 0.75, 1]


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
def test_a_token_of_a_recall_comes_with_the_one_before_it_and_the_first_with_none(rng, kernel):
    one = task("mqar", {"pairs": 3})
    inputs, _ = one.draw(rng, 2)
    p = one.initial(rng)
    x = p["embed"][inputs["x"]]
    x[:, 1:, :] += p["previous"][inputs["x"][:, :-1]]
    wanted = block(p["blocks"][0], x, kernel, np.tri(x.shape[1], dtype=bool)) @ p["head"] + p["bias"]
    assert np.allclose(one.predict(p, inputs, kernel), wanted, atol=1e-5)
