"""Rules that the tree must keep; each function returns one sentence for each place that breaks its rule."""

import ast
import hashlib
import re
import shlex
from itertools import chain

import nbformat
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from attnsep.claims import LEDGER
from attnsep.ledger.framework import UNROUNDED, Claim
from attnsep.ledger.ratchet import parts
from tools.files import ROOT

MOST_LINES = 20
SHORTEST_ALT = 30
COMMANDS = {"get_ipython", "subprocess", "system", "popen"}  # what runs commands and magics, as plain Python
READER_TAGS = {"hide-cell", "hide-input"}
STATEMENT = re.compile(r"\{prf:(?!proof|ref)")
BLOCK = re.compile(r"^(`{3,})\{prf:(?!proof|ref)(\w+)\}([^\n]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
REPAIR = "What is true instead: {prf:ref}`"  # a false statement leads on, so that nobody quotes it as ours
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
    if cell.get("id") != "launch" and (_tree(cell.source) is None or COMMANDS & _names(_tree(cell.source))):
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


def _tree(source):
    """Return the syntax tree of a cell, or None where it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # ValueError: a null character
        return None


def _names(tree):
    kinds = {ast.Name: "id", ast.Attribute: "attr", ast.alias: "name", ast.ImportFrom: "module"}
    return {getattr(node, kinds[type(node)]) for node in ast.walk(tree) if type(node) in kinds}


def _figure_problems(cell):
    """Return what a figure lacks that attnsep.figures does not look at itself."""
    calls = [node.func for node in ast.walk(_tree(cell.source) or ast.Module()) if isinstance(node, ast.Call)]
    if not any(isinstance(call, ast.Attribute) and getattr(call.value, "id", "") == "figures" for call in calls):
        yield "draws a figure past attnsep.figures, whose grammar all figures speak: call a function of it there"
    caption = cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "")
    if not re.search(r"\*\*.+?\*\*", caption):
        yield "shows a figure whose caption does not say its answer in bold (cell metadata mystnb.figure.caption)"


EXERCISE = re.compile(r"^```\{admonition\} Exercise (\d+)(: predict, then run)?$", re.MULTILINE)
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


# 10^{24}, 1,000, 0.7 and 1e-9, as pages and code write them.
WRITTEN = re.compile(
    r"(?<![\d.])10(?:\^|\s?\*\*\s?)\{?(?P<power>-?\d+)|(?P<number>\d+(?:\.\d+)?)(?:e(?P<times>[+-]\d+))?"
)
FRACTION = re.compile(r"\\[dt]?frac(\d)(\d)")
GROUPED = re.compile(r"(?<=\d)(?:[, _\u202f]|\{,\})(?=\d{3}\b)|\bExercise \d+")
FOLD = re.compile(r"^(?=`{3,}\{(?:admonition\} Exercise|dropdown\} (?:Hint|Solution))\b)", re.MULTILINE)


def number_problems(name, notebook, read_off):
    """Return the numbers of captions, alt texts and exercises that stand nowhere else on the page, not even longer.

    Parameters
    ----------
    name, notebook
        The chapter.
    read_off : collection of str
        Lines of tools/read_off.txt, chapter and number: what somebody read off a picture, or worked out.
    """
    pieces = [(what, _written(text)) for what, text in _pieces(notebook)]
    lone = {}
    for here, (what, found) in enumerate(pieces):
        others = [number for there, (_, numbers) in enumerate(pieces) if there != here for number in numbers]
        lone |= {f"{name} {x}": what for x in found if what and not any(_rounds_to(other, x) for other in others)}
    unread = [
        f"{line}: this number of its {what} stands nowhere else on the page, in no output, code, text. Is it right? "
        f"Let a cell print it; if it was read off the picture, its line in tools/read_off.txt is: {line}"
        for line, what in lone.items()
        if line not in read_off
    ]
    left = [line for line in read_off if line.split()[0] == name and line not in lone]
    return unread + [
        f"{line}: is in tools/read_off.txt, and no number of a caption or exercise needs it" for line in left
    ]


def _pieces(notebook):
    """Yield the texts of a page with what they are where their numbers must stand elsewhere too, else with nothing."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = [output.get("text", "") for output in cell.outputs]
            outputs += [
                output.get("data", {}).get(kind, "") for output in cell.outputs for kind in ("text/plain", "text/html")
            ]
            yield "", "\n".join([cell.source, *outputs])
            described = cell.metadata.get("mystnb", {})
            yield "caption", described.get("figure", {}).get("caption", "")
            yield "alt text", described.get("image", {}).get("alt", "")
        else:
            first, *folded = FOLD.split(cell.source)
            yield "", first
            yield from (("exercise", part) for part in folded)


def _written(text):
    """Return the numbers of a text, powers of ten as 10^24.

    Examples
    --------
    >>> sorted(_written("1,024 of $10^{24}$, $\\\\frac12$, 0.70, 3e-9"))
    ['0.70', '1', '1024', '10^-9', '10^24', '2', '3']
    """
    found = [*WRITTEN.finditer(GROUPED.sub("", FRACTION.sub(r"\1 \2", text)))]
    powers = {f"10^{int(each['power'] or each['times'])}" for each in found if each["power"] or each["times"]}
    return powers | {each["number"] for each in found if each["number"]}


def _rounds_to(other, number):
    """Return whether a number is another one in fewer digits, or that in percent."""
    if "^" in other + number:
        return other == number
    digits, value = len(number.partition(".")[2]), float(other)
    return any(abs(x - float(number)) <= 0.5000001 * 10**-digits for x in (value, 100 * value, value / 100))


def function_problems(notebooks):
    """Return the functions that two chapters define; such a function belongs into the library."""
    places = {}
    for name, notebook in notebooks.items():
        for node in chain.from_iterable(ast.walk(tree) for tree in _trees(notebook)):
            if isinstance(node, ast.FunctionDef):
                places.setdefault(node.name, set()).add(name)
    return [f"def {name}: in {', '.join(sorted(where))}" for name, where in places.items() if len(where) > 1]


def _trees(notebook):
    """Return the syntax trees of a notebook's cells; `notebook_problems` names those that have none."""
    trees = [_tree(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
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


# Proofs: nothing computes them, so somebody reads each, and reads it again after a change.

PROOF = re.compile(r"^(?P<fence>`{3,})\{dropdown\} (?:Proof|Why)\b.*\n(?P<text>(?:.*\n)*?)(?P=fence)\s*$", re.MULTILINE)


def proofs_of(name, notebook):
    """Yield (place, digest) of each folded proof; its place is the chapter and the label of the statement above it."""
    label = "(none)"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for part in re.finditer(rf"(?m)^:label:\s*(?P<label>\S+)|{PROOF.pattern}", cell.source):
                if part["label"]:
                    label = part["label"]
                else:
                    words = " ".join(part["text"].split())
                    yield f"{name} {label}", hashlib.sha256(words.encode()).hexdigest()[:12]


def proof_problems(notebooks, signed):
    """Return which proofs are not those that somebody read, and which signatures belong to no proof.

    Parameters
    ----------
    notebooks : dict
        {chapter: notebook}.
    signed : collection of str
        Lines of tools/proofs.txt: chapter, label, digest.
    """
    lines = [f"{place} {digest}" for name, notebook in notebooks.items() for place, digest in proofs_of(name, notebook)]
    unread = {line: line.rpartition(" ")[0] for line in lines if line not in signed}
    found = [
        f"{place}: this proof is not the one that was read. Read it against its statement, or let somebody else read "
        f"it; then its line in tools/proofs.txt is: {line}"
        for line, place in unread.items()
    ]
    left = [line for line in signed if line not in lines and line.rpartition(" ")[0] not in unread.values()]
    return found + [f"{line}: is in tools/proofs.txt, and no proof has it" for line in left]


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
    found = {name.split(".")[0] for name in _imported(ast.parse(source).body)}
    return [
        f"{module}: imports {top} at its top; the core runs with numpy and array-api-compat alone"
        for top in sorted(found - standard_library - WITHOUT_IMPORT - {"attnsep"})
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
        if claim.level == "proved":
            found.append(f"{claim.id}: level proved, but no proof assistant has checked anything here yet")
        if claim.level in UNROUNDED:
            found += [f"{claim.id}: {what}, so it is not {claim.level}" for tree in trees for what in _roundings(tree)]
        reads = any(isinstance(node, ast.Attribute) and node.attr in STORED for t in trees for node in ast.walk(t))
        if reads != (claim.level == "measured"):
            found.append(f"{claim.id}: level {claim.level}, but {'reads a' if reads else 'reads no'} stored file")
    return found


LIMIT = re.compile(r"\\to(?![a-z])|\\infty|\\approx|\\sim(?! \\mathrm\{Bin\})|\btends\b")


def limit_problems(ledger=LEDGER):
    """Return the claims that speak of a limit and do not say at which points it was checked (`assumes`)."""
    return [
        f"{claim.id}: speaks of a limit; its `assumes` must say where that was checked"
        for claim in filter(_is_claim, ledger.values())
        if claim.level not in ("proved", "certified")
        and LIMIT.search(claim.statement)
        and not re.search("checked|tried", claim.assumes)
    ]


def _roundings(tree):
    name = getattr(tree, "name", "a constant")
    for node in (node for part in getattr(tree, "body", [tree]) for node in ast.walk(part)):
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
    blocks, checked, found = {}, {}, []
    for name, notebook in notebooks.items():
        checked[name] = _checks(notebook)
        text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        if len(BLOCK.findall(text)) != len(STATEMENT.findall(text)):
            found.append(f"{name}: a prf directive that is no block of backticks at the start of a line")
        for label, title, body in _blocks(notebook):
            if label in blocks:
                found.append(f"{name}: the label {label!r} stands twice")
            blocks[label] = (name, title, body)
        found += [f"{name}: check({id!r}) names no claim" for id in checked[name] if not _is_claim(ledger.get(id))]
    found += [
        f"{blocks[label][0]}: the label {label!r} names nothing in the ledger"
        for label in blocks
        if label not in ledger
    ]
    for entry in ledger.values():
        found += _entry_problems(entry, blocks, checked)
    return found + _uses_problems(ledger)


def _is_claim(entry):
    return isinstance(entry, Claim)


def _entry_problems(entry, blocks, checked):
    chapter, title, body = blocks.get(entry.id, (None, "", ""))
    if chapter != entry.chapter:
        yield f"{entry.id}: no statement block in its chapter {entry.chapter!r} has this label"
        return
    options, _, shown = body.partition("\n\n")
    refuted = getattr(entry, "expect", "holds") == "refuted"
    shown, repair, _ = shown.partition(REPAIR) if refuted else (shown, REPAIR, "")
    if entry.statement.split() != shown.split():
        yield f"{entry.id}: the chapter's statement is not word for word the ledger's"
    classes = f"mark-{entry.mark}" + (" refuted" if refuted else "")
    if f":class: {classes}" not in options.splitlines():
        yield f"{entry.id}: its block must have the class {classes}"
    if refuted != ("false" in title.split()) or not repair:
        yield f"{entry.id}: the title of a false statement, and of no other, says false, and it ends with {REPAIR!r}"
    if entry.mark not in title:
        yield f"{entry.id}: the title of its block must name its mark, {entry.mark}"
    if _is_claim(entry) and entry.id not in checked[chapter]:
        yield f"{entry.id}: its chapter never calls check({entry.id!r})"


def _blocks(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for _, _, title, body in BLOCK.findall(cell.source):
                label = re.search(r"^:label:\s*(\S+)", body, re.MULTILINE)
                yield (label[1] if label else "(none)"), title, body


def _checks(notebook):
    calls = (node for tree in _trees(notebook) for node in ast.walk(tree) if isinstance(node, ast.Call))
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


# What installs, and what pages tell a reader to type.

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = ({"sys_platform": "linux", "os_name": "posix"}, {"sys_platform": "win32", "os_name": "nt"})


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
    for python, system in ((python, system) for python in PYTHONS for system in SYSTEMS):
        place = system | {"python_version": python, "python_full_version": f"{python}.99"}
        names = [canonicalize_name(pin.name) for pin in pins if pin.marker is None or pin.marker.evaluate(place)]
        twice = sorted({name for name in names if names.count(name) > 1})
        found += [
            f"{name}: pinned twice for Python {python} on {system['sys_platform']}; run `make lock`" for name in twice
        ]
    needed = requirements_of(project, "dev")
    for requirement in needed:
        same = [pin for pin in pins if canonicalize_name(pin.name) == canonicalize_name(requirement.name)]
        versions = [next(iter(pin.specifier)).version for pin in same]
        found += (
            [] if same else [f"{requirement.name}: pyproject.toml asks for it, and no line pins it; run `make lock`"]
        )
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


LINKED = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)[^)]*\)")
NAMED_FILE = re.compile(r"`((?:lib|tools|chapters|assets|web|\.github)/[a-z0-9_./-]+)`")


def place_problems(name, text):
    """Return which files a page of the project's root links to, or names with their folder, that are not there."""
    places = [*LINKED.findall(text), *NAMED_FILE.findall(text)]
    return [f"{name}: {place}: there is no such file" for place in places if not (ROOT / place).exists()]
