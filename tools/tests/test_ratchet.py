"""Of the ratchet no line that was ever committed may change; where there is no history nothing can be said."""

import os
import subprocess

import pytest

from tools import ratchet


@pytest.fixture
def repository(tmp_path):
    """A repository whose ratchet got its second line in a second commit."""
    path = tmp_path / ratchet.RATCHET
    path.parent.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    for text in ("one\n", "one\ntwo\n"):
        path.write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "-c", "user.name=a", "-c", "user.email=a", "-c", "commit.gpgsign=false", "commit", "-qm", "a")
    return tmp_path


def git(folder, *words):
    plain = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    subprocess.run(["git", *words], cwd=folder, env=plain, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("text", "differing"),
    [("one\ntwo\n", 0), ("one\ntwo\nthree\n", 0), ("one\n2\n", 1), ("two\n", 2), ("one\n", 1), ("zero\none\ntwo\n", 2)],
)
def test_lines_are_added_never_changed(repository, capsys, text, differing):
    (repository / ratchet.RATCHET).write_text(text)
    assert ratchet.main(repository) == int(differing > 0)
    assert capsys.readouterr().out == f"The ratchet was compared with 2 commits, {differing} differ.\n"


def test_without_a_history_it_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert ratchet.main(tmp_path) == 0
    assert "no history" in capsys.readouterr().out
