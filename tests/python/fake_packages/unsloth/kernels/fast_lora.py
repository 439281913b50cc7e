from .utils import fast_dequantize


def decode(W, quant_state):
    return fast_dequantize(W.t(), quant_state)
