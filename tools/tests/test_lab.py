"""Copies follow the book until a reader changes them; JupyterLab is started where it can work."""

import json
import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import nbformat
import pytest

from tools import lab


@pytest.fixture
def book(tmp_path):
    """Return a book with two chapters and a page."""
    folder = tmp_path / "chapters"
    folder.mkdir()
    write_chapter(folder / "one.ipynb", "1 + 1", "2")
    write_chapter(folder / "two.ipynb", "2 + 2", "4")
    (folder / "page.md").write_text("A page.")
    (folder / "conftest.py").write_text("")
    return folder


@pytest.fixture
def copies(tmp_path):
    return tmp_path / "_build" / "lab"


def write_chapter(path, source, output=None, **metadata):
    outputs = [nbformat.v4.new_output("stream", text=output)] if output else []
    cell = nbformat.v4.new_code_cell(source, id="a-cell", outputs=outputs, execution_count=1, metadata=metadata)
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=metadata), path)


def source(path):
    return nbformat.read(path, as_version=4).cells[0].source


def test_chapters_and_pages_are_copied_and_nothing_else(book, copies):
    assert lab.refresh(book, copies) == []
    assert {path.name for path in copies.iterdir()} == {"one.ipynb", "two.ipynb", "page.md", lab.RECORD}
    assert (copies / "one.ipynb").read_bytes() == (book / "one.ipynb").read_bytes()


def test_what_an_editor_keeps_in_a_folder_of_its_own_is_no_chapter(book, copies):
    (book / ".ipynb_checkpoints").mkdir()
    write_chapter(book / ".ipynb_checkpoints/one-checkpoint.ipynb", "1 + 0")
    assert lab.refresh(book, copies) == []
    assert not (copies / "one-checkpoint.ipynb").exists()


def test_an_unchanged_copy_follows_the_book(book, copies):
    lab.refresh(book, copies)
    write_chapter(book / "one.ipynb", "1 + 2", "3")
    (book / "page.md").write_text("Another page.")
    assert lab.refresh(book, copies) == []
    assert source(copies / "one.ipynb") == "1 + 2"
    assert (copies / "page.md").read_text() == "Another page."


def test_a_changed_copy_is_left_alone_and_named_while_the_book_has_a_newer_one(book, copies):
    lab.refresh(book, copies)
    write_chapter(copies / "one.ipynb", "1 + 5", "6")
    (copies / "page.md").write_text("My notes.")
    mine = {name: (copies / name).read_bytes() for name in ("one.ipynb", "page.md")}
    assert lab.refresh(book, copies) == []  # the book has nothing newer
    write_chapter(book / "one.ipynb", "1 + 2", "3")
    (book / "page.md").write_text("Another page.")
    for _ in range(2):
        assert lab.refresh(book, copies) == ["one.ipynb", "page.md"]
        assert mine == {name: (copies / name).read_bytes() for name in mine}
    (copies / "one.ipynb").rename(copies / "mine.ipynb")
    assert lab.refresh(book, copies) == ["page.md"]
    assert source(copies / "one.ipynb") == "1 + 2"
    assert source(copies / "mine.ipynb") == "1 + 5"


def test_running_and_saving_a_copy_changes_nothing_that_must_be_kept(book, copies):
    lab.refresh(book, copies)
    write_chapter(copies / "one.ipynb", "1 + 1", "2 at another time", editable=True)
    ran = (copies / "one.ipynb").read_bytes()
    lab.refresh(book, copies)
    assert (copies / "one.ipynb").read_bytes() == ran  # outputs stay for as long as the book's do
    write_chapter(book / "one.ipynb", "1 + 1", "two")
    assert lab.refresh(book, copies) == []
    assert (copies / "one.ipynb").read_bytes() == (book / "one.ipynb").read_bytes()


def test_a_reader_who_made_the_same_change_as_the_book_is_not_told_of_it(book, copies):
    lab.refresh(book, copies)
    write_chapter(copies / "one.ipynb", "1 + 2")
    write_chapter(book / "one.ipynb", "1 + 2", "3")
    assert lab.refresh(book, copies) == []


@pytest.mark.parametrize("damage", ["", "no JSON", "[]", '{"one.ipynb": 1}', '{"one.ipynb": ["a"]}'])
def test_without_its_record_no_changed_copy_is_lost(book, copies, damage):
    lab.refresh(book, copies)
    write_chapter(copies / "one.ipynb", "1 + 5", "6")
    (copies / lab.RECORD).write_text(damage)
    assert lab.refresh(book, copies) == ["one.ipynb"]
    assert source(copies / "one.ipynb") == "1 + 5"


def test_a_damaged_notebook_counts_as_changed(book, copies):
    lab.refresh(book, copies)
    (copies / "one.ipynb").write_text('{"cells": [{"cell_type": "code"')
    write_chapter(book / "one.ipynb", "1 + 2", "3")
    assert lab.refresh(book, copies) == ["one.ipynb"]


def test_a_chapter_that_left_the_book_leaves_unless_it_was_changed(book, copies):
    lab.refresh(book, copies)
    write_chapter(copies / "two.ipynb", "2 + 5", "7")
    (copies / "own.ipynb").write_text("{}")
    (copies / "page.md").unlink()  # the reader removed it, too
    for name in ("one.ipynb", "two.ipynb", "page.md"):
        (book / name).unlink()
    assert lab.refresh(book, copies) == []
    assert {path.name for path in copies.iterdir()} == {"two.ipynb", "own.ipynb", lab.RECORD}


def test_a_copy_that_the_reader_deleted_to_get_the_books_comes_back(book, copies):
    """As the sentence about a newer one tells them to do; also where the book has not changed since."""
    lab.refresh(book, copies)
    (copies / "one.ipynb").unlink()
    assert lab.refresh(book, copies) == []
    assert (copies / "one.ipynb").read_bytes() == (book / "one.ipynb").read_bytes()


def test_a_new_chapter_does_not_replace_a_readers_file_of_that_name(book, copies):
    lab.refresh(book, copies)
    write_chapter(copies / "new.ipynb", "mine")
    write_chapter(book / "new.ipynb", "the book's")
    assert lab.refresh(book, copies) == ["new.ipynb"]
    assert source(copies / "new.ipynb") == "mine"


def test_a_picture_in_a_text_cell_is_a_change():
    cell = {"cell_type": "markdown", "source": "Look.", "metadata": {}}
    picture = {"attachments": {"a.png": {"image/png": "AAAA"}}}
    texts = [lab.text_of(json.dumps({"cells": [cell | more]}).encode()) for more in ({}, picture)]
    assert texts[0] != texts[1]


def test_kernels_show_figures_whatever_the_surroundings_say(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("JUPYTER_TOKEN", "chosen")
    monkeypatch.setattr(lab, "writable_places", lambda: {"JUPYTER_RUNTIME_DIR": "elsewhere"})
    found = lab.surroundings()
    assert not lab.FOR_OTHERS & found.keys()
    assert found["JUPYTER_TOKEN"] == "chosen"
    assert found["JUPYTER_RUNTIME_DIR"] == "elsewhere"
    monkeypatch.delenv("JUPYTER_TOKEN")
    assert len(lab.surroundings()["JUPYTER_TOKEN"]) >= 32


SERVER = """
import json, os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
about = {"pid": os.getpid(), "url": "http://localhost:8889/", "token": os.environ["JUPYTER_TOKEN"]}
pathlib.Path(os.environ["JUPYTER_RUNTIME_DIR"], f"jpserver-{os.getpid()}.json").write_text(json.dumps(about))
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_address_is_printed_with_its_token_and_ctrl_c_ends_the_server(tmp_path, monkeypatch, capsys, number):
    monkeypatch.setattr(lab, "JUPYTERLAB", ("-c", SERVER))
    monkeypatch.setattr(lab, "surroundings", lambda: {"JUPYTER_RUNTIME_DIR": str(tmp_path), "JUPYTER_TOKEN": "secret"})
    handlers = {}
    monkeypatch.setattr(lab.signal, "signal", lambda number, handler: handlers.update({number: handler}))
    wait = lab.subprocess.Popen.wait
    monkeypatch.setattr(
        lab.subprocess.Popen, "wait", lambda self, *rest: handlers.pop(number)(number, None) or wait(self, *rest)
    )
    assert lab.serve(tmp_path, "index.ipynb", "Here it is.") == 0
    out = capsys.readouterr().out
    assert "Here it is.\n\n    http://localhost:8889/lab/tree/index.ipynb?token=secret\n" in out


@pytest.mark.parametrize(
    ("program", "status"), [("raise SystemExit(3)", 3), ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 0)]
)
def test_a_server_that_cannot_start_is_a_failure_and_one_that_is_ended_before_is_none(
    tmp_path, monkeypatch, program, status
):
    monkeypatch.setattr(lab, "JUPYTERLAB", ("-c", program))
    monkeypatch.setattr(lab.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(lab, "surroundings", lambda: {"JUPYTER_RUNTIME_DIR": str(tmp_path)})
    assert lab.serve(tmp_path, "index.ipynb", "Here it is.") == status


@pytest.mark.parametrize(("token", "ending"), [("secret", "?token=secret"), ("", "")], ids=["token", "password"])
def test_of_all_servers_this_one_is_named_and_ctrl_c_reaches_this_process_alone(
    tmp_path, monkeypatch, capsys, token, ending
):
    """Whoever set a password has no token; who ends the server has not made it fail."""
    started, handled = [], []
    others = {"pid": 6, "url": "http://localhost:8888/", "token": "theirs"}
    own = {"pid": 7, "url": "http://localhost:8889/", "token": token}
    polls = iter([None])  # so that no address is waited for in vain
    server = SimpleNamespace(pid=7, poll=lambda: next(polls, 1), returncode=1, wait=lambda: -15)
    monkeypatch.setattr(
        lab.subprocess, "Popen", lambda command, **options: started.append((command, options)) or server
    )
    monkeypatch.setattr(lab.signal, "signal", lambda number, handler: handled.append(number))
    monkeypatch.setattr(lab, "surroundings", lambda: {"JUPYTER_RUNTIME_DIR": "there"})
    monkeypatch.setattr(lab, "list_running_servers", lambda folder: [others, own] if folder == "there" else [])
    assert lab.serve(tmp_path, "index.ipynb", "Here it is.") == 0
    address = f"http://localhost:8889/lab/tree/index.ipynb{ending}"
    assert capsys.readouterr().out == f"Here it is.\n\n    {address}\n\nCtrl-C ends it.\n"
    assert handled == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]  # the last one where a terminal is closed
    ((command, options),) = started
    assert command == [sys.executable, *lab.JUPYTERLAB, f"--ServerApp.root_dir={tmp_path}"]
    assert options == {"env": lab.surroundings(), "stdin": subprocess.DEVNULL, "process_group": 0}


def test_without_a_place_of_its_own_jupyters_usual_one_is_searched(tmp_path, monkeypatch, capsys):
    own = {"pid": 7, "url": "http://localhost:8889/", "token": ""}
    polls = iter([None])
    server = SimpleNamespace(pid=7, poll=lambda: next(polls, 1), returncode=1, wait=lambda: 0)
    monkeypatch.setattr(lab.subprocess, "Popen", lambda command, **options: server)
    monkeypatch.setattr(lab.signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(lab, "surroundings", dict)
    monkeypatch.setattr(lab, "jupyter_runtime_dir", lambda: "usual")
    monkeypatch.setattr(lab, "list_running_servers", {"usual": [own]}.get)
    assert lab.serve(tmp_path, "index.ipynb", "Here it is.") == 0
    assert "http://localhost:8889/" in capsys.readouterr().out


@pytest.mark.parametrize(("own", "more"), [(None, []), ("", []), ("/mine:/ours", ["/mine", "/ours"])])
def test_the_settings_of_the_user_count_after_the_books(monkeypatch, own, more):
    """An empty path would mean the folder that JupyterLab is started in."""
    monkeypatch.setattr(lab, "writable_places", dict)
    monkeypatch.delenv("JUPYTER_CONFIG_PATH", raising=False)
    if own is not None:
        monkeypatch.setenv("JUPYTER_CONFIG_PATH", own)
    found = lab.surroundings()
    assert found["JUPYTER_CONFIG_PATH"].split(os.pathsep) == [lab.CONFIG, *more]
    assert found["JUPYTER_PREFER_ENV_PATH"] == "1", "a kernel of the same name in HOME would run the chapters"


def test_an_empty_token_is_none_and_nobody_gets_in_without_one(monkeypatch):
    monkeypatch.setattr(lab, "writable_places", dict)
    monkeypatch.setenv("JUPYTER_TOKEN", "")
    assert len(lab.surroundings()["JUPYTER_TOKEN"]) >= 32


def test_a_place_that_cannot_be_written_is_not_used_although_it_is_named(monkeypatch):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", "/nowhere")
    monkeypatch.setattr(lab, "writable_places", lambda: {"JUPYTER_RUNTIME_DIR": "elsewhere"})
    assert lab.surroundings()["JUPYTER_RUNTIME_DIR"] == "elsewhere"


def test_the_sentence_about_a_newer_one_names_the_readers_copy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lab, "serve", lambda folder, page, explanation: 0)
    monkeypatch.setattr(lab, "refresh", lambda book, copies: ["one.ipynb"])
    monkeypatch.chdir(tmp_path)
    assert lab.main("mine") == 0
    mine = os.path.join("mine", "one.ipynb")
    assert capsys.readouterr().out.startswith(f"{mine}: you changed it, and the book has a newer one.")


def test_the_verb_opens_copies_or_the_chapters_themselves(tmp_path, monkeypatch, capsys):
    opened = []
    monkeypatch.setattr(lab, "serve", lambda folder, page, explanation: opened.append((folder, page)) or 0)
    monkeypatch.setattr(lab, "refresh", lambda book, copies: ["one.ipynb"])
    assert lab.main(str(tmp_path)) == lab.main("--edit") == 0
    assert opened == [(tmp_path, "index.ipynb"), (lab.ROOT, "chapters/index.ipynb")]
    (sentence,) = capsys.readouterr().out.splitlines()
    assert "one.ipynb: you changed it, and the book has a newer one." in sentence
