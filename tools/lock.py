"""Pin the newest versions that pyproject.toml allows for the extra `dev`, for every platform, in requirements.lock."""

import subprocess
import sys

from tools.files import ROOT, write

HEADER = "# Made by `make lock` from pyproject.toml; the stored outputs were made with these versions.\n"


def main():
    """Write requirements.lock; it names packages and versions, and no host."""
    options = "--extra dev --universal --python-version 3.11 --no-header --no-annotate --no-emit-index-url --quiet"
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", *options.split()]
    pins = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    own = [line for line in pins.splitlines() if not line.startswith("attnsep")]
    if any("://" in line for line in own):
        raise SystemExit("requirements.lock: a pin names a host; nothing was written")
    write(ROOT / "requirements.lock", HEADER + "\n".join(own) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
