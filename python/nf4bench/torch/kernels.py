"""What libnf4 computes, on tensors: no autograd, no dispatch, and on the current stream."""

import functools
import threading

import torch
from torch.autograd.graph import increment_version
from torch.nn.functional import linear as blas_linear

from .. import _library
from .weights import ALIGNMENT, KINDS, UnsupportedWeight, is_dense

_WORKSPACE_ALIGNMENT = 256
_MOST_PLANNED = 4096  # numbers of tokens that a plan remembers
_NO_SCRATCH = (None, 0, 0)

_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0)
current_gpu = getattr(torch._C, "_cuda_getDevice", lambda: 0)


@functools.cache
def _functions():
    library = _library.load()
    return library.nf4_dequantize, library.nf4_linear


def device_fields(device):
    if device.type == "cuda":
        return _library.device(_library.CUDA, device.index)
    return _library.device(_library.CPU, 0, torch.get_num_threads())


class Plan:
    """How products with weights of one geometry, type and device are computed."""

    __slots__ = ("device", "weight", "kind", "most_tokens", "workspaces")

    def __init__(self, device, weight, kind):
        self.device, self.weight, self.kind = device, weight, kind
        self.most_tokens = _library.most_tokens(device, weight, kind)
        self.workspaces = {0: 0}  # bytes by tokens, as workspace() has found them

    def workspace(self, tokens):
        """Bytes for so many tokens; None where decoding the weight and a BLAS do it."""
        if tokens > self.most_tokens:
            return None
        found = _library.workspace_bytes(self.device, self.weight, self.kind, tokens)
        if len(self.workspaces) < _MOST_PLANNED:
            self.workspaces[tokens] = found
        return found


@functools.lru_cache(maxsize=4096)
def _plan_of(device, blocksize, sizes, nested, kind):
    outputs, inputs = sizes
    fields = _library.pack_weight(blocksize, outputs, inputs, any_pointers(nested))
    return Plan(device, fields, kind)


def any_pointers(nested):
    """Of a weight whose sizes alone are looked at."""
    return (16, 0, 16, 16, 16, 16) if nested else (16, 16, 0, 0, 0, 0)


def plan_of(weight, dtype):
    """Of a type of KINDS."""
    plan = _plan_of(device_fields(weight.device), weight.blocksize, (weight.outputs, weight.inputs),
                    weight.is_nested, KINDS[dtype])
    if weight.gpu is not None:  # on the CPU the number of threads may change
        weight.plans[dtype] = plan
    return plan


class _Scratch(threading.local):
    """Memory that a thread's products on default streams use one after another."""

    def __init__(self):
        self.by_gpu = {}  # a tensor, the address in it, and how many bytes are there


_scratch = _Scratch()


def new_scratch(device, least):
    memory = torch.empty(least + _WORKSPACE_ALIGNMENT, dtype=torch.uint8, device=device)
    return memory, -(-memory.data_ptr() // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT, least


def scratch_of(weight, least, stream):
    """Memory that nothing else uses until what is enqueued next on the stream has ended."""
    if stream or weight.gpu is None:
        # Given back when the caller returns; whoever gets it next is behind this call on the stream.
        return new_scratch(weight.device, least)
    # The default stream, which no graph captures, and which lasts.
    held = _scratch.by_gpu.get(weight.gpu)
    if held is None or held[2] < least:
        held = _scratch.by_gpu[weight.gpu] = new_scratch(weight.device, least)
    return held


def stream_of(weight):
    return 0 if weight.gpu is None else _raw_stream(weight.gpu)


def dequantize_into(weight, output):
    """`output`: contiguous, aligned, of the weight's size and device, and of a type of KINDS."""
    if weight.own_offsets:
        raise UnsupportedWeight("a stack whose matrices have an offset each is decoded one by one")
    gpu = weight.gpu
    if gpu is not None and current_gpu() != gpu:
        with torch.cuda.device(gpu):
            return dequantize_into(weight, output)
    status = _functions()[0](device_fields(weight.device), weight.fields, KINDS[output.dtype], output.data_ptr(),
                             0 if gpu is None else _raw_stream(gpu))
    if status:
        _library.check(status, "nf4_dequantize")
    return output


def overwrite(output, weight):
    """dequantize_into() something that autograd may have kept."""
    increment_version(output)
    return dequantize_into(weight, output)


def dequantize(weight, dtype):
    return dequantize_into(weight, torch.empty(weight.shape, dtype=dtype, device=weight.device))


def readable(tensor):
    """The tensor, or a copy where libnf4 cannot read it; None is None."""
    if tensor is None or (tensor.is_contiguous() and tensor.data_ptr() % ALIGNMENT == 0):
        return tensor
    return tensor.clone(memory_format=torch.contiguous_format)


def pointer_of(tensor):
    return 0 if tensor is None else tensor.data_ptr()


_FARTHEST_ROWS = 2**31  # from this on not all kernels can


def _row_stride(out):
    """Values from a row of `out` to the next, as nf4_linear() takes it; None where it cannot write there."""
    if not is_dense(out) or out.data_ptr() % ALIGNMENT:
        return None
    *sizes, columns = out.shape
    if out.is_contiguous():
        return columns
    *strides, step = out.stride()
    if step != 1:
        return None
    row = expected = None
    while sizes:
        size, stride = sizes.pop(), strides.pop()
        if size == 1:
            continue
        if row is None:
            row = expected = stride
        if stride != expected:
            return None  # rows of one dimension lie closer than those of another
        expected *= size
    return row if columns <= row < _FARTHEST_ROWS else None


def _may_meet(out, length, tensor):
    """Whether the bytes of `out`, and what lies between its rows, are those of a tensor, if there is one."""
    if tensor is None:
        return False
    if not tensor.is_contiguous():
        return out.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    first, other = out.data_ptr(), tensor.data_ptr()
    return first < other + tensor.nbytes and other < first + length


def linear(weight, tokens, bias, out=None):
    """tokens[..., K] W^T + bias, both of one type of KINDS and on the weight's device, of any strides; into
    `out`, if there is one: of any strides, and of the product's shape, type and device."""
    gpu = weight.gpu
    if gpu is not None and current_gpu() != gpu:
        with torch.cuda.device(gpu):
            return linear(weight, tokens, bias, out)
    plan = weight.plans.get(tokens.dtype) or plan_of(weight, tokens.dtype)
    count = tokens.numel() // weight.inputs
    stride = 0
    if out is not None:
        if count == 0:
            return out
        stride = _row_stride(out)
        length = ((count - 1) * (stride or 0) + weight.outputs) * out.itemsize
        if stride is None or _may_meet(out, length, tokens) or _may_meet(out, length, bias):
            return out.copy_(linear(weight, tokens, bias))
        increment_version(out)
    least = plan.workspaces.get(count, -1)
    if least == -1:
        least = plan.workspace(count)
    if least is None:
        return _by_blas(weight, tokens, bias, out)
    tokens, bias = readable(tokens), readable(bias)
    output = tokens.new_empty((*tokens.shape[:-1], weight.outputs)) if out is None else out
    if count == 0:
        return output
    stream = 0 if gpu is None else _raw_stream(gpu)
    scratch = scratch_of(weight, least, stream) if least else _NO_SCRATCH
    status = _functions()[1](plan.device, weight.fields,
                             _library.pack_product(plan.kind, count, tokens.data_ptr(), pointer_of(bias),
                                                   output.data_ptr(), scratch[1], least, stride), stream)
    if status == _library.UNSUPPORTED:
        return _by_blas(weight, tokens, bias, out)
    if status:
        _library.check(status, "nf4_linear")
    return output


def _by_blas(weight, tokens, bias, out):
    decoded = dequantize(weight, tokens.dtype).view(weight.outputs, weight.inputs)
    if out is not None:  # its rows are equally far apart, which a BLAS can as well
        rows, tokens = out.view(-1, weight.outputs), tokens.reshape(-1, weight.inputs)
        with torch.no_grad():
            if bias is None:
                torch.mm(tokens, decoded.t(), out=rows)
            else:
                torch.addmm(bias, tokens, decoded.t(), out=rows)
        return out
    if torch.is_autocast_enabled(tokens.device.type):  # which would choose another type of output
        with torch.autocast(tokens.device.type, enabled=False):
            return blas_linear(tokens, decoded, bias)
    return blas_linear(tokens, decoded, bias)
