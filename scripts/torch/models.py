"""Layers and models with random NF4 weights, made on the device without quantizing anything."""

import contextlib

import bitsandbytes as bnb
import torch

if not torch.cuda.is_available():  # a PyTorch for GPUs asks the driver, also where there is none
    torch.cuda.is_current_stream_capturing = lambda: False

LLAMA_LAYER = {"q": (4096, 4096), "k": (1024, 4096), "v": (1024, 4096), "o": (4096, 4096),
               "gate": (14336, 4096), "up": (14336, 4096), "down": (4096, 14336)}


def quant_state(outputs, inputs, device, dtype=torch.bfloat16):
    """Of a nested weight with blocks of 64, whose values are about 0.02 in size."""
    blocks = outputs * inputs // 64
    wanted = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)  # in which bitsandbytes reads all of these
    outer = bnb.functional.QuantState(
        absmax=torch.full((-(-blocks // 256),), 0.01, device=device), blocksize=256, dtype=torch.float32,
        code=bnb.functional.create_dynamic_map().to(device))
    state = bnb.functional.QuantState(
        absmax=torch.randint(0, 256, (blocks,), dtype=torch.uint8, device=device), shape=torch.Size((outputs, inputs)),
        code=bnb.functional.get_4bit_type("nf4", device), blocksize=64, quant_type="nf4", dtype=dtype,
        offset=torch.tensor(0.04, device=device), state2=outer)
    torch.set_default_dtype(wanted)
    return state


class RandomLinear4bit(bnb.nn.Linear4bit):
    """A Linear4bit of random bytes, in place of a torch.nn.Linear."""

    device, compute_dtype_of_all = "cuda", torch.bfloat16

    def __init__(self, inputs, outputs, bias=False):
        dtype = self.compute_dtype_of_all
        super().__init__(inputs, outputs, bias=bias, compute_dtype=dtype, quant_type="nf4", device="meta")
        self.support_avx512bf16_for_cpu = False  # else a CPU repacks the weight for bitsandbytes' own product
        packed = torch.randint(0, 256, (outputs * inputs // 2, 1), dtype=torch.uint8, device=self.device)
        self.weight = bnb.nn.Params4bit(packed, requires_grad=False, quant_type="nf4", bnb_quantized=True, module=self,
                                        quant_state=quant_state(outputs, inputs, self.device, dtype))
        self.quant_state = self.weight.quant_state


@contextlib.contextmanager
def _linear_layers_are_quantized(vocabulary):
    linear = torch.nn.Linear

    class Linear(linear):
        def __new__(cls, inputs, outputs, bias=True):
            if outputs == vocabulary:
                return linear(inputs, outputs, bias=bias)
            return RandomLinear4bit(inputs, outputs, bias=bias)

    torch.nn.Linear = Linear
    try:
        yield
    finally:
        torch.nn.Linear = linear


def _model(kind, config, device):
    """A model of class `kind`: linear layers of random bytes, all else of random numbers."""
    from transformers.initialization import no_init_weights

    RandomLinear4bit.device = device
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device), no_init_weights(), _linear_layers_are_quantized(config.vocab_size):
            model = kind(config)
    finally:
        torch.set_default_dtype(torch.float32)
    for name, each in model.named_parameters():
        if each.is_floating_point():
            each.data.fill_(1) if "norm" in name else each.data.normal_(0, 0.02)
    model.generation_config.pad_token_id = 0
    return model.eval()


def llama(device="cuda", **sizes):
    """A LlamaForCausalLM, by default of the shape of Llama-3.1-8B: 32 layers, 4.5 GB of them in NF4."""
    import transformers

    shape = {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
             "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 8192, **sizes}
    return _model(transformers.LlamaForCausalLM, transformers.LlamaConfig(**shape, dtype=torch.bfloat16), device)


def tiny(device="cuda"):
    """A Llama of two layers, to see on a CPU that all of this runs."""
    return llama(device, hidden_size=128, intermediate_size=320, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, vocab_size=512, max_position_embeddings=512)


def qwen3_moe(device="cuda", **sizes):
    """A Qwen3MoeForCausalLM, by default of the shape of Qwen3-30B-A3B, but with 8 of its 48 layers.

    Its experts are two parameters a layer, which bitsandbytes' replace_parameter_4bit quantizes.
    """
    import transformers
    from bitsandbytes.nn.parametrize import replace_parameter_4bit

    shape = {"hidden_size": 2048, "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 8,
             "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128,
             "num_experts_per_tok": 8, "norm_topk_prob": True, "vocab_size": 151936, "max_position_embeddings": 8192,
             **sizes}
    model = _model(transformers.Qwen3MoeForCausalLM, transformers.Qwen3MoeConfig(**shape, dtype=torch.bfloat16), device)
    for layer in model.model.layers:
        for name in ("gate_up_proj", "down_proj"):
            replace_parameter_4bit(layer.mlp.experts, name, compress_statistics=True, quant_type="nf4")
    return model
