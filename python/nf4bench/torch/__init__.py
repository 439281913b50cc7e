"""NF4 weights of bitsandbytes in PyTorch, decoded and multiplied with by libnf4.

  dequantize(packed, quant_state)                 the weight, bit for bit as bitsandbytes decodes it
  linear(tokens, packed, quant_state, bias=None, out=None)
                                                  the product, differentiable in tokens and bias
  Stack, grouped_linear(...), experts(...)        stacks of experts, products with them, a layer of them
  fast_dequantize(W, quant_state, ...)            with the signature of Unsloth's
  activate()                                      puts them under bitsandbytes and Unsloth; done by
                                                  `import bitsandbytes` where this package is installed
  deactivate()                                    puts back what was there

The operators are torch.ops.nf4.dequantize, dequantize_out, linear, linear_out, grouped_linear and experts.
NF4_DISABLE=1 in the environment leaves bitsandbytes and Unsloth as they are.
"""

from .._library import Nf4Error
from .dropin import activate, deactivate
from .experts import Stack, experts, grouped_linear
from .functions import dequantize, fast_dequantize, linear
from .weights import UnsupportedWeight

__all__ = ["Nf4Error", "Stack", "UnsupportedWeight", "activate", "deactivate", "dequantize", "experts",
           "fast_dequantize", "grouped_linear", "linear"]
