"""A Sphinx extension with one directive, `statements`: all numbered statements of the book, by chapter.

The list is made from the pages themselves while the book is built, so it cannot go stale.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode


class StatementList(nodes.General, nodes.Element):
    """Where the list goes, once every page has been read and numbered."""


class Statements(SphinxDirective):
    """The directive; it takes nothing."""

    def run(self):
        """Leave a place for the list."""
        return [StatementList()]


def setup(app):
    """Enter the directive."""
    app.add_node(StatementList)
    app.add_directive("statements", Statements)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app, doctree, docname):
    for place in list(doctree.findall(StatementList)):
        app.env.get_domain("math").data["has_equations"][docname] = True  # titles have some, so MathJax is needed
        sections = []
        for chapter in app.env.collect_relations():  # the pages in the order of _toc.yml
            items = [_item(app, docname, chapter, node) for node in _statements(app.env, chapter)]
            if items:
                title = nodes.paragraph("", "", nodes.strong("", app.env.titles[chapter].astext()))
                sections += [title, nodes.bullet_list("", *items)]
        place.replace_self(sections)


def _statements(env, chapter):
    return [node for node in env.get_doctree(chapter).findall(nodes.Element) if "realtype" in node]


def _item(app, docname, chapter, node):
    label = node["label"]
    number = ".".join(map(str, app.env.toc_fignumbers[chapter][node["countertype"]][label]))
    link = make_refnode(app.builder, docname, chapter, label, nodes.Text(f"{node['realtype'].title()} {number}"))
    return nodes.list_item("", nodes.paragraph("", "", link, *(child.deepcopy() for child in node[0].children)))
