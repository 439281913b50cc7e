"""What bitsandbytes' autograd does on the way back through a layer, for --operation backward.

    NF4_DISABLE=1 nf4bench run --operation backward --preset llama-3.1-8b --tokens 512,2048 \
      --peer bnb=bitsandbytes_gradient.py --variant 'bnb*,fused'
"""

import torch
from bitsandbytes import functional as F

__all__ = ["gradient"]


def gradient(dy, weight, quant_state, out):
    """The weight is decoded, then PyTorch multiplies."""
    torch.matmul(dy, F.dequantize_4bit(weight, quant_state), out=out)
