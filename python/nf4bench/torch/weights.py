"""A weight as libnf4 takes it, made of the tensors that bitsandbytes keeps it in."""

import math
import typing
import weakref

import torch

from .. import _library

BLOCKSIZES = frozenset(2**power for power in range(5, 13))
KINDS = {torch.float16: _library.FLOAT16, torch.bfloat16: _library.BFLOAT16, torch.float32: _library.FLOAT32}
DEVICES = ("cpu", "cuda")
NESTED_BLOCKSIZE = 256
ALIGNMENT = 16

# Code that calls methods of a parameter of bitsandbytes does so inside this: they are those of a
# Tensor then, and do not pass through __torch_function__.
AsPlainTensors = torch._C.DisableTorchFunctionSubclass


class UnsupportedWeight(ValueError):
    """These tensors are no NF4 weight that libnf4 can read; says why."""


class Parts(typing.NamedTuple):
    """The tensors and sizes of a weight, as a quant_state has them; nothing of them is checked.

    absmax holds float32, or uint8 codes if nested is (nested_absmax, nested_map, nested_offset).
    """

    packed: torch.Tensor
    absmax: torch.Tensor
    blocksize: int
    shape: tuple
    nested: tuple = None

    def arguments(self):
        """As the operators take the last three."""
        return self.nested or (None, None, None)


def parts_of(packed, quant_state):
    """Raises UnsupportedWeight for a quant_state of another format."""
    if isinstance(quant_state, (list, tuple)):
        return _parts_of_list(packed, quant_state)
    try:
        quant_type, shape, absmax = quant_state.quant_type, quant_state.shape, quant_state.absmax
        blocksize, state2 = quant_state.blocksize, getattr(quant_state, "state2", None)
        nested = None
        if state2 is not None:
            nested = (state2.absmax, state2.code, quant_state.offset)
            _check_nested(state2.blocksize)
    except AttributeError as error:
        raise UnsupportedWeight(f"this is no quant_state of bitsandbytes: {error}") from None
    _check_format(quant_type, shape)
    if getattr(quant_state, "packing_format_for_cpu", False):
        raise UnsupportedWeight("bitsandbytes has repacked this weight for its own product on the CPU")
    return Parts(packed, absmax, blocksize, shape, nested)


def _parts_of_list(packed, fields):
    # The form that quant states had before they were a class.
    try:
        absmax, shape, _, blocksize, compressed, quant_type = fields[:6]
        nested = None
        if compressed is not None:
            offset, state2 = compressed
            nested = (state2[0], state2[1], offset)
            _check_nested(state2[2])
    except (ValueError, TypeError, IndexError) as error:
        raise UnsupportedWeight(f"this list is no quant_state: {error}") from None
    _check_format(quant_type, shape)
    return Parts(packed, absmax, blocksize, tuple(shape), nested)


def _check_format(quant_type, shape):
    if quant_type != "nf4":
        raise UnsupportedWeight(f"quant_type is {quant_type!r}, not 'nf4'")
    if shape is None:
        raise UnsupportedWeight("the quant_state has no shape")


def _check_nested(blocksize):
    if blocksize != NESTED_BLOCKSIZE:
        raise UnsupportedWeight(f"absmax is nested in blocks of {blocksize}, not of {NESTED_BLOCKSIZE}")


def aligned(parts):
    """The parts with copies of those that libnf4 cannot read where they are."""
    def readable(tensor):
        if tensor is None:  # which Weight() has words for
            return None
        tensor = tensor.contiguous()
        return tensor.clone() if tensor.data_ptr() % ALIGNMENT else tensor
    nested = parts.nested and tuple(readable(each) for each in parts.nested)
    return Parts(readable(parts.packed), readable(parts.absmax), parts.blocksize, parts.shape, nested)


class Weight:
    """A weight's sizes, and its nf4_weight. Keeps no tensor alive: its user does."""

    __slots__ = ("fields", "shape", "outputs", "inputs", "blocksize", "is_nested", "device", "plans")

    def __init__(self, parts):
        """Raises UnsupportedWeight where the parts do not fit each other, or libnf4."""
        packed, absmax, blocksize, shape, nested = parts
        if not shape or min(shape) < 1:
            raise UnsupportedWeight(f"a weight of shape {list(shape)} has no elements")
        if blocksize not in BLOCKSIZES:
            raise UnsupportedWeight(f"blocksize {blocksize} is not a power of two from 32 to 4096")
        if not isinstance(packed, torch.Tensor) or packed.device.type not in DEVICES:
            where = packed.device if isinstance(packed, torch.Tensor) else type(packed).__name__
            raise UnsupportedWeight(f"packed is on {where}: libnf4 reads tensors on cpu and cuda")
        self.device = packed.device
        elements = math.prod(shape)
        blocks = -(-elements // blocksize)
        pointers = [self._pointer("packed", packed, None, -(-elements // 2))]
        if nested is None:
            pointers += [self._pointer("absmax", absmax, torch.float32, 4 * blocks), 0, 0, 0, 0]
        else:
            nested_absmax, nested_map, offset = nested
            pointers += [0, self._pointer("absmax", absmax, torch.uint8, blocks),
                         self._pointer("nested_absmax", nested_absmax, torch.float32,
                                       -(-blocks // NESTED_BLOCKSIZE) * 4),
                         self._pointer("nested_map", nested_map, torch.float32, 4 * 256),
                         self._pointer("nested_offset", offset, torch.float32, 4)]
        self.shape, self.inputs = shape, shape[-1]
        self.outputs = elements // self.inputs
        self.blocksize, self.is_nested = blocksize, nested is not None
        self.plans = {}  # by type, for products
        self.fields = _library.pack_weight(blocksize, self.outputs, self.inputs, pointers)

    def _pointer(self, name, tensor, dtype, least_bytes):
        if not isinstance(tensor, torch.Tensor):
            raise UnsupportedWeight(f"{name} is {type(tensor).__name__}, not a tensor")
        if dtype is not None and tensor.dtype is not dtype:
            raise UnsupportedWeight(f"{name} is {tensor.dtype}, not {dtype}")
        if tensor.device != self.device:
            raise UnsupportedWeight(f"{name} is on {tensor.device}, and packed on {self.device}")
        if not tensor.is_contiguous():
            raise UnsupportedWeight(f"{name} is not contiguous")
        if tensor.nbytes < least_bytes:
            raise UnsupportedWeight(f"{name} has {tensor.nbytes} bytes, and this shape needs {least_bytes}")
        pointer, alignment = tensor.data_ptr(), 4 if least_bytes == 4 else ALIGNMENT
        if pointer == 0 or pointer % alignment:
            raise UnsupportedWeight(f"{name} starts at the address {pointer:#x}, which is "
                                    + (f"not a multiple of {alignment}" if pointer else "no memory"))
        return pointer


def _versions(parts):
    """What PyTorch counts writes with; None where it does not count them."""
    if parts.packed.is_inference() or parts.absmax.is_inference():
        return None
    return parts.packed._version, parts.absmax._version


class _Remembered:
    """A Weight, and by what to see that it still is the one of some parts."""

    __slots__ = ("weight", "bytes", "packed", "shape", "blocksize", "absmax", "absmax_at", "nested", "versions")

    def __init__(self, weight, parts, forget):
        self.weight = weight
        self.packed, self.bytes = parts.packed.data_ptr(), parts.packed.nbytes
        self.shape, self.blocksize = parts.shape, parts.blocksize
        self.absmax, self.absmax_at = weakref.ref(parts.absmax, forget), parts.absmax.data_ptr()
        self.nested = parts.nested and tuple((weakref.ref(each), each.data_ptr()) for each in parts.nested)
        self.versions = _versions(parts)

    def is_of(self, parts):
        packed, absmax, blocksize, shape, nested = parts
        if (self.absmax() is not absmax or packed.data_ptr() != self.packed or absmax.data_ptr() != self.absmax_at
                or packed.nbytes < self.bytes or blocksize != self.blocksize or shape != self.shape):
            return False
        if self.versions is not None and _versions(parts) != self.versions:
            return False
        if nested is None or self.nested is None:
            return nested is self.nested
        for tensor, (known, pointer) in zip(nested, self.nested):
            if known() is not tensor or tensor.data_ptr() != pointer:
                return False
        return True


_remembered = {}  # by the id of absmax, for as long as that lives


def new_weight(parts):
    """A Weight of parts that may have been written just now. Raises UnsupportedWeight."""
    weight = Weight(parts)
    if weight.device.type == "cuda":
        # Kernels of libnf4 may read a weight before the kernel in front of them has ended, so that the
        # one in front must not be the one that writes it.
        torch.zeros(1, device=weight.device)
    return weight


def weight_of(parts):
    """The Weight of these parts, which is remembered. To be called inside AsPlainTensors().

    Raises UnsupportedWeight.
    """
    key = id(parts.absmax)
    known = _remembered.get(key)
    if known is not None and known.is_of(parts):
        return known.weight
    weight = new_weight(parts)
    _remembered[key] = _Remembered(weight, parts, lambda _: _remembered.pop(key, None))
    return weight
