"""What stands between the two products of an expert, in float32 and with its derivative, as nf4.h has it."""

import torch
from torch.nn.functional import gelu


def _parts(products, gated, interleaved):
    products = products.float()
    if not gated:
        return products, products.new_ones(())
    return (products[..., 0::2], products[..., 1::2]) if interleaved else products.chunk(2, dim=-1)


def _joined(gate, up, interleaved):
    return torch.stack((gate, up), dim=-1).flatten(-2) if interleaved else torch.cat((gate, up), dim=-1)


def _of_gate(kind, gate, alpha):
    """What a gate becomes, and its slope."""
    if kind == "relu2":
        positive = gate.relu()
        return positive * positive, 2 * positive
    if kind == "gelu_tanh":
        slope = torch.ops.aten.gelu_backward(torch.ones_like(gate), gate, approximate="tanh")
        return gelu(gate, approximate="tanh"), slope
    factor = alpha if kind == "gptoss" else 1.0
    share = torch.sigmoid(factor * gate)
    return gate * share, share + factor * gate * share * (1 - share)


def _limited(gate, up, limit):
    return (gate.clamp(max=limit), up.clamp(-limit, limit)) if limit > 0 else (gate, up)


def activate(products, kind, gated, interleaved, alpha, limit):
    """Of the first products of experts, in their type."""
    gate, up = _limited(*_parts(products, gated, interleaved), limit)
    value, _ = _of_gate(kind, gate, alpha)
    return (value * (up + 1 if kind == "gptoss" else up)).to(products.dtype)


def activate_backward(gradient, products, kind, gated, interleaved, alpha, limit):
    """The gradient of `products`, in float32, from that of what they became."""
    free_gate, free_up = _parts(products, gated, interleaved)
    gate, up = _limited(free_gate, free_up, limit)
    value, slope = _of_gate(kind, gate, alpha)
    gradient = gradient.float()
    of_gate = gradient * slope * (up + 1 if kind == "gptoss" else up)
    of_up = gradient * value
    if limit > 0:
        of_gate = of_gate * (free_gate <= limit)
        of_up = of_up * (free_up.abs() <= limit)
    return _joined(of_gate, of_up, interleaved) if gated else of_gate
