"""The record: what the last `make notebooks` found, read by the pages and compared by every `make check`."""

import json
import os
from pathlib import Path

from attnsep.checks import require_instance, require_items, text_of
from attnsep.files import read, why
from attnsep.ledger.framework import Evidence, claims
from attnsep.ledger.ratchet import digest, part_digests
from attnsep.tables import shown

FIELDS = {"verdict", "expect", "as_expected", "margin", "cases", "control_fails", "smallest_failing", "largest_passing"}


def record_path():
    """Return where the record lies; ``ATTNSEP_RECORD`` overrides it while a new one is being made."""
    return Path(os.environ.get("ATTNSEP_RECORD") or Path(__file__).with_name("record.json"))


def read_record():
    """Return the record: for each claim that was run, its evidence as in ``attnsep verify --json``.

    Returns
    -------
    dict of str to dict
        By claim id; empty before the first run.

    Raises
    ------
    ValueError
        If the file is there and is no record.
    """
    path = record_path()
    try:
        rows = json.loads(read(path))
        return require_record({row["id"]: row for row in rows})
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: is no record of claims ({why(error)})") from None


def require_record(record, fields=frozenset(FIELDS)):
    """Return the record, or raise a TypeError unless it maps ids to evidence.

    Examples
    --------
    >>> require_record({"one": {}})
    Traceback (most recent call last):
    ...
    TypeError: record: 'one' has {}, must have the evidence of a claim
    """
    if not isinstance(record, dict):
        raise TypeError(f"record = {text_of(record)}: must be a dict")
    for id, row in record.items():
        if not isinstance(row, dict) or not row.keys() >= fields or not all(map(_is_number, _amounts(row))):
            raise TypeError(f"record: {id!r} has {text_of(row)}, must have the evidence of a claim")
    return record


def _amounts(row):
    return [row.get(name) for name in ("margin", "smallest_failing", "largest_passing")]


def _is_number(amount):
    return amount is None or isinstance(amount, (int, float))


def record_text(evidence):
    """Return the record of a run as text; what varies between runs and machines stays out."""
    rows = [_stable(item) for item in require_items("evidence", evidence)]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def differences(evidence, record):
    """Return one sentence for each value in which a run and the record differ."""
    evidence, record = require_items("evidence", evidence), require_record(record, fields=set())
    found = []
    for item in evidence:
        row, stored = _stable(item), record.get(item.claim.id)
        if stored is None:
            found.append(f"{item.claim.id}: not in the record")
            continue
        found += [
            f"{item.claim.id}: {name} is {row.get(name)!r}, the record has {stored.get(name)!r}"
            for name in sorted((row.keys() | stored.keys()) - {"parts"})  # the digest of the check covers them
            if row.get(name) != stored.get(name)
        ]
    ledger = {entry.id for entry in claims()}
    return found + [f"{id}: in the record, but no claim of the ledger" for id in record if id not in ledger]


def _stable(item):
    require_instance("evidence", item, Evidence)
    row = {name: value for name, value in item.to_json().items() if name not in ("seconds", "backend")}
    if item.claim.level != "certified":  # there the ends of a box are part of what was proved
        row["reached"] = {name: [float(shown(end)) for end in ends] for name, ends in row["reached"].items()}
    # The digest: a check whose bound is looser or whose case is left out may still find the same margin.
    return row | {"source": item.claim.source, "check": digest(item.claim), "parts": part_digests(item.claim)}
