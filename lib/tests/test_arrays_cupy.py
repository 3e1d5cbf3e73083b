"""Where CuPy is installed and no GPU is: make test-cupy."""

import ast
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

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


def test_cupy_has_every_function_that_the_library_asks_of_a_namespace():
    """They stand as xp.name; a GPU must compute them, but to have them CuPy needs none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import array_api_compat.cupy as xp
    files = Path(arrays.__file__).parent.rglob("*.py")
    asked = {name for path in files for name in names_of_xp(path.read_text(encoding="utf-8"))}
    assert {"matmul", "asarray", "max"} < asked
    assert sorted(name for name in asked if not hasattr(xp, name)) == []


def names_of_xp(code):
    found = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute))
    return {node.attr for node in found if isinstance(node.value, ast.Name) and node.value.id == "xp"}


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
