"""Stored cards are read, refused where they are none, and shown as a table; the examples are those that made them."""

import ast
import json
import sys
from importlib import import_module

import pytest

from attnsep.reportcard import card, cards
from attnsep.reportcard.cards import cards_path, cards_table, cards_text, place_of, read_cards
from tools import cards as tool
from tools.files import ROOT

ROW = {"attention": "mine", "adapter": "a:b", "packages": {"a": "1"}, "not tried": None}
ROW["card"] = {"attention": "mine", "called": {}, "lines": [{"name": "sees", "verdict": "yes", "numbers": {}}]}
LEFT_OUT = ROW | {"card": None, "not tried": "it needs a GPU"}


def test_rows_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "cards.jsonl"
    path.write_text(cards_text([ROW, LEFT_OUT]), encoding="utf-8")
    assert read_cards(path) == [ROW, LEFT_OUT]


@pytest.mark.parametrize(
    "row", [[], {}, ROW | {"more": 1}, ROW | {"card": None}, ROW | {"card": {}}, ROW | {"card": {"lines": [3]}}]
)
def test_what_is_no_row_is_refused(tmp_path, row):
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(ValueError, match="holds no cards of make cards"):
        read_cards(path)
    with pytest.raises(TypeError, match="rows = "):
        cards_text([row])
    with pytest.raises(ValueError, match="path = "):
        read_cards(tmp_path / "nothing")


def test_the_table_has_a_row_for_each_and_says_what_was_not_tried():
    table = cards_table([ROW, LEFT_OUT])
    assert table.rows[0] == ("mine", "yes", "", "", "", "", "")
    assert table.rows[1][1:] == ("not tried",) * 6


def test_a_place_needs_growth_and_recall():
    assert place_of(LEFT_OUT) is None
    assert place_of(ROW) is None


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


def test_the_example_in_numpy_runs(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "examples")])
    found = card.report(import_module("numpy_softmax").attention, width=66, lines=["sees", "recalls"], seconds=1000)
    assert [line.verdict for line in found.lines] == ["no", "yes"]
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
    kept.append(ROW | {"adapter": "nothing:here"})
    assert tool.main(["nothing:there"]) == 2
    assert "nothing:there: is no adapter" in capsys.readouterr().err
    assert tool.versions(("numpy", "no-such-package"))["no-such-package"] is None
