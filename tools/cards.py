"""Judge the attentions of examples that others wrote, and store their cards: python -m tools.cards [adapter ...]

Each runs in a process of its own, in the environment of `make cards`. With adapters, such as pytorch_sdpa:scale_1, the
others keep their rows. What cannot run on a CPU has a row with the reason.
"""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from attnsep.reportcard.cards import cards_path, cards_text, read_cards
from tools.files import ROOT, store

EXAMPLES = ROOT / "examples"
SECONDS = 100
# What the book calls it, its place in examples, and the packages whose versions count.
ADAPTERS = (
    ("PyTorch, scale 1/√d", "pytorch_sdpa:default_scale", ("torch",)),
    ("PyTorch, scale 1", "pytorch_sdpa:scale_1", ("torch",)),
    ("JAX, scale 1/√d", "jax_dot_product:default_scale", ("jax", "jaxlib")),
    ("JAX, scale 1", "jax_dot_product:scale_1", ("jax", "jaxlib")),
    ("1.5-entmax", "entmax_weights:entmax15", ("entmax", "torch")),
    ("sparsemax", "entmax_weights:sparsemax", ("entmax", "torch")),
    ("x-transformers", "x_transformers_attend:attention", ("x-transformers", "torch")),
    ("x-transformers, top 16", "x_transformers_attend:topk16", ("x-transformers", "torch")),
    ("local-attention", "local_windows:attention", ("local-attention", "torch")),
    ("performer-pytorch", "performer_features:attention", ("performer-pytorch", "torch")),
    ("nystrom-attention", "nystrom_landmarks:attention", ("nystrom-attention", "torch")),
    ("linear-attention-transformer", "linear_transformer:attention", ("linear-attention-transformer", "torch")),
    ("flash-linear-attention, naive", "fla_linear:attention", ("flash-linear-attention", "torch")),
)
NOT_TRIED = (
    ("flash-linear-attention, kernels", ("flash-linear-attention",), "its kernels are Triton's, which need a GPU"),
)
JUDGE = """
import json, sys
from attnsep.reportcard import card
print(json.dumps(card.report(card.named(sys.argv[1]), name=sys.argv[2], seconds=float(sys.argv[3])).as_dict()))
"""


def versions(packages):
    """Return {package: version}, and None for what is not installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found


def judged(name, adapter, packages, seconds=SECONDS):
    """Return the row of one attention: its card, or the last line of what went wrong."""
    command = [sys.executable, "-c", JUDGE, adapter, name, str(seconds)]
    run = subprocess.run(command, cwd=EXAMPLES, capture_output=True, text=True, encoding="utf-8")
    card = json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 else None
    reason = None if card else (run.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    return {
        "attention": name, "adapter": adapter, "packages": versions(packages), "card": card, "not tried": reason,
    }  # fmt: skip


def main(chosen, seconds=SECONDS):
    """Store the rows; return the exit status, 1 where an attention has no card."""
    unknown = [word for word in chosen if word not in [adapter for _, adapter, _ in ADAPTERS]]
    if unknown:
        print(f"{unknown[0]}: is no adapter; there are {', '.join(a for _, a, _ in ADAPTERS)}", file=sys.stderr)
        return 2
    kept = {row["adapter"]: row for row in read_cards()} if chosen else {}
    rows = []
    for name, adapter, packages in ADAPTERS:
        if chosen and adapter not in chosen and adapter in kept:
            rows.append(kept[adapter])
            continue
        rows.append(judged(name, adapter, packages, seconds))
        verdicts = rows[-1]["card"] and ", ".join(f"{x['name']} {x['verdict']}" for x in rows[-1]["card"]["lines"])
        print(f"{name}: {verdicts or rows[-1]['not tried']}", flush=True)
    failed = [row for row in rows if row["card"] is None]
    for name, packages, reason in NOT_TRIED:
        rows.append(
            {"attention": name, "adapter": "", "packages": versions(packages), "card": None, "not tried": reason}
        )
    store({cards_path(): cards_text(rows)})
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
