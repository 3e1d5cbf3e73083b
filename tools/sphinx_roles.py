"""A Sphinx extension that mends a role in the bibliography.

docutils calls the bibliography a list and its entries `doc-biblioentry`, a role that has been withdrawn.  So a screen
reader meets a list without items.
"""


def setup(app):
    """Rename the role on every page."""
    app.connect("html-page-context", _rename)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _rename(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')
