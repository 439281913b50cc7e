from .utils import fast_dequantize, fast_gemv  # noqa: F401
from .fast_lora import decode  # noqa: F401
