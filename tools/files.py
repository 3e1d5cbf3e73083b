"""Files that belong together: they are staged in one folder, and while that folder is there, they are being stored."""

import os
import shutil
from pathlib import Path

from attnsep.files import write

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
STAGE = ROOT / ".storing"  # what is to be stored, under the same paths as in the book
PENDING = (
    "`make notebooks` or `make address` was interrupted while it stored its files, so some are new and some are old; "
    "run the same again, or run `make notebooks`, which first completes that"
)


def store(contents):
    """Replace several files of the book, given as {path: text or bytes}, so that all become new or none.

    One rename gives the staged files the name that counts: before it, all files are old, and from there on `finish`
    completes what is left, be it in a later run.

    Returns
    -------
    list of str
        Files that somebody else changed in between, and that were left alone.
    """
    kept = finish()
    if not contents:
        return kept
    draft = STAGE.with_name(f"{STAGE.name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)  # of an earlier run that was interrupted before its rename
    for path, content in contents.items():
        staged = draft / (path.parent.resolve() / path.name).relative_to(ROOT)
        staged.parent.mkdir(parents=True, exist_ok=True)
        write(staged, content)
    draft.rename(STAGE)
    return kept + finish()


def pending():
    """Return whether a `store` was interrupted after its rename."""
    return STAGE.exists()


def finish():
    """Complete an interrupted `store`, if there is one; return the files that were left alone."""
    kept = []
    for staged in sorted(path for path in STAGE.rglob("*") if path.is_file()):
        path, content = ROOT / staged.relative_to(STAGE), staged.read_bytes()
        if _is_newer(path, staged) and path.read_bytes() != content:
            kept.append(os.fspath(path.relative_to(ROOT)))
        else:
            write(path, content)
    if pending():
        shutil.rmtree(STAGE)
    return kept


def _is_newer(path, other):
    return path.exists() and path.stat().st_mtime_ns > other.stat().st_mtime_ns
