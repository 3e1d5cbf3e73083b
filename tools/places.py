"""What Jupyter, IPython and matplotlib find around them, so that a notebook's outputs do not depend on who runs it.

Where they cannot write at their usual places, each warns in words with a temporary path, or stops.
"""

import atexit
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

# Kernels start without these: each changes what a page prints or draws.  ATTNSEP_BACKEND does not (`make test-strict`).
CHANGING = re.compile(
    "MPLBACKEND|COLUMNS|LINES|NO_COLOR|FORCE_COLOR|CLICOLOR.*|XLA_FLAGS|(JAX|NPY)_.*|ATTNSEP_(?!BACKEND|RECORD).*"
    "|PYTHON(WARNINGS|DEVMODE|OPTIMIZE|STARTUP|HASHSEED|VERBOSE|IOENCODING|ASYNCIODEBUG|PROFILEIMPORTTIME|BREAKPOINT)"
)


def writable_places():
    """Return the environment variables that a child needs for places it can write; mostly there are none.

    Returns
    -------
    dict of str to str
        One temporary folder, removed when this process ends, for each of JUPYTER_CONFIG_DIR, JUPYTER_DATA_DIR,
        JUPYTER_RUNTIME_DIR, IPYTHONDIR and MPLCONFIGDIR whose usual place cannot be written.
    """
    missing = [name for name, usual in USUAL.items() if not all(map(_writable, _asked(usual)))]
    if not missing:
        return {}
    folder = Path(tempfile.mkdtemp(prefix="attnsep-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {name: str(folder / name.lower()) for name in missing}


def kernel_environment(folder):
    """Return the variables of a kernel: none that changes its page, and empty settings of matplotlib and IPython.

    Parameters
    ----------
    folder : str
        An empty folder, for IPython's settings.
    """
    kept = {name: value for name, value in os.environ.items() if not CHANGING.fullmatch(name)}
    return kept | {"IPYTHONDIR": folder, "MATPLOTLIBRC": os.devnull}


def _ipython():
    return [Path(os.environ.get("IPYTHONDIR") or Path.home() / ".ipython").expanduser()]


def _matplotlib():
    """Return the folders of its settings and of its list of fonts; one variable moves both."""
    if given := os.environ.get("MPLCONFIGDIR"):
        return [Path(given)]
    if sys.platform == "darwin":
        return [Path.home() / ".matplotlib"]
    usual = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}
    return [Path(os.environ.get(name) or Path.home() / folder) / "matplotlib" for name, folder in usual.items()]


def _jupyter(kind):
    from jupyter_core import paths  # which `make gpu` may lack

    return [Path(getattr(paths, f"jupyter_{kind}_dir")())]


USUAL = {
    "JUPYTER_CONFIG_DIR": lambda: _jupyter("config"),
    "JUPYTER_DATA_DIR": lambda: _jupyter("data"),
    "JUPYTER_RUNTIME_DIR": lambda: _jupyter("runtime"),
    "IPYTHONDIR": _ipython,
    "MPLCONFIGDIR": _matplotlib,
}


def _asked(usual):
    """Return the folders, or one that nobody can write where the user has no home at all."""
    try:
        return usual()
    except RuntimeError:
        return [Path("~")]


def _writable(folder):
    """Return whether the folder can be made and written to; only trying tells, permissions do not.

    A relative path would mean another folder for each child, and a home that does not exist should not be made.
    """
    home = Path(os.path.expanduser("~"))
    if not folder.is_absolute() or (folder.is_relative_to(home) and not os.path.isdir(home)):
        return False
    while not os.path.lexists(folder):
        folder = folder.parent
    try:
        os.rmdir(tempfile.mkdtemp(dir=folder))
    except OSError:
        return False
    return True
