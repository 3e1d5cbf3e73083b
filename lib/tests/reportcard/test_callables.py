"""How an attention is called is found out, and each rule that it may break has its sentence."""

import sys
from functools import partial
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from attnsep.reportcard import _callables
from attnsep.reportcard._callables import Budget, Late, Misfit, adapted
from lib.tests.reportcard import stand_ins
from lib.tests.reportcard.stand_ins import Clock, several, softmax


def found(attention, **given):
    return adapted(attention, **{"width": 8, "budget": Budget(60)} | given)


def in_place(q, k, v):
    q *= 2
    return softmax(q, k, v)


def keys_in_place(q, k, v):
    k += 1
    return softmax(q, k, v)


def values_in_place(q, k, v):
    v[0, 0] = 0
    return softmax(q, k, v)


def leaning_in_one_number(q, k, v):
    out = several(q, k, v)
    out[..., -1, 0] = out[:, ::-1, -1, 0]  # the last token's first number is that of the other head
    return out


def drawing_one_number(q, k, v):
    out = softmax(q, k, v)
    out[-1, -1] += NOISE.standard_normal()
    return out


def fresh():
    rng = np.random.default_rng(0)
    return lambda q, k, v: softmax(q, k, v) * rng.uniform(0.5, 1.5)


def failing(q, k, v):
    raise KeyError("weights")


def wants_gradients(q, k, v):
    raise RuntimeError("element 0 of tensors does not require grad")


def leaving(q, k, v):
    raise SystemExit(3)


def of_two(q, k, v, bias):
    return softmax(q, k, v)


def only_two_heads(q, k, v):
    if q.ndim != 4 or q.shape[1] == 1:
        raise ValueError("two heads at least")
    return softmax(q, k, v)


NOISE = np.random.default_rng(0)
# What each rule says: the callable that breaks it, and the words that name the requirement.
BROKEN = {
    "shape": (lambda q, k, v: softmax(q, k, v)[:-1], "returns the shape (23, 8) for v of shape (24, 8); must be equal"),
    "NaN": (lambda q, k, v: softmax(q, k, v) * np.nan, "its outputs must be finite"),
    "queries in place": (in_place, "changes q in place; it must leave its inputs alone"),
    "keys in place": (keys_in_place, "changes k in place; it must leave its inputs alone"),
    "values in place": (values_in_place, "changes v in place; it must leave its inputs alone"),
    "one number drawn": (drawing_one_number, "answers equal inputs differently; it must not draw anything anew"),
    "a list": (lambda q, k, v: [q], "returns list, no NumPy array; it must return one array like v, such as lambda q"),
    "exception": (failing, "raises KeyError ('weights') for q, k, v of shape (24, 8) and dtype float64"),
    "one head": (only_two_heads, "raises ValueError (two heads at least) for q, k, v of shape (1, 1, 24, 8)"),
    "other answers": (fresh(), "answers equal inputs differently; it must not draw anything anew"),
    "gradients": (wants_gradients, "it is called without gradients and must not need them"),
    "no mixing": (lambda q, k, v: v * 2, "depends on no other token; it must mix them"),
    "little noise": (lambda q, k, v: softmax(q, k, v) + 1e-3 * NOISE.standard_normal(), "answers equal inputs diff"),
    "no array": (lambda q, k, v: {}, "returns dict, no NumPy array; it must return one array like v"),
    "a tuple": (lambda q, k, v: (q, k), "no NumPy array; it must return one array like v, such as lambda q, k, v: att"),
    "whole numbers": (lambda q, k, v: v.astype(int), "returns numbers of dtype int64, no floating-point ones; it must"),
    "complex numbers": (lambda q, k, v: softmax(q, k, v) + 0j, "returns numbers of dtype complex128, no floating"),
    "exit": (leaving, "raises SystemExit (3) for q, k, v of shape (24, 8)"),
    "more arguments": (
        of_two,
        "argument: 'bias') for q, k, v of shape (24, 8) and dtype float64; it is called as attent",
    ),
    "heads": (leaning_in_one_number, "its output for a head depends on another head; it must keep heads apart"),
}


@pytest.mark.quartered
@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_has_its_sentence(rule):
    attention, words = BROKEN[rule]
    with pytest.raises(Misfit) as error:
        found(attention, library="numpy")
    assert str(error.value).startswith("attention: ")
    assert words in str(error.value)
    assert ("such as" in str(error.value)) == (rule in ("a tuple", "a list"))
    assert "\n" not in str(error.value)


def test_a_layout_that_is_ambiguous_is_asked_for():
    def both(q, k, v):  # tokens on both axes, of arrays with four
        if q.ndim != 4:
            raise ValueError("four axes")
        return softmax(q, k, v) if q.shape[1] < q.shape[2] else np.swapaxes(
            softmax(*(np.swapaxes(x, 1, 2) for x in (q, k, v))), 1, 2
        )  # fmt: skip

    with pytest.raises(Misfit, match="mixes tokens in the layouts bhnd and bnhd; say which, layout="):
        found(both, library="numpy")
    assert found(both, library="numpy", layout="bnhd").layout == "bnhd"


@pytest.mark.parametrize("layout", ["nd", "bhnd", "bnhd"])
def test_the_layout_is_found(layout):
    def swapped(q, k, v):
        return np.swapaxes(several(*(np.swapaxes(x, 1, 2) for x in (q, k, v))), 1, 2)

    of = {"nd": stand_ins.linear, "bhnd": several, "bnhd": swapped}[layout]
    attention = found(of, library="numpy")
    assert (attention.layout, attention.dtype, attention.library) == (layout, "float64", "numpy")
    rows = np.random.default_rng(0).uniform(size=(3, 24, 8))
    expected = stand_ins.linear(*rows) if layout == "nd" else softmax(*rows)
    assert np.array_equal(attention(*rows), expected) or np.allclose(attention(*rows), expected, rtol=1e-14)


def test_heads_and_prompts_are_put_where_the_layout_has_them():
    rows = np.random.default_rng(0).standard_normal((3, 2, 24, 8))
    expected = np.stack([softmax(*rows[:, h]) for h in (0, 1)])
    attention = found(several, library="numpy")
    assert np.allclose(attention.heads(*rows), expected)
    assert np.allclose(attention.batches(*rows), expected)


def test_the_most_precise_dtype_that_works_is_taken():
    def single(q, k, v):
        assert q.dtype == np.float32, "float32 alone"
        return softmax(q, k, v)

    assert found(single, library="numpy").dtype == "float32"
    assert found(softmax, library="numpy", dtype="float16").dtype == "float16"
    assert found(softmax, library="numpy").dtypes == ("float64", "float32", "float16")


def test_one_that_takes_many_tokens_alone_is_given_as_many():
    for block, length in ((1, 24), (64, 64), (512, 512)):

        def long(q, k, v, block=block):
            assert q.shape[-2] % block == 0, f"blocks of {block}"
            return v + v.mean(axis=-2, keepdims=True)

        attention = found(long, library="numpy")
        assert (attention.length, attention.layout) == (length, "nd")  # whoever takes plain rows takes them for tokens


def test_spacings_are_those_of_the_formats():
    assert [*_callables.SPACINGS] == [*_callables.DTYPES]
    for name in ("float64", "float32", "float16"):
        assert _callables.SPACINGS[name] == np.finfo(name).eps
    assert _callables.SPACINGS["bfloat16"] == 2**-7  # eight bits of a fraction, one of them not stored


def test_what_one_dtype_answers_is_no_rule_for_another():
    def single(q, k, v):
        return softmax(q, k, v) if q.dtype == np.float32 else {}

    assert found(single, library="numpy").dtype == "float32"


def test_a_long_message_is_cut_and_one_without_words_is_said():
    def long(q, k, v):
        raise KeyError("x" * 300)

    def silent(q, k, v):
        raise ValueError

    with pytest.raises(Misfit) as error:
        found(long, library="numpy")
    assert f"('{'x' * 159} …)" in str(error.value)
    assert _callables.first_line(ValueError("x" * 160)) == "x" * 160
    assert _callables.first_line(ValueError("x" * 161 + "\ny")) == "x" * 160 + " …"
    with pytest.raises(Misfit, match=r"raises ValueError \(no message\)"):
        found(silent, library="numpy")
    assert _callables.first_line(ValueError("\n  one.\ntwo")) == "one"


def test_layouts_are_tried_with_scores_of_the_size_of_one():
    seen = []

    def looking(q, k, v):
        seen.append(float((q @ k.T).std()))
        return softmax(q, k, v)

    adapted(looking, library="numpy", width=200, budget=Budget(60))
    assert 0.9 < seen[0] < 1.1


@pytest.mark.parametrize("place", [0, -1])
def test_one_row_that_looks_at_others_is_enough(place):
    def one_row(q, k, v):
        out = v.copy()
        out[place] = v.mean(axis=0)
        return out

    assert found(one_row, library="numpy").layout == "nd"


def test_one_column_that_looks_at_others_is_enough():
    def one_column(q, k, v):
        return np.concatenate([softmax(q, k, v)[:, :1], v[:, 1:]], axis=1)

    assert found(one_column, library="numpy").layout == "nd"


@pytest.mark.parametrize("layout", ["nd", "bhnd", "bnhd"])
def test_the_time_is_asked_for_as_many_tokens_as_are_given(layout):
    """Also where heads, or a batch, stand where another layout has the tokens."""
    asked, shapes = [], []

    class Noting(Budget):
        def require(self, tokens):
            asked.append(tokens)

        def note(self, tokens, seconds):
            asked.append(tokens)
            assert seconds >= 0

    def mean_and_own(q, k, v):
        shapes.append(v.shape)
        return v + v.mean(axis=1 if layout == "bnhd" else -2, keepdims=True)

    attention = found(mean_and_own, layout=layout, library="numpy", budget=Noting(60))
    rows = np.random.default_rng(0).standard_normal((3, 2, 37, 8))
    asked.clear()
    shapes.clear()
    assert attention(*rows[:, 0]).shape == (37, 8)
    if layout != "nd":
        assert attention.heads(*rows).shape == attention.batches(*rows).shape == (2, 37, 8)
    assert asked == [37] * 2 * len(shapes)
    assert (
        shapes
        == {
            "nd": [(37, 8)],
            "bhnd": [(1, 1, 37, 8), (1, 2, 37, 8), (2, 1, 37, 8)],
            "bnhd": [(1, 37, 1, 8), (1, 37, 2, 8), (2, 37, 1, 8)],
        }[layout]
    )


def test_the_own_library_is_taken_and_a_missing_one_is_named(monkeypatch):
    assert found(softmax, library=None).library == "numpy"
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ValueError, match="library = 'cupy': is not installed"):
        found(softmax, library="cupy")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"layout": "dn"}, "layout = 'dn'"),
        ({"library": "tensorflow"}, "library = 'tensorflow'"),
        ({"dtype": "int8"}, "dtype = 'int8'"),
    ],
)
def test_what_is_no_choice_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        found(softmax, **given)


def test_what_is_not_callable_is_refused():
    with pytest.raises(TypeError, match="must be a function of q, k and v"):
        found("softmax")
    with pytest.raises(TypeError, match="attention = Clock: is a class; must be a function, or one of its objects"):
        found(Clock)


def test_a_little_noise_is_no_other_answer():
    assert found(lambda q, k, v: softmax(q, k, v) + 1e-7 * NOISE.standard_normal(), library="numpy").layout == "nd"


class Tensor:
    """As much of a PyTorch tensor as the card needs."""

    __module__ = "torch"

    def __init__(self, x):
        self.x, self.shape, self.dtype = x, x.shape, f"torch.{x.dtype}"

    def detach(self):
        return self

    cpu = detach

    def to(self, dtype):
        return Tensor(self.x.astype(dtype))

    def numpy(self):
        return self.x

    def is_floating_point(self):
        return self.x.dtype.kind == "f"


@pytest.fixture
def torch(monkeypatch):
    """A stand-in for PyTorch, beside which NumPy alone is loaded; no gradients are kept while an attention runs."""
    for other in ("cupy", "jax"):
        monkeypatch.delitem(sys.modules, other, raising=False)  # another test may have loaded it
    module = ModuleType("torch")
    module.recording = True

    class NoGrad:
        def __enter__(self):
            module.recording = False

        def __exit__(self, *_):
            module.recording = True

    class Module:
        def parameters(self):
            return iter([SimpleNamespace(device="cpu")])

    module.tensor = lambda x, dtype, device: Tensor(x.astype(dtype))
    module.Tensor, module.no_grad, module.nn = Tensor, NoGrad, SimpleNamespace(Module=Module)
    module.float64, module.float32, module.float16, module.bfloat16 = "f8", "f4", "f2", "f4"
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def test_tensors_are_put_in_and_taken_out_without_gradients(torch):
    class Attention(torch.nn.Module):
        def __call__(self, q, k, v):
            assert not torch.recording
            return Tensor(softmax(q.x, k.x, v.x))

    attention = found(Attention())
    assert (attention.library, attention.name, attention.dtypes[-1]) == ("torch", "Attention", "bfloat16")
    rows = np.random.default_rng(0).standard_normal((3, 24, 8))
    assert np.allclose(attention(*rows), softmax(*rows))
    assert attention(*rows[:, ::-1]).shape == (24, 8)


def test_a_numpy_answer_to_tensors_is_named(torch):
    with pytest.raises(Misfit) as error:
        found(lambda q, k, v: softmax(q.x, k.x, v.x), library="torch")
    assert str(error.value) == "attention: returns ndarray, no PyTorch tensor; it must return one array like v"


def test_whose_answer_is_a_tensor_gets_tensors(torch):
    """It takes either, as a function of another library may: arrays of NumPy are tried first, and once."""
    calls = []

    def either(q, k, v):
        calls.append(type(q))
        return Tensor(softmax(*(np.asarray(getattr(x, "x", x)) for x in (q, k, v))))

    attention = found(either)
    assert attention.library == "torch"
    assert calls.count(np.ndarray) == 1
    with pytest.raises(Misfit, match="returns Tensor, no NumPy array"):
        found(either, library="numpy")


def test_of_several_libraries_the_one_that_is_meant_speaks(torch):
    """A TypeError says that other arrays are meant; else each library's error is told."""

    def failing(on_arrays, on_tensors):
        def attention(q, k, v):
            raise on_arrays if isinstance(q, np.ndarray) else on_tensors

        attention.__module__ = __name__
        return attention

    def said(*errors):
        with pytest.raises(Misfit) as error:
            found(failing(*errors), layout="nd", dtype="float32")
        return str(error.value)

    shape = "for q, k, v of shape (24, 8) and dtype float32"
    assert said(TypeError("arrays"), ValueError("seven")) == f"attention: raises ValueError (seven) {shape}"
    assert said(ValueError("seven"), TypeError("tensors")) == f"attention: raises ValueError (seven) {shape}"
    assert said(KeyError(1), KeyError(1)) == f"attention: raises KeyError (1) {shape}"
    arrays, tensors = (f"the attention: raises {kind}" for kind in ("KeyError (1)", "ValueError (two)"))
    both = f"with arrays of numpy {arrays} {shape}; with arrays of torch {tensors} {shape}"
    assert said(KeyError(1), ValueError("two")) == both
    assert said(TypeError("one"), TypeError("two")) == both.replace("KeyError (1)", "TypeError (one)").replace(
        "ValueError", "TypeError"
    )


def test_what_comes_from_a_library_is_given_its_arrays_alone(torch):
    calls = []

    def attention(q, k, v):
        calls.append(type(q))
        return Tensor(softmax(q.x, k.x, v.x))

    attention.__module__ = "torch.nn.functional"
    assert found(attention).library == "torch"
    assert set(calls) == {Tensor}
    attention.__module__ = "jaxlib.xla"
    assert _callables._candidates(attention) == ("jax",)
    attention.__module__ = None
    assert _callables._candidates(attention)[:2] == _callables._candidates(Clock())[:2]
    assert _callables._candidates(torch.nn.Module()) == ("torch",)


def test_an_attention_has_the_name_that_is_given_or_its_own_and_no_cost_of_other_layouts():
    budget = Budget(60)
    assert found(softmax, library="numpy", budget=budget).name == "softmax"
    assert found(softmax, library="numpy", name="mine").name == "mine"
    assert found(partial(softmax), library="numpy").name == "partial"
    assert budget._costs.keys() == {24}  # what trying the layouts cost is forgotten
    assert len(budget._costs[24]) == 1


def test_whole_numbers_of_a_tensor_are_named(torch):
    with pytest.raises(Misfit, match="returns numbers of dtype int64, no floating-point ones"):
        found(lambda q, k, v: Tensor(v.x.astype("int64")), library="torch")


def test_jax_is_asked_for_float64_only_where_it_is_on(monkeypatch):
    numpy = ModuleType("jax.numpy")
    for name in ("asarray", "float64", "float32", "floating", "issubdtype"):
        setattr(numpy, name, getattr(np, name))
    jax = SimpleNamespace(Array=np.ndarray, numpy=numpy, config=SimpleNamespace(jax_enable_x64=False))
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setattr(numpy, "float16", np.float16, raising=False)
    assert found(softmax, library="jax").dtype == "float32"
    jax.config.jax_enable_x64 = True
    attention = found(softmax, library="jax")
    assert attention.dtype == "float64"
    rows = np.random.default_rng(0).standard_normal((3, 24, 8))
    assert np.allclose(attention(*rows), softmax(*rows), rtol=1e-14)  # with all its digits
    assert jax.config.jax_enable_x64 is True


def test_a_mask_goes_to_the_name_that_is_given():
    attention = found(stand_ins.masked, library="numpy").with_mask("mask", np.tril(np.ones((24, 24), bool)))
    rows = np.random.default_rng(0).standard_normal((3, 24, 8))
    assert np.allclose(attention(*rows), stand_ins.causal(*rows))
    bare = found(stand_ins.masked, library="numpy")
    bare.with_mask("mask", np.tril(np.ones((24, 24), bool)))
    assert np.allclose(bare(*rows), softmax(*rows))  # it keeps none itself


def test_a_budget_ends_a_part_and_predicts_by_the_power_seen_last(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_callables, "monotonic", clock)
    budget = Budget(100)
    assert budget.expected(64) == 0
    for n, cost in ((64, 5.0), (64, 1.0), (128, 9.0)):
        budget.note(n, cost)
    assert budget.expected(128) == pytest.approx(4)  # one call of a size may have compiled, and says nothing
    budget.note(128, 4.0)
    assert (budget.expected(64), budget.expected(128)) == (1, 4)
    assert budget.expected(256) == pytest.approx(16)
    budget.forget()
    assert budget.expected(256) == 0
    for n, cost in ((64, 2.0), (64, 2.0), (128, 1.0), (128, 1.0)):
        budget.note(n, cost)
    assert budget.expected(1024) == 1  # cost that fell is not taken to fall on
    for cost in (64.0, 64.0):
        budget.note(256, cost)
    assert budget.expected(512) == 256  # nor to grow faster than by the square
    budget.forget()
    for n, cost in ((64, 0.01), (64, 0.01), (128, 0.02), (128, 0.02)):
        budget.note(n, cost)
    assert budget.expected(512) == pytest.approx(0.08)
    for cost in (0.02, 0.02):
        budget.note(256, cost)
    assert budget.expected(512) == pytest.approx(0.02)  # by the last two sizes, and not from the first one on
    budget.forget()
    for n in (64, 64, 128, 128):
        budget.note(n, 0.0)  # a clock that ticks seldom
    assert budget.expected(512) == 0
    budget.forget()
    for n, cost in ((64, 5.0), (64, 1.0), (128, 9.0), (128, 4.0)):
        budget.note(n, cost)
    with budget.part(0.1):
        assert budget.left() == pytest.approx(10)
        with pytest.raises(Late):
            budget.require(256)
        budget.require(128)
        clock.now = 11
        budget.require(64)
        raise AssertionError("the part is over")
    assert budget.left() == pytest.approx(89)
    with budget.part(0.5), budget.part(0.5):
        assert budget.left() == pytest.approx(89 / 4)
    clock.now = 99.5
    with budget.part(0.5):
        assert budget.left() == pytest.approx(0.25)
    with budget.part(2):
        assert budget.left() == pytest.approx(0.5)
    clock.now = 101
    with budget.part(0.5):
        assert budget.left() == pytest.approx(-1)
    budget.stop = 101 + 4.0
    with pytest.raises(Late):  # a call that takes all that is left
        budget.require(128)
    budget.stop += 0.001
    budget.require(128)


def test_cupy_is_given_arrays_of_its_own_and_asked_for_them_back(monkeypatch):
    """CuPy itself needs a GPU; this stand-in takes no array of NumPy for one of its own, as CuPy does."""

    class Array:
        __module__ = "cupy"

        def __init__(self, x):
            self.x, self.shape, self.dtype = x, x.shape, x.dtype

    cupy = ModuleType("cupy")
    cupy.ndarray, cupy.asarray, cupy.asnumpy = Array, Array, lambda array: array.x
    monkeypatch.setitem(sys.modules, "cupy", cupy)

    def on_device(q, k, v):
        assert all(isinstance(x, Array) for x in (q, k, v)), "arrays of the device"
        return Array(softmax(q.x, k.x, v.x))

    attention = found(on_device)
    assert (attention.library, attention.dtypes) == ("cupy", ("float64", "float32", "float16"))
    rows = np.random.default_rng(0).standard_normal((3, 24, 8))
    assert np.allclose(attention(*rows), softmax(*rows))
    assert np.abs(attention(*rows, dtype="float16") - softmax(*rows)).max() > 1e-5
    with pytest.raises(Misfit, match="returns ndarray, no CuPy array"):
        found(lambda q, k, v: softmax(q.x, k.x, v.x), library="cupy")
    with pytest.raises(Misfit, match="returns numbers of dtype int64"):
        found(lambda q, k, v: Array(v.x.astype("int64")), library="cupy")


@pytest.mark.parametrize(
    ("error", "needs"),
    [
        (TypeError("f() takes 2 positional arguments"), "; it is called as attention(q, k, v)"),
        (TypeError("missing"), ""),
        (ValueError("bad argument: 3"), ""),
        (RuntimeError("grad is off"), "; it is called without gradients and must not need them"),
        (KeyError("weights"), ""),
    ],
)
def test_only_a_wrong_call_is_told_how_it_is_called(error, needs):
    def attention(q, k, v):
        raise error

    with pytest.raises(Misfit) as found_out:
        found(attention, library="numpy", layout="nd", dtype="float64")
    said = f"attention: raises {type(error).__name__} ({error}) for q, k, v of shape (24, 8) and dtype float64{needs}"
    assert str(found_out.value) == said
