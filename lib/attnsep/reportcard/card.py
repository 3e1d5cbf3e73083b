"""The report card: all lines about one attention, as text, as data and as one page with pictures."""

import base64
import importlib
import io
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import numpy as np

from attnsep import figures
from attnsep.attention.attend import attend
from attnsep.attention.kernels import require_kernel
from attnsep.checks import require_choice, require_instance, require_integer, require_items, require_positive, text_of
from attnsep.paper import tokens
from attnsep.reportcard._callables import DTYPES, LAYOUTS, LIBRARIES, Budget, Late, Misfit, adapted, first_line
from attnsep.reportcard._lines import LINES, MOST, STRONG, UNJUDGED, YES, Judge, Line

__all__ = [
    "DTYPES",
    "LAYOUTS",
    "LIBRARIES",
    "LINES",
    "MOST",
    "SECONDS",
    "WIDTH",
    "Card",
    "Line",
    "failed",
    "named",
    "report",
]

WIDTH, SECONDS = 130, 60.0
QUESTIONS = {
    "sees": "sees the mark",
    "separates": "separates D_0 from D_1",
    "counts": "counts 1/4 against 3/4",
    "recalls": "recalls pairs",
    "selects": "selects one token",
    "numerics": "keeps its digits",
}
SHARES = {"sees": 3, "separates": 2, "counts": 1, "recalls": 2, "selects": 1, "numerics": 3}  # of the time
TITLES = {
    "golden-ratio": "The golden ratio",
    "main-theorem": "The main theorem",
    "where-linear-wins": "Where linear attention wins",
    "recall": "Recall, learnt",
    "which-attentions": "Which attentions separate",
    "your-own-attention": "Your own attention",
}


@dataclass(frozen=True)
class Card:
    """What `report` found out about one attention.

    Attributes
    ----------
    attention : str
        Its name.
    called : dict
        Library, layout and dtype of its arrays, width and seed.
    lines : tuple of Line
        The findings, in the order in which they were asked.
    """

    attention: str
    called: dict[str, Any]
    lines: tuple[Line, ...]

    def __getitem__(self, name: str) -> Line:
        """Return the line of this name, such as ``card["sees"]``; a ValueError where the card has none."""
        found = {line.name: line for line in self.lines}
        return found[require_choice("name", name, tuple(found))]

    def __str__(self) -> str:
        how = ", ".join(f"{name} {value}" for name, value in self.called.items())
        wide = max(map(len, QUESTIONS.values()))
        said = [
            f"{QUESTIONS[line.name]:{wide}}  {line.verdict}\n  {line.says} See: {TITLES[line.chapter]}."
            for line in self.lines
        ]
        return "\n".join([f"{self.attention} ({how})", *said])

    def as_dict(self) -> dict[str, Any]:
        """Return the card as dictionaries, lists, texts and numbers; what is not finite is None."""
        lines = [asdict(line) | {"chapter": line.chapter} for line in self.lines]
        return _plain({"attention": self.attention, "called": self.called, "lines": lines})

    def html(self) -> str:
        """Return the card as one page that needs no other file, with pictures where matplotlib is installed."""
        rows = "".join(
            f'<tr><th scope="row">{escape(QUESTIONS[line.name])}</th><td class="{line.verdict.replace(" ", "-")}">'
            f"{line.verdict}</td><td>{escape(line.says)} See {_linked(line.chapter)}.</td></tr>\n"
            for line in self.lines
        )
        how = ", ".join(f"{name} {value}" for name, value in self.called.items())
        return _PAGE.format(name=escape(self.attention), how=escape(how), rows=rows, pictures=_pictures(self))


def _linked(chapter):
    """Return the title of a chapter, a link where the package knows the book's public address."""
    try:
        urls = metadata("attnsep").get_all("Project-URL") or []
    except PackageNotFoundError:  # it runs from its folder
        urls = []
    known = [url.removeprefix("source, ") for url in urls if url.startswith("source, ")]
    title = escape(TITLES[chapter])
    return f'<a href="{escape(known[0])}/blob/HEAD/chapters/{chapter}.ipynb">{title}</a>' if known else title


def _plain(value):
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def report(
    attention: Callable[..., Any],
    *,
    name: str | None = None,
    layout: str | None = None,
    library: str | None = None,
    dtype: str | None = None,
    width: int = WIDTH,
    lines: Sequence[str] = tuple(LINES),
    n: int = MOST,
    seconds: float = SECONDS,
    seed: int = 0,
    progress: bool = False,
) -> Card:
    """Judge any attention by the theorems of this book.

    Parameters
    ----------
    attention : callable
        Takes queries, keys and values, arrays of one shape, and returns the outputs, an array of that shape.  It may
        put a scale of its own on the scores.  Of a module with weights or dropout give one in evaluation mode.
    name : str, optional
        What the card calls it; left out, its own name.
    layout : str, optional
        ``nd``, ``bhnd`` or ``bnhd``: n tokens of width d, with a batch b and heads h before or between.  Left out, it
        is the one in which tokens mix and heads do not; where several are, an error asks for it.
    library : str, optional
        ``numpy``, ``cupy``, ``torch`` or ``jax``; left out, the one that the attention comes from, else one that works.
    dtype : str, optional
        ``float64``, ``float32``, ``float16`` or ``bfloat16``; left out, the most precise one that works (with JAX
        float64 only where it is switched on).
    width : int
        Width d of queries, keys and values, at least 8; data that need less are filled with zeros.
    lines : sequence of str
        Which lines, of ``sees``, ``separates``, ``counts``, ``recalls``, ``selects`` and ``numerics``.
    n : int
        Most tokens among which the mark is looked for, from 128 to 2**20.
    seconds : float
        Time for the whole card: with less, it looks at fewer tokens, and says at how many it looked.
    seed : int
        Of all random draws; the same seed gives the same card, if the time suffices for the same sizes.
    progress : bool
        Whether a terminal shows a progress bar.

    Returns
    -------
    Card
        ``print(card)`` shows it, ``card["sees"].verdict`` is one verdict, ``card.html()`` a page.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or the attention one of its own: it raises an error, returns another
        shape or what is not finite, changes its inputs, answers equal inputs differently, or mixes no tokens.

    Notes
    -----
    Frequencies have Clopper–Pearson intervals, all of which hold together but for one card in a million.  Extension.

    Examples
    --------
    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     weights = np.exp(q @ k.T - (q @ k.T).max(axis=1, keepdims=True))
    ...     return weights / weights.sum(axis=1, keepdims=True) @ v
    >>> card = report(attention, width=34, lines=["sees"], n=512)
    >>> card["sees"].verdict, round(card["sees"].numbers["growth"], 2)
    ('yes', 1.19)
    """
    width, seed = require_integer("width", width, least=8, most=10**4), require_integer("seed", seed, least=0)
    n, seconds = require_integer("n", n, least=128, most=2**20), require_positive("seconds", seconds)
    if name is not None:
        require_instance("name", name, str)
    asked = [require_choice("lines", line, tuple(LINES)) for line in require_items("lines", lines)]
    if not asked or len(set(asked)) < len(asked):
        raise ValueError(f"lines = {text_of(lines)}: must be at least one, each once")
    budget = Budget(seconds)
    try:
        called = adapted(attention, name=name, library=library, layout=layout, dtype=dtype, width=width, budget=budget)
    except Late as error:
        so_far = f" (so far: {error})" if str(error) else ""
        raise ValueError(
            f"seconds = {seconds:g}: is too short to find out how this attention is called{so_far}"
        ) from None
    judge, found = Judge(called, seed, n), []
    for index, line in enumerate(_counted(asked, progress)):
        judge.rng = np.random.default_rng([seed, list(LINES).index(line)])  # whatever other lines were asked for
        answer = Line(line, UNJUDGED, "The time was too short for it.", {})
        with budget.part(SHARES[line] / sum(SHARES[name] for name in asked[index:])):
            try:
                answer = LINES[line](judge)
            except Misfit as error:
                answer = Line(line, UNJUDGED, f"It could not be judged: {error}.", {})
        found.append(answer)
    how = {"library": called.library, "layout": called.layout, "dtype": called.dtype, "width": width, "seed": seed}
    return Card(called.name, how, tuple(found))


def _counted(lines, progress):
    """Return the lines, with a progress bar on a terminal where tqdm is installed."""
    if not progress:
        return lines
    try:
        from tqdm import tqdm
    except ImportError:
        return lines
    return tqdm(lines, unit="line", leave=False, disable=None)


def failed(card, required):
    """Return the names of the required lines whose verdict is not yes.

    Examples
    --------
    >>> line = Line("sees", "no", "", {})
    >>> failed(Card("mine", {}, (line,)), ["sees"])
    ['sees']
    """
    require_instance("card", card, Card)
    known = tuple(line.name for line in card.lines)
    names = [require_choice("required", name, known) for name in require_items("required", required)]
    return [name for name in names if card[name].verdict != YES]


def named(attention: str) -> Callable[..., Any]:
    """Return the attention that a text stands for: one of the library's kernels, or a name in a module.

    Parameters
    ----------
    attention : str
        A kernel such as ``softmax:0.5``, or ``module:name``, which is imported; the current folder is searched last.

    Returns
    -------
    callable

    Raises
    ------
    ValueError, TypeError
        If there is no such kernel, module or name, or the module raises an error.

    Examples
    --------
    >>> import numpy as np
    >>> named("linear")(np.ones((2, 1)), np.ones((2, 1)), np.array([[1.0], [3.0]]))
    array([[2.],
           [2.]])
    >>> named("math:tua")
    Traceback (most recent call last):
    ...
    ValueError: attention = 'math:tua': the module math has no name tua
    """
    module, _, name = require_instance("attention", attention, str).partition(":")
    if not name.isidentifier():
        try:
            return _of_kernel(require_kernel(attention))
        except ValueError as error:
            rule = str(error).removeprefix(f"kernel = {text_of(attention)}: ")
            raise ValueError(f"attention = {text_of(attention)}: is no module:name, and as a kernel {rule}") from None
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"attention = {text_of(attention)}: importing {text_of(module)} raises {type(error).__name__} "
            f"({first_line(error)})"
        ) from error
    if not hasattr(found, name):
        raise ValueError(f"attention = {text_of(attention)}: the module {module} has no name {name}")
    return getattr(found, name)


def _of_kernel(kernel):
    """Return a kernel as a function of q, k and v; what it draws is the same in every call."""

    def attention(q, k, v):
        return attend(q, k, v, kernel=kernel, rng=np.random.default_rng(0) if kernel.random else None)

    attention.__module__, attention.__qualname__ = "numpy", str(kernel)  # it takes NumPy's arrays
    return attention


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Report card: {name}</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }}
body {{ color: #222; background: #fff; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; vertical-align: top; padding: 0.5rem; border-top: 1px solid #bbb; }}
th, td.yes, td.no, td.partly, td.not-judged {{ white-space: nowrap; font-weight: 600; }}
td.yes {{ color: #14532d; }} td.no {{ color: #9b1b30; }}
td.partly {{ color: #7a4a00; }} td.not-judged {{ color: #555; }}
img {{ max-width: 100%; height: auto; }}
@media (max-width: 40rem) {{
  tr, th, td {{ display: block; border: 0; padding: 0.1rem 0; }}
  tr {{ border-top: 1px solid #bbb; padding: 0.5rem 0; }}
}}
</style>
</head>
<body>
<h1>Report card: {name}</h1>
<p>{how}</p>
<table>
<tbody>
{rows}</tbody>
</table>
{pictures}
</body>
</html>
"""


def _pictures(card):
    """Return the card's pictures as images inside the page; nothing where matplotlib is not installed."""
    try:
        return "".join(_image(drawn, words) for drawn, words in _drawn(card))
    except ImportError:
        return ""


def _drawn(card):
    """Return the card's pictures and what they show in words: the mark in a growing crowd, and what is recalled."""
    numbers = {line.name: line.numbers.get("sizes") for line in card.lines}
    found = []
    if sizes := numbers.get("sees"):
        n = [row["n"] for row in sizes]
        known = {kernel: [tokens.weights(x, STRONG, kernel).p for x in n] for kernel in ("softmax", "linear")}
        own = [row["weight"] for row in sizes]
        drawn = figures.in_a_crowd(n, own, known, title="How loud is the mark in a growing crowd?")
        found.append((drawn, f"{card['sees'].says} For comparison softmax and linear attention."))
    if sizes := numbers.get("recalls"):
        pairs, losses, floors = ([row[name] for row in sizes] for name in ("pairs", "loss", "floor"))
        drawn = figures.pairs_that_come_back(pairs, losses, floors, title="How much of a value comes back?")
        found.append((drawn, card["recalls"].says))
    return found


def _image(drawn, words):
    """Return a figure as an image inside the page."""
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=120)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<p><img src="data:image/png;base64,{data}" alt="{escape(words)}"></p>\n'
