"""Check the built pages: python -m tools.pages _build/html

Every page of the table of contents is there, no request leaves the site, every file that a page loads is there, every
figure has an alt text, every internal link leads somewhere, no TeX is left raw.
"""

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from tools.files import ROOT

# What a browser loads by itself.  A link that a reader must click may lead anywhere, and so may what is only said.
LOADING = {"src", "srcset", "data", "poster", "href", "xlink:href", "srcdoc", "style", "background", "content"}
CLICKED = ("a", "area")
SAID_RELATIONS = {"canonical", "author", "license", "next", "prev", "search", "index", "copyright", "top", "up"}
RAW_TEX = re.compile(r"\$[^$\n]+\$|\\(?:frac|mathbb|mathrm|ell|le|ge|kappa|langle|otimes|begin)\b|\{(?:prf:)?ref\}")
MAY_SHOW_TEX = {"script", "style", "code", "pre", "title", "annotation", "textarea"}
MATHJAX = {"math", "tex2jax_process", "mathjax_process"}
# Elements that have no end, by the standard of HTML.
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
FOREIGN = re.compile(r"(?<![\w:])(?:(?:https?|wss?):)?//[\w.-]+\.\w+", re.IGNORECASE)
SCRIPT_ADDRESS = re.compile(r"(?:fetch|import|open|src\s*=)\s*\(?\s*['\"]((?:https?:)?//[^'\"]+)", re.IGNORECASE)
CSS_ADDRESS = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")\s]+)", re.IGNORECASE)


class Page(HTMLParser):
    """What is asked about a page, gathered in one pass: sources have a hundred thousand words, each an element.

    Attributes
    ----------
    anchors : set of str
        The places that a link may lead to.
    elements : list of (str, dict)
        Names and attributes of those that load something, lead somewhere or show a picture.
    scripts, styles, tex : list of str
        What stands in them, and text that still has TeX: all of it, or where there is an article, from there on.
    """

    def __init__(self, path):
        super().__init__()
        self.anchors, self.elements, self.scripts, self.styles, self.tex = set(), [], [], [], []
        self._opened, self._text, self._in_article = [("", False)], "", False
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        self._end_of_text()

    def handle_starttag(self, tag, attrs):
        """Enter an element."""
        self._end_of_text()
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if tag == "a" and "name" in attributes:
            self.anchors.add(attributes["name"])
        if tag == "img" or not LOADING.isdisjoint(attributes):
            self.elements.append((tag, attributes))
        if tag == "article" and not self._in_article:
            self._in_article, self.tex = True, []  # what stands before it is the theme's
        if tag not in VOID:
            shows_tex = tag in MAY_SHOW_TEX or not MATHJAX.isdisjoint(attributes.get("class", "").split())
            self._opened.append((tag, self._opened[-1][1] or shows_tex))

    def handle_endtag(self, tag):
        """Leave the innermost element of this name, and whatever was left open in it."""
        self._end_of_text()
        places = [place for place, (name, _) in enumerate(self._opened) if name == tag]
        del self._opened[places[-1] if places else len(self._opened) :]

    def handle_data(self, data):
        """Gather text, which may come in pieces."""
        self._text += data

    def _end_of_text(self):
        text, self._text = self._text, ""
        tag, may_show_tex = self._opened[-1]
        if tag == "script":
            self.scripts.append(text)
        elif tag == "style":
            self.styles.append(text)
        elif text and not may_show_tex and RAW_TEX.search(text):
            self.tex.append(text)


@cache
def read(path):
    """Return a page; each is read once, however many links lead to it."""
    return Page(path)


def page_problems(path, root):
    """Return what is wrong with one page, as sentences."""
    page, name = read(path), path.relative_to(root).as_posix()
    problems = [*_loads(page, path), *_without_alt(page), *_raw_tex(page), *_broken_links(page, path)]
    return [f"{name}: {problem}" for problem in problems]


def _loads(page, path):
    for tag, attributes in page.elements:
        for name in attributes.keys() & LOADING:
            if not _is_said(tag, attributes, name):
                yield from _loading_problems(tag, name, attributes[name], path)
    addresses = [found for text in page.styles for found in CSS_ADDRESS.findall(text)]
    addresses += [found for text in page.scripts for found in SCRIPT_ADDRESS.findall(text)]
    yield from (f"loads {address}" for address in addresses)


def _is_said(tag, attributes, name):
    """Whether the attribute names an address without loading it."""
    if name == "content":
        return attributes.get("http-equiv", "").lower() != "refresh"
    relations = set(attributes.get("rel", "").split())
    return name == "href" and (tag in CLICKED or bool(relations and relations <= SAID_RELATIONS))


def _loading_problems(tag, name, address, path):
    if FOREIGN.search(address):
        yield f"loads {address}"
    elif name in ("src", "href", "data", "poster") and address and tag != "base":
        link = urlsplit(address)
        if link.path and not link.scheme and not _is_file(path.parent / unquote(link.path)):
            yield f"loads {address}, which is no file"


def _without_alt(page):
    for tag, attributes in page.elements:
        if tag != "img":
            continue
        alt = attributes.get("alt")
        decoration = alt == "" and attributes.get("role") == "presentation"
        if not decoration and (not alt or re.fullmatch(r"\S*(?:\.(?:png|svg|jpe?g)|[0-9a-f]{20,})", alt)):
            yield f"image {attributes.get('src', '')[-50:]} has no alt text (alt = {alt!r})"


def _raw_tex(page):
    yield from (f"shows raw TeX: {' '.join(text.split())[:80]}" for text in page.tex)


def _broken_links(page, path):
    for tag, attributes in page.elements:
        address = attributes.get("href") if tag == "a" else None
        if address is None:
            continue
        link = urlsplit(address)
        if link.scheme or link.netloc:
            continue
        target = _target(path.parent, unquote(link.path)) if link.path else path
        if not _is_file(target):
            yield f"link to {address}, which is no file"
        elif link.fragment and target.suffix == ".html" and unquote(link.fragment) not in read(target).anchors:
            yield f"link to {address}, whose anchor does not exist"


# All pages lead to the same few hundred files.
_is_file = cache(Path.is_file)


@cache
def _target(folder, name):
    target = (folder / name).resolve()
    return target / "index.html" if target.is_dir() else target


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
