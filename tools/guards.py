"""Rules that the tree must keep; each function returns one sentence for each place that breaks its rule."""

import ast
import hashlib
import re
import shlex
from collections import Counter
from functools import cache
from itertools import chain, pairwise

import nbformat
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from attnsep.claims import LEDGER
from attnsep.ledger.framework import UNROUNDED, Claim
from attnsep.ledger.ratchet import parts
from tools import minutes, symbols, written
from tools.blocks import BLOCK, REPAIR, blocks
from tools.files import ROOT
from tools.pictures import pictures

MOST_LINES = 20
SHORTEST_ALT = 30
COMMANDS = {"get_ipython", "subprocess", "system", "popen"}  # what runs commands and magics, as plain Python
READER_TAGS = {"hide-cell", "hide-input"}
STATEMENT = re.compile(r"\{prf:(?!proof|ref)")
FORBIDDEN_OUTPUT = {
    "an absolute path": re.compile(
        r"(?<![\w.:/<])/(?:home|root|usr|tmp|opt|var|private|mnt|Users|content|work)/|[A-Z]:\\\\"
    ),
    "a memory address": re.compile(r"\bat 0x[0-9a-f]{6,}"),
    "a progress bar": re.compile(r"\d+%\|"),
    "the bare repr of a NumPy scalar": re.compile(r"\bnp\.(?:float|int|bool)\w*\("),
}


def read_notebooks(folder):
    """Return {file name without ending: notebook} for all notebooks of a folder."""
    return {path.stem: nbformat.read(path, as_version=4) for path in sorted(folder.glob("*.ipynb"))}


def notebook_problems(name, notebook):
    """Return what makes a notebook's stored outputs unfit to be compared, or a cell too long to read."""
    found = []
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), start=1):
        found += [f"{name}, code cell {number}: {problem}" for problem in _cell_problems(number, cell)]
    return found


def _cell_problems(number, cell):
    if cell.execution_count != number:
        yield f"execution count {cell.execution_count}, must be {number}; run `make notebooks`"
    if len(cell.source.splitlines()) > MOST_LINES:
        yield f"{len(cell.source.splitlines())} lines, must be at most {MOST_LINES}"
    if cell.source.rstrip().endswith(";"):
        yield "ends in ';', which nbval does not honour"
    if cell.get("id") != "launch" and (
        written.tree(cell.source) is None or COMMANDS & _names(written.tree(cell.source))
    ):
        yield "is not plain Python: where a magic or a shell command fails, nbval does not notice"
    tags = set(cell.metadata.get("tags", []))
    drawn = any("image/png" in output.get("data", {}) for output in cell.outputs)
    if drawn:
        yield from _figure_problems(cell)
    if not drawn and {"image", "figure"} & cell.metadata.get("mystnb", {}).keys():
        yield "shows no figure, and its metadata describe one"
    if re.search(r"nbval[-_]|NBVAL", cell.source + " ".join(tags)):
        yield "asks nbval to look away"
    elif not tags <= (READER_TAGS if cell.get("id") != "launch" else {"remove-cell"}):
        yield f"tags {', '.join(sorted(tags))}: a reader must see every cell, or be able to open it"
    for output in cell.outputs:
        yield from _output_problems(output, cell.metadata)


def _output_problems(output, metadata):
    if output.output_type == "error":
        yield f"stores an error ({output.ename})"
        return
    if output.get("name") == "stderr":
        yield "writes to stderr, which nbval does not compare"
    data = output.get("data", {})
    text = "".join(chain(output.get("text", ""), *(data.get(kind, "") for kind in ("text/plain", "text/html"))))
    yield from (f"shows {what}" for what, pattern in FORBIDDEN_OUTPUT.items() if pattern.search(text))
    alt = metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    if "image/png" in data and len(alt) < SHORTEST_ALT:
        yield "shows a figure without alt text (cell metadata mystnb.image.alt)"


@cache
def _walked(tree):
    """Return all nodes of a syntax tree, which several guards look at."""
    return tuple(ast.walk(tree)) if tree is not None else ()


def _names(tree):
    kinds = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.ImportFrom: "module"}
    return {getattr(node, kinds[type(node)]) for node in _walked(tree) if type(node) in kinds}


def _figure_problems(cell):
    """Return what a figure lacks that attnsep.figures does not look at itself."""
    calls = [node.func for node in _walked(written.tree(cell.source)) if isinstance(node, ast.Call)]
    if not any(isinstance(call, ast.Attribute) and getattr(call.value, "id", "") == "figures" for call in calls):
        yield "draws a figure past attnsep.figures, whose grammar all figures speak: call a function of it there"
    described = cell.metadata.get("mystnb", {})
    caption = described.get("figure", {}).get("caption", "")
    if not re.search(r"\*\*.+?\*\*", caption):
        yield "shows a figure whose caption does not say its answer in bold (cell metadata mystnb.figure.caption)"
    said = f"{caption} {described.get('image', {}).get('alt', '')}"
    axes = 2 if LOGARITHMIC.search(said) else 1
    drawn = [node.value for node in _walked(written.tree(cell.source)) if isinstance(node, ast.Constant)].count("log")
    if "logarithmic" in said and axes != drawn:
        yield f"says of {axes} axes that they are logarithmic, and its code says 'log' {drawn} times: which is wrong?"
    for call in (node for node in _walked(written.tree(cell.source)) if isinstance(node, ast.Call)):
        if getattr(call.func, "id", "") in ("Rule", "Window"):
            yield from _unsaid_places(call, said)


LOGARITHMIC = re.compile(r"\blogarithmic axes\b|\baxes (?:are )?logarithmic\b")
HALF = re.compile(r"½|\\[dt]?frac\s*12|\bhalf\b")


def _unsaid_places(call, said):
    """Yield the places of a line or a window that are written as numbers and that no words of the figure name."""
    values = {word.arg: word.value for word in call.keywords}
    words = values.get("words")
    said = f"{said} {words.value}" if isinstance(words, ast.Constant) else said
    known = {x.value / (100 if x.percent else 1) for x in written.numbers(said)} | (
        {0.5} if HALF.search(said) else set()
    )
    for name in ("x", "y", "low", "high"):
        place = getattr(values.get(name), "value", None)
        if isinstance(place, (int, float)) and place not in {0, 1, *known}:
            yield f"draws {call.func.id.lower()} at {name} = {place}, which its words, caption and alt text never name"


EXERCISE = re.compile(
    r"^```\{admonition\} Exercise (\d+)(?: \((?:easy|medium|hard)\))?(: predict, then run)?$", re.MULTILINE
)
HINT = re.compile(r"^```\{dropdown\} Hint$", re.MULTILINE)
LEAST_EXERCISES = 2


def exercise_problems(name, notebook):
    """Return what a chapter's exercises lack: two of them, one prediction, hints, solutions that ran."""
    found, numbers, predictions = [], [], 0
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        for title in EXERCISE.finditer(cell.source if cell.cell_type == "markdown" else ""):
            numbers.append(int(title[1]))
            predictions += bool(title[2])
            if not HINT.search(cell.source, title.end()):
                found.append(f"{name}, exercise {title[1]}: no folded hint after it")
            if after is None or "hide-cell" not in after.metadata.get("tags", []) or not after.get("outputs"):
                found.append(
                    f"{name}, exercise {title[1]}: the next cell must be its folded solution, and print something"
                )
    if numbers != list(range(1, max(LEAST_EXERCISES, len(numbers)) + 1)):
        found.append(f"{name}: exercises {numbers}, must be 1 to {LEAST_EXERCISES} at least")
    return found + ([] if predictions else [f"{name}: no exercise asks for a prediction (': predict, then run')"])


# Numbers in words: something on the page computes each of them.

FOLDED_PROOF = re.compile(r"^(`{3,})\{dropdown\} (?:Proof|Why)\b.*\n(?:.*\n)*?\1[ \t]*$", re.MULTILINE)
QUESTION = re.compile(r"^(`{3,})\{admonition\} Exercise (\d+)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
NEAR = 4  # cells
UNREAD = (
    "this number of its {what} stands in no output, code, statement or true equation of the page (nor does one, within "
    f"{NEAR} cells, that rounds to it). Is it right? Let a cell compute it"
)
UNSOLVED = "this number of its question stands in no code of the solution. Is it right? Let a cell compute it"
UNCOUNTED = (
    "so its {what} counts, and nothing else on the page does. Is it right? Count in the picture, and let a text or the "
    "title say it too"
)
DESCRIBED = ("caption", "alt text")
AXES = re.compile(r"<Figure size \S+ with (\d+) Axes>")
SET_TO = re.compile(r"(?:=|\\in|,)\s*(\d+(?:\.\d+)?)(?![\d.^])")


def number_problems(name, notebook, read_off, ledger=LEDGER):
    """Return the numbers in words of a page that nothing on it computes, and its equations that are false.

    A number of the text, of a caption or of an alt text stands in an output, in code, in a statement here or linked
    from here, or in an equation of numbers that is true; rounded it may be from one that is at most four cells away.
    What a caption or an alt text counts in words, such as "eight patterns", another text of the page counts too, unless
    it is the picture's panels.  A constant of an exercise stands in the code of its solution.  Proofs have their own
    reader (tools/signed.txt).

    Parameters
    ----------
    name, notebook
        The chapter.
    read_off : collection of str
        Lines of tools/read_off.txt, chapter and number or words: what somebody read off a picture, or looked up.
    ledger : dict
        {label: entry}, whose statements may be linked.
    """
    found = [[*_computed(cell, ledger)] for cell in notebook.cells]
    exactly, lines = written.Evidence(chain(*found)), {}
    for place, cell in enumerate(notebook.cells):
        near = written.Evidence(chain(*found[max(0, place - NEAR) : place + NEAR + 1]))
        for what, part in _shown(cell):
            shown = [*written.numbers(part), *(written.large(part) if what in DESCRIBED else ())]
            unknown = (x for x in shown if not (x.is_free or exactly.has(x, rounded=False)))
            lines |= {f"{name} {x.text}": UNREAD.format(what=what) for x in unknown if not near.has(x)}
    lines |= {f"{name} exercise {number} {x.text}": UNSOLVED for number, x in _strangers(notebook)}
    lines |= {f"{name} {words}": UNCOUNTED.format(what=what) for what, words in _uncounted(notebook)}
    unread = [
        f"{line}: {problem}; if it was read off a picture or looked up, then tools/read_off.txt has the line: {line}"
        for line, problem in lines.items()
        if line not in read_off
    ]
    equations = chain(*(written.equations(cell.source) for cell in notebook.cells if cell.cell_type == "markdown"))
    false = [f"{name}: ${formula}$ is false; compute both sides" for formula, _, true in equations if not true]
    left = [line for line in read_off if line.split()[0] == name and line not in lines]
    return [
        *false,
        *unread,
        *(f"{line}: is in tools/read_off.txt, and no number or count of the page needs it" for line in left),
    ]


def _computed(cell, ledger):
    """Yield the numbers of a cell's code, outputs, statements and true equations."""
    if cell.cell_type == "code" and cell.get("id") != "launch":
        yield from written.code_numbers(cell.source)
        yield from written.printed_numbers("\n".join(_texts_of(cell)))
    elif cell.cell_type == "markdown":
        for *_, statement in BLOCK.findall(cell.source):
            yield from written.numbers(statement)
        for label in minutes.POINTER.findall(cell.source):
            yield from written.numbers(ledger[label].statement if label in ledger else "")
        yield from (x for _, xs, true in written.equations(cell.source) if true for x in xs)


def _texts_of(cell):
    for output in cell.outputs:
        yield output.get("text", "")
        yield from (output.get("data", {}).get(kind, "") for kind in ("text/plain", "text/html"))


def _shown(cell):
    """Yield (what it is, text) of a cell's words but its statements and proofs."""
    if cell.cell_type == "markdown":
        yield "text", minutes.READING.sub("", BLOCK.sub("", FOLDED_PROOF.sub("", cell.source)))
    else:
        described = cell.metadata.get("mystnb", {})
        yield "caption", described.get("figure", {}).get("caption", "")
        yield "alt text", described.get("image", {}).get("alt", "")


def _uncounted(notebook):
    """Yield (what it is, words) where a caption or an alt text counts what no other text, nor code, counts alike."""
    told = Counter(
        key for cell in notebook.cells for _, text in _told(cell) for key in {each.key for each in written.counts(text)}
    )
    for cell in notebook.cells:
        axes = AXES.findall("".join(_texts_of(cell)) if cell.cell_type == "code" else "")
        for what, text in _told(cell):
            for each in written.counts(text) if what in DESCRIBED else ():
                if told[each.key] < 2 and not (each.of_panels and str(each.number) in axes):
                    yield what, each.words.lower()


def _told(cell):
    """Yield (what it is, text) of all that somebody wrote in a cell."""
    yield "source", cell.source
    if cell.cell_type == "code":
        yield from _shown(cell)


BLANKS = re.compile(r"\\[,;! ]|\s|[{}$]")


def formula_problems(name, text, known, looked_up=()):
    """Return the formulas with a digit of a text that stand in no other one, nor among those that somebody looked up.

    Parameters
    ----------
    name, text : str
        The page's.
    known : str
        Statements and tables in which formulas stand.
    looked_up : collection of str
        Formulas as the text has them.
    """
    formulas = dict.fromkeys(formula[0].strip("$") for formula in written.FORMULA.finditer(text))
    known = BLANKS.sub("", known)
    strange = [each for each in formulas if re.search(r"\d", each) and BLANKS.sub("", each) not in known]
    return [
        f"{name}: ${each}$ stands in no definition, claim or table that the page speaks of. Is it right?"
        for each in strange
        if each not in looked_up
    ] + [f"{name}: ${each}$ needs not be looked up" for each in looked_up if each not in strange]


def _strangers(notebook):
    """Yield (exercise, number) of the constants of exercises that their solutions' code lacks."""
    for cell, after in pairwise(notebook.cells):
        for _, exercise, question in QUESTION.findall(cell.source if cell.cell_type == "markdown" else ""):
            used = written.Evidence(written.code_numbers(after.source) if after.cell_type == "code" else [])
            set_to = {x for formula in written.FORMULA.finditer(question) for x in SET_TO.findall(formula[0])}
            shown = {x for _, xs, true in written.equations(question) if true for x in xs}
            for x in written.numbers(question):
                if not (used.has(x, rounded=False) or x in shown) and (
                    not x.is_free or (x.text in set_to and x.value > 1)
                ):
                    yield exercise, x


# Ways to read: what a page needs is named and comes earlier, and the minutes are those of its words and formulas.

MINUTES_OFF, SHARE_OFF = 2, 0.2  # of the minutes that a page says


def reading_problems(notebooks, order, without=(), ledger=LEDGER):
    """Return the pages that do not say truly, under their result, how long they take and what to read first.

    Parameters
    ----------
    notebooks : dict
        {page: notebook}.
    order : list of str
        The pages in the order of _toc.yml.
    without : collection of str
        Pages that need no such line.
    ledger : dict
        {label: entry with the statements that it uses}.
    """
    found = []
    for page in (page for page in order if page in notebooks):
        if said := minutes.named(notebooks[page]):
            found += _reading_problems(page, *said, notebooks, order, ledger)
        elif page not in without:
            line = minutes.suggested(page, notebooks, order, ledger)
            found.append(f"{page}: the line under its result is missing. By count and by the ledger it is: {line}")
    return found


def _reading_problems(page, said, first, notebooks, order, ledger):
    text = minutes.whole(notebooks[page])
    counted = minutes.count(text).minutes
    if abs(said - counted) > max(MINUTES_OFF, SHARE_OFF * counted):
        counted = f"{counted:.1f}: write {round(counted)} minutes"
        yield f"{page}: says {said} minutes, and by words and formulas takes {counted}"
    for name in first:
        if name not in order or order.index(name) >= order.index(page):
            yield f"{page}: asks to read {name} first, which is no earlier page of _toc.yml: name one, or move a page"
    before = minutes.in_turn(first, notebooks)
    lacks = {}
    for label, place in minutes.needs(page, text, order, ledger).items():
        if place not in before:
            lacks.setdefault(place, []).append(label)
    for place, labels in lacks.items():
        yield (
            f"{page}: uses {', '.join(labels)} of {place}, and nobody is asked to read that page first. "
            f"Name {place} in the line under the result; or, where only a folded proof uses it, link it in that fold"
        )


def way_problems(notebooks, order, ledger=LEDGER):
    """Return where a way to read, a list on the landing page, takes longer than it says or needs what is not in it."""
    found = []
    for title, steps in minutes.ways(notebooks).items():
        most = 60 if "hour" in title else int(title.split()[0]) if title[0].isdigit() else None
        taken = sum(step.minutes for step in steps)
        if most and taken > most:
            found.append(f"{title}: its steps take {taken:.1f} minutes (python -m tools.minutes): let it read less")
        pages, labels = set(), set()
        for step in steps:
            found += _step_problems(title, step, pages, labels, notebooks, order, ledger)
            pages.add(step.page)
            labels |= {*minutes.LABEL.findall(step.text)}
    return found


def _step_problems(title, step, pages, labels, notebooks, order, ledger):
    where = f"{title}, {step.page or step.words}"
    for heading in step.missing:
        yield f"{where}: the page has no heading {heading!r}: quote one that it has"
    if not step.minutes:
        yield f"{where}: nothing to count: link a chapter, or say how long it takes, as in (2 minutes)"
    said = minutes.named(notebooks[step.page]) if step.page else None
    for page in [] if step.is_excerpt or not said else said[1]:
        if page not in pages:
            yield f"{where}: the page asks to read {page} first, and the way does not: add it before, or read less here"
    read = labels | {*minutes.LABEL.findall(step.text)}
    for label, place in minutes.needs(step.page, step.text, order, ledger).items() if step.page else ():
        if label not in read:
            yield f"{where}: uses {label} of {place}, which the way has not read: add it before, or read less here"


# Weak and strong: whoever swaps the two marks in a plotting cell and runs it anew makes a picture that lies.

LARGEST_WEAK, LARGEST_STRONG = 0.1, 2  # D_0 has a_0 <= 0.1 by its definition; what is larger than 2 is no mark here
STANDARD = (0.05, 0.7)  # the marks of the standard example
HOLDERS = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Call)
DATA = re.compile(r"\bD_\{?([01])\b")


def swap_problems(name, notebook):
    """Return where code has the mark of one dataset beside the name of the other, or the strong mark before the weak.

    Looked at are literals that name D_0 or D_1: tuples, pairs of a dictionary, arguments of calls, and loops such as
    ``for label, a in ((0, 0.05), (1, 0.7))``.  Where no name stands beside them, 0.05 comes before 0.7.
    """
    found = []
    for number, cell in enumerate((c for c in notebook.cells if c.cell_type == "code"), start=1):
        for node in _walked(written.tree(cell.source)):
            for group in _groups(node):
                data = {each for item in group for each in _data(item)}
                marks = [_strengths(item) for item in group]
                found += [(number, node, f"{a:g} beside D_{min(data)}") for a in chain(*marks) if _is_swapped(data, a)]
            if STANDARD[::-1] in pairwise(_values(node)):
                found.append((number, node, "0.7 before 0.05"))
    return [
        f"{name}, code cell {number}: {what} in `{ast.unparse(node)[:60]}`: the mark of D_0 is at most {LARGEST_WEAK}, "
        "that of D_1 is larger, and where no name says which is which the weak one stands first. Are they swapped?"
        for number, node, what in found
    ]


def _groups(node):
    """Yield the parts of a literal, a call or a loop that say something of each other."""
    if isinstance(node, (ast.Tuple, ast.List)):
        yield node.elts
    elif isinstance(node, ast.Dict):
        yield from zip(node.keys, node.values, strict=True)
    elif isinstance(node, ast.Call):
        yield [*node.args, *(word.value for word in node.keywords if word.arg in ("a", "data"))]
    elif isinstance(node, (ast.For, ast.comprehension)):
        names = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
        for label, a, *_ in (
            getattr(item, "elts", ()) for item in getattr(node.iter, "elts", ()) if names[1:2] == ["a"]
        ):
            if isinstance(label, ast.Constant) and label.value in (0, 1):
                yield [ast.Constant(f"D_{int(label.value)}"), a]


def _values(node):
    """Return the constants of a literal or a call in their order."""
    if not isinstance(node, HOLDERS):
        return []
    parts = [getattr(node, field, []) for field in ("elts", "args", "keywords", "values")]
    nodes = [
        part.value if isinstance(part, ast.keyword) else part
        for part in chain(*(part for part in parts if isinstance(part, list)))
    ]
    return [each.value if isinstance(each, ast.Constant) else each for each in nodes]


def _data(node):
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
    return {*DATA.findall(text)}


def _strengths(node):
    """Return the strengths that a constant is, or that its string names, as in ``a = 0.7``."""
    value = getattr(node, "value", None)
    if isinstance(node, ast.Constant) and isinstance(value, str):
        return [float(a) for a in re.findall(r"\ba = (\d+(?:\.\d+)?)", value)]
    return [value] if isinstance(node, ast.Constant) and isinstance(value, float) else []


def _is_swapped(data, a):
    return len(data) == 1 and 0 < a <= LARGEST_STRONG and (a <= LARGEST_WEAK) != (data == {"0"})


# The same in words: the marks of the standard example, and the lines and markers that every figure has.
OTHER_SIDE = {
    "0": (r"(?<![\w.])0\.70? (?:on|for) \$?D_\{?0", r"a_0 = 0\.7\b", r"\b(?:solid|filled)X \$?D_\{?0"),
    "1": (r"(?<![\w.])0\.05 (?:on|for) \$?D_\{?1", r"a_1 = 0\.05\b", r"\b(?:dashed|open)X \$?D_\{?1"),
}
OWN_SIDE = {
    "0": "the weak mark, 0.05, dashed lines, open markers",
    "1": "the strong mark, 0.7, solid lines, filled markers",
}
BETWEEN = r"(?: lines?| curves?| ones?| markers?)?(?:,? (?:is|are|on|for|in))?"


def side_problems(name, text):
    """Return where words give one dataset the mark, the line or the marker of the other.

    D_0 has the weak mark, 0.05 in the standard example, dashed lines and open markers; D_1 has 0.7, solid and filled.
    """
    found = [
        (match[0], data)
        for data, patterns in OTHER_SIDE.items()
        for pattern in patterns
        for match in re.finditer(pattern.replace("X", BETWEEN), text)
    ]
    return [f"{name}: {words!r}: D_{data} has {OWN_SIDE[data]}. Are the two swapped?" for words, data in found]


def function_problems(notebooks):
    """Return the functions that two chapters define; such a function belongs into the library."""
    places = {}
    for name, notebook in notebooks.items():
        for node in chain.from_iterable(map(_walked, _trees(notebook))):
            if isinstance(node, ast.FunctionDef):
                places.setdefault(node.name, set()).add(name)
    return [f"def {name}: in {', '.join(sorted(where))}" for name, where in places.items() if len(where) > 1]


def _trees(notebook):
    """Return the syntax trees of a notebook's cells; `notebook_problems` names those that have none."""
    trees = [written.tree(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    return [tree for tree in trees if tree is not None]


# No address and no name that somebody else could own.

ABOUT_THE_PAPER = re.compile(r"\b(?:the|this) paper(?:['’]s)?\b", re.IGNORECASE)
SENTENCE_ENDS = re.compile(r"(?<=[.!?])[\"”)*_]*\s+(?=[\"“(*_]*[A-Z$\[{])")


def said_of_the_paper(text):
    """Return the sentences that say something of the paper, each in one line; only the source card shows what it says.

    Paragraphs, list items and cells of a table end a sentence as well.
    """
    parts = re.split(r"\n\s*\n|^\s*`{3,}[^\s{]*(?:\{\S*\})?|\n(?=\s*(?:[-*#|:]|\d+\. ))|\|", text, flags=re.MULTILINE)
    sentences = [" ".join(sentence.split()) for part in parts for sentence in SENTENCE_ENDS.split(part)]
    return [sentence.lstrip("-*# ") for sentence in sentences if ABOUT_THE_PAPER.search(sentence)]


def review_problems(said, reviewed):
    """Return which sentences about the paper nobody compared with the source card, and which lines are left over."""
    found = [
        f"{sentence!r}: is not in tools/said_of_the_paper.txt; compare it with the source card, then add it there"
        for sentence in sorted({*said} - {*reviewed})
    ]
    found += [
        f"{sentence!r}: is in tools/said_of_the_paper.txt, and on no page" for sentence in sorted({*reviewed} - {*said})
    ]
    return found + ([] if [*reviewed] == sorted({*reviewed}) else ["tools/said_of_the_paper.txt: must be sorted"])


# A link to a statement shows no words of its own that could be compared, so somebody follows each.


POINTERS = re.compile(rf"{minutes.POINTER.pattern}|\{{cite(?::\w+)?\}}`([\w,]+)`")


def pointer_problems(name, text, followed):
    """Return whether a page links to or cites others, or in another order, than its line of tools/links.txt says."""
    found = [id or keys for id, keys in POINTERS.findall(text)]
    line, wanted = (" ".join([f"{name}:", *ids]) for ids in (found, followed))
    if found == [*followed]:
        return []
    changed = [id for id in dict.fromkeys([*found, *followed]) if found.count(id) != [*followed].count(id)]
    return [
        f"{name}: its links and citations are not those that somebody followed ({', '.join(changed) or 'the order'}): "
        f"read each where it stands; then tools/links.txt, which has {wanted!r}, has the line: {line}"
    ]


# What nothing computes: somebody reads it, and reads it again after a change.

TERM = re.compile(r"(?m)^(?P<term>\S.*)\n(?P<text>(?:  .*\n)+)")
FENCE = re.compile(r"^(`{3,})")
COMPARED = re.compile(
    r"(?ms)^(?P<fence>`{3,})\{(?:prf:(?!proof|definition)\w+\}(?P<title>[^\n]*)|dropdown\} Symbols of this page)$"
    r".*?^(?P=fence)[ \t]*$"
    rf"|<!-- status -->.*?<!-- end of status -->|(?-s:{minutes.READING.pattern})"
)


def sections_of(name, text):
    """Return {place: words} of a page's sections; a place is the page and the heading, or the page alone above it.

    Statements below their titles, the page's symbols, its minutes and the status line are left out: they are compared.
    No check says whether a definition is right.

    Examples
    --------
    >>> sections_of("one", "# A\\nOf a.\\n```bash\\n# Not a heading\\n```\\n## B\\nOf b.\\n")
    {'one, A': 'Of a.\\n```bash\\n# Not a heading\\n```', 'one, B': 'Of b.'}
    """
    found, place, fence = {}, name, ""
    for line in COMPARED.sub(lambda found: found["title"] or "", text).splitlines():
        if marks := FENCE.match(line):
            fence = "" if fence == marks[1] else fence or marks[1]
        if not fence and re.match(r"#{1,6} ", line):
            place = f"{name}, {line.lstrip('#').strip()}"
        else:
            found.setdefault(place, []).append(line)
    return {place: "\n".join(lines) for place, lines in found.items() if "".join(lines).strip()}


DRAWN = ", picture"  # of a place where a stored picture stands


def words_of(name, notebook):
    """Yield (place, words) of a chapter: sections, code included; pictures, and their captions and alt texts."""
    # The first cell, which no reader sees, is written by `make address`.
    cells = [cell for cell in notebook.cells if "remove-cell" not in cell.metadata.get("tags", [])]
    texts = [cell.source if cell.cell_type == "markdown" else f"```\n{cell.source}\n```" for cell in cells]
    yield from sections_of(name, "\n\n".join(texts)).items()
    for cell in notebook.cells:
        if shown := cell.metadata.get("mystnb", {}).get("figure"):
            yield f"{name} {shown['name']}", f"{shown['caption']}\n{cell.metadata.mystnb.image['alt']}"
            yield f"{name} {shown['name']}{DRAWN}", "\n".join(pictures(cell.outputs))


IN_QUOTES = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`")


def strings_in(name, source):
    """Return the words in quotes of a file of Python or JavaScript, docstrings and messages, in their order.

    Examples
    --------
    >>> strings_in("one.py", "def f(x):\\n    'Say.'\\n    return f'{x} a' + 'b'  # not 'this'")
    'Say.\\n a\\nb'
    >>> strings_in("one.js", 'say("a", `b ${x}`)')
    '"a"\\n`b ${x}`'
    """
    if not name.endswith(".py"):
        return "\n".join(IN_QUOTES.findall(source))
    found, left = [], [ast.parse(source)]
    while left:
        node = left.pop()
        found += [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
        left += reversed([*ast.iter_child_nodes(node)])
    return "\n".join(found)


def entries_of(glossary, table):
    """Yield (place, words) of each entry of the glossary, each row of the table of symbols, and what is around them."""
    yield from sections_of("glossary.md", TERM.sub("", glossary)).items()
    yield from sections_of("symbols.md", re.sub(r"(?m)^\|.*", "", table)).items()
    for entry in TERM.finditer(glossary):
        yield f"glossary {entry['term']}", entry["text"]
    for row in symbols.read_table(table):
        yield f"symbols {row.cells[0]}", row.cells[1]


QUOTED = (
    "a docstring, a message or another text in quotes is not the one that was read. Read what has changed against the "
    "code, or have it read; then the file's line in tools/signed.txt is:"
)
READ = (
    "these words are not those that were read, and nothing computes them. Read them against the statements, the "
    "picture or the code, or have them read; then their line in tools/signed.txt is:"
)
LOOK = (
    "the stored picture is not the one that was looked at. Does it still show what caption and alt text say? Then its "
    "line in tools/signed.txt is:"
)


def word_problems(written, signed):
    """Return which words are not those that somebody read, and which signatures belong to none.

    Parameters
    ----------
    written : iterable of (str, str)
        Places and what stands there, as from `words_of` and `entries_of`.
    signed : collection of str
        Lines of tools/signed.txt: place, digest.
    """
    lines = [
        f"{place} {hashlib.sha256(' '.join(text.split()).encode(errors='surrogatepass')).hexdigest()[:12]}"
        for place, text in written
    ]
    unread = {line: line.rpartition(" ")[0] for line in lines if line not in signed}
    kinds = {DRAWN: LOOK, ".py": QUOTED, ".js": QUOTED}
    asked = {place: next((kinds[end] for end in kinds if place.endswith(end)), READ) for place in unread.values()}
    found = [f"{place}: {asked[place]} {line}" for line, place in unread.items()]
    left = [line for line in signed if line not in lines and line.rpartition(" ")[0] not in unread.values()]
    return found + [f"{line}: is in tools/signed.txt, and nothing has these words" for line in left]


BY_NAME = re.compile(
    r"\b(?:pip\w*|uv|conda|mamba|pixi|poetry)\b[^\n`]*?\b(?:install|add)\b[^\n`]*?(?<![\w./-])attnsep\b(?![/.])"
)
EXAMPLE = "example.org/"  # a host that nobody can own
FROM_ADDRESS = re.compile(r"(?:\[[\w,]+\])? @ git\+")
LINK = re.compile(r"git\+https?://[^\s\"'\\`)>]+|https?://[^\s\"'\\`)>]*attnsep[^\s\"'\\`)>]*")


def owner_problems(name, text, address):
    """Return where a file installs attnsep by its name alone, or leads to a repository other than the book's.

    Parameters
    ----------
    name : str
        The file's.
    text : str
        Its contents.
    address : str or None
        The book's public address, where it has one.
    """
    found = [match[0] for match in BY_NAME.finditer(text) if not FROM_ADDRESS.match(text, match.end())]
    links = [link.removeprefix("git+").removesuffix(".") for link in LINK.findall(text)]
    ours = re.compile(re.escape(address) + r"(?![\w.-])" if address else "(?!)")
    found += [link for link in links if not ours.match(link) and EXAMPLE not in link]
    return [f"{name}: {place}: nobody owns this name or address, so anybody could" for place in found]


# What the core needs.  Which module may import which is a contract in pyproject.toml, which import-linter holds.

WITHOUT_IMPORT = {"numpy", "array_api_compat"}


IMPORT = re.compile(r"(?:^|;|:)[ \t]*(?:from|import)\s+(\w+)", re.MULTILINE)
SEVERAL = re.compile(r"(?:^|;|:)[ \t]*import\b.*,|\\$", re.MULTILINE)


def import_problems(module, source, standard_library):
    """Return what a library module imports at its top though the core runs without it.

    Parameters
    ----------
    module : str
        Name below attnsep, such as ``attention.kernels``.
    source : str
        Its text.
    standard_library : set of str
        Names that are free to import.
    """
    free = standard_library | WITHOUT_IMPORT | {"attnsep"}
    if not SEVERAL.search(source) and {*IMPORT.findall(source)} <= free:
        return []  # whether at its top or elsewhere: a text is read in a tenth of the time of a tree
    found = {name.split(".")[0] for name in _imported(ast.parse(source).body)}
    return [
        f"{module}: imports {top} at its top; the core runs with numpy and array-api-compat alone"
        for top in sorted(found - free)
    ]


def _imported(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "attnsep":
                yield from (f"attnsep.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


# Draws: claims take random numbers from one place, so that all of them can be exchanged at once.

DRAWING = ("default_rng", "random", "RandomState")


def draw_problems(module, source):
    """Return where a module of the claims draws random numbers past ``framework.generator``."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [name for name in _imported(nodes) if {"random", "secrets"} & set(name.split("."))]
    found += [node.id for node in nodes if isinstance(node, ast.Name) and node.id in DRAWING]
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in DRAWING and getattr(node.value, "id", "") != "rng":
            found.append(node.attr)
    return [f"{module}: {name}: claims draw from framework.generator(seed) alone" for name in found]


# Levels: what rounds is not exact, and what reads a stored file is measured.

WHOLE = {"ceil", "comb", "factorial", "floor", "gcd", "inf", "isqrt", "lcm", "nan", "prod"}  # of math: no rounding
ROUNDS_AND_SAYS_WHY = {
    "fraction",  # raises unless the rounded power is the exact one
    "_log_over",  # any number that is large enough will do, and this one is larger by up to two millionths
}
STORED = {"read_result", "read_rows"}


def level_problems(ledger=LEDGER):
    """Return where a level says more than its check: a float in an exact one, a stored file that is not measured.

    Margins that are floats are refused where a claim is run; this looks at the text, the helpers' included.
    """
    found = []
    for claim in filter(_is_claim, ledger.values()):
        trees = [tree for _, tree in parts(claim)]
        if claim.level in UNROUNDED:
            found += [f"{claim.id}: {what}, so it is not {claim.level}" for tree in trees for what in _roundings(tree)]
        reads = any(map(_reads_stored, trees))
        if reads != (claim.level == "measured"):
            found.append(f"{claim.id}: level {claim.level}, but {'reads a' if reads else 'reads no'} stored file")
    return found


@cache
def _reads_stored(tree):
    return any(isinstance(node, ast.Attribute) and node.attr in STORED for node in _walked(tree))


LIMIT = re.compile(r"\\to(?![a-z])|\\infty|\\approx|\\sim(?! \\mathrm\{Bin\})|\btends\b")


def limit_problems(ledger=LEDGER):
    """Return the claims that speak of a limit and do not say at which points it was checked (`assumes`)."""
    return [
        f"{claim.id}: speaks of a limit; its `assumes` must say where that was checked"
        for claim in filter(_is_claim, ledger.values())
        if claim.level != "certified"
        and LIMIT.search(claim.statement)
        and not re.search("checked|tried", claim.assumes)
    ]


def _roundings(tree):
    name = getattr(tree, "name", "a constant")
    for node in (node for part in getattr(tree, "body", [tree]) for node in _walked(part)):
        if name in ROUNDS_AND_SAYS_WHY:
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"{name} has the float {node.value}"
        elif isinstance(node, ast.Name) and node.id == "round":
            yield f"{name} rounds"
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "math" and node.attr not in WHOLE:
            yield f"{name} calls math.{node.attr}"


# Closure: ledger and chapters name the same things.


def closure_problems(notebooks, ledger=LEDGER):
    """Return where the ledger and the chapters disagree.

    Every entry has a statement block in its chapter, labelled with its id, that shows its statement word for word and
    names its mark; every claim has a ``check`` there; every label and check names an entry; `uses` has no cycle.
    """
    places, checked, found = {}, {}, []
    for name, notebook in notebooks.items():
        checked[name] = _checks(notebook)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        if len(BLOCK.findall(text)) != len(STATEMENT.findall(text)):
            found.append(f"{name}: a prf directive that is no block of backticks at the start of a line")
        for block in blocks(notebook):
            if block.label in places:
                found.append(f"{name}: the label {block.label!r} stands twice")
            places[block.label] = name, block
        found += [f"{name}: check({id!r}) names no claim" for id in checked[name] if not _is_claim(ledger.get(id))]
    found += [
        f"{chapter}: the label {label!r} names nothing in the ledger"
        for label, (chapter, _) in places.items()
        if label not in ledger
    ]
    for entry in ledger.values():
        found += _entry_problems(entry, places, checked)
    return found + _uses_problems(ledger)


def _is_claim(entry):
    return isinstance(entry, Claim)


def _entry_problems(entry, places, checked):
    chapter, block = places.get(entry.id, (None, None))
    if chapter != entry.chapter:
        yield f"{entry.id}: no statement block in its chapter {entry.chapter!r} has this label"
        return
    refuted = getattr(entry, "expect", "holds") == "refuted"
    shown, repair, _ = block.words.partition(REPAIR) if refuted else (block.words, REPAIR, "")
    if entry.statement.split() != shown.split():
        yield f"{entry.id}: the chapter's statement is not word for word the ledger's"
    classes = f"mark-{entry.mark}" + (" refuted" if refuted else "")
    if f":class: {classes}" not in block.options:
        yield f"{entry.id}: its block must have the class {classes}"
    if refuted != ("false" in block.title.split()) or not repair:
        yield f"{entry.id}: the title of a false statement, and of no other, says false, and it ends with {REPAIR!r}"
    if entry.mark not in block.title:
        yield f"{entry.id}: the title of its block must name its mark, {entry.mark}"
    if _is_claim(entry) and entry.id not in checked[chapter]:
        yield f"{entry.id}: its chapter never calls check({entry.id!r})"


def _checks(notebook):
    calls = (node for tree in _trees(notebook) for node in _walked(tree) if isinstance(node, ast.Call))
    return [
        call.args[0].value
        for call in calls
        if getattr(call.func, "id", "") == "check" and call.args and isinstance(call.args[0], ast.Constant)
    ]


def _uses_problems(ledger):
    uses = {id: set(getattr(entry, "uses", ())) for id, entry in ledger.items()}
    found = [f"{id}: uses {used!r}, which is not in the ledger" for id in uses for used in uses[id] if used not in uses]
    while ready := {id for id in uses if not uses[id] & uses.keys()}:
        uses = {id: used for id, used in uses.items() if id not in ready}
    return found + ([f"uses: a cycle among {', '.join(sorted(uses))}"] if uses else [])


# Names that meet: the table in CONTRIBUTING.md, the chapters, the claims, the library and its tests.

ROW_OF_NAMES = re.compile(
    r"^\| (?P<title>[^|`]+) \| `(?P<file>[\w-]+)`(?P<planned> \(planned\))? \| (?:`claims\.(?P<claims>\w+)`)? "
    r"\| (?:`extensions\.(?P<extension>\w+)`)? \|$",
    re.MULTILINE,
)
MOST_WORDS_OF_A_TITLE = 5


def name_problems(table, titles, claims, extensions, tests):
    """Return where the names of a chapter do not meet.

    Parameters
    ----------
    table : str
        A text with the table of names.
    titles : dict
        {file name of a chapter: its heading}.
    claims, extensions, tests : set of str
        Names of the modules of claims and extensions, and of the extensions' test files.
    """
    rows = [row.groupdict() for row in ROW_OF_NAMES.finditer(table)]
    found, here = [], {row["file"]: row["title"] for row in rows if not row["planned"]}
    for name in sorted(titles.keys() | here.keys()):
        if titles.get(name) != here.get(name):
            found.append(f"{name}: the table calls it {here.get(name)!r}, the page {titles.get(name)!r}")
    for row in rows:
        name = row["file"].replace("-", "_")
        if len(row["title"].split()) > MOST_WORDS_OF_A_TITLE:
            found.append(f"{row['file']}: a title has at most {MOST_WORDS_OF_A_TITLE} words: {row['title']!r}")
        if row["planned"] and row["file"] in titles:
            found.append(f"{row['file']}: is there, and the table says that it is planned")
        for kind, there in (("claims", claims), ("extension", extensions)):
            if row[kind] != (name if name in there else None):
                found.append(f"{row['file']}: its module of {kind} is {name}, if any, and the table says {row[kind]}")
    names = {row["file"].replace("-", "_") for row in rows}
    found += [f"{name}: a module that no chapter is named after" for name in sorted((claims | extensions) - names)]
    for name in sorted(extensions):
        if f"test_{name}" not in tests:
            found.append(f"extensions.{name}: has no test_{name}.py")
    return found


NAMED_IDS = re.compile(r"\b(?:Claims?|Definitions?): ([a-z0-9]+(?:-[a-z0-9]+)*(?:,\s+[a-z0-9]+(?:-[a-z0-9]+)*)*)\.")


def id_problems(name, text, known):
    """Return which ids of claims and definitions a text names, as in ``Claims: one, two.``, and the ledger lacks."""
    ids = [id for ids in NAMED_IDS.findall(text) for id in re.split(r",\s+", ids)]
    return [f"{name}: names {id}, which is not in the ledger" for id in ids if id not in known]


def beside_problems(folder, modules, tests):
    """Return which test files of a folder begin with the name of no module of the folder that they test."""
    names = [*(module.strip("_") for module in modules), folder]
    return [
        f"{folder}/{test}.py: begins with no module of {folder}, so nobody finds it beside what it tests"
        for test in tests
        if not any(test.startswith(f"test_{name}") for name in names)
    ]


def contents_problems(listed, pages):
    """Return which pages are not in the table of contents, once, and what it lists that is no page."""
    found = [f"{name}: must stand in _toc.yml once, stands there {listed.count(name)} times" for name in pages]
    found = [problem for problem, name in zip(found, pages, strict=True) if listed.count(name) != 1]
    return found + [f"{name}: is in _toc.yml, and there is no such page" for name in listed if name not in pages]


def order_problems(name, text, levels):
    """Return where a page does not list the levels of evidence, from strong to weak, in a first column or a line."""
    table = re.search(r"^\| level \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    line = re.search(rf"^.*{levels[0]}.*{levels[-1]}.*$", text, re.MULTILINE)
    if table:
        found = re.findall(r"^\| (\w+) \|", table[1], re.MULTILINE)
    else:
        found = re.findall(rf"\b(?:{'|'.join(levels)})\b", line[0] if line else "")
    return [] if found == [*levels] else [f"{name}: lists the levels {', '.join(found)}, must be {', '.join(levels)}"]


# The top of the tree: what a trial leaves there is committed by accident.

AT_THE_TOP = {
    *(".ci", ".github", "assets", "chapters", "examples", "lib", "proofs", "tools", "web"),
    *("CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "LICENSE-TEXT", "README.md", "SECURITY.md"),
    *(".gitignore", "Makefile", "conftest.py", "environment.yml", "pyproject.toml", "requirements.lock"),
    *("_config.yml", "_toc.yml", "references.bib"),
}


def top_problems(names):
    """Return which of the names that git has at the top of the tree are not listed."""
    return [
        f"{name}: git has it at the top of the tree, and AT_THE_TOP of tools/guards.py does not list it. If it came by "
        f"accident: `git rm -r --cached {shlex.quote(name)}`, and a line in .gitignore. If it belongs there, list it"
        for name in sorted({*names} - AT_THE_TOP)
    ]


# What installs, and what pages tell a reader to type.

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = (
    {"sys_platform": "linux", "os_name": "posix"},
    {"sys_platform": "darwin", "os_name": "posix"},
    {"sys_platform": "win32", "os_name": "nt"},
)


def requirements_of(project, *extras):
    """Return what the project needs with these extras, as requirements of packages other than itself.

    Parameters
    ----------
    project : dict
        The table ``project`` of pyproject.toml.
    *extras : str
        Names of its extras.
    """
    todo, found = [*project["dependencies"], *chain(*(project["optional-dependencies"][name] for name in extras))], []
    for requirement in map(Requirement, todo):
        inner = requirements_of(project, *requirement.extras) if requirement.name == project["name"] else [requirement]
        found += [each for each in inner if each not in found]
    return found


def lock_problems(lock, project, brought=None):
    """Return where the lock is not closed: no pin, two pins, a version that pyproject.toml excludes, a pin too many.

    Parameters
    ----------
    lock : str
        Text of requirements.lock.
    project : dict
        The table ``project`` of pyproject.toml.
    brought : set of str, optional
        The packages that the extra ``dev`` brings here, where that is known for the locked versions.
    """
    found, pins = [], []
    for line in filter(None, (text.partition("#")[0].strip() for text in lock.splitlines())):
        try:
            pin = Requirement(line)
        except InvalidRequirement:
            pin = None
        if pin is None or [part.operator for part in pin.specifier] != ["=="] or "*" in str(pin.specifier):
            found.append(f"{line}: must be a name, == and one version; run `make lock`")
        else:
            pins.append(pin)
    places = {
        f"Python {python} on {system['sys_platform']}": system
        | {"python_version": python, "python_full_version": f"{python}.99"}
        for python in PYTHONS
        for system in SYSTEMS
    }
    for where, place in places.items():
        names = [canonicalize_name(pin.name) for pin in pins if _applies(pin, place)]
        twice = sorted({name for name in names if names.count(name) > 1})
        found += [f"{name}: pinned twice for {where}; run `make lock`" for name in twice]
    needed = requirements_of(project, "dev")
    for requirement in needed:
        same = [pin for pin in pins if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
        versions = [next(iter(pin.specifier)).version for pin in same]
        without = [
            where
            for where, place in places.items()
            if _applies(requirement, place) and not any(_applies(pin, place) for pin in same)
        ]
        found += [
            f"{requirement.name}: pyproject.toml asks for it, and no line pins it for {where}; run `make lock`"
            for where in without[:1]
        ]
        found += [
            f"{canonicalize_name(requirement.name)}=={version}: pyproject.toml asks for {requirement}; run `make lock`"
            for version in versions
            if not requirement.specifier.contains(version, prereleases=True)
        ]
    if brought is not None:
        here = {canonicalize_name(pin.name) for pin in pins if pin.marker is None or pin.marker.evaluate()}
        direct = {canonicalize_name(requirement.name) for requirement in needed}
        found += [
            f"{name}: another package needs it, and no line pins it; run `make lock`"
            for name in sorted(brought - here - direct)
        ]
        found += [f"{name}: nothing needs it; run `make lock`" for name in sorted(here - brought)]
    return list(dict.fromkeys(found))


def _applies(requirement, place):
    return requirement.marker is None or requirement.marker.evaluate(place)


TYPED = re.compile(
    r"^(?:\S*[/\\])?((?:make|attnsep|pip|python3?|jupyter(?:-book)?|conda|py)(?: [^`\n]*)?)$", re.MULTILINE
)
IN_A_LINE = re.compile(r"(?<!`)`(?!`)([^`\n]+)`(?!`)")
FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(text):
    """Return the commands that a page tells its reader to type, without their comments.

    Examples
    --------
    >>> commands_of("Run `make book` or\\n\\n```\\n.venv/bin/attnsep verify  # all\\n```\\n")
    ['attnsep verify', 'make book']
    """
    parts = [*FENCED.findall(text), *IN_A_LINE.findall(FENCED.sub("", text))]
    return [re.split(r"\s+#", command)[0] for part in parts for command in TYPED.findall(part)]


def command_problems(name, text, makefile, extras, attnsep):
    """Return which commands of a page would fail: a verb or a variable that make lacks, an extra, words of attnsep.

    Parameters
    ----------
    name, text : str
        The page's.
    makefile : str
        Text of the Makefile.
    extras : collection of str
        Those of pyproject.toml.
    attnsep : callable
        Takes the words after ``attnsep``; returns what is wrong with them, or None.
    """
    found = []
    for command in commands_of(text):
        program, *words = shlex.split(command)
        if program == "make":
            for word in words:
                variable, equals, _ = word.partition("=")
                if not re.search(
                    rf"^{re.escape(variable)} \?=" if equals else rf"^{re.escape(word)}:.*## ", makefile, re.M
                ):
                    found.append(f"{name}: `{command}`: the Makefile has no {variable}")
        elif program == "attnsep" and (problem := attnsep(words)):
            found.append(f"{name}: `{command}`: {problem}")
        for names in re.findall(r"\.\[([\w,-]+)\]", command):
            missing = sorted({*names.split(",")} - {*extras})
            found += [f"{name}: `{command}`: pyproject.toml has no extra {extra}" for extra in missing]
        for module in re.findall(r"-m tools\.(\w+)", command):
            if not (ROOT / f"tools/{module}.py").is_file():
                found.append(f"{name}: `{command}`: there is no tools/{module}.py")
    return found


PYTHON = re.compile(r"\bPython (3\.\d+) or (?:newer|later|above)")


ARXIV = re.compile(r"arxiv\S{0,9}[ /:](\d{4}\.\d{4,5})(?!\d)", re.IGNORECASE)
OF_A_YEAR = re.compile(r"year = \{20(\d\d)\},\s+eprint = \{((\d\d)[\d.]+)\},\s+doi = \{(.*)\}")


def paper_problems(name, text, references):
    """Return the papers on arXiv that a text names and the references lack, and references that contradict themselves.

    A reference has its number twice, also in its DOI, so that a slip in one of them is seen.
    """
    return [
        *(
            f"{name}: names arXiv {number}, which references.bib does not have. Is it right?"
            for number in dict.fromkeys(ARXIV.findall(text))
            if f"{{{number}}}" not in references
        ),
        *(
            f"{name}: arXiv {number} is of 20{of}, and its year is 20{year}. Which of the two is wrong?"
            for year, number, of, _ in OF_A_YEAR.findall(text)
            if year != of
        ),
        *(
            f"{name}: eprint {number} has the doi {doi!r}, not 10.48550/arXiv.{number}. Which of the two is wrong?"
            for _, number, _, doi in OF_A_YEAR.findall(text)
            if doi != f"10.48550/arXiv.{number}"
        ),
        *(
            f"{name}: eprint {number}: must stand between its year and its doi"
            for number in re.findall(r"eprint = \{(.*)\}", text)
            if number not in [of_a_year[1] for of_a_year in OF_A_YEAR.findall(text)]
        ),
    ]


def version_problems(name, text, oldest):
    """Return where a page asks for another Python than pyproject.toml does, whose oldest is `oldest`."""
    return [
        f"{name}: asks for Python {version}, and pyproject.toml for {oldest}"
        for version in PYTHON.findall(text)
        if version != oldest
    ]


LINKED = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)")
NAMED_FILE = re.compile(r"`((?:lib|tools|chapters|assets|web|\.github)/[a-z0-9_./-]+)`")


TITLED = re.compile(r"\[([^\[\]]+)\]\(([\w-]+)\.(?:ipynb|md)(?:#[^)]*)?\)")


def link_problems(name, text, titles):
    """Return the links whose words are the title of one page and that lead to another; `titles` is {page: title}."""
    pages = {title.casefold(): page for page, title in titles.items()}
    return [
        f"{name}: the link [{words}] leads to {page}, and {wanted} has this title: change one of the two"
        for words, page in TITLED.findall(text)
        if (wanted := pages.get(words.casefold(), page)) != page
    ]


ENDING = ("What to remember", "What this does not show", "Exercises")


def ending_problems(name, notebook):
    """Return whether a page lacks a section that each page ends with, or has them in another order."""
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    found = [title for text in texts for title in re.findall(r"^## (.+)$", text, re.MULTILINE) if title in ENDING]
    if found == [*ENDING]:
        return []
    return [f"{name}: ends with the sections {', '.join(found) or 'none'}; a page ends with {', '.join(ENDING)}"]


def place_problems(name, text):
    """Return which files a page of the project's root links to, or names with their folder, that are not there."""
    places = [*LINKED.findall(text), *NAMED_FILE.findall(text)]
    return [f"{name}: {place}: there is no such file" for place in places if not (ROOT / place).exists()]


def symbol_problems(pages, table):
    """Return where pages and the table of symbols disagree.

    Each letter of a page stands in the table, each of the table's on a page, none of them twice; the folds are the ones
    that `python -m tools.symbols` writes.  What a folded proof or solution names for itself does not count.
    """
    rows = symbols.read_table(table)
    own, met, found = [name for row in rows for name in row.own], set(), []
    for name, page in pages.items():
        names, lacking = symbols.used(page, rows)
        met |= set(names)
        found += [f"{name}: uses {symbol}, which chapters/symbols.md lacks" for symbol in lacking]
        there, wanted = symbols.FOLD.search(page), symbols.fold(page, rows)
        if wanted and not there:
            found.append(f"{name}: uses symbols and has no fold 'Symbols of this page'; write an empty one")
        elif wanted != (there and there[0]):
            found.append(f"{name}: its fold 'Symbols of this page' is not the table's; run `python -m tools.symbols`")
    for row in rows:
        indexed = row.names - set(row.own)  # o stands there as o_j
        unused = [] if indexed & met else [name for name in row.own if name not in met]
        found += [f"chapters/symbols.md: {name} is used on no page" for name in unused]
    twice = sorted({name for name in own if own.count(name) > 1})
    found += [f"chapters/symbols.md: {name} stands there twice" for name in twice]
    if table != symbols.with_first_pages(table, pages):
        found.append("chapters/symbols.md: the column 'first met' is not up to date; run `python -m tools.symbols`")
    return found
