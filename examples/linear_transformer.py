"""Linear attention of linear-attention-transformer: softmax over the features of q, over the tokens of k."""

from linear_attention_transformer.linear_attention_transformer import linear_attn as attention  # noqa: F401
