"""Writing files so that an interruption leaves the old one or the new one, never half of one."""

import os
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"


def write(path, content):
    """Write text or bytes to a temporary file beside `path`, then rename it; leave a file alone that has them."""
    path, content = Path(path), content.encode("utf-8") if isinstance(content, str) else content
    if path.exists() and path.read_bytes() == content:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)  # mkstemp makes it private
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
