import os

from tools.pictures import pictures, problem, why_not

for name in ("MPLBACKEND", "PYTHONSTARTUP"):
    os.environ.pop(
        name, None
    )  # kernels draw into their cells and run nothing before them

DRAWN_ELSEWHERE = why_not()


def pytest_report_header():
    """Say where pictures are left out."""
    if DRAWN_ELSEWHERE:
        return f"pictures are not compared: {DRAWN_ELSEWHERE}"
    return "pictures are compared"


def pytest_collectstart(collector):
    """Leave stderr out: warnings differ between machines.

    The library's own warnings are errors in the unit tests instead.
    """
    if collector.fspath and collector.fspath.ext == ".ipynb":
        collector.skip_compare += ("stderr",)


def pytest_itemcollected(item):
    """Let nbval, which leaves pictures out, compare them too."""
    if DRAWN_ELSEWHERE or not hasattr(item, "compare_outputs"):
        return
    texts_agree = item.compare_outputs

    def all_agree(fresh, stored, skip_compare=None):
        if not texts_agree(fresh, stored, skip_compare):
            return False
        found = problem(pictures(stored), pictures(fresh))
        if found:
            item.comparison_traceback.append(
                f"{found}. If the new picture is right, "
                "`make notebooks` stores it."
            )
        return not found

    item.compare_outputs = all_agree
