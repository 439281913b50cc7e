#!/usr/bin/env python3
"""The drop-in under layers of experts: stand-ins of other packages' layers, the real bitsandbytes.

Exits with 77 where bitsandbytes is not installed.
"""

import contextlib
import copy
import importlib
import importlib.util
import os
import pathlib
import sys
import types
import unittest

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "fake_experts"))
E_, H, I = 5, 64, 128
LORA = "axolotl.integrations.kernels.libs.scattermoe_lora.selective_dequant"
TABLE = "transformers.integrations.moe"
ZOO = "unsloth_zoo.temporary_patches."


def module_of(name):
    return importlib.import_module(name)


@contextlib.contextmanager
def active(on=True, **environment):
    """The drop-in, or in its place nothing."""
    import nf4bench.torch
    from nf4bench.torch import dropin
    old = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    dropin.deactivate()
    if on:
        dropin.activate()
    try:
        yield dropin
    finally:
        nf4bench.torch.deactivate()
        for name, value in old.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def experts_class(gate=None, name="Experts"):
    """A class of experts as transformers has them."""
    table = module_of(TABLE)
    return type(name, (torch.nn.Module,), {"_apply_gate": gate or table._default_apply_gate})


def layer(gate=True, bias=False, transposed=False, dtype=torch.bfloat16, nested=True, quant_type="nf4", act=None,
          cls=None, concatenated=True, count=E_):
    import bitsandbytes.nn.parametrize as parametrize
    torch.manual_seed(1)
    made = (cls or experts_class())()
    made.has_gate, made.has_bias, made.is_transposed, made.is_concatenated = gate, bias, transposed, concatenated
    made.has_post_expert_norm, made.num_experts, made.act_fn = False, count, act or torch.nn.SiLU()
    outputs = 2 * I if gate else I
    for name, shape in (("gate_up_proj" if gate else "up_proj", (outputs, H)), ("down_proj", (H, I))):
        weight = torch.randn(count, *(shape[::-1] if transposed else shape), dtype=dtype) * 0.3
        setattr(made, name, torch.nn.Parameter(weight, requires_grad=False))
        if bias:
            setattr(made, name + "_bias", torch.nn.Parameter(torch.randn(count, shape[0], dtype=dtype)))
        if quant_type:
            parametrize.replace_parameter_4bit(made, name, nested, quant_type)
    return made


def routing(tokens=7, top_k=3, dtype=torch.bfloat16, seed=1):
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, E_ + 1, (tokens, top_k), generator=draw)
    return torch.randn(tokens, H, generator=draw).to(dtype), ids, torch.rand(tokens, top_k, generator=draw).to(dtype)


def close(test, result, expected):
    test.assertEqual((result.dtype, result.shape), (expected.dtype, expected.shape))
    torch.testing.assert_close(result.float(), expected.float(), rtol=0, atol=0.02 * expected.abs().max().item())


class Transformers(unittest.TestCase):
    def setUp(self):
        self.table = module_of(TABLE)
        self.calls = self.table.called
        self.calls.clear()

    def run_key(self, key, made, arguments):
        return self.table.ALL_EXPERTS_FUNCTIONS._global_mapping[key](made, *arguments)

    def layers(self):
        gptoss = module_of("transformers.models.gpt_oss.modeling_gpt_oss").GptOssExperts._apply_gate
        known, own = experts_class(gptoss), experts_class(lambda self, rows: rows[..., ::2] * rows[..., 1::2].sigmoid())
        for cls in (known, own):
            cls.limit, cls.alpha = 1.5, 1.702
        squared = type("ReLUSquaredActivation", (torch.nn.Module,), {"forward": lambda self, x: x.relu() ** 2})
        yield "plain", True, layer()
        yield "not nested", True, layer(nested=False)
        yield "16 bits of another kind", True, layer(dtype=torch.float16)
        yield "gelu", True, layer(act=torch.nn.GELU(approximate="tanh"))
        yield "gpt-oss", True, layer(bias=True, transposed=True, cls=known, concatenated=False)
        yield "a gate of its own", False, layer(bias=True, cls=own)
        yield "an activation of its own", False, layer(gate=False, act=squared())
        yield "no gate", True, layer(gate=False, bias=True, act=torch.nn.functional.silu)

    def test_serves_layers_as_they_are(self):
        from nf4bench.torch import expert_layers
        whole, experts = [], expert_layers.experts
        expert_layers.experts = lambda *arguments: whole.append(1) or experts(*arguments)
        self.addCleanup(setattr, expert_layers, "experts", experts)
        for name, in_one, made in self.layers():
            arguments = routing(dtype=made.down_proj.dtype)
            with active(False):
                expected = self.run_key("grouped_mm", made, arguments)
            with active():
                self.calls.clear()
                whole.clear()
                for key in ("grouped_mm", "batched_mm", "nf4"):
                    with self.subTest(name, key=key):
                        close(self, self.run_key(key, made, arguments), expected)
                        self.assertEqual((self.calls, bool(whole)), ([], in_one))
        self.assertNotIn("nf4", self.table.ALL_EXPERTS_FUNCTIONS._global_mapping)

    def test_gradients(self):
        made = layer(bias=True)
        outcome = []
        for on in (False, True):
            x, ids, weights = routing()
            leaves = [x.requires_grad_(), weights.requires_grad_(), made.gate_up_proj_bias, made.down_proj_bias]
            with active(on):
                self.calls.clear()
                self.run_key("grouped_mm", made, (x, ids, weights)).float().square().sum().backward()
                self.assertEqual(len(self.calls), 0 if on else 1)
            outcome.append([each.grad for each in leaves])
            for each in leaves:
                each.grad = None
        for ours, theirs in zip(*outcome):
            close(self, ours, theirs)

    def test_declines_what_it_does_not_know(self):
        class Doubled(torch.nn.Module):
            def forward(self, weight):
                return weight * 2

        def changed(made, **members):
            for name, value in members.items():
                setattr(made, name, value)
            return made

        adapted = layer()
        torch.nn.utils.parametrize.register_parametrization(adapted, "gate_up_proj", Doubled(), unsafe=True)
        normed = changed(layer(), has_post_expert_norm=True, post_expert_norm=torch.nn.Identity())
        other_bias = layer(bias=True)
        other_bias.down_proj_bias.data = other_bias.down_proj_bias.data.float()
        for name, made in (("not quantized", layer(quant_type=None)), ("fp4", layer(quant_type="fp4")),
                           ("float32", layer(dtype=torch.float32)), ("an adapter", adapted), ("a norm", normed),
                           ("biases in float32", other_bias)):
            x, ids, weights = routing(dtype=made.down_proj.dtype)
            for key in ("grouped_mm", "batched_mm", "nf4"):
                with active(), self.subTest(name, key=key):
                    self.calls.clear()
                    result = self.run_key(key, made, (x, ids, weights))
                    self.assertEqual(len(self.calls), 1)
                with active(False):
                    self.assertTrue(torch.equal(result, self.run_key("grouped_mm", made, (x, ids, weights))))
        with active(), torch.autocast("cpu", torch.float16):
            self.calls.clear()
            self.run_key("grouped_mm", layer(), routing())
            self.assertEqual(len(self.calls), 1)

    def test_compiles_whole(self):
        for bias in (False, True):
            made, (x, ids, weights) = layer(bias=bias), routing()
            with active():
                work = self.table.ALL_EXPERTS_FUNCTIONS._global_mapping["grouped_mm"]
                expected = work(made, x, ids, weights)
                torch._dynamo.reset()
                compiled = torch.compile(lambda *rows: work(made, *rows), fullgraph=True, backend="aot_eager")
                self.calls.clear()
                self.assertTrue(torch.equal(compiled(x, ids, weights), expected))
                rows = x.clone().requires_grad_()
                compiled(rows, ids, weights).sum().backward()
                self.assertEqual(self.calls, [])

    def test_params4bit_of_three_dimensions(self):
        from bitsandbytes.nn import Params4bit
        made, arguments = layer(), routing()
        with active(False):
            expected = self.run_key("grouped_mm", made, arguments)
        plain = experts_class()()
        for name, value in vars(made).items():
            if not name.startswith("_"):
                setattr(plain, name, value)
        plain.act_fn = made.act_fn
        for name in ("gate_up_proj", "down_proj"):
            chain = made.parametrizations[name]
            parameter = Params4bit(chain.original.data, requires_grad=False, quant_type="nf4", bnb_quantized=True)
            parameter.quant_state = copy.copy(chain[0].quant_state)
            parameter._original_shape = parameter.quant_state.shape
            setattr(plain, name, parameter)
        with active():
            self.calls.clear()
            close(self, self.run_key("grouped_mm", plain, arguments), expected)
            self.assertEqual(self.calls, [])

    def test_switches(self):
        made, arguments = layer(), routing()
        with active(NF4_LEAVE="vllm, transformers") as dropin:
            self.run_key("grouped_mm", made, arguments)
            self.assertEqual(len(self.calls), 1)
            self.assertIn("transformers: NF4_LEAVE names it", dropin.refused)
            self.assertTrue(any("sglang" in each for each in dropin.awaited + dropin.taken))
        with self.assertLogs("nf4bench", "WARNING") as logged, active(NF4_LEAVE="Transformers,unslot") as dropin:
            self.assertIn("transformers: NF4_LEAVE names it", dropin.refused)
        self.assertIn("NF4_LEAVE names unslot, and knows only", logged.output[0])
        with active() as dropin:
            self.assertIn(f"{TABLE}.ALL_EXPERTS_FUNCTIONS['nf4']", dropin.taken)

    def test_a_later_version_keeps_what_it_changed(self):
        table = self.table.ALL_EXPERTS_FUNCTIONS._global_mapping
        original = table["grouped_mm"]

        def grouped_mm_experts_forward(self, hidden_states, top_k_index, top_k_weights):
            return original(self, hidden_states * self.router_scale, top_k_index, top_k_weights)

        table["grouped_mm"] = grouped_mm_experts_forward
        self.addCleanup(table.__setitem__, "grouped_mm", original)
        with active() as dropin:
            self.assertIs(table["grouped_mm"], grouped_mm_experts_forward)
            self.assertIsNot(table["batched_mm"], self.table.batched_mm_experts_forward)
            self.assertTrue(any("router_scale" in each for each in dropin.refused))


class Experts4bit(torch.nn.Module):
    """A stand-in for bitsandbytes' layer of this name, which no release has."""

    def __init__(self, gate_up, down, act_fn=torch.nn.functional.silu, quant_type="nf4", has_gate=True):
        import bitsandbytes.functional as F
        super().__init__()
        self.num_experts, self.act_fn, self.quant_type, self.blocksize = len(gate_up), act_fn, quant_type, 64
        self.compute_dtype, self.has_gate, self.calls = gate_up.dtype, has_gate, 0
        self._gate_up_shape, self._down_shape = gate_up.shape[1:], down.shape[1:]
        for name, weights in (("gate_up", gate_up), ("down", down)):
            states = [F.quantize_4bit(each.contiguous(), quant_type=quant_type) for each in weights]
            packed = torch.stack([each.reshape(-1) for each, _ in states])
            setattr(self, name + "_proj", torch.nn.Parameter(packed, requires_grad=False))
            self.register_buffer(name + "_absmax", torch.stack([state.absmax for _, state in states]))

    def _dequantize_expert(self, packed, absmax, shape, expert, dtype):
        import bitsandbytes.functional as F
        state = F.QuantState(absmax[expert], torch.Size(shape), None, 64, self.quant_type, dtype)
        return F.dequantize_4bit(packed[expert].reshape(-1, 1), state)

    def forward(self, hidden_states, top_k_index, top_k_weights):
        self.calls += 1
        output = torch.zeros_like(hidden_states, dtype=torch.float32)
        for expert in range(self.num_experts):
            token, slot = torch.where(top_k_index == expert)
            up, down = (self._dequantize_expert(packed, absmax, shape, expert, self.compute_dtype)
                        for packed, absmax, shape in ((self.gate_up_proj, self.gate_up_absmax, self._gate_up_shape),
                                                      (self.down_proj, self.down_absmax, self._down_shape)))
            gate, up = (hidden_states[token] @ up.t()).chunk(2, dim=-1)
            rows = (self.act_fn(gate) * up) @ down.t() * top_k_weights[token, slot, None]
            output.index_add_(0, token, rows.float())
        return output.to(hidden_states.dtype)


class OfBitsandbytes(unittest.TestCase):
    def test_experts4bit(self):
        import bitsandbytes.nn
        bitsandbytes.nn.Experts4bit = Experts4bit
        self.addCleanup(delattr, bitsandbytes.nn, "Experts4bit")
        torch.manual_seed(1)
        up, down = torch.randn(E_, 2 * I, H) * 0.3, torch.randn(E_, H, I) * 0.3

        def patched(made):
            made._dequantize_expert = made._dequantize_expert
            return made

        for name, ours, dtype, make in (
                ("bfloat16", True, torch.bfloat16, Experts4bit), ("float16", True, torch.float16, Experts4bit),
                ("float32", False, torch.float32, Experts4bit),
                ("fp4", False, torch.bfloat16, lambda *weights: Experts4bit(*weights, quant_type="fp4")),
                ("an own activation", False, torch.bfloat16, lambda *weights: Experts4bit(*weights, lambda x: x * 2)),
                ("an own decode", False, torch.bfloat16, lambda *weights: patched(Experts4bit(*weights)))):
            made, arguments = make(up.to(dtype), down.to(dtype)), routing(dtype=dtype)
            with active(False):
                expected = made(*arguments)
            with active(), self.subTest(name):
                made.calls = 0
                close(self, made(*arguments), expected)
                self.assertEqual(made.calls, 0 if ours else 1)

    def test_accesses_still_decode(self):
        made = layer()
        with active():
            first = made.gate_up_proj
        with active(False):
            self.assertTrue(torch.equal(first, made.gate_up_proj))


class Unsloth(unittest.TestCase):
    def test_few_tokens(self):
        routed, table = module_of(ZOO + "moe_routed"), module_of(TABLE)
        made, (x, ids, weights) = layer().eval(), routing()
        with active(False), torch.no_grad():
            expected = table.ALL_EXPERTS_FUNCTIONS._global_mapping["grouped_mm"](made, x, ids, weights)
        with active(), torch.no_grad():
            routed.called.clear()
            close(self, routed.routed_moe_forward(made, x, ids, weights), expected)
            close(self, routed.routed_moe_forward(made, x[None], ids, weights)[0], expected)
            self.assertEqual(routed.called, [])
            for name, value in (("adapters", (torch.ones(1), None)), ("routed_mode", lambda: "0")):
                before = getattr(routed, name)
                setattr(routed, name, value)
                self.assertIsNone(routed.routed_moe_forward(made, x, ids, weights))
                setattr(routed, name, before)
            self.assertIsNone(routed.routed_moe_forward(made.train(), x, ids, weights))
            self.assertEqual(len(routed.called), 3)

    def test_sorted_rows(self):
        import bitsandbytes.functional as F
        grouped = module_of(ZOO + "moe_nf4_grouped")
        x, ends = torch.randn(9, H).bfloat16(), torch.tensor([2, 2, 5, 5, 9], dtype=torch.int32)
        for shape, turn in (((E_, H, I), lambda each: each), ((E_, I, H), lambda each: each.transpose(1, 2))):
            packed, state = F.quantize_4bit(torch.randn(shape).bfloat16(), quant_type="nf4", compress_statistics=True)
            source = torch.nn.Parameter(packed, requires_grad=False)
            source.quant_state = state
            matrices = turn(F.dequantize_4bit(packed, state))
            begins = [0, *ends.tolist()]
            expected = torch.cat([x[begins[e]:begins[e + 1]] @ matrices[e] for e in range(E_)])
            with active():
                grouped.called.clear()
                holder = types.SimpleNamespace(base_layer=source)
                close(self, grouped.maybe_nf4_grouped_mm(x, ends, holder, turn), expected)
                rows = x.clone().requires_grad_()
                grouped.maybe_nf4_grouped_mm(rows, ends, source, turn).sum().backward()
                self.assertEqual(rows.grad.shape, x.shape)
                self.assertEqual(grouped.called, [])
                self.assertIsNone(grouped.maybe_nf4_grouped_mm(x, ends, source, lambda each: each * 2))
                self.assertIsNone(grouped.maybe_nf4_grouped_mm(x.float(), ends, source, turn))
                self.assertEqual(len(grouped.called), 2)


class Axolotl(unittest.TestCase):
    def test_chosen_experts_are_decoded(self):
        import bitsandbytes.functional as F
        selective = module_of(LORA)
        chosen = torch.tensor([3, 0, 3])
        for nested in (False, True):
            for shape, decoded in (((E_, 96, 64), True), ((E_, 7, 10), False)):
                packed, state = F.quantize_4bit(torch.randn(shape).bfloat16(), quant_type="nf4",
                                                compress_statistics=nested)
                expected = F.dequantize_4bit(packed, state)[chosen]
                with active():
                    selective.called.clear()
                    result = selective._selective_dequant_bnb4(packed, state, chosen, shape[1:])
                    self.assertTrue(torch.equal(result, expected))
                    self.assertEqual(selective.called, [] if decoded else ["decoded"])


class Serving(unittest.TestCase):
    def setUp(self):
        import bitsandbytes.functional as F
        self.calls = module_of("vllm.model_executor.layers.fused_moe").called
        self.calls.clear()
        torch.manual_seed(1)
        self.layer = types.SimpleNamespace(activation="silu", apply_router_weight_on_input=False,
                                           global_num_experts=E_, expert_map=None)
        for name, shape in (("w13_weight", (E_, 2 * I, H)), ("w2_weight", (E_, H, I))):
            weights = torch.randn(shape).bfloat16() * 0.3
            packed, state = F.quantize_4bit(weights.view(-1, shape[2]), quant_type="nf4")
            parameter = torch.nn.Parameter(packed.view(E_, -1, 1), requires_grad=False)
            parameter.bnb_quant_state, parameter.experts_shape = state, shape
            setattr(self.layer, name, parameter)
        x, ids, weights = routing()
        self.arguments = x, weights.float(), ids.clamp(max=E_ - 1).int()

    def both(self, run):
        """Of the original and of ours, and whether ours called the original's kernel."""
        with active(False):
            expected = run()
        self.calls.clear()
        with active():
            close(self, run(), expected)
        return bool(self.calls)

    def test_vllm(self):
        module = module_of("vllm_bnb_plugin.quantization.fused_moe")
        method = module.BitsAndBytesMoEMethod(types.SimpleNamespace(load_in_8bit=False))

        def run():
            return method.apply(self.layer, *self.arguments, None, None)

        self.assertFalse(self.both(run))
        self.layer.activation = types.SimpleNamespace(value="silu")
        self.assertFalse(self.both(run))
        self.layer.expert_map = torch.tensor([-1, 2, -1, 0, 1], dtype=torch.int32)
        self.assertFalse(self.both(run))
        self.layer.expert_map, self.layer.apply_router_weight_on_input = None, True
        self.assertTrue(self.both(run))
        self.layer.apply_router_weight_on_input, self.layer.activation = False, "swigluoai"
        self.assertTrue(self.both(run))
        self.layer.activation, method.moe_quant_config = "silu", object()
        self.assertTrue(self.both(run))

    def test_sglang(self):
        module = module_of("sglang.srt.layers.quantization.bitsandbytes")
        parts = module_of("sglang.srt.layers.moe.token_dispatcher")
        config = types.SimpleNamespace(activation="silu", is_gated=True, apply_router_weight_on_input=False,
                                       inplace=True, routed_scaling_factor=None, gemm1_alpha=None, no_combine=False,
                                       num_experts=E_)
        method = module.BitsAndBytesMoEMethod(types.SimpleNamespace(load_in_8bit=False), config)
        x, weights, ids = self.arguments

        def run():
            routed = parts.StandardTopKOutput(weights, ids, None)
            return method.apply(self.layer, parts.StandardDispatchOutput(x, routed)).hidden_states

        self.assertFalse(self.both(run))
        config.routed_scaling_factor = 2.5
        self.assertFalse(self.both(run))
        for name, value in (("apply_router_weight_on_input", True), ("gemm1_alpha", 1.7), ("a_later_field", True)):
            setattr(config, name, value)
            self.assertTrue(self.both(run), name)
            delattr(config, name) if name == "a_later_field" else setattr(config, name, None)


def sharded(x, weight, states, offsets, bias):
    """The products of vLLM's plugin and of SGLang, written anew: shards of one weight, each into its slice."""
    from bitsandbytes import matmul_4bit

    rows = x.reshape(-1, x.shape[-1]).to(torch.bfloat16)
    out = torch.empty(rows.shape[0], sum(each.shape[0] for each in states), dtype=torch.bfloat16)
    first = 0
    for i, state in enumerate(states):
        out[:, first:first + state.shape[0]] = matmul_4bit(rows, weight[offsets[i]:offsets[i + 1]].t(), state)
        first += state.shape[0]
    out = out.to(x.dtype).view(*x.shape[:-1], -1)
    return out if bias is None else out.add_(bias)


def whole(x, weight, state, bias):
    """The product of TGI, written anew."""
    import bitsandbytes as bnb

    return bnb.matmul_4bit(x, weight.t(), bias=bias, quant_state=state)


class ServingProducts(unittest.TestCase):
    def setUp(self):
        import bitsandbytes.functional as F

        from nf4bench.torch import kernels
        torch.manual_seed(1)
        quantized = [F.quantize_4bit(torch.randn(outputs, 128).bfloat16(), quant_type="nf4", compress_statistics=nested)
                     for outputs, nested in ((64, True), (32, False), (32, True))]
        self.states = [state for _, state in quantized]
        for state in self.states[:1]:  # as loaders do that split a weight among processes
            state.absmax = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
            state.nested, state.state2, state.offset = False, None, None
        self.weight = torch.nn.Parameter(torch.cat([packed for packed, _ in quantized]), requires_grad=False)
        self.offsets = [0]
        for packed, _ in quantized:
            self.offsets.append(self.offsets[-1] + packed.shape[0])
        self.served, linear = [], kernels.linear
        kernels.linear = lambda *arguments: self.served.append(1) or linear(*arguments)
        self.addCleanup(setattr, kernels, "linear", linear)

    def test_shards_and_wholes_are_served(self):
        bias = torch.randn(128)
        for tokens in (1, 2, 8, 64):
            for dtype in (torch.bfloat16, torch.float16):
                x = torch.randn(tokens, 128).to(dtype)
                for shape in (x.shape, (1, tokens, 128)):
                    for run, products in (
                            (lambda: sharded(x.view(shape), self.weight, self.states, self.offsets, bias.to(dtype)), 3),
                            (lambda: whole(x.view(shape).bfloat16(), self.weight[:self.offsets[1]], self.states[0],
                                           bias[:64].bfloat16()), 1)):
                        with torch.inference_mode():
                            with active(False):
                                expected = run()
                            self.assertEqual(self.served, [])
                            with active():
                                close(self, run(), expected)
                        with self.subTest(tokens=tokens, dtype=dtype, products=products):
                            self.assertEqual(len(self.served), products)
                        self.served.clear()


if __name__ == "__main__":
    if importlib.util.find_spec("bitsandbytes") is None:
        print("bitsandbytes is not installed")
        sys.exit(77)
    import bitsandbytes  # noqa: F401
    unittest.main()
