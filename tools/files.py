"""Files that belong together: an interruption leaves all of them old, or a plan from which all of them become new."""

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "lib"))  # `make gpu` runs where the library is not installed

from attnsep.files import require_writable, write  # noqa: E402, F401

CHAPTERS = ROOT / "chapters"
STAGE = ROOT / ".storing"  # new contents, and plan.json once they are complete
PENDING = (
    "`make notebooks` or `make address` was interrupted while it stored its files, so some are new and some are old; "
    "run the same again, or run `make notebooks`, which first completes that"
)


def store(contents):
    """Replace several files, given as {path: text or bytes}, so that all become new or none.

    All contents are staged first, then the plan is written by one rename: from there on the new ones count, and
    `finish` completes what is left, be it in a later run.

    Returns
    -------
    list of str
        Files that somebody else changed in between, and that were left alone.
    """
    finish()
    STAGE.mkdir()
    plan = []
    for number, (path, content) in enumerate(contents.items()):
        staged = STAGE / str(number)
        write(staged, content)
        plan.append({"path": os.path.relpath(path, ROOT), "old": _digest(path), "new": _digest(staged)})
    write(STAGE / "plan.json", json.dumps(plan))
    return finish()


def pending():
    """Return whether a `store` was interrupted after its plan was complete."""
    return (STAGE / "plan.json").exists()


def finish():
    """Complete an interrupted `store`, or forget one that had no plan yet; return the files that were left alone."""
    kept = []
    if pending():
        for number, row in enumerate(json.loads((STAGE / "plan.json").read_text(encoding="utf-8"))):
            path = ROOT / row["path"]
            if _digest(path) == row["old"]:
                write(path, (STAGE / str(number)).read_bytes())
            elif _digest(path) != row["new"]:
                kept.append(row["path"])
        (STAGE / "plan.json").unlink()
    shutil.rmtree(STAGE, ignore_errors=True)
    return kept


def _digest(path):
    path = Path(path)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
