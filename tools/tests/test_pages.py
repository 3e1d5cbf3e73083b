"""Each page guard accepts one page and rejects one."""

import runpy

import pytest

from tools import pages

GOOD = """<html><head><base href="/none/"><link rel="canonical author" href="https://example.org/page">
<meta content="https://example.org/a.png"></head><body><p>the $theme$'s, before the article</p><article>
<a href="//example.org">out</a><a href="mailto:a@example.org">write</a><a href="#">up</a><a href="folder/">in</a>
<a href="with%20space.html#h%C3%A9re">there</a><img src="with%20space.png" srcset="a.png 2x" alt="Weights fall">
<img src="a.png" alt="" role="presentation"><img src="data:image/png;base64,AA" alt="Weights"><a name="up">here</a>
<img src="a.png" alt="Weights fall as n grows"><a href="other.html#here">there</a><a href="https://example.org">out</a>
<a href="//example.org/page.html#top">out</a>
<a href="page.html#up">here</a><a href="local.js#L1">line</a>
<span class="math">\\(\\frac{1}{2}\\)</span><code>$x$ \\frac</code><script src="local.js"></script>
</article></body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">x</p>')
    (tmp_path / "with space.html").write_text('<p id="hére">x</p>', encoding="utf-8")
    for name in ("a.png", "with space.png", "local.js", "folder/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def problems(site, html):
    path = site / "page.html"
    path.write_text(html)
    pages.read.cache_clear()
    return pages.page_problems(path, site)


def test_a_good_page(site):
    assert problems(site, GOOD) == []


@pytest.mark.parametrize(
    "element",
    [
        '<span class="math"><span>a</span> $x$</span>',  # an inner end is not the outer one's
        "<pre><span>so <b>$x$</b></span></pre>",
        "<p>a</p><code>$x$</code><p>b</p>",
    ],
)
def test_tex_within_a_formula_or_code_is_meant_however_deep_it_stands(site, element):
    assert problems(site, GOOD.replace("</article>", f"{element}</article>")) == []


def test_a_folder_of_any_name_may_hold_the_book(tmp_path, capsys):
    (folder := tmp_path / "_static").mkdir()
    (folder / "a.html").write_text("<p>fine</p>")
    assert pages.main(folder, ["a"]) == 0
    assert capsys.readouterr() == ("1 pages read, 0 problems\n", "")


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn.example.org/a.js"),
        ('<script src="//cdn.example.org/a.js"></script>', "loads //cdn.example.org/a.js"),
        ('<img src="https://example.org/a.png" alt="A picture of weights">', "loads https://example.org/a.png"),
        ('<link rel="stylesheet" href="https://fonts.example.org/a.css">', "loads https://fonts.example.org/a.css"),
        ('<link rel="preconnect" href="https://fonts.example.org">', "loads https://fonts.example.org"),
        (
            '<div style="background: url(https://example.org/a.png)"></div>',
            "loads background: url(https://example.org/a.png)",
        ),
        ('<object data="https://example.org/a"></object>', "loads https://example.org/a"),
        ('<svg><use href="https://example.org/a.svg#x"></use></svg>', "loads https://example.org/a.svg#x"),
        ('<video poster="https://example.org/a.png"></video>', "loads https://example.org/a.png"),
        (
            '<img srcset="https://example.org/a.png 2x" alt="A picture of weights">',
            "loads https://example.org/a.png 2x",
        ),
        (
            "<iframe srcdoc=\"<script src='https://example.org/a.js'>\"></iframe>",
            "loads <script src='https://example.org/a.js'>",
        ),
        ('<script>fetch("https://example.org/a")</script>', "loads https://example.org/a"),
        ('<script type="module">import "https://example.org/a.js"</script>', "loads https://example.org/a.js"),
        ('<meta http-equiv="Refresh" content="0; url=https://example.org">', "loads 0; url=https://example.org"),
        ('<base href="https://example.org/">', "loads https://example.org/"),
        ("<style>@import 'https://fonts.example.org/a.css';</style>", "loads https://fonts.example.org/a.css"),
        ("<style>a { background: url(https://example.org/a.png) }</style>", "loads https://example.org/a.png"),
        ('<link rel="stylesheet" href="gone.css?digest=1">', "loads gone.css?digest=1, which is no file"),
        ('<script src="gone.js"></script>', "loads gone.js, which is no file"),
        ('<object data="gone.svg"></object>', "loads gone.svg, which is no file"),
        ('<video poster="gone.png"></video>', "loads gone.png, which is no file"),
        ('<link rel="author stylesheet" href="https://example.org/a.css">', "loads https://example.org/a.css"),
        ('<img src="a.png">', "image a.png has no alt text (alt = None)"),
        ('<img src="a.png" alt="">', "image a.png has no alt text (alt = '')"),
        ('<img src="a.png" role="presentation">', "image a.png has no alt text (alt = None)"),
        ('<img src="a.png" alt="a.png" role="presentation">', "image a.png has no alt text (alt = 'a.png')"),
        (
            f'<img src="data:{"A" * 40}{"B" * 50}" alt="../_images/0123456789abcdef0123456789abcdef.png">',
            f"image {'B' * 50} has no alt text (alt = '../_images/0123456789abcdef0123456789abcdef.png')",
        ),
        ("<p>so $n^2$ entries</p><article>within it</article>", "shows raw TeX: so $n^2$ entries"),
        (f"<p>so\n  $n^2$ {'a' * 80}</p>", f"shows raw TeX: so $n^2$ {'a' * 71}"),
        ("<p>so \\frac{1}{2}</p>", "shows raw TeX: so \\frac{1}{2}"),
        ("<p>see {prf:ref}`lemma`</p>", "shows raw TeX: see {prf:ref}`lemma`"),
        ('<a href="missing.html">x</a>', "link to missing.html, which is no file"),
        ('<a href="other.html#gone">x</a>', "link to other.html#gone, whose anchor does not exist"),
        ('<a href="#gone">x</a><p name="gone">x</p>', "link to #gone, whose anchor does not exist"),
    ],
)
def test_a_page_with_one_fault(site, element, problem):
    assert problems(site, GOOD.replace("</article>", element + "</article>")) == [f"page.html: {problem}"]


TEXT_STANDS_IN = [
    "a",
    "b",
    "dd",
    "div",
    "dt",
    "em",
    "figcaption",
    "h1",
    "h2",
    "label",
    "legend",
    "li",
    "option",
    "output",
    "p",
    "span",
    "strong",
    "sub",
    "summary",
    "td",
    "th",
]


@pytest.mark.parametrize("name", TEXT_STANDS_IN)
def test_raw_tex_is_found_wherever_text_stands(site, name):
    html = GOOD.replace("</article>", f"<{name}>so $n^2$ entries</{name}></article>")
    assert problems(site, html) == ["page.html: shows raw TeX: so $n^2$ entries"]


def test_style_sheets(site):
    sheet = site / "a.css"
    sheet.write_text("a { background: url('img/a.png') } b { src: url(data:font/woff2;base64,AA) }")
    assert pages.style_problems(sheet, site) == []
    sheet.write_text("@import '//fonts.example.org/a.css';")
    assert pages.style_problems(sheet, site) == ["a.css: loads //fonts.example.org/a.css"]


def test_a_site_without_pages_is_no_success(tmp_path, monkeypatch, capsys):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static/a.html").write_text("the theme's")
    monkeypatch.setattr("sys.argv", ["tools.pages", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(pages.__file__, run_name="__main__")
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"{tmp_path}: no built pages; run `make book` first\n")


def test_a_page_that_nobody_reads_is_no_success(tmp_path, capsys):
    for name in ("a.html", "chapters/b.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<p>fine</p>")
    pages.read.cache_clear()
    assert pages.main(tmp_path, ["a", "chapters/b"]) == 0
    assert capsys.readouterr() == ("2 pages read, 0 problems\n", "")
    assert pages.main(tmp_path, ["a", "chapters/b", "chapters/c"]) == 1
    found = "chapters/c.html: is in _toc.yml, and was not read\n"
    assert capsys.readouterr() == ("2 pages read, 1 problems\n", found)
    assert len(pages.listed()) > 35
    assert pages.listed()[0] == "chapters/index"  # the root of the table, which no part of it lists


def test_pages_report_their_problems(tmp_path, capsys):
    (tmp_path / "a.html").write_text("<p>so $n^2$ entries</p>")
    (tmp_path / "b.html").write_text("<p>fine</p>")
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static/a.css").write_text("@import 'https://example.org/a.css';")
    found = ["a.html: shows raw TeX: so $n^2$ entries", "_static/a.css: loads https://example.org/a.css"]
    assert pages.main(tmp_path, []) == 1
    assert capsys.readouterr() == ("2 pages read, 2 problems\n", "\n".join(found) + "\n")
