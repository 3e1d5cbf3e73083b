"""A Sphinx extension that keeps a comma or a full stop in the line of the formula before it.

A formula is a box of its own, so a browser may break the line behind it, and the stop begins the next one.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

PUNCTUATION = re.compile(r"[.,;:!?)\]’”%–-]+")


class Together(SphinxPostTransform):
    """Put each formula and the punctuation that follows it at once into one box that is not broken."""

    default_priority = 900

    def run(self, **kwargs):
        """Change the page before it is written."""
        for formula in list(self.document.findall(nodes.math)):
            parent, place = formula.parent, formula.parent.index(formula)
            after = parent[place + 1] if place + 1 < len(parent) else None
            found = PUNCTUATION.match(after) if isinstance(after, nodes.Text) else None
            if found:
                together = nodes.inline("", "", formula.deepcopy(), nodes.Text(found[0]), classes=["together"])
                parent[place : place + 2] = [together, nodes.Text(after[found.end() :])]


def setup(app):
    """Enter the transform."""
    app.add_post_transform(Together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
