"""Which parts of a chapter count as its statements, and what each of them says."""

import json

import nbformat

from tools.blocks import Block, blocks

WORDS = """\
Text in front.

```{prf:lemma}  Sum · source
:label:  two-halves
:class: mark-source

Two make $1$.

So `it` is.
```
```{prf:theorem}
Bare.
```
````{prf:remark} Code
:label: shown

```python
print(1)
```
````
Inside a line: ```{prf:lemma} no block
```{prf:proof}
:label: no-statement
```
See {prf:ref}`two-halves`.
```{prf:ref}
```
"""
FOUND = [
    Block(
        "two-halves",
        "lemma",
        "Sum · source",
        (":label:  two-halves", ":class: mark-source"),
        "Two make $1$.\n\nSo `it` is.\n",
    ),
    Block("(none)", "theorem", "", ("Bare.",), ""),
    Block("shown", "remark", "Code", (":label: shown",), "```python\nprint(1)\n```\n"),
]


def test_blocks_are_found_with_label_kind_title_options_and_words():
    """In what nbformat reads, and in what json makes of the file, where a source is a list of lines."""
    cells = [nbformat.v4.new_code_cell(WORDS), nbformat.v4.new_markdown_cell(WORDS), nbformat.v4.new_raw_cell(WORDS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    assert list(blocks(notebook)) == FOUND
    assert list(blocks(json.loads(nbformat.writes(notebook)))) == FOUND
