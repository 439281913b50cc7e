"""Stacks of experts, and products with them: what people call."""

import torch

from . import expert_operators, grouped
from .functions import is_compiling, is_plain, nothing_looks_on
from .operators import has_tangent
from .weights import NESTED_BLOCKSIZE, AsPlainTensors, UnsupportedWeight, dtype_of, parts_of, weight_of

_is_grad_enabled = torch.is_grad_enabled


class Stack:
    """The quantized matrices W [E, N, K] of experts, or [E, K, N] where `transposed`, as they lie in memory,
    and the bias [E, N] of their products.

    Made of tensors of bitsandbytes without a copy: Stack(packed, quant_state), Stack.of(module, name),
    Stack.of_absmax(packed, absmax, shape). Stack.join(layers) copies.
    """

    def __init__(self, packed, quant_state, bias=None, transposed=False, shape=None):
        """`shape`, where it is not the quant_state's. Raises UnsupportedWeight."""
        packed, absmax, blocksize, known, nested = parts_of(packed, quant_state)
        self._set((packed, absmax, blocksize, known if shape is None else tuple(shape), nested), bias, transposed,
                  dtype_of(quant_state))

    def _set(self, parts, bias, transposed, dtype):
        self.packed, self.absmax, self.blocksize, self.shape, self.nested = parts
        self.bias, self.transposed, self.dtype = bias, transposed, dtype
        if len(self.shape) != 3:
            raise UnsupportedWeight(f"a stack of experts has three dimensions, and this the shape {list(self.shape)}")

    @classmethod
    def of_absmax(cls, packed, absmax, shape, blocksize=64, bias=None, transposed=False, dtype=None, nested=None):
        """Of plain tensors; nested: nested_absmax, nested_map and nested_offset, of one value or one an expert.
        As bitsandbytes' Experts4bit holds them, packed and absmax may have a row for each expert."""
        stack = cls.__new__(cls)
        stack._set((packed, absmax, blocksize, tuple(shape), nested), bias, transposed, dtype)
        return stack

    @classmethod
    def of(cls, module, name, bias=None, transposed=False):
        """The stack that a module keeps as its parameter `name`: parametrized by bitsandbytes, or a Params4bit of
        three dimensions. Decodes nothing. Raises UnsupportedWeight."""
        parametrized = getattr(module, "parametrizations", None)
        if parametrized is not None and name in parametrized:
            chain = parametrized[name]
            if len(chain) != 1 or type(chain[0]).__name__ != "Bnb4bitParametrization":
                raise UnsupportedWeight(f"{name} is parametrized by more than bitsandbytes")
            return cls(chain.original, chain[0].quant_state, bias, transposed)
        parameter = module._parameters.get(name)
        state = getattr(parameter, "quant_state", None)
        if state is None:
            raise UnsupportedWeight(f"{name} is not quantized by bitsandbytes")
        return cls(parameter, state, bias, transposed, getattr(parameter, "_original_shape", None))

    @classmethod
    def join(cls, layers):
        """A new stack of Linear4bit, one an expert, or tuples of them whose outputs follow each other (gate and up)."""
        rows = [each if isinstance(each, (tuple, list)) else (each,) for each in layers]
        if not rows or not all(rows):
            raise UnsupportedWeight("there are no layers to join")
        parts = [[parts_of(layer.weight, getattr(layer.weight, "quant_state", None)) for layer in row] for row in rows]
        first = parts[0][0]
        outputs = sum(each[3][0] for each in parts[0])
        for each in (each for row in parts for each in row):
            if (each[2] != first[2] or each[3][1] != first[3][1] or each[3][0] * each[3][1] % each[2]
                    or len(each[3]) != 2):
                raise UnsupportedWeight("layers of different blocksizes or inputs, or with parts of blocks, do not join")
        if any(sum(each[3][0] for each in row) != outputs for row in parts):
            raise UnsupportedWeight("experts of different outputs do not join")
        absmax = torch.cat([_plain_absmax(each) for row in parts for each in row])
        packed = torch.cat([each[0].data.reshape(-1).view(torch.uint8) for row in parts for each in row])
        biases = [[layer.bias for layer in row] for row in rows]
        has_bias = biases[0][0] is not None
        if any((each is not None) != has_bias for row in biases for each in row):
            raise UnsupportedWeight("layers with and without a bias do not join")
        bias = torch.stack([torch.cat([each.detach() for each in row]) for row in biases]) if has_bias else None
        shape = (len(rows), outputs, first[3][1])
        return cls.of_absmax(packed, absmax, shape, first[2], bias, dtype=dtype_of(rows[0][0].weight.quant_state))

    @property
    def parts(self):
        return self.packed, self.absmax, self.blocksize, self.shape, self.nested

    def decode(self, ids, dtype=None):
        """Matrices ids[C], in that order: [C, N, K] as they lie in memory. Reads no others, and waits for nothing.
        Raises UnsupportedWeight, also where experts share a block."""
        packed, absmax, blocksize, shape, nested = self.parts
        size = shape[1] * shape[2]
        if size % blocksize:
            raise UnsupportedWeight("experts that share blocks are not decoded one by one")
        dtype = dtype or self.dtype
        expert_operators.check_type(dtype)
        if len(ids) == 0:
            return packed.new_empty((0, *shape[1:]), dtype=dtype)
        packed = packed.detach().reshape(-1).view(torch.uint8).view(shape[0], -1)[ids]
        blocks = torch.arange(size // blocksize, device=ids.device) + ids.long()[:, None] * (size // blocksize)
        absmax = absmax.reshape(-1)[blocks]
        if nested is not None:
            outer, mapping, offset = nested
            offset = offset[ids][:, None] if offset.numel() > 1 else offset
            absmax = _decoded_absmax(absmax, mapping, outer[blocks // NESTED_BLOCKSIZE], offset)
        return torch.ops.nf4.dequantize(packed, absmax, blocksize, (len(ids), *shape[1:]), dtype)

    @property
    def sizes(self):
        """Experts, outputs and inputs."""
        return grouped.sizes_of(self.shape, self.transposed)


def _decoded_absmax(codes, mapping, outer, offset):
    return mapping[codes.long()] * outer + offset  # two roundings


def _plain_absmax(parts):
    _, absmax, _, _, nested = parts
    if nested is None:
        return absmax
    outer, mapping, offset = nested
    return _decoded_absmax(absmax, mapping, outer.repeat_interleave(NESTED_BLOCKSIZE)[:absmax.numel()], offset)


def _are_seen_by_nobody(*tensors):
    """Whether PyTorch need not know of a product of these."""
    if is_compiling() or not nothing_looks_on():
        return False
    wants_gradient = _is_grad_enabled()
    return all(each is None or (is_plain(each) and not (wants_gradient and each.requires_grad)) for each in tensors)


def _refuse_tangents(*tensors):
    if not is_compiling() and has_tangent(*tensors):
        raise UnsupportedWeight("forward-mode differentiation does not follow products with a stack of experts")


def grouped_linear(tokens, stack, ids, weights=None, sorted=False, combine=False):
    """For each slot s of ids[T, k]: weights[s] (W[ids[s]] x + bias[ids[s]]), [T k, N], x being a row of tokens[T, K]
    or, where there are T k of them, row s. `combine` adds up the slots of each token: [T, N]. Where `sorted`, ids[E]
    are instead where the rows of each expert end.

    An id that is no expert's gives zeros. Differentiable in tokens, weights and bias. Raises ValueError.
    """
    if _are_seen_by_nobody(tokens, ids, weights, stack.bias):
        with AsPlainTensors():
            weight = weight_of(stack.parts)
            expert_operators.check_grouped(tokens, stack.shape, ids, weights, stack.bias, weight.device, sorted,
                                           stack.transposed, combine)
            return grouped.grouped_linear(weight, stack.transposed, tokens, ids, weights, stack.bias, sorted, combine)
    _refuse_tangents(tokens, weights, stack.bias)
    packed, absmax, blocksize, shape, nested = stack.parts
    return torch.ops.nf4.grouped_linear(tokens, packed, absmax, blocksize, shape, ids, weights, stack.bias,
                                        *(nested or (None,) * 3), sorted, stack.transposed, combine)


def experts(tokens, ids, weights, up, down, activation="silu", gated=True, interleaved=False, alpha=1.702, limit=0.0,
            addend=None):
    """A layer of experts: for each slot of ids[T, k] the product of stack `up`, plus addend[T k, N] if given, the
    activation of its gates and ups (nf4.h has the formulas), and the product of stack `down`; slots are added up with
    weights[T, k] into [T, outputs of down].

    Differentiable in tokens, weights, biases and addend. Raises ValueError.
    """
    kinds = activation, gated, interleaved, alpha, limit
    if _are_seen_by_nobody(tokens, ids, weights, up.bias, down.bias, addend):
        with AsPlainTensors():
            ways, biases, first, second = (up.transposed, down.transposed), (up.bias, down.bias), *map(
                weight_of, (up.parts, down.parts))
            expert_operators.check_layer(tokens, ids, weights, (up.shape, down.shape), biases, addend, ways, activation,
                                         gated, limit, first.device)
            return expert_operators.run_layer(first, second, tokens, ids, weights, biases, addend, ways, kinds)
    _refuse_tangents(tokens, weights, up.bias, down.bias, addend)
    (packed, absmax, blocksize, shape, nested), below = up.parts, down.parts
    return torch.ops.nf4.experts(tokens, ids, weights, packed, absmax, blocksize, shape, *below[:4], up.bias, down.bias,
                                 addend, *(nested or (None,) * 3), *(below[4] or (None,) * 3), up.transposed,
                                 down.transposed, *kinds)
