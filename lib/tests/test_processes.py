"""Fresh processes: what they find, and when they end."""

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

import pytest

from attnsep.processes import FreshProcesses
from lib.tests.children import run

NAMES = ("signal", "random", "json", "numpy", "tempfile", "socket", "pickle")


def test_files_of_the_folder_are_not_taken_for_pythons_own(tmp_path, monkeypatch):
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken for the real one')")
    monkeypatch.chdir(tmp_path)
    with FreshProcesses(1) as pool:
        assert pool.submit(os.getcwd).result() == os.path.realpath(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["verify", "tensor-trick", "attention-cost", "--jobs", "2"], ["claims"]])
def test_the_command_line_finds_pythons_own_modules(tmp_path, words):
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken for the real one')")
    done = run("-m", "attnsep.cli", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("value", [None, "7"])
def test_variables_reach_the_processes_and_leave_this_one_alone(monkeypatch, value):
    monkeypatch.delenv("TRIED_HERE", raising=False)
    if value is not None:
        monkeypatch.setenv("TRIED_HERE", value)
    before = dict(os.environ)
    with FreshProcesses(1, TRIED_HERE="8") as pool:
        assert pool.submit(os.getenv, "TRIED_HERE").result() == "8"
        assert os.environ == before


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system blocks no signals")
def test_an_interruption_is_left_to_this_process():
    """It is blocked while others are started, who inherit that, and no longer."""
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        with FreshProcesses(1) as pool:
            theirs = pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
        ours = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert signal.SIGINT in theirs
    assert signal.SIGINT not in ours


def test_an_error_does_not_wait_for_the_processes():
    with suppress(KeyError), FreshProcesses(1) as pool:
        pool.submit(os.getpid).result()
        future = pool.submit(time.sleep, 3600)
        raise KeyError
    assert isinstance(future.exception(), BrokenProcessPool)


def test_processes_end_with_the_one_that_started_them():
    """They have its standard output: reading it would wait for them for an hour."""
    code = """
import os, time
from attnsep.processes import FreshProcesses
pool = FreshProcesses(1)
print(pool.submit(os.getpid).result(), flush=True)
pool.submit(time.sleep, 3600)
os._exit(3)
"""
    assert run("-c", code).returncode == 3
