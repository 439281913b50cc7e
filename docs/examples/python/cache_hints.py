"""Weights that are read once leave the cache first, outputs pass it by, scales stay.

    nf4bench run --preset llama-3.1-8b --peer hints=cache_hints.py --variant 'hints*,cache_hints,fused'
"""

import torch
import triton
import triton.language as tl

from nf4_triton import places, product, scaled, scales_of, tile_of

TILE_BYTES = 2048


@triton.jit
def _scale(block, mask, absmax, nested_absmax, nested_map, nested_offset, NESTED: tl.constexpr):
    if NESTED:
        code = tl.load(absmax + block, mask=mask, other=0, eviction_policy="evict_first")
        outer = tl.load(nested_absmax + (block >> 8), mask=mask, other=0.0, eviction_policy="evict_last")
        entry = tl.load(nested_map + code, eviction_policy="evict_last")
        scale = product(entry, outer) + tl.load(nested_offset)
    else:
        scale = tl.load(absmax + block, mask=mask, other=0.0, eviction_policy="evict_first")
    return scale


@triton.jit
def _cache_hints(packed, absmax, nested_absmax, nested_map, nested_offset, code, out, elements,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr, NESTED: tl.constexpr):
    block, is_block, byte, is_byte, value, is_value = places(tl.program_id(0), elements, ROWS, COLUMNS)
    scale = _scale(block, is_block, absmax, nested_absmax, nested_map, nested_offset, NESTED)
    nibbles = tl.load(packed + byte, mask=is_byte, other=0, eviction_policy="evict_first")
    high = tl.load(code + (nibbles >> 4), eviction_policy="evict_last")
    low = tl.load(code + (nibbles & 15), eviction_policy="evict_last")
    tl.store(out + value, scaled(high, low, scale, out), mask=is_value, cache_modifier=".cs")


def dequantize(weight, quant_state, out=None):
    """One kernel; eviction policies of loads, streaming stores."""
    if out is None:
        out = torch.empty(quant_state.shape, dtype=quant_state.dtype, device=weight.device)
    rows, columns, tiles = tile_of(quant_state, TILE_BYTES)
    _cache_hints[(tiles,)](weight, *scales_of(quant_state), quant_state.code, out, out.numel(), ROWS=rows,
                           COLUMNS=columns, NESTED=quant_state.state2 is not None)
    return out


dequantize.launches = 1
dequantize.inline_ptx = True
dequantize.torch_compile = True
dequantize.cache_hints = True
