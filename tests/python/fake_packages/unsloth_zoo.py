"""The two patches of bitsandbytes that unsloth_zoo 2026.10.9 has, in the same shape."""

import math

LIMIT = 2**31 - 1


def patch_large_tensors():
    """Decodes what has more elements than bitsandbytes can count to in pieces."""
    from bitsandbytes import functional as F
    original = F.dequantize_4bit

    def dequantize_4bit(A, *args, **kwargs):
        quant_state = kwargs["quant_state"] if "quant_state" in kwargs else (args[0] if len(args) > 0 else None)
        if math.prod(quant_state.shape) <= LIMIT:
            return original(A, *args, **kwargs)
        import torch
        absmax = quant_state.absmax
        if quant_state.nested:
            absmax = F.dequantize_blockwise(absmax, quant_state.state2) + quant_state.offset
        flat, block, pieces = A.reshape(-1), quant_state.blocksize, []
        for start in range(0, math.prod(quant_state.shape), 32 * block):
            part = F.QuantState(absmax=absmax[start // block:][:32], shape=torch.Size((32 * block,)), blocksize=block,
                                dtype=quant_state.dtype, code=quant_state.code, quant_type=quant_state.quant_type)
            pieces.append(original(flat[start // 2:][:16 * block].reshape(-1, 1), quant_state=part).reshape(-1))
        return torch.cat(pieces).reshape(quant_state.shape)

    dequantize_4bit.__wrapped__ = original
    F.dequantize_4bit = dequantize_4bit


def patch_linear4bit_forward():
    import bitsandbytes

    def forward(self, x):
        if not self.compute_type_is_set:
            self.set_compute_type(x)
            self.compute_type_is_set = True
        inp_dtype = x.dtype
        if self.compute_dtype is not None:
            x = x.to(self.compute_dtype)
        bias = None if self.bias is None else self.bias.to(self.compute_dtype)
        weight = self.weight.data.t()
        return bitsandbytes.matmul_4bit(x, weight, bias=bias, quant_state=self.weight.quant_state).to(inp_dtype)

    bitsandbytes.nn.modules.Linear4bit.forward = forward


def patch():
    patch_large_tensors()
    patch_linear4bit_forward()
