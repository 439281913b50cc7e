"""The operators nf4::dequantize and nf4::linear of PyTorch, and those that write into an `out`.

A weight is given as bitsandbytes keeps it: `packed`, two elements a byte; `absmax`, float32, or uint8
codes with nested_absmax, nested_map and nested_offset; blocksize and shape.
"""

import torch
from torch import library as registry
from torch.autograd import forward_ad

from . import kernels
from .weights import (ALIGNMENT, BLOCKSIZES, KINDS, AsPlainTensors, UnsupportedWeight, aligned, is_dense,
                      new_weight, weight_of)

_WEIGHT = "Tensor packed, Tensor absmax, int blocksize, int[] shape"
_NESTED = "Tensor? nested_absmax=None, Tensor? nested_map=None, Tensor? nested_offset=None"
_LIBRARY = registry.Library("nf4", "DEF")
_is_grad_enabled = torch.is_grad_enabled
is_compiling = torch.compiler.is_compiling
for _schema in (f"dequantize({_WEIGHT}, ScalarType dtype, {_NESTED}) -> Tensor",
                f"dequantize_out({_WEIGHT}, Tensor(a!) out, {_NESTED}) -> ()",
                f"linear(Tensor input, {_WEIGHT}, Tensor? bias=None, {_NESTED}) -> Tensor",
                f"linear_out(Tensor input, {_WEIGHT}, Tensor(a!) out, Tensor? bias=None, {_NESTED}) -> ()"):
    _LIBRARY.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))


def _weight(packed, absmax, blocksize, shape, nested):
    # Returned with its parts: they may be copies, which must live until the call is enqueued.
    parts = (packed, absmax, blocksize, tuple(shape), None if nested[0] is None else nested)
    with AsPlainTensors():
        try:
            return weight_of(parts), parts
        except UnsupportedWeight:
            parts = aligned(parts)
            return new_weight(parts), parts


def check_type(dtype):
    if dtype not in KINDS:
        raise ValueError(f"{dtype} is not one of float16, bfloat16 and float32")


def check_output(out, shape, device):
    """Raises ValueError for an `out` that a weight of this shape cannot be decoded to."""
    check_type(out.dtype)
    if _is_grad_enabled() and out.requires_grad:
        raise ValueError("a weight that is decoded into out has no gradient: out must not require one")
    if tuple(out.shape) != tuple(shape):
        raise ValueError(f"out has the shape {list(out.shape)}, and the weight {list(shape)}")
    if out.device != device:
        raise ValueError(f"out is on {out.device}, and the weight on {device}")


def check_like(name, tensor, shape, dtype, device):
    """Raises ValueError for a tensor, if there is one, that is not of this shape, type and device."""
    if tensor is not None and (tensor.dtype != dtype or tensor.device != device or tuple(tensor.shape) != shape):
        raise ValueError(f"{name} is {tensor.dtype} {list(tensor.shape)} on {tensor.device}, and must be {dtype} "
                         f"{list(shape)} on {device}")


def check_input(tokens, bias, shape, device):
    """Raises ValueError for tokens or a bias that do not fit a weight of this shape."""
    check_type(tokens.dtype)
    if len(shape) != 2:
        raise ValueError(f"a product needs a weight of two dimensions, and this has the shape {list(shape)}")
    if tokens.dim() == 0 or tokens.shape[-1] != shape[1]:
        raise ValueError(f"the input has the shape {list(tokens.shape)}, and the weight has {shape[1]} inputs")
    if tokens.device != device:
        raise ValueError(f"the input is on {tokens.device}, and the weight on {device}")
    check_like("bias", bias, (shape[0],), tokens.dtype, device)


def follows_tangents():
    """Whether forward-mode differentiation is under way."""
    return forward_ad._current_level >= 0


def has_tangent(*tensors):
    """Whether forward-mode differentiation follows one of these; some may be None. Not to be asked while compiling."""
    return follows_tangents() and any(
        each is not None and forward_ad.unpack_dual(each).tangent is not None for each in tensors)


def wants_gradient(tokens, bias, out=None):
    return _is_grad_enabled() and (tokens.requires_grad or (bias is not None and bias.requires_grad)
                                   or (out is not None and out.requires_grad))


def check_no_gradient(tokens, bias, out):
    """Raises ValueError where a product that is written into `out` would have to have a gradient."""
    if wants_gradient(tokens, bias, out) or (not is_compiling() and has_tangent(tokens, bias, out)):
        raise ValueError("a product that is written into out has no gradient: nothing may require one")


def check_product(out, tokens, shape):
    """Raises ValueError for an `out` that is not what the product of these tokens becomes."""
    check_like("out", out, (*tokens.shape[:-1], shape[0]), tokens.dtype, tokens.device)


def decode_into(weight, out):
    """Decodes into any `out` of the right shape, type and device."""
    if is_dense(out) and out.is_contiguous() and out.data_ptr() % ALIGNMENT == 0:
        kernels.overwrite(out, weight)
    else:
        out.copy_(kernels.dequantize(weight, out.dtype))


def _dequantize(packed, absmax, blocksize, shape, dtype, nested_absmax=None, nested_map=None, nested_offset=None):
    check_type(dtype)
    weight, _parts = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    return kernels.dequantize(weight, dtype)


def _dequantize_out(packed, absmax, blocksize, shape, out, nested_absmax=None, nested_map=None, nested_offset=None):
    check_output(out, shape, packed.device)
    weight, _parts = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    decode_into(weight, out)


def _linear(input, packed, absmax, blocksize, shape, bias=None, nested_absmax=None, nested_map=None,
            nested_offset=None):
    check_input(input, bias, shape, packed.device)
    weight, _parts = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    return kernels.linear(weight, input, bias)


def _linear_out(input, packed, absmax, blocksize, shape, out, bias=None, nested_absmax=None, nested_map=None,
                nested_offset=None):
    check_no_gradient(input, bias, out)
    check_input(input, bias, shape, packed.device)
    check_product(out, input, shape)
    weight, _parts = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    kernels.linear(weight, input, bias, out)


for _name, _kernel in (("dequantize", _dequantize), ("dequantize_out", _dequantize_out), ("linear", _linear),
                       ("linear_out", _linear_out)):
    for _key in ("CPU", "CUDA"):
        _LIBRARY.impl(_name, _kernel, _key)


def _check_weight(absmax, blocksize, nested_absmax):
    torch._check(blocksize in BLOCKSIZES, lambda: f"blocksize {blocksize} is not a power of two from 32 to 4096")
    wanted = torch.float32 if nested_absmax is None else torch.uint8
    torch._check(absmax.dtype is wanted, lambda: f"absmax is {absmax.dtype}, not {wanted}")


@registry.register_fake("nf4::dequantize", lib=_LIBRARY)
def _(packed, absmax, blocksize, shape, dtype, nested_absmax=None, nested_map=None, nested_offset=None):
    _check_weight(absmax, blocksize, nested_absmax)
    check_type(dtype)
    return torch.empty(shape, dtype=dtype, device=packed.device)


@registry.register_fake("nf4::dequantize_out", lib=_LIBRARY)
def _(packed, absmax, blocksize, shape, out, nested_absmax=None, nested_map=None, nested_offset=None):
    _check_weight(absmax, blocksize, nested_absmax)
    check_output(out, shape, packed.device)


@registry.register_fake("nf4::linear", lib=_LIBRARY)
def _(input, packed, absmax, blocksize, shape, bias=None, nested_absmax=None, nested_map=None, nested_offset=None):
    _check_weight(absmax, blocksize, nested_absmax)
    check_input(input, bias, shape, packed.device)
    return input.new_empty((*input.shape[:-1], shape[0]))


@registry.register_fake("nf4::linear_out", lib=_LIBRARY)
def _(input, packed, absmax, blocksize, shape, out, bias=None, nested_absmax=None, nested_map=None,
      nested_offset=None):
    _check_weight(absmax, blocksize, nested_absmax)
    check_input(input, bias, shape, packed.device)
    check_product(out, input, shape)


def _keep(ctx, inputs, output):
    _, packed, absmax, blocksize, shape, bias, *nested = inputs
    if ctx.needs_input_grad[2]:
        raise ValueError("a quantized weight has no gradient: absmax must not require one")
    ctx.save_for_backward(packed, absmax, *nested)
    ctx.blocksize, ctx.shape = blocksize, shape
    ctx.bias_type = None if bias is None else bias.dtype


def _backward(ctx, grad):
    packed, absmax, *nested = ctx.saved_tensors
    grad_input = grad_bias = None
    if ctx.needs_input_grad[0]:
        # dX = dY W, with W decoded anew: keeping it would cost what quantizing has saved.
        decoded = torch.ops.nf4.dequantize(packed, absmax, ctx.blocksize, ctx.shape, grad.dtype, *nested)
        grad_input = torch.matmul(grad, decoded)
    if ctx.bias_type is not None and ctx.needs_input_grad[5]:
        grad_bias = grad.sum(dim=tuple(range(grad.dim() - 1)), dtype=ctx.bias_type) if grad.dim() > 1 else grad
    return grad_input, None, None, None, None, grad_bias, None, None, None


registry.register_autograd("nf4::linear", _backward, setup_context=_keep, lib=_LIBRARY)
