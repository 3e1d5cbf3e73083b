"""One table of symbols, and what of it each page shows: python -m tools.symbols [page …]

`chapters/symbols.md` is the table.  A page that uses a symbol has a fold "Symbols of this page" with the table's rows
for the symbols that it uses, word for word; this command writes them, and the table's last column, where each symbol
is first met.  What a folded proof or solution names for itself ends with it, so it does not count.
"""

import re
import sys
from dataclasses import dataclass, replace

import nbformat

from tools.files import CHAPTERS, store
from tools.pages import listed

TABLE = CHAPTERS / "symbols.md"
WITHOUT_CODE = ("explorer",)  # pages that are no notebooks, and have symbols all the same
FEWEST = 3  # rows: with less a page needs no fold
EVERYBODYS = "What everybody writes"  # the group that folds leave out

FENCE = r"^(?P<fence>`{3,}|:{3,})"
FOLD = re.compile(FENCE + r"\{dropdown\} Symbols of this page\n.*?^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
FOLDED = re.compile(
    FENCE + r"\{(?:dropdown\} (?!Hint)[^\n]*|\w+\}[^\n]*\n:class: [^\n]*\bdropdown\b[^\n]*)\n.*?^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
BLOCK = re.compile(FENCE + r"(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)[^`]+\1(?!`)")
FORMULA = re.compile(r"\$\$(?P<shown>.+?)\$\$|(?<![\\$])\$(?P<inline>[^$]+)\$", re.DOTALL)
ROW = re.compile(r"^\|(?P<cells>.*)\|[ \t]*$", re.MULTILINE)

INDEXED = re.compile(r"\{index\}`!([^`]*)`")  # what makes the search lead to a row of the table

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+|\S")
NAMED = {"\\text", "\\texttt", "\\textbf", "\\operatorname", "\\mathop", "\\begin", "\\end", "\\label", "\\tag"}
FONTS = {"\\mathbf", "\\mathsf", "\\mathbb", "\\mathcal", "\\mathrm"}
ACCENTS = {"\\bar", "\\hat", "\\tilde", "\\widehat", "\\overline"}
NORM = re.compile(r"\\l?Vert\b")
LETTERS = re.compile(  # [^\W\d_] is a letter of any script
    r"[^\W\d_]|\\(?:alpha|beta|gamma|delta|(?:var)?epsilon|zeta|eta|(?:var)?theta|iota|(?:var)?kappa|lambda|mu|nu|xi|"
    r"(?:var)?pi|(?:var)?rho|(?:var)?sigma|tau|upsilon|(?:var)?phi|chi|psi|omega|digamma|(?:var)?(?:Gamma|Delta|Theta|"
    r"Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|Omega)|ell|aleph|beth|gimel|daleth|imath|jmath|hbar|wp)"
)
SIGNS = {"\\otimes", "\\langle", "\\|", "\\log"}
GROWTH = {"O", "o", "\\Theta"}  # with an argument: how fast something grows
SIZES = {"\\bigl", "\\Bigl", "\\left", "\\big", "\\Big"}
INDICES = {"i", "j", "k"}  # what stands below other letters in their own right


@dataclass(frozen=True)
class Symbol:
    """A letter of a formula with what hangs on it, as tokens."""

    bases: tuple  # as it is written, and then without its accent
    below: tuple = ()
    above: tuple = ()
    primes: str = ""

    def names(self):
        """Yield what it may be called, the most special name first."""
        below, above = ("_" + "".join(self.below), "^" + "".join(self.above))
        for base in self.bases:
            for primes in dict.fromkeys((self.primes, "")):
                if self.below and self.above:
                    yield base + primes + below + above
                if self.below:
                    yield base + primes + below
                if self.above:
                    yield base + primes + above
                yield base + primes


@dataclass(frozen=True)
class Row:
    """A row of the table: its group, its cells, and the names of its symbols."""

    group: str
    cells: tuple
    own: tuple  # the names of its symbols, as they stand there
    names: frozenset  # and those that it answers to


def symbols_of(formula):
    """Return the symbols of a formula, those that stand above and below others included.

    Examples
    --------
    >>> [next(symbol.names()) for symbol in symbols_of(r"\\bar w = \\mathrm{erf}(y_{k^*}^2 / \\tau')")]
    ['\\\\bar{w}', '\\\\mathrm{erf}', 'y_k^*^2', "\\\\tau'"]
    """
    return _symbols(TOKEN.findall(NORM.sub(r"\\|", formula)))


def _symbols(tokens):
    found, at = [], 0
    while at < len(tokens):
        bases, after = _bases(tokens, at)
        if bases is None:
            at = after
            continue
        symbol, at = _with_what_hangs(bases, tokens, after)
        euler = bases[0] == "e" and not symbol.below  # a number
        found += _symbols(symbol.above) if euler else [symbol]
    return found


def _bases(tokens, at):
    """Return the letter that begins here, with its font or accent, or None; and where the next token is."""
    token, after = tokens[at], at + 1
    if token in NAMED:
        return None, _group(tokens, after)[1]
    if token in FONTS:
        letter, after = _group(tokens, after)
        return (f"{token}{{{''.join(letter)}}}",), after
    if token in ACCENTS:
        letter, end = _group(tokens, after)
        bare = [each for each in letter if LETTERS.fullmatch(each)]
        return ((f"{token}{{{bare[0]}}}", bare[0]), end) if len(bare) == 1 else (None, after)
    if token == "2" and tokens[after : after + 1] == ["\\pi"]:
        return ("2\\pi",), after + 1
    if token in GROWTH and _next(tokens, after) == "(":
        return (f"{token}(",), after
    return ((token,), after) if LETTERS.fullmatch(token) or token in SIGNS else (None, after)


def _next(tokens, at):
    return next((token for token in tokens[at : at + 2] if token not in SIZES), "")


def _with_what_hangs(bases, tokens, at):
    hanging, primes = {"_": (), "^": ()}, ""
    while at < len(tokens) and tokens[at] in ("_", "^", "'"):
        if tokens[at] == "'":
            primes, at = primes + "'", at + 1
        else:
            group, end = _group(tokens, at + 1)
            hanging[tokens[at]], at = tuple(group), end
    return Symbol(bases, hanging["_"], hanging["^"], primes), at


def _group(tokens, at):
    """Return the tokens of the argument that begins here, without its braces, and where the next one is."""
    if at == len(tokens) or tokens[at] != "{":
        end = _group(tokens, at + 1)[1] if tokens[at : at + 1] and tokens[at] in FONTS else at + 1
        return tokens[at:end], end
    depth = 0
    for end in range(at, len(tokens)):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        if depth == 0:
            return tokens[at + 1 : end], end + 1
    return tokens[at + 1 :], len(tokens)


def without_answers(page):
    """Return a page's text without its folds; a hint stays, and a proof or a solution does not.

    Examples
    --------
    >>> without_answers("Let $a$.\\n```{dropdown} Proof\\n$b$\\n```\\n```{dropdown} Hint\\n$c$\\n```")
    'Let $a$.\\n\\n```{dropdown} Hint\\n$c$\\n```'
    """
    return FOLDED.sub("", page)


def formulas(page):
    """Return the formulas of a page that a reader meets without opening a proof or a solution."""
    text = CODE.sub(" ", _without_programs(without_answers(page)))
    return [match["shown"] or match["inline"] for match in FORMULA.finditer(text)]


def _without_programs(text):
    return BLOCK.sub(lambda block: _without_programs(block["body"]) if block["kind"].startswith("{") else "", text)


def read_table(text):
    """Return the rows of the table of symbols.

    A letter that has no row without an index belongs to the row where it has one, as $o$ does to that of $o_j$.
    """
    rows = []
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        group = part.splitlines()[0].removeprefix("## ")
        for line in [line["cells"] for line in ROW.finditer(part)][2:]:
            cells = tuple(cell.strip() for cell in line.split(" | "))
            found = [symbol for formula in FORMULA.finditer(cells[0]) for symbol in symbols_of(formula["inline"])]
            own = tuple(next(symbol.names()) for symbol in found)
            bare = [symbol.bases[0] for symbol in found if symbol.below and set(symbol.below) <= INDICES]
            rows.append(Row(group, cells, own, frozenset((*own, *bare))))
    owned = {name for row in rows for name in row.own}
    return [
        replace(row, names=frozenset(name for name in row.names if name in row.own or name not in owned))
        for row in rows
    ]


def used(page, rows):
    """Return the names of the table's symbols that a page uses, and those that it uses and the table lacks."""
    known = {name for row in rows for name in row.names}
    met, lacking = {}, {}
    todo = [symbol for formula in formulas(page) for symbol in symbols_of(formula)]
    while todo:
        symbol = todo.pop(0)
        name = next((name for name in symbol.names() if name in known), None)
        if name is None:
            if not symbol.bases[0].startswith("\\mathrm"):  # a word
                lacking[symbol.bases[0]] = None
            name = symbol.bases[0]
        met[name] = None
        own = "_" not in name
        todo += [inner for inner in _symbols(symbol.below) if own or set(inner.bases) <= INDICES]
        todo += [] if "^" in name else _symbols(symbol.above)
    return [name for name in met if name in known], list(lacking)


def fold(page, rows):
    """Return the fold that a page must have, or None where it uses hardly any symbols of the table."""
    names = set(used(page, rows)[0])
    shown = [row for row in rows if row.group != EVERYBODYS and row.names & names]
    if len(shown) < FEWEST:
        return None
    lines = ["````{dropdown} Symbols of this page", "| symbol | meaning · in code |", "|---|---|"]
    lines += [f"| {' | '.join(row.cells[:-1])} |" for row in shown]
    return INDEXED.sub(r"\1", "\n".join((*lines, "", "[All symbols of the book](symbols.md)", "````")))


def with_fold(source, text):
    """Return a cell's or page's source with this fold in place of the one that it has."""
    return FOLD.sub(lambda match: text, source)


def with_first_pages(table, pages):
    """Return the table with its last column filled: the first page, in reading order, that uses a symbol of the row."""
    rows = read_table(table)
    chapters = sorted(pages, key=lambda name: name in WITHOUT_CODE)  # a page to play with explains nothing
    names = {name: set(used(pages[name], rows)[0]) for name in chapters}
    for row in rows:
        first = next((name for name, met in names.items() if met & row.names), None)
        link = f"[]({first}.{'md' if first in WITHOUT_CODE else 'ipynb'})" if first else ""
        table = table.replace(f"| {' | '.join(row.cells)} |", f"| {' | '.join((*row.cells[:-1], link))} |")
    return table


def text_of(notebook):
    """Return what a reader meets of a notebook: its text and the captions of its figures."""
    texts = []
    for cell in notebook.cells:
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        texts.append(cell.source if cell.cell_type == "markdown" else figure.get("caption", ""))
    return "\n\n".join(texts)


def read_pages():
    """Return {name: text} of the pages that need a fold if they use a symbol, in reading order."""
    pages = {}
    for name in (file.removeprefix("chapters/") for file in listed()):
        if name in WITHOUT_CODE:
            pages[name] = (CHAPTERS / f"{name}.md").read_text(encoding="utf-8")
        elif (CHAPTERS / f"{name}.ipynb").is_file():
            pages[name] = text_of(nbformat.read(CHAPTERS / f"{name}.ipynb", as_version=4))
    return pages


def main(*only):
    """Write every fold that differs, of all pages or only of these, and the table's last column."""
    pages, table = read_pages(), TABLE.read_text(encoding="utf-8")
    contents, rows = {TABLE: with_first_pages(table, pages)}, read_table(table)
    for name, page in pages.items():
        text, path = fold(page, rows), CHAPTERS / f"{name}.ipynb"
        if text is None or not FOLD.search(page) or (only and name not in only):
            continue
        if name in WITHOUT_CODE:
            contents[CHAPTERS / f"{name}.md"] = with_fold(page, text)
            continue
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = with_fold(cell.source, text)
        contents[path] = nbformat.writes(notebook) + "\n"
    store({path: text for path, text in contents.items() if path.read_text(encoding="utf-8") != text})


if __name__ == "__main__":
    main(*sys.argv[1:])
