"""Make one of the project's environments: python tools/environment.py .venv

The folder's name says which versions it gets: .venv those of requirements.lock, .venv-cupy the same and CuPy,
.venv-oracles the same and PyTorch, .venv-mutants the same and cosmic-ray, .venv-oldest the oldest that pyproject.toml
allows, .venv-newest the newest, .venv-colab Colab's kernel and arrays, without this project.

Without a folder it only says whether the Python is new enough.

Written so that any Python from 2.7 on can read it far enough to say what is missing.
"""

import glob
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)
COLAB = ["numpy==2.0.*", "matplotlib==3.10.*", "ipython==7.34.*", "ipykernel==6.17.*"]
LOCKED = ["--constraint", "requirements.lock", "--editable", ".[dev]"]
# For the programs that install: they write this folder's name, with an umlaut say, and draw progress bars.
PLAIN = {
    "LC_ALL": "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONWARNINGS": "",
    "MPLBACKEND": "",
}
VERSIONS = "from importlib.metadata import version as v; print('numpy', v('numpy'), 'matplotlib', v('matplotlib'))"


def too_old():
    """Return one sentence if this Python is too old for the project, or None."""
    if sys.version_info[:2] >= OLDEST:
        return None
    return "This project needs Python %d.%d or newer, but %s" % (OLDEST + (_found("python3.12 <verb>"),))


def missing(kind="locked"):
    """Return one sentence about what this machine lacks to make such an environment, or None."""
    if too_old():
        return too_old()
    if kind == "oldest" and sys.version_info[:2] != OLDEST:
        needed = "The oldest versions are tested with Python %d.%d alone, but %s"
        return needed % (OLDEST + (_found("python3.11 test-oldest"),))
    if kind == "cupy" and sys.platform == "darwin":
        return "CuPy has no build for macOS: `make test-cupy` needs Linux."
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        return (
            "Python's %s module is missing (on Debian and Ubuntu: apt install python3-venv); "
            "the environment cannot be made without it." % error.name
        )
    return None


def _found(better):
    return "%s is %d.%d. Name another one: make PYTHON=%s" % (
        (sys.executable,) + tuple(sys.version_info[:2]) + (better,)
    )


def installs(kind, python):
    """Return the commands that fill a fresh environment whose interpreter is `python`."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if kind == "cupy":
        return [pip + LOCKED + [cupy()]]
    if kind in ("oracles", "mutants"):
        return [pip + LOCKED[:-1] + [".[dev,%s]" % kind]]
    if kind == "colab":
        return [pip + COLAB]
    if kind == "newest":
        return [pip + ["--editable", ".[dev]"]]
    if kind == "oldest":  # pip only knows the newest
        oldest = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
        return [pip + ["uv"], oldest + ["--resolution", "lowest-direct", "--editable", ".[dev]"]]
    return [pip + LOCKED]


def cupy():
    """Return the requirement of the `gpu` extra without CUDA's libraries, which are useless where no GPU is."""
    import tomllib

    with open("pyproject.toml", "rb") as file:
        (requirement,) = tomllib.load(file)["project"]["optional-dependencies"]["gpu"]
    return requirement.replace("[ctk]", "")


def point_here(folder):
    """Let the environment find the project by a relative path.

    Python reads the file in the user's encoding: with LC_ALL=C it could not even start where a folder has an umlaut.
    """
    for path in glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "__editable__.attnsep-*.pth")):
        with open(path, "w") as file:
            file.write(os.path.relpath("lib", os.path.dirname(path)) + "\n")


def main(folder=None):
    """Make the environment in `folder`; the file .ready in it appears only when all is installed."""
    kind = os.path.basename(folder or "").partition("-")[2]
    sentence = missing(kind) if folder else too_old()
    if sentence:
        sys.stderr.write(sentence + "\n")
        return 1
    if not folder:
        return 0
    python = os.path.join(folder, "bin", "python")
    plain = dict(os.environ, **PLAIN)
    print("Making %s (the first time takes a minute or two) ..." % folder)
    sys.stdout.flush()
    if os.path.exists(folder):
        shutil.rmtree(folder)  # half-made or made from an older lock file; it holds nothing but installed packages
    try:
        subprocess.check_call([sys.executable, "-m", "venv", folder], env=plain)
        with open(os.path.join(folder, ".gitignore"), "w") as file:  # git and ruff then pass by
            file.write("*\n")
        for command in installs(kind, python):
            subprocess.check_call(command, env=plain)
        point_here(folder)
        # matplotlib builds its font cache on first use and says so on stderr; now, not inside a notebook.
        subprocess.check_call([python, "-c", "import matplotlib.font_manager"], env=plain)
        subprocess.check_call([python, "-c", VERSIONS], env=plain)
    except subprocess.CalledProcessError as error:
        sys.stderr.write(
            "The environment could not be made: '%s' failed; its message is above.\n" % " ".join(error.cmd[:4])
        )
        return 1
    with open(os.path.join(folder, ".ready"), "w"):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
