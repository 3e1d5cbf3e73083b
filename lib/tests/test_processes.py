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
        assert pool.submit(os.getenv, key="TRIED_HERE").result() == "8"
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


@pytest.fixture
def ended():
    """An executor that takes no work any more, and whose processes would have had a variable."""
    with FreshProcesses(1, TRIED_HERE="8") as pool:
        return pool


def test_work_that_cannot_be_given_leaves_the_variables_alone(ended):
    before = dict(os.environ)
    with pytest.raises(RuntimeError):
        ended.submit(os.getpid)
    assert os.environ == before


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="this system blocks no signals")
@pytest.mark.parametrize("how", ["SIG_BLOCK", "SIG_UNBLOCK"])
def test_work_that_cannot_be_given_leaves_interruptions_as_they_were(ended, how):
    before = signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT})
    try:
        with pytest.raises(RuntimeError):
            ended.submit(os.getpid)
        now = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    assert (signal.SIGINT in now) is (how == "SIG_BLOCK")


def test_work_that_was_given_is_done_before_the_processes_end():
    with FreshProcesses(1) as pool:
        future = pool.submit(sum, range(10**6))
    assert future.result() == 499999500000


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
