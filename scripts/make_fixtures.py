#!/usr/bin/env python3
"""Makes NF4 tensors with known answers, by bitsandbytes itself.

Needs a CUDA GPU and the packages torch, bitsandbytes and safetensors. Writes .safetensors files as
Linear4bit saves its weights, and expected.txt with the SHA-256 of what dequantize_4bit returns for
each weight in each output type. See data/README.md.
"""

import argparse
import hashlib
import pathlib
import sys
import zlib

try:
    import bitsandbytes
    import bitsandbytes.functional as bnb
    import torch
    from safetensors.torch import save_file
except ImportError as error:
    sys.exit(f"make_fixtures.py: {error}; install it with: pip install torch bitsandbytes safetensors")

TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


def values(kind, shape, name):
    """Weights of one kind. The seed is the tensor's name, so that a new tensor changes no other one."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    weights = torch.randn(shape, generator=generator) * 0.02
    if kind == "outlier":
        weights[torch.rand(shape, generator=generator) < 0.001] *= 20
    elif kind == "zeros":
        weights.view(-1)[: weights.numel() // 2] = 0
    elif kind == "tiny":
        weights *= 2.0**-120
    elif kind == "big":
        weights *= 2.0**18  # the largest are near the end of float16's range
    elif kind == "huge":
        weights *= 2.0**22  # beyond it: bfloat16 alone
    return weights


def case(name, shape, dtype="float16", kind="normal", blocksize=64, nested=True, storage="uint8",
         quant_type="nf4"):
    return dict(name=name, shape=shape, dtype=dtype, kind=kind, blocksize=blocksize, nested=nested,
                storage=storage, quant_type=quant_type)


def all_cases():
    """The cases of each file."""
    layer = "model.layers.0."
    bf16 = dict(dtype="bfloat16")
    shapes = [(1, 1), (1, 2), (3, 5), (1, 64), (7, 64), (5, 77), (1000, 37), (257, 65), (4096,),
              (2, 3, 64)]
    return {
        "llama_layer": [
            case(layer + "self_attn.q_proj.weight", (256, 256), **bf16),
            case(layer + "self_attn.k_proj.weight", (64, 256), **bf16),
            case(layer + "mlp.gate_proj.weight", (704, 256), kind="outlier", **bf16),
            case(layer + "mlp.down_proj.weight", (256, 704), kind="outlier", **bf16),
        ],
        "dtypes": [
            case(f"{'nested' if nested else 'plain'}_{dtype}.weight", (128, 320), dtype=dtype,
                 nested=nested)
            for dtype in TYPES for nested in (True, False)
        ],
        "blocksizes": [
            case(f"bs{size}{'' if nested else '_plain'}.weight", (96, 256), blocksize=size,
                 nested=nested)
            for size in (32, 64, 128, 256, 512, 1024, 2048, 4096) for nested in (True, False)
        ],
        "odd_shapes": [case(f"s{'x'.join(map(str, s))}.weight", s) for s in shapes],
        "quant_storage": [
            case(f"stored_as_{storage}.weight", (64, 256), storage=storage, **bf16)
            for storage in TYPES
        ],
        "ranges": [
            case(f"{kind}_{dtype}.weight", (64, 128), dtype=dtype, kind=kind)
            for kind in ("zeros", "tiny", "big") for dtype in ("float16", "bfloat16")
        ] + [case("huge_bfloat16.weight", (64, 128), dtype="bfloat16", kind="huge")],
        "fp4": [case("fp4_nested.weight", (64, 256), quant_type="fp4")],
    }


def quantize(spec):
    """The packed weight and quant state that bitsandbytes makes."""
    weights = values(spec["kind"], spec["shape"], spec["name"]).to(TYPES[spec["dtype"]]).cuda()
    return bnb.quantize_4bit(
        weights, blocksize=spec["blocksize"], compress_statistics=spec["nested"],
        quant_type=spec["quant_type"], quant_storage=getattr(torch, spec["storage"]))


def decoded_hash(packed, state, dtype):
    """SHA-256 of the bytes that dequantize_4bit returns for `dtype`."""
    stored_dtype, state.dtype = state.dtype, TYPES[dtype]
    try:
        # Flat, because a tensor of one element may have any strides and cannot be seen as bytes.
        weights = bnb.dequantize_4bit(packed, state).cpu().contiguous().reshape(-1)
    finally:
        state.dtype = stored_dtype
    return hashlib.sha256(weights.view(torch.uint8).numpy().tobytes()).hexdigest()


def write_file(folder, file_name, cases, expected):
    """Writes one .safetensors file and appends its lines to `expected`."""
    tensors = {}
    for spec in cases:
        packed, state = quantize(spec)
        tensors[spec["name"]] = packed.cpu()
        for key, value in state.as_dict(packed=True).items():
            tensors[f"{spec['name']}.{key}"] = value.cpu().clone()
        if spec["quant_type"] != "nf4":
            continue
        words = [f"{file_name}.safetensors", spec["name"], "x".join(map(str, spec["shape"])),
                 str(spec["blocksize"]), "nested" if spec["nested"] else "plain", spec["dtype"],
                 spec["storage"]]
        expected.append(" ".join(words + [decoded_hash(packed, state, d) for d in TYPES]))
    save_file(tensors, folder / f"{file_name}.safetensors", metadata={"format": "pt"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="where to write; made if missing")
    folder = parser.parse_args().folder
    if not torch.cuda.is_available():
        sys.exit("make_fixtures.py: no CUDA GPU; the answers must come from bitsandbytes' CUDA path")
    folder.mkdir(parents=True, exist_ok=True)
    expected = [
        "# What bitsandbytes decodes each tensor to: SHA-256 of the row-major little-endian bytes.",
        f"# bitsandbytes {bitsandbytes.__version__}, torch {torch.__version__}, "
        f"{torch.cuda.get_device_name()}",
        "# file tensor shape blocksize absmax dtype storage " + " ".join(TYPES),
    ]
    for file_name, cases in all_cases().items():
        write_file(folder, file_name, cases, expected)
    (folder / "expected.txt").write_text("\n".join(expected) + "\n", encoding="ascii")
    print(f"{len(expected) - 3} NF4 tensors in {folder}")


if __name__ == "__main__":
    main()
