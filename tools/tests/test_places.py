"""Who cannot write at home gets temporary places, and nobody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.files import ROOT
from tools.places import USUAL, writable_places

SETTINGS = (*USUAL, "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "JUPYTER_PLATFORM_DIRS", "JUPYTER_NO_CONFIG")


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Return an empty home, and no other place named anywhere; what is made instead is removed with the test's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


def test_a_writable_home_is_left_as_it_is(home):
    assert writable_places() == {}
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("kind", ["missing", "a file", "inside a file", "not ours"])
def test_without_a_writable_home_all_are_elsewhere(monkeypatch, home, kind):
    if kind == "not ours":
        monkeypatch.setattr("tools.places.tempfile.mkdtemp", refuse(home))
    else:
        home.rmdir()
    if kind.endswith("file"):
        home.write_text("")
    if kind == "inside a file":
        monkeypatch.setenv("HOME", str(home / "home"))
    places = writable_places()
    assert places.keys() == USUAL.keys()
    for place in places.values():
        Path(place).mkdir(parents=True)
        assert not Path(place).is_relative_to(home)
    assert home.is_file() or not home.is_dir() or list(home.iterdir()) == []


def test_a_user_who_has_no_home(monkeypatch, home):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.setattr("jupyter_core.paths.get_home_dir", none)
    assert writable_places().keys() == USUAL.keys()


@pytest.mark.parametrize("name", USUAL)
def test_a_place_that_was_named_is_kept_if_it_can_be_written(monkeypatch, home, name):
    others = dict.fromkeys(USUAL, str(home))
    for key, value in others.items():
        monkeypatch.setenv(key, value)
    assert writable_places() == {}
    (home / "file").write_text("")
    for value in (str(home / "file"), "relative/folder"):
        monkeypatch.setenv(name, value)
        assert writable_places().keys() == {name}


@pytest.mark.parametrize(
    ("name", "value"), [("IPYTHONDIR", "~/mine"), *((name, "") for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"))]
)
def test_a_place_in_the_home_or_none_is_as_good_as_the_usual_one(monkeypatch, home, name, value):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv(name, value)
    assert writable_places() == {}


def test_the_places_of_xdg(monkeypatch, home):
    monkeypatch.setattr(sys, "platform", "linux")  # macOS has others
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert writable_places().keys() == {"MPLCONFIGDIR"}
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert writable_places().keys() == {"JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"}


def test_the_place_of_macos(monkeypatch, home):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)  # which matplotlib does not read there
    assert writable_places() == {}
    (home / ".matplotlib").write_text("a file, so that nobody can write there")
    assert writable_places().keys() == {"MPLCONFIGDIR"}


def test_the_folder_is_removed_at_the_end(home, surroundings):
    """Even if it is gone by then, as the second one is, nothing is said."""
    home.rmdir()
    words = (
        "from tools.places import writable_places as w; import os; p = w()['IPYTHONDIR']; os.makedirs(p); print(p);"
        "os.rmdir(os.path.dirname(w()['IPYTHONDIR']))"
    )
    environment = surroundings | {"HOME": str(home)}
    run = subprocess.run([sys.executable, "-c", words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (run.returncode, "Traceback" in run.stderr) == (0, False)
    assert not os.path.exists(os.path.dirname(run.stdout.strip()))


def refuse(home):
    """Make no folder in `home`, as for a user whose it is not; root may do everything, so permissions prove nothing."""
    from tempfile import mkdtemp

    def instead(*words, dir=None, **options):
        if dir is not None and Path(dir).is_relative_to(home):
            raise PermissionError(13, "Permission denied", str(dir))
        return mkdtemp(*words, dir=dir, **options)

    return instead
