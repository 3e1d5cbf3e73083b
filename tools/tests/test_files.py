import os
import subprocess
import sys
import time
from contextlib import nullcontext

import pytest
from nbclient.exceptions import CellExecutionError

from attnsep.claims import status_line
from tools import files, notebooks
from tools.environment import missing


def test_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a long old text")
    files.write(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_write_keeps_the_old_file_when_it_is_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    monkeypatch.setattr("attnsep.files.os.fsync", lambda handle: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        files.write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_write_removes_what_a_killed_writer_left(tmp_path, surroundings):
    path = tmp_path / "a[1].txt"
    words = [sys.executable, "-c", "import os; print(os.getpid())"]
    dead = subprocess.run(words, env=surroundings, capture_output=True, text=True)
    left = tmp_path / f".a[1].txt.{dead.stdout.strip()}.tmp"
    others = [tmp_path / f".a[1].txt.{os.getppid()}.tmp", tmp_path / ".a[1].txt.note.tmp", tmp_path / ".a1.txt.1.tmp"]
    for other in (left, *others):
        other.write_text("half")
    files.write(path, "new")
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Two old files, and the place where new ones are staged."""
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(files, "STAGE", tmp_path / ".storing")
    found = [tmp_path / name for name in ("a", "b")]
    for path in found:
        path.write_text("old")
    return found


@pytest.mark.parametrize("allowed", range(5))
def test_an_interrupted_store_is_undone_or_completed(tree, monkeypatch, allowed):
    """Writes: two staged files, then the two that they replace; interrupted in front of each of them, or of none."""
    left, real = iter(range(allowed)), files.write
    monkeypatch.setattr(files, "write", lambda *words: real(*words) if next(left, None) is not None else broken_off())
    with pytest.raises(KeyboardInterrupt) if allowed < 4 else nullcontext():
        files.store(dict.fromkeys(tree, "new"))
    monkeypatch.setattr(files, "write", real)
    assert [path.read_text() for path in tree] == [["old", "old"], ["new", "old"], ["new", "new"]][max(0, allowed - 2)]
    assert files.pending() == (2 <= allowed < 4)
    assert files.finish() == []
    assert {path.read_text() for path in tree} == {"old" if allowed < 2 else "new"}
    files.store(dict.fromkeys(tree, "newer"))  # the next run leaves nothing of the one before
    assert sorted(files.ROOT.iterdir()) == tree


@pytest.mark.parametrize("writes", range(1, 5))
def test_a_killed_store_is_undone_or_completed(tree, surroundings, writes):
    """A kill runs nothing more, not even what tidies up; here it comes in the middle of each write."""
    child = f"""
import os
from itertools import count
from pathlib import Path
from tools import files

files.ROOT, files.STAGE, sync, number = Path({str(files.ROOT)!r}), Path({str(files.STAGE)!r}), os.fsync, count(1)
os.fsync = lambda handle: os.kill(os.getpid(), 9) if next(number) == {writes} else sync(handle)
files.store(dict.fromkeys([files.ROOT / "a", files.ROOT / "b"], "new"))
"""
    killed = subprocess.run([sys.executable, "-c", child], env=surroundings, capture_output=True, text=True)
    assert killed.returncode == -9, killed.stderr
    assert {path.read_text() for path in tree} <= {"old", "new"}
    assert files.pending() == (writes > 2)
    assert files.finish() == []
    assert {path.read_text() for path in tree} == {"new" if writes > 2 else "old"}
    files.store(dict.fromkeys(tree, "newer"))
    assert sorted(files.ROOT.iterdir()) == tree


def broken_off():
    raise KeyboardInterrupt


@pytest.mark.parametrize("later", [{}, {"a": "newer"}])
def test_completing_a_store_spares_what_was_edited_since(tree, monkeypatch, later):
    """And says so, be it on its own or in front of the next store."""
    real = files.write
    monkeypatch.setattr(files, "write", lambda path, content: broken_off() if path in tree else real(path, content))
    with pytest.raises(KeyboardInterrupt):
        files.store(dict.fromkeys(tree, "new"))
    monkeypatch.setattr(files, "write", real)
    tree[1].write_text("edited")
    os.utime(tree[1], (moment := time.time() + 1, moment))  # clocks of file systems may be coarse
    assert files.store({files.ROOT / name: text for name, text in later.items()}) == ["b"]
    assert [path.read_text() for path in tree] == [later.get("a", "new"), "edited"]


def test_what_was_staged_before_a_rename_that_never_came_is_not_stored_later(tree, monkeypatch):
    first, second, real = tree[0], files.ROOT / "lib/deep/b", files.write
    second.parent.mkdir(parents=True)
    second.write_text("old")
    monkeypatch.setattr(files, "write", lambda path, content: broken_off() if path.name == "b" else real(path, content))
    with pytest.raises(KeyboardInterrupt):
        files.store({first: "new", second: "new"})
    monkeypatch.setattr(files, "write", real)
    assert files.store({second: "newer"}) == []
    assert (first.read_text(), second.read_text()) == ("old", "newer")


def test_a_file_that_is_not_there_yet_is_stored_beside_one_that_is(tree):
    assert files.store({tree[0]: "new", files.ROOT / "c": "new"}) == []
    assert {path.name: path.read_text() for path in files.ROOT.iterdir()} == {"a": "new", "b": "old", "c": "new"}


@pytest.mark.parametrize("link", ["to the folder", "to the file"])
def test_a_link_leads_to_the_file_that_is_stored(tree, tmp_path_factory, link):
    """The folder of the book under another name, or a file of it that lies outside."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    if link == "to the folder":
        (elsewhere / "book").symlink_to(files.ROOT)
        path = elsewhere / "book/a"
    else:
        (path := tree[0]).rename(elsewhere / "a")
        path.symlink_to(elsewhere / "a")
    assert files.store({path: "new", tree[1]: "new"}) == []
    assert [found.read_text() for found in tree] == ["new", "new"]


def test_a_file_of_the_same_moment_as_the_staged_one_is_completed(tree):
    """Clocks of file systems may be coarse: only what is newer was edited since."""
    files.STAGE.mkdir()
    for name, after in (("a", 0), ("b", 1)):
        (files.STAGE / name).write_text("new")
        os.utime(files.STAGE / name, ns=(10**18, 10**18))
        os.utime(files.ROOT / name, ns=(10**18, 10**18 + after * 10**9))
    assert files.finish() == ["b"]
    assert [path.read_text() for path in tree] == ["new", "old"]


def test_no_store_is_left_half_done():
    assert not files.pending(), files.PENDING


def test_readme_shows_the_status_of_the_record(nothing_set):
    readme = (files.ROOT / "README.md").read_text(encoding="utf-8")
    assert notebooks.with_status(readme, status_line()) == readme


def test_readme_without_markers_is_refused():
    with pytest.raises(ValueError, match=r"README\.md: must have the markers"):
        notebooks.with_status("no markers", "status")


def test_nothing_is_stored_when_a_claim_is_not_as_expected(monkeypatch, capsys):
    class Wrong:
        as_expected, line = False, "refuted"

        class claim:
            id = "a-claim"

    monkeypatch.setattr(notebooks, "verify", lambda **options: [Wrong])
    monkeypatch.setattr(notebooks, "store", lambda *_: pytest.fail("wrote"))
    assert notebooks.main() == 1
    assert "nothing was stored" in capsys.readouterr().err


def test_nothing_is_stored_when_a_cell_fails(monkeypatch, capsys):
    def failing(path):
        raise CellExecutionError("traceback", "NameError", "x")

    monkeypatch.setattr(notebooks, "verify", lambda **options: [])
    monkeypatch.setattr(notebooks, "executed", failing)
    monkeypatch.setattr(notebooks, "ratchet_with", lambda record, reasons: ("", []))
    monkeypatch.setattr(notebooks, "store", lambda *_: pytest.fail("wrote"))
    monkeypatch.setenv("ATTNSEP_RECORD", "unused")
    assert notebooks.main() == 1
    assert "nothing was stored" in capsys.readouterr().err


def test_an_unknown_chapter_is_named(capsys):
    names = ", ".join(sorted(path.stem for path in files.CHAPTERS.glob("*.ipynb")))
    assert notebooks.main("no-such-chapter") == 2
    assert capsys.readouterr() == ("", f"CHAPTER=no-such-chapter: must be one of {names}\n")


def test_an_old_python_gets_one_sentence(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 8, 1))
    assert missing().startswith("This project needs Python 3.11 or newer, but ")
    assert "\n" not in missing()


def test_this_python_is_good_enough():
    assert missing() is None


@pytest.mark.parametrize("chapter", notebooks.PICTURES)
def test_readme_shows_the_figure_of_the_chapter(chapter):
    name = notebooks.PICTURES[chapter]
    found = notebooks.picture((files.CHAPTERS / f"{chapter}.ipynb").read_text(encoding="utf-8"), name)
    assert found.startswith(b"\x89PNG")
    assert (files.ROOT / "assets" / f"{chapter}.png").read_bytes() == found
    assert f"(assets/{chapter}.png)" in (files.ROOT / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="name = 'fig-none': no figure"):
        notebooks.picture((files.CHAPTERS / f"{chapter}.ipynb").read_text(encoding="utf-8"), "fig-none")
