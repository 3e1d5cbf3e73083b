"""Make the project's environment: python tools/environment.py .venv

Written so that any Python from 2.7 on can read it far enough to say what is missing.
"""

import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)


def missing():
    """Return one sentence about a missing prerequisite, or None."""
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:2]))
        return (
            "This project needs Python %d.%d or newer, but %s is %s. Name another one: make PYTHON=python3.12 <verb>"
            % (OLDEST + (sys.executable, found))
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        return (
            "Python's %s module is missing (on Debian and Ubuntu: apt install python3-venv); "
            "the environment cannot be made without it." % error.name
        )
    return None


def main(folder):
    """Make the environment in `folder`; the file .ready in it appears only when all is installed."""
    sentence = missing()
    if sentence:
        sys.stderr.write(sentence + "\n")
        return 1
    python = os.path.join(folder, "bin", "python")
    print("Making %s (the first time takes a minute or two) ..." % folder)
    sys.stdout.flush()
    if os.path.exists(folder):
        shutil.rmtree(folder)  # half-made or made from an older lock file; it holds nothing but installed packages
    try:
        subprocess.check_call([sys.executable, "-m", "venv", folder])
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.check_call(pip + ["--constraint", "requirements.lock", "--editable", ".[dev]"])
        # matplotlib builds its font cache on first use and says so on stderr; now, not inside a notebook.
        subprocess.check_call([python, "-c", "import matplotlib.font_manager"])
    except subprocess.CalledProcessError as error:
        sys.stderr.write(
            "The environment could not be made: '%s' failed; its message is above.\n" % " ".join(error.cmd[:4])
        )
        return 1
    with open(os.path.join(folder, ".ready"), "w"):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
