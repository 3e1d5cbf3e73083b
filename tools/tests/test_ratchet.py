"""Of the ratchet no line that was ever committed may change; where there is no history nothing can be said."""

import os
import runpy
import subprocess
from types import SimpleNamespace

import pytest

from tools import ratchet


@pytest.fixture
def repository(tmp_path):
    """A repository whose ratchet moved, and got its second line, in a second commit."""
    git(tmp_path, "init", "-q")
    commit(tmp_path, ratchet.BEFORE, "one\n")
    (tmp_path / ratchet.BEFORE).unlink()
    commit(tmp_path, ratchet.RATCHET, "one\ntwo\n")
    return tmp_path


def commit(folder, name, text):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, *AUTHOR, "commit", "-qm", "a")


AUTHOR = ("-c", "user.name=a", "-c", "user.email=a", "-c", "commit.gpgsign=false")


def git(folder, *words):
    """Return what git prints, where no setting of the user's has a say."""
    plain = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(["git", *words], cwd=folder, env=plain, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("text", "differing"),
    [("one\ntwo\n", 0), ("one\ntwo\nthree\n", 0), ("one\n2\n", 1), ("two\n", 2), ("one\n", 1), ("zero\none\ntwo\n", 2)],
)
def test_lines_are_added_never_changed(repository, capsys, text, differing):
    (repository / ratchet.RATCHET).write_text(text)
    assert ratchet.main(repository) == int(differing > 0)
    newest_first = git(repository, "log", "--format=%H").split()
    assert capsys.readouterr() == (
        f"The ratchet was compared with 2 commits, {differing} differ.\n",
        "".join(
            f"{ratchet.RATCHET}: a line that commit {commit[:12]} had was changed or removed; lines are only added\n"
            for commit in newest_first[:differing]
        ),
    )


def test_of_two_branches_the_one_that_was_merged_into_counts(repository, capsys):
    """Both added a line; the other branch's is no beginning of what came out of it."""
    git(repository, "branch", "-M", "ours")
    git(repository, "checkout", "-qb", "theirs")
    commit(repository, ratchet.RATCHET, "one\ntwo\nthree\n")
    git(repository, "checkout", "-q", "ours")
    commit(repository, ratchet.RATCHET, "one\ntwo\n3\n")
    git(repository, *AUTHOR, "merge", "-q", "-s", "ours", "--no-commit", "theirs")
    commit(repository, ratchet.RATCHET, "one\ntwo\n3\nthree\n")
    assert ratchet.main(repository) == 0
    assert capsys.readouterr() == ("The ratchet was compared with 4 commits, 0 differ.\n", "")


@pytest.mark.parametrize("git", ["finds nothing", "is missing"])
def test_without_a_history_it_says_so(tmp_path, capsys, monkeypatch, git):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    if git == "is missing":
        monkeypatch.setenv("PATH", str(tmp_path))
    assert ratchet.main(tmp_path) == 0
    assert capsys.readouterr() == ("There is no history here to compare the ratchet with.\n", "")


def test_git_looks_into_this_folder_whatever_its_variables_name(monkeypatch, tmp_path):
    kept = {"PATH": "where/git/is", "GIT_CEILING_DIRECTORIES": "above"}
    monkeypatch.setattr(ratchet.os, "environ", kept | {"GIT_DIR": "another", "GIT_INDEX_FILE": "another"})
    asked = []
    monkeypatch.setattr(
        ratchet.subprocess, "run", lambda words, **how: asked.append((words, how)) or SimpleNamespace(stdout=b"said")
    )
    assert ratchet.git(tmp_path, "log") == b"said"
    assert asked == [(["git", "log"], {"cwd": tmp_path, "env": kept, "check": True, "capture_output": True})]


def test_the_command_ends_with_the_status_of_the_comparison(monkeypatch):
    """Git says that the one commit had another ratchet."""
    monkeypatch.setattr(ratchet.subprocess, "run", lambda words, **how: SimpleNamespace(stdout=b"0123456789abcdef"))
    with pytest.raises(SystemExit) as end:
        runpy.run_path(ratchet.__file__, run_name="__main__")
    assert end.value.code == 1
