"""A stand-in for SGLang's Triton kernel of experts, which is vLLM's with a factor."""

from vllm.model_executor.layers.fused_moe import fused_experts


def fused_moe(hidden_states, w1, w2, topk_output, moe_runner_config):
    weights = topk_output.topk_weights * (moe_runner_config.routed_scaling_factor or 1.0)
    return fused_experts(hidden_states, w1, w2, weights, topk_output.topk_ids, moe_runner_config.activation,
                         moe_runner_config.apply_router_weight_on_input)
