#!/usr/bin/env python3
"""Writes NF4 weights as a folder of .npy files that nf4bench reads.

    scripts/dump_nf4.py INPUT -o FOLDER [--tensor REGEX]

INPUT is a .safetensors file, a folder of these, an index of shards, or a state dict that torch.save
wrote (.pt, .bin; needs torch). Each 4-bit weight in it is written with its scales and its quant
state; the rest is left out. In a program of your own:

    import dump_nf4
    dump_nf4.dump_layer(model.model.layers[0].mlp.up_proj, "dump", name="up_proj.weight")
    dump_nf4.dump_state_dict(model.state_dict(), "dump")

A layer is a bitsandbytes Linear4bit, or any object whose weight has a quant_state; a weight alone
(Params4bit) will do as well. Arrays may be those of torch or of numpy. Bytes are copied as they are,
so that the folder holds what the layer held. docs/formats.md has the format.
"""

import argparse
import ctypes
import json
import math
import pathlib
import re
import struct
import sys

STATE = ".quant_state.bitsandbytes__nf4"
SIDES = (".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map")
# Spellings of the types by torch and numpy, by safetensors, and by .npy files. numpy has no bfloat16;
# the program reads <u2 as that.
NPY_TYPES = {"uint8": "|u1", "U8": "|u1", "float32": "<f4", "F32": "<f4", "float16": "<f2", "F16": "<f2",
             "bfloat16": "<u2", "BF16": "<u2"}


class DumpError(Exception):
    """What is wrong with an input or an output, for people."""


class Array:
    """The type, the shape and the bytes of a tensor of torch, numpy or a file."""

    def __init__(self, dtype, shape, data):
        if dtype not in NPY_TYPES:
            raise DumpError(f"found a tensor of type {dtype}, wanted one of {', '.join(NPY_TYPES)}")
        self.npy_type, self.shape, self.data = NPY_TYPES[dtype], tuple(map(int, shape)), data

    @staticmethod
    def of(tensor):
        if isinstance(tensor, Array):
            return tensor
        dtype = str(tensor.dtype).rsplit(".", maxsplit=1)[-1]
        if hasattr(tensor, "tobytes"):  # numpy
            return Array(dtype, tensor.shape, tensor.tobytes())
        tensor = tensor.detach().cpu().contiguous()
        size = tensor.numel() * tensor.element_size()
        return Array(dtype, tensor.shape, ctypes.string_at(tensor.data_ptr(), size) if size else b"")

    def npy(self):
        """The bytes of a .npy file, version 1.0."""
        shape = "".join(f"{extent}, " for extent in self.shape)
        shape = shape.removesuffix(" ") if len(self.shape) == 1 else shape.removesuffix(", ")
        header = f"{{'descr': '{self.npy_type}', 'fortran_order': False, 'shape': ({shape}), }}"
        header += " " * (-(len(header) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + self.data


class SafetensorsFile:
    """A mapping of names to the tensors of a .safetensors file, each read when it is asked for."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
            if length > 100_000_000:
                raise DumpError(f"{path}: not a .safetensors file")
            try:
                self.entries = json.loads(file.read(length))
            except ValueError as error:
                raise DumpError(f"{path}: not a .safetensors file: {error}") from error
        self.entries.pop("__metadata__", None)
        self.data_begin = 8 + length

    def keys(self):
        return self.entries.keys()

    def __getitem__(self, name):
        entry = self.entries[name]
        begin, end = entry["data_offsets"]
        with open(self.path, "rb") as file:
            file.seek(self.data_begin + begin)
            data = file.read(end - begin)
        if len(data) != end - begin:
            raise DumpError(f"{self.path}: the file ends within {name}")
        return Array(entry["dtype"], entry["shape"], data)


class JoinedFiles:
    """The tensors of several files as one mapping."""

    def __init__(self, paths):
        self.file_of = {}
        for path in paths:
            file = SafetensorsFile(path)
            self.file_of.update((name, file) for name in file.keys())

    def keys(self):
        return self.file_of.keys()

    def __getitem__(self, name):
        return self.file_of[name][name]


def open_input(path):
    """A mapping of names to tensors."""
    if path.is_dir():
        shards = sorted(path.glob("*.safetensors"))
        if not shards:
            raise DumpError(f"{path}: found no .safetensors file in the folder")
        return JoinedFiles(shards)
    if path.name.endswith(".safetensors.index.json"):
        shards = json.loads(path.read_text(encoding="utf-8"))["weight_map"].values()
        return JoinedFiles([path.parent / pathlib.Path(shard).name for shard in sorted(set(shards))])
    if path.suffix in (".pt", ".pth", ".bin"):
        try:
            from torch import load  # which the folder torch beside this script has not
        except ImportError as error:
            raise DumpError(f"{path}: reading it needs torch; install it with: pip install torch") from error
        return load(path, map_location="cpu", weights_only=True)
    return SafetensorsFile(path)


def entries_of_layer(layer, name):
    """The entries of a state dict that bitsandbytes would save for the layer, its bias left out."""
    weight = getattr(layer, "weight", layer)
    state = getattr(weight, "quant_state", None)
    if state is None:
        raise DumpError(f"{name}: found no quant_state, wanted a layer that has been quantized; "
                        "bitsandbytes does that when the layer is moved to its device")
    packed = state.as_dict(packed=True)
    return {name: getattr(weight, "data", weight), **{f"{name}.{key}": value for key, value in packed.items()}}


def weights_in(state_dict):
    """The names of the NF4 weights, which are those that have a quant state."""
    return sorted(key.removesuffix(STATE) for key in state_dict.keys() if key.endswith(STATE))


def dump_state_dict(state_dict, folder, select=""):
    """Writes the NF4 weights in `state_dict` whose names match the expression `select` into `folder`.

    Makes the folder, which must be empty if it is there. Returns the names of the weights."""
    names = [name for name in weights_in(state_dict) if re.search(select, name)]
    if not names:
        raise DumpError("found no NF4 weight, which would have a quant state called "
                        f"NAME{STATE}{' and match ' + select if select else ''}")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise DumpError(f"{folder}: found files in the folder, wanted a new or an empty one")
    present = set(state_dict.keys())
    for name in names:
        write_weight({suffix: Array.of(state_dict[name + suffix]) for suffix in ("",) + SIDES + (STATE,)
                      if name + suffix in present}, name, folder)
    return names


def dump_layer(layer, folder, name="weight"):
    """Writes the weight of a bitsandbytes layer as `name` into `folder`, as dump_state_dict() does."""
    return dump_state_dict(entries_of_layer(layer, name), folder)


def write_weight(pieces, name, folder):
    if "/" in name or "\0" in name:
        raise DumpError(f"found the name {name!r}, which no file can have; give the weight another")
    missing = [suffix for suffix in ("", ".absmax", ".quant_map") if suffix not in pieces]
    if missing:
        raise DumpError(f"{name}: the state dict has no {name}{missing[0]}")
    state = pieces.pop(STATE).data.decode("utf-8")
    fields = json.loads(state)
    if not math.isfinite(fields.get("nested_offset", 0.0)):
        raise DumpError(f"{name}: nested_offset: found {fields['nested_offset']}, wanted a finite number")
    (folder / f"{name}.quant_state.json").write_text(state, encoding="utf-8")
    for suffix, array in pieces.items():
        (folder / f"{name}{suffix}.npy").write_bytes(array.npy())


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("input", type=pathlib.Path,
                        help="a .safetensors file, a folder or index of these, or a .pt of torch.save")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER",
                        help="where to write; made if missing")
    parser.add_argument("--tensor", default="", metavar="REGEX",
                        help="only weights whose name has a match of this expression")
    arguments = parser.parse_args(words)
    try:
        names = dump_state_dict(open_input(arguments.input), arguments.output, arguments.tensor)
    except (DumpError, OSError, re.error) as error:
        sys.exit(f"dump_nf4.py: {error}")
    print(f"wrote {len(names)} NF4 weight{'' if len(names) == 1 else 's'} to {arguments.output}; "
          f"try nf4bench inspect {arguments.output}")


if __name__ == "__main__":
    main()
