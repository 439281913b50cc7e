"""A weight as libnf4 takes it, made of the tensors that bitsandbytes keeps it in."""

import math
import operator
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

_keys_of = torch._C._dispatch_keys  # what PyTorch chooses kernels by
_ODD_KEYS = -1
for _key in ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA", "AutocastCPU", "AutocastCUDA", "ADInplaceOrView"):
    _ODD_KEYS &= ~torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _key)).raw_repr()


def is_dense(tensor):
    """Whether its elements are what its memory holds: it is not sparse, negated, nested, zero or a wrapper."""
    return not _keys_of(tensor).raw_repr() & _ODD_KEYS


class UnsupportedWeight(ValueError):
    """These tensors are no NF4 weight that libnf4 can read; says why."""


# A weight's parts, unchecked, are a tuple as a quant_state has them: packed, absmax, blocksize, shape, nested.
# absmax holds float32, or uint8 codes if nested is (nested_absmax, nested_map, nested_offset) and not None.


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
            _check_nested(state2.blocksize, getattr(state2, "dtype", None))
    except AttributeError as error:
        raise UnsupportedWeight(f"this is no quant_state of bitsandbytes: {error}") from None
    _check_format(quant_type, shape)
    if getattr(quant_state, "packing_format_for_cpu", False):
        raise UnsupportedWeight("bitsandbytes has repacked this weight for its own product on the CPU")
    # A list may be changed in place, which nobody would see.
    return packed, absmax, blocksize, shape if isinstance(shape, tuple) else tuple(shape), nested


def dtype_of(quant_state):
    """That of the weight before it was quantized. Raises UnsupportedWeight."""
    try:
        return quant_state[2] if isinstance(quant_state, (list, tuple)) else quant_state.dtype
    except (AttributeError, IndexError) as error:
        raise UnsupportedWeight(f"this is no quant_state of bitsandbytes: {error}") from None


def _parts_of_list(packed, fields):
    # The form that quant states had before they were a class.
    try:
        absmax, shape, _, blocksize, compressed, quant_type = fields[:6]
        nested = None
        if compressed is not None:
            offset, state2 = compressed
            nested = (state2[0], state2[1], offset)
            _check_nested(state2[2], state2[4])
    except (ValueError, TypeError, IndexError) as error:
        raise UnsupportedWeight(f"this list is no quant_state: {error}") from None
    _check_format(quant_type, shape)
    return packed, absmax, blocksize, tuple(shape), nested


def _check_format(quant_type, shape):
    if quant_type != "nf4":
        raise UnsupportedWeight(f"quant_type is {quant_type!r}, not 'nf4'")
    if not isinstance(shape, (tuple, list)):
        raise UnsupportedWeight(f"the quant_state has the shape {shape!r}")


def _check_nested(blocksize, dtype):
    if blocksize != NESTED_BLOCKSIZE:
        raise UnsupportedWeight(f"absmax is nested in blocks of {blocksize}, not of {NESTED_BLOCKSIZE}")
    if dtype is not None and dtype is not torch.float32:
        raise UnsupportedWeight(f"absmax is decoded in {dtype}, not in float32")


def aligned(parts):
    """The parts with copies of those that libnf4 cannot read where they are."""
    def readable(tensor):
        if tensor is None:  # which Weight() has words for
            return None
        tensor = tensor.contiguous()
        return tensor.clone() if tensor.data_ptr() % ALIGNMENT else tensor
    packed, absmax, blocksize, shape, nested = parts
    return readable(packed), readable(absmax), blocksize, shape, nested and tuple(map(readable, nested))


def _has_own_offsets(shape, blocksize, offset):
    """Whether each matrix of a stack has an offset of its own, which libnf4 takes if it has groups of its own."""
    if len(shape) != 3 or shape[0] == 1 or not isinstance(offset, torch.Tensor) or offset.numel() != shape[0]:
        return False
    if shape[1] * shape[2] % (blocksize * NESTED_BLOCKSIZE):
        raise UnsupportedWeight(f"matrices of {shape[1]} x {shape[2]} share groups of {NESTED_BLOCKSIZE} blocks, and "
                                "cannot have an offset each")
    return True


class Weight:
    """A weight's sizes, and its nf4_weight. Keeps no tensor alive: its user does."""

    __slots__ = ("fields", "shape", "is_matrix", "outputs", "inputs", "blocksize", "is_nested", "own_offsets", "device",
                 "gpu", "plans")

    def __init__(self, parts):
        """Raises UnsupportedWeight where the parts do not fit each other, or libnf4."""
        packed, absmax, blocksize, shape, nested = parts
        try:
            blocksize, shape = operator.index(blocksize), tuple(map(operator.index, shape))
        except TypeError:
            raise UnsupportedWeight(f"blocksize {blocksize!r} and shape {shape!r} are no whole numbers") from None
        if not shape or min(shape) < 1:
            raise UnsupportedWeight(f"a weight of shape {list(shape)} has no elements")
        if blocksize not in BLOCKSIZES:
            raise UnsupportedWeight(f"blocksize {blocksize} is not a power of two from 32 to 4096")
        if not isinstance(packed, torch.Tensor):
            raise UnsupportedWeight(f"packed is {type(packed).__name__}, not a tensor")
        if packed.device.type not in DEVICES:
            raise UnsupportedWeight(f"packed is on {packed.device}: libnf4 reads tensors on cpu and cuda")
        self.device = packed.device
        self.gpu = packed.device.index  # None on the CPU
        elements = math.prod(shape)
        blocks = -(-elements // blocksize)
        pointers = [self._pointer("packed", packed, None, -(-elements // 2))]
        self.own_offsets = nested is not None and _has_own_offsets(shape, blocksize, nested[2])
        if nested is None:
            pointers += [self._pointer("absmax", absmax, torch.float32, blocks), 0, 0, 0, 0]
        else:
            nested_absmax, nested_map, offset = nested
            pointers += [0, self._pointer("absmax", absmax, torch.uint8, blocks),
                         self._pointer("nested_absmax", nested_absmax, torch.float32, -(-blocks // NESTED_BLOCKSIZE)),
                         self._pointer("nested_map", nested_map, torch.float32, 256),
                         self._pointer("nested_offset", offset, torch.float32, shape[0] if self.own_offsets else 1,
                                       alignment=4)]
        self.shape, self.inputs, self.is_matrix = shape, shape[-1], len(shape) == 2
        self.outputs = elements // self.inputs
        self.blocksize, self.is_nested = blocksize, nested is not None
        self.plans = {}  # by type, for products
        self.fields = _library.pack_weight(blocksize, self.outputs, self.inputs, pointers)

    def _pointer(self, name, tensor, dtype, count, alignment=ALIGNMENT):
        """Of a tensor of so many elements; without a type, of so many bytes."""
        if not isinstance(tensor, torch.Tensor):
            raise UnsupportedWeight(f"{name} is {type(tensor).__name__}, not a tensor")
        if dtype is not None and tensor.dtype is not dtype:
            raise UnsupportedWeight(f"{name} is {tensor.dtype}, not {dtype}")
        if tensor.device != self.device:
            raise UnsupportedWeight(f"{name} is on {tensor.device}, and packed on {self.device}")
        if not is_dense(tensor):
            raise UnsupportedWeight(f"{name} is not a tensor whose memory can be read")
        if not tensor.is_contiguous():
            raise UnsupportedWeight(f"{name} is not contiguous")
        wanted = count * (1 if dtype is None else dtype.itemsize)
        if tensor.nbytes != wanted:
            raise UnsupportedWeight(f"{name} has {tensor.nbytes} bytes, and this shape and blocksize have {wanted}")
        pointer = tensor.data_ptr()
        if pointer == 0 or pointer % alignment:
            raise UnsupportedWeight(f"{name} starts at the address {pointer:#x}, which is "
                                    + (f"not a multiple of {alignment}" if pointer else "no memory"))
        return pointer


class _Remembered:
    """A Weight, and by what to see that it still is the one of some parts."""

    __slots__ = ("weight", "bytes", "packed_at", "packed_version", "shape", "blocksize", "absmax", "absmax_at",
                 "absmax_version", "nested")

    def __init__(self, weight, parts, forget):
        packed, absmax, self.blocksize, self.shape, nested = parts
        self.weight = weight
        self.packed_at, self.bytes = packed.data_ptr(), packed.nbytes
        self.absmax, self.absmax_at = weakref.ref(absmax, forget), absmax.data_ptr()
        # PyTorch does not count the writes to a tensor of inference mode.
        self.packed_version = None if packed.is_inference() else packed._version
        self.absmax_version = None if absmax.is_inference() else absmax._version
        self.nested = nested and tuple((weakref.ref(each), each.data_ptr()) for each in nested)

    def is_of(self, parts):
        packed, absmax, blocksize, shape, nested = parts
        if (self.absmax() is not absmax or packed.data_ptr() != self.packed_at or absmax.data_ptr() != self.absmax_at
                or packed.nbytes != self.bytes or not packed.is_contiguous()
                or blocksize != self.blocksize or shape != self.shape
                or (self.packed_version is not None
                    and (packed.is_inference() or packed._version != self.packed_version))
                or (self.absmax_version is not None and absmax._version != self.absmax_version)):
            return False
        if nested is None or self.nested is None:
            return nested is self.nested
        (first, first_at), (second, second_at), (third, third_at) = self.nested
        one, two, three = nested
        return (first() is one and second() is two and third() is three and one.data_ptr() == first_at
                and two.data_ptr() == second_at and three.data_ptr() == third_at)


_remembered = {}  # by the id of absmax, for as long as that lives


def new_weight(parts):
    """A Weight of parts that may have been written just now. Raises UnsupportedWeight."""
    weight = Weight(parts)
    if weight.gpu is not None:
        # Kernels of libnf4 may read a weight before the kernel in front of them has ended, so that the
        # one in front must not be the one that writes it.
        torch.zeros(1, device=weight.device)
    return weight


def weight_of(parts):
    """The Weight of these parts, which is remembered. To be called inside AsPlainTensors().

    Raises UnsupportedWeight.
    """
    key = id(parts[1])
    known = _remembered.get(key)
    try:
        if known is not None and known.is_of(parts):
            return known.weight
    except (AttributeError, RuntimeError):
        pass  # not tensors, or without memory: a new Weight says so
    weight = new_weight(parts)
    _remembered[key] = _Remembered(weight, parts, lambda _: _remembered.pop(key, None))
    return weight
