"""Softmax attention in NumPy: attnsep report numpy_softmax:attention."""

import numpy as np


def attention(q, k, v):
    """Return the outputs for rows of queries, keys and values."""
    scores = q @ k.T / np.sqrt(q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v
