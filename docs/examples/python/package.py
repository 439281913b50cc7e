"""The kernels of nf4bench, called through its Python package as Unsloth calls its own.

    nf4bench run --preset llama-3.1-8b --dtype float16,bfloat16 --peer nf4=package.py --variant 'nf4*,fused' --marking
"""

from nf4bench.torch import fast_dequantize

arrays = "torch"
fast_dequantize.launches = 1
fast_dequantize.inline_ptx = True
fast_dequantize.cache_hints = True
