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


def exponentials(q, k):
    scores = q @ k.T
    return np.exp(scores - scores.max(axis=1, keepdims=True))


def wrong_normaliser(q, k, v):
    e = exponentials(q, k)
    return e / (e.sum(axis=1, keepdims=True) + 1) @ v


def normalised_over_queries(q, k, v):
    return weights(k @ q.T).T @ v


def normaliser_of_the_row_before(q, k, v):
    e = exponentials(q, k)
    return e / np.roll(e.sum(axis=1, keepdims=True), 1, axis=0) @ v


def normaliser_without_last(q, k, v):
    e = exponentials(q, k)
    return e / (e.sum(axis=1, keepdims=True) - e[:, -1:] / 2) @ v


def sums_of_sizes(q, k, v):
    scores = q @ k.T
    return scores / np.abs(scores).sum(axis=1, keepdims=True) @ v


def without_maximum(q, k, v):
    e = np.exp(q @ k.T)
    return e / e.sum(axis=1, keepdims=True) @ v


def in_blocks(q, k, v, rescaled=True):
    """Softmax over blocks of 64 keys, one after the other, the sums rescaled to the maximum so far."""
    top, total, out = np.full((len(q), 1), -np.inf), 0, 0
    for start in range(0, len(k), 64):
        scores = q @ k[start : start + 64].T
        now = np.maximum(top, scores.max(axis=1, keepdims=True))
        e, less = np.exp(scores - now), np.exp(top - now)
        total = total * less + e.sum(axis=1, keepdims=True)
        out = out * (less if rescaled else 1) + e @ v[start : start + 64]
        top = now
    return out / total


def not_rescaled(q, k, v):
    return in_blocks(q, k, v, rescaled=False)


def padded(q, k, v):
    """Keys and values are filled up to whole blocks with zeros, and those take part."""
    more = ((0, -len(k) % 64), (0, 0))
    return softmax(q, np.pad(k, more), np.pad(v, more))


def whole_blocks(q, k, v):
    """Keys behind the last whole block are left out."""
    n = len(k) // 64 * 64 or len(k)
    return softmax(q, k[:n], v[:n])


def without_last(q, k, v):
    return window(q, k[:-1], v[:-1], back=len(q), ahead=len(q)) if len(q) > 1 else v


def cosine(q, k, v):
    return softmax(*(8 * x / np.linalg.norm(x, axis=1, keepdims=True) for x in (q, k)), v)


def largest(q, k, v):
    """Softmax over the 16 largest scores."""
    scores = q @ k.T
    least = np.sort(scores, axis=1)[:, -min(16, len(k))][:, None]
    return weights(np.where(scores >= least, scores, -np.inf)) @ v


def largest_alone(q, k, v):
    return v[np.argmax(q @ k.T, axis=1)]


def window(q, k, v, back=16, ahead=16):
    far = np.arange(len(q))[:, None] - np.arange(len(k))
    return weights(np.where((far <= back) & (far >= -ahead), q @ k.T, -np.inf)) @ v


def off_by_one(q, k, v):
    return window(q, k, v, ahead=15)


def causal(q, k, v):
    return window(q, k, v, back=len(q), ahead=0)


def one_ahead(q, k, v):
    return window(q, k, v, back=len(q), ahead=1)


def half_inside(q, k, v):
    return (weights(q @ k.T).astype(np.float16) @ v.astype(np.float16)).astype(v.dtype)


def half(x):
    return x.astype(np.float16).astype(x.dtype)


def half_scores(q, k, v):
    return weights(half(q @ k.T)) @ v


def half_weights(q, k, v):
    return half(weights(q @ k.T)) @ v


def half_normaliser(q, k, v):
    e = exponentials(q, k)
    return e @ v / np.add.accumulate(half(e), axis=1, dtype=np.float16)[:, -1:].astype(v.dtype)


def single_inside(q, k, v):
    return softmax(q.astype(np.float32), k.astype(np.float32), v)


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
