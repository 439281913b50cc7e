"""What the Triton examples beside this file have in common: the arithmetic of NF4, and a tile of it.

Every rounding counts. Triton contracts a * b + c to one rounding and keeps subnormals, where
bitsandbytes rounds twice and flushes them; a product in PTX does as bitsandbytes does.
"""

import os

import triton
import triton.language as tl

SMALLEST_NORMAL = tl.constexpr(1.1754943508222875e-38)
HAS_PTX = tl.constexpr(os.environ.get("TRITON_INTERPRET", "0") != "1")


@triton.jit
def product(a, b):
    if HAS_PTX:
        return tl.inline_asm_elementwise("mul.rn.ftz.f32 $0, $1, $2;", "=f,f,f", [a, b],
                                         dtype=tl.float32, is_pure=True, pack=1)
    value = a * b
    return tl.where(tl.abs(value) < SMALLEST_NORMAL, value * 0.0, value)


@triton.jit
def scale_of(block, mask, absmax, nested_absmax, nested_map, nested_offset, NESTED: tl.constexpr):
    """The scale of each block, nested ones with two roundings."""
    if NESTED:
        code = tl.load(absmax + block, mask=mask, other=0)
        outer = tl.load(nested_absmax + (block >> 8), mask=mask, other=0.0)
        scale = product(tl.load(nested_map + code), outer) + tl.load(nested_offset)
    else:  # a second return would have to be of the type that the first has
        scale = tl.load(absmax + block, mask=mask, other=0.0)
    return scale


@triton.jit
def places(tile, elements, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Of a tile of ROWS blocks with COLUMNS bytes each: blocks, bytes and values, and which there are."""
    block = (tile * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    byte = block[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    value = block[:, None] * (2 * COLUMNS) + tl.arange(0, 2 * COLUMNS)[None, :]
    return block, block * (2 * COLUMNS) < elements, byte, byte * 2 < elements, value, value < elements


@triton.jit
def scaled(high, low, scale, out):
    """Values of both halves of each byte, in their order, rounded once."""
    return tl.interleave(product(high, scale[:, None]), product(low, scale[:, None])).to(out.dtype.element_ty)


def scales_of(quant_state):
    """Arguments of a kernel: absmax, nested absmax, nested map, nested offset. Plain scales have the first."""
    outer = quant_state.state2
    if outer is None:
        return (quant_state.absmax,) * 4
    return quant_state.absmax, outer.absmax, outer.code, quant_state.offset


def tile_of(quant_state, tile_bytes):
    """Blocks in a tile of about `tile_bytes`, packed bytes of a block, and how many tiles there are."""
    columns = quant_state.blocksize // 2
    rows = max(1, tile_bytes // columns)
    count = quant_state.shape[0] * quant_state.shape[1]
    return rows, columns, triton.cdiv(count, 2 * rows * columns)
