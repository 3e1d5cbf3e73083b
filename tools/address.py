"""Write the repository's public address wherever it stands: python -m tools.address https://github.com/me/book"""

import re
import subprocess
import sys

from tools.files import ROOT, store
from tools.notebooks import address

PUBLIC = re.compile(r"https://[\w.-]+(/[\w.-]+){2}(?<!\.git)")


def rewritten(old, new, root=ROOT):
    """Return {path: text} of the repository's files that name the old address, with the new one."""
    found = subprocess.run(["git", "grep", "-lIF", old], cwd=root, capture_output=True, text=True).stdout
    texts = {root / name: (root / name).read_text(encoding="utf-8") for name in found.splitlines()}
    return {path: text.replace(old, new) for path, text in texts.items()}


def main(new=""):
    """Write it; return the exit status."""
    if not PUBLIC.fullmatch(new):
        print(f"URL={new}: must be https://host/owner/repository, without .git at its end", file=sys.stderr)
        return 2
    texts = rewritten(address(), new)
    kept = store(texts) if new != address() else []
    print(f"{new} stands in {len(texts)} files.")
    return int(bool(kept))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
