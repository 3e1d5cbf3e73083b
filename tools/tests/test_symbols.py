"""The table of symbols reaches the pages, in notebooks and in pages without code."""

import nbformat
import pytest

from tools import symbols

TABLE = """# Symbols

## Letters

| symbol | meaning | first met |
|---|---|---|
| $n$ | tokens · `n` |  |
| $d$ | width | [](gone.ipynb) |
| $\\tau$ | *{index}`!tau`*: threshold |  |
"""
EMPTY = "````{dropdown} Symbols of this page\n````"
FILLED = """````{dropdown} Symbols of this page
| symbol | meaning · in code |
|---|---|
| $n$ | tokens · `n` |
| $d$ | width |
| $\\tau$ | *tau*: threshold |

[All symbols of the book](symbols.md)
````"""


def written(monkeypatch, folder, *only):
    """Write a book of four pages there, run the command, and return the texts of its pages."""
    cell = nbformat.v4.new_markdown_cell
    figure = nbformat.v4.new_code_cell("1", metadata={"mystnb": {"figure": {"caption": "Over $n$ and $d$."}}})
    books = {"one": [cell(f"Let $\\tau > 0$.\n\n{EMPTY}\n\nAnd then?"), figure], "two": [cell(f"$n d \\tau$\n{EMPTY}")]}
    for name, cells in books.items():
        notebook = nbformat.v4.new_notebook(cells=cells)
        (folder / f"{name}.ipynb").write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
    (folder / "explorer.md").write_text(f"$n d \\tau$\n\n{EMPTY}\n", encoding="utf-8")
    (folder / "symbols.md").write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(symbols, "CHAPTERS", folder)
    monkeypatch.setattr(symbols, "TABLE", folder / "symbols.md")
    monkeypatch.setattr(symbols, "listed", lambda: [f"chapters/{name}" for name in ("explorer", *books, "symbols")])
    monkeypatch.setattr(symbols, "store", lambda contents: [path.write_text(text) for path, text in contents.items()])
    symbols.main(*only)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    cells = {name: nbformat.read(folder / f"{name}.ipynb", as_version=4).cells for name in books}
    return texts | {name: cells[name][0].source for name in books}


def test_folds_are_filled_and_what_stands_around_them_stays(monkeypatch, tmp_path):
    texts = written(monkeypatch, tmp_path)
    assert texts["one"] == f"Let $\\tau > 0$.\n\n{FILLED}\n\nAnd then?"
    assert texts["two"] == f"$n d \\tau$\n{FILLED}"
    assert texts["explorer"] == f"$n d \\tau$\n\n{FILLED}\n"


def test_each_row_says_where_it_is_first_met_and_that_is_a_chapter(monkeypatch, tmp_path):
    table = written(monkeypatch, tmp_path)["symbols"]
    assert table == TABLE.replace("[](gone.ipynb)", "").replace(" |  |\n", " | [](one.ipynb) |\n")


def test_pages_that_are_not_named_stay(monkeypatch, tmp_path):
    texts = written(monkeypatch, tmp_path, "two")
    assert FILLED in texts["two"]
    assert EMPTY in texts["one"]


def test_a_letter_belongs_to_its_own_row_and_else_to_the_one_where_it_has_an_index():
    table = "## Letters\n| | |\n|---|---|\n| $t_k$ | of a class |\n| $t$ | of each |\n| $o_j$ | output |\n"
    assert [set(row.names) for row in symbols.read_table(table)] == [{"t_k"}, {"t"}, {"o_j", "o"}]


def test_what_stands_above_and_below_a_letter_is_read():
    def names(formula):
        return [next(symbol.names()) for symbol in symbols.symbols_of(formula)]

    assert names(r"\mathsf A_j x^\top + \tilde O'") == [r"\mathsf{A}_j", r"x^\top", r"\tilde{O}'"]
    assert names(r"F_\mathrm{lin} \bigl(k^*\bigr) + O(n^2) + O_1") == [r"F_\mathrm{lin}", "k^*", "O(", "n^2", "O_1"]
    assert names(r"o\left(n\right) \Theta x(1) O") == ["o(", "n", r"\Theta", "x", "O"]
    assert names(r"2\pi r + 2 \pi r + 12\pi") == [r"2\pi", "r", r"2\pi", "r", r"\pi"]
    assert names(r"\sqrt{2\pi} \pi e^{x} e_i \overline{a b} \text{ or } \varepsilon_{\mathrm{mach}}") == [
        *(r"2\pi", r"\pi", "x", "e_i", "a", "b", r"\varepsilon_\mathrm{mach}")
    ]
    assert names(r"\frac{a_{") == ["a"]


@pytest.mark.parametrize(
    ("page", "names", "lacking"),
    [
        ("$d$ and $n$, $$a$$", ["d", "n", "a"], []),
        ("$x_n$", ["x", "n"], []),  # a row of the letter alone says nothing of what stands below
        ("$z_n$", ["z_n"], []),  # a row of both says it all
        ("$y_k$", ["y_k", "k"], []),  # but for an index
        ("$u_d^n$ $v$", ["d", "n"], ["u", "v"]),
        ("$w_d^n$", ["w_d", "n"], []),  # which one it is stands below, and above what is done with it
        ("$a^n_d$ $b^n$", ["a^n", "b^n", "d"], []),
        (r"$\mathrm{word}$ $q$ $q_1$", [], ["q"]),
        ("`$n$` and $d$\n```{dropdown} Proof\n$a$\n```\n", ["d"], []),
    ],
)
def test_what_a_page_uses_is_in_the_table_or_lacking(page, names, lacking):
    own = ("a", "d", "n", "k", "x", "y_k", "z_n", "a^n", "b^n", "w_d", "w^n")
    rows = [symbols.Row("Letters", (), (name,), frozenset([name])) for name in own]
    assert symbols.used(page, rows) == (names, lacking)
