"""The page for contributors works as written, and the files about the project agree with each other."""

import re
import tomllib

import nbformat
import pytest
import yaml

import attnsep
from attnsep.claims import framework, one_query
from tools import notebooks
from tools.files import CHAPTERS, ROOT
from tools.guards import closure_problems, read_notebooks

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def followed(monkeypatch):
    """Follow the page: enter its claim into a copy of the ledger; return the copy and the cells to add."""
    ledger = dict(framework.LEDGER)
    monkeypatch.setattr(framework, "LEDGER", ledger)
    entered, call = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (text,) = re.findall(r"^````markdown\n(.*?)^````$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(entered, "CONTRIBUTING.md", "exec"), vars(one_query).copy())
    return ledger, [nbformat.v4.new_markdown_cell(text.strip()), nbformat.v4.new_code_cell(call.strip())]


def test_the_claim_holds_and_its_control_fails(followed):
    ledger, _ = followed
    *_, new = ledger.values()
    assert framework.run(new).as_expected
    assert f"attnsep verify {new.id}\n" in PAGE
    assert f"make notebooks CHAPTER={new.chapter}\n" in PAGE


def test_the_cells_complete_the_chapter_and_without_them_the_claim_is_refused(followed):
    ledger, cells = followed
    *_, new = ledger.values()
    pages = read_notebooks(CHAPTERS)
    assert [problem.split(":")[0] for problem in closure_problems(pages, ledger)] == [new.id]
    pages[new.chapter].cells += cells
    assert closure_problems(pages, ledger) == []


def test_version_licenses_and_address_are_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert {project["version"], attnsep.__version__, citation["version"]} == {newest}
    assert project["license"] == citation["license"][0] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert "Creative Commons Attribution 4.0" in (ROOT / "LICENSE-TEXT").read_text(encoding="utf-8")
    assert project["urls"]["source"] == citation["repository-code"] == notebooks.address()
