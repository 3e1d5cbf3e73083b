"""A Sphinx extension that takes sphinx-thebe out of the build.

Jupyter Book always loads sphinx-thebe.  We have no button for it, and it writes one inline script twice into each
page, which stops there with "Identifier 'THEBE_JS_URL' has already been declared".
"""


def setup(app):
    """Disconnect all that sphinx-thebe listens to, once every extension is loaded."""
    app.connect("config-inited", _disconnect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _disconnect(app, config):
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            listener for listener in listeners if not listener.handler.__module__.startswith("sphinx_thebe")
        ]
