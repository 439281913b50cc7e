"""What may be replaced: functions whose code and operators whose schema are those this package was made for.

A later bitsandbytes may mean something else by the same name. Then it goes on to do its own work.
"""

import hashlib
import inspect

import torch

# The beginning of the SHA-256 of the source of functions of bitsandbytes 0.50.0 to 0.50.2.
_CODE = {"matmul_4bit": "a219d40d62264de6", "dequantize_4bit": "c928daa1321ac803",
         "Linear4bit.forward": "d52cf63457717cc7"}

_WEIGHT = "int blocksize, str quant_type, int[] shape, ScalarType dtype"
_SCHEMAS = {
    "gemm_4bit": "(Tensor A, Tensor B, int[] shapeB, Tensor absmax, int blocksize, str quant_type, Tensor? bias=None, "
                 "Tensor? absmax_8bit=None, Tensor? absmax_code=None, Tensor? absmax_offset=None) -> Tensor",
    "dequantize_4bit": f"(Tensor A, Tensor absmax, {_WEIGHT}) -> Tensor",
    "dequantize_4bit.out": f"(Tensor A, Tensor absmax, {_WEIGHT}, Tensor! out) -> ()",
}


def strange_code(function):
    """Why this function of bitsandbytes is not one that is known; None if it is."""
    try:
        found = hashlib.sha256(inspect.getsource(function.__code__).encode()).hexdigest()[:16]
    except (AttributeError, OSError, TypeError) as error:
        return f"its code cannot be read: {error}"
    return None if found == _CODE.get(function.__qualname__) else f"this code ({found}) is not known here"


def strange_parameters(function, *known):
    """Why a function does not take exactly the parameters that one of `known` names; None if it does."""
    found = " ".join(inspect.signature(function).parameters)
    return None if found in known else f"it takes ({found}), and not ({') or ('.join(known)})"


def strange_names(function, parameters, names):
    """Why a function takes other parameters, or uses names that are not in `names`; None if neither."""
    unknown = set(function.__code__.co_names) - set(names.split())
    if unknown:
        return f"it uses {', '.join(sorted(unknown))}, which is not known here"
    return strange_parameters(function, parameters)


def strange_schema(name):
    """Why the operator bitsandbytes::NAME is not one that is known; None if it is."""
    packet, _, overload = name.partition(".")
    try:
        found = getattr(getattr(torch.ops.bitsandbytes, packet), overload or "default")._schema
    except AttributeError:
        return "this bitsandbytes has none"
    known = torch._C.parse_schema(f"bitsandbytes::{name}{_SCHEMAS[name]}")
    return None if str(found) == str(known) else f"its schema is {found}"
