"""Training with JAX: the same numbers as NumPy, right gradients, rows that a second run and a killed run repeat."""

import io
import json
import math
import os
import sys
from contextlib import nullcontext

import jax
import numpy as np
import pytest
import scipy.stats

from attnsep.learn import table
from attnsep.learn.model import KERNELS, concentration, normaliser_margin, noting
from attnsep.learn.tasks import TASKS, task
from attnsep.learn.train import _parts, _why_none, record, train, trained_or_stored
from lib.tests.children import run

SMALL = {
    "edge": {"n": 32, "batch": 4, "tests": 5, "width": 4, "layers": 2},
    "counting": {"n": 32, "batch": 4, "tests": 5, "width": 4, "block": "bare"},
    "retrieval": {"pairs": 5, "batch": 4, "tests": 2, "width": 4},
    "mqar": {"pairs": 3, "n": 32, "words": 40, "batch": 4, "tests": 5, "width": 4, "d": 6},
    "digits": {"batch": 4, "tests": 5, "width": 4, "layers": 1},
    "listops": {"n": 32, "batch": 4, "tests": 5, "width": 4, "layers": 1},
}
TINY = {"pairs": 4, "width": 4, "steps": 40, "every": 20, "tests": 3}


def positive(p):
    """Return parameters with positive entries: no row sum of linear attention comes near 0, and no ReLU a kink."""
    return jax.tree.map(lambda x: np.abs(x) + 0.1, p)


@pytest.mark.usefixtures("jax_as_it_comes", "compiled_quickly")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", TASKS)
def test_jax_computes_what_numpy_computes(name, kernel):
    chosen, rng = task(name, SMALL[name]), np.random.default_rng(5)
    draw, _ = chosen.source(rng)
    p, (inputs, targets) = positive(chosen.initial(rng)), draw(rng)
    inputs = {key: np.abs(x) for key, x in inputs.items()}

    def both(p, inputs, targets):
        outputs = chosen.predict(p, inputs, kernel)
        return outputs, chosen.loss(outputs, targets), chosen.score(outputs, targets)

    for found, wanted in zip(jax.jit(both)(p, inputs, targets), both(p, inputs, targets), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


# Tasks know no kernel, and a kernel knows of a task only which tokens are left out: so each kernel where some are, and
# each other task once.
SLOPES = [("listops", kernel) for kernel in KERNELS]
SLOPES += [(name, "elu+1") for name in TASKS if name != "listops"]


@pytest.mark.usefixtures("jax_as_it_comes", "compiled_quickly")
@pytest.mark.parametrize(("name", "kernel"), SLOPES)
def test_gradients_are_finite_differences(name, kernel):
    chosen, rng = task(name, SMALL[name]), np.random.default_rng(6)
    draw, _ = chosen.source(rng)
    inputs, targets = draw(rng)
    inputs = {key: np.abs(x).astype(float) if x.dtype.kind == "f" else x for key, x in inputs.items()}
    leaves, tree = jax.tree.flatten(jax.tree.map(lambda x: x.astype(float), positive(chosen.initial(rng))))
    way = [rng.standard_normal(leaf.shape) for leaf in leaves]

    def loss(step, inputs=inputs, targets=targets):
        p = jax.tree.unflatten(tree, [leaf + step * w for leaf, w in zip(leaves, way, strict=True)])
        return chosen.loss(chosen.predict(p, inputs, kernel), targets)

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        found = float(jax.jit(jax.grad(loss))(0.0, inputs, targets))
    wanted = (loss(1e-6) - loss(-1e-6)) / 2e-6
    assert abs(found - wanted) <= 1e-6 * max(1, abs(wanted))


def without_time(row):
    return {name: value for name, value in row.items() if name != "seconds"}


@pytest.mark.parametrize("kernel", ["softmax", "elu+1"])
def test_a_small_model_learns_and_a_second_run_is_the_same(kernel):
    chosen = task("retrieval", {"pairs": 4, "width": 8, "steps": 2000, "rate": 0.01})
    row = train(chosen, kernel, 3)
    assert row["result"]["best"] <= 0.001
    assert row["result"]["at"] == row["steps"] < 2000
    assert without_time(row) == without_time(train(chosen, kernel, 3))
    assert row["result"] != train(chosen, kernel, 4)["result"]


ENABLE_X64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64
SET = {
    "JAX_ENABLE_X64": "1",
    "JAX_DEFAULT_MATMUL_PRECISION": "bfloat16",
    "JAX_NUMPY_DTYPE_PROMOTION": "strict",
    "JAX_NUMPY_RANK_PROMOTION": "raise",
    "JAX_DISABLE_JIT": "1",
    "JAX_DEBUG_NANS": "1",
    "JAX_DEBUG_INFS": "1",
    "JAX_TRANSFER_GUARD": "disallow",
    "JAX_PLATFORMS": "cpu",
}


def words_of(settings):
    return ["--set", *(f"{name}={value}" for name, value in settings.items())]


@pytest.fixture(scope="module")
def plain():
    """Return the row that a process makes in which nothing is set."""
    done = run("-m", "attnsep.cli", "learn", "retrieval", "--seed", "1", "--json", *words_of(TINY), JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    return without_time(json.loads(done.stdout))


@pytest.mark.parametrize("names", [["JAX_ENABLE_X64"], list(SET)], ids=["x64", "all"])
def test_no_variable_of_jax_changes_a_row(plain, names):
    variables = {"JAX_PLATFORMS": "cpu"} | {name: SET[name] for name in names}
    done = run("-m", "attnsep.cli", "learn", "retrieval", "--seed", "1", "--json", *words_of(TINY), **variables)
    assert (done.returncode, done.stderr) == (0, "")
    assert without_time(json.loads(done.stdout)) == plain
    assert plain["machine"]["flags"] == ""


@pytest.mark.parametrize(
    "setting",
    [
        lambda: ENABLE_X64(True),
        jax.disable_jit,
        lambda: jax.default_matmul_precision("bfloat16"),
        lambda: jax.numpy_dtype_promotion("strict"),
    ],
    ids=["x64", "no jit", "precision", "promotion"],
)
def test_what_the_caller_has_set_changes_no_row_and_stays_his(setting):
    chosen = task("retrieval", TINY)

    def state():
        return [
            getattr(jax.config, name) for name in ("jax_enable_x64", "jax_disable_jit", "jax_numpy_dtype_promotion")
        ]

    rows = []
    for context in (nullcontext, setting):
        with context():
            before = state()
            rows.append(train(chosen, "softmax", 1))
            assert state() == before
    assert without_time(rows[0]) == without_time(rows[1])


def test_a_setting_that_training_does_not_overrule_stands_in_the_row(monkeypatch):
    chosen = task("retrieval", TINY | {"steps": 0})
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    before = train(chosen, "softmax", 0)["machine"]["flags"]
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    monkeypatch.setenv("NPROC", "1")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "a place of mine")
    after = train(chosen, "softmax", 0)["machine"]["flags"]
    assert set(after.split()) - set(before.split()) == {"JAX_DISABLE_MOST_OPTIMIZATIONS=1", "NPROC=1"}
    assert "a place of mine" not in after


@pytest.mark.parametrize(
    ("name", "value"),
    [("JAX_PLATFORMS", "cuda"), ("JAX_PLATFORMS", "no-such-platform"), ("JAX_ENABLE_X64", "perhaps")],
)
def test_a_setting_with_which_jax_cannot_compute_is_one_sentence(name, value):
    done = run("-m", "attnsep.cli", "learn", "retrieval", *words_of(TINY), CUDA_VISIBLE_DEVICES="", **{name: value})
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("attnsep: JAX ")
    assert f"unset or change its variables ({name}={value})" in done.stderr


def test_where_jax_cannot_compute_the_stored_row_is_shown(monkeypatch, capsys):
    def none():
        raise RuntimeError("Unknown backend")

    monkeypatch.setattr(jax, "devices", none)
    assert trained_or_stored("retrieval", "elu+1", 0) in table.read_rows()
    assert "JAX finds nothing to compute on (Unknown backend); " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("losses", "steps", "at"),
    [([1.0] * 12, 12, 1), ([1.0] * 11 + [0.5] * 12, 23, 12), ([1.0, 0.00101, 0.001], 3, 3)],
)
def test_training_stops_at_its_goal_or_at_the_eleventh_evaluation_without_progress(monkeypatch, losses, steps, at):
    rest = iter([*losses, math.nan])  # the last one is that of the end
    monkeypatch.setattr("attnsep.learn.train._mean_score", lambda *_: next(rest))
    row = train(task("retrieval", TINY | {"steps": 4000}), "softmax", 0)
    assert (row["steps"], row["result"]["at"]) == (20 * steps, 20 * at)
    assert next(rest, None) is None


def test_eleven_evaluations_that_are_not_finite_are_no_progress_either(monkeypatch):
    monkeypatch.setattr("attnsep.learn.train._mean_score", lambda *_: math.nan)
    row = train(task("retrieval", TINY | {"steps": 4000}), "softmax", 0)
    assert (row["steps"], row["result"]) == (20 * 11, {"diverged": False, "best": None, "at": 0, "all": None})


def test_each_evaluation_has_sequences_of_its_own_and_a_killed_run_the_same(monkeypatch):
    seen = []
    monkeypatch.setattr("attnsep.learn.train._mean_score", lambda *given: seen.append(given[2]["keys"].tobytes()) or 1)
    for _ in range(2):
        train(task("retrieval", TINY | {"pairs": 20, "steps": 60}), "softmax", 0)
    assert seen[:4] == seen[4:]
    assert len(set(seen)) == 4


@pytest.mark.usefixtures("compiled_quickly")
def test_no_step_evaluates_the_initial_model():
    row = train(task("edge", SMALL["edge"] | {"steps": 0}), "softmax", 0)
    assert row["steps"] == 0
    assert set(row["result"]) == {"diverged", "n = 32", "n = 64", "n = 128", "n = 256"}


def test_a_checkpoint_of_another_run_is_rejected(tmp_path):
    path = tmp_path / "state"
    train(task("retrieval", TINY), "softmax", 0, checkpoint=path)
    for settings, kernel, seed, what in (
        (TINY, "linear", 0, "kernel"),
        (TINY | {"rate": 0.1}, "softmax", 1, "seed, se"),
    ):
        with pytest.raises(ValueError, match=f"belongs to a run with another {what}"):
            train(task("retrieval", settings), kernel, seed, checkpoint=path)


def test_what_is_no_checkpoint_is_told_in_words(tmp_path):
    path, chosen = tmp_path / "state", task("retrieval", TINY)
    train(chosen, "softmax", 0, checkpoint=path)
    whole = path.read_bytes()

    def bytes_of(save, *values, **named):
        file = io.BytesIO()
        save(file, *values, **named)
        return file.getvalue()

    other = "it is an archive of something else, or damaged"
    for content, reason in (
        (b"", "it is empty"),
        (b"no checkpoint", "it is no archive of numpy, or only a part of one"),
        (whole[: len(whole) // 2], "it is no archive of numpy, or only a part of one"),
        (bytes_of(np.save, np.zeros(3)), "it is no archive of numpy, or only a part of one"),
        (bytes_of(np.savez, np.zeros(3)), other),
        *((bytes_of(np.savez, text=np.array(text)), other) for text in ("x", "3", "[]", '{"run": 3}')),
        (whole.replace(b"leaf1", b"leafx"), other),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="is no checkpoint") as caught:
            train(chosen, "softmax", 0, checkpoint=path)
        assert str(caught.value) == f"checkpoint = {str(path)!r}: is no checkpoint: {reason}"
        assert path.read_bytes() == content
    assert _why_none(path, PermissionError(13, "Permission denied")) == "it cannot be read (Permission denied)"


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_training(tmp_path, monkeypatch):
    monkeypatch.setattr("attnsep.learn.train._libraries", lambda: pytest.fail("has begun"))
    (tmp_path / "link").symlink_to(os.devnull)
    for path in (tmp_path, tmp_path / "none" / "state", os.devnull, tmp_path / "link"):
        with pytest.raises(ValueError, match=r"^checkpoint = .*: cannot be written"):
            train(task("retrieval", TINY), "softmax", 0, checkpoint=path)


def test_a_loss_that_is_not_finite_is_noted_and_leaves_the_parameters_alone():
    row = train(task("retrieval", TINY | {"rate": 1e30}), "linear", 0)
    assert row["result"]["diverged"]
    json.dumps(row, allow_nan=False)


@pytest.mark.usefixtures("compiled_quickly")
def test_however_many_steps_are_not_finite_in_a_row_none_is_taken():
    kind = TASKS["mqar"]
    lost = type("Lost", (kind,), {"loss": lambda self, outputs, targets: np.nan * kind.loss(self, outputs, targets)})
    settings = {"pairs": 2, "n": 32, "words": 40, "d": 4, "width": 2, "tests": 40, "every": 10}
    before, after = (train(lost(steps=steps, **settings), "softmax", 0)["result"] for steps in (0, 20))
    assert after == before | {"diverged": True}, "the parameters are not those from before"


@pytest.mark.usefixtures("compiled_quickly")
def test_a_loss_that_was_not_finite_once_is_remembered():
    kind, draws = TASKS["edge"], []

    def draw(self, rng):
        inputs, targets = kind.draw(self, rng)
        draws.append(np.float32(np.nan if len(draws) < 5 else 1))
        return inputs | {"x": draws[-1] * inputs["x"]}, targets

    settings = {"n": 32, "batch": 8, "tests": 20, "width": 4, "block": "bare", "steps": 20, "every": 10}
    row = train(type("Spoiled", (kind,), {"draw": draw})(**settings), "softmax", 0)
    assert np.isnan(draws).tolist() == [True] * 5 + [False] * 15
    assert row["result"]["diverged"]


def test_a_test_is_taken_in_parts_of_one_size(monkeypatch):
    """Else the mean of their means would weigh the examples of a short one more."""
    inputs, targets = {"few": np.arange(10).reshape(10, 1), "x": np.arange(20).reshape(10, 2)}, np.arange(10)
    for most, sizes in ((16, [2] * 5), (20, [5] * 2), (3, [1] * 10), (39, [5] * 2), (40, [10]), (400, [10])):
        monkeypatch.setattr("attnsep.learn.train.AT_ONCE", most)
        parts = [*_parts(inputs, targets)]
        assert [len(part) for _, part in parts] == sizes, "the weights of a part are more than may be at once"
        for name, whole in inputs.items():
            assert np.array_equal(np.concatenate([part[name] for part, _ in parts]), whole)
        assert np.array_equal(np.concatenate([part for _, part in parts]), targets)


@pytest.mark.usefixtures("jax_as_it_comes", "compiled_quickly")
# With the seed 3 the smaller of the two layers' margins is the second one's at all sizes, with 5 the first one's.
@pytest.mark.parametrize(("kernel", "seed"), [*((kernel, 5) for kernel in KERNELS), ("linear", 3)])
def test_what_the_steps_show_is_what_numpy_computes(tmp_path, monkeypatch, kernel, seed):
    monkeypatch.setattr("attnsep.learn.train._mean_score", lambda *_: 1.0)  # four more compilations, asked for by none
    layers = {"layers": 2 if kernel == "linear" else 1}  # a second one takes as long again to compile
    chosen = task("edge", SMALL["edge"] | layers | {"steps": 3, "every": 3, "clip": 0.01})
    row = train(chosen, kernel, seed, checkpoint=tmp_path / "state")
    with np.load(tmp_path / "state") as stored:
        lengths, margins = stored["length"], stored["margin"]
    initial, data, tests = (np.random.default_rng([seed, k]) for k in range(3))
    p, (inputs, targets) = chosen.initial(initial), chosen.draw(data)
    slope = jax.jit(jax.grad(lambda p, inputs, targets: chosen.loss(chosen.predict(p, inputs, kernel), targets)))
    gradient = slope(p, inputs, targets)
    first = math.sqrt(sum(float(np.sum(np.asarray(g, float) ** 2)) for g in jax.tree.leaves(gradient)))
    assert lengths[0] == pytest.approx(first, rel=1e-3)
    with noting() as notes:
        chosen.predict(p, inputs, kernel)
    margin = float(min(map(normaliser_margin, notes))) if kernel == "linear" else 1
    assert margins[0] == pytest.approx(margin, rel=1e-3)
    wanted = record(lengths, margins if kernel == "linear" else None, 0.01)
    assert {name: row["recorded"][name] for name in wanted} == wanted
    assert row["recorded"]["gradient"]["shortened"] == 1
    untrained = train(task("edge", chosen.settings | {"steps": 0}), kernel, seed)["recorded"]["weights"]
    for name, (inputs, _) in chosen.held_out(tests).items():
        with noting() as notes:
            chosen.predict(p, inputs, kernel)
        entropy, largest = np.mean([concentration(u) for u in notes], axis=0)  # over the layers
        look = {"entropy": entropy, "largest": largest}
        look |= {"margin": min(map(normaliser_margin, notes))} if kernel == "linear" else {}
        assert untrained[name] == pytest.approx({k: float(x) for k, x in look.items()}, rel=2e-3)


def test_a_stored_row_comes_out_again():
    """To the digits that another machine's rounding leaves: both kernels reach the goal, softmax as early as stored."""
    for row in table.read_rows():
        if (row["task"], row["seed"], row["settings"].get("pairs")) == ("retrieval", 0, 20) and row[
            "kernel"
        ] != "linear":
            again = train(task("retrieval", row["settings"]), row["kernel"], 0)
            assert again["result"]["best"] <= 0.001
            assert abs(again["result"]["at"] - row["result"]["at"]) <= 200


def test_without_the_extra_the_stored_row_is_shown_and_said_to_be_stored(monkeypatch, capsys):
    row = trained_or_stored("retrieval", "elu+1", 0, {"steps": 100_000})
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "jax", None)
    stored = trained_or_stored("retrieval", "elu+1", 0)
    assert stored in table.read_rows()
    assert stored["settings"] == row["settings"]
    said = capsys.readouterr().err
    assert 'pip install ".[learn]" in the folder of the book. The stored row is shown' in said
    with pytest.raises(ValueError, match="the table has no row"):
        trained_or_stored("retrieval", "elu+1", 999)


def test_quantiles_are_students():
    for comparisons in (1, 2, 8, 1000):
        wanted = [scipy.stats.t.ppf(1 - 0.025 / comparisons, k) for k in range(1, 10)]
        np.testing.assert_allclose([table.student(k, comparisons) for k in range(1, 10)], wanted, rtol=1e-9)
