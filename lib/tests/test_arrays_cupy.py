"""Where CuPy is installed and no GPU is: make test-cupy."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from attnsep import arrays

if find_spec("cupy") is None:  # the step "fallback" of `make test-cupy` then finds no test at all, which is a failure
    pytest.skip("needs CuPy, and no GPU: make test-cupy", allow_module_level=True)

TWO_CHECKS = """
from attnsep.arrays import backend_name, namespace
from attnsep.claims import check
check("tensor-trick")
check("tensor-trick")
print(backend_name(namespace()))
"""


@pytest.fixture(autouse=True)
def _no_gpu():
    try:
        arrays.namespace("cupy")
    except RuntimeError:
        return
    pytest.skip("CuPy runs here, so there is nothing to fall back from")


def run(surroundings, *words, **variables):
    return subprocess.run([sys.executable, *words], env=surroundings | variables, capture_output=True, text=True)


def test_left_to_itself_the_book_computes_with_numpy_and_says_so_once(surroundings):
    found = run(surroundings, "-c", TWO_CHECKS)
    assert (found.returncode, found.stdout.splitlines()[-1]) == (0, "numpy")
    (sentence,) = found.stderr.splitlines()
    assert sentence.startswith("attnsep: CuPy is installed but cannot run here (")


@pytest.mark.parametrize(("words", "variables"), [(("--backend", "cupy"), {}), ((), {"ATTNSEP_BACKEND": "cupy"})])
def test_asked_for_cupy_it_stops_with_one_sentence(surroundings, words, variables):
    found = run(surroundings, "-m", "attnsep.cli", "verify", *words, **variables)
    assert (found.returncode, found.stdout) == (2, "")
    (sentence,) = found.stderr.splitlines()
    assert "CuPy cannot run here (" in sentence
