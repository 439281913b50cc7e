"""A stand-in for the gate of gpt-oss."""

import torch


class GptOssExperts:
    def _apply_gate(self, gate_up):
        gate, up = gate_up[..., ::2].clamp(max=self.limit), gate_up[..., 1::2].clamp(-self.limit, self.limit)
        return (up + 1) * gate * torch.sigmoid(gate * self.alpha)
