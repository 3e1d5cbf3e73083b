"""Check the built pages: python -m tools.pages _build/html

Every page of the table of contents is there, no request leaves the site, every file that a page loads is there, every
figure has an alt text, every internal link leads somewhere, no TeX is left raw.
"""

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from bs4 import BeautifulSoup

from tools.files import ROOT

# What a browser loads by itself.  A link that a reader must click may lead anywhere, and so may what is only said.
LOADING = ("src", "srcset", "data", "poster", "href", "xlink:href", "srcdoc", "style", "background", "content")
CLICKED = ("a", "area")
SAID_RELATIONS = {"canonical", "author", "license", "next", "prev", "search", "index", "copyright", "top", "up"}
RAW_TEX = re.compile(r"\$[^$\n]+\$|\\(?:frac|mathbb|mathrm|ell|le|ge|kappa|langle|otimes|begin)\b|\{(?:prf:)?ref\}")
MAY_SHOW_TEX = ("script", "style", "code", "pre", "title", "annotation", "textarea")
FOREIGN = re.compile(r"(?<![\w:])(?:(?:https?|wss?):)?//[\w.-]+\.\w+", re.IGNORECASE)
SCRIPT_ADDRESS = re.compile(r"(?:fetch|import|open|src\s*=)\s*\(?\s*['\"]((?:https?:)?//[^'\"]+)", re.IGNORECASE)
CSS_ADDRESS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


def page_problems(path, root):
    """Return what is wrong with one page, as sentences."""
    page = _parsed(path)
    name = path.relative_to(root).as_posix()
    problems = [*_loads(page, path), *_without_alt(page), *_raw_tex(page), *_broken_links(page, path)]
    return [f"{name}: {problem}" for problem in problems]


@cache
def _parsed(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def _loads(page, path):
    for element in page.find_all(True):
        for name, address in element.attrs.items():
            if name in LOADING and not _is_said(element, name):
                yield from _loading_problems(element.name, name, address, path)
    for element in page.find_all(["style", "script"]):
        text = element.get_text()
        addresses = CSS_ADDRESS.findall(text) if element.name == "style" else SCRIPT_ADDRESS.findall(text)
        yield from (f"loads {address}" for address in addresses)


def _is_said(element, name):
    """Whether the attribute names an address without loading it."""
    if name == "content":
        return (element.get("http-equiv") or "").lower() != "refresh"
    relations = set(element.get("rel") or [])
    return name == "href" and (element.name in CLICKED or bool(relations and relations <= SAID_RELATIONS))


def _loading_problems(tag, name, address, path):
    if FOREIGN.search(address):
        yield f"loads {address}"
    elif name in ("src", "href", "data", "poster") and address and tag != "base":
        link = urlsplit(address)
        if link.path and not link.scheme and not (path.parent / unquote(link.path)).is_file():
            yield f"loads {address}, which is no file"


def _without_alt(page):
    for image in page.find_all("img"):
        alt = image.get("alt")
        decoration = alt == "" and image.get("role") == "presentation"
        if not decoration and (not alt or re.fullmatch(r"\S*(?:\.(?:png|svg|jpe?g)|[0-9a-f]{20,})", alt)):
            yield f"image {image.get('src', '')[-50:]} has no alt text (alt = {alt!r})"


def _raw_tex(page):
    body = page.find("article") or page
    for text in body.find_all(string=RAW_TEX):
        parents = list(text.parents)
        math = any({"math", "tex2jax_process", "mathjax_process"} & set(p.get("class") or []) for p in parents)
        if not math and not any(p.name in MAY_SHOW_TEX for p in parents):
            yield f"shows raw TeX: {' '.join(text.split())[:80]}"


def _broken_links(page, path):
    for element in page.find_all("a", href=True):
        link = urlsplit(element["href"])
        if link.scheme or link.netloc or element["href"] == "#":
            continue
        target = (path.parent / unquote(link.path)).resolve() if link.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file():
            yield f"link to {element['href']}, which is no file"
        elif link.fragment and target.suffix == ".html" and unquote(link.fragment) not in _anchors(target):
            yield f"link to {element['href']}, whose anchor does not exist"


@cache
def _anchors(path):
    page = _parsed(path)
    return {element["id"] for element in page.find_all(id=True)} | {
        a["name"] for a in page.find_all("a", attrs={"name": True})
    }


def style_problems(path, root):
    """Return the foreign addresses that a style sheet would load."""
    addresses = CSS_ADDRESS.findall(path.read_text(encoding="utf-8", errors="replace"))
    return [f"{path.relative_to(root).as_posix()}: loads {address}" for address in addresses]


def listed():
    """Return the names of the pages in the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def unread(names, pages, root):
    """Return which pages of the table of contents are not among those that were read."""
    return [f"{name}.html: is in _toc.yml, and was not read" for name in names if root / f"{name}.html" not in pages]


def main(folder, names=None):
    """Print the problems of a built site, which must have the pages named; return 1 if there are any."""
    root = Path(folder).resolve()
    pages = sorted(path for path in root.rglob("*.html") if "_static" not in path.relative_to(root).parts)
    if not pages:
        print(f"{folder}: no built pages; run `make book` first", file=sys.stderr)
        return 2
    problems = unread(listed() if names is None else names, pages, root)
    problems += [problem for path in pages for problem in page_problems(path, root)]
    problems += [problem for path in sorted(root.rglob("*.css")) for problem in style_problems(path, root)]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(pages)} pages read, {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
