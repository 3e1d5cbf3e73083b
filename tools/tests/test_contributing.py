"""The page for contributors works as written, and the files about the project agree with each other."""

import re
import tomllib

import nbformat
import pytest
import yaml

import attnsep
from attnsep.claims import one_query_weights
from attnsep.ledger import framework
from tools.files import CHAPTERS, ROOT
from tools.guards import closure_problems, read_notebooks

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def followed(nothing_set, monkeypatch):
    """Follow the page: enter its claim into a copy of the ledger; return the copy, and the chapters without its cells.

    Whoever follows the page for real runs these tests with the claim in the ledger, so it is taken out first.
    """
    entered, call = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (text,) = re.findall(r"^````markdown\n(.*?)^````$", PAGE, re.MULTILINE | re.DOTALL)
    ledger = {id: entry for id, entry in framework.LEDGER.items() if f'"{id}",\n' not in entered.partition("mark=")[0]}
    monkeypatch.setattr(framework, "LEDGER", ledger)
    exec(compile(entered, "CONTRIBUTING.md", "exec"), vars(one_query_weights).copy())
    cells = [nbformat.v4.new_markdown_cell(text.strip()), nbformat.v4.new_code_cell(call.strip())]
    pages = read_notebooks(CHAPTERS)
    for page in pages.values():
        page.cells = [cell for cell in page.cells if cell.source not in (cells[0].source, cells[1].source)]
    return ledger, pages, cells


def test_the_claim_holds_and_its_control_fails(followed):
    ledger, *_ = followed
    *_, new = ledger.values()
    assert framework.run(new).as_expected
    assert f"attnsep verify {new.id}\n" in PAGE
    assert f"make notebooks CHAPTER={new.chapter}\n" in PAGE


def test_the_cells_complete_the_chapter_and_without_them_the_claim_is_refused(followed):
    ledger, pages, cells = followed
    *_, new = ledger.values()
    assert [problem.split(":")[0] for problem in closure_problems(pages, ledger)] == [new.id]
    pages[new.chapter].cells += cells
    assert closure_problems(pages, ledger) == []


def test_version_and_licenses_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert {project["version"], attnsep.__version__, citation["version"]} == {newest}
    assert project["license"] == citation["license"][0] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    text = (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    assert "Creative Commons Attribution 4.0" in text
    assert "Section 8 – Interpretation" in text  # the whole of it
