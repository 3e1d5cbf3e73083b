"""Models, tasks and the table of trained models, as far as they need NumPy alone; lib/tests/learn trains."""

import json
import math
import os
import shlex
import subprocess
import sys
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep import cli
from attnsep.arrays import to_numpy
from attnsep.attention.attend import attend
from attnsep.extensions.where_linear_wins import CountData
from attnsep.learn import grid, model, table, train
from attnsep.learn.tasks import TASKS, cross_entropy, task
from attnsep.paper.tokens import TokenData

ROW = {
    "task": "retrieval",
    "kernel": "softmax",
    "seed": 0,
    "settings": task("retrieval", {"pairs": 3}).settings,
    "steps": 100,
    "result": {"diverged": False, "best": 0.25, "at": 100},
    "versions": {},
    "machine": {},
    "seconds": 1.0,
}


# The model


def attended(q, k, v, kernel):
    """Return what the library's own attention gives for the models' scores ⟨q, k⟩/√d."""
    if kernel == model.UNNORMALISED:
        return q @ k.T @ v / math.sqrt(q.shape[1])
    return attend(q / math.sqrt(q.shape[1]) if kernel in ("softmax", "taylor") else q, k, v, kernel=kernel)


@pytest.mark.parametrize("kernel", model.KERNELS)
def test_weights_are_those_of_the_library(xp, rng, kernel):
    q, k, v = rng.uniform(0.1, 1, (2, 5, 4)), rng.uniform(0.1, 1, (2, 7, 4)), rng.standard_normal((2, 7, 3))
    q[0, :2], k[1, 3] = -q[0, :2], -k[1, 3]  # elu has two branches
    found = to_numpy(model.weights(xp.asarray(q), xp.asarray(k), kernel)) @ v
    for b in range(2):
        np.testing.assert_allclose(found[b], attended(q[b], k[b], v[b], kernel), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", model.KERNELS)
def test_a_row_sees_only_what_it_may(rng, kernel):
    q, k = rng.uniform(0.1, 1, (6, 4)), rng.uniform(0.1, 1, (6, 4))
    found = model.weights(q, k, kernel, np.tril(np.ones((6, 6), bool)))
    for row in range(6):
        alone = model.weights(q[row : row + 1], k[: row + 1], kernel)
        np.testing.assert_allclose(found[row, : row + 1], alone[0], rtol=1e-12)
        assert not found[row, row + 1 :].any()


@pytest.mark.parametrize("kernel", model.KERNELS)
def test_what_is_noted_are_the_rows_before_they_are_normalised(rng, kernel):
    q, k = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 5, 4))
    keep = np.arange(5) < 3
    f = model.weights(q, k, kernel, keep)
    with model.noting() as notes:
        assert (model.weights(q, k, kernel, keep) == f).all()
    (u,) = notes
    assert not u[..., 3:].any()
    np.testing.assert_allclose(u if kernel == model.UNNORMALISED else u / u.sum(axis=-1, keepdims=True), f, rtol=1e-12)
    model.weights(q, k, kernel)
    assert len(notes) == 1, "nothing is noted outside"


def test_notes_within_notes_and_an_error_leave_the_others_to_go_on():
    q, k = np.array([[2.0]]), np.array([[1.0], [3.0]])
    with model.noting() as outer:
        with suppress(KeyError), model.noting() as inner:
            model.weights(q, k, "linear")
            raise KeyError
        model.weights(q, 2 * k, "linear")
    model.weights(q, 3 * k, "linear")
    assert [[u.tolist() for u in notes] for notes in (inner, outer)] == [[[[2, 6]]], [[[4, 12]]]]


def test_margin_entropy_and_largest_share_are_what_their_formulas_say(rng):
    u = rng.standard_normal((4, 3, 7))
    u[0, 0, 2:] = 0
    rows = [[float(x) for x in row] for row in u.reshape(-1, 7)]
    assert float(model.normaliser_margin(u)) == pytest.approx(min(abs(sum(r)) / sum(map(abs, r)) for r in rows))
    shares = [[abs(x) / sum(map(abs, row)) for x in row] for row in rows]
    entropy, largest = model.concentration(u)
    assert float(largest) == pytest.approx(np.mean([max(row) for row in shares]))
    assert float(entropy) == pytest.approx(np.mean([-sum(s * math.log(s) for s in row if s) for row in shares]))


def test_steps_are_summed_up():
    found = train.record([0.5, math.inf, 3, 0.5, math.nan], [0.9, 0.01, 0.2, 0.8, math.nan], clip=2)
    assert found["gradient"] == {"median": 0.5, "largest": 3, "shortened": 0.333333, "not finite": 2}
    assert found["normaliser"]["least"] == 0.2
    assert train.record([1, 3, 2, 5], [0.4, 0.2, 0.3, 0.1])["normaliser"] == {"least": 0.1, "rank correlation": -1}
    none = {"median": None, "largest": None, "shortened": 0, "not finite": 0}
    assert train.record([], [], 1) == {"gradient": none, "normaliser": {"least": None, "rank correlation": None}}
    assert train.record([1.0, 1.0], [0.4, 0.2])["normaliser"]["rank correlation"] is None
    assert set(train.record([1.0])) == {"gradient"}
    with pytest.raises(ValueError, match="margins: has 2 numbers, lengths has 1"):
        train.record([1.0], [0.5, 0.5])


@pytest.mark.parametrize(("kernel", "kind"), [*product(model.KERNELS, model.BLOCKS)])
def test_a_block_is_what_its_formula_says(rng, kernel, kind):
    p = {name: x.astype(float) for name, x in model.initial_block(rng, d=3, width=2, hidden=5, kind=kind).items()}
    p["bias"] = rng.standard_normal(5)
    if kind == "full":
        p["before"], p["between"] = rng.uniform(0.5, 2, (2, 3))
    x = rng.standard_normal((1, 4, 3))

    def norm(row, scale):
        return row / math.sqrt(sum(z * z for z in row) / 3 + 1e-6) * p[scale] if kind == "full" else row

    seen = np.array([norm(row, "before") for row in x[0]])
    mixed = attended(seen @ p["q"], seen @ p["k"], seen @ p["v"], kernel) + (x[0] if kind == "full" else 0)
    wanted = []
    for row in mixed:
        hidden = [max(0.0, z) for z in norm(row, "between") @ p["up"] + p["bias"]]
        wanted.append(np.array(hidden) @ p["down"] + (row if kind == "full" else 0))
    np.testing.assert_allclose(model.block(p, x, kernel)[0], wanted, rtol=1e-9)


@pytest.mark.parametrize("name", ["d", "width", "hidden"])
def test_a_block_has_one_to_ten_thousand_of_each_size(rng, name):
    sizes = dict.fromkeys(("d", "width", "hidden"), 1)
    for wrong in (0, 10**4 + 1):
        with pytest.raises(ValueError, match=f"^{name} = {wrong}: must be "):
            model.initial_block(rng, **sizes | {name: wrong})
    if name != "d":  # of which there is a square
        assert model.initial_block(rng, **sizes | {name: 10**4})["up"].shape[1] in (1, 10**4)


@pytest.mark.parametrize("name", ["rows", "columns"])
def test_a_gaussian_matrix_has_one_to_a_hundred_thousand_rows_and_columns(rng, name):
    sizes = {"rows": 1, "columns": 1}
    for wrong in (0, 10**5 + 1):
        with pytest.raises(ValueError, match=f"^{name} = {wrong}: must be "):
            model.gaussian(rng, **sizes | {name: wrong})
    assert model.gaussian(rng, **sizes | {name: 10**5}).size == 10**5


def test_what_cannot_be_trained_is_refused_before_anything_is_loaded(monkeypatch):
    monkeypatch.setattr(train, "_libraries", lambda: pytest.fail("nothing is wrong with it"))
    with pytest.raises(TypeError, match="chosen = 'edge': must be of the class Task"):
        train.train("edge", "softmax", 0)
    for seed in (-1, 2**32):
        with pytest.raises(ValueError, match=f"seed = {seed}: must be "):
            train.train(task("edge"), "softmax", seed)
    with pytest.raises(pytest.fail.Exception, match="nothing is wrong"):
        train.train(task("edge"), "softmax", 2**32 - 1)


def test_behind_a_sequences_end_nothing_counts(rng):
    chosen = task("edge", {"n": 32, "batch": 3})
    p, keep, x = chosen.initial(rng), np.arange(32) < 16, np.abs(chosen.draw(rng)[0]["x"])
    p["embed"] = np.abs(p["embed"])
    p["blocks"][0] |= {name: np.abs(p["blocks"][0][name]) for name in "qk"}  # no row sum near 0
    long = {"x": np.where(keep[:, None], x, 7.0).astype(np.float32), "keep": np.tile(keep, (3, 1))}
    short = {"x": x[:, :16], "keep": np.ones((3, 16), bool)}
    for kernel in model.KERNELS:
        found, wanted = (chosen.predict(p, x, kernel) for x in (long, short))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


# The tasks


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_same_seed_draws_the_same(name):
    pytest.importorskip("sklearn") if name == "digits" else None
    chosen = task(name, {"tests": 3})
    for k in range(2):
        draw, tests = chosen.source(np.random.default_rng(k))
        again, _ = chosen.source(np.random.default_rng(k))
        (inputs, targets), (same, _) = draw(np.random.default_rng(1)), again(np.random.default_rng(1))
        assert all((inputs[key] == same[key]).all() for key in inputs)
        (same, _), (other, _) = draw(np.random.default_rng(1)), draw(np.random.default_rng(2))
        assert all((inputs[key] == same[key]).all() for key in inputs), "nothing but the given generator decides"
        assert any((inputs[key] != other[key]).any() for key in inputs)
        assert targets.dtype == np.int32
        assert {x.dtype.kind for x in inputs.values()} <= set("fib")
        assert all(len(y) == 3 for _, y in tests.values())


def test_tokens_without_noise_are_the_data_of_the_book(rng):
    inputs, targets = task("edge", {"noise": 0, "n": 64, "batch": 40}).draw(rng)
    assert set(inputs["keep"].sum(axis=1)) == {16, 32, 64}
    assert set(targets) == {0, 1}
    places = set()
    for x, keep, y in zip(inputs["x"], inputs["keep"], targets, strict=True):
        n = int(keep.sum())
        places.add(place := int(np.argmax(x[:, 0])))
        data = TokenData(n=n, d=10, a="0.7" if y else "0.05", c="0.5", marked=place)
        np.testing.assert_allclose(x[:n], data.matrix(np), rtol=1e-6)
        assert (x == np.tile(x[:n], (64 // n, 1))).all()
    assert len(places) > 10


def test_counted_marks_are_those_of_the_book(rng):
    inputs, targets = task("counting", {"noise": 0, "n": 128, "batch": 40}).draw(rng)
    for x, keep, y in zip(inputs["x"], inputs["keep"], targets, strict=True):
        n = int(keep.sum())
        data = CountData(n=n, d=10, a="0.7", c="0.5", share="3/4" if y else "1/4").matrix(np)
        np.testing.assert_allclose(x[:n, 1:], data[:, 1:], rtol=1e-6)
        np.testing.assert_allclose(np.sort(x[:n, 0]), np.sort(data[:, 0]), rtol=1e-6)


def test_retrieval_pairs_every_key_with_one_value(rng):
    chosen = task("retrieval", {"pairs": 5, "tests": 7, "width": 4})
    inputs, targets = chosen.held_out(rng)["all"]
    assert (np.sort(inputs["keys"]) == np.arange(5)).all()
    for b, row in product(range(7), range(5)):
        assert targets[b, row] == list(inputs["keys"][b]).index(inputs["asked"][b, row])


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kernel", model.KERNELS)
def test_retrieval_answers_with_weighted_unit_vectors(rng, kernel, several):
    chosen = task("retrieval", {"pairs": 5, "width": 4, "batch": 2, "tests": 2, "asked": 3})
    p = {name: x.astype(float) for name, x in chosen.initial(rng).items()}
    inputs, targets = (chosen.draw, lambda rng: chosen.held_out(rng)["all"])[several](rng)
    found = chosen.predict(p, inputs, kernel)
    losses = []
    for b in range(2):
        k = [
            np.concatenate([np.eye(5)[v], p["embed"][key]]) @ p["k"] + p["k_bias"]
            for v, key in enumerate(inputs["keys"][b])
        ]
        q = np.array([p["embed"][key] @ p["q"] + p["q_bias"] for key in inputs["asked"][b]])
        wanted = attended(q, np.array(k), np.eye(5), kernel)
        np.testing.assert_allclose(found[b], wanted, rtol=1e-9, atol=1e-12)
        losses += [0.5 * np.sum((w - np.eye(5)[v]) ** 2) for w, v in zip(wanted, targets[b], strict=True)]
    np.testing.assert_allclose(chosen.loss(found, targets), np.mean(losses), rtol=1e-9)


def test_mqar_asks_for_every_key_once(rng):
    chosen = task("mqar", {"pairs": 4, "n": 32, "words": 64})
    inputs, targets = chosen.draw(rng, count=30)
    for x, asked, y in zip(inputs["x"], inputs["asked"], targets, strict=True):
        memory = dict(zip(x[0:8:2], x[1:8:2], strict=True))
        assert [*memory] == [*x[asked]]
        assert [*memory.values()] == [*y]
        assert min(memory) > 0
        assert max(memory) < 32 <= min(y)
        assert len(set(y)) == 4
        assert asked.min() >= 8
        assert not (asked % 2).any()


def test_a_place_in_mqar_sees_what_came_before_and_no_more(rng):
    chosen = task("mqar", {"pairs": 4})
    p, (inputs, _) = chosen.initial(rng), chosen.draw(rng, count=40)
    changed = inputs | {"x": inputs["x"].copy()}
    changed["x"][:, 13] ^= 1
    before, after = (chosen.predict(p, x, "softmax") for x in (inputs, changed))
    earlier = inputs["asked"] < 13
    assert (before[earlier] == after[earlier]).all()
    assert (before[~earlier] != after[~earlier]).any(axis=1).all()


@pytest.mark.slow
def test_digits_are_split_by_seed_and_never_overlap():
    pytest.importorskip("sklearn")
    chosen = task("digits", {"tests": 600, "batch": 4000})
    tests = []
    for seed in (1, 2):
        draw, held_out = chosen.source(np.random.default_rng(seed))
        seen = {x.tobytes() for x in draw(np.random.default_rng(3))[0]["x"]}
        tests.append({x.tobytes() for x in held_out["all"][0]["x"]})
        assert len(seen & tests[-1]) == 0, "test images are drawn for training, too: the split of Digits.source leaks"
        assert len(seen) > 1000
    assert tests[0] != tests[1]


def test_cross_entropy_is_minus_the_logarithm_of_the_right_share(rng):
    outputs, targets = rng.standard_normal((2, 3, 4)), np.array([[0, 3, -1], [2, -1, 1]])
    shares = np.exp(outputs) / np.exp(outputs).sum(axis=-1, keepdims=True)
    asked = [(b, i) for b, i in product(range(2), range(3)) if targets[b, i] >= 0]
    wanted = np.mean([-math.log(shares[b, i, targets[b, i]]) for b, i in asked])
    np.testing.assert_allclose(cross_entropy(outputs, targets), wanted)


def test_what_is_not_finite_is_never_right():
    outputs, y = np.array([[1.0, 0.0], [np.nan, 0.0], [1.0, -np.inf]]), np.zeros(3, int)
    assert task("edge").score(outputs, y).tolist() == [True, False, False]
    assert task("mqar", {"pairs": 1}).score(outputs[:, None], y[:, None]).tolist() == [[True], [False], [False]]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("chess", {}, "name = 'chess'"),
        ("edge", {"n": 60}, r"n = 60, d = 10: n must be a multiple of 4\(d - 2\) = 32"),
        ("counting", {"n": 33, "d": 3}, "n = 33, d = 3"),
        ("edge", {"n": 8}, "n = 8: must be at least 32"),
        ("edge", {"noise": -1}, "noise = -1.0: must be at least 0"),
        ("edge", {"a0": "x"}, "a0 = 'x'"),
        ("edge", {"block": "half"}, "block = 'half'"),
        ("mqar", {"pairs": 0}, "pairs = 0"),
        ("mqar", {"pairs": 17}, "n = 64: must be even and at least 68, so that there are a question"),
        ("mqar", {"n": 65}, "n = 65: must be even"),
        ("listops", {"args": 3}, "args = 3, depth = 4: args to the power depth - 1 must be at least n = 128"),
        ("listops", {"args": 4}, "args = 4, depth = 4: args to the power depth - 1 must be at least n = 128"),
        ("listops", {"tests": 10001}, "tests = 10001"),
        ("mqar", {"words": 64}, "words = 64: must be even and at least 66, so that there are words for n = 64 places"),
        ("mqar", {"steps": 150}, "steps = 150: must be a multiple of every = 100"),
        ("retrieval", {"rate": 0}, "rate = 0.0"),
        ("retrieval", {"steps": "many"}, "steps = 'many': must be an integer"),
        ("digits", {"tests": 1797}, "tests = 1797"),
    ],
)
def test_bad_settings_are_rejected(name, settings, message):
    with pytest.raises(ValueError, match=message):
        task(name, settings)


def test_decimals_that_no_double_tells_apart_are_two_settings():
    fine = task("edge", {"a": "0.70000000000000001"})
    assert fine != task("edge", {"a": "0.7"})
    assert Fraction(fine.a) == Fraction("0.70000000000000001")
    assert task("edge", fine.settings) == fine


def test_the_rates_that_nobody_has_to_name():
    """Typed twice: a run by its shortest command is the same one tomorrow."""
    assert {name: task(name).rate for name in TASKS} == dict.fromkeys(TASKS, 0.003) | {"retrieval": 0.001}


def test_a_hundred_thousand_sequences_are_drawn_at_once_and_no_more(rng):
    chosen = task("retrieval", {"pairs": 2})
    assert len(chosen.draw(rng, 10**5)[1]) == 10**5
    with pytest.raises(ValueError, match="count = 100001: must be at most 100000"):
        chosen.draw(rng, 10**5 + 1)


# The table and the grid


def test_rows_are_stored_in_one_order_and_a_run_once(tmp_path):
    path, rows = tmp_path / "t.jsonl", [ROW | {"seed": seed} for seed in (2, 0, 1)]
    for row in rows:
        table.add_row(path, row)
    assert [row["seed"] for row in table.read_rows(path)] == [0, 1, 2]
    table.add_row(path, ROW | {"steps": 700})
    assert [row["steps"] for row in table.read_rows(path)] == [700, 100, 100]
    assert [item.name for item in tmp_path.iterdir()] == ["t.jsonl"]


def test_settings_written_otherwise_are_the_same_run(tmp_path):
    path, edge = tmp_path / "t.jsonl", ROW | {"task": "edge", "settings": task("edge").settings}
    for row, others in (
        (ROW, [{"pairs": "3"}, {"pairs": 3, "width": "64", "rate": "1e-3"}]),
        (edge, [{}, {"a": 0.7, "n": "32"}, {"noise": "0.15", "c": 0.5}, {"a": "0.70", "a0": "5e-2", "c": "1/2"}]),
    ):
        whole = row["settings"]
        others = [*others, dict(reversed(whole.items())), {name: str(value) for name, value in whole.items()}]
        for other in others:
            path.write_text(json.dumps(row | {"settings": other}), encoding="utf-8")
            assert json.dumps(table.read_rows(path)) == json.dumps([row])
            table.add_row(path, row | {"seed": 1})
            table.add_row(path, row | {"steps": 700})
            table.add_row(path, row | {"steps": 800, "settings": other})
            assert path.read_text(encoding="utf-8") == table.rows_text([row | {"steps": 800}, row | {"seed": 1}])
            assert table.command(row | {"settings": other}) == table.command(row)


ADD = """
import json, sys
from attnsep.learn import table
row, first = json.loads(sys.argv[1]), 5 * int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for seed in range(first, first + 5):
    table.add_row(sys.argv[2], row | {"seed": seed})
"""


@pytest.mark.slow
def test_processes_that_share_a_table_lose_no_row(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder / "t.jsonl")
    (tmp_path / "way").symlink_to(folder)
    names = ["folder/t.jsonl", "link", "folder/../way/t.jsonl", str(folder / "t.jsonl")]
    words = [sys.executable, "-c", ADD, json.dumps(ROW)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": tmp_path}
    running = [subprocess.Popen([*words, name, str(k)], **pipes) for k, name in enumerate(names)]
    for child in running:
        assert child.stdout.readline() == "ready\n"
    for child in running:
        child.stdin.write("go\n")
        child.stdin.flush()
    for child in running:
        child.communicate()
        assert child.returncode == 0
    assert [row["seed"] for row in table.read_rows(folder / "t.jsonl")] == list(range(20))
    assert os.listdir(folder) == ["t.jsonl"]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_tables_and_grids_of_other_systems_are_taken(tmp_path, mark, ends):
    path, text = tmp_path / "t.jsonl", table.rows_text([ROW, ROW | {"seed": 1}])
    path.write_bytes(mark + f"{text}\n \n".replace("\n", ends).encode())
    assert table.read_rows(path) == [ROW, ROW | {"seed": 1}]
    table.add_row(path, ROW | {"seed": 2})
    assert len(table.read_rows(path)) == 3
    text = json.dumps([{name: ROW[name] for name in table.RUN}], indent=1)
    path.write_bytes(mark + f"{text}\n\n".replace("\n", ends).encode())
    assert [run["settings"] for run in grid.read_grid(path)] == [ROW["settings"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_tables_and_grids_in_another_encoding_are_told_which(tmp_path, encoding):
    path = tmp_path / "t.jsonl"
    path.write_text(table.rows_text([ROW]), encoding=encoding)
    for reading in (table.read_rows, grid.read_grid):
        with pytest.raises(ValueError, match=r"must be encoded in UTF-8; it looks like UTF-16 or UTF-32"):
            reading(path)


def test_a_table_is_ascii_and_its_lines_are_those_of_json(tmp_path):
    path, row = tmp_path / "t.jsonl", ROW | {"machine": {"cpu": "Prozessor™\u2028\x85"}}
    table.add_row(path, row)
    assert path.read_bytes().isascii()
    assert table.read_rows(path) == [row]
    path.write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
    assert table.read_rows(path) == [row]


def test_a_row_goes_to_a_device_alone_and_through_links(tmp_path, monkeypatch):
    with monkeypatch.context() as none:
        none.setattr(table, "read_rows", lambda path: pytest.fail("a terminal would wait for words"))
        table.add_row(os.devnull, ROW)
    link, target = tmp_path / "link", tmp_path / "t.jsonl"
    link.symlink_to(target)
    for seed in range(2):
        table.add_row(link, ROW | {"seed": seed})
    assert link.is_symlink()
    assert len(table.read_rows(target)) == 2


PART = {"task": "edge", "kernel": "softmax", "seed": 0, "settings": {}}


def without(key):
    return {name: value for name, value in PART.items() if name != key}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("[3", "it is no JSON text: expecting ',' delimiter, line 1, column 3"),
        ("grid", "it is no JSON text: expecting value, line 1, column 1"),
        ("[" * 100_000, "its lists and objects are nested too deeply"),
        ("9" * 5000, "a number of 5000 characters: is too long"),
        (json.dumps([PART]).replace('"seed": 0', f'"seed": {"9" * 5000}'), "a number of 5000 characters: is too long"),
        (json.dumps([PART]).replace("{", '{"seed": 1, ', 1), "key 'seed': must stand in an object only once"),
        (json.dumps([PART]).replace("{}", '{"n": 32, "n": 64}'), "key 'n': must stand in an object only once"),
        ([], "grid = []: must be a list of at least one object"),
        ({}, "grid = {}: must be a list of at least one object"),
        (None, "grid = None: must be a list of at least one object"),
        ([PART, 3], "entry 2 = 3: must be an object with the keys task, kernel, seed, settings"),
        ([PART, [PART]], "entry 2 = [{"),
        *(([without(key)], f"entry 1, key '{key}': is missing; the keys must be task, ") for key in PART),
        ([PART | {"more": 1}], "entry 1, key 'more': must be one of task, kernel, seed, settings"),
        ([PART | {"seconds": 0}], "seconds = 0: must be finite and above 0"),
        ([PART | {"seconds": "long"}], "seconds = 'long': must be a real number"),
        ([PART | {"": 1}], "entry 1, key '': must be one of task, kernel, seed, settings"),
        *(([PART | {key: []}], f"entry 1, {key} = []: must ") for key in PART),
        ([PART, PART | {"settings": {"n": [32], "noise": []}}], "entry 2, noise = []: must have at least one value"),
        ([PART | {"settings": [3]}], "entry 1, settings = [3]: must be an object"),
        ([PART | {"seed": "one"}], "seed = 'one': must be an integer"),
        ([PART | {"settings": {"n": [[32]]}}], "n = [32]: must be an integer"),
    ],
)
def test_what_is_no_grid_is_one_sentence(tmp_path, capsys, content, message):
    path = tmp_path / "g.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert cli.main(["learn", "--grid", str(path)]) == 2
    said = capsys.readouterr().err
    assert f": is no grid ({message}" in said
    assert said.count("\n") == 1


def test_a_grid_says_how_long_it_takes(tmp_path):
    path = tmp_path / "g.json"
    path.write_text(json.dumps([PART | {"seed": [0, 1], "seconds": 2.5}, PART | {"seed": 7, "seconds": 4}]))
    assert grid.planned_seconds(path) == 9
    assert len(grid.read_grid(path)) == 3
    path.write_text(json.dumps([PART | {"seconds": 2.5}, PART]))
    with pytest.raises(ValueError, match="entry 2 does not say what a run takes"):
        grid.planned_seconds(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON text: expecting property name enclosed in double quotes, line 1, column 2"),
        (json.dumps(ROW).replace("{", '{"seed": 1, ', 1), "key 'seed': must stand in an object only once"),
        (json.dumps(ROW).replace('"at": 100', f'"at": {"9" * 5000}'), "a number of 5000 characters: is too long"),
        ("3", "row = 3: must be a row of attnsep learn"),
    ],
)
def test_what_is_no_table_is_one_sentence(tmp_path, text, message):
    path = tmp_path / "t.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is no table") as caught:
        table.read_rows(path)
    assert str(caught.value).endswith(f": is no table of attnsep learn ({message})")


@pytest.mark.parametrize("change", [{"task": "chess"}, {"kernel": "hard"}, {"settings": {"n": 1}}, {"seed": -1}])
def test_what_is_no_row_is_rejected(tmp_path, change):
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(ROW | change), encoding="utf-8")
    with pytest.raises(ValueError, match="is no table of attnsep learn"):
        table.read_rows(path)
    with pytest.raises(ValueError, match=r"\w = |settings: "):
        table.add_row(tmp_path / "new.jsonl", ROW | change)


def test_the_stored_table_is_what_its_grid_says():
    runs, rows = grid.read_grid(table.grid_path()), table.read_rows()
    assert sorted(map(table.run_of, rows)) == sorted(map(table.run_of, runs))
    assert table.rows_text(rows) == table.table_path().read_text(encoding="utf-8")
    for row in rows:
        assert row["machine"].keys() == {"cpu", "cores", "system", "device", "x64", "flags"}
        assert row["recorded"]["gradient"]["largest"] > 0
        assert {"Python", "NumPy", "JAX", "Optax"} == set(row["versions"])
    budgets = {}
    for run in runs:  # the same settings and seeds for every kernel, but for the rate, and the law of first parameters
        budget = {name: x for name, x in run["settings"].items() if name not in ("rate", "start")}
        budgets.setdefault(json.dumps(budget), set()).add((run["kernel"], run["seed"]))
    for found in budgets.values():
        assert found == set(product({kernel for kernel, _ in found}, {seed for _, seed in found}))
        assert len(found) > 1


def test_what_was_left_out_is_a_grid_that_says_what_it_takes():
    path = table.grid_path().with_name("grid-left-out.json")
    left, done = (set(map(table.run_of, grid.read_grid(p))) for p in (path, table.grid_path()))
    assert not left & done
    assert grid.planned_seconds(path) > 3600, "an hour on one core would not be left out"


def test_every_kernel_has_tried_the_same_rates_and_reports_the_one_that_did_best():
    """No side is tuned more than another: the seed that chooses is not reported, and no other rate is."""
    rows, tried, reported = table.read_rows(), {}, {}
    for row in rows:
        budget = json.dumps([row["task"], {name: x for name, x in row["settings"].items() if name != "rate"}])
        (tried if row["seed"] == table.VALIDATION else reported).setdefault(budget, {}).setdefault(
            row["kernel"], set()
        ).add(row["settings"]["rate"])
    assert tried
    for budget, rates in tried.items():
        name, settings = json.loads(budget)
        assert len({frozenset(found) for found in rates.values()}) == 1
        assert len(next(iter(rates.values()))) == 3
        test = f"n = {settings['n']}" if name in ("edge", "counting") else "all"
        best = {kernel: {table.chosen_rate(rows, name, kernel, test, **settings)} for kernel in rates}
        assert reported[budget] == best
    # Other widths of MQAR have no choice of their own, and take that of width 32.
    for row in rows:
        if row["task"] == "mqar":
            chosen = table.chosen_rate(rows, "mqar", row["kernel"], "all", pairs=16, width=32)
            assert row["seed"] == table.VALIDATION or row["settings"]["rate"] == chosen


def test_a_command_makes_its_row_again():
    for row in table.read_rows():
        words = table.command(row).split()
        assert words[:2] == ["attnsep", "learn"]
        settings = dict(word.split("=") for word in words[words.index("--set") + 1 :]) if "--set" in words else {}
        assert task(words[2], settings).settings == row["settings"]


def test_an_interval_needs_two_finite_values():
    mean, half = table.interval([1.0, 2.0, 3.0, 4.0])
    assert (mean, round(half, 3)) == (2.5, round(3.18245 * math.sqrt(5 / 3) / 2, 3))
    assert table.interval([1.0, 2.0, 3.0, 4.0], comparisons=8)[1] > 2 * half
    for values in ([1.0], [1.0] * 11, [1.0, math.nan]):
        with pytest.raises(ValueError, match="values"):
            table.interval(values)


def test_the_runs_of_a_grid_stand_in_its_order_each_where_it_comes_first(tmp_path):
    path = tmp_path / "g.json"
    parts = [PART | {"seed": [3, 1]}, PART | {"kernel": ["taylor", "linear"], "seed": [2, 0]}, PART | {"seed": [0, 1]}]
    path.write_text(json.dumps(parts), encoding="utf-8")
    found = [(run["kernel"], run["seed"]) for run in grid.read_grid(path)]
    one, two = [("softmax", 3), ("softmax", 1)], [("taylor", 2), ("taylor", 0), ("linear", 2), ("linear", 0)]
    assert found == [*one, *two, ("softmax", 0)]


def test_a_command_has_one_word_for_a_kernel_whose_name_has_several():
    words = shlex.split(table.command(ROW | {"kernel": model.UNNORMALISED}))
    assert words[3:] == ["--kernel", model.UNNORMALISED, "--seed", "0", "--set", "pairs=3"]


def test_a_grid_is_a_product(tmp_path):
    path = tmp_path / "g.json"
    part = {"task": "edge", "kernel": ["softmax", "linear"], "seed": [0, 1], "settings": {"noise": [0, 0.1], "n": 32}}
    path.write_text(json.dumps([part, part]), encoding="utf-8")
    runs = grid.read_grid(path)
    assert len(runs) == 8
    assert {run["settings"]["noise"] for run in runs} == {0, 0.1}
    for wrong in ({}, [part | {"kernel": "hard"}], [part | {"settings": {"x": 1}}], [part | {"more": 1}], [{}]):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(ValueError, match="is no grid"):
            grid.read_grid(path)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["jax", "optax"])
def test_a_missing_extra_is_one_sentence(monkeypatch, capsys, package):
    monkeypatch.setitem(sys.modules, package, None)
    assert cli.main(["learn", "retrieval", "--set", "steps=0", "pairs=3"]) == 2
    assert capsys.readouterr().err == (
        f"attnsep: training needs {package}, which comes with the extra learn: "
        'pip install ".[learn]" in the folder of the book\n'
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs a task or --grid FILE"),
        (["edge", "--grid", "x.json"], "needs a task or --grid FILE"),
        (["edge", "--set", "n"], "--set n: must be NAME=VALUE"),
        (["edge", "--kernel", "hard"], "kernel = 'hard'"),
        (["edge", "--seed", "-1"], "seed = -1"),
        (["--grid", "no-such.json"], "is no grid"),
        (["edge", "--out", "none/t.jsonl"], "does not exist"),
        (["edge", "--checkpoint", "none/c.npz"], "--checkpoint = 'none/c.npz': cannot be written (its folder does"),
        (
            ["--grid", "x.json", "--checkpoint", "c.npz"],
            "--checkpoint c.npz: works with one task; a grid goes on from the rows in --out",
        ),
        (["edge", "--dask", "tcp://x:1"], "--dask tcp://x:1: works with --grid; one task needs no workers"),
        (["edge", "--jobs", "2"], "--jobs 2: works with --grid; one task needs no workers"),
        (["--grid", "x.json", "--kernel", "linear"], "--kernel linear: works with one task; a grid lists its own"),
        (["--grid", "x.json", "--seed", "0"], "--seed 0: works with one task; a grid lists its own"),
        (["--grid", "x.json", "--set", "n=64", "m=2"], "--set n=64 m=2: works with one task; a grid lists its own"),
        (["edge", "--kernel", ""], "kernel = ''"),
    ],
)
def test_command_says_what_is_wrong(capsys, words, message):
    assert cli.main(["learn", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
