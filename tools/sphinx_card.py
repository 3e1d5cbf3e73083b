"""A Sphinx extension that makes the words "the card" lead to the page with the card's words.

Whoever doubts what the book says of its source is one click away from it, on every page, the next one too.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

PAGE = "chapters/the-cards-words"
OTHER = "chapters/your-own-attention"  # where a card is the report on an attention
WORDS = re.compile(r"\b[Tt]he (?:source )?card(?:'s|’s)?(?!-)\b")
NOT_IN = (
    nodes.reference,
    addnodes.pending_xref,
    nodes.title,
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.raw,
)


class CardLinks(SphinxTransform):
    """Link the first of these words in each paragraph, unless it is a link, a title or code."""

    default_priority = 700

    def apply(self):
        """Change the page that was just read."""
        if self.env.docname in (PAGE, OTHER):
            return
        for paragraph in self.document.findall(nodes.paragraph):
            for text in paragraph.findall(nodes.Text):
                if (found := WORDS.search(text)) and not _is_inside(text, paragraph):
                    text.parent.replace(text, _linked(text, *found.span()))
                    break


def _is_inside(node, paragraph):
    while node is not paragraph:
        node = node.parent
        if isinstance(node, NOT_IN):
            return True
    return False


def _linked(text, start, end):
    words = nodes.inline("", text[start:end])
    link = addnodes.pending_xref(
        "", words, refdomain="std", reftype="doc", reftarget=f"/{PAGE}", refexplicit=True, refwarn=True
    )
    return [nodes.Text(text[:start]), link, nodes.Text(text[end:])]


def setup(app):
    """Enter the transform."""
    app.add_transform(CardLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
