"""Open JupyterLab on copies of the chapters: python -m tools.lab [--edit] [folder]

The copies stay from one time to the next. One whose cells the reader has not changed follows the book; one whose cells
they changed is left alone for ever. With --edit, JupyterLab opens the chapters themselves.
"""

import argparse
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

from jupyter_core.paths import jupyter_runtime_dir
from jupyter_server.serverapp import list_running_servers

from tools.files import CHAPTERS, ROOT, write
from tools.places import writable_places

COPIES = ROOT / "_build/lab"
CONFIG = str(ROOT / "tools/jupyter")
RECORD = ".book.json"  # beside the copies: what the book had when each was made
FIRST = "index.ipynb"
JUPYTERLAB = (
    "-m",
    "jupyterlab",
    "--no-browser",
    "--allow-root",  # as in a container
    "--log-level=ERROR",
    "--LabApp.log_level=ERROR",
    "--LanguageServerManager.autodetect=False",  # it asks npm, which may take minutes where HOME cannot be written
    "--KernelManager.transport_encryption=auto",  # else each kernel warns that others here may read along
)
# matplotlib's would keep figures out of the notebook; Python's would stop Jupyter for warnings of its own.
FOR_OTHERS = {"MPLBACKEND", "PYTHONWARNINGS"}


def text_of(content):
    """Return what a reader changes in a chapter: of a notebook the cells, but no outputs, counts and settings.

    Parameters
    ----------
    content : bytes
        A notebook or another file. JupyterLab saves a notebook with settings of its own once it was opened.

    Returns
    -------
    bytes

    Examples
    --------
    >>> text_of(b'{"cells": [{"cell_type": "code", "source": ["1 + ", "1"], "outputs": [2]}]}')
    b'[["code", "1 + 1", {}]]'
    >>> text_of(b"No notebook.")
    b'No notebook.'
    """
    try:
        cells = json.loads(content)["cells"]
        parts = [[cell["cell_type"], "".join(cell["source"]), cell.get("attachments", {})] for cell in cells]
    except (ValueError, LookupError, TypeError, AttributeError):
        return content
    return json.dumps(parts).encode()


def refresh(book, copies):
    """Copy the chapters, and let the copies follow that nobody changed.

    Parameters
    ----------
    book, copies : path
        Two folders; the second is made where it is missing.

    Returns
    -------
    list of str
        Names of the copies that a reader changed while the book has a newer one.
    """
    copies.mkdir(parents=True, exist_ok=True)
    record, kept = _read(copies / RECORD), []
    chapters = {path.name: path.read_bytes() for path in sorted(book.iterdir()) if path.suffix in (".ipynb", ".md")}
    for name in sorted(chapters.keys() | record.keys()):
        copy, content = copies / name, chapters.get(name)
        before, now = record.get(name, [None, None]), _digests(content)
        if copy.exists() and _digests(copy.read_bytes())[1] not in (before[1], now[1]):
            kept += [name] if content is not None and now != before else []
        elif content is None:
            copy.unlink(missing_ok=True)
            del record[name]
        elif now != before or not copy.exists():
            write(copy, content)
            record[name] = now
    write(copies / RECORD, json.dumps(record))
    return kept


def _read(path):
    """Return {name: digests of what the book had}, or nothing where somebody damaged the record."""
    try:
        return {str(name): [whole, text] for name, (whole, text) in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _digests(content):
    """Return the digests of a file and of what a reader would change in it, or none where there is no file."""
    if content is None:
        return [None, None]
    return [hashlib.sha256(part).hexdigest() for part in (content, text_of(content))]


def surroundings():
    """Return the environment of JupyterLab and its kernels."""
    return {
        **{name: value for name, value in os.environ.items() if name not in FOR_OTHERS},
        "JUPYTER_TOKEN": os.environ.get("JUPYTER_TOKEN") or secrets.token_hex(24),
        # No question about news on a reader's first page, and no look for updates on the network.
        "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, [CONFIG, os.environ.get("JUPYTER_CONFIG_PATH")])),
        "JUPYTER_PREFER_ENV_PATH": "1",  # its kernel is this environment's, not one of the same name in HOME
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else every kernel speaks of frozen modules
        **writable_places(),
    }


def serve(folder, page, explanation):
    """Run JupyterLab until it ends, and print the page's address as soon as it answers; return the exit status."""
    environment = surroundings()
    command = [sys.executable, *JUPYTERLAB, f"--ServerApp.root_dir={folder}"]
    # In a group of its own, so that Ctrl-C reaches this process alone: Jupyter would ask back.
    server = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, process_group=0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: server.terminate())
    while server.poll() is None:
        for found in list_running_servers(environment.get("JUPYTER_RUNTIME_DIR") or jupyter_runtime_dir()):
            if found["pid"] == server.pid:
                token = f"?token={found['token']}" if found["token"] else ""  # none where the user set a password
                print(f"{explanation}\n\n    {found['url']}lab/tree/{page}{token}\n\nCtrl-C ends it.", flush=True)
                return max(server.wait(), 0)
        time.sleep(0.1)
    return max(server.returncode, 0)


def main(*arguments):
    """Refresh the copies and open them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.lab")
    parser.add_argument("--edit", action="store_true", help="open the chapters themselves")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=COPIES, help="where the copies are; _build/lab if missing"
    )
    options = parser.parse_args(arguments)
    if options.edit:
        return serve(
            ROOT, f"chapters/{FIRST}", "JupyterLab on the chapters themselves: what you save changes the book."
        )
    folder = options.folder.resolve()
    for name in refresh(CHAPTERS, folder):
        path = os.path.relpath(folder / name)
        print(f"{path}: you changed it, and the book has a newer one. Rename or delete yours to get that.")
    where = os.path.relpath(folder)
    return serve(
        folder, FIRST, f"JupyterLab on copies of the chapters in {where}, which stay. Try what you like there."
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
