"""Compare the ratchet with the commits before: its lines are added to, never changed: python -m tools.ratchet

The check of the ratchet itself (attnsep verify --compare) uses no history; this one does, where there is some.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RATCHET = "lib/attnsep/ledger/ratchet.jsonl"
BEFORE = "lib/attnsep/claims/ratchet.jsonl"  # until version 2


def main(root=ROOT):
    """Return 1, and say which commit had another beginning, unless every committed ratchet begins today's."""
    commits = git(root, "log", "--first-parent", "--format=%H", "--", RATCHET, BEFORE)
    if commits is None:
        print("There is no history here to compare the ratchet with.")
        return 0
    now, wrong = (root / RATCHET).read_bytes(), []
    for commit in commits.decode().split():
        then = git(root, "show", f"{commit}:{RATCHET}") or git(root, "show", f"{commit}:{BEFORE}")
        if then is not None and not now.startswith(then):
            wrong.append(commit[:12])
    for commit in wrong:
        print(
            f"{RATCHET}: a line that commit {commit} had was changed or removed; lines are only added", file=sys.stderr
        )
    print(f"The ratchet was compared with {len(commits.split())} commits, {len(wrong)} differ.")
    return int(bool(wrong))


def git(root, *words):
    """Return what git prints in a folder, as bytes, or None where it fails or is missing."""
    # This folder's history counts, not the one that GIT_DIR and its like may name.
    kept = {name for name in os.environ if not name.startswith("GIT_") or name == "GIT_CEILING_DIRECTORIES"}
    environment = {name: os.environ[name] for name in kept}
    try:
        return subprocess.run(["git", *words], cwd=root, env=environment, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    sys.exit(main())
