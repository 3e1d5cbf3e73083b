"""Open every chapter as Colab does, alone and without the library: python -m tools.launch .venv-colab [chapter ...]

Each notebook is copied into an empty folder and run from top to bottom by the environment's own kernel, which lacks
attnsep: the first cell must install it.  Git answers for the public address with the last commit of this repository,
so nothing needs to be published; where there is no address yet, the copies get a made-up one.  Afterwards what the
cell installed is removed, and the outputs must be the stored ones.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from tqdm import tqdm

from tools.address import address, launch_source
from tools.files import CHAPTERS, ROOT
from tools.notebooks import merged

COLAB = "import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')"
MADE_UP = "https://example.org/owner/name"  # a host that nobody can own


def prepare(python, folder):
    """Set what the kernels inherit: their kernel's place, and where git looks for the public address."""
    os.environ |= {
        "JUPYTER_PATH": f"{folder}/share/jupyter",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": address() or MADE_UP,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else every kernel speaks of frozen modules
    }
    install = [python, "-m", "ipykernel", "install", "--prefix", folder, "--name", "colab"]
    subprocess.run(install, check=True, stderr=subprocess.DEVNULL)  # it warns that the place is unusual


def installed(python):
    """Return the names of the environment's packages."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], check=True, capture_output=True, text=True
    )
    return {line.partition("==")[0] for line in listed.stdout.splitlines()}


def problems(path):
    """Run a copy of a notebook alone and return what differs from its stored outputs, as sentences."""
    stored = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        alone = nbformat.read(shutil.copy(path, folder), as_version=4)
        for cell in alone.cells:
            if cell.get("id") == "launch":
                cell.source = launch_source(address() or MADE_UP)
        arguments = ["--log-level=ERROR", f"--IPKernelApp.exec_lines={COLAB}"]
        place = {"metadata": {"path": folder}}
        client = NotebookClient(alone, timeout=600, kernel_name="colab", resources=place, extra_arguments=arguments)
        try:
            client.execute()
        except CellExecutionError as error:
            return [f"{path.stem}: {error}"]
    pairs = zip(stored.cells, alone.cells, strict=True)
    return [
        f"{path.stem}: prints {printed(now)!r}, stored is {printed(before)!r}"
        for before, now in pairs
        if before.cell_type == "code" and before.get("id") != "launch" and printed(before) != printed(now)
    ]


def printed(cell):
    """Return all that a code cell printed."""
    return "".join(output.text for output in merged(cell.outputs) if output.get("name") == "stdout")


def main(environment, *chapters):
    """Run the chapters, all where none is named; return the exit status."""
    python = str(Path(environment).absolute() / "bin" / "python")
    paths = [path for path in sorted(CHAPTERS.glob("*.ipynb")) if not chapters or path.stem in chapters]
    if len(paths) < len(chapters) or not paths:
        print(f"{', '.join(chapters)}: must be names of chapters", file=sys.stderr)
        return 2
    found = []
    with tempfile.TemporaryDirectory() as folder:
        prepare(python, folder)
        before = installed(python)
        if "attnsep" in before:
            print(f"{environment}: has attnsep already; remove the folder and run again", file=sys.stderr)
            return 2
        for path in tqdm(paths, unit="chapter", disable=None, leave=False):
            found += problems(path)
            if "attnsep" not in (after := installed(python)):
                found.append(f"{path.stem}: the first cell did not install attnsep")
            subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", *sorted(after - before)], check=True)
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{len(paths)} chapters opened alone, {len(found)} problems")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
