"""Writing a file so that an interruption leaves the old one or the new one, never half of one."""

import glob
import os
from pathlib import Path


def write(path, content):
    """Write text or bytes to a temporary file beside `path`, then rename it; leave a file alone that has them.

    Parameters
    ----------
    path : str or path
        The file; its folder exists.
    content : str or bytes
        Text is written as UTF-8.

    Notes
    -----
    Not even a killed process leaves half a file at `path`.  The temporary file that it leaves beside it carries the
    process's number, and whoever writes the same file next removes it.
    """
    path, content = Path(path), content.encode("utf-8") if isinstance(content, str) else content
    for other in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if not _is_running(other.name.split(".")[-2]):
            other.unlink(missing_ok=True)
    if path.exists() and path.read_bytes() == content:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_running(number):
    """Return whether a process may be running; where no one can tell (or dares to ask, as on Windows), it may."""
    if os.name != "posix" or not number.isdecimal():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
