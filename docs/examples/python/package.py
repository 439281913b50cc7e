"""The kernels of nf4bench, called through its Python package as Unsloth calls its own.

    nf4bench run --preset llama-3.1-8b --dtype float16,bfloat16 --peer nf4=package.py --variant 'nf4*,fused'
"""

import math

from nf4bench.torch import fast_dequantize

arrays = "torch"
fast_dequantize.launches = 1
fast_dequantize.inline_ptx = True
fast_dequantize.torch_compile = True
fast_dequantize.cache_hints = True
# Unsloth takes a weight of one packed byte for a transposed one.
fast_dequantize.unsupported = lambda quant_state, device: (
    "has one packed byte, which is returned transposed" if math.prod(quant_state.shape) <= 2 else None)
