"""The claims of the book, in its order."""

from importlib import import_module

from attnsep.claims.framework import LEDGER, ClaimFailed, check, verify
from attnsep.claims.graph import claims_map, rests_on
from attnsep.claims.tables import (
    card,
    certified_table,
    claims_table,
    definitions_table,
    gpu_table,
    noticed_table,
    status_line,
)
from attnsep.claims.the_cards_words import card_words

__all__ = [
    "LEDGER",
    "ClaimFailed",
    "card",
    "card_words",
    "certified_table",
    "check",
    "claims_map",
    "claims_table",
    "definitions_table",
    "gpu_table",
    "noticed_table",
    "rests_on",
    "status_line",
    "verify",
]

for part in (
    "tensor_trick",
    "one_query",
    "random_signs",
    "one_query_separation",
    "tokens",
    "golden",
    "audit",
    "readout",
    "limitations",
    "attentions",
    "cost",
    "counting",
    "sensitivity",
    "neighbours",
    "learnt",
    "certified",
    "boxes",
    "finite_sizes",
):  # a plain import statement would be sorted out of the book's order
    import_module(f"attnsep.claims.{part}")
