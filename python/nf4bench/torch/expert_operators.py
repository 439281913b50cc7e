"""The operators nf4::grouped_linear and nf4::experts of PyTorch.

A stack of experts is given as a weight is, with a shape of three dimensions as its elements lie in memory:
[E, N, K], or [E, K, N] where `transposed`. ids [T, k] are the experts that tokens chose; where `sorted`,
ids [E] are where the rows of each expert end.
"""

import torch
from torch import library as registry

from . import grouped
from .activations import activate, activate_backward
from .operators import _LIBRARY, _NESTED, _WEIGHT, _check_weight, _weight, check_like, check_type
from .weights import KINDS

_DOWN = "Tensor down_packed, Tensor down_absmax, int down_blocksize, int[] down_shape"
_DOWN_NESTED = _NESTED.replace("nested_", "down_nested_")
for _schema in (
        f"grouped_linear(Tensor input, {_WEIGHT}, Tensor ids, Tensor? weights=None, Tensor? bias=None, {_NESTED}, "
        "bool sorted=False, bool transposed=False, bool combine=False) -> Tensor",
        f"experts(Tensor input, Tensor ids, Tensor? weights, {_WEIGHT}, {_DOWN}, Tensor? bias=None, "
        f"Tensor? down_bias=None, Tensor? addend=None, {_NESTED}, {_DOWN_NESTED}, bool transposed=False, "
        "bool down_transposed=False, str activation='silu', bool gated=True, bool interleaved=False, "
        "float alpha=1.702, float limit=0.0) -> Tensor"):
    _LIBRARY.define(_schema, tags=(torch.Tag.pt2_compliant_tag,))


def check_grouped(tokens, shape, ids, weights, bias, device, is_sorted=False, transposed=False, combine=False):
    """The shape of the product; raises ValueError for arguments that do not fit a stack of this shape."""
    check_type(tokens.dtype)
    if len(shape) != 3:
        raise ValueError(f"a stack of experts has three dimensions, and this has the shape {list(shape)}")
    experts, outputs, inputs = grouped.sizes_of(shape, transposed)
    if tokens.dim() != 2 or tokens.shape[1] != inputs:
        raise ValueError(f"the input has the shape {list(tokens.shape)}, and must be rows of {inputs}")
    for name, tensor in (("the input", tokens), ("ids", ids), ("weights", weights)):
        if tensor is not None and tensor.device != device:
            raise ValueError(f"{name} is on {tensor.device}, and the stack on {device}")
    if ids.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"ids are {ids.dtype}, neither int32 nor int64")
    if ids.dim() != (1 if is_sorted else 2) or (is_sorted and ids.shape[0] != experts) or 0 in ids.shape[1:]:
        raise ValueError(f"ids have the shape {list(ids.shape)}, and must be "
                         + (f"the ends of {experts} experts" if is_sorted else "[tokens, slots of a token]"))
    count, top_k = (tokens.shape[0], 1) if is_sorted else ids.shape
    if tokens.shape[0] != count and tokens.shape[0] != count * top_k:
        raise ValueError(f"{tokens.shape[0]} rows are neither the {count} tokens nor their slots")
    if weights is not None and (weights.dtype not in KINDS or tuple(weights.shape) not in (
            (count, top_k), (count, top_k, 1), (count * top_k,), (count * top_k, 1))):
        raise ValueError(f"weights are {weights.dtype} {list(weights.shape)}, and must be floats, one a slot: "
                         f"{[count, top_k]}")
    check_like("bias", bias, (experts, outputs), tokens.dtype, device)
    return (count if combine else count * top_k), outputs


def check_layer(tokens, ids, weights, shapes, biases, addend, transposed, activation, gated, limit, device):
    """As check_grouped(), for a layer: shapes, biases and transposed of both stacks."""
    first = check_grouped(tokens, shapes[0], ids, weights, biases[0], device, transposed=transposed[0])
    if activation not in grouped.ACTIVATIONS:
        raise ValueError(f"activation {activation!r} is none of {', '.join(grouped.ACTIVATIONS)}")
    if not limit >= 0:  # NaN is neither
        raise ValueError(f"limit is {limit}, and must be positive, or 0 for none")
    if len(shapes[1]) != 3:
        raise ValueError(f"a stack of experts has three dimensions, and this has the shape {list(shapes[1])}")
    experts, outputs, inputs = grouped.sizes_of(shapes[1], transposed[1])
    if experts != shapes[0][0] or first[1] != inputs * (2 if gated else 1):
        raise ValueError(f"stacks of the shapes {list(shapes[0])} and {list(shapes[1])} do not follow each other")
    if tokens.shape[0] != ids.shape[0]:
        raise ValueError(f"{tokens.shape[0]} rows are not the {ids.shape[0]} tokens")
    check_like("down_bias", biases[1], (experts, outputs), tokens.dtype, device)
    check_like("addend", addend, first, tokens.dtype, device)
    return ids.shape[0], outputs


def run_layer(up, down, tokens, ids, weights, biases, addend, transposed, activation):
    """With Weights. An addend stands between the first product and its activation, so that libnf4's layer
    cannot have it, nor can a stack be decoded there: its two products are called by themselves then."""
    if addend is None and not any(grouped.is_decoded(each, way, tokens.dtype, ids.numel())
                                  for each, way in zip((up, down), transposed)):
        return grouped.experts(up, down, transposed, tokens, ids, weights, biases, activation)
    products = grouped.grouped_linear(up, transposed[0], tokens, ids, None, biases[0], False, False)
    if addend is not None:
        products = products.add_(addend)
    return grouped.grouped_linear(down, transposed[1], activate(products, *activation), ids, weights, biases[1], False,
                                  True)


def _grouped_linear(input, packed, absmax, blocksize, shape, ids, weights=None, bias=None, nested_absmax=None,
                    nested_map=None, nested_offset=None, sorted=False, transposed=False, combine=False):
    check_grouped(input, shape, ids, weights, bias, packed.device, sorted, transposed, combine)
    weight, _parts = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    return grouped.grouped_linear(weight, transposed, input, ids, weights, bias, sorted, combine)


def _experts(input, ids, weights, packed, absmax, blocksize, shape, down_packed, down_absmax, down_blocksize,
             down_shape, bias=None, down_bias=None, addend=None, nested_absmax=None, nested_map=None, nested_offset=None,
             down_nested_absmax=None, down_nested_map=None, down_nested_offset=None, transposed=False,
             down_transposed=False, activation="silu", gated=True, interleaved=False, alpha=1.702, limit=0.0):
    ways, biases = (transposed, down_transposed), (bias, down_bias)
    check_layer(input, ids, weights, (shape, down_shape), biases, addend, ways, activation, gated, limit, packed.device)
    up, _up = _weight(packed, absmax, blocksize, shape, (nested_absmax, nested_map, nested_offset))
    down, _down = _weight(down_packed, down_absmax, down_blocksize, down_shape,
                          (down_nested_absmax, down_nested_map, down_nested_offset))
    kinds = activation, gated, interleaved, alpha, limit
    return run_layer(up, down, input, ids, weights, biases, addend, ways, kinds)


for _key in ("CPU", "CUDA"):
    _LIBRARY.impl("grouped_linear", _grouped_linear, _key)
    _LIBRARY.impl("experts", _experts, _key)


@registry.register_fake("nf4::grouped_linear", lib=_LIBRARY)
def _(input, packed, absmax, blocksize, shape, ids, weights=None, bias=None, nested_absmax=None, nested_map=None,
      nested_offset=None, sorted=False, transposed=False, combine=False):
    _check_weight(absmax, blocksize, nested_absmax)
    return input.new_empty(check_grouped(input, shape, ids, weights, bias, packed.device, sorted, transposed, combine))


@registry.register_fake("nf4::experts", lib=_LIBRARY)
def _(input, ids, weights, packed, absmax, blocksize, shape, down_packed, down_absmax, down_blocksize, down_shape,
      bias=None, down_bias=None, addend=None, nested_absmax=None, nested_map=None, nested_offset=None,
      down_nested_absmax=None, down_nested_map=None, down_nested_offset=None, transposed=False, down_transposed=False,
      activation="silu", gated=True, interleaved=False, alpha=1.702, limit=0.0):
    _check_weight(absmax, blocksize, nested_absmax)
    _check_weight(down_absmax, down_blocksize, down_nested_absmax)
    return input.new_empty(check_layer(input, ids, weights, (shape, down_shape), (bias, down_bias), addend,
                                       (transposed, down_transposed), activation, gated, limit, packed.device))


def _weight_gradient(weights, plain, rows, bias, of_slots, chosen, count):
    """<dY, W x + b> = <W^T dY, x> + <dY, b>, so that what the forward pass made need not be kept.
    plain: W^T dY; rows: x; of_slots: dY; all of slots."""
    each = torch.where(chosen[:, None] < count, plain * rows, 0.0).sum(1)
    if bias is not None:
        each = each + (of_slots * torch.cat((bias, bias.new_zeros(1, bias.shape[1])))[chosen]).sum(1)
    return each.view(weights.shape).to(weights.dtype)


def _bias_gradient(rows, chosen, count, dtype):
    return rows.new_zeros(count + 1, rows.shape[1]).index_add(0, chosen, rows)[:count].to(dtype)


def _of_slots(rows, slots):
    """`rows` of tokens, or of slots already, as those of slots, in float32."""
    rows = rows.float()
    return rows if rows.shape[0] == slots else rows.repeat_interleave(slots // rows.shape[0], dim=0)


def _sum_slots(rows, count):
    return rows if rows.shape[0] == count else rows.view(count, -1, rows.shape[1]).sum(1)


def _refuse_absmax(wanted):
    if wanted:
        raise ValueError("a quantized weight has no gradient: absmax must not require one")


def _keep_grouped(ctx, inputs, output):
    input, packed, absmax, blocksize, shape, ids, weights, bias, *nested, is_sorted, transposed, _ = inputs
    _refuse_absmax(ctx.needs_input_grad[2])
    rows = input if weights is not None and ctx.needs_input_grad[6] else None
    ctx.save_for_backward(rows, packed, absmax, ids, weights, bias, *nested)
    ctx.stack = blocksize, shape, is_sorted, transposed
    ctx.rows, ctx.slots = input.shape[0], input.shape[0] if is_sorted else ids.numel()


def _grouped_backward(ctx, grad):
    rows, packed, absmax, ids, weights, bias, *nested = ctx.saved_tensors
    blocksize, shape, is_sorted, transposed = ctx.stack
    count = shape[0]
    grad_input = grad_weights = grad_bias = None
    # Of arguments at the end that have their defaults PyTorch says nothing there.
    wants_weights = weights is not None and ctx.needs_input_grad[6]
    if wants_weights or (bias is not None and ctx.needs_input_grad[7]):
        chosen = grouped.experts_of(ids, ctx.slots, count, is_sorted)
        scale, of_slots = grouped.slot_weights(weights, chosen, count), _of_slots(grad, ctx.slots)

    def product(weights, combine):  # dX = dY W, decoded anew
        return torch.ops.nf4.grouped_linear(grad, packed, absmax, blocksize, shape, ids, weights, None, *nested,
                                            is_sorted, not transposed, combine)

    if wants_weights:
        plain = product(None, False).float()
        grad_weights = _weight_gradient(weights, plain, _of_slots(rows, ctx.slots), bias, of_slots, chosen, count)
        if ctx.needs_input_grad[0]:
            grad_input = _sum_slots(plain * scale, ctx.rows).to(grad.dtype)
    elif ctx.needs_input_grad[0]:
        grad_input = product(weights, ctx.rows != ctx.slots)
    if bias is not None and ctx.needs_input_grad[7]:
        grad_bias = _bias_gradient(of_slots * scale, chosen, count, bias.dtype)
    return (grad_input, *[None] * 5, grad_weights, grad_bias, *[None] * 6)


def _keep_experts(ctx, inputs, output):
    tokens, ids, weights, packed, absmax, blocksize, shape, down_packed, down_absmax, *rest = inputs
    down_blocksize, down_shape, bias, down_bias, addend, *rest = rest
    nested, down_nested, (transposed, down_transposed, *activation) = rest[:3], rest[3:6], rest[6:]
    _refuse_absmax(ctx.needs_input_grad[4] or ctx.needs_input_grad[8])
    ctx.save_for_backward(tokens, ids, weights, bias, down_bias, addend, packed, absmax, *nested, down_packed,
                          down_absmax, *down_nested)
    ctx.up, ctx.down = (blocksize, shape, transposed), (down_blocksize, down_shape, down_transposed)
    ctx.activation = activation


def _experts_backward(ctx, grad):
    tokens, ids, weights, bias, down_bias, addend, *tensors = ctx.saved_tensors
    count, slots = ctx.up[1][0], ids.numel()

    def product(tensors, stack, rows, bias, turn, combine):
        (packed, absmax, *nested), (blocksize, shape, transposed) = tensors, stack
        return torch.ops.nf4.grouped_linear(rows, packed, absmax, blocksize, shape, ids, None, bias, *nested, False,
                                            transposed != turn, combine)

    chosen = grouped.experts_of(ids, slots, count, False)
    scale, of_slots = grouped.slot_weights(weights, chosen, count), None
    if down_bias is not None:
        of_slots = _of_slots(grad, slots)
    products = product(tensors[:5], ctx.up, tokens, bias, False, False)
    if addend is not None:
        products = products + addend
    plain = product(tensors[5:], ctx.down, grad, None, True, False).float()
    grad_weights = grad_bias = grad_down_bias = None
    if weights is not None and ctx.needs_input_grad[2]:
        hidden = activate(products, *ctx.activation).float()
        grad_weights = _weight_gradient(weights, plain, hidden, down_bias, of_slots, chosen, count)
    grad_products = activate_backward(plain * scale, products, *ctx.activation)
    grad_products = torch.where(chosen[:, None] < count, grad_products, 0.0)
    if bias is not None and ctx.needs_input_grad[11]:
        grad_bias = _bias_gradient(grad_products, chosen, count, bias.dtype)
    if down_bias is not None and ctx.needs_input_grad[12]:
        grad_down_bias = _bias_gradient(of_slots * scale, chosen, count, down_bias.dtype)
    grad_products = grad_products.to(tokens.dtype)
    grad_input = product(tensors[:5], ctx.up, grad_products, None, True, True) if ctx.needs_input_grad[0] else None
    return (grad_input, None, grad_weights, *[None] * 8, grad_bias, grad_down_bias,
            grad_products if addend is not None else None, *[None] * 13)


registry.register_autograd("nf4::grouped_linear", _grouped_backward, setup_context=_keep_grouped, lib=_LIBRARY)
registry.register_autograd("nf4::experts", _experts_backward, setup_context=_keep_experts, lib=_LIBRARY)
