"""Fresh Python processes, for work that is done side by side."""

import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

ENDED = "one of the processes was ended from outside, or memory ran out; try again, perhaps with fewer"


class FreshProcesses(ProcessPoolExecutor):
    """An executor of fresh Python processes, used in a `with` block; left by an error, it ends them at once.

    Parameters
    ----------
    jobs : int
        How many.
    **environment : str
        Environment variables for them, beside those of this process.

    Notes
    -----
    They are no forks: a fork of a process whose BLAS has threads may hang.  They do not look for modules in the folder
    where they are started, where a file ``signal.py`` of the user's would be taken for Python's own.  An interruption
    from the keyboard is left to this process, and when it is gone, they go as well.

    A process that something else ends gives a ``BrokenProcessPool``, as in every such executor.
    """

    def __init__(self, jobs, **environment):
        self._environment = {"PYTHONSAFEPATH": "1"} | environment
        theirs, self._ours = multiprocessing.Pipe(duplex=False)
        with _changed(self._environment):  # a helper of multiprocessing starts here
            super().__init__(jobs, multiprocessing.get_context("spawn"), initializer=_end_with, initargs=(theirs,))

    def submit(self, function, /, *arguments, **named):
        """Let a process compute ``function(*arguments, **named)``; return the future of what it returns."""
        with _changed(self._environment), _without_interruption():
            return super().submit(function, *arguments, **named)

    def __exit__(self, kind, error, trace):
        """End the processes: after their work, or at once where an error leaves the block."""
        if kind is not None:
            self._ours.close()
        return super().__exit__(kind, error, trace)


def _end_with(pipe):
    """Let this process end when the other end of the pipe is closed, or is gone with its process."""

    def wait():
        try:
            pipe.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def _changed(variables):
    """Give environment variables other values, for processes that are started in the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _without_interruption():
    """Start processes that never see Ctrl-C: what is blocked here is blocked in them from the first moment on."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
