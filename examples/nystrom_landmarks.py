"""Nyström attention with 64 landmarks, its projections left out, on the scores q·k/√130."""

import torch
from nystrom_attention import NystromAttention

inner = NystromAttention(dim=130, dim_head=130, heads=1, num_landmarks=64, residual=False)
inner.to_qkv = inner.to_out = torch.nn.Identity()


def attention(q, k, v):
    """Return the outputs, by landmarks."""
    return inner(torch.cat([q, k, v], dim=-1)[None])[0]
