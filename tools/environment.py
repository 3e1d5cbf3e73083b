"""Make one of the project's environments, or add to it what a verb needs: python tools/environment.py .venv book

The folder's name says which versions it gets: .venv those of requirements.lock, .venv-cupy the same and CuPy,
.venv-oracles the same and PyTorch, .venv-cards the same and attentions that others wrote, .venv-mutants the same and
cosmic-ray, .venv-oldest the oldest that pyproject.toml allows, .venv-newest the newest, .venv-colab Colab's kernel and
arrays, without this project.

The names after the folder are extras of pyproject.toml; without one it is dev, which has all others. Only .venv grows:
what it has stays. Its file .ready, which is missing while somebody works on it, keeps what it has and from which
pyproject.toml and requirements.lock.

Without a folder it only says whether the Python is new enough.

Written so that any Python from 2.7 on can read it far enough to say what is missing.
"""

import contextlib
import errno
import glob
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)
ALL = "dev"  # the extra that has all others that .venv may get
COLAB = ["numpy==2.0.*", "matplotlib==3.10.*", "ipython==7.34.*", "ipykernel==6.17.*"]
LOCKED = ["--constraint", "requirements.lock", "--editable"]
# For the programs that install: they write this folder's name, with an umlaut say, and draw progress bars.
PLAIN = {
    "LC_ALL": "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONWARNINGS": "",
    "MPLBACKEND": "",
}
VENV = ["-m", "venv", "--clear"]
# matplotlib builds its font cache on first use and says so on stderr; now, not inside a notebook.
LAST = """
from importlib.metadata import version
from importlib.util import find_spec
names = [name for name in ("numpy", "matplotlib") if find_spec(name)]
if "matplotlib" in names:
    import matplotlib.font_manager
print(*(f"{name} {version(name)}" for name in names))
"""


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


def installs(kind, python, extras=(ALL,)):
    """Return the commands that bring these extras into an environment whose interpreter is `python`."""
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if kind == "cupy":
        return [pip + LOCKED + [".[dev]", cupy()]]
    if kind in ("oracles", "cards", "mutants"):
        return [pip + LOCKED + [".[dev,%s]" % kind]]
    if kind == "colab":
        return [pip + COLAB]
    if kind == "newest":
        return [pip + ["--editable", ".[dev]"]]
    if kind == "oldest":  # pip only knows the newest
        oldest = [python, "-m", "uv", "pip", "install", "--quiet", "--python", python]
        return [pip + ["uv"], oldest + ["--resolution", "lowest-direct", "--editable", ".[dev]"]]
    return [pip + LOCKED + [".[%s]" % ",".join(extras)]]


def cupy():
    """Return the requirement of the `gpu` extra without CUDA's libraries, which are useless where no GPU is."""
    import tomllib

    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        (requirement,) = tomllib.load(file)["project"]["optional-dependencies"]["gpu"]
    return requirement.replace("[ctk]", "")


def point_here(folder):
    """Let the environment find the project by a relative path.

    Python reads the file in the user's encoding: with LC_ALL=C it could not even start where a folder has an umlaut.
    """
    for path in glob.glob(os.path.join(folder, "lib", "python*", "site-packages", "__editable__.attnsep-*.pth")):
        with open(path, "w") as file:
            file.write(os.path.relpath(os.path.join(ROOT, "lib"), os.path.dirname(path)) + "\n")


def digest():
    """Return a fingerprint of what decides which packages an environment gets."""
    found = hashlib.sha256()
    for name in ("pyproject.toml", "requirements.lock"):
        with open(os.path.join(ROOT, name), "rb") as file:
            found.update(file.read())
    return found.hexdigest()


def kept(folder):
    """Return what .ready says, or None if the environment is half-made, was moved here or has lost its Python."""
    try:
        with open(os.path.join(folder, ".ready")) as file:
            state = json.load(file)
        same_place = state["place"] == os.path.realpath(folder) and isinstance(state["extras"], list)
    except (IOError, ValueError, TypeError, KeyError):
        return None
    return state if same_place and os.path.exists(os.path.join(folder, "bin", "python")) else None


def joined(had, asked):
    """Return the extras that an environment has after it got those that are asked for."""
    extras = set(had) | set(asked)
    return [ALL] if ALL in extras else sorted(extras)


def serves(folder, kind, extras):
    """Return whether the environment needs nothing; the newest versions are others from day to day."""
    state = kept(folder)
    return bool(
        state
        and kind != "newest"
        and state["digest"] == digest()
        and joined(state["extras"], extras) == state["extras"]
    )


@contextlib.contextmanager
def alone(folder):
    """Let one process at a time work on this project's environments; the others say so and wait.

    The lock is on the project's folder, so no file is left behind. The system frees it when the last process that
    has it ends, however it ends. pip inherits it: if only this process is killed, the next one waits for pip.
    """
    import fcntl

    opened = os.open(ROOT, os.O_RDONLY)
    lock = fcntl.fcntl(opened, fcntl.F_DUPFD, 3)  # where standard input is closed, children would read this folder
    os.close(opened)
    try:
        os.set_inheritable(lock, True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:  # else the file system has no locks
                _say("Another process is working on this project's environments; %s waits for it ..." % folder)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def fill(folder, kind, asked):
    """Make the environment, or add to it; return the exit status. The file .ready appears when all is installed."""
    state, now, python = kept(folder), digest(), os.path.join(folder, "bin", "python")
    grows = bool(state) and kind == ""
    extras = joined(state["extras"], asked) if grows else joined([], asked)
    ready, before = os.path.join(folder, ".ready"), os.path.join(folder, ".ready-before")
    if not grows:
        _say("Making %s with the extra %s (the first time takes a minute or two) ..." % (folder, " and ".join(extras)))
    elif state["digest"] != now:
        _say("pyproject.toml or requirements.lock is not what %s was made from; bringing it up to date ..." % folder)
    else:
        _say("Adding the extra %s to %s ..." % (" and ".join(sorted(set(extras) - set(state["extras"]))), folder))
    if os.path.exists(ready):
        os.rename(ready, before)
    try:
        if not grows:
            _run([sys.executable] + VENV + [folder])
            with open(os.path.join(folder, ".gitignore"), "w") as file:  # git and ruff then pass by
                file.write("*\n")
        for command in installs(kind, python, extras):
            _run(command)
        point_here(folder)
        _run([python, "-c", LAST])
    except subprocess.CalledProcessError as error:
        if grows:  # pip gave up by itself, so what was there before still is
            os.rename(before, ready)
        sentence = "%s could not be made: '%s' failed; its message is above.\n"
        sys.stderr.write(sentence % (folder, " ".join(error.cmd[:4])))
        return 1
    with open(before, "w") as file:
        json.dump({"extras": extras, "place": os.path.realpath(folder), "digest": now}, file)
    os.rename(before, ready)
    return 0


def _run(command):
    subprocess.check_call(command, cwd=ROOT, env=dict(os.environ, **PLAIN), close_fds=False)  # with the lock


def _say(sentence):
    print(sentence)
    sys.stdout.flush()


def main(folder=None, *extras):
    """Let the environment in `folder` have these extras; return the exit status."""
    kind = os.path.basename(folder or "").partition("-")[2]
    extras = extras or (ALL,)
    if folder and serves(folder, kind, extras):
        return 0
    sentence = missing(kind) if folder else too_old()
    if sentence:
        sys.stderr.write(sentence + "\n")
        return 1
    if not folder:
        return 0
    try:
        with alone(folder):
            return 0 if serves(folder, kind, extras) else fill(folder, kind, extras)
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted; the next verb makes what is missing.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
