"""The codebook as a tree of selections among constants ("lookup_const"): no table in any memory.

    nf4bench run --preset llama-3.1-8b --peer tree=select_tree.py --variant 'tree*,select_tree,fused'
"""

import torch
import triton
import triton.language as tl

from nf4_triton import places, scale_of, scaled, scales_of, tile_of

TILE_BYTES = 2048


@triton.jit
def _lookup_const(nibble):
    bit0, bit1, bit2, bit3 = nibble & 1 != 0, nibble & 2 != 0, nibble & 4 != 0, nibble & 8 != 0
    value0 = tl.where(bit1, tl.where(bit0, -0.39491748809814453, -0.5250730514526367),
                      tl.where(bit0, -0.6961928009986877, -1.0))
    value4 = tl.where(bit1, tl.where(bit0, 0.0, -0.09105003625154495),
                      tl.where(bit0, -0.18477343022823334, -0.28444138169288635))
    value8 = tl.where(bit1, tl.where(bit0, 0.33791524171829224, 0.24611230194568634),
                      tl.where(bit0, 0.16093020141124725, 0.07958029955625534))
    value12 = tl.where(bit1, tl.where(bit0, 1.0, 0.7229568362236023),
                       tl.where(bit0, 0.5626170039176941, 0.44070982933044434))
    return tl.where(bit3, tl.where(bit2, value12, value8), tl.where(bit2, value4, value0))


@triton.jit
def _select_tree(packed, absmax, nested_absmax, nested_map, nested_offset, out, elements,
                 ROWS: tl.constexpr, COLUMNS: tl.constexpr, NESTED: tl.constexpr):
    block, is_block, byte, is_byte, value, is_value = places(tl.program_id(0), elements, ROWS, COLUMNS)
    scale = scale_of(block, is_block, absmax, nested_absmax, nested_map, nested_offset, NESTED)
    nibbles = tl.load(packed + byte, mask=is_byte, other=0)
    high, low = _lookup_const(nibbles >> 4), _lookup_const(nibbles & 15)
    tl.store(out + value, scaled(high, low, scale, out), mask=is_value)


def dequantize(weight, quant_state, out=None):
    """One kernel; 15 selections a value."""
    if out is None:
        out = torch.empty(quant_state.shape, dtype=quant_state.dtype, device=weight.device)
    rows, columns, tiles = tile_of(quant_state, TILE_BYTES)
    _select_tree[(tiles,)](weight, *scales_of(quant_state), out, out.numel(), ROWS=rows, COLUMNS=columns,
                           NESTED=quant_state.state2 is not None)
    return out


dequantize.launches = 1
dequantize.inline_ptx = True
dequantize.torch_compile = True
