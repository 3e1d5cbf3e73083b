"""A Sphinx extension that keeps sphinx-thebe's scripts out of the pages.

Jupyter Book always loads sphinx-thebe.  We have no button for it, and it writes one inline script twice into each
page, which stops there with "Identifier 'THEBE_JS_URL' has already been declared".
"""


def setup(app):
    """Disconnect all of it but the style sheet, which every page still links, once every extension is loaded."""
    app.connect("config-inited", _disconnect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _disconnect(app, config):
    for event in ("env-before-read-docs", "doctree-resolved"):
        app.events.listeners[event] = [
            listener for listener in app.events.listeners[event] if listener.handler.__module__ != "sphinx_thebe"
        ]
