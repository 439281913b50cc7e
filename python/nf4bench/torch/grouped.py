"""Products with stacks of experts by libnf4, on tensors: no autograd, no dispatch, on the current stream.

A stack is a Weight of three dimensions: E matrices [N, K], or [K, N] where it is `transposed`.
"""

import functools

import torch

from .. import _library
from .kernels import (any_pointers, current_gpu, dequantize, device_fields, pointer_of, readable, scratch_of,
                      stream_of)
from .weights import KINDS

ACTIVATIONS = {"silu": 0, "gelu_tanh": 1, "gptoss": 2, "relu2": 3}  # as nf4.h numbers them


def sizes_of(shape, transposed):
    """Experts, outputs and inputs of a stack of this shape."""
    experts, outputs, inputs = shape
    return (experts, inputs, outputs) if transposed else (experts, outputs, inputs)


def _stack(weight, fields, transposed, bias=0):
    return _library.pack_stack(fields, transposed, weight.shape[0], bias, weight.own_offsets)


def _sizes_alone(weight):
    return _library.pack_weight(weight.blocksize, weight.outputs, weight.inputs, any_pointers(weight.is_nested))


class _Routing:
    """Of ids [T, k], or where `is_sorted` the ends of each expert's rows, of which there are `rows`."""

    def __init__(self, ids, weights, rows, is_sorted, sums):
        self.ids, self.weights = readable(ids), readable(weights)
        self.tokens, self.top_k = (rows, 1) if is_sorted else ids.shape
        kind = _library.ENDS if is_sorted else _library.TOP_K
        self._fields = (kind, ids.element_size(), _library.FLOAT32 if weights is None else KINDS[weights.dtype],
                        self.tokens, self.top_k)
        self._sums = sums

    def fields(self):
        return _library.pack_routing(*self._fields, (self.ids.data_ptr(), pointer_of(self.weights)), self._sums)

    def sizes(self):
        return _library.pack_routing(*self._fields, (0, 0), self._sums)


@functools.lru_cache(maxsize=4096)
def _product_bytes(device, weight, transposed, experts, own_offsets, routing, kind, rows):
    stack = _library.pack_stack(weight, transposed, experts, 0, own_offsets)
    product = _library.pack_product(kind, rows, 0, 0, 0, 0, 0, 0)
    return _library.grouped_workspace_bytes("nf4_grouped_linear", device, stack, routing, product)


@functools.lru_cache(maxsize=4096)
def _layer_bytes(device, weights, transposed, experts, own_offsets, routing, options, kind, rows):
    up, down = (_library.pack_stack(weight, way, experts, 0, own)
                for weight, way, own in zip(weights, transposed, own_offsets))
    product = _library.pack_product(kind, rows, 0, 0, 0, 0, 0, 0)
    return _library.grouped_workspace_bytes("nf4_experts", device, up, down, routing, options, product)


def _on_its_gpu(work):
    @functools.wraps(work)
    def on_its_gpu(weight, *arguments):
        if weight.gpu is None or current_gpu() == weight.gpu:
            return work(weight, *arguments)
        with torch.cuda.device(weight.gpu):
            return work(weight, *arguments)
    return on_its_gpu


def _enqueue(function, weight, structs, tokens, output, needed):
    """Calls nf4_grouped_linear() or nf4_experts() with these structs and a product of `tokens`."""
    stream = stream_of(weight)
    scratch = scratch_of(weight, needed, stream) if needed else (None, 0, 0)
    product = _library.pack_product(KINDS[tokens.dtype], tokens.shape[0], tokens.data_ptr(), 0, output.data_ptr(),
                                    scratch[1], needed, 0)
    status = getattr(_library.load(), function)(device_fields(weight.device), *structs, product, stream)
    _library.check(status, function)
    return output


def experts_of(ids, rows, count, is_sorted):
    """The expert of each slot; `count` where it has none."""
    if is_sorted:
        rows = torch.arange(rows, device=ids.device, dtype=ids.dtype)
        return torch.searchsorted(ids.cummax(0).values, rows, right=True)
    ids = ids.reshape(-1)
    return torch.where((ids >= 0) & (ids < count), ids, count).long()


def slot_weights(weights, chosen, count):
    """In float32, [slots, 1], and 0 where a slot has no expert, whatever its weight."""
    if weights is None:
        return (chosen < count).float()[:, None]
    return torch.where(chosen < count, weights.reshape(-1).float(), 0.0)[:, None]


def is_decoded(weight, transposed, dtype, slots):
    """Whether a product is that of the decoded stack. Transposed ones, as backward passes have, that no tensor-core
    kernel of libnf4 can do are read once a slot: from about half as many slots as experts on that takes longer than to
    decode all."""
    if not transposed or weight.gpu is None or weight.own_offsets or dtype is torch.float32:
        return False
    if _has_kernel(weight, dtype):
        return False
    return 2 * slots >= weight.shape[0] and (_has_grouped_mm(weight, dtype)
                                             or not torch.cuda.is_current_stream_capturing())


def _has_kernel(weight, dtype):
    """Whether libnf4's grouped_wgmma or grouped_ring takes a transposed stack."""
    return (weight.blocksize >= 64 and weight.shape[0] <= 512
            and weight.shape[1] % 64 == 0 and weight.shape[2] % 64 == 0
            and (dtype is torch.float16 or torch.cuda.get_device_capability(weight.gpu) >= (8, 0)))


def _has_grouped_mm(weight, dtype):
    """Whether PyTorch's grouped product reads the ends of experts on the device."""
    return (hasattr(torch, "_grouped_mm") and dtype is torch.bfloat16
            and weight.shape[1] % 8 == 0 and weight.shape[2] % 8 == 0
            and torch.cuda.get_device_capability(weight.gpu) >= (9, 0))


def _by_experts(rows, matrices, ends):
    """As torch._grouped_mm, but waits for `ends`."""
    products, begin = rows.new_empty(rows.shape[0], matrices.shape[2]), 0
    for matrix, end in zip(matrices, ends.tolist()):
        torch.mm(rows[begin:end], matrix, out=products[begin:end])
        begin = end
    return products


def decoded_product(weight, tokens, ids, weights, bias, is_sorted, sums):
    """grouped_linear() of a transposed stack, decoded whole."""
    count = weight.shape[0]
    chosen = experts_of(ids, tokens.shape[0], count, is_sorted)
    slots = chosen.numel()
    sorted_ids, order = chosen.sort(stable=True)
    ends = torch.searchsorted(sorted_ids, torch.arange(count, device=ids.device), right=True).int()
    rows = tokens[order if tokens.shape[0] == slots else order // (slots // tokens.shape[0])]
    multiply = torch._grouped_mm if weight.gpu is not None and _has_grouped_mm(weight, tokens.dtype) else _by_experts
    products = multiply(rows, dequantize(weight, tokens.dtype), ends)
    result = torch.empty_like(products)
    result[order] = products
    if bias is not None:
        result = result + bias[chosen.clamp(max=count - 1)]
    if weights is not None:
        result = result.float() * slot_weights(weights, chosen, count)
    # Rows of no expert were never written.
    result = torch.where(chosen[:, None] < count, result, torch.zeros((), dtype=result.dtype, device=result.device))
    if sums and not is_sorted:
        result = result.view(ids.shape[0], -1, result.shape[1]).sum(1, dtype=torch.float32)
    return result.to(tokens.dtype)


@_on_its_gpu
def grouped_linear(weight, transposed, tokens, ids, weights, bias, is_sorted, sums):
    """For each slot weights[s] (W[ids[s]] x + bias[ids[s]]), of arguments that check_grouped() has seen."""
    experts, outputs, _ = sizes_of(weight.shape, transposed)
    rows = tokens.shape[0]
    if is_decoded(weight, transposed, tokens.dtype, rows if is_sorted else ids.numel()):
        return decoded_product(weight, tokens, ids, weights, bias, is_sorted, sums)
    routing = _Routing(ids, weights, rows, is_sorted, sums)
    output = tokens.new_empty((routing.tokens if sums else routing.tokens * routing.top_k, outputs))
    if output.shape[0] == 0:
        return output
    tokens, bias = readable(tokens), readable(bias)
    needed = _product_bytes(device_fields(weight.device), _sizes_alone(weight), transposed, experts, weight.own_offsets,
                            routing.sizes(), KINDS[tokens.dtype], rows)
    stack = _stack(weight, weight.fields, transposed, pointer_of(bias))
    return _enqueue("nf4_grouped_linear", weight, (stack, routing.fields()), tokens, output, needed)


@_on_its_gpu
def experts(up, down, transposed, tokens, ids, weights, biases, activation):
    """A layer of experts: transposed and biases of both stacks; activation: kind, gated, interleaved, alpha, limit."""
    kind, gated, interleaved, alpha, limit = activation
    routing = _Routing(ids, weights, tokens.shape[0], False, True)
    output = tokens.new_empty((tokens.shape[0], sizes_of(down.shape, transposed[1])[1]))
    if output.shape[0] == 0:
        return output
    tokens, biases = readable(tokens), tuple(map(readable, biases))
    options = _library.pack_options(ACTIVATIONS[kind], gated, interleaved, alpha, limit)
    needed = _layer_bytes(device_fields(up.device), (_sizes_alone(up), _sizes_alone(down)), transposed, up.shape[0],
                          (up.own_offsets, down.own_offsets), routing.sizes(), options, KINDS[tokens.dtype],
                          tokens.shape[0])
    stacks = [_stack(each, each.fields, way, pointer_of(bias))
              for each, way, bias in zip((up, down), transposed, biases)]
    return _enqueue("nf4_experts", up, (*stacks, routing.fields(), options), tokens, output, needed)
