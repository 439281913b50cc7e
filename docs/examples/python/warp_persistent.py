"""A grid that fits the GPU, programs of one warp that loop over blocks, the codebook in registers.

    nf4bench run --preset llama-3.1-8b --peer warps=warp_persistent.py --variant 'warps*,warp_persistent,fused'
"""

import torch
import triton
import triton.language as tl

from nf4_triton import places, scale_of, scaled, scales_of, tile_of

TILE_BYTES = 512  # 16 bytes a lane
WARPS_A_MULTIPROCESSOR = 32


@triton.jit
def _take(table, nibbles, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Entries of a table that the lanes of the warp hold, by shuffles."""
    flat = tl.reshape(nibbles.to(tl.int32), (ROWS * COLUMNS,))
    return tl.reshape(tl.gather(table, flat, 0), (ROWS, COLUMNS))


@triton.jit
def _warp_persistent(packed, absmax, nested_absmax, nested_map, nested_offset, code, out, elements, tiles,
                     ROWS: tl.constexpr, COLUMNS: tl.constexpr, NESTED: tl.constexpr):
    table = tl.load(code + tl.arange(0, 16))
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        block, is_block, byte, is_byte, value, is_value = places(tile, elements, ROWS, COLUMNS)
        scale = scale_of(block, is_block, absmax, nested_absmax, nested_map, nested_offset, NESTED)
        nibbles = tl.load(packed + byte, mask=is_byte, other=0)
        high = _take(table, nibbles >> 4, ROWS, COLUMNS)
        low = _take(table, nibbles & 15, ROWS, COLUMNS)
        tl.store(out + value, scaled(high, low, scale, out), mask=is_value)


def _multiprocessors(device):
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1


def dequantize(weight, quant_state, out=None):
    """One kernel; as many warps as the GPU holds, each loops over tiles."""
    if out is None:
        out = torch.empty(quant_state.shape, dtype=quant_state.dtype, device=weight.device)
    rows, columns, tiles = tile_of(quant_state, TILE_BYTES)
    programs = min(tiles, WARPS_A_MULTIPROCESSOR * _multiprocessors(weight.device))
    _warp_persistent[(programs,)](weight, *scales_of(quant_state), quant_state.code, out, out.numel(), tiles,
                                  ROWS=rows, COLUMNS=columns, NESTED=quant_state.state2 is not None, num_warps=1)
    return out


dequantize.launches = 1
dequantize.inline_ptx = True
dequantize.torch_compile = True
