"""Puts libnf4 under bitsandbytes and Unsloth, without a change of code in either.

Taken over are operators of bitsandbytes, and the functions that lead to them: the way through the
operators costs the host more, and cannot say that absmax is nested. Whatever libnf4 does not do goes to
what was there before: FP4, other devices, odd types, shapes and views.
"""

import inspect
import sys
import warnings

import torch
from nf4bench_bitsandbytes import is_disabled
from torch import library as registry

from .. import _library
from . import expert_layers, functions, kernels, originals
from .takeover import (LOG, after_import, awaited, devices, is_left, put_back, refused, replace,  # noqa: F401
                       replace_method, taken, undo, warn_of_unknown)
from .weights import ALIGNMENT, KINDS, AsPlainTensors, UnsupportedWeight, parts_of, weight_of

CANNOT = (UnsupportedWeight, _library.Nf4Error)
UNSLOTH = "unsloth.kernels.utils"

_active = False


def activate():
    """Takes over what is here, or says in a warning why nothing; never raises."""
    global _active
    if _active or is_disabled():
        return
    _active = True
    try:
        _library.load()
        _take_over()
    except Exception as error:  # an import of bitsandbytes must not fail because of this package
        put_back()
        refused.append(f"everything: {error}")
        LOG.warning("nf4bench leaves bitsandbytes as it is: %s", error)
        return
    LOG.info("libnf4 %s has taken over: %s", _library.version(), ", ".join(taken) or "nothing")


def deactivate():
    """Puts back what was there before activate()."""
    global _active
    put_back()
    _active = False


def _take_over():
    import bitsandbytes.functional

    _choose_devices()
    for name, make in (("gemm_4bit", _gemm), ("dequantize_4bit", _dequantize),
                       ("dequantize_4bit.out", _dequantize_out)):
        for device in sorted(devices):
            _override(name, make, device.upper())
    functional = bitsandbytes.functional
    replace(functional, "dequantize_4bit", _functional_dequantize, originals.strange_code)
    replace(sys.modules["bitsandbytes.autograd._functions"], "matmul_4bit", _matmul, originals.strange_code)
    _replace_forward(sys.modules["bitsandbytes.nn.modules"].Linear4bit)
    if not is_left("unsloth"):
        after_import(UNSLOTH, _take_over_unsloth)
    expert_layers.take_over()
    warn_of_unknown()


def _choose_devices():
    devices.add("cpu")
    if torch.cuda.is_available():
        try:
            _library.device(_library.CUDA, torch.cuda.current_device())
            devices.add("cuda")
        except _library.Nf4Error as error:  # a libnf4 for the CPU alone, a GPU of another maker
            refused.append(f"cuda: {error}")


def _override(name, make, key):
    """Overrides the operator bitsandbytes::NAME for the dispatch key by make(original)."""
    what = f"bitsandbytes::{name} ({key})"
    get_kernel = getattr(registry, "get_kernel", None)
    if get_kernel is None:
        refused.append(f"{what}: PyTorch 2.9 or later is needed")
        return
    strange = originals.strange_schema(name)
    if strange:
        refused.append(f"{what}: {strange}")
        return
    try:
        kernel = get_kernel(f"bitsandbytes::{name}", key)
    except RuntimeError:
        refused.append(f"{what}: this bitsandbytes has none")
        return
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    library = registry.Library("bitsandbytes", "FRAGMENT")
    # Releases differ in whether they have the option, and in what it is without it.
    options = {"allow_override": True} if "allow_override" in inspect.signature(library.impl).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of what is done on purpose here
        library.impl(name, make(lambda *arguments: kernel.call_boxed(keys, *arguments)), key, **options)
    undo.append(library._destroy)  # an override lasts as long as its Library
    taken.append(what)


def _is_recast(tokens):
    """Whether autocast has bitsandbytes compute in another type."""
    kind = tokens.device.type
    return torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) is not tokens.dtype


def _fits(weight, tokens, bias):
    """Whether this product is one for libnf4; if not, the original says what is wrong with it."""
    return (weight.is_matrix and tokens.dtype in KINDS and tokens.dim() > 0 and tokens.shape[-1] == weight.inputs
            and tokens.device == weight.device and not _is_recast(tokens)
            and (bias is None or (bias.dtype is tokens.dtype and bias.dim() == 1 and bias.numel() == weight.outputs
                                  and bias.device == weight.device)))


def _gemm(original):
    def gemm_4bit(A, B, shapeB, absmax, blocksize, quant_type, bias=None, absmax_8bit=None, absmax_code=None,
                  absmax_offset=None):
        if quant_type == "nf4" and not functions.follows_tangents():
            try:
                if absmax_8bit is None:
                    weight = weight_of((B, absmax, blocksize, tuple(shapeB), None))
                else:
                    # Kept until the call is enqueued.
                    is_short = absmax_offset is not None and absmax_offset.dtype in KINDS
                    offset = absmax_offset.float() if is_short else absmax_offset
                    nested = (absmax, absmax_code, offset)
                    weight = weight_of((B, absmax_8bit, blocksize, tuple(shapeB), nested))
                if _fits(weight, A, bias):
                    return kernels.linear(weight, A, bias)
            except CANNOT:
                pass
        return original(A, B, shapeB, absmax, blocksize, quant_type, bias, absmax_8bit, absmax_code, absmax_offset)
    return gemm_4bit


def _dequantize(original):
    def dequantize_4bit(A, absmax, blocksize, quant_type, shape, dtype):
        if quant_type == "nf4" and dtype in KINDS:
            try:
                return kernels.dequantize(weight_of((A, absmax, blocksize, tuple(shape), None)), dtype)
            except CANNOT:
                pass
        return original(A, absmax, blocksize, quant_type, shape, dtype)
    return dequantize_4bit


def _dequantize_out(original):
    def dequantize_4bit_out(A, absmax, blocksize, quant_type, shape, dtype, out):
        if quant_type == "nf4" and dtype in KINDS and _can_take(out, shape, dtype, A.device):
            try:
                kernels.overwrite(out, weight_of((A, absmax, blocksize, tuple(shape), None)))
                return
            except CANNOT:
                pass
        original(A, absmax, blocksize, quant_type, shape, dtype, out)
    return dequantize_4bit_out


def _can_take(out, shape, dtype, device):
    return (out.dtype is dtype and tuple(out.shape) == tuple(shape) and out.device == device and out.is_contiguous()
            and out.data_ptr() % ALIGNMENT == 0)


def _is_on_ours(tensor):
    return isinstance(tensor, torch.Tensor) and tensor.device.type in devices


def _product_or_none(tokens, packed, state, bias, out=None):
    """The product by libnf4, in `out` if that is given, where nothing looks on; or None."""
    if not (functions.are_plain(tokens, bias) and (out is None or functions.is_plain(out)) and _is_on_ours(tokens)
            and not functions.wants_gradient(tokens, bias, out) and functions.nothing_looks_on()):
        return None
    with AsPlainTensors():
        try:
            weight = weight_of(parts_of(packed, state))
            if not _fits(weight, tokens, bias) or (out is not None and not _is_product(out, weight, tokens)):
                return None
            return kernels.linear(weight, tokens, bias, out)
        except CANNOT:
            return None


def _is_product(out, weight, tokens):
    """Whether `out` is as the product will be; the original copies into others, which may convert it."""
    return (out.dtype is tokens.dtype and out.device == tokens.device
            and out.shape == (*tokens.shape[:-1], weight.outputs))


def _matmul(original):
    def matmul_4bit(A, B, quant_state, out=None, bias=None):
        if functions.is_compiling() or quant_state is None:
            return original(A, B, quant_state, out, bias)
        result = _product_or_none(A, B, quant_state, bias, out)
        return original(A, B, quant_state, out, bias) if result is None else result
    return matmul_4bit


def _functional_dequantize(original):
    def dequantize_4bit(A, quant_state=None, absmax=None, out=None, blocksize=None, quant_type="fp4"):
        if out is None and _is_ours(A, quant_state) and getattr(quant_state, "dtype", None) in KINDS:
            try:
                return functions.dequantize(A, quant_state)
            except CANNOT:
                pass
        return original(A, quant_state, absmax, out, blocksize, quant_type)
    return dequantize_4bit


def _replace_forward(layer):
    replace_method(layer, "forward", _forward, originals.strange_code, "bitsandbytes.nn.Linear4bit.forward")


def _forward(original):
    def forward(self, x):
        # On a CPU bitsandbytes may keep the weight in a form of its own.
        if functions.is_compiling() or not x.is_cuda:
            return original(self, x)
        weight, bias = self._parameters.get("weight"), self._parameters.get("bias")
        state, dtype = getattr(weight, "quant_state", None), self.compute_dtype
        if state is None or not self.compute_type_is_set or (bias is not None and bias.dtype is not (dtype or x.dtype)):
            return original(self, x)
        if dtype is None or x.dtype is dtype:
            result = _product_or_none(x, weight, state, bias)
            return original(self, x) if result is None else result
        result = _product_or_none(x.to(dtype), weight, state, bias)
        return original(self, x) if result is None else result.to(x.dtype)
    return forward


def _take_over_unsloth(module):
    decode = "W quant_state out use_global_buffer"
    for name, make, known in (("fast_dequantize", _unsloth_dequantize, (decode, decode + " dtype")),
                              ("fast_gemv", _unsloth_gemv, ("X W quant_state out",))):
        replace(module, name, make, lambda function, known=known: originals.strange_parameters(function, *known))


def _is_ours(packed, state):
    """Whether this is a weight of NF4 on a device of ours: not a list of old, nothing of 8 bits."""
    with AsPlainTensors():
        return getattr(state, "quant_type", None) == "nf4" and _is_on_ours(packed)


def _unsloth_dequantize(original):
    # Since 2026.10 there is a dtype, which is that of FP8 weights: others keep their own.
    def fast_dequantize(W, quant_state=None, out=None, use_global_buffer=False, *dtype, **named_dtype):
        if _is_ours(W, quant_state):
            try:
                return functions.fast_dequantize(W, quant_state, out, use_global_buffer)
            except CANNOT:
                pass
        return original(W, quant_state, out, use_global_buffer, *dtype, **named_dtype)
    return fast_dequantize


def _unsloth_gemv(original):
    def fast_gemv(X, W, quant_state, out=None):
        if _is_ours(W, quant_state) and X.dtype is quant_state.dtype and X.shape[:-1].numel() == 1:
            result = _product_or_none(X, W, quant_state, None, out)
            if result is not None:
                return result
        return original(X, W, quant_state, out)
    return fast_gemv
