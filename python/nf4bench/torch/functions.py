"""What people call: dequantize, linear, fast_dequantize and the forward of a Linear4bit.

Each goes straight to libnf4 where nothing looks on: no gradient is wanted, nothing is traced and no
mode of PyTorch is active. Else it goes through the operators of PyTorch, which costs the host more.
"""

import torch
from torch.nn.functional import linear as blas_linear

from . import kernels, operators
from .operators import follows_tangents, has_tangent, is_compiling, wants_gradient
from .weights import AsPlainTensors, dtype_of, is_dense, parts_of, weight_of

_modes = torch._C._len_torch_dispatch_stack
_function_modes = torch._C._len_torch_function_stack
_transforms = torch._C._functorch.peek_interpreter_stack
_tracing = torch._C._get_tracing_state
_Tensor, _Parameter = torch.Tensor, torch.nn.Parameter


def nothing_looks_on():
    """Whether a call that PyTorch does not see is missed by nobody; not to be asked while compiling."""
    return not (_modes() or _function_modes() or _transforms() is not None or _tracing() is not None
                or follows_tangents())


def is_plain(tensor):
    """Whether this is a tensor of PyTorch itself, and its memory can be read."""
    return (type(tensor) is _Tensor or type(tensor) is _Parameter) and is_dense(tensor)


def are_plain(tokens, bias):
    return is_plain(tokens) and (bias is None or is_plain(bias))


def dequantize(packed, quant_state, dtype=None, out=None):
    """The weight in `dtype`, by default the one it had; into `out`, if that is given. As bitsandbytes
    has it, the result is transposed where packed is.

    Raises ValueError for what is no NF4 weight, and for an `out` that does not fit.
    """
    with AsPlainTensors():
        result = _decode(parts_of(packed, quant_state), quant_state, dtype, out)
        return result.t() if packed.shape[0] == 1 else result


def _decode(parts, quant_state, dtype, out):
    dtype = dtype or (dtype_of(quant_state) if out is None else out.dtype)
    operators.check_type(dtype)
    if not is_compiling() and nothing_looks_on():
        weight = weight_of(parts)
        if out is None:
            return kernels.dequantize(weight, dtype)
        operators.check_output(out, weight.shape, weight.device)
        operators.decode_into(weight, out)
        return out
    *weight, nested = parts
    if out is None:
        return torch.ops.nf4.dequantize(*weight, dtype, *(nested or ()))
    torch.ops.nf4.dequantize_out(*weight, out, *(nested or ()))
    return out


def linear(tokens, packed, quant_state, bias=None, out=None):
    """tokens[..., K] W^T + bias in the type of the tokens; differentiable in tokens and bias, in both modes. Into
    `out`, if that is given, which may be a slice of a larger tensor; then nothing is differentiable.

    Raises ValueError for what is no NF4 weight, and for tokens, a bias or an `out` that do not fit it.
    """
    if out is not None:
        operators.check_no_gradient(tokens, bias, out)
    if not is_compiling() and are_plain(tokens, bias) and not wants_gradient(tokens, bias) and nothing_looks_on():
        with AsPlainTensors():
            weight = weight_of(parts_of(packed, quant_state))
            operators.check_input(tokens, bias, weight.shape, weight.device)
            operators.check_product(out, tokens, weight.shape)
            return kernels.linear(weight, tokens, bias, out)
    *weight, nested = parts_of(packed, quant_state)
    if not is_compiling() and has_tangent(tokens, bias):  # which flows through PyTorch's own product alone
        operators.check_input(tokens, bias, weight[3], packed.device)
        return blas_linear(tokens, _decode((*weight, nested), quant_state, tokens.dtype, None), bias)
    if out is None:
        return torch.ops.nf4.linear(tokens, *weight, bias, *(nested or ()))
    torch.ops.nf4.linear_out(tokens, *weight, out, bias, *(nested or ()))
    return out


_buffers = {}  # of fast_dequantize, by device, stream and type


def _from_buffer(weight, dtype):
    if weight.gpu is not None and torch.cuda.is_current_stream_capturing():
        return torch.empty(weight.shape, dtype=dtype, device=weight.device)
    key = (weight.device, kernels.stream_of(weight), dtype)
    size = weight.outputs * weight.inputs
    buffer = _buffers.get(key)
    if buffer is None or buffer.numel() < size:
        buffer = _buffers[key] = torch.empty(size, dtype=dtype, device=weight.device)
    return buffer[:size].view(weight.shape)


def fast_dequantize(W, quant_state=None, out=None, use_global_buffer=False):
    """As Unsloth's function of this name: the decoded weight, transposed if W has one row; W itself
    without a quant_state. With use_global_buffer the next such call overwrites the result.

    Raises ValueError for what is no NF4 weight, and for an `out` that does not fit.
    """
    if quant_state is None:
        return W
    dtype = dtype_of(quant_state)
    if use_global_buffer and not is_compiling() and nothing_looks_on():
        with AsPlainTensors():
            weight = weight_of(parts_of(W, quant_state))
            operators.check_type(dtype)
            decoded = kernels.overwrite(_from_buffer(weight, dtype), weight)
            return decoded.t() if W.shape[0] == 1 else decoded
    if out is not None and out.dtype != dtype:
        raise ValueError(f"out is {out.dtype}, and the weight {dtype}")
    return dequantize(W, quant_state, dtype, out)
