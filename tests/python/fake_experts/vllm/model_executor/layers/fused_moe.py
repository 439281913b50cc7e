"""A stand-in for vLLM's Triton kernel of experts."""

import torch

called = []


def fused_experts(hidden_states, w1, w2, topk_weights, topk_ids, activation="silu", apply_router_weight_on_input=False,
                  global_num_experts=-1, expert_map=None, quant_config=None):
    called.append(activation)
    ids = topk_ids.long() if expert_map is None else expert_map[topk_ids.long()]
    output = torch.zeros_like(hidden_states)
    for t, row in enumerate(hidden_states):
        for weight, e in zip(topk_weights[t], ids[t].tolist()):
            if e >= 0:
                gate, up = (w1[e] @ (row * weight if apply_router_weight_on_input else row)).chunk(2)
                down = w2[e] @ (torch.nn.functional.silu(gate) * up)
                output[t] += down if apply_router_weight_on_input else (down * weight).to(row.dtype)
    return output
