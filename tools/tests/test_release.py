"""A release is made whole, or refused in one sentence with everything as it was."""

import subprocess
import zipfile
from datetime import UTC, datetime

import pytest
import yaml

from tools import files, release

CHANGELOG = """# What changed

## 1.5, not released yet

- A verb.

## 1.4.2, 2026-01-31

- A chapter.
"""
NOTHING_NEW = "## 2.0, not released yet\n\n## 1.5, 2026-02-01\n\n- A verb.\n\n## 1.4, 2026-01-31\n"
BEFORE = {
    "pyproject.toml": '[project]\nname = "attnsep"\nversion = "1.5"\n\n[tool.x]\ntarget-version = "py311"\n',
    "lib/attnsep/__init__.py": '"""The library."""\n\n__version__ = "1.5"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.5\nlicense: MIT\n",
    "CHANGELOG.md": CHANGELOG,
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository with the files that name the version, and a book that builds at once."""
    for name, text in BEFORE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".gitignore").write_text("dist/\n")
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "a@b")
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.delenv("GIT_DIR", raising=False)
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(files, "STAGE", tmp_path / ".storing")
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "build", built)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "all")):
        release.git(*words)
    return tmp_path


def built(folder, name):
    folder.mkdir(exist_ok=True)
    for ending in ("pdf", "zip"):
        (folder / f"{name}.{ending}").touch()


def texts(tree):
    return {name: (tree / name).read_text() for name in BEFORE}


def test_a_release_is_in_all_files_and_has_a_tag(tree, capsys):
    assert release.main(["2.0"]) == 0
    found, day = texts(tree), release.datetime.now(release.UTC).date()
    assert found["pyproject.toml"] == BEFORE["pyproject.toml"].replace("1.5", "2.0")
    assert found["lib/attnsep/__init__.py"].endswith('__version__ = "2.0"\n')
    citation = yaml.safe_load(found["CITATION.cff"])
    assert citation == {"cff-version": "1.2.0", "version": "2.0", "date-released": day, "license": "MIT"}
    assert found["CHANGELOG.md"] == CHANGELOG.replace("1.5, not released yet", f"2.0, {day}")
    assert release.git("tag", "--list").split() == ["v2.0"]
    assert release.git("status", "--porcelain") == ""
    assert release.git("show", "--format=%s", "--name-only", "v2.0^{commit}").split() == [
        "Release",
        "2.0",
        *sorted(BEFORE),
    ]
    assert sorted(path.name for path in (tree / "dist").iterdir()) == ["attnsep-2.0.pdf", "attnsep-2.0.zip"]
    assert "tag v2.0: git push --follow-tags" in capsys.readouterr().out


def test_the_next_release_needs_an_entry_and_writes_over_the_day(tree, capsys):
    assert release.main(["2.0"]) == 0
    assert release.main(["2.1"]) == 2
    assert "CHANGELOG.md: has no entry for it" in capsys.readouterr().err
    path = tree / "CHANGELOG.md"
    path.write_text(
        path.read_text().replace("# What changed\n", "# What changed\n\n## 2.1, not released yet\n\n- New.\n")
    )
    release.git("commit", "--all", "--message", "new")
    assert release.main(["2.1"]) == 0
    assert (tree / "CITATION.cff").read_text().count("date-released: ") == 1


def test_a_dry_run_leaves_files_and_history(tree, capsys):
    commits = release.git("log", "--format=%H")
    assert release.main(["2.0", "--dry-run"]) == 0
    assert texts(tree) == BEFORE
    assert (release.git("tag"), release.git("status", "--porcelain"), release.git("log", "--format=%H")) == (
        "",
        "",
        commits,
    )
    assert sorted(path.name for path in (tree / "dist").iterdir()) == ["attnsep-2.0.pdf", "attnsep-2.0.zip"]
    assert "a dry run, so there is no tag" in capsys.readouterr().out


def test_a_book_that_does_not_build_is_not_released(tree, monkeypatch, capsys):
    def fails(folder, name):
        raise subprocess.CalledProcessError(1, "tools.steps book")

    monkeypatch.setattr(release, "build", fails)
    assert release.main(["2.0"]) == 1
    assert texts(tree) == BEFORE
    assert (release.git("tag"), release.git("status", "--porcelain")) == ("", "")
    assert "nothing was released: Command 'tools.steps book'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "found", "sentence"),
    [
        ({"version": "two"}, "", "VERSION=two: must be numbers joined by dots, like 2.0"),
        ({"version": ""}, "", "VERSION=: must be numbers"),
        ({"version": "1.4.2"}, "", "VERSION=1.4.2: must be above 1.4.2, the last release"),
        ({"tags": ["v2.0.0", "other"]}, "", "VERSION=2.0: must be above 2.0.0, the last release"),
        ({"version": "2.0.0", "tags": ["v2.0"]}, "", "VERSION=2.0.0: must be above 2.0, the last release"),
        ({"version": "1.10", "tags": ["v1.9"]}, "", None),
        ({"tags": ["v9.0-rc1"]}, "", None),  # no release
        ({"version": "1.9.5", "tags": ["v1.9", "v1.10"]}, "", "VERSION=1.9.5: must be above 1.10, the last release"),
        ({"version": "1.5"}, ", not released yet", "VERSION=1.5: must be above 1.5, the last release"),
        ({"version": "1.4.3"}, "", "VERSION=1.4.3: must be at least 1.5, which CHANGELOG.md names"),
        ({"version": "1.5"}, "", None),
        (
            {"changes": " M README.md\n?? x\n"},
            "",
            "the tree is not clean (M README.md, say): commit or remove it first",
        ),
        ({}, "- A verb.", 'CHANGELOG.md: has no entry for it, under a heading "## 2.0, not released yet"'),
        ({}, ", not released yet", "CHANGELOG.md: has no entry"),
        ({"changelog": NOTHING_NEW}, "", "CHANGELOG.md: has no entry"),
    ],
)
def test_what_is_refused(asked, found, sentence):
    asked = {"version": "2.0", "changelog": CHANGELOG.replace(found, "", 1), "changes": "", "tags": []} | asked
    said = release.refusal(**asked) or "not refused"
    assert said.startswith(sentence or "not refused")


def test_a_full_disk_leaves_all_files_as_they_were(tree, monkeypatch):
    def full(contents):
        path, text = next(iter(contents.items()))
        path.write_text(text)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release, "store", full)
    with pytest.raises(OSError, match="No space left"):
        release.main(["2.0"])
    assert texts(tree) == BEFORE


def test_the_day_of_a_release_is_the_same_wherever_it_is_made(tree, monkeypatch):
    class Clock(datetime):
        @classmethod
        def now(cls, zone=None):
            return cls(2030, 1, 2, tzinfo=zone) if zone is UTC else cls(2030, 1, 1)

    monkeypatch.setattr(release, "datetime", Clock)
    monkeypatch.setattr(release, "rewritten", lambda version, day: pytest.fail(day))
    with pytest.raises(pytest.fail.Exception, match=r"^2030-01-02$"):
        release.main(["2.0", "--dry-run"])


def test_a_tree_that_is_not_clean_stays_as_it_is(tree, capsys):
    (tree / "new").touch()
    assert release.main(["2.0"]) == 2
    assert capsys.readouterr().err == "make release: the tree is not clean (?? new, say): commit or remove it first\n"
    assert texts(tree) == BEFORE


def test_a_file_that_names_no_version_stops_the_release(tree):
    (tree / "CITATION.cff").write_text("license: MIT\n")
    with pytest.raises(ValueError, match=r"CITATION\.cff: must name the version once"):
        release.rewritten("2.0", "2026-01-31")


def test_this_books_own_files_name_the_version_once():
    """But for the changelog's newest heading, which a release has settled."""
    for name, (old, _) in release.PLACES.items():
        if name != "CHANGELOG.md":
            text = (files.ROOT / name).read_text(encoding="utf-8")
            assert len(release.re.findall(old, text, release.re.MULTILINE)) == 1


def test_a_release_whose_tag_fails_leaves_no_commit(tree, monkeypatch, capsys):
    before, real = release.git("rev-parse", "HEAD"), release.git

    def git(*words):
        if words[:2] == ("tag", "--annotate"):  # of somebody who signs tags and has lost the key, say
            raise subprocess.CalledProcessError(128, ["git", *words], stderr="error: gpg failed to sign the tag\n")
        return real(*words)

    monkeypatch.setattr(release, "git", git)
    assert release.main(["2.0"]) == 1
    assert texts(tree) == BEFORE
    assert (real("rev-parse", "HEAD"), real("status", "--porcelain"), real("tag")) == (before, "", "")
    assert capsys.readouterr() == ("", "make release: nothing was released: error: gpg failed to sign the tag\n")


def test_the_book_is_built_printed_and_packed(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setattr(release, "PAGES", tmp_path / "html")
    monkeypatch.setattr(release.subprocess, "run", lambda command, cwd, check: ran.append((command, cwd, check)))
    monkeypatch.setattr(release, "pack", lambda pages, target: ran.append((pages, target)))
    for _ in range(2):  # the folder may be there
        release.build(tmp_path / "dist", "attnsep-2.0")
    python, pages = [release.sys.executable, "-m"], tmp_path / "html"
    assert (
        ran[3:]
        == ran[:3]
        == [
            ([*python, "tools.steps", "book"], files.ROOT, True),
            ([*python, "tools.pdf", pages, tmp_path / "dist/attnsep-2.0.pdf"], files.ROOT, True),
            (pages, tmp_path / "dist/attnsep-2.0.zip"),
        ]
    )
    assert (tmp_path / "dist").is_dir()


def test_the_zip_has_one_folder(tmp_path):
    (tmp_path / "html/a").mkdir(parents=True)
    (tmp_path / "html/a/page.html").write_text("a page")
    release.pack(tmp_path / "html", tmp_path / "attnsep-2.0.zip")
    with zipfile.ZipFile(tmp_path / "attnsep-2.0.zip") as archive:
        assert archive.namelist() == ["attnsep-2.0/a/page.html"]


def test_a_zip_of_the_same_pages_has_them_in_the_same_order(tmp_path):
    names = [f"{letter}.html" for letter in "gbkdfaicehjl"]
    (tmp_path / "html").mkdir()
    for name in names:
        (tmp_path / "html" / name).touch()
    release.pack(tmp_path / "html", tmp_path / "book.zip")
    with zipfile.ZipFile(tmp_path / "book.zip") as archive:
        assert archive.namelist() == [f"book/{name}" for name in sorted(names)]
