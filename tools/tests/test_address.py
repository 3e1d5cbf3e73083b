"""One verb writes the public address wherever it belongs; until then there is none, in any file or on any page."""

import os
import runpy
import shutil
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from attnsep.checks import text_of
from tools import address, files
from tools.address import CHAPTER, FILES, launch_source, rewritten
from tools.files import CHAPTERS, ROOT
from tools.sphinx_buttons import buttons

GITHUB, OTHER = "https://github.com/somebody/some-book", "https://git.example.org/some.body/a_book"


def tree(folder, url=None, chapters=("one", "two")):
    """Make a small tree with all places of the address: the real files, chapters of one heading and a first cell."""
    (folder / "chapters").mkdir(parents=True)
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    first = nbformat.v4.new_code_cell(id="launch", execution_count=1, metadata={"tags": ["remove-cell"]})
    cells = [nbformat.v4.new_markdown_cell("# Ein Büchlein", id="text"), first]
    for name in chapters:
        nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "chapters" / f"{name}.ipynb")
    for path, text in rewritten(url, folder).items():
        path.write_text(text, encoding="utf-8")
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A small tree without an address, which the verb takes for the book."""
    folder = tree(tmp_path / "mein [B]üch (1)")
    monkeypatch.setattr(files, "ROOT", folder)
    monkeypatch.setattr(files, "STAGE", folder / ".storing")
    monkeypatch.setattr(address, "rewritten", lambda url: rewritten(url, folder))
    return folder


# The tree itself


def test_all_places_hold_the_address_of_the_configuration():
    texts = rewritten(address.address())
    assert {ROOT / name for name in FILES} | set(CHAPTERS.glob("*.ipynb")) == set(texts)
    assert [path for path, text in texts.items() if path.read_text(encoding="utf-8") != text] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "url", [None, GITHUB, "https://code.university.example.org/" + "long-" * 9 + "/" + "long_" * 9]
)
def test_the_real_files_with_any_address_and_without(url):
    changed = rewritten(url)
    for path, text in changed.items():
        _, read, _ = FILES.get(path.name, CHAPTER)
        assert read(text) == url
    (first,) = {next(c for c in nbformat.reads(t, 4).cells if c.cell_type == "code").source for t in notebooks(changed)}
    assert first == launch_source(url)
    for command in (["check", "--select=E,W"], ["format", "--diff"]):
        options = ["--isolated", "--line-length=80", "--stdin-filename=cell.py", "-"]  # as chapters/ruff.toml has it
        lint = subprocess.run([sys.executable, "-m", "ruff", *command, *options], input=first + "\n", text=True)
        assert lint.returncode == 0


def notebooks(texts):
    return [text for path, text in texts.items() if path.suffix == ".ipynb"]


def test_only_the_first_cell_of_a_chapter_changes():
    path = CHAPTERS / "index.ipynb"
    before, after = (nbformat.reads(rewritten(url)[path], as_version=4) for url in (None, GITHUB))
    (changed,) = [cell.id for cell, new in zip(before.cells, after.cells, strict=True) if cell != new]
    assert changed == "launch"
    assert before.metadata == after.metadata


# The verb


def test_it_appears_everywhere_is_replaced_and_stays(place, capsys):
    without = contents(place)
    assert address.main(GITHUB) == 0
    assert capsys.readouterr().out == (
        f"{GITHUB} stands in 5 files: _config.yml, CITATION.cff, pyproject.toml and the first cells of 2 chapters.\n"
    )
    with_one = contents(place)
    assert with_one.keys() == without.keys()
    assert all(GITHUB.encode() in text for text in with_one.values())
    times = [path.stat().st_mtime_ns for path in with_one]
    assert address.main(GITHUB) == 0
    assert contents(place) == with_one
    assert [path.stat().st_mtime_ns for path in with_one] == times  # nothing was written
    assert address.main(OTHER) == 0
    assert all(OTHER.encode() in text and b"github.com" not in text for text in contents(place).values() if text)
    for path, text in rewritten(None, place).items():
        path.write_text(text, encoding="utf-8")
    assert contents(place) == without


@pytest.mark.slow
@pytest.mark.parametrize(
    "url",
    [
        *["", "example.org/a/b", "http://example.org/a/b", "https://example.org/a", "https://example.org/a/b/c"],
        *["https:///a/b", "https://example.org/a/..", "https://example.org/./b", "https://example.org/a/b c"],
        *["https://example.org/a/b?c", "https://me@example.org/a/b", 'https://example.org/a/b"', "https://ex.org/ä/b"],
        *["https://example/a/b", "https://-/a/b", "https://./a/b", "https://example..org/a/b", "https://.org/a/b"],
        *["https://example.org./a/b", "https://-a.org/a/b", "https://a-.org/a/b", "https://a.org-/a/b"],
        *["https://a_b.org/a/b", "https://exämple.org/a/b", "https://127.0.0.1/a/b", "https://example.org:8/a/b"],
        *[f"https://{'a' * 64}.org/a/b", f"https://{'a.' * 126}org/a/b", OTHER + ".GIT", OTHER + ".Git"],
        *[OTHER + ".git", OTHER + "/", OTHER + "\n", "git@github.com:a/b"],
    ],
)
def test_what_is_no_address_is_refused(place, url, capsys):
    before = contents(place)
    assert address.main(url) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"URL = {text_of(url)}: must be https://host/owner/repository")
    assert said.count("\n") == 1
    assert contents(place) == before


@pytest.mark.parametrize("host", ["a.b", "xn--bcher-kva.example", "1-a.2.Example.ORG", "a" * 63 + ".org"])
def test_every_host_name_is_taken(place, host):
    assert address.main(f"https://{host}/git/a.git.b") == 0


def test_a_long_address_is_shown_in_short(place, capsys):
    assert address.main("https://example.org/" + "a" * 10_000) == 2
    assert len(capsys.readouterr().err) < 300


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_is_a_usage_line(place, word, capsys):
    before = contents(place)
    assert address.main(word) == 0
    captured = capsys.readouterr()
    assert captured.out == "usage: python -m tools.address https://host/owner/repository\n"
    assert captured.err == ""
    assert contents(place) == before


def without(text):
    return lambda path: path.write_text(path.read_text(encoding="utf-8").replace(text, ""), encoding="utf-8")


def nowhere(path):
    path.unlink()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        *[(name, nowhere, f"{name}: cannot be read (No such file") for name in FILES],
        ("_config.yml", without("  url:"), "_config.yml: must have url: in a line of its own"),
        ("_config.yml", without("repository:\n"), "_config.yml: must have url:"),
        ("_config.yml", lambda path: path.write_text("", encoding="utf-8"), "_config.yml: must have url:"),
        ("CITATION.cff", without("license:"), "CITATION.cff: must have license:"),
        ("CITATION.cff", lambda path: path.write_bytes(b"\xff"), "CITATION.cff: must have license:"),
        ("pyproject.toml", without("[project.scripts]"), "pyproject.toml: must have [project.scripts]"),
        ("pyproject.toml", without("]"), "pyproject.toml: must have [project.scripts]"),
        ("chapters/one.ipynb", without('"launch"'), "chapters/one.ipynb: must have the first cell"),
        ("chapters/one.ipynb", without("launch"), "chapters/one.ipynb: must have the first cell"),
        ("chapters/one.ipynb", without('"code"'), "chapters/one.ipynb: must have the first cell"),
        ("chapters", shutil.rmtree, "chapters: there is no notebook"),
    ],
)
def test_a_place_that_is_missing_is_named_and_nothing_is_stored(place, name, change, message, capsys):
    change(place / name)
    before = contents(place)
    assert address.main(GITHUB) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.endswith("The address was not stored.\n")
    assert contents(place) == before


def test_every_place_that_is_missing_is_named_in_one_run(place, capsys):
    for name in FILES:
        (place / name).unlink()
    assert address.main(GITHUB) == 2
    *places, last = capsys.readouterr().err.splitlines()
    assert [sentence.partition(":")[0] for sentence in places] == [*FILES]
    assert last == "The address was not stored."


def test_the_letters_of_a_chapter_stay_as_a_person_reads_them(place):
    assert address.main(GITHUB) == 0
    assert "# Ein Büchlein" in (place / "chapters/one.ipynb").read_text(
        encoding="utf-8"
    )  # and not as Ein B\u00fcchlein


def test_other_links_of_the_package_are_not_overwritten(place, capsys):
    path = place / "pyproject.toml"
    table = '[project.urls]\ndocs = "https://example.org"\n\n[project.scripts]'
    path.write_text(path.read_text(encoding="utf-8").replace("[project.scripts]", table), encoding="utf-8")
    before = contents(place)
    assert address.main(GITHUB) == 2
    assert "nothing in [project.urls] but source" in capsys.readouterr().err
    assert contents(place) == before


def test_a_disk_that_cannot_be_written_is_one_sentence(place, monkeypatch, capsys):
    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "write", full)
    before = contents(place)
    assert address.main(GITHUB) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert contents(place) == before


def test_a_file_that_was_changed_in_between_is_named_and_the_others_are_stored(place, monkeypatch, capsys):
    monkeypatch.setattr(address, "finish", lambda: ["README.md"])
    monkeypatch.setattr(address, "store", lambda texts: ["CITATION.cff"] if texts == rewritten(GITHUB, place) else [])
    assert address.main(GITHUB) == 2
    out, err = capsys.readouterr()
    left = "changed since the run that was to replace it, so it was left alone"
    assert err.splitlines() == [f"README.md: {left}", f"CITATION.cff: {left}"]
    assert out.startswith(f"{GITHUB} stands in 5 files: ")


@pytest.mark.parametrize(
    ("words", "half_done", "status", "said"),
    [
        (["-h"], False, 0, (f"{address.USAGE}\n", "")),
        ([GITHUB], False, 130, ("", "Interrupted: all files hold one address.\n")),
        ([GITHUB], True, 130, ("", f"Interrupted: {files.PENDING}.\n")),
    ],
)
def test_as_a_program_it_says_after_ctrl_c_what_is_stored(monkeypatch, capsys, words, half_done, status, said):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "finish", interrupted)
    monkeypatch.setattr(files, "pending", lambda: half_done)
    monkeypatch.setattr(sys, "argv", ["address.py", *words])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(address.__file__, run_name="__main__")
    assert (ended.value.code, capsys.readouterr()) == (status, said)


# The first cell


def opened(cell, folder, monkeypatch):
    """Run a first cell where attnsep is missing; return the error."""
    monkeypatch.setitem(sys.modules, "attnsep", None)
    monkeypatch.chdir(folder)
    with pytest.raises(ImportError) as raised:
        exec(cell, {})
    return str(raised.value)


@pytest.mark.parametrize("where", [".", "chapters", "_build/lab", "_build/lab/deeper"])
def test_without_an_address_the_first_cell_installs_from_the_folder_that_it_is_in(tmp_path, monkeypatch, where):
    book = tmp_path / "mein [B]üch (1)"
    (book / "lib/attnsep").mkdir(parents=True)
    (book / where).mkdir(parents=True, exist_ok=True)
    said = opened(launch_source(None), book / where, monkeypatch)
    assert said.startswith("attnsep is missing. ")
    assert f'%pip install "{book}[notebooks]"' in said


def test_a_lone_chapter_says_what_it_needs(tmp_path, monkeypatch):
    said = opened(launch_source(None), tmp_path, monkeypatch)
    assert "the folder of the book that this chapter came from (on Colab, upload that folder first)" in said
    assert '%pip install "FOLDER[notebooks]"' in said


def test_with_an_address_the_first_cell_installs_on_colab_and_says_what_to_type_elsewhere(tmp_path, monkeypatch):
    command = f'install -q "attnsep[notebooks] @ git+{GITHUB}"'
    assert f"attnsep is missing: pip {command}" in opened(launch_source(GITHUB), tmp_path, monkeypatch)
    asked = []
    shell = SimpleNamespace(run_line_magic=lambda *words: asked.append(words))
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())
    exec(launch_source(GITHUB), {"get_ipython": lambda: shell})
    assert asked == [("pip", command)]


@pytest.mark.parametrize("url", [None, GITHUB])
def test_where_the_library_is_the_first_cell_does_nothing(url, capsys):
    exec(launch_source(url), {})
    assert capsys.readouterr() == ("", "")


# Both states, as a reader meets them


def environment(folder):
    """Return the variables of a child that runs the tree in `folder`, and none that could change what it does."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"PYTHONPATH": f"{folder}{os.pathsep}{folder / 'lib'}", "HOME": str(folder), "PYTHONUTF8": "1"}


def run(folder, *words):
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment(folder), capture_output=True, text=True, encoding="utf-8"
    )


def links(folder):
    """Build the small book and return the addresses that its page's buttons lead to, and the icons they show."""
    build = "from jupyter_book.cli.main import main; main()"
    built = run(folder, "-c", build, "build", "-q", "-n", "-W", "--keep-going", ".")
    assert built.returncode == 0, built.stderr
    page = BeautifulSoup((folder / "_build/html/chapters/one.html").read_text(encoding="utf-8"), "html.parser")
    found = page.select(".header-article-items a[href^=http], .article-header-buttons a[href^=http]")
    icons = {name for icon in page.select(".article-header-buttons i.fab") for name in icon["class"]}
    return {element["href"].partition("?")[0] for element in found}, icons - {"fab"}


@pytest.mark.slow
def test_both_states_end_to_end(tmp_path):
    """In a folder with an odd name and without .git: the verb, and the pages before and after it."""
    folder = tree(tmp_path / "mein [B]üch (1)", chapters=["one"])
    for name in ("assets", "tools", "lib"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "references.bib", folder)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: chapters/one\n")
    assert links(folder) == (set(), set())
    written = run(folder, "-m", "tools.address", GITHUB)
    assert (written.returncode, written.stderr) == (0, "")
    assert f"{GITHUB} stands in 4 files" in written.stdout
    assert links(folder) == (
        {
            GITHUB,
            f"{GITHUB}/issues/new",
            "https://colab.research.google.com/github/somebody/some-book/blob/main/chapters/one.ipynb",
            "https://mybinder.org/v2/gh/somebody/some-book/main",
        },
        {"fa-github"},
    )
    refused = run(folder, "-m", "tools.address", "https://example.org")
    assert (refused.returncode, refused.stdout) == (2, "")


CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("url", "services", "issues"),
    [
        ("", set(), None),
        (None, set(), None),
        (GITHUB, {"binderhub_url", "colab_url"}, True),
        ("https://gitlab.com/a/b", {"binderhub_url"}, True),
        ("https://bitbucket.org/a/b", {"binderhub_url"}, False),
        ("https://github.example.org/a/b", {"binderhub_url"}, True),  # Colab would look on github.com
        (OTHER, {"binderhub_url"}, False),
    ],
)
def test_a_page_has_the_buttons_that_lead_somewhere(url, services, issues):
    found = buttons({"repository_url": url, "launch_buttons": CONFIG["launch_buttons"]})
    assert found["launch_buttons"].keys() - {"notebook_interface"} == services
    assert found.get("use_issues_button") is issues
    assert found.get("use_repository_button") is (True if url else None)
    assert found.get("repository_provider") in (None, "github", "gitlab", "bitbucket")
