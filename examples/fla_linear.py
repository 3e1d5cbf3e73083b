"""Linear attention of flash-linear-attention in plain PyTorch: its fast kernels need Triton, and so a GPU."""

from fla.ops.linear_attn.naive import naive_recurrent_linear_attn


def attention(q, k, v):
    """Return outputs over earlier tokens."""
    return naive_recurrent_linear_attn(q, k, v, scale=1.0, normalize=True)[0]
