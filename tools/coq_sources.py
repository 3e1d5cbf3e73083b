"""What stands in the files of proofs/, read without Coq: comments, theorems with their labels, sections of Model.v."""

import re
from typing import NamedTuple

from tools.files import ROOT

PROOFS = ROOT / "proofs"
MODEL = "Model.v"  # all definitions stand there, and no proof
THEOREM = re.compile(r"^\s*(?:Theorem|Lemma|Corollary|Proposition|Fact|Remark)\s+(?P<name>[\w']+)", re.MULTILINE)
DEFINITION = re.compile(r"^\s*(?:(?:Local|Global)\s+)?(?:Definition|Fixpoint|Example)\s+([\w']+)", re.MULTILINE)
TYPE = re.compile(r"^\s*(?:Inductive|CoInductive|Variant|Record|Structure|Class)\s+([\w']+)", re.MULTILINE)
TRUSTED = re.compile(
    r"\b(?:Axioms?|Parameters?|Conjecture|Admitted|admit|give_up|bypass_check|Unset\s+\w+\s+Checking|Declare\s+ML)\b"
)
NAME = "[a-z0-9]+(?:-[a-z0-9]+)*"
LABELS = re.compile(rf"\[\s*({NAME}(?:,\s*{NAME})*)\s*\]")


class Comment(NamedTuple):
    """A comment of a Coq file, and the code from its end to the next comment."""

    words: str
    code: str

    @property
    def labels(self):
        """What stands in brackets and may be a label, in its order."""
        return [name for names in LABELS.findall(self.words) for name in re.split(r",\s*", names)]


class Theorem(NamedTuple):
    """A theorem of a file, with what stands in brackets in the comments just before it.

    It is not the whole of a statement, nor are all that name it together, where these comments say "in part".
    """

    name: str
    labels: tuple[str, ...]
    whole: bool


class Section(NamedTuple):
    """A section of Model.v: its heading, the labels in its comments, and its text below the heading."""

    title: str
    labels: tuple[str, ...]
    text: str


def read_sources(folder=PROOFS):
    """Return {file name: text} of all Coq files of a folder."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.v"))}


def comments(text):
    """Return the comments of a Coq file, each with the code behind it; what stands before the first one has no words.

    Examples
    --------
    >>> [tuple(comment) for comment in comments("Open. (* one (* two *) *) Close.")]
    [('', 'Open. '), ('one (* two *)', ' Close.')]
    """
    spans, start, depth = [(0, 0)], 0, 0
    for mark in re.finditer(r'\(\*|\*\)|"[^"]*"', text):
        if mark[0] == "(*":
            start, depth = start if depth else mark.start(), depth + 1
        elif mark[0] == "*)" and depth:
            depth -= 1
            if depth == 0:
                spans.append((start, mark.end()))
    ends = [start for start, _ in spans[1:]] + [len(text)]
    return [
        Comment(text[start:end].removeprefix("(*").removesuffix("*)").strip("*").strip(), text[end:behind])
        for (start, end), behind in zip(spans, ends, strict=True)
    ]


def code(text):
    """Return a Coq file without its comments."""
    return "".join(comment.code for comment in comments(text))


def theorems(text):
    """Return the theorems of a file that follow a comment, with the labels of all comments just before them.

    Examples
    --------
    >>> theorems("(** [one] *)\\n(** [two-a, two-b] *)\\nLemma here : True.")
    [Theorem(name='here', labels=('one', 'two-a', 'two-b'), whole=True)]
    """
    found, labels, words = [], [], ""
    for comment in comments(text):
        labels, words = labels + comment.labels, words + comment.words
        if comment.code.strip():
            if theorem := THEOREM.match(comment.code):
                found.append(Theorem(theorem["name"], tuple(labels), "in part" not in words))
            labels, words = [], ""
    return found


def lines(text):
    r"""Return {name: number of its line} of all theorems of a file.

    Examples
    --------
    >>> lines("(* one *)\nLemma here : True.")
    {'here': 2}
    """
    return {found["name"]: text.count("\n", 0, found.start("name")) + 1 for found in THEOREM.finditer(text)}


def sections(text):
    """Return the sections of Model.v; each begins with a heading as in ``(** ** The data [def-token-data] *)``."""
    starts = [match.start() for match in re.finditer(r"^\(\*\* \*\* ", text, re.MULTILINE)]
    parts = [text[start:end] for start, end in zip([0, *starts], [*starts, len(text)], strict=True)]
    found = []
    for part in parts:
        heading = next(comment for comment in comments(part) if comment.words)
        labels = [label for comment in comments(part) for label in comment.labels]
        title = " ".join(LABELS.sub("", heading.words).split("\n\n")[0].split())
        found.append(Section(title.strip("* ").rstrip("."), tuple(dict.fromkeys(labels)), part.strip()))
    return found
