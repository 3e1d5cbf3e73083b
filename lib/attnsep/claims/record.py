"""The record: what the last `make notebooks` found, read by the pages and compared by every `make check`."""

import json
import os
from pathlib import Path

from attnsep.claims.framework import claims, shown


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
    if not path.exists():
        return {}
    try:
        return {row["id"]: row for row in json.loads(path.read_text(encoding="utf-8"))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: is no record of claims ({type(error).__name__}: {error})") from None


def record_text(evidence):
    """Return the record of a run as text; what varies between runs and machines stays out."""
    rows = [_stable(item) for item in evidence]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def differences(evidence, record):
    """Return one sentence for each claim in which a run and the record differ."""
    found = []
    for item in evidence:
        row, stored = _stable(item), record.get(item.claim.id)
        if stored is None:
            found.append(f"{item.claim.id}: not in the record")
            continue
        found += [
            f"{item.claim.id}: {name} is {row.get(name)!r}, the record has {stored.get(name)!r}"
            for name in sorted(row.keys() | stored.keys())
            if row.get(name) != stored.get(name)
        ]
    ledger = {entry.id for entry in claims()}
    return found + [f"{id}: in the record, but no claim of the ledger" for id in record if id not in ledger]


def _stable(item):
    row = {name: value for name, value in item.to_json().items() if name not in ("seconds", "backend")}
    if item.claim.level != "certified":  # there the ends of a box are part of what was proved
        row["reached"] = {name: [float(shown(end)) for end in ends] for name, ends in row["reached"].items()}
    return row
