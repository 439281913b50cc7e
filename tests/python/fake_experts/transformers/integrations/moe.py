"""A stand-in for transformers: what its experts have and how they are found, and a layer that decodes all."""

import torch

called = []


def _grouped_linear(self, hidden_states, top_k_index, top_k_weights):
    called.append(type(self).__name__)
    ways = self.is_transposed
    up, down = (self.gate_up_proj if self.has_gate else self.up_proj), self.down_proj
    up, down = (up, down) if ways else (up.mT, down.mT)
    output = torch.zeros_like(hidden_states, dtype=torch.float32)
    for slot in range(top_k_index.shape[1]):
        valid = (top_k_index[:, slot] >= 0) & (top_k_index[:, slot] < self.num_experts)
        ids = top_k_index[:, slot].clamp(0, self.num_experts - 1)
        rows = torch.bmm(hidden_states[:, None].to(up.dtype), up[ids])[:, 0]
        if self.has_bias:
            rows = rows + (self.gate_up_proj_bias if self.has_gate else self.up_proj_bias)[ids]
        rows = self._apply_gate(rows) if self.has_gate else self.act_fn(rows)
        rows = torch.bmm(rows[:, None], down[ids])[:, 0]
        if self.has_bias:
            rows = rows + self.down_proj_bias[ids]
        if self.has_post_expert_norm:
            rows = self.post_expert_norm(rows)
        output = output + torch.where(valid[:, None], rows * top_k_weights[:, slot, None], 0.0)
    return output.to(hidden_states.dtype)


def batched_mm_experts_forward(self, hidden_states, top_k_index, top_k_weights):
    return _grouped_linear(self, hidden_states, top_k_index, top_k_weights)


def grouped_mm_experts_forward(self, hidden_states, top_k_index, top_k_weights):
    return _grouped_linear(self, hidden_states, top_k_index, top_k_weights)


class ExpertsInterface:
    _global_mapping = {"batched_mm": batched_mm_experts_forward, "grouped_mm": grouped_mm_experts_forward}

    def register(self, key, value):
        self._global_mapping[key] = value


ALL_EXPERTS_FUNCTIONS = ExpertsInterface()


def _default_apply_gate(self, gate_up_out):
    gate, up = gate_up_out.chunk(2, dim=-1)
    return self.act_fn(gate) * up
