"""nf4bench: reports of the benchmark, and the kernels it is about.

  nf4bench.load(path)      a report of "nf4bench run --json": typed objects, pandas frames, plots
  nf4bench.torch           the kernels in PyTorch, and under bitsandbytes and Unsloth
  the program nf4bench     is installed beside this package
"""

from .reports import Measurement, NotAReport, Report, Speedup, Tensor, Time, load

__all__ = ["Measurement", "NotAReport", "Report", "Speedup", "Tensor", "Time", "load"]
