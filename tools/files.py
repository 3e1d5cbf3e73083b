"""Writing files so that an interruption leaves the old one or the new one, never half of one."""

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"


def write(path, text):
    """Write the text to a temporary file beside `path`, then rename it; leave a file alone that has this text."""
    path = Path(path)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes it private
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
