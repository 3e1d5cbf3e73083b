"""Tables: HTML in a notebook, aligned text in a terminal, the same numbers in both."""

import numbers
from dataclasses import dataclass
from html import escape
from typing import TypeGuard

from attnsep.checks import require_double, require_instance, require_items, text_of


def shown(number: float) -> str:
    """Return a number in at most three significant digits, whole numbers in full.

    Examples
    --------
    >>> shown(0.0012345), shown(100000), shown(0.0), shown(1e-17)
    ('0.00123', '100000', '0', '1e-17')
    """
    number = require_double("number", number)
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.3g}"


@dataclass(frozen=True)
class Link:
    """A table cell that leads to a statement of the book, a heading or a page; its words are the id, or `text`.

    Examples
    --------
    >>> Link("exercises", "one-column", "One random column")
    One random column
    """

    id: str
    chapter: str
    text: str = ""

    def __repr__(self) -> str:
        return self.text or self.id

    @property
    def html(self) -> str:
        """Anchor; statements' ids are their labels, and all chapters lie in one folder."""
        place = f"#{escape(self.id)}" if self.id else ""
        return f'<a href="{escape(self.chapter)}.html{place}">{escape(str(self))}</a>'


@dataclass(frozen=True)
class Table:
    """Rows under a header.

    Parameters
    ----------
    header : sequence of str
        What the columns show.
    rows : sequence of sequence
        A cell is a text, a `Link`, or a number, which is shown in three significant digits (`shown`); a number that
        needs more digits comes as text.
    about : str
        What the table holds, for readers who hear it.
    filters : sequence of str
        Columns by which a page lets a reader choose rows.  Then each row can be linked to as well, by ``row-`` and the
        text of its first cell.

    Raises
    ------
    ValueError
        If a row is not as long as the header; when it is shown, if a number is too large for a double.

    Examples
    --------
    >>> Table(("n", "fires"), ((1024, 0.943686), (4096, "never")))
       n  fires
    1024  0.944
    4096  never
    """

    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    about: str = "table"
    filters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in (*require_items("header", self.header), self.about, *require_items("filters", self.filters)):
            require_instance("header, about, filters", name, str)
        for row in require_items("rows", self.rows):
            if len(require_items("rows", row)) != len(self.header):
                raise ValueError(f"rows: {text_of(row)} has {len(row)} cells, and the header {len(self.header)}")

    def __repr__(self) -> str:
        cells = [[str(name) for name in self.header], *([_text(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(self.header))]
        sides = [str.rjust if counts else str.ljust for counts in self._counting()]
        return "\n".join(
            "  ".join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)).rstrip()
            for row in cells
        )

    def _repr_html_(self) -> str:
        counting = self._counting()
        head = "".join(_element("th", name, c, ' scope="col"') for name, c in zip(self.header, counting, strict=True))
        body = "".join(f"<tr{self._id(row)}>{_cells(row, counting)}</tr>\n" for row in self.rows)
        filters = f' data-filters="{escape("|".join(self.filters))}"' if self.filters else ""
        return (
            f'<div class="book-table"{filters} tabindex="0" role="region" aria-label="{escape(self.about)}"><table>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        )

    def _counting(self) -> list[bool]:
        """Return, column by column, whether it starts with a number; such a column is set to the right."""
        first = self.rows[0] if self.rows else self.header
        return [_is_number(cell) for cell in first]

    def _id(self, row: tuple[object, ...]) -> str:
        return f' id="row-{escape(str(row[0]))}"' if self.filters else ""


def _text(cell: object) -> str:
    return shown(cell) if _is_number(cell) else str(cell)


def _is_number(cell: object) -> TypeGuard[float]:
    return isinstance(cell, numbers.Real) and not isinstance(cell, bool)  # True is a word, and not 1


def _cells(row: tuple[object, ...], counting: list[bool]) -> str:
    return "".join(_element("td", cell, counts) for cell, counts in zip(row, counting, strict=True))


def _element(tag: str, cell: object, counts: bool, options: str = "") -> str:
    content = cell.html if isinstance(cell, Link) else escape(_text(cell))
    names_a_claim = isinstance(cell, Link) and not cell.text
    kind = ' class="claim-id"' if names_a_claim else ' class="number"' if counts else ""
    return f"<{tag}{kind}{options}>{_marked(content)}</{tag}>"


def _marked(content: str) -> str:
    """Return a mark or a verdict with the colour that it has everywhere in the book."""
    if content in ("source", "completed", "extension"):
        return f'<span class="mark mark-{content}">{content}</span>'
    if content in ("holds", "refuted"):
        return f'<span class="verdict verdict-{content}">{content}</span>'
    return content
