"""Experts as people multiply them with bitsandbytes today.

    NF4_DISABLE=1 nf4bench run --operation experts --preset qwen3-30b-a3b --tokens 1,16,256 \
      --peer bnb=bitsandbytes_experts.py --variant 'bnb*,fused'

NF4_DISABLE keeps the drop-in of the package nf4bench out of it, where that is installed. `loop` waits for the routing,
so it needs --launch stream.
"""

import math

import torch
from bitsandbytes import functional as F
from routed_rows import slots, sorted_rows

__all__ = ["decode_all", "decode_all_batched", "loop", "layer"]
MOST_GATHERED = 2**34  # bytes of matrices that batched_mm may copy


def decode_all(x, weight, quant_state, ids, slot_weights):
    """The whole stack in 16 bits, then a grouped product: parametrized experts, vLLM's plugin, SGLang."""
    stack = F.dequantize_4bit(weight, quant_state)
    rows, ends, back = sorted_rows(x, ids, slot_weights, stack.shape[0])
    return slots(torch._grouped_mm(rows, stack.mT, offs=ends), back)


def decode_all_batched(x, weight, quant_state, ids, slot_weights):
    """The whole stack in 16 bits, then a copy of the matrix of each slot: how transformers generates."""
    experts, outputs, inputs = quant_state.shape
    if ids.numel() * outputs * inputs * 2 > MOST_GATHERED:
        raise ValueError(f"{ids.numel()} slots are too many to copy a matrix for each")
    stack = F.dequantize_4bit(weight, quant_state)
    valid = ((ids >= 0) & (ids < experts)).reshape(-1)
    rows = x if slot_weights is not None else x.repeat_interleave(ids.shape[1], dim=0)
    products = torch.bmm(stack[ids.reshape(-1).clamp(0, experts - 1)], rows.unsqueeze(-1)).squeeze(-1)
    return slots(products, (torch.arange(len(rows), device=x.device), valid, ids.shape, slot_weights))


def loop(x, weight, quant_state, ids, slot_weights):
    """Each expert that was hit, decoded and multiplied by itself: Experts4bit, and experts that are layers."""
    experts, outputs, inputs = quant_state.shape
    absmax, blocksize = quant_state.absmax, quant_state.blocksize
    if quant_state.state2 is not None:
        absmax = F.dequantize_blockwise(absmax, quant_state.state2) + quant_state.offset
    packed, absmax = weight.view(experts, -1, 1), absmax.view(experts, -1)
    rows, ends, back = sorted_rows(x, ids, slot_weights, experts)
    products, begin = rows.new_zeros(len(rows), outputs), 0
    for expert, end in enumerate(ends.tolist()):
        if end > begin:
            matrix = torch.ops.bitsandbytes.dequantize_4bit(packed[expert], absmax[expert], blocksize, "nf4",
                                                            (outputs, inputs), x.dtype)
            torch.mm(rows[begin:end], matrix.t(), out=products[begin:end])
        begin = end
    return slots(products, back)


def _activated(kind, first):
    if kind == "relu2":
        return first.relu().square()
    if kind != "gptoss":
        gate, up = first.chunk(2, dim=-1)
        return up * (torch.nn.functional.silu(gate) if kind == "silu" else
                     torch.nn.functional.gelu(gate, approximate="tanh"))
    gate, up = first[..., 0::2].clamp(max=7), first[..., 1::2].clamp(-7, 7)
    return (up + 1) * gate * torch.sigmoid(1.702 * gate)


def layer(x, weight, quant_state, down_weight, down_quant_state, ids, slot_weights, activation):
    """Both stacks in 16 bits, and a grouped product with each: a layer of decode_all."""
    rows, ends, back = sorted_rows(x.repeat_interleave(ids.shape[1], dim=0), ids, slot_weights, quant_state.shape[0])
    first = torch._grouped_mm(rows, F.dequantize_4bit(weight, quant_state).mT, offs=ends)
    down = F.dequantize_4bit(down_weight, down_quant_state)
    between = _activated(activation, first.float()).to(first.dtype)
    return slots(torch._grouped_mm(between, down.mT, offs=ends), back)


decode_all.unsupported = layer.unsupported = lambda quant_state, device: (
    "grouped products are there in bfloat16" if quant_state.dtype is not torch.bfloat16 else None)
loop.unsupported = lambda quant_state, device: (
    "blocks of two experts" if math.prod(quant_state.shape[1:]) % quant_state.blocksize else None)
