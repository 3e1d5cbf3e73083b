"""Write the repository's public address wherever it belongs: python -m tools.address https://host/owner/name

_config.yml holds it, as repository.url.  The citation, the package's metadata and the chapters' first cells repeat it,
and the pages' buttons are made from it while the book is built (tools/sphinx_buttons.py).  Until one is written there
is none: nothing may link to, or install from, a repository that somebody else could own.
"""

import json
import re
import sys
import tomllib

import yaml

from attnsep.checks import text_of
from tools.files import PENDING, ROOT, finish, pending, store

USAGE = "usage: python -m tools.address https://host/owner/repository"
LABEL = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
HOST = rf"(?=[^/]{{1,253}}/)({LABEL}\.)+(?=[A-Za-z]){LABEL}"  # the last label begins with a letter: no IP address
PUBLIC = re.compile(rf"https://{HOST}(/(?!\.+(/|$))[A-Za-z0-9_.-]+){{2}}(?<!(?i:\.git))")
ON_COLAB = """\
try:
    import attnsep  # noqa: F401
except ImportError as error:
    import sys

    command = 'install -q "attnsep[notebooks] @ git+{address}"'
    if "google.colab" not in sys.modules:
        raise ImportError(f"attnsep is missing: pip {{command}}") from error
    get_ipython().run_line_magic("pip", command)"""
FROM_FOLDER = """\
try:
    import attnsep  # noqa: F401
except ImportError as error:
    from pathlib import Path

    places = [Path.cwd(), *Path.cwd().parents]
    found = [place for place in places if (place / "lib/attnsep").is_dir()]
    raise ImportError(
        "attnsep is missing. It lies in the folder of the book that this "
        "chapter came from (on Colab, upload that folder first): in a new "
        f'cell, run %pip install "{found[0] if found else "FOLDER"}[notebooks]"'
    ) from error"""


def address(root=ROOT):
    """Return the repository's public address, or None until there is one."""
    return _read_config((root / "_config.yml").read_text(encoding="utf-8"))


def launch_source(url):
    """Return the first cell of every chapter, for readers who open it where attnsep is missing.

    Examples
    --------
    >>> "attnsep[notebooks] @ git+https://example.org/a/b" in launch_source("https://example.org/a/b")
    True
    >>> "://" in launch_source(None)
    False
    """
    return ON_COLAB.format(address=url) if url else FROM_FOLDER


def rewritten(url, root=ROOT):
    """Return {path: text} of all files that hold the address, with this one, or without any where it is None.

    Raises
    ------
    ValueError
        With one sentence for each place that is missing, or that is not as this module leaves it.
    """
    chapters = sorted((root / "chapters").glob("*.ipynb"))
    wrong = [] if chapters else ["chapters: there is no notebook, whose first cell must hold the address"]
    texts = {}
    for path in [*(root / name for name in FILES), *chapters]:
        write, read, place = FILES.get(path.name, CHAPTER)
        name = path.relative_to(root).as_posix()
        try:
            texts[path] = write(path.read_text(encoding="utf-8"), url)
            if read(texts[path]) != (url or None):
                raise ValueError("it cannot be read again")
        except OSError as error:
            wrong.append(f"{name}: cannot be read ({error.strerror})")
        except (ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError):
            wrong.append(f"{name}: must have {place}")
    if wrong:
        raise ValueError("\n".join(wrong))
    return texts


def _write_config(text, url):
    value = url or '""'
    return _with_one(r"^(repository:\n(?:  .*\n)*?  url:).*$", rf"\1 {value}", text)


def _read_config(text):
    return yaml.safe_load(text)["repository"]["url"] or None


def _write_citation(text, url):
    line = f"repository-code: {url}\n" if url else ""
    return _with_one(r"^(license:.*\n)(?:repository-code:.*\n)?", rf"\1{line}", text)


def _read_citation(text):
    return yaml.safe_load(text).get("repository-code")


def _write_project(text, url):
    table = f'[project.urls]\nsource = "{url}"\n\n' if url else ""
    return _with_one(r"^(?:\[project\.urls\]\nsource = .*\n\n)?(\[project\.scripts\]\n)", rf"{table}\1", text)


def _read_project(text):
    return tomllib.loads(text)["project"].get("urls", {}).get("source")


def _with_one(pattern, replacement, text):
    new, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{pattern}: {count} places, must be one")
    return new


def _write_chapter(text, url):
    notebook = json.loads(text)
    cell = _launch_cell(notebook)
    if "".join(cell["source"]) == launch_source(url):
        return text
    cell["source"] = launch_source(url).splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _read_chapter(text):
    found = re.search(r"git\+(https://[^\"]+)", "".join(_launch_cell(json.loads(text))["source"]))
    return found and found[1]


def _launch_cell(notebook):
    first, *_ = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    if first["id"] != "launch":
        raise LookupError("another cell comes first")
    return first


# What holds the address: how to write it, how to read it, and what must be there.
FILES = {
    "_config.yml": (_write_config, _read_config, "url: in a line of its own under repository:"),
    "CITATION.cff": (_write_citation, _read_citation, "license: in one line, and the address nowhere but below it"),
    "pyproject.toml": (
        _write_project,
        _read_project,
        "[project.scripts], and above it nothing in [project.urls] but source",
    ),
}
CHAPTER = (_write_chapter, _read_chapter, "the first cell that `make notebooks` writes")


def main(*words):
    """Write it; return the exit status."""
    if words in (("--help",), ("-h",)):
        print(USAGE)
        return 0
    url = " ".join(words)
    if not PUBLIC.fullmatch(url):
        rule = "must be https://host/owner/repository, the host like example.org, without .git at its end"
        print(f"URL = {text_of(url)}: {rule}", file=sys.stderr)
        return 2
    try:
        kept = finish()  # of an interrupted run; its files are read below
        texts = rewritten(url)
        kept += store(texts)
    except (OSError, ValueError) as error:
        print(f"{error}\nThe address was not stored.", file=sys.stderr)
        return 2
    for path in kept:
        print(f"{path}: changed since the run that was to replace it, so it was left alone", file=sys.stderr)
    chapters = len(texts) - len(FILES)
    print(f"{url} stands in {len(texts)} files: {', '.join(FILES)} and the first cells of {chapters} chapters.")
    return 2 if kept else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        print(f"Interrupted: {PENDING if pending() else 'all files hold one address'}.", file=sys.stderr)
        sys.exit(130)
