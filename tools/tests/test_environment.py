import sys

import pytest

from tools import environment


def test_an_old_python_is_too_old_for_every_environment(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 10, 9))
    for kind in ("locked", "oldest", "newest", "cupy", "oracles", "mutants"):
        assert environment.missing(kind).startswith("This project needs Python 3.11 or newer, but ")


def test_the_oldest_versions_need_the_oldest_python(monkeypatch):
    monkeypatch.setattr("sys.version_info", (3, 11, 4))
    assert environment.missing("oldest") is None
    monkeypatch.setattr("sys.version_info", (3, 13, 0))
    sentence = environment.missing("oldest")
    assert sentence.startswith("The oldest versions are tested with Python 3.11 alone, but ")
    assert sentence.endswith("is 3.13. Name another one: make PYTHON=python3.11 test-oldest")


def test_there_is_no_cupy_for_macos(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert "macOS" in environment.missing("cupy")
    assert environment.missing("locked") is None


def test_only_the_newest_and_the_oldest_pass_by_the_lock():
    for kind in ("locked", "cupy", "oracles", "mutants"):
        assert "requirements.lock" in str(environment.installs(kind, "python"))
    assert "requirements.lock" not in str(environment.installs("newest", "python"))
    assert "lowest-direct" in environment.installs("oldest", "python")[-1]


@pytest.mark.parametrize("kind", ["oracles", "mutants"])
def test_the_extras_come_with_all_that_the_tests_need(kind):
    assert environment.installs(kind, "python")[-1][-1] == f".[dev,{kind}]"


def test_colabs_kernel_comes_without_this_project():
    (command,) = environment.installs("colab", "python")
    assert command[-4:] == ["numpy==2.0.*", "matplotlib==3.10.*", "ipython==7.34.*", "ipykernel==6.17.*"]


def test_cupy_comes_without_cudas_libraries():
    assert environment.cupy().startswith("cupy-cuda12x>=")


def test_a_failed_install_leaves_no_ready_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(environment, "installs", lambda kind, python: [[sys.executable, "-c", "raise SystemExit(1)"]])
    monkeypatch.setattr(environment.subprocess, "check_call", pretend(environment.subprocess.check_call))
    folder = tmp_path / ".venv-newest"
    assert environment.main(str(folder)) == 1
    assert "could not be made" in capsys.readouterr().err
    assert not (folder / ".ready").exists()


def pretend(check_call):
    """Run every command but the one that makes a virtual environment, which takes seconds."""

    def call(command, **options):
        if "venv" in command:
            from pathlib import Path

            Path(command[-1]).mkdir()
            return 0
        return check_call(command, **options)

    return call


@pytest.mark.parametrize("kind", ["oldest", "newest", "cupy", "oracles", "mutants", "colab"])
def test_the_folders_name_says_the_kind(kind, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(environment, "missing", lambda kind: asked.append(kind) or "stop here")
    assert environment.main(str(tmp_path / f".venv-{kind}")) == 1
    assert asked == [kind]


def test_the_environment_finds_the_project_by_a_path_without_letters_of_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packages = tmp_path / ".venv/lib/python3.11/site-packages"
    packages.mkdir(parents=True)
    path = packages / "__editable__.attnsep-0.1.0.pth"
    path.write_text("/mein Büch (1)/lib\n", encoding="utf-8")
    environment.point_here(".venv")
    assert path.read_bytes() == b"../../../../lib\n"
