"""A warning that our code causes is an error, whatever PYTHONWARNINGS says, and other people's warnings are not."""

import re
import subprocess
import sys

import pytest

from tools.files import ROOT

# Each is run as if it stood in a module of that name.
OURS = {
    "attnsep.attention.kernels": "import warnings; warnings.warn('ours')",
    "attnsep.claims.golden_ratio": "import numpy; numpy.float64(1) / numpy.float64(0)",
    "attnsep": "import numpy; numpy.var(numpy.zeros(0))  # NumPy names its own module",
    "lib.tests.test_kernels": "from old import old; old()",
    "tools.steps": "open(path)",
    "web.conftest": "raise_in_thread()",
}
OTHERS = {
    "attnseparate": "import warnings; warnings.warn('not ours')",
    "matplotlib.pyplot": "from old import old; old()",
    "toolset": "open(path)",
}
FILE = """
import threading, warnings
import pytest

def raise_in_thread():
    thread = threading.Thread(target=exec, args=("raise ValueError('unseen')", {"__name__": "web"}))
    thread.start()
    thread.join()

@pytest.mark.parametrize(("module", "code"), CASES)
def test_it(module, code):
    exec(code, {"__name__": module, "path": __file__, "raise_in_thread": raise_in_thread})
"""
OLD = "import warnings\ndef old():\n    warnings.warn('old', DeprecationWarning, stacklevel=2)\n"


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["error", "ignore"])
def test_whose_warnings_are_errors(tmp_path, surroundings, wanted):
    (tmp_path / "old.py").write_text(OLD)
    (tmp_path / "test_it.py").write_text(FILE.replace("CASES", repr([*OURS.items(), *OTHERS.items()])))
    words = ["-m", "pytest", "-rA", "-c", ROOT / "pyproject.toml", f"--rootdir={tmp_path}", "test_it.py"]
    settings = surroundings | {"PYTHONWARNINGS": wanted, "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    settings["PYTHONPATH"] += f":{tmp_path}"
    run = subprocess.run([sys.executable, *words], cwd=tmp_path, env=settings, capture_output=True, text=True)
    found = {word: set(re.findall(rf"^{word} .*\[(.*?)-", run.stdout, re.MULTILINE)) for word in ("FAILED", "PASSED")}
    assert found == {"FAILED": OURS.keys(), "PASSED": OTHERS.keys()}, (
        f"{run.stdout}\nWarnings of our modules must be errors, those of others not: filterwarnings in pyproject.toml"
    )
