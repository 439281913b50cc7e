"""A stand-in for the method by which SGLang computes experts: it decodes all of them."""


class BitsAndBytesMoEMethod:
    def __init__(self, quant_config, moe_runner_config):
        self.quant_config, self.moe_runner_config = quant_config, moe_runner_config

    def apply(self, layer, dispatch_output):
        from sglang.srt.layers.moe.moe_runner.triton_utils.fused_moe import fused_moe
        from sglang.srt.layers.moe.token_dispatcher import StandardCombineInput

        x, topk_output = dispatch_output.hidden_states, dispatch_output.topk_output
        w13, w2 = self._apply_8bit_dequant(layer) if self.quant_config.load_in_8bit else self._apply_4bit_dequant(layer)
        output = fused_moe(hidden_states=x, w1=w13, w2=w2, topk_output=topk_output,
                           moe_runner_config=self.moe_runner_config)
        return StandardCombineInput(hidden_states=output)

    def _apply_4bit_dequant(self, layer):
        from bitsandbytes.functional import dequantize_4bit

        return [dequantize_4bit(each.reshape(-1, 1), each.bnb_quant_state).reshape(each.experts_shape)
                for each in (layer.w13_weight, layer.w2_weight)]
