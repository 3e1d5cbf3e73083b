"""What rests on what: the claims' `uses`, followed and drawn."""

from dataclasses import dataclass
from html import escape

from attnsep.checks import text_of
from attnsep.ledger.framework import LEDGER, Claim
from attnsep.ledger.proofs import PROVED
from attnsep.tables import Table

STEP, ROW, TOP = 36, 66, 40  # distances in the drawing: between statements, between chapters, above the first


def rests_on(id):
    """Return all statements that one builds on, directly or through others.

    Parameters
    ----------
    id : str
        A claim or a definition.

    Returns
    -------
    tuple of str
        Ids in the ledger's order, without `id` itself; definitions build on nothing.

    Raises
    ------
    ValueError
        If the ledger has no such entry.

    Examples
    --------
    >>> rests_on("tensor-trick")
    ('def-kronecker', 'def-vec')
    """
    if not isinstance(id, str) or id not in LEDGER:
        raise ValueError(f"id = {text_of(id)}: the ledger has no entry of this name")
    found, ahead = set(), [id]
    while ahead:
        new = set(_uses(LEDGER[ahead.pop()])) - found
        found |= new
        ahead += new
    return tuple(other for other in LEDGER if other in found)


def _uses(entry):
    return getattr(entry, "uses", ())


@dataclass(frozen=True)
class ClaimsMap:
    """The ledger as a drawing: one row of marks for each chapter, a line from each claim to what it uses."""

    entries: tuple

    def __repr__(self):
        rows = []
        for chapter, entries in self._chapters().items():
            used = {LEDGER[id].chapter: None for entry in entries for id in _uses(entry)}
            others = [name for name in self._chapters() if name in used and name != chapter]
            rows.append((chapter, len(entries), ", ".join(others) or "–"))
        return repr(Table(("chapter", "statements", "builds on"), tuple(rows)))

    def _chapters(self):
        found = {}
        for entry in self.entries:
            found.setdefault(entry.chapter, []).append(entry)
        return found

    def _repr_html_(self):
        chapters = self._chapters()
        place = {
            entry.id: (STEP // 2 + STEP * column, TOP + ROW * row)
            for row, entries in enumerate(chapters.values())
            for column, entry in enumerate(entries)
        }
        width, height = (max(ends) + STEP for ends in zip(*place.values(), strict=True))
        marks = "\n".join(_mark(entry, place) for entry in self.entries)
        names = "\n".join(
            f'<a href="{name}.html"><text x="6" y="{TOP + ROW * row - 16}">{escape(name)}</text></a>'
            for row, name in enumerate(chapters)
        )
        return (
            '<div class="claims-map" tabindex="0" role="region" aria-label="map of claims">\n'
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="group" '
            f'aria-label="{len(place)} statements, chapter by chapter">\n{names}\n{marks}\n</svg></div>'
        )


def _mark(entry, place):
    x, y = place[entry.id]
    kind = (
        f"{entry.evidence}, expected to be refuted" if _is_refuted(entry) else getattr(entry, "evidence", "definition")
    )
    words = f"{entry.id}: {entry.mark}, {kind}" + (f"; uses {', '.join(_uses(entry))}" if _uses(entry) else "")
    lines = "".join(_line(place, entry.id, id) for id in _uses(entry))
    if isinstance(entry, Claim):
        shape = f'<circle class="{"ring" if _is_refuted(entry) else "disc"}" cx="{x}" cy="{y}" r="7"/>'
        shape += f'<circle class="{PROVED}" cx="{x}" cy="{y}" r="11"/>' if entry.is_proved else ""
    else:
        shape = f'<rect x="{x - 6}" y="{y - 6}" width="12" height="12"/>'
    return (
        f'<a class="mark-{entry.mark}" data-id="{entry.id}" href="{entry.chapter}.html#{entry.id}">'
        f"<title>{escape(words)}</title>"
        f'{lines}<circle class="near" cx="{x}" cy="{y}" r="{STEP // 2 - 1}"/>{shape}</a>'
    )


def _is_refuted(entry):
    return getattr(entry, "expect", "holds") == "refuted"


def _line(place, start, end):
    """Return a curve; within a row it hangs below the marks, between rows it leaves and arrives upright."""
    (x, y), (u, v) = place[start], place[end]
    middle = y + min(26, 8 + abs(x - u) // 6) if y == v else (y + v) // 2
    return f'<path data-from="{start}" data-to="{end}" d="M{x} {y}C{x} {middle} {u} {middle} {u} {v}"/>'


def claims_map():
    """Return the map of the ledger: in a notebook a drawing whose marks lead to the statements, in a terminal a table.

    Returns
    -------
    ClaimsMap
    """
    return ClaimsMap(tuple(LEDGER.values()))
