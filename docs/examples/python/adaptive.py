"""A back end for each kind of GPU and size of weight; NF4_BACKEND overrides the choice.

    NF4_BACKEND=warps nf4bench run --preset llama-3.1-8b --peer adaptive=adaptive.py --variant 'adaptive*,fused'
"""

import os

import torch

import cache_hints
import select_tree
import warp_persistent

BACKENDS = {"hints": cache_hints.dequantize, "warps": warp_persistent.dequantize, "tree": select_tree.dequantize}
SMALL = 1 << 22  # values; below, a grid of one wave is all there is to launch

_chosen = os.environ.get("NF4_BACKEND", "")
if _chosen and _chosen not in BACKENDS:
    raise ValueError(f"NF4_BACKEND={_chosen}: wanted one of {', '.join(BACKENDS)}")


def _backend_for(weight):
    if _chosen:
        return BACKENDS[_chosen]
    if weight.device.type == "cuda" and torch.cuda.get_device_capability(weight.device) < (8, 0):
        return BACKENDS["tree"]  # arithmetic is cheap beside the memory of older GPUs
    return BACKENDS["warps" if 2 * weight.numel() < SMALL else "hints"]


def dequantize(weight, quant_state, out=None):
    """One kernel; chosen by the GPU and the size."""
    return _backend_for(weight)(weight, quant_state, out)


dequantize.launches = 1
dequantize.inline_ptx = True
dequantize.torch_compile = True
dequantize.cache_hints = True
