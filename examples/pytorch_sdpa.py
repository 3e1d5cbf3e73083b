"""PyTorch's attention, with its default scale 1/√d and with scale 1."""

from functools import partial

from torch.nn.functional import scaled_dot_product_attention

default_scale = scaled_dot_product_attention
scale_1 = partial(scaled_dot_product_attention, scale=1.0)
