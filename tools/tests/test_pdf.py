"""The pages of the site become one page, whose ids and links are its own."""

from types import SimpleNamespace

import pytest
from bs4 import BeautifulSoup

from tools import browser, pdf

HEAD = """<head><link rel="stylesheet" href="../_static/a.css?v=1"><script>window.MathJax = {}</script>
<script src="../_static/mathjax/tex.js?v=2"></script><script src="../_static/other.js"></script></head>"""
PAGE = """<html>{head}<body><article><h1 id="top">{title}<a class="headerlink" href="#top">#</a></h1>
<p><a href="#top">up</a><a href="b.html#lemma">there</a><a href="../c.html">out</a><a href="api-x.html">code</a>
<a href="https://example.org">far</a><a href="mailto:us@example.org">we</a>
<a href="//example.org/b.html">too</a><button>Copy</button><img src="../_images/f.png" alt="A falling line"></p>
<details class="hide"><summary><span>Show the solution</span></summary>4</details>
<details class="hide"><summary><span>Show code cell source</span></summary>import x</details></article></body></html>"""


@pytest.fixture
def site(tmp_path, monkeypatch):
    (tmp_path / "chapters").mkdir()
    for name, title in (("chapters/a", "First"), ("chapters/b", "Second"), ("c", "Third")):
        (tmp_path / f"{name}.html").write_text(PAGE.format(head=HEAD, title=title))
    monkeypatch.setattr(pdf, "contents", lambda: [("Begin", ["chapters/a"]), ("Go on", ["chapters/b", "c"])])
    return tmp_path


def test_ids_and_links_become_those_of_one_page(site):
    found = pdf.article(site, "chapters/a", ["chapters/a", "chapters/b", "c"])
    assert found["id"] == "chapters/a"
    assert found.h1["id"] == "chapters/a:top"
    links = [a.get("href") for a in found.find_all("a")]
    here = ["#chapters/a:top", "#chapters/b:lemma", "#c", None]
    assert links == [*here, "https://example.org", "mailto:us@example.org", "//example.org/b.html"]
    assert found.img["src"] == "_images/f.png"


def test_a_link_names_a_place_as_its_id_does_however_the_address_is_written(site):
    page = '<article><h1>d</h1><a href="%62.html#h%C3%A9re">there</a><a href="#h%C3%A9re">here</a></article>'
    (site / "chapters/d.html").write_text(page)
    found = pdf.article(site, "chapters/d", ["chapters/b", "chapters/d"])
    assert [a["href"] for a in found.find_all("a")] == ["#chapters/b:hére", "#chapters/d:hére"]


@pytest.mark.parametrize(("url", "shown"), [(None, ""), ("https://example.org/a/b", "https://example.org/a/b")])
def test_the_first_sheet_has_the_address_where_there_is_one(site, monkeypatch, url, shown):
    monkeypatch.setattr(pdf, "address", lambda: url)
    page = BeautifulSoup(pdf.single_page(site, pdf.contents(), {}), "html.parser")
    assert page.header.find_all("p")[2].get_text() == shown
    assert [caption.get_text() for caption in page.select("nav h2")] == ["Begin", "Go on"]


def test_what_only_a_screen_needs_is_left_out_and_all_is_open(site):
    found = pdf.article(site, "chapters/a", ["chapters/a"])
    assert found.find("button") is None
    assert found.h1.get_text() == "First"
    assert found.details.has_attr("open")
    assert [summary.get_text() for summary in found.find_all("summary")] == ["Solution"]
    assert "import x" not in found.get_text()


def test_the_page_has_contents_styles_and_mathjax_alone(site):
    page = BeautifulSoup(pdf.single_page(site, pdf.contents(), {"chapters/b": 7}), "html.parser")
    assert [link["href"] for link in page.find_all("link")] == ["_static/a.css"]
    assert [script.get("src") for script in page.find_all("script")] == [None, "_static/mathjax/tex.js?v=2"]
    assert [row.get_text() for row in page.select("nav p")] == ["First", "Second7", "Third"]
    assert [a["href"] for a in page.select("nav a")] == ["#chapters/a", "#chapters/b", "#c"]
    assert [found["id"] for found in page.find_all("article")] == ["chapters/a", "chapters/b", "c"]


def test_the_contents_are_the_books_without_the_reference():
    names = [name for _, files in pdf.contents() for name in files]
    assert names[0] == "chapters/index"
    assert "chapters/main-theorem" in names
    assert not any("api-" in name or "explorer" in name for name in names)
    assert all(files for _, files in pdf.contents())  # no heading of a part that is left out


def test_without_chromium_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(browser.shutil, "which", lambda name: None)
    assert pdf.main("_build/html", "book.pdf") == 2
    assert "Chromium prints the book, and there is none" in capsys.readouterr().err


def test_a_book_that_is_not_built_is_not_printed(site, monkeypatch, capsys):
    monkeypatch.setattr(pdf, "chromium", lambda: "chromium")
    (site / "chapters/b.html").unlink()
    assert pdf.main(site, site / "book.pdf") == 2
    assert "has no chapters/b.html; run `make book` first" in capsys.readouterr().err


@pytest.fixture
def printer(site, monkeypatch):
    """Replace Chromium: printing writes an empty file, and the chapters lie on the given sheets."""
    printed = []

    def runs(*sheets, cut=(), root=site):
        found = iter(sheets)

        def print_page(page, path):
            printed.append(page.read_text())
            path.touch()
            return cut

        monkeypatch.setattr(pdf, "ROOT", root)
        monkeypatch.setattr(pdf, "chromium", lambda: "chromium")
        monkeypatch.setattr(pdf, "single_page", lambda root, parts, sheets: str(sheets))
        monkeypatch.setattr(pdf, "print_page", print_page)
        monkeypatch.setattr(pdf, "first_sheets", lambda path, names: next(found))
        monkeypatch.setattr(pdf, "PdfReader", lambda path: SimpleNamespace(pages=[1, 2]))
        return pdf.main(site, site / "book.pdf"), printed

    return runs


def test_the_second_print_knows_the_pages(printer, site, capsys):
    assert printer({"c": 3}, {"c": 3}) == (0, ["{}", "{'c': 3}"])
    assert (site / "book.pdf").exists()
    assert not (site / "print.html").exists()
    assert capsys.readouterr().out == "book.pdf: 2 pages\n"
    assert printer({"c": 3}, {"c": 3}, root=site / "chapters")[0] == 0
    assert capsys.readouterr().out == "../book.pdf: 2 pages\n"


def test_page_numbers_that_are_wrong_are_not_written(printer, site, capsys):
    assert printer({"c": 3}, {"c": 4})[0] == 1
    assert capsys.readouterr() == ("", "The contents' page numbers moved the pages; nothing was written\n")
    assert not (site / "book.pdf").exists()


def test_a_book_of_which_something_is_cut_off_is_not_written(printer, site, capsys):
    assert printer({"c": 3}, {"c": 3}, cut=["c: a wide table"])[0] == 1
    assert not [path.name for path in site.iterdir() if path.suffix == ".tmp"], "a draft is left behind"
    assert not (site / "book.pdf").exists()
    assert "Cut off on paper; nothing was written:\nc: a wide table" in capsys.readouterr().err


def test_what_is_cut_off_is_looked_for_on_the_sheet_and_once_the_mathematics_is_set(tmp_path, monkeypatch):
    done = []

    class Chromium:
        """Stands in for the browser and all that it opens: keeps in order what is asked of it."""

        def __enter__(self):
            self.chromium = self
            return self

        def __exit__(self, *error):
            pass

        def __getattr__(self, name):
            return lambda *words, **named: done.append((name, *words, *named.items())) or self

        def evaluate(self, words):
            done.append(("evaluate", words))
            return ["a: wide"] if words == pdf.CUT else None

    monkeypatch.setattr(pdf, "sync_playwright", Chromium)
    assert pdf.print_page(tmp_path / "page.html", tmp_path / "book.pdf") == ["a: wide"]
    (_, *context) = done[1]
    assert dict(context) == {"offline": True, "viewport": pdf.INSIDE}
    assert [words[:2] for words in done if words[0] in ("emulate_media", "goto", "evaluate", "pdf", "close")] == [
        ("emulate_media", ("media", "print")),
        ("goto", (tmp_path / "page.html").as_uri()),
        ("evaluate", "MathJax.startup.promise"),
        ("evaluate", pdf.CUT),
        ("pdf", ("path", tmp_path / "book.pdf")),
        ("close",),
    ]


@pytest.mark.slow
def test_a_printed_book_shows_where_its_chapters_begin(tmp_path):
    """With the real Chromium, where there is one."""
    if pdf.chromium() is None:
        pytest.skip("there is no Chromium")
    page = tmp_path / "print.html"
    first = '<article id="x/a"><h1 style="background: rgb(255, 0, 0)">one</h1></article>'
    breaks = first + '<article id="b" style="break-before: page">two{}</article>'
    links = '<a href="#x/a">1</a><a href="#b">2</a><script>MathJax = {startup: {promise: 1}}</script>'
    page.write_text(f"<!DOCTYPE html><html><body>{links}{breaks.format('')}</body></html>")
    assert pdf.print_page(page, tmp_path / "book.pdf") == []
    assert pdf.first_sheets(tmp_path / "book.pdf", ["x/a", "b"]) == {"x/a": 1, "b": 2}
    book = pdf.PdfReader(tmp_path / "book.pdf")
    assert [entry.title for entry in book.outline] == ["one"]
    assert book.trailer["/Root"]["/MarkInfo"]["/Marked"]  # which a program that reads aloud needs
    assert b"1 0 0 rg" in book.pages[0].get_contents().get_data()  # the heading's red ground
    wide = '<div style="overflow: auto"><p style="width: 700px">wide\nwords</p></div>'
    page.write_text(f"<!DOCTYPE html><html><body>{links}{breaks.format(wide)}</body></html>")
    assert pdf.print_page(page, tmp_path / "book.pdf") == ["b: wide words"]
