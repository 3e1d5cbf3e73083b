import os

for name in ("MPLBACKEND", "PYTHONSTARTUP"):
    os.environ.pop(
        name, None
    )  # kernels draw into their cells and run nothing before them


def pytest_collectstart(collector):
    """Leave stderr out: warnings differ between machines.

    The library's own warnings are errors in the unit tests instead.
    """
    if collector.fspath and collector.fspath.ext == ".ipynb":
        collector.skip_compare += ("stderr",)
