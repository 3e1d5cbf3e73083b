"""Attentions to judge, each broken in one way or right, and a clock that calls move."""

import numpy as np


def weights(scores):
    """Return softmax weights, computed in another way than the library does."""
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax(q, k, v):
    return weights(q @ np.swapaxes(k, -1, -2)) @ v


def several(q, k, v):
    """Softmax of (batch, heads, n, d) alone."""
    if q.ndim != 4:
        raise ValueError(f"four axes, not {q.ndim}")
    return softmax(q, k, v)


def scaled(q, k, v):
    return softmax(q / np.sqrt(q.shape[-1]), k, v)


def linear(q, k, v):
    scores = q @ k.T
    return scores @ v / scores.sum(axis=1, keepdims=True)


def wrong_normaliser(q, k, v):
    scores = q @ k.T
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / (e.sum(axis=1, keepdims=True) + 1) @ v


def window(q, k, v, back=16, ahead=16):
    n = len(q)
    far = np.arange(n)[:, None] - np.arange(n)
    return weights(np.where((far <= back) & (far >= -ahead), q @ k.T, -np.inf)) @ v


def off_by_one(q, k, v):
    return window(q, k, v, ahead=15)


def causal(q, k, v):
    return window(q, k, v, back=len(q), ahead=0)


def half_inside(q, k, v):
    return (weights(q @ k.T).astype(np.float16) @ v.astype(np.float16)).astype(v.dtype)


def masked(q, k, v, mask=None, shift=0):
    scores = q @ k.T
    if mask is not None:
        scores = np.where(np.tril(mask, shift) if shift < 0 else mask, scores, -np.inf)
    return np.nan_to_num(weights(scores)) @ v


def mask_off_by_one(q, k, v, mask=None):
    if mask is None:
        return softmax(q, k, v)
    return weights(np.where(mask | np.eye(len(q), k=1, dtype=bool), q @ k.T, -np.inf)) @ v


def inverted_mask(q, k, v, mask=None):
    return masked(q, k, v, None if mask is None else ~mask)


class Clock:
    """Seconds that pass only where an attention is called."""

    def __init__(self, cost=0.0):
        self.now, self.cost, self.calls = 0.0, cost, []

    def __call__(self):
        return self.now

    def slow(self, attention):
        """Return the attention, which now takes `cost` seconds for 64 tokens, and more by the square."""

        def called(q, k, v):
            spent = self.cost * (q.shape[-2] / 64) ** 2
            self.now += spent
            self.calls.append(spent)
            return attention(q, k, v)

        called.__module__ = "numpy"
        return called
