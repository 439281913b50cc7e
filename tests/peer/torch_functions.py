"""Functions of torch for python_examples_test.py, each of a form that nf4bench knows."""

import torch


def _product(a, b):
    value = a * b
    return torch.where(value.abs() < 1.1754944e-38, value * 0.0, value)


def _decoded(weight, state):
    count = state.shape.numel()
    nibbles = torch.stack((weight.view(-1) >> 4, weight.view(-1) & 15), dim=1).view(-1)[:count]
    scales = state.absmax
    if state.nested:
        outer = state.state2
        groups = torch.arange(scales.numel()) // outer.blocksize
        scales = _product(outer.code[scales.int()], outer.absmax[groups]) + state.offset
    values = _product(state.code[nibbles.int()], scales[torch.arange(count) // state.blocksize])
    rounded = values.to(state.dtype)
    if state.dtype != torch.float32:
        nan = torch.tensor(0x7FFF, dtype=torch.int16).view(state.dtype)
        rounded = torch.where(values.isnan(), nan, rounded)
    return rounded.view(state.shape)


def returns(weight, quant_state):
    return _decoded(weight, quant_state)


def fills(weight, quant_state, out):
    out.copy_(_decoded(weight, quant_state))


def of_layer(weight):
    return _decoded(weight.weight.data, weight.weight.quant_state)


def linear(x, weight, quant_state, out=None):
    product = x.float() @ _decoded(weight, quant_state).float().T
    return product.to(x.dtype)


def widens(weight, quant_state):
    return _decoded(weight, quant_state).double()


def breaks(weight, quant_state):
    decoded = _decoded(weight, quant_state)
    return decoded + 1 if decoded.float().abs().max().item() > 1e30 else decoded


fills.torch_compile = breaks.torch_compile = True
