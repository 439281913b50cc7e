"""NF4 in numpy, for the CPU: what the bits of every step are, and no thought of speed.

    nf4bench run --shape 512x512 --device cpu --peer mine=numpy_decode.py --variant 'mine*,lut'
"""

import numpy as np

SMALLEST_NORMAL = np.float32(1.1754944e-38)


def flushed(values):
    """Subnormals as zeros of their sign, as GPUs multiply in bitsandbytes' build."""
    return np.where(np.abs(values) < SMALLEST_NORMAL, np.copysign(np.float32(0), values), values)


def product(a, b):
    with np.errstate(all="ignore"):
        return flushed(flushed(a) * flushed(b))


def block_scales(quant_state):
    if not quant_state.nested:
        return quant_state.absmax
    outer = quant_state.state2
    groups = np.arange(quant_state.absmax.size) // outer.blocksize
    scaled = product(outer.code[quant_state.absmax], outer.absmax[groups])
    with np.errstate(all="ignore"):
        return scaled + quant_state.offset  # a second rounding


def bfloat16_bits(values):
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), np.uint32(0x7FFF), rounded).astype(np.uint16)


def float16_bits(values):
    with np.errstate(all="ignore"):
        bits = values.astype(np.float16).view(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), bits).view(np.float16)


def dequantize(weight, quant_state, out):
    """All of the weight at once."""
    nibbles = np.empty(weight.size * 2, np.uint8)
    nibbles[0::2] = weight[:, 0] >> 4
    nibbles[1::2] = weight[:, 0] & 15
    nibbles = nibbles[: out.size]
    scales = block_scales(quant_state)[np.arange(out.size) // quant_state.blocksize]
    values = product(quant_state.code[nibbles], scales)
    if out.dtype == np.uint16:  # numpy has no bfloat16: these are its bits
        values = bfloat16_bits(values)
    elif out.dtype == np.float16:
        values = float16_bits(values)
    out[...] = values.reshape(out.shape)


def widened(values):
    if values.dtype != np.uint16:
        return values.astype(np.float32)
    return (values.astype(np.uint32) << 16).view(np.float32)


def linear(x, weight, quant_state, out):
    """The decoded weight, and numpy's product with it in float32."""
    decoded = np.empty(quant_state.shape, out.dtype)
    dequantize(weight, quant_state, decoded)
    with np.errstate(all="ignore"):
        y = widened(x) @ widened(decoded).T
    out[...] = bfloat16_bits(y) if out.dtype == np.uint16 else y


def gradient(dy, weight, quant_state, out):
    """What comes back to x of linear(): the product of dy and the decoded weight."""
    decoded = np.empty(quant_state.shape, out.dtype)
    dequantize(weight, quant_state, decoded)
    with np.errstate(all="ignore"):
        dx = widened(dy) @ widened(decoded)
    out[...] = bfloat16_bits(dx) if out.dtype == np.uint16 else dx


def decoded_stack(weight, quant_state, dtype):
    decoded = np.empty(quant_state.shape, dtype)
    dequantize(weight, quant_state, decoded)
    return widened(decoded)


def experts(x, weight, quant_state, ids, slot_weights, out):
    """One row of x times the matrix of the stack that its slot chose, slot by slot."""
    rows, stack = widened(x), decoded_stack(weight, quant_state, out.dtype)
    y = np.zeros(out.shape, np.float32)
    for slot, expert in enumerate(ids.reshape(-1)):
        token = slot // ids.shape[1]
        if not 0 <= expert < stack.shape[0]:
            continue
        with np.errstate(all="ignore"):
            if slot_weights is None:
                y[slot] = stack[expert] @ rows[token]
            else:
                y[token] += slot_weights.reshape(-1)[slot] * (stack[expert] @ rows[slot])
    out[...] = bfloat16_bits(y) if out.dtype == np.uint16 else y


def activated(kind, first):
    """What stands between the products of a layer of experts, of what the first one gave."""
    if kind == "relu2":
        return np.square(np.maximum(first, 0))
    gate, up = (first[0::2], first[1::2]) if kind == "gptoss" else np.split(first, 2)
    if kind == "gptoss":
        gate, up = np.minimum(gate, 7), np.clip(up, -7, 7)
        return (up + 1) * gate / (1 + np.exp(-1.702 * gate))
    if kind == "gelu_tanh":
        return up * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))) / 2
    return up * gate / (1 + np.exp(-gate))


def layer(x, weight, quant_state, down_weight, down_quant_state, ids, slot_weights, activation, out):
    """Both products of a layer of experts, slot by slot."""
    rows, up = widened(x), decoded_stack(weight, quant_state, out.dtype)
    down = decoded_stack(down_weight, down_quant_state, out.dtype)
    y = np.zeros(out.shape, np.float32)
    for slot, expert in enumerate(ids.reshape(-1)):
        token = slot // ids.shape[1]
        if 0 <= expert < up.shape[0]:
            with np.errstate(all="ignore"):
                between = activated(activation, up[expert] @ rows[token])
                y[token] += slot_weights.reshape(-1)[slot] * (down[expert] @ between.astype(np.float32))
    out[...] = bfloat16_bits(y) if out.dtype == np.uint16 else y
