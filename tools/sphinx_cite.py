"""A Sphinx extension that ends each chapter with how to cite it and, where the book has an address, how to object."""

from html import escape

import yaml

from tools.files import ROOT

# How a page is cited; a chapter's number may change, its title and file name stay.
FOLD = """
<details class="page-cite"><summary>Cite this page{report}</summary>
<p>{authors}: “{title}”, in <em>{book}</em>, version {version}{day}, chapters/{page}.{address}</p>{link}
</details>"""
REPORT = '<p><a href="{url}/issues/new?template=wrong-statement.yml&amp;title=wrong:%20{page}">Report a mistake</a></p>'


def setup(app):
    """Add the words before a page is written."""
    app.connect("html-page-context", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def words(page, title, url, citation):
    """Return the fold at the end of a chapter, as HTML.

    Parameters
    ----------
    page, title : str
        The chapter's file name without ending, and its heading.
    url : str
        The repository's public address, or nothing.
    citation : dict
        What CITATION.cff says.

    Returns
    -------
    str

    Examples
    --------
    >>> book = {"title": "A book", "authors": [{"name": "Us"}], "version": "2.0", "date-released": "2030-01-02"}
    >>> print(words("a-page", "A page", "", book).strip())
    <details class="page-cite"><summary>Cite this page</summary>
    <p>Us: “A page”, in <em>A book</em>, version 2.0, 2030-01-02, chapters/a-page.</p>
    </details>
    """
    released = citation.get("date-released")
    return FOLD.format(
        report=", or report a mistake in it" if url else "",
        authors=escape(", ".join(author["name"] for author in citation["authors"])),
        title=escape(title),
        book=escape(citation["title"]),
        version=citation["version"],
        day=f", {released}" if released else ", not released yet",
        page=page,
        address=f' <a href="{url}">{url}</a>' if url else "",
        link=REPORT.format(url=url, page=page) if url else "",
    )


def _add(app, pagename, templatename, context, doctree):
    folder, _, page = pagename.rpartition("/")
    if folder == "chapters" and doctree is not None:
        citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
        url = app.config.html_theme_options.get("repository_url") or ""
        context["body"] += words(page, app.env.titles[pagename].astext(), url, citation)
