"""The stored cards of attentions that others wrote: `make cards` makes them, one row a line."""

import json
import math
from pathlib import Path

from attnsep.checks import require_items, text_of
from attnsep.files import from_json, read, why
from attnsep.reportcard._lines import LINES
from attnsep.tables import Table

FIELDS = {"attention", "adapter", "packages", "card", "not tried"}
NOT_TRIED = "not tried"


def cards_path():
    """Return where the cards lie that the book shows."""
    return Path(__file__).with_name("cards.jsonl")


def read_cards(path=None):
    """Return the rows of stored cards, a file in UTF-8; left out, of those that the book shows.

    Returns
    -------
    list of dict
        In each ``attention`` and ``adapter`` (its place in examples, such as pytorch_sdpa:scale_1), ``packages`` and
        their versions, and ``card`` as `Card.as_dict` gives it, or None and ``not tried`` with the reason.

    Raises
    ------
    ValueError
        If there is no such file, or a line is no row.
    """
    path = cards_path() if path is None else path
    try:
        return [_require_row(from_json(line)) for line in read(path).split("\n") if line.strip()]
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"path = {text_of(path)}: holds no cards of make cards ({why(error)})") from None


def _require_row(row, name="rows"):
    """Return a row with a card, or with a reason why there is none; or raise an error that says what is wrong.

    Examples
    --------
    >>> _require_row({"card": None})
    Traceback (most recent call last):
    ...
    TypeError: rows = {'card': None}: must be rows of make cards
    """
    if not isinstance(row, dict) or row.keys() != FIELDS or not isinstance(row["attention"], str):
        raise TypeError(f"{name} = {text_of(row)}: must be rows of make cards")
    if row["card"] is None:
        good = isinstance(row[NOT_TRIED], str)
    else:
        lines = row["card"].get("lines") if isinstance(row["card"], dict) else None
        good = isinstance(lines, list) and all(isinstance(x, dict) and x.get("name") in LINES for x in lines)
    if not good:
        raise TypeError(f"{name} = {text_of(row)}: must have a card, or the reason why it was not tried")
    return row


def cards_text(rows):
    """Return rows as text, one a line, in their order.

    Examples
    --------
    >>> cards_text([])
    ''
    """
    return "".join(json.dumps(_require_row(row), ensure_ascii=False) + "\n" for row in require_items("rows", rows))


def cards_table(rows):
    """Return the stored cards as a table: one attention a row, its verdicts in words.

    Examples
    --------
    >>> cards_table([]).header
    ('attention', 'sees', 'separates', 'counts', 'recalls', 'selects', 'digits')
    """
    found = []
    for row in require_items("rows", rows):
        _require_row(row)
        if row["card"] is None:
            found.append((row["attention"], *[NOT_TRIED] * len(LINES)))
            continue
        verdicts = {line["name"]: line["verdict"] for line in row["card"]["lines"]}
        found.append((row["attention"], *(verdicts.get(name, "") for name in LINES)))
    header = ("attention", *("digits" if name == "numerics" else name for name in LINES))
    return Table(header, tuple(found), about="attentions that others wrote, and what their cards say")


def place_of(row):
    """Return where an attention stands in the plane of the book's picture: the growth of its gain, and its recall.

    Returns
    -------
    growth, recalled : pair of float, or None
        The power of n with which the mark's gain grows, infinite where the mark has all weight, and the share
        1 − 2·loss that is recalled of the largest number of pairs (0 for who recalls nothing).  None where the card
        has no such numbers.

    Examples
    --------
    >>> sees = {"name": "sees", "numbers": {"growth": 1.19}}
    >>> recalls = {"name": "recalls", "numbers": {"sizes": [{"pairs": 4, "loss": 0.25}]}}
    >>> row = {"attention": "mine", "adapter": "a:b", "packages": {}, "not tried": None}
    >>> place_of(row | {"card": {"lines": [sees, recalls]}})
    (1.19, 0.5)
    """
    if _require_row(row, "row")["card"] is None:
        return None
    numbers = {line["name"]: line.get("numbers") or {} for line in row["card"]["lines"]}
    sees, sizes = numbers.get("sees", {}), numbers.get("recalls", {}).get("sizes")
    growth = sees.get("growth")
    if growth is None and sees.get("sizes") and sees["sizes"][-1]["weight"] == 1:
        growth = math.inf
    if growth is None or not sizes:
        return None
    return growth, max(0.0, 1 - 2 * sizes[-1]["loss"])
