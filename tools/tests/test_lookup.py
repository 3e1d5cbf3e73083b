"""The pages to look things up are complete: every module of the library, every term in use."""

import pkgutil
import re

import attnsep
from attnsep.claims import LEDGER
from tools.files import CHAPTERS, ROOT
from tools.guards import read_notebooks


def test_the_reference_has_every_public_module_once():
    checks = {entry.cases.__module__ for entry in LEDGER.values() if hasattr(entry, "cases")}
    walked = [module for module in pkgutil.walk_packages(attnsep.__path__, "attnsep.") if not module.ispkg]
    modules = {module.name for module in walked if "._" not in module.name} - checks
    pages = "".join(path.read_text(encoding="utf-8") for path in CHAPTERS.glob("api-*.md"))
    listed = re.findall(r"^\.\. automodule:: (\S+)\n   :members:$", pages, re.MULTILINE)
    assert sorted(listed) == sorted(modules)


def test_every_term_of_the_glossary_is_linked_from_a_page_and_stands_once():
    page = (CHAPTERS / "glossary.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    terms = re.findall(r"^(\S.*)$", "\n".join(blocks), re.MULTILINE)
    cells = (cell.source for notebook in read_notebooks(CHAPTERS).values() for cell in notebook.cells)
    linked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]*)>?`", "\n".join([*cells, _markdown()]))
    assert len(terms) == len(set(terms))
    assert set(terms) == set(linked)


def _markdown():
    return "\n".join(path.read_text(encoding="utf-8") for path in (*CHAPTERS.glob("*.md"), ROOT / "CONTRIBUTING.md"))
