"""Weights for tests, and what they decode to by the definition."""

import collections
import contextlib
import pathlib
import sysconfig
import types

import torch

CODEBOOK = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
            -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
            0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
            0.7229568362236023, 1.0]
TYPES = (torch.bfloat16, torch.float16, torch.float32)
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
# inductor's code for the CPU is compiled as an extension of Python.
_HAS_HEADERS = pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists()
BACKENDS = ["aot_eager"] + (["inductor"] if _HAS_HEADERS or torch.cuda.is_available() else [])


class Wrapper(torch.Tensor):
    """A tensor without memory of its own, as those of quantizing and distributed packages are."""

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype, device=inside.device)

    def __init__(self, inside):
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), keywords=None):
        unwrap = torch.utils._pytree.tree_map_only(cls, lambda each: each.inside, (arguments, keywords or {}))
        return function(*unwrap[0], **unwrap[1])


class State:
    """A quant_state as bitsandbytes has them."""

    def __init__(self, **members):
        self.quant_type, self.state2, self.offset = "nf4", None, None
        self.__dict__.update(members)


def weight(shape=(48, 128), dtype=torch.bfloat16, blocksize=64, nested=True, device="cpu", seed=1):
    """packed and quant_state, of random bytes and scales."""
    draw = torch.Generator().manual_seed(seed)
    elements = torch.Size(shape).numel()
    blocks = -(-elements // blocksize)
    packed = torch.randint(0, 256, ((elements + 1) // 2, 1), generator=draw, dtype=torch.uint8).to(device)
    state = State(shape=torch.Size(shape), dtype=dtype, blocksize=blocksize, code=torch.tensor(CODEBOOK, device=device))
    if not nested:
        state.absmax = (torch.rand(blocks, generator=draw) + 0.5).to(device)
        return packed, state
    state.absmax = torch.randint(0, 256, (blocks,), generator=draw, dtype=torch.uint8).to(device)
    state.offset = torch.tensor(0.75, device=device)
    state.state2 = types.SimpleNamespace(
        absmax=(torch.rand(-(-blocks // 256), generator=draw) * 0.3 + 0.1).to(device),
        code=torch.linspace(-1, 1, 256).to(device), blocksize=256)
    return packed, state


def decoded(packed, state, dtype=None):
    """By the definition, in float32 and rounded once."""
    data = packed.cpu().view(torch.uint8).flatten()
    elements = state.shape.numel()
    codes = torch.stack([data >> 4, data & 15], dim=1).flatten()[:elements].long()
    scales = state.absmax.cpu()
    if state.state2 is not None:
        outer = state.state2.absmax.cpu().repeat_interleave(256)[:scales.numel()]
        scales = state.state2.code.cpu()[scales.long()] * outer + state.offset.cpu()
    scales = scales.repeat_interleave(state.blocksize)[:elements]
    values = torch.tensor(CODEBOOK)[codes] * scales
    return values.to(dtype or state.dtype).view(state.shape).to(packed.device)


def arguments(packed, state):
    """The weight as the operators take it: before and after what they have in between."""
    nested = () if state.state2 is None else (state.state2.absmax, state.state2.code, state.offset)
    return (packed, state.absmax, state.blocksize, tuple(state.shape)), nested


def product_error(result, tokens, values, bias=None):
    """The largest error of a product, over the bound for sums in float32 and one rounding."""
    exact = tokens.double() @ values.double().t()
    size = tokens.double().abs() @ values.double().abs().t()
    if bias is not None:
        exact, size = exact + bias.double(), size + bias.double().abs()
    rounding = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24}[result.dtype]
    # Weights may be rounded to the type of the product first.
    bound = rounding * exact.abs() + (rounding + 2.0**-23 * values.shape[-1]) * size + 1e-30
    return ((result.double() - exact).abs() / bound).max().item()


@contextlib.contextmanager
def served():
    """Counts what libnf4 does meanwhile: {"linear": products, "dequantize": decoded weights}."""
    from nf4bench.torch import kernels
    originals, calls = (kernels.linear, kernels.dequantize_into), collections.Counter()

    def counted(name, work):
        def call(*arguments):
            calls[name] += 1
            return work(*arguments)
        return call

    kernels.linear, kernels.dequantize_into = map(counted, ("linear", "dequantize"), originals)
    try:
        yield calls
    finally:
        kernels.linear, kernels.dequantize_into = originals


def captured(work):
    """A CUDA graph of `work`, which has run once before, and the result that replays write."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result
