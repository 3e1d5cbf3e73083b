"""A Sphinx extension that leads from each badge of a check to the check's code and to its row in the ledger.

A stored output holds no link, because the same notebook is read in Jupyter, where neither page exists.  A cell that
only calls `check` shows its badge alone, and the call inside it.
"""

import re
import shutil

from docutils import nodes
from sphinx import addnodes

from attnsep.claims import LEDGER

BADGE = re.compile(r'(<details class="check[^>]* data-claim="(?P<id>[^"]+)">.*)(</details>\s*)', re.DOTALL)
CALLS = re.compile(r'(?:check\("[\w-]+"\)\s*)+')
LINKS = """<p class="check-links">Run it yourself: <code>check("{id}")</code><br>
<a href="ledger.html#row-{id}">Its row in the ledger</a></p>"""


def setup(app):
    """Change each page as it is read, before sphinx.ext.viewcode looks for what has a source."""
    app.connect("builder-inited", _forget)
    app.connect("doctree-read", _link, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _forget(app):
    """Remove the pages with sources: viewcode keeps those whose module is as it was, though others lead there now."""
    shutil.rmtree(app.outdir / "_modules", ignore_errors=True)


def _link(app, doctree):
    for node in list(doctree.findall(nodes.container)):
        if "cell_input" in node["classes"] and CALLS.fullmatch(node.astext()):
            node.parent.remove(node)
    for node in list(doctree.findall(nodes.raw)):
        if node.get("format") == "html" and (found := BADGE.fullmatch(node.astext())):
            parts = _html(found[1] + LINKS.format(id=found["id"])), _signature(found["id"]), _html(found[3])
            node.parent.replace(node, nodes.container("", *parts, classes=node["classes"]))


def _html(text):
    return nodes.raw("", text, format="html")


def _signature(id):
    """Return the name of a claim's check, as sphinx.ext.viewcode wants it: it adds the link to the source."""
    check = LEDGER[id].cases
    module, name = check.__module__, check.__name__
    words = addnodes.desc_addname("", f"{module.removeprefix('attnsep.')}."), addnodes.desc_name("", name)
    signature = addnodes.desc_signature("", "", *words, module=module, fullname=name, ids=[f"{module}.{name}"])
    said = addnodes.desc_content("", nodes.paragraph("", "The code of this check."))  # a list needs a description
    return addnodes.desc("", signature, said, domain="py", objtype="function", classes=["check-code"])
