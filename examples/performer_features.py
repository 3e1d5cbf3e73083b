"""Random features of performer-pytorch, 256 of them, for heads of width 130."""

import torch
from performer_pytorch import FastAttention

torch.manual_seed(0)
attention = FastAttention(dim_heads=130, nb_features=256).eval()
