"""Windows of local-attention: 64 tokens, and those of the windows beside."""

from local_attention import LocalAttention

attention = LocalAttention(
    window_size=64, look_forward=1, dim=130, use_rotary_pos_emb=False, autopad=True, scale=1.0
).eval()
