"""What libnf4 computes, on tensors: no autograd, no dispatch, and on the current stream."""

import functools

import torch
from torch.nn.functional import linear as blas_linear

from .. import _library
from .weights import KINDS

_WORKSPACE_ALIGNMENT = 256
_MOST_PLANNED = 4096  # numbers of tokens that a plan remembers

_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0)
_current_gpu = getattr(torch._C, "_cuda_getDevice", lambda: 0)


@functools.cache
def _functions():
    library = _library.library()
    return library.nf4_dequantize, library.nf4_linear


def _device_fields(device):
    if device.type == "cuda":
        return _library.device(_library.CUDA, device.index)
    return _library.device(_library.CPU, 0, torch.get_num_threads())


class Plan:
    """How products with weights of one geometry, type and device are computed."""

    __slots__ = ("device", "weight", "kind", "most_tokens", "_workspaces")

    def __init__(self, device, weight, kind):
        self.device, self.weight, self.kind = device, weight, kind
        self.most_tokens = _library.most_tokens(device, weight, kind)
        self._workspaces = {}

    def workspace(self, tokens):
        """Bytes for so many tokens; None where decoding the weight and a BLAS do it."""
        if tokens > self.most_tokens:
            return None
        known = self._workspaces.get(tokens, -1)
        if known == -1:
            known = _library.workspace_bytes(self.device, self.weight, self.kind, tokens)
            if len(self._workspaces) >= _MOST_PLANNED:
                self._workspaces.clear()
            self._workspaces[tokens] = known
        return known


@functools.lru_cache(maxsize=4096)
def _plan_of(device, blocksize, sizes, nested, kind):
    outputs, inputs = sizes
    fields = _library.pack_weight(blocksize, outputs, inputs, _any_pointers(nested))
    return Plan(device, fields, kind)


def _any_pointers(nested):
    """Of a weight whose sizes alone are looked at."""
    return (16, 0, 16, 16, 16, 16) if nested else (16, 16, 0, 0, 0, 0)


def plan_of(weight, dtype):
    plan = weight.plans.get(dtype)
    if plan is None or weight.device.type == "cpu":  # whose number of threads may have changed
        plan = _plan_of(_device_fields(weight.device), weight.blocksize, (weight.outputs, weight.inputs),
                        weight.is_nested, KINDS[dtype])
        weight.plans[dtype] = plan
    return plan


def stream_of(device):
    return _raw_stream(device.index) if device.type == "cuda" else 0


def _on_its_device(function):
    """Makes the weight's GPU current, if it is not."""
    @functools.wraps(function)
    def wrapper(weight, *arguments):
        device = weight.device
        if device.type == "cpu" or _current_gpu() == device.index:
            return function(weight, *arguments)
        with torch.cuda.device(device):
            return function(weight, *arguments)
    return wrapper


@_on_its_device
def dequantize_into(weight, output):
    """`output`: contiguous, aligned, of the weight's size and device, and of a type of KINDS."""
    device = weight.device
    status = _functions()[0](_device_fields(device), weight.fields, KINDS[output.dtype], output.data_ptr(),
                             stream_of(device))
    if status:
        _library.check(status, "nf4_dequantize")
    return output


def dequantize(weight, dtype):
    return dequantize_into(weight, torch.empty(weight.shape, dtype=dtype, device=weight.device))


@_on_its_device
def linear(weight, tokens, bias):
    """tokens[..., K] W^T + bias. Both are of one type of KINDS, contiguous, aligned, and on the
    weight's device."""
    inputs, outputs = weight.inputs, weight.outputs
    shape = tokens.shape
    count = tokens.numel() // inputs
    plan = plan_of(weight, tokens.dtype)
    scratch_bytes = plan.workspace(count) if count else 0
    if scratch_bytes is None:
        return _by_blas(weight, tokens, bias)
    output = tokens.new_empty((*shape[:-1], outputs))
    if count == 0:
        return output
    scratch = 0
    if scratch_bytes:
        # Kept to the end of this function; what reuses it is behind this call on the same stream.
        memory = torch.empty(scratch_bytes + _WORKSPACE_ALIGNMENT, dtype=torch.uint8, device=weight.device)
        scratch = -(-memory.data_ptr() // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT
    product = _library.pack_product(plan.kind, count, tokens.data_ptr(), bias.data_ptr() if bias is not None else 0,
                                    output.data_ptr(), scratch, scratch_bytes)
    status = _functions()[1](plan.device, weight.fields, product, stream_of(weight.device))
    if status:
        _library.check(status, "nf4_linear")
    return output


def _by_blas(weight, tokens, bias):
    decoded = dequantize(weight, tokens.dtype).view(weight.outputs, weight.inputs)
    if torch.is_autocast_enabled(tokens.device.type):  # which would choose another type of output
        with torch.autocast(tokens.device.type, enabled=False):
            return blas_linear(tokens, decoded, bias)
    return blas_linear(tokens, decoded, bias)
