"""Each page guard accepts one page and rejects one."""

import pytest

from tools import pages

GOOD = """<html><body><article>
<img src="a.png" alt="Weights fall as n grows"><a href="other.html#here">there</a><a href="https://example.org">out</a>
<span class="math">\\(\\frac{1}{2}\\)</span><code>$x$ \\frac</code><script src="local.js"></script>
</article></body></html>"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "other.html").write_text('<p id="here">x</p>')
    (tmp_path / "a.png").touch()
    (tmp_path / "local.js").touch()
    return tmp_path


def problems(site, html):
    path = site / "page.html"
    path.write_text(html)
    pages.read.cache_clear()
    return pages.page_problems(path, site)


def test_a_good_page(site):
    assert problems(site, GOOD) == []


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('<script src="https://cdn.example.org/a.js"></script>', "loads https://cdn"),
        ('<script src="//cdn.example.org/a.js"></script>', "loads //cdn"),
        ('<img src="https://example.org/a.png" alt="A picture of weights">', "loads https://example.org"),
        ('<link rel="stylesheet" href="https://fonts.example.org/a.css">', "loads https://fonts"),
        ('<link rel="preconnect" href="https://fonts.example.org">', "loads https://fonts"),
        ('<div style="background: url(https://example.org/a.png)"></div>', "loads background: url(https://example.org"),
        ('<object data="https://example.org/a"></object>', "loads https://example.org"),
        ('<svg><use href="https://example.org/a.svg#x"></use></svg>', "loads https://example.org"),
        ('<video poster="https://example.org/a.png"></video>', "loads https://example.org"),
        ('<img srcset="https://example.org/a.png 2x" alt="A picture of weights">', "loads https://example.org"),
        (
            "<iframe srcdoc=\"<script src='https://example.org/a.js'>\"></iframe>",
            "loads <script src='https://example.org",
        ),
        ('<script>fetch("https://example.org/a")</script>', "loads https://example.org"),
        ('<script type="module">import "https://example.org/a.js"</script>', "loads https://example.org"),
        ('<meta http-equiv="refresh" content="0; url=https://example.org">', "loads 0; url=https://example.org"),
        ('<base href="https://example.org/">', "loads https://example.org"),
        ("<style>@import 'https://fonts.example.org/a.css';</style>", "loads https://fonts"),
        ("<style>a { background: url(https://example.org/a.png) }</style>", "loads https://example.org"),
        ('<link rel="stylesheet" href="gone.css?digest=1">', "loads gone.css?digest=1, which is no file"),
        ('<img src="a.png">', "has no alt text"),
        ('<img src="a.png" alt="">', "has no alt text"),
        ('<img src="a.png" alt="../_images/0123456789abcdef0123456789abcdef.png">', "has no alt text"),
        ("<p>so $n^2$ entries</p>", "shows raw TeX"),
        ("<p>so \\frac{1}{2}</p>", "shows raw TeX"),
        ("<p>see {prf:ref}`lemma`</p>", "shows raw TeX"),
        ('<a href="missing.html">x</a>', "is no file"),
        ('<a href="other.html#gone">x</a>', "whose anchor does not exist"),
        ('<a href="#gone">x</a>', "whose anchor does not exist"),
    ],
)
def test_a_page_with_one_fault(site, element, problem):
    (found,) = problems(site, GOOD.replace("</article>", element + "</article>"))
    assert problem in found


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
    (found,) = problems(site, GOOD.replace("</article>", f"<{name}>so $n^2$ entries</{name}></article>"))
    assert "shows raw TeX" in found


def test_style_sheets(site):
    sheet = site / "a.css"
    sheet.write_text("a { background: url('img/a.png') } b { src: url(data:font/woff2;base64,AA) }")
    assert pages.style_problems(sheet, site) == []
    sheet.write_text("@import '//fonts.example.org/a.css';")
    assert pages.style_problems(sheet, site) == ["a.css: loads //fonts.example.org/a.css"]


def test_a_site_without_pages_is_no_success(tmp_path, capsys):
    assert pages.main(tmp_path) == 2
    assert "no built pages" in capsys.readouterr().err


def test_a_page_that_nobody_reads_is_no_success(tmp_path, capsys):
    for name in ("a.html", "chapters/b.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<p>fine</p>")
    pages.read.cache_clear()
    assert pages.main(tmp_path, ["a", "chapters/b"]) == 0
    assert pages.main(tmp_path, ["a", "chapters/b", "chapters/c"]) == 1
    assert "chapters/c.html: is in _toc.yml, and was not read" in capsys.readouterr().err
    assert len(pages.listed()) > 35


def test_pages_report_their_problems(tmp_path, capsys):
    (tmp_path / "a.html").write_text("<p>so $n^2$ entries</p>")
    assert pages.main(tmp_path, []) == 1
    (tmp_path / "a.html").write_text("<p>fine</p>")
    pages.read.cache_clear()
    assert pages.main(tmp_path, []) == 0
    (tmp_path / "a.css").write_text("@import 'https://example.org/a.css';")
    assert pages.main(tmp_path, []) == 1
    assert "a.css: loads https://example.org/a.css" in capsys.readouterr().err
