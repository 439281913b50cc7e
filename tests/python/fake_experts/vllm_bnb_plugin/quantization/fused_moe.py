"""A stand-in for the method by which vLLM's plugin computes experts: it decodes all of them."""


class BitsAndBytesMoEMethod:
    moe_quant_config = None

    def __init__(self, quant_config):
        self.quant_config = quant_config

    def apply(self, layer, x, topk_weights, topk_ids, shared_experts, shared_experts_input):
        from vllm.model_executor.layers.fused_moe import fused_experts

        w13, w2 = self._apply_8bit_dequant(layer) if self.quant_config.load_in_8bit else self._apply_4bit_dequnt(layer)
        return fused_experts(hidden_states=x, w1=w13, w2=w2, topk_weights=topk_weights, topk_ids=topk_ids,
                             activation=layer.activation,
                             apply_router_weight_on_input=layer.apply_router_weight_on_input,
                             global_num_experts=layer.global_num_experts, expert_map=layer.expert_map,
                             quant_config=self.moe_quant_config)

    def _apply_4bit_dequnt(self, layer):
        from bitsandbytes.functional import dequantize_4bit

        return [dequantize_4bit(each.reshape(-1, 1), each.bnb_quant_state).reshape(each.experts_shape)
                for each in (layer.w13_weight, layer.w2_weight)]
