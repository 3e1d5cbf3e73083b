"""Run the chapters and store their outputs: python -m tools.notebooks [chapter] [--reason "claim claim: why" …]

Claims first: if one is not as expected, if its check became weaker without a reason (the ratchet), if a cell raises, or
if a guard objects to what it prints (tools/guards.py), nothing is stored. Then all files are replaced together
(tools/files.py): a run that is interrupted while it does so is completed by the next one.
"""

import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm import tqdm

from attnsep.claims import status_line, verify
from attnsep.ledger.ratchet import extended, ratchet_path, ratchet_text, read_ratchet, reasons_from
from attnsep.ledger.record import read_record, record_path, record_text
from tools.address import address, launch_source
from tools.files import CHAPTERS, PENDING, ROOT, finish, pending, store
from tools.guards import notebook_problems
from tools.places import kernel_environment, writable_places

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
STATUS = re.compile(r"(?<=<!-- status -->\n).*?(?=\n<!-- end of status -->)", re.DOTALL)
READ_THE_RECORD = ("index", "what-the-checks-prove", "ledger", "for-lecturers")  # or count claims, or exercises
REFUSED = """\
A check is another one or became weaker; nothing was stored. If that is right, say why:
make notebooks REASON="{}: why"
(for several reasons: python -m tools.notebooks --reason "claim claim: why" --reason "claim: why")"""
# What README shows: the name of a figure, by its chapter.
PICTURES = {"index": "fig-index-crowd", "your-own-attention": "fig-your-own-attention"}


def with_launch_cell(notebook):
    """Return the notebook with the cell that a lone copy needs, on Colab say, in front of its other code.

    Pages do not show it: there it would only stand between the reader and the first sentence.
    """
    cells = [cell for cell in notebook.cells if cell.get("id") != "launch"]
    cell = nbformat.v4.new_code_cell(launch_source(address()), id="launch", metadata={"tags": ["remove-cell"]})
    first = next(number for number, cell in enumerate(cells) if cell.cell_type == "code")
    notebook.cells = [*cells[:first], cell, *cells[first:]]
    return notebook


def prepare():
    """Name places that Jupyter and matplotlib can write, and let matplotlib list its fonts, which it does aloud."""
    os.environ |= writable_places()
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], stderr=subprocess.DEVNULL)


def executed(path):
    """Return the notebook's text after running it from top to bottom in its own folder."""
    notebook = with_launch_cell(nbformat.read(path, as_version=4))
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": path.parent}},
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],
    )
    with tempfile.TemporaryDirectory() as folder:
        client.execute(env=kernel_environment(folder))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = merged(cell.outputs)
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    return nbformat.writes(notebook) + "\n"


def merged(outputs):
    """Return the outputs with neighbouring pieces of one stream joined; where a kernel cuts it depends on timing.

    Examples
    --------
    >>> pieces = [nbformat.v4.new_output("stream", text=text) for text in ("a", "b")]
    >>> [output.text for output in merged(pieces)]
    ['ab']
    """
    joined = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def unfit(path, text):
    """Return what makes a chapter's new text unfit to be stored, as sentences."""
    return notebook_problems(path.stem, nbformat.reads(text, as_version=4))


def picture(text, name):
    """Return the bytes of a notebook's figure, by the name in its cell's metadata."""
    for cell in nbformat.reads(text, as_version=4).cells:
        if cell.metadata.get("mystnb", {}).get("figure", {}).get("name") == name:
            return next(base64.b64decode(o.data["image/png"]) for o in cell.outputs if "image/png" in o.get("data", {}))
    raise ValueError(f"name = {name!r}: no figure of the notebook has it")


def with_status(readme, sentence):
    """Return the README with the sentence between its two markers.

    Examples
    --------
    >>> with_status("<!-- status -->\\nold\\n<!-- end of status -->", "new")
    '<!-- status -->\\nnew\\n<!-- end of status -->'
    """
    if not STATUS.search(readme):
        raise ValueError("README.md: must have the markers <!-- status --> and <!-- end of status -->")
    return STATUS.sub(lambda _: sentence, readme)


def ratchet_with(record, reasons):
    """Return the ratchet's text with what the record's text adds to it, and what is refused."""
    rows = {row["id"]: row for row in json.loads(record)}
    lines, refused = extended(read_ratchet(), rows, reasons_from(reasons), read_record())
    return ratchet_text(lines), refused


def main(chapter=None, reasons=()):
    """Run and store; return the exit status."""
    if pending():
        print("Completing what an interrupted run had begun to store.", file=sys.stderr)
    _report(finish())
    paths = sorted(CHAPTERS.glob("*.ipynb"))
    if chapter is not None:
        if chapter not in [path.stem for path in paths]:
            print(f"CHAPTER={chapter}: must be one of {', '.join(path.stem for path in paths)}", file=sys.stderr)
            return 2
        paths = [path for path in paths if path.stem in (chapter, *READ_THE_RECORD)]
    evidence = verify(progress=True, jobs=2)
    wrong = [item for item in evidence if not item.as_expected]
    for item in wrong:
        print(f"{item.claim.id}: {item.line}", file=sys.stderr)
    if wrong:
        print("A claim is not as expected; nothing was stored.", file=sys.stderr)
        return 1
    os.environ.pop("ATTNSEP_RECORD", None)  # the record that is stored is the book's
    target, record = record_path(), record_text(evidence)
    ratchet, refused = ratchet_with(record, reasons)
    if refused:
        ids = dict.fromkeys(sentence.partition(":")[0] for sentence in refused)
        print(*refused, REFUSED.format(" ".join(ids)), sep="\n", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder) / "record.json"
        staged.write_text(record, encoding="utf-8")
        os.environ["ATTNSEP_RECORD"] = str(staged)  # the kernels inherit it, so that pages show the new run
        texts, problems = {}, []
        for path in tqdm(paths, unit="chapter", disable=None, leave=False):
            try:
                texts[path] = executed(path)
            except CellExecutionError as error:
                print(f"{path.name}: {error}\nA cell failed; nothing was stored.", file=sys.stderr)
                return 1
            problems += unfit(path, texts[path])
        if problems:
            print(*problems, "Nothing was stored.", sep="\n", file=sys.stderr)
            return 1
        for shown, name in PICTURES.items():
            if (path := CHAPTERS / f"{shown}.ipynb") in texts:
                texts[ROOT / "assets" / f"{shown}.png"] = picture(texts[path], name)
        readme = ROOT / "README.md"
        texts[readme] = with_status(readme.read_text(encoding="utf-8"), status_line())
    texts |= {target: record, ratchet_path(): ratchet}
    kept = store(texts)
    _report(kept)
    print(f"{len(paths)} chapters, the record, the ratchet and the README's status line stored.")
    return int(bool(kept))


def _report(kept):
    for path in kept:
        print(f"{path}: changed since the run that was to replace it, so it was left alone", file=sys.stderr)


def options(words):
    """Return what the command line says: chapter and reasons.  Of @FILE every line is a word."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", fromfile_prefix_chars="@")
    parser.add_argument("chapter", nargs="?", help="run this one alone, and those that show the record")
    parser.add_argument(
        "--reason", action="append", default=[], help="claims, a colon, and why a weaker check is right"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    chosen = options(sys.argv[1:])
    prepare()
    try:
        sys.exit(main(chosen.chapter, chosen.reason))
    except KeyboardInterrupt:
        print(f"Interrupted: {PENDING if pending() else 'what is stored comes from one run'}.", file=sys.stderr)
        sys.exit(130)
