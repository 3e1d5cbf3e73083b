"""The statements of the book as its chapters show them: numbered blocks, each with its label."""

import re
from typing import NamedTuple

BLOCK = re.compile(r"^(`{3,})\{prf:(?!proof|ref)(\w+)\}([^\n]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
REPAIR = "What is true instead: {prf:ref}`"  # a false statement leads on, so that nobody quotes it as ours
LABEL = re.compile(r"^:label:\s*(\S+)", re.MULTILINE)


class Block(NamedTuple):
    """A statement as it stands in a chapter: its options are lines such as ``:class: mark-source``."""

    label: str
    kind: str
    title: str
    options: tuple[str, ...]
    words: str


def blocks(notebook):
    """Yield the blocks of a chapter, a notebook of nbformat or what json makes of its file."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for _, kind, title, body in BLOCK.findall("".join(cell["source"])):
                label = LABEL.search(body)
                options, _, words = body.partition("\n\n")
                yield Block(label[1] if label else "(none)", kind, title.strip(), tuple(options.splitlines()), words)
