"""The skeleton of Unsloth's challenge A: a kernel, a function that launches it, and one that takes a layer.

    nf4bench run --preset llama-3.1-8b --peer skeleton=skeleton.py --variant 'skeleton*,fused'
"""

import torch
import triton
import triton.language as tl

from nf4_triton import places, scale_of, scaled, scales_of, tile_of

TILE_BYTES = 2048


@triton.jit
def _your_dequantize_nf4_kernel(packed, absmax, nested_absmax, nested_map, nested_offset, code, out, elements,
                                ROWS: tl.constexpr, COLUMNS: tl.constexpr, NESTED: tl.constexpr):
    block, is_block, byte, is_byte, value, is_value = places(tl.program_id(0), elements, ROWS, COLUMNS)
    scale = scale_of(block, is_block, absmax, nested_absmax, nested_map, nested_offset, NESTED)
    nibbles = tl.load(packed + byte, mask=is_byte, other=0)
    high = tl.load(code + (nibbles >> 4))
    low = tl.load(code + (nibbles & 15))
    tl.store(out + value, scaled(high, low, scale, out), mask=is_value)


def _your_dequantize_nf4(weight, quant_state, out):
    if out is None:
        out = torch.empty(quant_state.shape, dtype=quant_state.dtype, device=weight.device)
    rows, columns, tiles = tile_of(quant_state, TILE_BYTES)
    _your_dequantize_nf4_kernel[(tiles,)](weight, *scales_of(quant_state), quant_state.code, out, out.numel(),
                                          ROWS=rows, COLUMNS=columns, NESTED=quant_state.state2 is not None)
    return out


def your_dequantize_nf4(weight, out=None):
    """One kernel; a program for each tile, the codebook in memory."""
    return _your_dequantize_nf4(weight.weight.data, weight.weight.quant_state, out)


your_dequantize_nf4.launches = 1
your_dequantize_nf4.inline_ptx = True
your_dequantize_nf4.torch_compile = True
