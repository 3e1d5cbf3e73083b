"""Each check of the fallback accepts one run and rejects runs with one fault."""

import pytest

from tools.cupy_fallback import SENTENCE, automatic_problems, forced_problems

AUTO = {"code": 0, "out": "holds\nholds\nnumpy\n", "err": f"{SENTENCE}no driver), so NumPy computes.\n"}
FORCED = {"code": 2, "out": "", "err": "attnsep: backend cupy: CuPy cannot run here (no driver); use auto\n"}


def test_good_runs():
    assert automatic_problems(**AUTO) == []
    assert forced_problems(**FORCED) == []


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"code": 1}, "exit status 1"),
        ({"out": "holds\nholds\ncupy\n"}, "did not compute with NumPy"),
        ({"out": ""}, "did not compute with NumPy"),
        ({"err": ""}, "must say once"),
        ({"err": 2 * AUTO["err"]}, "must say once"),
        ({"err": "UserWarning: x\n"}, "must say once"),
    ],
)
def test_an_automatic_run_with_one_fault(fault, problem):
    (found,) = automatic_problems(**AUTO | fault)
    assert problem in found


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ({"code": 1}, "exit status 1"),
        ({"out": "ok"}, "nothing on stdout"),
        ({"err": "Traceback (most recent call last):\n" + FORCED["err"]}, "in one line"),
        ({"err": "no\n"}, "in one line"),
    ],
)
def test_a_forced_run_with_one_fault(fault, problem):
    (found,) = forced_problems(**FORCED | fault)
    assert problem in found
