"""Check the built pages: python -m tools.pages _build/html

No request leaves the site, every file that a page loads is there, every figure has an alt text, every internal link
leads somewhere, no TeX is left raw.
"""

import re
import sys
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

# What a browser loads by itself; a link that a reader must click may lead anywhere.
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
LOADING_RELATIONS = {"stylesheet", "preload", "icon", "preconnect", "dns-prefetch", "modulepreload", "prefetch"}
RAW_TEX = re.compile(r"\$[^$\n]+\$|\\(?:frac|mathbb|mathrm|ell|le|ge|kappa|langle|otimes|begin)\b|\{(?:prf:)?ref\}")
MAY_SHOW_TEX = ("script", "style", "code", "pre", "title", "annotation", "textarea")
FOREIGN = re.compile(r"(?:https?:)?//[\w.-]+\.\w+", re.IGNORECASE)
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
    addresses = [element.get(attribute) for tag, attribute in LOADED.items() for element in page.find_all(tag)]
    links = [element for element in page.find_all("link") if LOADING_RELATIONS & set(element.get("rel") or [])]
    for address in filter(None, [*addresses, *(element.get("href") for element in links)]):
        if FOREIGN.match(address):
            yield f"loads {address}"
        elif not urlsplit(address).scheme and not (path.parent / unquote(urlsplit(address).path)).is_file():
            yield f"loads {address}, which is no file"
    for element in page.find_all("style"):
        yield from (f"loads {address}" for address in CSS_ADDRESS.findall(element.get_text()))


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
        elif link.fragment and target.suffix == ".html" and not _has_anchor(target, unquote(link.fragment)):
            yield f"link to {element['href']}, whose anchor does not exist"


def _has_anchor(path, fragment):
    return _parsed(path).find(id=fragment) is not None or _parsed(path).find("a", attrs={"name": fragment}) is not None


def style_problems(path, root):
    """Return the foreign addresses that a style sheet would load."""
    addresses = CSS_ADDRESS.findall(path.read_text(encoding="utf-8", errors="replace"))
    return [f"{path.relative_to(root).as_posix()}: loads {address}" for address in addresses]


def main(folder):
    """Print the problems of a built site; return 1 if there are any."""
    root = Path(folder).resolve()
    pages = sorted(path for path in root.rglob("*.html") if "_static" not in path.relative_to(root).parts)
    if not pages:
        print(f"{folder}: no built pages; run `make book` first", file=sys.stderr)
        return 2
    problems = [problem for path in pages for problem in page_problems(path, root)]
    problems += [problem for path in sorted(root.rglob("*.css")) for problem in style_problems(path, root)]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(pages)} pages read, {len(problems)} problems")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
