"""Products with stacks of experts by libnf4, on tensors: no autograd, no dispatch, on the current stream.

A stack is a Weight of three dimensions: E matrices [N, K], or [K, N] where it is `transposed`.
"""

import functools

import torch

from .. import _library
from .kernels import any_pointers, current_gpu, device_fields, pointer_of, readable, scratch_of, stream_of
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
    product = _library.pack_product(kind, rows, 0, 0, 0, 0, 0)
    return _library.grouped_workspace_bytes("nf4_grouped_linear", device, stack, routing, product)


@functools.lru_cache(maxsize=4096)
def _layer_bytes(device, weights, transposed, experts, own_offsets, routing, options, kind, rows):
    up, down = (_library.pack_stack(weight, way, experts, 0, own)
                for weight, way, own in zip(weights, transposed, own_offsets))
    product = _library.pack_product(kind, rows, 0, 0, 0, 0, 0)
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
                                    scratch[1], needed)
    status = getattr(_library.load(), function)(device_fields(weight.device), *structs, product, stream)
    _library.check(status, function)
    return output


@_on_its_gpu
def grouped_linear(weight, transposed, tokens, ids, weights, bias, is_sorted, sums):
    """For each slot weights[s] (W[ids[s]] x + bias[ids[s]]), of arguments that check_grouped() has seen."""
    experts, outputs, _ = sizes_of(weight.shape, transposed)
    rows = tokens.shape[0]
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
