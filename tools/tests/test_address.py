"""One verb writes the public address, and misses no file that names it."""

import subprocess

import pytest

from tools import address
from tools.files import CHAPTERS, ROOT
from tools.notebooks import LAUNCH
from tools.notebooks import address as current

NEW = "https://git.example.org/somebody/some-book"


def test_every_file_that_names_the_address_gets_the_new_one():
    texts = address.rewritten(current(), NEW)
    assert {ROOT / "_config.yml", ROOT / "pyproject.toml", ROOT / "CITATION.cff", *CHAPTERS.glob("*.ipynb")} <= set(
        texts
    )
    assert [path for path, text in texts.items() if current() in text or NEW not in text] == []
    assert f"  url: {NEW}\n" in texts[ROOT / "_config.yml"]
    cell = LAUNCH.format(address=NEW).replace('"', '\\"').splitlines()
    for path in CHAPTERS.glob("*.ipynb"):
        assert all(line in texts[path] for line in cell)


def test_only_files_that_git_knows_are_rewritten(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "known.md").write_text("at https://old.example.org/a/b and https://old.example.org/a/b.")
    (tmp_path / "unknown.md").write_text("https://old.example.org/a/b")
    subprocess.run(["git", "add", "known.md"], cwd=tmp_path, check=True)
    found = address.rewritten("https://old.example.org/a/b", NEW, tmp_path)
    assert found == {tmp_path / "known.md": f"at {NEW} and {NEW}."}


@pytest.mark.parametrize(
    "url", ["", "example.org/a/b", "http://example.org/a/b", "https://example.org/a", NEW + ".git", NEW + "/"]
)
def test_what_is_no_address_is_refused(url, capsys, monkeypatch):
    monkeypatch.setattr(address, "store", lambda texts: pytest.fail("wrote"))
    assert address.main(url) == 2
    assert f"URL={url}: must be https://host/owner/repository" in capsys.readouterr().err


def test_the_address_is_stored_with_all_files_at_once(capsys, monkeypatch):
    stored = []
    monkeypatch.setattr(address, "store", lambda texts: stored.append(texts) or [])
    assert address.main(NEW) == 0
    assert stored == [address.rewritten(current(), NEW)]
    assert f"{NEW} stands in {len(stored[0])} files." in capsys.readouterr().out
