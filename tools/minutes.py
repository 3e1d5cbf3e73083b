"""How long each page takes to read, and what it needs: python -m tools.minutes

A page is counted as CONTRIBUTING.md says (Add a chapter): what a reader sees without opening anything, exercises and
code left out.
"""

import re
import sys
from typing import NamedTuple

from attnsep.claims import LEDGER
from tools.files import CHAPTERS
from tools.pages import listed

WORDS_A_MINUTE = 200  # most people read prose at about 240; this is no novel
SECONDS_A_FORMULA = 2  # most are a letter or two, read like a word
SECONDS_TO_LOOK = 15  # at a displayed formula or a picture

READING = re.compile(r"^(?P<minutes>\d+) minutes? · read first: (?P<first>.+)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\((?P<page>[\w-]+)\.ipynb\)")
POINTER = re.compile(r"\{prf:ref\}`(?:[^`<]*<)?([\w-]+)>?`")
LABEL = re.compile(r"^:label:\s*(\S+)", re.MULTILINE)
HEADING = re.compile(r"^#{2,3} (.*)$", re.MULTILINE)
FOLDED = re.compile(
    r"^(?P<one>`{3,})\{dropdown\}.*\n(?:.*\n)*?(?P=one)[ \t]*$"
    r"|^(?P<two>`{3,})\{admonition\}.*\n:class: dropdown\n(?:.*\n)*?(?P=two)[ \t]*$",
    re.MULTILINE,
)
PICTURE = "(a picture)"
DISPLAYED = re.compile(r"\$\$.+?\$\$|^(`{3,})\{math\}\n(?:.*\n)*?\1[ \t]*$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"\$[^$]+\$")
UNREAD = re.compile(
    r"^:\w+:.*$|^`{3,}(?:\{[\w:-]+\})?|\{[\w:]+\}(?=`)|(?<=\])\([^)]*\)|<[^>\n]*>|\{[\w:-]+\}", re.MULTILINE
)
WORD = re.compile(r"[^\W\d_](?:[\w’'-]*\w)?|\d[\d.,]*")


class Count(NamedTuple):
    """Words, formulas in lines, and what is looked at: displayed formulas and pictures."""

    words: int
    formulas: int
    looks: int

    @property
    def minutes(self):
        """The time that these take."""
        seconds = SECONDS_A_FORMULA * self.formulas + SECONDS_TO_LOOK * self.looks
        return self.words / WORDS_A_MINUTE + seconds / 60


def visible(text):
    """Return what of a text nobody must open.

    Examples
    --------
    >>> visible("One.\\n```{dropdown} Proof\\nTwo.\\n```\\nThree.")
    'One.\\n\\nThree.'
    """
    return FOLDED.sub("", text)


def count(text):
    """Count a text of Markdown.

    Examples
    --------
    >>> count("Two words, $n = 2$, and [a link](page.ipynb).\\n\\n$$x$$\\n")
    Count(words=5, formulas=1, looks=1)
    """
    text = visible(text)
    looks = len(DISPLAYED.findall(text)) + text.count(PICTURE)
    text = DISPLAYED.sub(" ", text.replace(PICTURE, ""))
    return Count(len(WORD.findall(UNREAD.sub("", INLINE.sub(" ", text)))), len(INLINE.findall(text)), looks)


def sections(notebook):
    """Return {heading: text} of a page in order, captions among the text, its beginning under the heading ''."""
    pieces = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            pieces.append(cell.source)
        elif caption := cell.metadata.get("mystnb", {}).get("figure", {}).get("caption"):
            pieces.append(f"{PICTURE} {caption}")
    parts = HEADING.split("\n\n".join(pieces))
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def whole(notebook):
    """Return all text of a page but its exercises."""
    return "\n\n".join(text for heading, text in sections(notebook).items() if heading != "Exercises")


def needs(page, text, order, ledger=LEDGER):
    """Return {statement: its page} of all on earlier pages that a text of this page uses outside of its folds.

    What is linked is used, and so is what the ledger says that a statement uses, unless a folded proof has the link.
    A link to a later page looks ahead and asks for nothing.
    """
    seen = {*POINTER.findall(visible(text))}
    in_folds = {*POINTER.findall(text)} - seen
    for label in LABEL.findall(text):
        seen |= {*getattr(ledger.get(label), "uses", ())} - in_folds
    places = {label: ledger[label].chapter for label in sorted(seen) if label in ledger}
    earlier = order[: order.index(page)]
    return {label: place for label, place in places.items() if place in earlier}


def named(notebook):
    """Return (minutes, pages to read first) as the page says them, or None where it does not."""
    line = READING.search(notebook.cells[0].source)
    return line and (int(line["minutes"]), LINK.findall(line["first"]))


def in_turn(pages, notebooks):
    """Return these pages, those that they name, those that these name, and so on."""
    found, todo = set(), [*pages]
    while todo:
        page = todo.pop()
        if page not in found and page in notebooks:
            found.add(page)
            _, first = named(notebooks[page]) or (0, [])
            todo += first
    return found


def suggested(page, notebooks, order, ledger=LEDGER):
    """Return the line that a page could have under its result."""
    text = whole(notebooks[page])
    used = {*needs(page, text, order, ledger).values()}
    least = [each for each in sorted(used, key=order.index) if each not in in_turn(used - {each}, notebooks)]
    links = [f"[{sections(notebooks[each])[''].splitlines()[0].lstrip('# ')}]({each}.ipynb)" for each in least]
    minutes = max(1, round(count(text).minutes))
    return f"{minutes} minute{'s' * (minutes > 1)} · read first: {', '.join(links) or 'nothing'}"


# The ways to read: lists on the landing page.

CARD = re.compile(r"^```\{grid-item-card\} (?P<title>[^\n]*)\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
QUOTED = re.compile(r"“([^”]+)”")
SAID = re.compile(r"\((\d+) minutes?\)")


class Step(NamedTuple):
    """An item of a way: its words, its page, the text that it asks to read, how long that takes.

    An excerpt is the beginning and some sections; `missing` are headings that it names and the page lacks.
    """

    words: str
    page: str
    text: str
    minutes: float
    is_excerpt: bool = True
    missing: tuple = ()


def ways(notebooks, start="index"):
    """Return {title: steps} of the ways to read that the landing page lists.

    A step reads a page but for its exercises, or what it says: "down to “a heading”, and “another”", "its beginning",
    "its beginning and “a heading”", on the landing page itself "down to here".  What has no text to count, as the
    explorer, says its minutes itself: "(2 minutes)".
    """
    parts = sections(notebooks[start])
    (here,) = [heading for heading, text in parts.items() if CARD.search(text)]
    return {
        card["title"]: [_step(words, notebooks, start, here) for words in ITEM.findall(card["text"])]
        for card in CARD.finditer(parts[here])
    }


def _step(words, notebooks, start, here):
    link, said = LINK.search(words), SAID.search(words)
    page = start if words.startswith("This page") else link["page"] if link else ""
    if page not in notebooks:
        return Step(words, "", "", float(said[1]) if said else 0.0)
    parts, quoted = sections(notebooks[page]), QUOTED.findall(words)
    headings, missing, excerpt = [*parts], tuple(name for name in quoted if name not in parts), False
    if page == start:
        chosen = headings[: headings.index(here)]
    elif quoted and "down to" in words and not missing:
        chosen = [*headings[: headings.index(quoted[0]) + 1], *quoted[1:]]
    elif excerpt := bool(quoted) or "its beginning" in words:
        chosen = ["", *(name for name in quoted if name in parts)]
    else:
        chosen = [heading for heading in headings if heading != "Exercises"]
    text = "\n\n".join(parts[heading] for heading in chosen)
    return Step(words, page, text, count(text).minutes, excerpt, missing)


def main():
    """Print the minutes of all pages and of the ways."""
    from tools.guards import read_notebooks

    notebooks, order = read_notebooks(CHAPTERS), page_order()
    print(f"{'':24}words  formulas  looks  minutes  said")
    for page in (page for page in order if page in notebooks):
        found, said = count(whole(notebooks[page])), named(notebooks[page])
        numbers = f"{found.words:5}{found.formulas:10}{found.looks:7}{found.minutes:9.1f}"
        print(f"{page:24}{numbers}{said[0] if said else '–':>6}")
    for title, steps in ways(notebooks).items():
        if steps:
            print(f"\n{title}: {sum(step.minutes for step in steps):.1f} minutes")
        for step in steps:
            print(f"{step.minutes:5.1f}  {step.words}")


def page_order():
    """Return the pages' file names without endings, as _toc.yml orders them."""
    return [name.rpartition("/")[2] for name in listed()]


if __name__ == "__main__":
    sys.exit(main())
