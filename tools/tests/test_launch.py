"""Chapters opened alone: what differs is found, what is missing is said."""

from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from tools import launch
from tools.address import launch_source
from tools.files import ROOT


@pytest.fixture
def chapter(tmp_path):
    cells = [
        nbformat.v4.new_code_cell("first", id="launch", outputs=[said("before\n")]),
        nbformat.v4.new_code_cell("second", id="second", outputs=[said("1\n")]),
    ]
    path = tmp_path / "a-chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def said(text):
    return nbformat.v4.new_output("stream", name="stdout", text=text)


def kernel(monkeypatch, answer):
    """Replace the kernel: the last cell prints `answer`, or raises it; return the first cells that ran."""
    ran = []

    def client(notebook, **options):
        def execute():
            if isinstance(answer, Exception):
                raise answer
            ran.append(notebook.cells[0].source)
            notebook.cells[0].outputs = [said("Installed\n")]
            notebook.cells[1].outputs = [said(answer)]

        assert options["kernel_name"] == "colab"
        assert "google.colab" in str(options["extra_arguments"])
        return SimpleNamespace(execute=execute)

    monkeypatch.setattr(launch, "NotebookClient", client)
    return ran


def test_the_same_outputs_are_no_problem_whatever_the_first_cell_prints(chapter, monkeypatch):
    kernel(monkeypatch, "1\n")
    assert launch.problems(chapter) == []


def test_another_output_and_a_failing_cell_are_problems(chapter, monkeypatch):
    kernel(monkeypatch, "2\n")
    assert launch.problems(chapter) == ["a-chapter: prints '2\\n', stored is '1\\n'"]
    kernel(monkeypatch, CellExecutionError("No module named 'x'", "ModuleNotFoundError", ""))
    (problem,) = launch.problems(chapter)
    assert problem.startswith("a-chapter: ")
    assert "No module named 'x'" in problem


def test_what_is_written_to_stderr_is_not_compared(chapter, monkeypatch):
    kernel(monkeypatch, "1\n")
    assert launch.printed(nbformat.v4.new_code_cell(outputs=[said("1\n"), warned("careful"), said("2\n")])) == "1\n2\n"


def warned(text):
    return nbformat.v4.new_output("stream", name="stderr", text=text)


def test_a_copy_runs_in_a_folder_of_its_own_up_to_the_first_error(chapter, monkeypatch):
    asked = []

    def client(notebook, **options):
        asked.append((options, [path.name for path in Path(options["resources"]["metadata"]["path"]).iterdir()]))
        return SimpleNamespace(execute=lambda: None)

    monkeypatch.setattr(launch, "NotebookClient", client)
    launch.problems(chapter)
    ((options, beside),) = asked
    assert beside == ["a-chapter.ipynb"]
    assert options["resources"]["metadata"]["path"] != str(chapter.parent)
    assert "allow_errors" not in options, "a cell that fails would be no problem where it prints nothing"


def pretend(monkeypatch, *lists):
    """Replace pip, which lists these packages one after the other; return the commands that are run."""
    listed, commands = iter(lists), []
    monkeypatch.setattr(launch, "installed", lambda python: next(listed))
    monkeypatch.setattr(launch, "prepare", lambda python, folder: None)
    monkeypatch.setattr(launch, "problems", lambda path: [])
    monkeypatch.setattr(launch.subprocess, "run", lambda command, check: commands.append(command))
    return commands


def test_what_a_notebook_installed_is_removed_again(monkeypatch, capsys):
    commands = pretend(monkeypatch, {"numpy"}, {"numpy", "attnsep", "sympy"}, {"numpy", "attnsep"})
    assert launch.main(".venv-colab", "index", "gpu") == 0
    assert [command[-2:] for command in commands] == [["attnsep", "sympy"], ["-y", "attnsep"]]
    assert capsys.readouterr() == ("2 chapters opened alone, 0 problems\n", "")


def test_a_first_cell_that_installs_nothing_is_a_problem(monkeypatch, capsys):
    pretend(monkeypatch, {"numpy"}, {"numpy", "other"})
    assert launch.main(".venv-colab", "index") == 1
    assert capsys.readouterr() == (
        "1 chapters opened alone, 1 problems\n",
        "index: the first cell did not install attnsep\n",
    )


def test_what_came_in_place_of_the_library_is_removed_too(monkeypatch):
    commands = pretend(monkeypatch, {"numpy"}, {"numpy", "other"})
    assert launch.main(".venv-colab", "index") == 1
    assert [command[-2:] for command in commands] == [["-y", "other"]]


def test_every_problem_of_every_chapter_is_said(monkeypatch, capsys):
    pretend(monkeypatch, {"numpy"}, {"attnsep"}, {"attnsep"})
    monkeypatch.setattr(launch, "problems", lambda path: [f"{path.stem}: first", f"{path.stem}: second"])
    assert launch.main(".venv-colab", "index", "gpu") == 1
    said = [f"{name}: {which}" for name in ("gpu", "index") for which in ("first", "second")]
    assert capsys.readouterr() == ("2 chapters opened alone, 4 problems\n", "\n".join(said) + "\n")


def test_the_library_must_not_be_there_before(monkeypatch, capsys):
    pretend(monkeypatch, {"numpy", "attnsep"})
    assert launch.main(".venv-colab", "index") == 2
    assert "has attnsep already" in capsys.readouterr().err
    for chapters in (["no-such-chapter"], ["index", "no-such-chapter"]):
        assert launch.main(".venv-colab", *chapters) == 2
        assert capsys.readouterr() == ("", f"{', '.join(chapters)}: must be names of chapters\n")


def test_the_packages_are_those_that_pip_lists(monkeypatch):
    def run(command, **options):
        assert (command, options["check"]) == (["python", "-m", "pip", "list", "--format=freeze"], True)
        listed = "numpy==2.0\nattnsep==0.1.0\n"
        return SimpleNamespace(stdout=listed if options.get("text") else listed.encode())

    monkeypatch.setattr(launch.subprocess, "run", run)
    assert launch.installed("python") == {"numpy", "attnsep"}


ADDRESSES = pytest.mark.parametrize(
    ("known", "address"), [(None, launch.MADE_UP), ("https://git.example.org/a/b", "https://git.example.org/a/b")]
)


@ADDRESSES
def test_git_answers_for_the_public_address_or_for_a_made_up_one(monkeypatch, tmp_path, known, address):
    monkeypatch.setattr(launch, "address", lambda: known)
    monkeypatch.setattr(launch.os, "environ", {})
    ran = []
    monkeypatch.setattr(launch.subprocess, "run", lambda command, check, **_: ran.append((command, check)))
    launch.prepare("python", tmp_path)
    assert ran == [(["python", "-m", "ipykernel", "install", "--prefix", tmp_path, "--name", "colab"], True)]
    assert launch.os.environ["JUPYTER_PATH"] == f"{tmp_path}/share/jupyter"
    assert launch.os.environ["GIT_CONFIG_COUNT"] == "1"  # without it git reads none of the two
    assert launch.os.environ["GIT_CONFIG_KEY_0"] == f"url.{ROOT.as_uri()}.insteadOf"
    assert launch.os.environ["GIT_CONFIG_VALUE_0"] == address


@ADDRESSES
def test_the_copy_installs_from_that_address_and_the_chapter_is_left_alone(chapter, monkeypatch, known, address):
    monkeypatch.setattr(launch, "address", lambda: known)
    before, ran = chapter.read_bytes(), kernel(monkeypatch, "1\n")
    assert launch.problems(chapter) == []
    assert ran == [launch_source(address)]
    assert f"git+{address}" in ran[0]
    assert chapter.read_bytes() == before
