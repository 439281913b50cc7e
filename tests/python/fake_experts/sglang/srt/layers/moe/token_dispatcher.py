"""A stand-in for what SGLang hands over between its parts."""

from typing import Any, NamedTuple


class StandardCombineInput(NamedTuple):
    hidden_states: Any


class StandardTopKOutput(NamedTuple):
    topk_weights: Any
    topk_ids: Any
    router_logits: Any


class StandardDispatchOutput(NamedTuple):
    hidden_states: Any
    topk_output: Any
