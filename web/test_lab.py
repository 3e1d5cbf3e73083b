"""`make lab` in a browser: a chapter opens, all its cells run, and another number in a cell gives another figure."""

import os
import subprocess
import sys

import nbformat
import pytest

from tools.files import CHAPTERS, ROOT
from tools.lab import refresh

PATIENCE = 300  # seconds; a machine may be slow
CHAPTER = "lemma-d2"
PARAMETER = ("for a in (0.7, 0.05):\n    found", "for a in (0.4, 0.05):\n    found")
ALL_RAN = """before => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].every(
    prompt => parseInt(prompt.textContent.slice(1)) > before)"""
SETTINGS = {
    "notebook-extension/tracker": '{"windowingMode": "none"}',  # else only the cells in sight are in the page
}


@pytest.fixture
def copy(tmp_path):
    """Return the path of a chapter's copy from which the stored outputs were removed."""
    refresh(CHAPTERS, tmp_path / "copies")
    path = tmp_path / "copies" / f"{CHAPTER}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for cell in code(notebook):
        cell.outputs, cell.execution_count = [], None
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def address(tmp_path, copy):
    """Start JupyterLab as `make lab` does, where MPLBACKEND would keep figures away; return the chapter's address."""
    for name, text in SETTINGS.items():
        path = tmp_path / "home/.jupyter/lab/user-settings/@jupyterlab" / f"{name}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT / "lib")}
    command = [sys.executable, "-m", "tools.lab", str(copy.parent)]
    lab = subprocess.Popen(
        command, cwd=ROOT, env=environment | {"MPLBACKEND": "agg"}, stdout=subprocess.PIPE, encoding="utf-8"
    )
    with lab:
        said = next((line.strip() for line in lab.stdout if "http" in line), "nothing: JupyterLab has ended")
        yield said.replace("index.ipynb", copy.name)
        lab.terminate()


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run_all(page, copy, ran_before=0):
    """Run all cells, save once the kernel has nothing left to do, and return the copy's code cells."""
    idle = page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]")
    idle.wait_for()  # a kernel that is not connected yet may miss cells
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_function(ALL_RAN, arg=ran_before)
    idle.wait_for()
    page.keyboard.press("Control+s")
    page.locator(".jp-mod-dirty").first.wait_for(state="detached")
    return code(nbformat.read(copy, as_version=4))


def printed(cells):
    """Return what each cell printed; on stderr matplotlib may say that it builds its list of fonts."""
    said = [[output.text for output in cell.outputs if output.get("name") == "stdout"] for cell in cells]
    return ["".join(texts) for texts in said]


def figures(cells):
    outputs = [output for cell in cells for output in cell.outputs]
    return [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]


def test_a_chapter_runs_and_a_changed_parameter_changes_its_figure(browser, copy, address):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(address)
    page.get_by_text("Lemma 1", exact=False).first.wait_for()  # statements are typeset, not shown as their source
    first = run_all(page, copy)
    stored = code(nbformat.read(CHAPTERS / copy.name, as_version=4))
    assert printed(first) == printed(stored)
    (before,) = figures(first)
    shown = page.locator(".jp-OutputArea img")
    assert shown.get_attribute("src").endswith(before.strip())

    page.locator(".jp-CodeCell .cm-content", has_text=PARAMETER[0].partition("\n")[0]).last.click()
    source = next(cell.source for cell in first if PARAMETER[0] in cell.source)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(source.replace(*PARAMETER))
    second = run_all(page, copy, ran_before=len(first))
    assert source.replace(*PARAMETER) in [cell.source for cell in second]
    assert not [output for cell in second for output in cell.outputs if output.output_type == "error"]
    (after,) = figures(second)
    assert after != before
    assert shown.get_attribute("src").endswith(after.strip())
    assert page.get_by_role("alert").count() == 0  # such as a question about news
    page.close()
