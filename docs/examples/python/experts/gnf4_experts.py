"""The Triton kernels of grouped-nf4-gemm, from the package of whoever measures.

    nf4bench run --operation experts --preset qwen3-30b-a3b --plain --dtype bfloat16 --tokens 1,16,256 \
      --peer gnf4=gnf4_experts.py --variant 'gnf4*,fused'
"""

import nf4_grouped
import torch
from routed_rows import slots

__all__ = ["rows", "tiles"]


def _operands(x, weight, quant_state, ids, slot_weights):
    experts, outputs, inputs = quant_state.shape
    flat = ids.reshape(-1)
    valid = (flat >= 0) & (flat < experts)
    each = x if slot_weights is not None else x.repeat_interleave(ids.shape[1], dim=0)
    return (flat.clamp(0, experts - 1), each, weight.view(experts, outputs, inputs // 2),
            quant_state.absmax.view(experts, outputs, inputs // 64), valid)


def rows(x, weight, quant_state, ids, slot_weights):
    """Its product of single rows: the matrix of a slot is read for that slot alone."""
    chosen, each, packed, absmax, valid = _operands(x, weight, quant_state, ids, slot_weights)
    products = nf4_grouped.gemm_4bit_grouped(each, packed, absmax, [1] * len(each), chosen)
    return slots(products, (torch.arange(len(each), device=x.device), valid, ids.shape, slot_weights))


def tiles(x, weight, quant_state, ids, slot_weights):
    """Its product in tiles, with the form of it whose tiles are found on the device."""
    chosen, each, packed, absmax, valid = _operands(x, weight, quant_state, ids, slot_weights)
    mean = -(-len(each) // len(packed))
    height = 16 if mean <= 16 else 32 if mean <= 32 else 64 if mean <= 64 else 128
    *table, order, _ = nf4_grouped.build_group_tiles_device(chosen, len(packed), height)
    products = nf4_grouped.gemm_4bit_grouped_captured(each[order], packed, absmax, *table, height)
    return slots(products, (order, valid, ids.shape, slot_weights))


rows.unsupported = tiles.unsupported = lambda quant_state, device: (
    "Triton needs a GPU" if device.type != "cuda" else
    "plain scales alone" if quant_state.state2 is not None else
    "blocks of 64 alone" if quant_state.blocksize != 64 else
    "bfloat16 alone" if quant_state.dtype is not torch.bfloat16 else None)
