"""Rules that the tree must keep; each function returns one sentence for each place that breaks its rule."""

import ast
import re
from itertools import chain

import nbformat

from attnsep.claims import LEDGER
from attnsep.ledger.framework import UNROUNDED, Claim
from attnsep.ledger.ratchet import parts

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
    if drawn and not _asks(cell.source):
        yield "draws a figure whose title= is no question"
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


def _asks(source):
    titles = [
        node.value
        for node in ast.walk(_tree(source) or ast.Module())
        if isinstance(node, ast.keyword) and node.arg == "title"
    ]
    return any(isinstance(title, ast.Constant) and str(title.value).endswith("?") for title in titles)


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


def repeated_functions(notebooks):
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
FRAMEWORK = ((0, "default_rng"), (1, "random"))  # np.random.default_rng, once


def draw_problems(module, source):
    """Return where a module of the claims draws random numbers past ``framework.generator``."""
    nodes = list(ast.walk(ast.parse(source)))
    found = [name for name in _imported(nodes) if {"random", "secrets"} & set(name.split("."))]
    found += [node.id for node in nodes if isinstance(node, ast.Name) and node.id in DRAWING]
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in DRAWING and getattr(node.value, "id", "") != "rng":
            found.append(node.attr)
    if module == "claims.framework":
        found = [name for number, name in enumerate(sorted(found)) if (number, name) not in FRAMEWORK]
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


def unknown_ids(text, known):
    """Return the ids of claims and definitions that a text names, as in ``Claims: one, two.``, and the ledger lacks.

    Examples
    --------
    >>> unknown_ids("Completed.  Claims: tensor-trick,\\n    no-such-claim.", {"tensor-trick"})
    ['no-such-claim']
    """
    return [id for ids in NAMED_IDS.findall(text) for id in re.split(r",\s+", ids) if id not in known]
