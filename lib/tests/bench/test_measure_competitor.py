"""The benchmark asks PyTorch for the same as the library: same numbers, same question, same care.

PyTorch is not installed for tests.  A module of its name stands in, notes what it is asked for and computes it.
"""

import inspect
import math
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from attnsep.attention import attend
from attnsep.bench import cost, measure

SIZES = [(24, 18, "float64"), (24, 16, "float32")]
PLAIN = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False, "scale": 1.0, "enable_gqa": False}


class Tensor(np.ndarray):
    """A tensor as far as the benchmark uses one; it notes what its products are like."""

    products: ClassVar[list] = []

    def __matmul__(self, other):
        result = super().__matmul__(other)
        self.products.append(result.shape)
        return result

    def to(self, place):
        assert place == "cpu"
        return self


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """Compute what PyTorch's documentation says, for what the benchmark may ask for."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = scale * query @ np.swapaxes(key, -1, -2)
    if is_causal:
        scores = np.where(np.tri(scores.shape[-2], dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ value


@pytest.fixture
def asked(monkeypatch):
    """Let PyTorch be there; return what it is asked for, one dictionary of arguments for each call."""
    calls = []
    monkeypatch.setattr(Tensor, "products", [])

    def noted(*args, **named):
        bound = inspect.signature(scaled_dot_product_attention).bind(*args, **named)
        bound.apply_defaults()
        calls.append(bound.arguments)
        return scaled_dot_product_attention(*args, **named)

    def untouched(*_):
        raise AssertionError("the benchmark leaves PyTorch's threads alone: each library has its own default")

    torch, nn, functional = (ModuleType(f"torch{name}") for name in ("", ".nn", ".nn.functional"))
    functional.scaled_dot_product_attention = noted
    torch.from_numpy = lambda x: np.array(x).view(Tensor)
    torch.__version__, torch.get_num_threads = "0.stand-in", lambda: 5
    torch.set_num_threads = torch.set_num_interop_threads = torch.set_grad_enabled = untouched
    torch.cuda = SimpleNamespace(is_available=lambda: False)
    torch.nn, nn.functional = nn, functional
    for module in (torch, nn, functional):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    find = measure.find_spec
    monkeypatch.setattr(measure, "find_spec", lambda name: True if name == "torch" else find(name))
    return calls


@pytest.fixture
def ours(monkeypatch):
    """Return what the library's attention is asked for by the benchmark."""
    calls = []

    def noted(*args, **named):
        calls.append((args, named))
        return attend.attend(*args, **named)

    monkeypatch.setattr(measure, "attend", noted)
    return calls


def keys_of(name):
    return (name, cost.OURS), (name, cost.PEER), (name, measure.PADDED)


@pytest.mark.parametrize(("n", "d", "dtype"), SIZES)
def test_softmax_is_asked_for_with_the_same_numbers_and_no_scale(asked, ours, n, d, dtype):
    calls = measure._calls(measure.array_api_compat.numpy, n, d, dtype)
    our, plain, padded = (np.asarray(calls[key]()) for key in keys_of("softmax"))
    ((given, named),) = ours
    assert named == {"unique": False}, "ours: no search for equal rows, softmax, scale 1, threads as they come"
    for call, width in zip(asked, (d, -(-d // 16) * 16), strict=True):
        options = {name: call[name] for name in PLAIN}
        assert options == PLAIN
        for x, wanted in zip((call["query"], call["key"], call["value"]), given, strict=True):
            assert (x.shape, x.dtype) == ((1, 1, n, width), np.dtype(dtype)), "one head, no batch, d or d padded to 16"
            assert np.array_equal(x[0, 0, :, :d], wanted), "both libraries have the same numbers"
            assert x.flags.c_contiguous, "rows one after the other in memory, as ours has them"
            assert not x[..., d:].any()
    close = {"rtol": 1e-10 if dtype == "float64" else 1e-3, "atol": 1e-10 if dtype == "float64" else 1e-4}
    np.testing.assert_allclose(plain[0, 0], our, **close)
    np.testing.assert_allclose(padded[0, 0, :, :d], our, **close)


@pytest.mark.parametrize(("n", "d", "dtype"), SIZES)
def test_linear_attention_is_the_same_with_both(asked, ours, n, d, dtype):
    calls = measure._calls(measure.array_api_compat.numpy, n, d, dtype)
    our, peer = (np.asarray(calls["linear", library]()) for library in (cost.OURS, cost.PEER))
    ((given, named),) = ours
    assert named == {"kernel": "linear", "unique": False}
    assert {x.dtype for x in given} == {our.dtype, peer.dtype} == {np.dtype(dtype)}
    assert all(x.shape == (n, d) and np.min(x) > 0 for x in given), "positive, so that no row sum cancels"
    np.testing.assert_allclose(peer, our, rtol=1e-10 if dtype == "float64" else 1e-3)
    assert Tensor.products == [(d, d), (n, d), (n,)], "two products over a row sum, and no n² weights"
    assert ("linear", measure.PADDED) not in calls


def test_scores_have_a_standard_deviation_of_3_and_no_query_comes_twice(ours):
    measure._calls(measure.array_api_compat.numpy, 1000, 66, "float64")["softmax", cost.OURS]()
    q, k, _ = ours[0][0]
    assert abs(np.std(q @ k.T) - 3) < 0.1
    assert len(np.unique(q, axis=0)) == 1000


def test_both_rest_alike_and_are_called_as_long(monkeypatch, contenders_here):
    """On a clock of their own on which every call takes as long, ours and PyTorch's have equal turns."""
    for takes in (1 / 128, 1 / 4):  # sums of these are exact
        clock, called = [0.0], []

        def call(key, clock=clock, called=called, takes=takes):
            def run():
                clock[0] += takes
                called.append(key)

            return run

        keys = [*keys_of("softmax"), ("linear", cost.OURS), ("linear", cost.PEER)]

        def calls(xp, n, d, dtype, libraries, keys=keys, call=call):
            return {key: call(key) for key in keys if measure._of(key) in libraries}

        monkeypatch.setattr(measure, "_calls", calls)
        monkeypatch.setattr(measure, "_peer", lambda xp: True)
        monkeypatch.setattr(measure.time, "perf_counter", lambda clock=clock: clock[0])
        monkeypatch.setattr(measure.time, "sleep", lambda seconds, called=called: called.append(seconds))
        measure._made.cache_clear()
        with measure._contenders(measure.array_api_compat.numpy) as take_turn:
            timed = measure._timed(take_turn, 8, 4, "float64", 2.0, 1e9)
        counts = Counter(called)
        rests = counts.pop(measure.REST)
        assert len({len(row["turns"]) for _, row in timed}) == 1
        assert rests == 3 * len(timed[0][1]["turns"]), "every contender rests before its turn"
        ours, peers = ({counts[key] for key in keys if (key[1] == cost.OURS) == mine} for mine in (True, False))
        assert len(ours | peers) <= 2, f"some are called more often than others: {counts}"
        assert max(ours | peers) - min(ours | peers) <= len(timed[0][1]["turns"]), counts
        assert (measure.REST, measure.SHORT, measure.SPIN) == (0.12, 0.05, 0.1), "as the chapter on cost says"


def test_the_result_names_what_was_compared(asked, monkeypatch, contenders_here):
    monkeypatch.setattr(measure, "_limits", lambda *_: {})
    result = measure.bench([6, 12], [5], ["float64", "float32"], seconds=1e-6)
    assert result["versions"]["PyTorch"] == "0.stand-in"
    assert result["threads"] == {cost.OURS: measure._fast.cores(), cost.PEER: 5}
    found = {(row["mechanism"], row["library"], row["n"], row["dtype"]) for row in result["rows"]}
    pairs = {(name, library) for name in ("softmax", "linear") for library in (cost.OURS, cost.PEER)}
    pairs |= {("token data", cost.OURS), ("closed form", cost.OURS), ("softmax", cost.BARE), ("linear", cost.BARE)}
    assert found == {(*pair, n, dtype) for pair in pairs for n in (6, 12) for dtype in ("float64", "float32")}
    assert {call["query"].dtype for call in asked} == {np.dtype("float64"), np.dtype("float32")}


def test_numpy_alone_computes_the_same_products_and_powers(monkeypatch):
    q, k, v = (np.random.default_rng(seed).uniform(0.1, 1, (24, 5)) for seed in range(3))
    at_once, exp2 = [], measure._fast._exp2
    monkeypatch.setattr(measure._fast, "_exp2", lambda x, out: at_once.append(x.shape) or exp2(x, out))
    for most, blocks in ((23, [1] * 24), (100, [4] * 6), (120, [5, 5, 5, 5, 4]), (10**6, [24])):
        monkeypatch.setattr(measure, "BARE_SCORES", most)
        softmax, linear = measure._bare_calls(np, (q, k, v), (q, k, v)).values()
        np.testing.assert_allclose(softmax(), np.exp2(q @ k.T) @ v, rtol=1e-13)
        assert at_once == [(rows, 24) for rows in blocks]
        at_once.clear()
    for found, wanted in zip(linear(), (q @ k.T @ v, (q @ k.T).sum(axis=1)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_linear_attention_in_numpy_alone_makes_no_matrix_of_scores():
    sizes = []

    class Seen(np.ndarray):
        def __array_finalize__(self, source):
            sizes.append(self.size)

    q, k, v = (np.random.default_rng(seed).uniform(0.1, 1, (50, 5)).view(Seen) for seed in range(3))
    measure._bare_calls(np, (q, k, v), (q, k, v))["linear", cost.BARE]()
    assert max(sizes) == 50 * 5, "it takes time and memory that grow with the square of n"


def test_every_parameter_reaches_the_measurement(monkeypatch, contenders_here):
    """Of times nothing can be tested, so: what is asked for, with each parameter changed."""
    asked = []

    def note(name, result):
        return lambda *args: asked.append((name, *args)) or result(*args)

    monkeypatch.setattr(measure, "_timed", note("timed", lambda *_: []))
    monkeypatch.setattr(measure, "_add_memory", note("memory", lambda *_: None))
    monkeypatch.setattr(measure, "_limits", note("limits", lambda *_: {}))
    monkeypatch.setattr(measure, "_shown", note("bar", lambda sizes, progress: sizes))
    monkeypatch.setattr(measure, "load", note("load", lambda *_: 0.0))
    monkeypatch.setattr(measure._fast, "serves", lambda xp: True)
    base = {"n": [4], "d": [3], "dtype": ["float64"], "seconds": 1.0, "most_work": 10.0, "progress": False, "xp": None}
    others = {"n": [5], "d": [4], "dtype": ["float32"], "seconds": 2.0, "most_work": 11.0, "progress": True}
    others["xp"] = pytest.importorskip("array_api_strict")

    def of(given):
        asked.clear()
        measure.bench(**given)
        return list(map(str, asked))

    of(base)
    assert [name for name, *_ in asked] == ["load", "bar", "timed", "memory", "limits", "load"], (
        "bench leaves out a measurement"
    )
    assert base.keys() == inspect.signature(measure.bench).parameters.keys(), "a new parameter needs a value here"
    for name, value in others.items():
        assert of(base | {name: value}) != of(base), f"bench ignores {name}"
