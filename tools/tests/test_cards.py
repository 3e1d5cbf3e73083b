"""The stored cards are those of the examples, which are short; the tool stores rows and says what failed."""

import ast
import json
import runpy
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from attnsep.reportcard import _lines, card, cards
from attnsep.reportcard.cards import cards_path, cards_text, read_cards
from tools import cards as tool
from tools.files import CHAPTERS, ROOT
from tools.guards import read_notebooks

LEFT_OUT = {"attention": "mine", "adapter": "a:b", "packages": {"a": "1"}, "card": None, "not tried": "it needs a GPU"}


def test_the_titles_are_those_of_the_chapters():
    notebooks = read_notebooks(CHAPTERS)
    for name, title in card.TITLES.items():
        assert notebooks[name].cells[0].source.startswith(f"# {title}\n")
    assert {*_lines.EXPLAINED} == {*cards.LINES} == {*card.QUESTIONS} == {*card.SHARES}


def test_the_stored_cards_are_those_of_the_adapters():
    rows = read_cards()
    assert [(row["attention"], row["adapter"]) for row in rows if row["adapter"]] == [x[:2] for x in tool.ADAPTERS]
    assert [row["attention"] for row in rows if row["card"] is None] == [name for name, *_ in tool.NOT_TRIED]
    for row in rows:
        assert all(row["packages"].values()), row["attention"]
        if row["card"]:
            assert [line["name"] for line in row["card"]["lines"]] == list(cards.LINES)
    assert cards_text(rows) == cards_path().read_text(encoding="utf-8")


def test_the_stored_cards_know_pytorch_and_jax_as_softmax():
    found = {row["attention"]: row["card"] for row in read_cards()}
    for name, beta in (("PyTorch, scale 1", 1), ("JAX, scale 1", 1), ("PyTorch, scale 1/√d", 130**-0.5)):
        near = next(line for line in found[name]["lines"] if line["name"] == "separates")["numbers"]["nearest"]
        kernel, _, parameter = near["kernel"].partition(":")
        assert (kernel, near["agrees"]) == ("softmax", True)
        assert float(parameter or 1) == pytest.approx(beta, rel=0.01)


def test_each_adapter_stands_in_examples_in_at_most_ten_lines_of_code():
    for path in sorted((ROOT / "examples").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lines = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
        documented = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.FunctionDef) and ast.get_docstring(n)]
        assert len(lines) - len(documented) <= 10, path.name
        assert ast.get_docstring(tree)
    for _, adapter, _ in tool.ADAPTERS:
        module, name = adapter.split(":")
        assert name in (ROOT / "examples" / f"{module}.py").read_text(encoding="utf-8")


class Package:
    """Stands in for a package that may not be here: it answers with the words of what was asked of it."""

    def __init__(self, words="", calls=None):
        self._words, self._calls = words, [] if calls is None else calls

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Package(f"{self._words}.{name}".lstrip("."), self._calls)

    def __call__(self, *words, **named):
        said = ", ".join([*map(repr, words), *(f"{name}={value!r}" for name, value in named.items())])
        self._calls.append(f"{self._words}({said})")
        return Package(self._calls[-1], self._calls)

    def __getitem__(self, place):
        return Package(f"{self._words}[{place}]", self._calls)

    def __matmul__(self, other):
        return Package(f"{self!r} @ {other!r}", self._calls)

    def __repr__(self):
        return self._words


# What each adapter asks of its package, written once more: most of these packages are not here, and a slip would stand
# under another attention's name in the book.
ASKED = {
    "pytorch_sdpa:default_scale": "scaled_dot_product_attention(q, k, v)",
    "pytorch_sdpa:scale_1": "scaled_dot_product_attention(q, k, v, scale=1.0)",
    "jax_dot_product:default_scale": "dot_product_attention(q, k, v)",
    "jax_dot_product:scale_1": "dot_product_attention(q, k, v, scale=1.0)",
    "entmax_weights:entmax15": "entmax15(q @ k.mT, dim=-1) @ v",
    "entmax_weights:sparsemax": "sparsemax(q @ k.mT, dim=-1) @ v",
    "x_transformers_attend:attention": "Attend(scale=1.0)(q, k, v)[0]",
    "x_transformers_attend:topk16": "Attend(scale=1.0, sparse_topk=16)(q, k, v)[0]",
    "local_windows:attention": "LocalAttention(window_size=64, look_forward=1, dim=130, use_rotary_pos_emb=False, "
    "autopad=True, scale=1.0).eval()(q, k, v)",
    "performer_features:attention": "FastAttention(dim_heads=130, nb_features=256).eval()(q, k, v)",
    "nystrom_landmarks:attention": "NystromAttention(dim=130, dim_head=130, heads=1, num_landmarks=64, residual=False)"
    "(cat([q, k, v], dim=-1)[None])[0]",
    "linear_transformer:attention": "linear_attn(q, k, v)",
    "fla_linear:attention": "naive_recurrent_linear_attn(q, k, v, scale=1.0, normalize=True)[0]",
}
PACKAGES = (
    "entmax",
    "fla.ops.linear_attn.naive",
    "jax.nn",
    "local_attention",
    "nystrom_attention",
    "performer_pytorch",
)
PACKAGES += (
    "linear_attention_transformer.linear_attention_transformer",
    "torch.nn.functional",
    "x_transformers.attend",
)


def example(monkeypatch, name):
    """Run an example among stand-ins; return its names, and what was asked while it ran."""
    calls = []
    for package in PACKAGES:
        parts = package.split(".")
        for number in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:number]), Package(calls=calls))
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py")), calls


@pytest.mark.parametrize("adapter", [adapter for _, adapter, _ in tool.ADAPTERS])
def test_an_adapter_asks_its_package_for_the_attention_of_its_name(monkeypatch, adapter):
    module, name = adapter.split(":")
    found, _ = example(monkeypatch, module)
    assert repr(found[name](*map(Package, "qkv"))) == ASKED[adapter]


def test_what_is_random_has_a_seed_and_what_is_learnt_is_left_out(monkeypatch):
    _, calls = example(monkeypatch, "performer_features")
    assert calls[0] == "manual_seed(0)"
    inner = example(monkeypatch, "nystrom_landmarks")[0]["inner"]
    assert (repr(inner.to_qkv), repr(inner.to_out)) == ("nn.Identity()", "nn.Identity()")


@pytest.mark.slow
def test_the_example_in_numpy_runs(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples")])
    found = card.report(
        import_module("numpy_softmax").attention, width=66, lines=["sees", "recalls"], n=512, seconds=1000
    )
    assert [line.verdict for line in found.lines] == ["no", "partly"]
    assert found["sees"].numbers["least scale"] > 1


def test_the_tool_stores_rows_and_says_what_failed(monkeypatch, tmp_path, capsys):
    kept, stored = [], {}
    monkeypatch.setattr(tool, "ADAPTERS", (("mine", "nothing:here", ("numpy", "no-such-package")),))
    monkeypatch.setattr(tool, "store", stored.update)
    monkeypatch.setattr(tool, "read_cards", lambda: kept)
    monkeypatch.setattr(tool, "judged", lambda name, adapter, packages, seconds: LEFT_OUT | {"adapter": adapter})
    assert tool.main([]) == 1
    rows = [json.loads(line) for line in stored[cards_path()].splitlines()]
    assert [row["adapter"] for row in rows] == ["nothing:here", ""]
    assert "mine: it needs a GPU" in capsys.readouterr().out
    kept.append(LEFT_OUT)
    assert tool.main(["nothing:there"]) == 2
    assert "nothing:there: is no adapter" in capsys.readouterr().err
    assert tool.versions(("numpy", "no-such-package"))["no-such-package"] is None


@pytest.mark.slow
def test_an_attention_is_judged_in_a_process_of_its_own_and_its_last_words_are_kept(monkeypatch, tmp_path):
    monkeypatch.setattr(tool, "EXAMPLES", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "lib"))
    row = tool.judged("mine", "no_such_module:attention", ("numpy",), 5)
    assert row["card"] is None
    assert "importing 'no_such_module' raises ModuleNotFoundError" in row["not tried"]
    assert cards_text([row])


@pytest.mark.parametrize(
    ("code", "out", "err", "card", "reason"),
    [
        (0, 'PyTorch warns\nand warns\n{"lines": [1]}\n', "and warns\n", {"lines": [1]}, None),
        (1, '{"lines": [1]}\n', "Traceback\nValueError: why\n\n", None, "ValueError: why"),
        (-9, "", " \n", None, "it ended without a word"),
    ],
)
def test_the_last_line_is_the_card_or_the_reason(monkeypatch, code, out, err, card, reason):
    ran = []
    monkeypatch.setattr(
        tool.subprocess,
        "run",
        lambda command, cwd, **_: (
            ran.append((command, cwd)) or SimpleNamespace(returncode=code, stdout=out, stderr=err)
        ),
    )
    assert tool.judged("mine", "a:b", ("no-such-package",), 5) == {
        **{"attention": "mine", "adapter": "a:b", "packages": {"no-such-package": None}},
        **{"card": card, "not tried": reason},
    }
    assert ran == [([sys.executable, "-c", tool.JUDGE, "a:b", "mine", "5"], ROOT / "examples")]


def test_with_adapters_the_others_keep_their_rows_and_what_has_none_is_judged(monkeypatch, capsys):
    def row(adapter, card=None, reason="it failed"):
        return {"attention": adapter[0], "adapter": adapter, "packages": {}, "card": card, "not tried": reason}

    first = {"lines": [{"name": "sees", "verdict": "yes"}, {"name": "recalls", "verdict": "no"}]}
    made = {"a:1": row("a:1", first, None), "c:1": row("c:1"), "d:1": row("d:1", first, None)}
    kept, stored = [row("a:1"), row("b:1", {"lines": []}, None), row("old:1")], []
    monkeypatch.setattr(tool, "ADAPTERS", tuple((name[0], name, ()) for name in ("a:1", "b:1", "c:1", "d:1")))
    monkeypatch.setattr(tool, "NOT_TRIED", (("mine", (), "it needs a GPU"),))
    monkeypatch.setattr(tool, "read_cards", lambda: kept)
    monkeypatch.setattr(tool, "judged", lambda name, adapter, packages, seconds: made[adapter])
    monkeypatch.setattr(tool, "cards_text", list)
    monkeypatch.setattr(tool, "store", lambda contents: stored.extend(contents.values()))
    last = LEFT_OUT | {"packages": {}, "adapter": ""}
    assert tool.main(["a:1", "d:1"]) == 1  # c has no card
    assert capsys.readouterr().out == "a: sees yes, recalls no\nc: it failed\nd: sees yes, recalls no\n"
    assert stored.pop() == [made["a:1"], kept[1], made["c:1"], made["d:1"], last]
    kept.append(row("c:1", {"lines": []}, None))
    assert tool.main(["d:1"]) == 1  # a kept its row, which has none either
    assert tool.main(["a:1"]) == 0  # what cannot be tried does not count


def test_the_word_that_is_no_adapter_is_named_and_not_the_first_one(capsys):
    (_, known, _), *_ = tool.ADAPTERS
    assert tool.main([known, "nothing:there"]) == 2
    assert capsys.readouterr().err.startswith("nothing:there: is no adapter; there are ")


def test_what_is_not_tried_has_its_packages_too(monkeypatch):
    stored = []
    monkeypatch.setattr(tool, "ADAPTERS", ())
    monkeypatch.setattr(tool, "NOT_TRIED", (("mine", ("no-such-package",), "it needs a GPU"),))
    monkeypatch.setattr(tool, "cards_text", list)
    monkeypatch.setattr(tool, "store", lambda contents: stored.extend(contents.values()))
    assert tool.main([]) == 0
    assert stored == [[LEFT_OUT | {"adapter": "", "packages": {"no-such-package": None}}]]


def test_the_process_judges_the_adapter_under_the_books_name_in_its_time(monkeypatch, capsys):
    def report(attention, *, name, seconds):
        return SimpleNamespace(as_dict=lambda: [attention, name, seconds])

    monkeypatch.setattr(card, "named", lambda adapter: f"what {adapter} names")
    monkeypatch.setattr(card, "report", report)
    monkeypatch.setattr(sys, "argv", ["-c", "a:b", "PyTorch, scale 1", "5"])
    exec(tool.JUDGE, {})
    assert json.loads(capsys.readouterr().out) == ["what a:b names", "PyTorch, scale 1", 5]
