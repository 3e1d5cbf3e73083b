"""A Sphinx extension that shows the buttons which lead to the repository where it has an address, and else none.

For an address that is missing the theme would stop; for one that is not on GitHub it would stop too, or its button
for Colab would lead to a repository of the same name there, which somebody else may own.
"""

from urllib.parse import urlsplit

KNOWN = ("github", "gitlab", "bitbucket")  # the theme has their icons and knows their addresses
WITH_ISSUES = KNOWN[:2]


def setup(app):
    """Choose the buttons before the theme reads its options, and the icon before it writes a page."""
    app.connect("config-inited", _choose, priority=900)
    app.connect("html-page-context", _plain_icon, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def buttons(options):
    """Return what to change in the theme's options, so that each button leads somewhere.

    Examples
    --------
    >>> buttons({"repository_url": "", "launch_buttons": {"colab_url": "https://colab.research.google.com"}})
    {'launch_buttons': {}}
    """
    host = urlsplit(options.get("repository_url") or "").hostname
    if host is None:
        return {"launch_buttons": {}}
    launch = options.get("launch_buttons", {})
    # Of an unknown host the theme is told one that it knows; only the icon depends on it, see `_plain_icon`.
    return {
        "launch_buttons": {name: url for name, url in launch.items() if name != "colab_url" or host == "github.com"},
        "repository_provider": _provider(host) or "gitlab",
        "use_repository_button": True,
        "use_issues_button": _provider(host) in WITH_ISSUES,
    }


def _provider(host):
    return next((name for name in KNOWN if name in host), None)


def _choose(app, config):
    config.html_theme_options.update(buttons(config.html_theme_options))


def _plain_icon(app, pagename, templatename, context, doctree):
    """Give the repository's button no company's sign where the address is not that company's."""
    host = urlsplit(app.config.html_theme_options.get("repository_url") or "").hostname
    if host and not _provider(host):
        for button in context["header_buttons"]:
            if button["label"] == "source-repository-button":
                button["icon"] = "fab fa-git-alt"
