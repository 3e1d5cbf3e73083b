"""Run `make check` in a copy of the project where everything is unusual at once: python -m tools.hostile [verb ...]

The copy has no .git and lies in a folder with a space, an umlaut and brackets.  Its user is not root, has a home that
cannot be written, and nothing on standard input.  It makes its own environment, as after a download.  To look into a
failure, name a folder (--folder): copy and environment stay there, and the next run takes the environment over.
"""

import argparse
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = os.fsdecode("mein Büch (1)".encode())  # in any encoding of the user's
LEFT_BEHIND = (".git", *(ROOT / ".gitignore").read_text(encoding="utf-8").replace("/\n", "\n").split(), ".venv*")
# All at once; a test that needs another value must set it itself.  "{odd}" is a folder that nobody expects.
SETTINGS = {
    # processor, threads
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_L2_SIZE": "131072",
    "OPENBLAS_NUM_THREADS": "7",
    "OMP_NUM_THREADS": "7",
    "MKL_NUM_THREADS": "1",
    # language, time and terminal
    "LANG": "C",
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii",
    "TZ": "Pacific/Chatham",
    "COLUMNS": "40",
    "LINES": "7",
    "TERM": "dumb",
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "PY_COLORS": "1",
    # Python and what runs the tests
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "1",
    "PYTHONOPTIMIZE": "1",
    "PYTHONPATH": "{odd}",
    "PYTHONSTARTUP": "{odd}/none.py",
    "PYTHONWARNINGS": "error",
    "PYTEST_ADDOPTS": "--maxfail=1 -k nothing",
    "MPLBACKEND": "nonsense",
    "JAX_DISABLE_JIT": "1",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    # the product's own
    "ATTNSEP_BACKEND": "nonsense",
    "ATTNSEP_EVIDENCE": "{odd}",
    "ATTNSEP_FUZZ": "nonsense",
    "ATTNSEP_RECORD": "{odd}/record.json",
    # places
    "GIT_DIR": "{odd}/none",
    "TMPDIR": "{odd}",
    "XDG_CACHE_HOME": "not/absolute",
    "XDG_CONFIG_HOME": "{odd}/none.py/x",
    "XDG_DATA_HOME": "/dev/null",
}
# How packages are found is this machine's affair, and not what is tried.
INSTALLER = ("PIP_", "UV_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


def surroundings(outside):
    """Return the environment of the commands, after making the folders that it names inside `outside`."""
    odd, home = outside / "odd place", outside / "home"
    odd.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    (odd / "unexpected.py").write_text("raise SystemExit('a file that nobody asked for')\n", encoding="utf-8")
    home.chmod(0o555)
    installer = {name: value for name, value in os.environ.items() if name.startswith(INSTALLER)}
    settings = {name: value.format(odd=odd) for name, value in SETTINGS.items()}
    return {"PATH": os.defpath, "HOME": str(home), **installer, **settings}


def somebody():
    """Return how to start a process as a user who is not root: as this user, or as nobody where this one is root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def cannot(user):
    """Return one sentence where the user cannot run this Python, or None."""
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, cwd="/", **user)
    except (OSError, subprocess.CalledProcessError):
        return (
            f"make test-hostile: a user other than root cannot run {sys.executable}. "
            "Name another one: make PYTHON=/usr/bin/python3 test-hostile"
        )
    return None


def copy_to(folder, user):
    """Copy the project, without what git ignores, beside environments that are there; all of it belongs to the user."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.name.startswith(".venv"):
            shutil.rmtree(path)
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND), dirs_exist_ok=True)
    if user:
        for place, _, files in os.walk(folder.parent):
            for path in (place, *(os.path.join(place, name) for name in files)):
                os.chown(path, user["user"], user["group"], follow_symlinks=False)


def main(arguments=None):
    """Run the verbs; return make's exit status."""
    parser = argparse.ArgumentParser(prog="make test-hostile", description=__doc__.splitlines()[0])
    parser.add_argument("verbs", nargs="*", default=["check"], help="of the Makefile (default: check)")
    parser.add_argument("--folder", type=Path, help="keep the copy there (default: a temporary folder)")
    options = parser.parse_args(arguments)
    user, start = somebody(), time.monotonic()
    if sentence := cannot(user):
        print(sentence, file=sys.stderr)
        return 2
    outside = (options.folder or Path(tempfile.mkdtemp(prefix="attnsep-"))).resolve()
    outside.mkdir(parents=True, exist_ok=True)
    outside.chmod(0o755)
    try:
        environment = surroundings(outside)
        copy_to(outside / NAME, user)
        print(f"--- make {' '.join(options.verbs)} in hostile surroundings", flush=True)
        # The shell closes standard input; Python can only start a child with one.
        command = ["sh", "-c", 'exec "$@" <&-', "sh", "make", f"PYTHON={sys.executable}", *options.verbs]
        code = subprocess.run(command, cwd=outside / NAME, env=environment, umask=0o077, **user).returncode
    finally:
        if options.folder is None:
            (outside / "home").chmod(0o755)
            shutil.rmtree(outside, ignore_errors=True)
    print(f"--- in hostile surroundings: {'passed' if code == 0 else 'FAILED'}, {time.monotonic() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
