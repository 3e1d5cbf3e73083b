"""What a test may rely on, whatever surrounds it: one that needs a setting states it, by these fixtures or itself."""

import gc
import os
import sys
import zlib

import pytest

gc.disable()  # until all is collected: thousands of tests and all modules, which stay to the end


def pytest_collection_finish():
    """Let the garbage collector begin, and pass over what is there so far."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(items):
    """Mark three quarters of the cases of a quartered test as slow, whatever parameters take turns in them."""
    for item in items:
        if item.get_closest_marker("quartered") and zlib.crc32(item.name.encode()) % 4:
            item.add_marker("slow")


@pytest.fixture
def nothing_set(monkeypatch):
    """Let the variables that the library reads be unset, as for most people, and those of which `bench` warns."""
    from attnsep.bench.measure import BLAS_SETTINGS

    for name in [name for name in os.environ if name.startswith("ATTNSEP_") or name in BLAS_SETTINGS]:
        monkeypatch.delenv(name)


@pytest.fixture
def doctest_namespace(nothing_set):
    """Let every example do what the documentation says; pytest asks for this fixture before it runs one."""
    return {}


@pytest.fixture
def surroundings(tmp_path_factory):
    """Return the whole environment for a child process: it finds the packages that this process finds, and no more."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path_factory.mktemp("home")),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1",  # small products: starting threads would take a third of a child's time
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


@pytest.fixture
def contenders_here(monkeypatch):
    """Let contenders take few turns, in this process and on a quiet machine: starting another one takes seconds."""
    from concurrent.futures import Future

    from attnsep.bench import measure

    class Here:
        def __init__(self, jobs, **environment):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def submit(self, function, *arguments):
            future = Future()
            future.set_result(function(*arguments))
            return future

    monkeypatch.setattr(measure, "FreshProcesses", Here)
    monkeypatch.setattr(measure, "load", lambda seconds=1.0: 0.0)
    monkeypatch.setattr(measure, "WIDEST", float("inf"))  # calls of microseconds would hardly ever settle
    measure._made.cache_clear()
    yield
    measure._made.cache_clear()
