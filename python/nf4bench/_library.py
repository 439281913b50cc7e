"""libnf4 through ctypes: its structs as bytes, its functions, its errors.

A struct is packed into a new bytes object for each call, which no other thread can see. Nothing here
knows of PyTorch.
"""

import ctypes
import functools
import os
import pathlib
import struct

# As nf4.h declares them.
CPU, CUDA = 0, 1
TOP_K, ENDS = 0, 1
FLOAT16, BFLOAT16, FLOAT32 = 0, 1, 2
OK, UNSUPPORTED = 0, 2
MAJOR_VERSION = 1

_DEVICE = struct.Struct("@Iiiiiq")
_WEIGHT = struct.Struct("@IiqqPPPPPP")
_PRODUCT = struct.Struct("@IiqPPPPNq")
_STACK = struct.Struct("@IiqPPii")
_ROUTING = struct.Struct("@IiiiqqPPii")
_OPTIONS = struct.Struct("@Iiiiff")
pack_product = functools.partial(_PRODUCT.pack, _PRODUCT.size)
pack_options = functools.partial(_OPTIONS.pack, _OPTIONS.size)


class Nf4Error(RuntimeError):
    """What libnf4 answered instead of computing."""


def path():
    """The library that is loaded: NF4_LIBRARY in the environment, else the one in this package."""
    return os.environ.get("NF4_LIBRARY") or str(pathlib.Path(__file__).with_name("libnf4.so"))


@functools.cache
def load():
    """The loaded library. Raises Nf4Error where there is none, or one of another major version."""
    try:
        loaded = ctypes.CDLL(path())
        loaded.nf4_version.restype = ctypes.c_uint32
        version = loaded.nf4_version()
    except (OSError, AttributeError) as error:
        raise Nf4Error(f"libnf4 cannot be loaded: {error}. Install the package nf4bench, or name a libnf4.so "
                       "in NF4_LIBRARY") from error
    if version // 10000 != MAJOR_VERSION:
        raise Nf4Error(f"{path()} is libnf4 {version // 10000}, and {MAJOR_VERSION} is needed; reinstall nf4bench")
    pointer, size = ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)
    for name, arguments, result in [
            ("nf4_error_string", [ctypes.c_int], ctypes.c_char_p),
            ("nf4_query_device", [ctypes.c_int, ctypes.c_int32, pointer], ctypes.c_int),
            ("nf4_dequantize", [pointer, pointer, ctypes.c_int, pointer, pointer], ctypes.c_int),
            ("nf4_linear", [pointer, pointer, pointer, pointer], ctypes.c_int),
            ("nf4_linear_workspace", [pointer, pointer, pointer, size], ctypes.c_int),
            ("nf4_linear_most_tokens", [pointer, pointer, ctypes.c_int], ctypes.c_int64),
            ("nf4_grouped_linear", [pointer] * 5, ctypes.c_int),
            ("nf4_grouped_linear_workspace", [pointer] * 4 + [size], ctypes.c_int),
            ("nf4_experts", [pointer] * 7, ctypes.c_int),
            ("nf4_experts_workspace", [pointer] * 6 + [size], ctypes.c_int)]:
        function = getattr(loaded, name, None)
        if function is None:
            raise Nf4Error(f"{path()} has no {name}; reinstall nf4bench")
        function.argtypes, function.restype = arguments, result
    return loaded


def version():
    """Of the loaded library, as "1.0.0"."""
    number = load().nf4_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def has_cuda():
    """Whether the loaded library has kernels for GPUs, wherever it runs."""
    buffer = ctypes.create_string_buffer(_DEVICE.pack(_DEVICE.size, 0, 0, 0, 0, 0), _DEVICE.size)
    return load().nf4_query_device(CUDA, -1, buffer) != UNSUPPORTED


def check(status, what):
    """Raises Nf4Error unless `status` is NF4_OK."""
    if status != OK:
        raise Nf4Error(f"{what}: {load().nf4_error_string(status).decode()}")


@functools.cache
def device(kind, ordinal, threads=0):
    """An nf4_device; on the CPU with at most `threads` threads, if that is not 0."""
    buffer = ctypes.create_string_buffer(_DEVICE.pack(_DEVICE.size, 0, 0, 0, 0, 0), _DEVICE.size)
    check(load().nf4_query_device(kind, ordinal, buffer), f"device {ordinal}")
    fields = list(_DEVICE.unpack(buffer.raw))
    if threads:
        fields[4] = min(fields[4], threads)
    return _DEVICE.pack(*fields)


def pack_weight(blocksize, outputs, inputs, pointers):
    """An nf4_weight; pointers: packed, absmax, absmax_codes, nested_absmax, nested_map, nested_offset."""
    return _WEIGHT.pack(_WEIGHT.size, blocksize, outputs, inputs, *pointers)


def pack_stack(weight_fields, transposed, experts, bias, own_offsets):
    """An nf4_stack, which is valid for as long as weight_fields are there; bias: a pointer."""
    address = ctypes.cast(weight_fields, ctypes.c_void_p).value
    return _STACK.pack(_STACK.size, transposed, experts, address, bias, own_offsets, 0)


def pack_routing(kind, id_bytes, weight_type, tokens, top_k, pointers, sums_slots):
    """An nf4_routing; pointers: ids, weights."""
    return _ROUTING.pack(_ROUTING.size, kind, id_bytes, weight_type, tokens, top_k, *pointers, sums_slots, 0)


def grouped_workspace_bytes(function, *structs):
    """What nf4_grouped_linear() or nf4_experts() needs: `function` is that name, structs its arguments."""
    bytes_needed = ctypes.c_size_t()
    check(getattr(load(), function + "_workspace")(*structs, ctypes.byref(bytes_needed)), function)
    return bytes_needed.value


def workspace_bytes(device_fields, weight_fields, kind, tokens):
    """What nf4_linear() needs for so many tokens; None where it does not support the product."""
    bytes_needed = ctypes.c_size_t()
    product = pack_product(kind, tokens, 0, 0, 0, 0, 0, 0)
    status = load().nf4_linear_workspace(device_fields, weight_fields, product, ctypes.byref(bytes_needed))
    if status == UNSUPPORTED:
        return None
    check(status, "nf4_linear_workspace")
    return bytes_needed.value


def most_tokens(device_fields, weight_fields, kind):
    """Up to how many tokens nf4_linear() is the faster way; 0: never."""
    return load().nf4_linear_most_tokens(device_fields, weight_fields, kind)
