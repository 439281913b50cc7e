#!/usr/bin/env python3
"""What a call costs the host: the drop-in beside bitsandbytes and, where it is installed, Unsloth.

  host_time.py [--json FILE] [--device cuda]

Weights are so small that the device never keeps the host waiting. Beside that, what it saves on the host and,
in a CUDA graph, on the GPU that products of shards are written into slices of an output instead of copied.
"""

import argparse
import ctypes
import json

import bitsandbytes as bnb
import models
import torch
from measure import both, graphed_us, host_us, interleaved, summary, switch

import nf4bench.torch as nf4
from nf4bench import _library
from nf4bench.torch import kernels
from nf4bench.torch.weights import AsPlainTensors, parts_of, weight_of

F = bnb.functional


def chain_of_unsloth(layer):
    """The three calls by which Unsloth decodes a weight, without Unsloth."""
    lib, state, get_ptr = F.lib, layer.weight.quant_state, F.get_ptr
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    packed, dtype = layer.weight.data, state.dtype

    def decode():
        with torch.inference_mode():
            out = torch.empty(state.shape, dtype=dtype, device=packed.device, requires_grad=False)
            absmax = torch.empty(state.absmax.numel(), dtype=torch.float32, device=packed.device, requires_grad=False)
            lib.cdequantize_blockwise_fp32(get_ptr(state.state2.code), get_ptr(state.absmax),
                                           get_ptr(state.state2.absmax), get_ptr(absmax), ctypes.c_int(256),
                                           ctypes.c_int(absmax.numel()), stream)
            absmax += state.offset
            lib.cdequantize_blockwise_bf16_nf4(get_ptr(None), get_ptr(packed), get_ptr(absmax), get_ptr(out),
                                               ctypes.c_int(64), ctypes.c_int(out.numel()), stream)
            return out
    return decode


def call_of_library(layer, tokens):
    """One call of the C function with all its arguments made before: what the rest of the host's time adds to."""
    with AsPlainTensors():
        weight = weight_of(parts_of(layer.weight, layer.weight.quant_state))
        output = kernels.linear(weight, tokens, None)
    plan = kernels.plan_of(weight, tokens.dtype)
    count = tokens.numel() // weight.inputs
    memory, address, size = kernels.new_scratch(tokens.device, 1 << 24)
    product = _library.pack_product(plan.kind, count, tokens.data_ptr(), 0, output.data_ptr(), address, size, 0)
    stream, function = kernels.stream_of(weight), _library.load().nf4_linear

    def call(held=(output, memory)):
        return function(plan.device, weight.fields, product, stream)

    _library.check(call(), "nf4_linear")
    return call


def shards(inputs, tokens, device):
    """The products of Q, K and V into one output: as servers do them, and without the copies."""
    rows = (inputs, inputs // 4, inputs // 4)
    weights = [models.RandomLinear4bit(inputs, each).weight for each in rows]
    x = torch.randn(tokens, inputs, device=device).bfloat16()
    slices = x.new_empty(tokens, sum(rows)).split(rows, dim=1)

    def copied():
        for weight, place in zip(weights, slices):
            place.copy_(bnb.matmul_4bit(x, weight, weight.quant_state))

    def in_place():
        for weight, place in zip(weights, slices):
            bnb.matmul_4bit(x, weight, weight.quant_state, out=place)
    return {"copied": copied, "in place": in_place}


def report_shards(options, report):
    switch(True)
    with torch.no_grad():
        for tokens in (1, 8, 64):
            works = shards(256, tokens, options.device)
            report(f"three shards, {tokens} tokens", interleaved(
                {name: lambda work=work: host_us(work) for name, work in works.items()}, options.rounds, "us"))
            if options.device == "cuda":
                works = shards(4096, tokens, options.device)
                report(f"of 4096 inputs in a graph, {tokens} tokens", interleaved(
                    {name: graphed_us(work) for name, work in works.items()}, options.rounds, "us"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    models.RandomLinear4bit.device = options.device
    layer = models.RandomLinear4bit(256, 256)
    weight, state = layer.weight, layer.weight.quant_state
    result = {}

    def report(name, measured):
        result[name] = measured
        print(f"{name:38s}" + "  ".join(f"{who} {each['median']:7.2f} us [{each['low']:.2f}, {each['high']:.2f}]"
                                        for who, each in measured.items()), flush=True)

    tokens = {count: torch.randn(count, 1, 256, device=options.device).bfloat16() for count in (1, 8)}
    with torch.no_grad():
        for count, x in tokens.items():
            report(f"Linear4bit, {count} tokens", both(lambda: host_us(lambda: layer(x)), options.rounds, "us"))
            report(f"matmul_4bit, {count} tokens",
                   both(lambda: host_us(lambda: bnb.matmul_4bit(x, weight, state)), options.rounds, "us"))
            outer = state.state2
            report(f"operator gemm_4bit, {count} tokens", both(lambda: host_us(
                lambda: torch.ops.bitsandbytes.gemm_4bit.default(
                    x, weight.data, state.shape, outer.absmax, 64, "nf4", bias=None, absmax_8bit=state.absmax,
                    absmax_code=outer.code, absmax_offset=state.offset)), options.rounds, "us"))
            report(f"nf4_linear alone, {count} tokens", {"nf4bench": summary(
                [host_us(call_of_library(layer, x)) for _ in range(options.rounds)], "us")})
        report("functional.dequantize_4bit",
               both(lambda: host_us(lambda: F.dequantize_4bit(weight, state)), options.rounds, "us"))
        if options.device == "cuda":
            switch(False)
            decode = chain_of_unsloth(layer)
            report("fast_dequantize", interleaved(
                {"unsloth": lambda: host_us(decode),
                 "nf4bench": lambda: host_us(lambda: nf4.fast_dequantize(weight, state))}, options.rounds, "us"))
    report_shards(options, report)
    down, up = (torch.nn.Parameter(torch.randn(sizes, device=options.device).bfloat16())
                for sizes in ((256, 8), (8, 256)))
    x = tokens[8].clone().requires_grad_()
    gradient = torch.ones_like(x)
    for name, forward in (("", layer), (", LoRA beside it", lambda x: layer(x) + x @ down @ up)):
        report("forward and backward" + name,
               both(lambda: host_us(lambda: forward(x).backward(gradient), 50), options.rounds, "us"))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
                       "torch": torch.__version__, "bitsandbytes": bnb.__version__, "host_time_us": result}, file,
                      indent=1)


if __name__ == "__main__":
    main()
