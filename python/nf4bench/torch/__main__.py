"""Says what of bitsandbytes and its users is replaced here: python -m nf4bench.torch"""

import importlib.metadata
import importlib.util
import logging
import sys

import torch

from .. import _library
from . import dropin

BUILD_WITH_CUDA = "pip install . -C cmake.define.NF4BENCH_CUDA=ON"


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def main():
    logging.basicConfig(level=logging.WARNING)
    try:
        print(f"libnf4         {_library.version()}, {_library.path()}")
        print("CUDA           " + ("yes" if _library.has_cuda() else
              "no, built for the CPU alone; with nvcc 12.5 or later on PATH: " + BUILD_WITH_CUDA))
    except _library.Nf4Error as error:
        print(f"libnf4         {error}")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"PyTorch        {torch.__version__}, {gpu}")
    for name, package in (("bitsandbytes", "bitsandbytes"), ("transformers", "transformers"), ("Unsloth", "unsloth"),
                          ("vLLM's plugin", "vllm-bnb-plugin"), ("SGLang", "sglang")):
        print(f"{name:14s} {_version(package)}")
    if dropin.is_disabled():
        print("active         no: NF4_DISABLE is set")
        return 0
    if importlib.util.find_spec("bitsandbytes") is None:
        print("active         no: there is no bitsandbytes")
        return 0
    import bitsandbytes  # noqa: F401, which activates this package, if it is installed
    dropin.activate()
    print("active         " + ("yes" if dropin.taken else "no"))
    for each in dropin.taken:
        print(f"  taken over   {each}")
    for each in dropin.awaited:
        print(f"  on import    {each}")
    for each in dropin.refused:
        print(f"  left         {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
