"""A Sphinx extension that says in a page's head what the page is about, for search engines and for links to it.

A chapter is described by the bold sentence under its title, and every other page by `book_description` of _config.yml.
Once the book has an address, a link to a page shows its title, this sentence and the book's picture.
"""

from html import escape

import yaml
from docutils import nodes

from tools.files import ROOT

PICTURE = "{url}/raw/{branch}/assets/index.png"  # so GitHub, GitLab, Bitbucket and Gitea answer with the file itself


def setup(app):
    """Add the words before a page is written."""
    app.add_config_value("book_description", "", "html", [str])
    app.connect("html-page-context", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def tags(title, description, url, branch="main"):
    """Return what a page's head says of it, as HTML.

    Parameters
    ----------
    title, description : str
        The page's.
    url, branch : str
        The repository's public address, or nothing, and the branch that holds the picture.

    Returns
    -------
    str

    Examples
    --------
    >>> print(tags("A page", "It says this.", ""))
    <meta name="description" content="It says this.">
    >>> print(tags("A page", "It says this.", "https://example.org/a/b").splitlines()[-1])
    <meta property="og:image" content="https://example.org/a/b/raw/main/assets/index.png">
    >>> print(tags("A page", 'Is "1 < 2" & more true?', ""))
    <meta name="description" content="Is &quot;1 &lt; 2&quot; &amp; more true?">
    """
    said = {'name="description"': description}
    if url:
        said |= {'property="og:type"': "article", 'property="og:title"': title}
        said |= {'property="og:description"': description}
        said |= {'property="og:image"': PICTURE.format(url=url, branch=branch)}
    return "\n".join(f'<meta {name} content="{escape(words)}">' for name, words in said.items())


def sentence(doctree):
    """Return the bold sentence under a page's title, or nothing where there is none or where it has a formula.

    Parameters
    ----------
    doctree : docutils.nodes.document
        The page.

    Returns
    -------
    str
    """
    title = next(iter(doctree.findall(nodes.title)), None)
    first = title.next_node(descend=False, siblings=True) if title else None
    bold = next(iter(first.findall(nodes.strong)), None) if isinstance(first, nodes.paragraph) else None
    if bold is None or bold.astext() != first.astext() or list(bold.findall(nodes.math)):
        return ""
    return bold.astext()


def _add(app, pagename, templatename, context, doctree):
    options, titles = app.config.html_theme_options, app.env.titles
    title = titles[pagename].astext() if pagename in titles else context.get("title", "")  # this one is HTML
    if pagename == app.config.root_doc:
        # Else the window would be called by the book's short title twice.
        title = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["title"]
        context |= {"title": title, "docstitle": ""}
    description = (sentence(doctree) if doctree else "") or app.config.book_description
    head = tags(title, description, options.get("repository_url") or "", options.get("repository_branch") or "main")
    context["metatags"] = context.get("metatags", "") + head
