"""Print the built book as one PDF: python -m tools.pdf _build/html book.pdf

The pages that a reader sees on the web are put behind each other, so every number is the web's, and Chromium prints
them twice: after the first time it is known on which page each chapter begins.
"""

import os
import sys
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from tools.address import address
from tools.browser import NAMES, chromium
from tools.files import ROOT, write

LEFT_OUT = ("api-", "explorer")  # the reference of the library, longer than the book, and the page that needs a script
INSIDE = {"width": 665, "height": 945}  # of a sheet's margins in assets/book.css, in pixels
# What a screen scrolls is cut off on paper.
CUT = """() => [document.documentElement, ...document.querySelectorAll("article *")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && !e.closest("mjx-assistive-mml"))
  .filter(e => e === document.documentElement || getComputedStyle(e).overflowX !== "visible")
  .map(e => `${e.closest("article")?.id ?? "a page"}: ${e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)}`)"""
ONLINE = ("a.headerlink", "button", "script", ".headerbtn", ".sd-summary-state-marker", "svg.sd-octicon")


def contents():
    """Return [(caption, names of pages)] in the order of _toc.yml, without what paper cannot hold."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [(part["caption"], [entry["file"] for entry in part["chapters"]]) for part in toc["parts"]]
    kept = [(caption, [f for f in files if not PurePosixPath(f).name.startswith(LEFT_OUT)]) for caption, files in parts]
    return [("Begin here", [toc["root"]]), *(part for part in kept if part[1])]


def article(root, name, names):
    """Return one page's article, with every id and link made part of the one large page."""
    found = BeautifulSoup((root / f"{name}.html").read_text(encoding="utf-8"), "html.parser").select_one("article")
    for element in found.select(", ".join(ONLINE)):
        element.decompose()
    for element in found.find_all(id=True):
        element["id"] = f"{name}:{element['id']}"
    for element in found.find_all(src=True):
        element["src"] = _resolved(name, element["src"])
    for element in found.find_all("a", href=True):
        link = urlsplit(element["href"])
        if link.scheme or link.netloc:
            continue
        target = _resolved(name, unquote(link.path)).removesuffix(".html") if link.path else name
        if target in names:
            element["href"] = f"#{target}:{unquote(link.fragment)}" if link.fragment else f"#{target}"
        else:
            del element["href"]
    for element in found.find_all("details"):
        element["open"] = ""
    for element in found.select("details.hide"):
        if "solution" in element.summary.get_text():
            element.summary.string = "Solution"
        else:
            element.decompose()  # code that the web folds, because the page is not about it
    found["id"] = name
    return found


def _resolved(name, address):
    return os.path.normpath(PurePosixPath(name).parent / address)


def single_page(root, parts, sheets):
    """Return the whole book as one page; `sheets` says where each page of the site begins, if known."""
    names = [name for _, files in parts for name in files]
    articles = {name: article(root, name, names) for name in names}
    head = BeautifulSoup((root / f"{names[0]}.html").read_text(encoding="utf-8"), "html.parser").head
    styles = [_resolved(names[0], link["href"]) for link in head.find_all("link", rel="stylesheet")]
    mathjax = [script for script in head.find_all("script") if "mathjax" in str(script).lower()]
    for script in mathjax:
        if script.get("src"):
            script["src"] = _resolved(names[0], script["src"])
    rows = []
    for caption, files in parts:
        rows.append(f"<h2>{caption}</h2>")
        for name in files:
            title = articles[name].h1.get_text()
            rows.append(f'<p><a href="#{name}">{title}</a><span></span><b>{sheets.get(name, "")}</b></p>')
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en" data-theme="light"><head><meta charset="utf-8">',
            f"<title>{book['title']}</title>",
            *(f'<link rel="stylesheet" href="{unquote(urlsplit(style).path)}">' for style in styles),
            *map(str, mathjax),
            '</head><body class="print">',
            f"<header><h1>{book['title']}</h1><p>An executable companion to arXiv 2310.11685</p>",
            f"<p>{book['author']}, {book['copyright']}</p><p>{address() or ''}</p>",
            "<p>Code under the MIT license, text and figures under CC BY 4.0.",
            "The explorer and the reference of the library stand on the web alone.</p></header>",
            f"<nav><h1>Contents</h1>{''.join(rows)}</nav>",
            *map(str, articles.values()),
            "</body></html>",
        )
    )


def first_sheets(path, names):
    """Return on which sheet of a PDF each of the named places lies, counted from 1."""
    reader = PdfReader(path)
    places = {unquote(name).removeprefix("/"): place for name, place in reader.named_destinations.items()}
    return {name: reader.get_destination_page_number(places[name]) + 1 for name in names}


def print_page(page, path):
    """Print a page of the site that `page` is part of, once its mathematics is set; return what is cut off on it."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_context(offline=True, viewport=INSIDE).new_page()
        tab.set_default_timeout(300_000)
        tab.emulate_media(media="print")
        tab.goto(page.as_uri())
        tab.evaluate("MathJax.startup.promise")
        cut = tab.evaluate(CUT)
        tab.pdf(path=path, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
        browser.close()
    return cut


def main(folder, target):
    """Write the PDF; return the exit status."""
    root, target = Path(folder).resolve(), Path(target).resolve()
    if chromium() is None:
        print(f"Chromium prints the book, and there is none: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    parts = contents()
    names = [name for _, files in parts for name in files]
    missing = [name for name in names if not (root / f"{name}.html").exists()]
    if missing:
        print(f"{folder}: has no {missing[0]}.html; run `make book` first", file=sys.stderr)
        return 2
    page, draft = root / "print.html", target.with_suffix(".tmp")
    try:
        sheets = {}
        for _ in range(2):
            write(page, single_page(root, parts, sheets))
            if cut := print_page(page, draft):
                print("Cut off on paper; nothing was written:", *cut, sep="\n", file=sys.stderr)
                return 1
            before, sheets = sheets, first_sheets(draft, names)
        if before != sheets:
            print("The contents' page numbers moved the pages; nothing was written", file=sys.stderr)
            return 1
        draft.replace(target)
    finally:
        page.unlink(missing_ok=True)
        draft.unlink(missing_ok=True)
    print(f"{os.path.relpath(target, ROOT)}: {len(PdfReader(target).pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
