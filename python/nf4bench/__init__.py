"""nf4bench: reports of the benchmark, and the kernels it is about.

  nf4bench.load(path)         a report of "nf4bench run --json": typed objects, pandas frames, plots
  nf4bench.torch              the kernels in PyTorch, and under bitsandbytes and Unsloth
  nf4bench.libnf4_version()   of the libnf4 that these kernels are in
  python -m nf4bench          the program, which is installed beside this package
"""

from ._library import Nf4Error
from ._library import version as libnf4_version
from .reports import Measurement, NotAReport, Report, Speedup, Tensor, Time, load

__version__ = "0.1.0"
__all__ = ["Measurement", "Nf4Error", "NotAReport", "Report", "Speedup", "Tensor", "Time", "libnf4_version", "load"]
