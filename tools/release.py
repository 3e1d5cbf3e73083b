"""Make a release: python -m tools.release VERSION [--dry-run]

The version goes wherever it stands, the changelog's newest heading and CITATION.cff get the day, the book goes into
dist/ as a PDF and as a zip that reads offline, and a commit and a tag hold all of it. Nothing is pushed.
"""

import argparse
import re
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

from tools.files import ROOT, store

PAGES = ROOT / "_build/html"
UNRELEASED = ", not released yet"  # behind the version in the changelog's newest heading
HEADING = re.compile(r"^## (\d+(?:\.\d+)+)(.*)$", re.MULTILINE)
VERSION = r"\d+(\.\d+)+"
# Where the version stands, and what is written there.
PLACES = {
    "pyproject.toml": (rf'^version = "{VERSION}"$', 'version = "{version}"'),
    "lib/attnsep/__init__.py": (rf'^__version__ = "{VERSION}"$', '__version__ = "{version}"'),
    "CITATION.cff": (
        rf'^version: "?{VERSION}"?\n(date-released: .*\n)?',
        'version: "{version}"\ndate-released: {day}\n',  # quoted: 2.0 alone would be a number
    ),
    "CHANGELOG.md": (rf"^## {VERSION}{UNRELEASED}$", "## {version}, {day}"),
}


def refusal(version, changelog, changes, tags):
    """Return why there can be no such release, as one sentence, or None.

    Parameters
    ----------
    version : str
        The version that is to be released.
    changelog : str
        The text of CHANGELOG.md.
    changes : str
        What `git status --porcelain` prints.
    tags : list of str
        All tags, those of releases like v2.0.
    """
    if not re.fullmatch(VERSION, version):
        return f"VERSION={version}: must be numbers joined by dots, like 2.0"
    if changes.strip():
        return f"the tree is not clean ({changes.strip().splitlines()[0].strip()}, say): commit or remove it first"
    newest, *others = HEADING.finditer(changelog)
    old = [heading[1] for heading in others] + [tag[1:] for tag in tags if re.fullmatch(f"v{VERSION}", tag)]
    old += [] if newest[2] == UNRELEASED else [newest[1]]
    last = max(old, key=_numbers, default=None)
    if last and _numbers(version) <= _numbers(last):
        return f"VERSION={version}: must be above {last}, the last release"
    if _numbers(version) < _numbers(newest[1]):
        return f"VERSION={version}: must be at least {newest[1]}, which CHANGELOG.md names"
    entries = changelog[newest.end() : others[0].start() if others else None]
    if newest[2] != UNRELEASED or not entries.strip():
        return f'CHANGELOG.md: has no entry for it, under a heading "## {version}{UNRELEASED}"'
    return None


def _numbers(version):
    """Return a version as numbers that can be compared; 2.0 is 2.0.0."""
    found = [int(part) for part in version.split(".")]
    return found + [0] * (8 - len(found))


def rewritten(version, day):
    """Return {path: text} of all files that name the version, or raise a ValueError where one does not."""
    texts = {}
    for name, (old, new) in PLACES.items():
        before = (ROOT / name).read_text(encoding="utf-8")
        text, places = re.subn(old, new.format(version=version, day=day), before, flags=re.MULTILINE)
        if places != 1:
            raise ValueError(f"{name}: must name the version once, as the other files do")
        texts[ROOT / name] = text
    return texts


def build(folder, name):
    """Build the book, and put it into a folder as NAME.pdf and NAME.zip; raise where a step fails."""
    folder.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "tools.steps", "book"], cwd=ROOT, check=True)
    subprocess.run([sys.executable, "-m", "tools.pdf", PAGES, folder / f"{name}.pdf"], cwd=ROOT, check=True)
    pack(PAGES, folder / f"{name}.zip")


def pack(pages, target):
    """Put a folder of pages into a zip, where they lie in a folder of the zip's name."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in pages.rglob("*") if path.is_file()):
            archive.write(path, f"{target.stem}/{path.relative_to(pages)}")


def git(*words):
    """Return what git prints in the project's folder."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main(arguments=None):
    """Make the release; return 0, 1 where a step failed and all is as before, 2 where it is refused."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__.splitlines()[0])
    parser.add_argument("version", help="like 2.0")
    parser.add_argument("--dry-run", action="store_true", help="fill dist/, and leave files and history as they are")
    options = parser.parse_args(arguments)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    why = refusal(options.version, changelog, git("status", "--porcelain"), git("tag", "--list").split())
    if why:
        print(f"make release: {why}", file=sys.stderr)
        return 2
    name, day = f"attnsep-{options.version}", datetime.now(UTC).date().isoformat()
    texts, before, done = rewritten(options.version, day), git("rev-parse", "HEAD").strip(), False
    try:
        store(texts)
        build(ROOT / "dist", name)
        if not options.dry_run:
            git("commit", "--all", "--message", f"Release {options.version}")
            git("tag", "--annotate", f"v{options.version}", "--message", f"Release {options.version}")
            done = True
    except subprocess.CalledProcessError as error:
        print(f"make release: nothing was released: {error.stderr or error}".strip(), file=sys.stderr)
        return 1
    finally:
        if not done:
            git("reset", "--quiet", before)  # where the commit was made, and its tag failed
            git("checkout", "--quiet", "--", *PLACES)
    told = f"tag v{options.version}: git push --follow-tags" if done else "a dry run, so there is no tag"
    print(f"dist/{name}.pdf, dist/{name}.zip; {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
