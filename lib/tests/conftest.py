from importlib.util import find_spec

import numpy as np
import pytest

from attnsep.arrays import namespace

# A machine that lends its GPU may lack what fuzzing needs.
NEEDED = ("hypothesis", "array_api_strict", "matplotlib", "flint", "sympy")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["*fuzz*.py", "strategies.py", "*parameters.py"]


# Hundreds of tests that are always skipped would hide one that should not be.
LIBRARIES = ["numpy", "array_api_strict", *(["cupy"] if find_spec("cupy") else [])]


@pytest.fixture(params=LIBRARIES)
def xp(request):
    """Every core function passes the same tests on each array library; the strict one stands in for a GPU."""
    if request.param == "array_api_strict":  # a machine that lends its GPU may lack it
        pytest.importorskip(request.param)
    try:
        return namespace(request.param)
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture
def rng():
    return np.random.default_rng(20231017)
