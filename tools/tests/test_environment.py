"""Environments get what a verb needs, keep what they have, and survive interruptions; the installer is a fake one."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import environment
from tools.files import ROOT

pytestmark = pytest.mark.slow


def test_an_old_python_is_too_old_for_every_environment(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 10, 9))
    for kind in ("locked", "oldest", "newest", "cupy", "oracles", "cards", "mutants"):
        assert environment.missing(kind).startswith("This project needs Python 3.11 or newer, but ")


def test_the_oldest_versions_need_the_oldest_python(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 11, 4))
    assert environment.missing("oldest") is None
    monkeypatch.setattr("sys.version_info", (3, 13, 0))
    sentence = environment.missing("oldest")
    assert sentence.startswith("The oldest versions are tested with Python 3.11 alone, but ")
    assert sentence.endswith("is 3.13. Name another one: make PYTHON=python3.11 test-oldest")


def test_there_is_no_cupy_for_macos(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert "macOS" in environment.missing("cupy")
    assert environment.missing("locked") is None


def test_only_the_newest_and_the_oldest_pass_by_the_lock():
    for kind in ("locked", "cupy", "oracles", "cards", "mutants"):
        assert "requirements.lock" in str(environment.installs(kind, "python"))
    assert "requirements.lock" not in str(environment.installs("newest", "python"))
    assert "lowest-direct" in environment.installs("oldest", "python")[-1]


@pytest.mark.parametrize("kind", ["oracles", "cards", "mutants"])
def test_the_extras_come_with_all_that_the_tests_need(kind):
    assert environment.installs(kind, "python")[-1][-1] == f".[dev,{kind}]"


def test_colabs_kernel_comes_without_this_project():
    (command,) = environment.installs("colab", "python")
    assert command[-4:] == ["numpy==2.0.*", "matplotlib==3.10.*", "ipython==7.34.*", "ipykernel==6.17.*"]


def test_cupy_comes_without_cudas_libraries():
    assert environment.cupy().startswith("cupy-cuda12x>=")


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_without_all_its_modules_is_said(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    assert environment.missing() == (
        f"Python's {module} module is missing (on Debian and Ubuntu: apt install python3-venv); "
        "the environment cannot be made without it."
    )


@pytest.mark.parametrize(("version", "status"), [((3, 11, 0), 0), ((3, 10, 9), 1)])
def test_without_a_folder_only_the_age_of_python_is_told(monkeypatch, capsys, version, status):
    monkeypatch.setattr("sys.version_info", version)
    monkeypatch.setattr("sys.argv", ["environment.py"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(environment.__file__, run_name="__main__")
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (status, "")
    assert err.startswith("This project needs Python 3.11 or newer, but ") if status else err == ""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Let environments be made in a folder of their own, by an installer that only writes down what it is to do."""
    (tmp_path / "pyproject.toml").write_text("one")
    (tmp_path / "requirements.lock").write_text("one")
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    monkeypatch.setattr(environment, "VENV", [*environment.VENV, "--without-pip"])
    monkeypatch.setattr(
        environment, "LAST", "import os, sys; print(os.path.basename(sys.prefix), file=open('last', 'a'))"
    )
    monkeypatch.setattr(
        environment, "installs", lambda kind, python, extras: [[sys.executable, "-c", INSTALL, *extras]]
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


INSTALL = "import sys; print(*sys.argv[1:], file=open('installed', 'a'))"


def installed(project):
    """Return what the installer was asked for, call by call."""
    path = project / "installed"
    return path.read_text().splitlines() if path.exists() else []


def test_an_environment_grows_and_what_it_has_is_not_installed_again(project, capsys):
    for extras in (["book"], ["book"], ["lab"], ["book"], [], ["book"], ["lab"], ["dev"]):
        assert environment.main(".venv", *extras) == 0
        (project / ".venv/mine").touch()  # stays, so the folder is not made anew
    assert installed(project) == ["book", "book lab", "dev"]
    assert (project / ".venv/.gitignore").read_text() == "*\n"
    assert (project / "last").read_text().splitlines() == [".venv"] * 3
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "Making .venv with the extra book (the first time takes a minute or two) ...",
        "Adding the extra lab to .venv ...",
        "Adding the extra dev to .venv ...",
    ]


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_changed_file_brings_up_to_date_what_is_there_and_a_new_time_stamp_does_nothing(project, name, capsys):
    environment.main(".venv", "book")
    environment.main(".venv", "lab")
    os.utime(project / name, (2**31, 2**31))
    environment.main(".venv", "book")
    assert installed(project) == ["book", "book lab"]
    (project / name).write_text("two")
    environment.main(".venv", "book")
    environment.main(".venv", "book")
    assert installed(project) == ["book", "book lab", "book lab"]
    assert "pyproject.toml or requirements.lock is not what .venv was made from" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["oldest", "cupy", "oracles", "cards", "mutants", "colab"])
def test_other_environments_are_made_anew_when_a_file_changed_and_never_grow(project, kind, monkeypatch):
    monkeypatch.setattr(environment, "missing", lambda kind: None)
    for text in ("one", "one", "two"):
        (project / "requirements.lock").write_text(text)
        assert environment.main(f".venv-{kind}") == 0
        assert not (project / f".venv-{kind}/mine").exists() or text == "one"
        (project / f".venv-{kind}/mine").touch()
    assert installed(project) == ["dev", "dev"]


def test_the_newest_versions_are_looked_for_each_time(project):
    environment.main(".venv-newest")
    environment.main(".venv-newest")
    assert installed(project) == ["dev", "dev"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda venv: (venv / ".ready").unlink(),
        lambda venv: (venv / ".ready").write_text(""),  # as the first edition of this program left it
        lambda venv: (venv / ".ready").write_text("[]"),
        lambda venv: (venv / "bin/python").unlink(),
        lambda venv: relink(venv / "bin/python"),  # the system's Python was removed
        lambda venv: moved(venv),
    ],
    ids=["half-made", "empty", "no record", "no Python", "dangling", "moved"],
)
def test_a_useless_environment_is_made_anew(project, damage):
    environment.main(".venv", "book")
    (project / ".venv/stale").touch()
    damage(project / ".venv")
    assert environment.main(".venv", "book") == 0
    assert installed(project) == ["book", "book"]
    assert not (project / ".venv/stale").exists()
    environment.main(".venv", "book")
    assert installed(project) == ["book", "book"]


def relink(path):
    path.unlink()
    path.symlink_to("/no/such/python")


def moved(venv):
    state = json.loads((venv / ".ready").read_text())
    (venv / ".ready").write_text(json.dumps(state | {"place": "/elsewhere/.venv"}))


def test_an_old_python_may_ask_for_what_is_there(project, monkeypatch):
    environment.main(".venv", "book")
    monkeypatch.setattr("sys.version_info", (2, 7, 18))
    assert environment.main(".venv", "book") == 0
    assert environment.main(".venv", "lab") == 1


def failing(monkeypatch):
    monkeypatch.setattr(environment, "installs", lambda *_: [[sys.executable, "-c", "raise SystemExit(1)"]])


def test_a_failed_installation_leaves_no_ready_file(project, monkeypatch, capsys):
    failing(monkeypatch)
    assert environment.main(".venv-newest") == environment.main(".venv", "book") == 1
    assert ".venv could not be made: " in capsys.readouterr().err
    assert not (project / ".venv/.ready").exists()


def test_where_more_cannot_be_installed_what_was_there_still_works(project, monkeypatch):
    environment.main(".venv", "book")
    with monkeypatch.context() as patch:
        failing(patch)  # no network, say
        assert environment.main(".venv", "dev") == 1
        assert environment.main(".venv", "book") == 0
    assert environment.main(".venv", "dev") == 0
    assert installed(project) == ["book", "dev"]


# Other processes: one that has begun to install waits for a line, so that a test can act in between.

PROCESS = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background ignores it
sys.path.insert(0, {root!r})
from tools import environment
environment.ROOT = "."
environment.VENV.append("--without-pip")
environment.LAST = ""
install = "import sys; print('installing', flush=True); input(); {install}"
environment.installs = lambda kind, python, extras: [[sys.executable, "-c", install, *extras]]
sys.exit(environment.main(".venv", sys.argv[1]))
"""


@pytest.fixture
def begin(project):
    """Return a function that starts a process which fills .venv, and waits until it has said a word."""
    started = []

    def start(extra, word):
        program = PROCESS.format(root=str(ROOT), install=INSTALL)
        process = subprocess.Popen(
            [sys.executable, "-c", program, extra],
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        started.append(process)
        heard = ""
        while word not in heard:
            line = process.stdout.readline()
            assert line, f"{heard}{process.stderr.read()}"
            heard += line
            assert word in heard or "installing" not in heard, "it began while another was at work"
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def test_of_two_first_uses_the_second_says_that_it_waits_and_goes_on_with_the_finished_environment(project, begin):
    first = begin("dev", "installing")
    second = begin("book", "Another process is working on this project's environments; .venv waits for it ...")
    first.communicate("\n")
    assert (first.returncode, second.wait()) == (0, 0)
    assert installed(project) == ["dev"]


def test_the_second_adds_what_the_first_did_not_install(project, begin):
    first, second = begin("book", "installing"), begin("lab", "waits")
    first.communicate("\n")
    second.communicate("\n")
    assert (first.returncode, second.returncode) == (0, 0)
    assert installed(project) == ["book", "book lab"]


def test_ctrl_c_ends_in_one_sentence_and_the_next_use_makes_the_environment_anew(project, begin):
    process = begin("book", "installing")
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    _, err = process.communicate()
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Interrupted; the next verb makes what is missing."
    assert environment.main(".venv", "book") == 0
    assert installed(project) == ["book"]


def test_kill_9_of_all_leaves_a_half_made_environment_which_is_made_anew(project, begin):
    environment.main(".venv", "book")
    process = begin("lab", "installing")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert environment.main(".venv", "book") == 0
    assert installed(project) == ["book", "book"]


def test_kill_9_of_one_leaves_the_installer_the_lock_until_it_has_ended(project, begin):
    first = begin("book", "installing")
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = begin("book", "waits")
    first.stdin.write("\n")
    first.stdin.flush()
    second.communicate("\n")
    assert second.returncode == 0
    assert installed(project) == ["book", "book"]  # nobody knows how far the first came


def test_without_a_standard_input_the_lock_does_not_take_its_place(project, surroundings):
    program = PROCESS.format(root=str(ROOT), install=INSTALL).replace("input();", "")
    words = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-c", program, "book"]
    run = subprocess.run(words, cwd=project, env=surroundings, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert installed(project) == ["book"]


def test_a_file_system_without_locks_is_no_obstacle(project, monkeypatch):
    import fcntl

    def refuse(lock, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert environment.main(".venv", "book") == 0


@pytest.mark.parametrize("kind", ["oldest", "newest", "cupy", "oracles", "cards", "mutants", "colab"])
def test_the_folders_name_says_the_kind(kind, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(environment, "missing", lambda kind: asked.append(kind) or "stop here")
    assert environment.main(str(tmp_path / f".venv-{kind}")) == 1
    assert asked == [kind]


def test_the_library_is_found_from_where_its_path_is_written(tmp_path, monkeypatch):
    """Whatever folder the verb is typed in."""
    path = tmp_path / ".venv/lib/python3.11/site-packages/__editable__.attnsep-0.1.pth"
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    environment.point_here(str(tmp_path / ".venv"))
    assert path.read_text() == os.path.join(*4 * [os.pardir], "lib") + "\n"


def test_an_environment_is_the_same_under_another_name_of_the_folder(tmp_path):
    place = tmp_path / "book/.venv"
    (place / "bin").mkdir(parents=True)
    (place / "bin/python").touch()
    state = {"extras": ["book"], "place": os.path.realpath(place), "digest": "one"}
    (place / ".ready").write_text(json.dumps(state))
    (tmp_path / "link").symlink_to(tmp_path / "book")
    assert environment.kept(str(tmp_path / "link/.venv")) == environment.kept(str(place)) == state


# What the extras bring

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
HEAVY = {
    "jax",
    "dask",
    "distributed",
    "playwright",
    "hypothesis",
    "sympy",
    "python-flint",
    "scikit-learn",
    "matplotlib",
}


def closure(*extras):
    """Return the names of all packages that these extras of ours bring, from what the installed ones require."""
    todo = [Requirement(text) for extra in extras for text in EXTRAS[extra]]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo += map(Requirement, project["dependencies"])
    found = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name == "attnsep":
            todo += [Requirement(text) for extra in requirement.extras for text in EXTRAS[extra]]
            continue
        for extra in {"", *requirement.extras}:
            if (name, extra) not in found:
                found.add((name, extra))
                needed = map(Requirement, distribution(name).requires or [])
                todo += [each for each in needed if not each.marker or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def test_the_book_brings_nothing_that_building_does_not_need():
    brought = closure("book")
    assert brought >= {"numpy", "sphinx", "jupyter-book"}
    assert brought & HEAVY == set()


def test_the_notebooks_bring_what_chapters_import_and_not_what_only_tests_need():
    brought = closure("notebooks")
    assert brought >= {"matplotlib", "python-flint", "sympy", "ml-dtypes", "threadpoolctl", "ipykernel"}
    assert brought & HEAVY == {"matplotlib", "python-flint", "sympy"}
    assert closure("lab") >= brought | {"jupyterlab", "jupyterlab-myst"}


def test_dev_has_the_extras_that_the_environment_may_get():
    assert closure(environment.ALL) >= closure("book", "lab", "learn", "cluster")


def test_the_verbs_name_extras_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"\.ready-([a-z]+)", makefile)) <= EXTRAS.keys()
