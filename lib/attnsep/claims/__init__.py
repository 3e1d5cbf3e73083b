"""The claims of the book, in its order."""

from importlib import import_module

from attnsep.claims.the_cards_words import card_words
from attnsep.ledger.framework import LEDGER, ClaimFailed, check, verify
from attnsep.ledger.graph import claims_map, rests_on
from attnsep.ledger.tables import (
    card,
    certified_table,
    claims_table,
    definitions_table,
    gpu_table,
    noticed_table,
    status_line,
)

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
    "one_query_weights",
    "random_signs",
    "one_query_separation",
    "token_datasets",
    "lemma_d2",
    "one_column",
    "main_theorem",
    "golden_ratio",
    "from_which_n",
    "mechanisms",
    "break_conditions",
    "any_readout",
    "limitations",
    "scaling",
    "which_attentions",
    "cost",
    "where_linear_wins",
    "sensitivity",
    "neighbours",
    "recall",
    "edge_learnt",
    "benchmarks",
    "what_the_checks_prove",
):  # a plain import statement would be sorted out of the book's order
    import_module(f"attnsep.claims.{part}")
