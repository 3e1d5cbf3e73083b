"""JAX's attention, with its default scale 1/√d and with scale 1."""

from functools import partial

from jax.nn import dot_product_attention

default_scale = dot_product_attention
scale_1 = partial(dot_product_attention, scale=1.0)
