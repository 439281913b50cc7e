"""Unsloth's grouped Triton kernel for NF4 stacks, from the package unsloth_zoo of whoever measures.

    nf4bench run --operation experts --preset qwen3-30b-a3b --tokens 1,16,256 \
      --peer unsloth=unsloth_experts.py --variant 'unsloth*,fused'

The file of the kernel is loaded by itself: the package replaces much of PyTorch and transformers when it is imported.
"""

import importlib.util
import pathlib

import torch
from routed_rows import slots, sorted_rows

__all__ = ["grouped"]


def _kernel_module():
    found = importlib.util.find_spec("unsloth_zoo")
    if found is None:
        raise ImportError("unsloth_zoo is not installed; python3 -m pip install --no-deps unsloth_zoo")
    path = pathlib.Path(found.submodule_search_locations[0]) / "temporary_patches/moe_nf4_grouped.py"
    spec = importlib.util.spec_from_file_location("moe_nf4_grouped", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_module = _kernel_module()


def grouped(x, weight, quant_state, ids, slot_weights):
    experts, outputs, inputs = quant_state.shape
    outer = quant_state.state2
    rows, ends, back = sorted_rows(x, ids, slot_weights, experts)
    absmax = quant_state.absmax
    products = _module.nf4_grouped_mm(rows, ends, {
        "packed": weight.view(-1), "absmax": absmax, "code": quant_state.code,
        "absmax2": outer.absmax if outer else absmax, "code2": outer.code if outer else absmax,
        "offset": quant_state.offset.view(1) if outer else absmax, "K": inputs, "N": outputs, "kn_layout": False,
        "blocksize": quant_state.blocksize, "blocksize2": outer.blocksize if outer else 1, "nested": outer is not None,
        "w_dtype": _module._W_DTYPE_ID[quant_state.dtype]})
    if _module.FAILED_SHAPES:  # it goes on with PyTorch's functions then
        raise RuntimeError(f"Unsloth's kernel failed: {next(iter(_module.FAILED_SHAPES.values()))}")
    return slots(products, back)


grouped.unsupported = lambda quant_state, device: (
    "Triton needs a GPU" if device.type != "cuda" else
    "products in float32" if quant_state.dtype is torch.float32 else None)
