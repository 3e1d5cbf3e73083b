"""Two maps of the package entmax from scores to weights, with scale 1."""

import entmax


def entmax15(q, k, v):
    """Return outputs with weights by 1.5-entmax."""
    return entmax.entmax15(q @ k.mT, dim=-1) @ v


def sparsemax(q, k, v):
    """Return outputs with weights by sparsemax."""
    return entmax.sparsemax(q @ k.mT, dim=-1) @ v
