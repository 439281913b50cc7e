"""Puts libnf4 under layers of experts, without a change of code in the packages that have them.

Each package has a name that NF4_LEAVE may hold. Layers that are not known in all they do go to what was there
before: other quantizations, types and devices, adapters, norms, scales and gates that have no match here.
"""

import torch

from .. import _library
from . import originals
from .experts import Stack, experts, grouped_linear
from .takeover import after_import, devices, is_left, may_replace, replace, replace_method, taken, undo
from .weights import KINDS, UnsupportedWeight

CANNOT = (UnsupportedWeight, _library.Nf4Error, ValueError)
_SHORT = (torch.float16, torch.bfloat16)
_ARGUMENTS = "self hidden_states top_k_index top_k_weights"
_GPTOSS = "transformers.models.gpt_oss.modeling_gpt_oss", "GptOssExperts._apply_gate"
_NO_LIMITS = 1.702, 0.0

# What the functions of transformers 5.17 to 5.24 use: one that uses more does more.
_TRANSFORMERS = """_apply_gate _batched_linear _grouped_linear _is_expert_parallel act_fn arange clamp clamp_ cumsum
    device down_proj down_proj_bias dtype empty_like float gate_up_proj gate_up_proj_bias has_bias has_gate
    has_post_expert_norm histc int int32 is_transposed masked_fill masked_fill_ num_experts post_expert_norm
    repeat_interleave reshape size sort sum to torch type unsqueeze up_proj up_proj_bias view"""
# Those of the vLLM plugin 0.0.3 and of SGLang 0.5.23.
_VLLM = """_apply_4bit_dequnt _apply_8bit_dequant activation apply_router_weight_on_input expert_map fused_experts
    global_num_experts load_in_8bit moe_quant_config quant_config vllm.model_executor.layers.fused_moe"""
_SGLANG = """StandardCombineInput _apply_4bit_dequant _apply_8bit_dequant fused_moe hidden_states load_in_8bit
    moe_runner_config quant_config sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe
    sglang.srt.layers.moe.token_dispatcher topk_output"""


def take_over():
    import bitsandbytes.nn

    owner = getattr(bitsandbytes.nn, "Experts4bit", None)
    if owner is not None and not is_left("experts4bit"):
        replace_method(owner, "forward", _experts4bit,
                       lambda function: originals.strange_parameters(function, _ARGUMENTS))
    for name, module, take in (
            ("transformers", "transformers.integrations.moe", _take_transformers),
            ("unsloth", "unsloth_zoo.temporary_patches.moe_routed", _take_routed),
            ("unsloth", "unsloth_zoo.temporary_patches.moe_nf4_grouped", _take_grouped),
            ("axolotl", "axolotl.integrations.kernels.libs.scattermoe_lora.selective_dequant", _take_selective),
            ("vllm", "vllm_bnb_plugin.quantization.fused_moe", _take_vllm),
            ("sglang", "sglang.srt.layers.quantization.bitsandbytes", _take_sglang)):
        if not is_left(name):
            after_import(module, take)


def _layer(tokens, ids, weights, up, down, gate):
    """A layer of stacks in the type of `tokens`, or None. gate: what nf4.experts() takes, or a function that makes
    what the second product takes of what the first one gives."""
    kind, dtype = tokens.device.type, up.dtype
    if (kind not in devices or dtype not in _SHORT or down.dtype is not dtype or tokens.dim() != 2
            or not tokens.is_floating_point() or ids.dim() != 2 or weights.dtype not in KINDS
            or weights.shape != ids.shape
            or (torch.is_autocast_enabled(kind) and torch.get_autocast_dtype(kind) is not dtype)):
        return None
    try:
        rows = tokens.to(dtype)
        if callable(gate):
            hidden = gate(grouped_linear(rows, up, ids))
            return grouped_linear(hidden.to(dtype), down, ids, weights, combine=True).to(tokens.dtype)
        return experts(rows, ids, weights, up, down, *gate).to(tokens.dtype)
    except CANNOT:
        return None


def _activation(function):
    """The activation of nf4.h that a function or module of torch or transformers is; None if it is none."""
    is_module = isinstance(function, torch.nn.Module)
    name = type(function).__name__ if is_module else getattr(function, "__name__", "")
    home = type(function).__module__ if is_module else getattr(function, "__module__", None) or "torch"
    if home.partition(".")[0] not in ("torch", "transformers"):
        return None
    if name == "GELU":
        return "gelu_tanh" if function.approximate == "tanh" else None
    return {"SiLUActivation": "silu", "SiLU": "silu", "silu": "silu", "GELUTanh": "gelu_tanh",
            "NewGELUActivation": "gelu_tanh", "ReLUSquaredActivation": "relu2"}.get(name)


def _gate_of(layer):
    """As _layer() takes it, of a layer that transformers has decorated."""
    kind = _activation(layer.act_fn) if hasattr(layer, "act_fn") else None
    if not layer.has_gate:
        return layer.act_fn if kind is None else (kind, False, False, *_NO_LIMITS)
    gate = type(layer)._apply_gate
    if "_apply_gate" in vars(layer):
        return layer._apply_gate
    if gate.__name__ == "_default_apply_gate":
        return layer._apply_gate if kind is None else (kind, True, False, *_NO_LIMITS)
    if (gate.__module__, gate.__qualname__) == _GPTOSS and set(gate.__code__.co_names) <= {
            "clamp", "limit", "torch", "sigmoid", "alpha"}:
        return "gptoss", True, True, float(layer.alpha), float(layer.limit)
    return layer._apply_gate


def _decorated_layer(layer, tokens, ids, weights):
    """The layer of a module with transformers' attributes, or None."""
    if getattr(layer, "has_post_expert_norm", False):
        return None
    first = "gate_up_proj" if layer.has_gate else "up_proj"
    try:
        biases = [getattr(layer, name + "_bias") if layer.has_bias else None for name in (first, "down_proj")]
        up, down = (Stack.of(layer, name, bias, layer.is_transposed)
                    for name, bias in zip((first, "down_proj"), biases))
    except (AttributeError, UnsupportedWeight):
        return None
    if up.sizes[0] != layer.num_experts:
        return None
    return _layer(tokens, ids, weights, up, down, _gate_of(layer))


def _transformers(original):
    def experts_forward(self, hidden_states, top_k_index, top_k_weights):
        result = _decorated_layer(self, hidden_states, top_k_index, top_k_weights)
        return original(self, hidden_states, top_k_index, top_k_weights) if result is None else result
    experts_forward.__wrapped__ = original
    return experts_forward


def _take_transformers(module):
    table = module.ALL_EXPERTS_FUNCTIONS
    known = table._global_mapping
    for key in ("grouped_mm", "batched_mm"):
        what, original = f"{module.__name__}.ALL_EXPERTS_FUNCTIONS[{key!r}]", known.get(key)
        if may_replace(what, original, lambda each: originals.strange_names(each, _ARGUMENTS, _TRANSFORMERS)):
            table.register(key, _transformers(original))
            undo.append(lambda key=key, original=original: table.register(key, original))
            taken.append(what)
            if key == "grouped_mm":
                table.register("nf4", known[key])
                undo.append(lambda: known.pop("nf4", None))
                taken.append(f"{module.__name__}.ALL_EXPERTS_FUNCTIONS['nf4']")


def _experts4bit(original):
    def forward(self, hidden_states, top_k_index, top_k_weights):
        result = _experts4bit_layer(self, hidden_states, top_k_index, top_k_weights)
        return original(self, hidden_states, top_k_index, top_k_weights) if result is None else result
    return forward


def _experts4bit_layer(layer, tokens, ids, weights):
    if (layer.quant_type != "nf4" or (layer.compute_dtype or tokens.dtype) is not tokens.dtype
            or not {"_dequantize_expert", "_project"}.isdisjoint(vars(layer))):
        return None
    kind = _activation(layer.act_fn)
    if kind is None:
        return None
    try:
        up, down = (Stack.of_absmax(packed.data, absmax, (layer.num_experts, *shape), layer.blocksize,
                                    dtype=tokens.dtype)
                    for packed, absmax, shape in ((layer.gate_up_proj, layer.gate_up_absmax, layer._gate_up_shape),
                                                  (layer.down_proj, layer.down_absmax, layer._down_shape)))
    except AttributeError:
        return None
    return _layer(tokens, ids, weights, up, down, (kind, layer.has_gate, False, *_NO_LIMITS))


def _take_routed(module):
    def make(original):
        def routed_moe_forward(experts, hidden_states, top_k_index, top_k_weights):
            result = None
            if (not torch.is_grad_enabled() and not experts.training and module.routed_mode() == "1"
                    and hasattr(experts, "has_gate") and module._stash_lora(experts) == (None, None)):
                rows = hidden_states.reshape(-1, hidden_states.shape[-1])
                result = _decorated_layer(experts, rows, top_k_index, top_k_weights)
            if result is None:
                return original(experts, hidden_states, top_k_index, top_k_weights)
            return result.view(hidden_states.shape)
        return routed_moe_forward

    if all(hasattr(module, name) for name in ("routed_mode", "_stash_lora")):
        replace(module, "routed_moe_forward", make, lambda function: originals.strange_parameters(
            function, "experts hidden_states top_k_index top_k_weights"))


def _take_grouped(module):
    def make(original):
        def maybe_nf4_grouped_mm(inputs, offsets, source, preprocess):
            result = _sorted_product(inputs, offsets, source, preprocess)
            return original(inputs, offsets, source, preprocess) if result is None else result
        return maybe_nf4_grouped_mm

    replace(module, "maybe_nf4_grouped_mm", make, lambda function: originals.strange_parameters(
        function, "inputs offsets source preprocess"))


def _sorted_product(rows, ends, source, preprocess):
    """The product with the stack `source`, which `preprocess` turns to [E, K, N], or None."""
    while hasattr(source, "base_layer"):
        source = source.base_layer
    state = getattr(source, "quant_state", None)
    if state is None or source.requires_grad or rows.device.type not in devices or rows.dtype not in _SHORT:
        return None
    try:
        stack = Stack(source, state, shape=getattr(source, "_original_shape", None))
        probe = torch.empty(stack.shape, device="meta")
        turned = preprocess(probe)
        stack.transposed = turned is probe
        if not stack.transposed and (turned.shape, turned.stride()) != (probe.mT.shape, probe.mT.stride()):
            return None
        return grouped_linear(rows, stack, ends, sorted=True)
    except CANNOT:
        return None


def _take_selective(module):
    def make(original):
        def selective_dequant(raw_param, quant_state, active_experts, expert_shape):
            try:
                count = quant_state.shape.numel() // (expert_shape[0] * expert_shape[1])
                return Stack(raw_param, quant_state, shape=(count, *expert_shape)).decode(active_experts)
            except (AttributeError, *CANNOT):
                return original(raw_param, quant_state, active_experts, expert_shape)
        return selective_dequant

    replace(module, "_selective_dequant_bnb4", make, lambda function: originals.strange_parameters(
        function, "raw_param quant_state active_experts expert_shape"))


def _serving_layer(layer, tokens, ids, weights, activation):
    """Of a layer as the vLLM plugin and SGLang keep it, or None."""
    kind = getattr(activation, "value", activation)
    if kind not in ("silu", "gelu_tanh") or tokens.dtype not in _SHORT:
        return None
    try:
        up, down = (Stack(each.data, each.bnb_quant_state, shape=each.experts_shape)
                    for each in (layer.w13_weight, layer.w2_weight))
    except (AttributeError, UnsupportedWeight):
        return None
    # The Triton kernel computes in the type of the tokens, whatever the weights had been.
    if up.dtype is not tokens.dtype:
        return None
    return _layer(tokens, ids, weights, up, down, (kind, True, False, *_NO_LIMITS))


def _take_vllm(module):
    parameters = "self layer x topk_weights topk_ids shared_experts shared_experts_input"

    def make(original):
        def apply(self, layer, x, topk_weights, topk_ids, shared_experts, shared_experts_input):
            result = None
            if (not self.quant_config.load_in_8bit and not layer.apply_router_weight_on_input
                    and getattr(self, "moe_quant_config", None) is None):
                places = layer.expert_map  # of this process, -1 for those of others
                ids = topk_ids if places is None else places[topk_ids.long()]
                result = _serving_layer(layer, x, ids, topk_weights, layer.activation)
            if result is None:
                return original(self, layer, x, topk_weights, topk_ids, shared_experts, shared_experts_input)
            return result
        return apply

    replace_method(module.BitsAndBytesMoEMethod, "apply", make,
                   lambda function: originals.strange_names(function, parameters, _VLLM))


# What of a MoeRunnerConfig may be anything: it changes nothing, or is looked at. All else must be None or False.
_SILENT = frozenset("""num_experts num_local_experts hidden_size intermediate_size_per_partition layer_id top_k
    params_dtype routing_method_type runner_backend inplace layer activation routed_scaling_factor gate_up_interleaved
    use_tp_all_gather_activation silu_mul_keep_fp32 num_fused_shared_experts""".split())


def _is_plain_silu(config):
    return config.is_gated and not any(value not in (None, False) for name, value in vars(config).items()
                                       if name not in _SILENT and name != "is_gated")


def _take_sglang(module):
    def make(original):
        def apply(self, layer, dispatch_output):
            result, routed, config = None, dispatch_output.topk_output, self.moe_runner_config
            if (not self.quant_config.load_in_8bit and type(routed).__name__ == "StandardTopKOutput"
                    and _is_plain_silu(config)):
                weights, factor = routed.topk_weights, config.routed_scaling_factor
                weights = weights if factor is None else weights * factor
                result = _serving_layer(layer, dispatch_output.hidden_states, routed.topk_ids, weights,
                                        config.activation)
            if result is None:
                return original(self, layer, dispatch_output)
            from sglang.srt.layers.moe.token_dispatcher import StandardCombineInput
            return StandardCombineInput(hidden_states=result)
        return apply

    replace_method(module.BitsAndBytesMoEMethod, "apply", make,
                   lambda function: originals.strange_names(function, "self layer dispatch_output", _SGLANG))
