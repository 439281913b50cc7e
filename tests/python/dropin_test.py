#!/usr/bin/env python3
"""The drop-in under the real bitsandbytes, on its CPU back end: each run of code in a process of its own.

Exits with 77 where bitsandbytes is not installed.
"""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

import nf4bench_bitsandbytes

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = pathlib.Path(importlib.util.find_spec("nf4bench").submodule_search_locations[0]).parent

ROOT = HERE.parents[1]

# What an installed package says of itself, for a package that is not installed.
[TARGET] = re.findall(r'"bitsandbytes.backends"\]\nnf4bench = "(.+)"', (ROOT / "pyproject.toml").read_text("utf-8"))
ENTRY_POINTS = f"[bitsandbytes.backends]\nnf4bench = {TARGET}\n"

PRELUDE = """
import logging, os, sys, warnings
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
import torch
import samples
"""

# PyTorch and what bitsandbytes imports of it are seconds of loading, here once: what has loaded them forks for each
# run. The child ends as any interpreter does. Frozen, or collections would copy it all in each child. Where loading it
# used CUDA, which does not survive a fork, the child begins anew.
SERVER = """
import gc, json, os, signal, sys
import torch._dynamo, torch._inductor.compile_fx
gc.freeze()
for line in sys.stdin:
    code, environment, paths, outputs = json.loads(line)
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()
signal.alarm(300)
os.environ.update(environment)
sys.path[1:1] = paths
for number, path in enumerate(outputs, 1):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
if torch.cuda._is_in_bad_fork():
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    os.execv(sys.executable, [sys.executable, "-c", code])
exec(code)
"""


class DropIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([sys.executable, "-c", SERVER], text=True, stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        cls.addClassCleanup(cls.server.communicate)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        info = pathlib.Path(self.folder.name) / "nf4bench-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nf4bench\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(ENTRY_POINTS)

        self.paths = [str(each) for each in (self.folder.name, PACKAGE, HERE, HERE / "fake_packages")]

    def run_python(self, *arguments, **environment):
        paths = [*self.paths, os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True,
                              timeout=300)

    def run_code(self, code, **environment):
        outputs = [pathlib.Path(self.folder.name, name) for name in ("stdout", "stderr")]
        request = PRELUDE + textwrap.dedent(code), environment, self.paths, [str(path) for path in outputs]
        print(json.dumps(request), file=self.server.stdin, flush=True)
        ended = int(self.server.stdout.readline())
        result = subprocess.CompletedProcess(code, ended, *(path.read_text("utf-8") for path in outputs))
        self.assertEqual(ended, 0, result.stdout + result.stderr)
        return result

    def test_says_once_what_it_took_over(self):
        result = self.run_code("import bitsandbytes, nf4bench.torch; nf4bench.torch.activate()")
        self.assertEqual(result.stderr.count("nf4bench INFO"), 1, result.stderr)
        self.assertIn("bitsandbytes::gemm_4bit (CPU)", result.stderr)

    def test_is_quiet_below_info(self):
        result = self.run_python("-W", "error", "-c", "import torch, bitsandbytes")
        self.assertNotIn("nf4bench", result.stderr)

    def test_can_be_switched_off(self):
        code = """
            import bitsandbytes as bnb
            assert not hasattr(bnb.matmul_4bit, "__wrapped__"), "taken over"
            assert not hasattr(bnb.functional.dequantize_4bit, "__wrapped__")
            assert not any("nf4bench" in type(each).__module__ for each in sys.meta_path)
            """
        self.assertNotIn("nf4bench INFO", self.run_code(code, NF4_DISABLE="1").stderr)
        with self.assertRaisesRegex(AssertionError, "taken over"):
            self.run_code(code, NF4_DISABLE="0")

    def test_words_that_say_no_do_not_switch_it_off(self):
        for word, is_off in (("", False), ("0", False), ("false", False), ("No", False), ("OFF", False),
                             ("1", True), ("true", True), ("yes", True)):
            with unittest.mock.patch.dict(os.environ, NF4_DISABLE=word):
                self.assertEqual(nf4bench_bitsandbytes.is_disabled(), is_off, word)

    def test_can_be_taken_back(self):
        self.run_code("""
            import bitsandbytes as bnb, nf4bench.torch
            layer = bnb.nn.Linear4bit(64, 32, quant_type="nf4", compute_dtype=torch.bfloat16).to("cpu").train()
            x, state = torch.randn(2, 64).bfloat16(), layer.weight.quant_state
            before = sys.meta_path[:]

            def ways():
                return (bnb.matmul_4bit, bnb.functional.dequantize_4bit, bnb.nn.Linear4bit.forward,
                        bnb.autograd._functions.matmul_4bit)

            def outcome():
                absmax = state.absmax.float()
                return layer(x), torch.ops.bitsandbytes.dequantize_4bit(
                    layer.weight.data, absmax, 64, "nf4", [32, 64], torch.bfloat16)

            nf4bench.torch.deactivate()
            original, result = ways(), outcome()
            assert not any(hasattr(each, "__wrapped__") for each in original)
            for _ in range(3):
                nf4bench.torch.activate()
                assert len(sys.meta_path) == len(before)
                assert all(each.__wrapped__ is old for each, old in zip(ways(), original))
                outcome()
                nf4bench.torch.deactivate()
                assert ways() == original
                assert all(map(torch.equal, outcome(), result))
            """)

    def test_a_missing_library_is_a_warning(self):
        result = self.run_code("""
            import bitsandbytes as bnb
            assert not hasattr(bnb.matmul_4bit, "__wrapped__")
            """, NF4_LIBRARY="/nowhere/libnf4.so")
        self.assertIn("nf4bench WARNING", result.stderr)

    def test_a_pytorch_without_a_private_name_is_a_warning(self):
        result = self.run_code("""
            del torch._C._len_torch_function_stack
            import bitsandbytes as bnb
            assert not hasattr(bnb.matmul_4bit, "__wrapped__")
            """)
        self.assertRegex(result.stderr, "nf4bench WARNING.*_len_torch_function_stack")

    def test_what_fails_on_the_way_is_taken_back(self):
        result = self.run_code("""
            import nf4bench.torch.dropin as dropin
            def fail(layer):
                raise RuntimeError("no layer of 4 bits")
            dropin._replace_forward = fail
            import bitsandbytes as bnb
            assert not hasattr(bnb.matmul_4bit, "__wrapped__")
            assert not dropin.taken
            """)
        self.assertRegex(result.stderr, "nf4bench WARNING.*no layer of 4 bits")

    def test_a_file_of_the_same_name_beside_the_script_is_left_alone(self):
        folder = pathlib.Path(self.folder.name, "scripts")
        folder.mkdir()
        (folder / "nf4bench.py").write_text("print('ran')\nimport bitsandbytes\n")
        (folder / "script.py").write_text("import bitsandbytes\n")
        for script, ran, disabled in (("nf4bench.py", "ran\n", "0"), ("script.py", "", "0"), ("script.py", "", "1")):
            result = self.run_python(folder / script, NF4_DISABLE=disabled)
            self.assertEqual((result.returncode, result.stdout), (0, ran), result.stderr)
            self.assertEqual("nf4bench leaves bitsandbytes as it is" in result.stderr, disabled == "0")

    def test_what_is_switched_off_is_not_imported(self):
        self.run_code("""
            import bitsandbytes
            assert "nf4bench" not in sys.modules
            """, NF4_DISABLE="1")

    def later_bitsandbytes(self):
        """A folder with a bitsandbytes in which all that is replaced has changed."""
        installed = pathlib.Path(importlib.util.find_spec("bitsandbytes").submodule_search_locations[0])
        later = pathlib.Path(self.folder.name, "bitsandbytes")
        shutil.copytree(installed, later, ignore=shutil.ignore_patterns("__pycache__"))
        for file, old, new in (
                ("autograd/_functions.py", r"(def matmul_4bit\([^)]*)\)", r"\1 *, twice=False)"),
                ("functional.py", r"(def dequantize_4bit\([^)]*)\)", r"\1 *, twice=False)"),
                ("_ops.py", r"(gemm_4bit[^>]*absmax_offset=None)\)", r"\1, bool twice=False)"),
                ("nn/modules.py", r"\Z", "\nLinear4bit.forward = lambda self, x: x.new_full((2,), 7)\n")):
            text, count = re.subn(old, new, (later / file).read_text("utf-8"))
            self.assertEqual(count, 1, file)
            (later / file).write_text(text, "utf-8")

    def test_another_version_keeps_what_it_changed(self):
        self.later_bitsandbytes()
        result = self.run_code("""
            import bitsandbytes as bnb, bitsandbytes.functional as F
            from nf4bench.torch import dropin
            assert bnb.__file__.startswith(sys.path[1]), bnb.__file__
            packed, state = F.quantize_4bit(torch.randn(64, 128), quant_type="nf4")
            x = torch.randn(3, 128)
            assert bnb.matmul_4bit(x, packed, state, twice=True).shape == (3, 64)
            assert F.dequantize_4bit(packed, state, twice=True).shape == (64, 128)
            assert bnb.nn.Linear4bit(128, 64).forward(x).tolist() == [7, 7]
            print("taken", *dropin.taken, sep="\\n")
            print("left", *dropin.refused, sep="\\n")
            """)
        taken, _, left = result.stdout.partition("left\n")
        for name in ("functional.dequantize_4bit", "matmul_4bit", "Linear4bit.forward", "gemm_4bit (CPU)"):
            self.assertNotIn(name, taken)
            self.assertIn(name, left)
        self.assertIn("bitsandbytes::dequantize_4bit (CPU)", taken)
        self.assertIn("bool twice=False", left)

    def test_says_what_is_active(self):
        result = self.run_python("-m", "nf4bench.torch")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"active +yes")
        for name in ("gemm_4bit (CPU)", "dequantize_4bit (CPU)", "functional.dequantize_4bit",
                     "matmul_4bit", "Linear4bit.forward"):
            self.assertRegex(result.stdout, f"taken over .*{re.escape(name)}")
        for name in ("unsloth.kernels.utils", "transformers.integrations.moe"):
            self.assertRegex(result.stdout, f"on import +{re.escape(name)}")
        code = "import runpy; runpy.run_module('nf4bench.torch', run_name='__main__', alter_sys=True)"
        self.assertRegex(self.run_code(code, NF4_LEAVE="vllm").stdout, "left +vllm: NF4_LEAVE")
        self.assertRegex(self.run_code(code, NF4_DISABLE="1").stdout, r"active +no")
        self.assertIn("cannot be loaded", self.run_code(code, NF4_LIBRARY="/nowhere").stdout)

    def test_decodes_the_same_bits_by_every_way(self):
        self.run_code("""
            import bitsandbytes as bnb, bitsandbytes.functional as F
            from bitsandbytes.functional import dequantize_4bit
            original = F.dequantize_4bit.__wrapped__
            for dtype in samples.TYPES:
                for nested in (False, True):
                    for blocksize in (32, 64, 256):
                        w = torch.randn(64, 512, dtype=dtype)
                        packed, state = F.quantize_4bit(w, blocksize=blocksize, compress_statistics=nested,
                                                        quant_type="nf4")
                        expected = samples.decoded(packed, state)
                        assert torch.equal(dequantize_4bit(packed, state), expected)
                        assert torch.equal(dequantize_4bit(packed.t(), state), expected.t())
                        assert torch.equal(original(packed, state), expected)  # through our operator
                        absmax = torch.rand(64 * 512 // blocksize)
                        assert torch.equal(F.dequantize_4bit(packed, absmax=absmax, out=None, quant_type="nf4",
                                                             blocksize=blocksize, quant_state=F.QuantState(
                                absmax, torch.Size((64, 512)), None, blocksize, "nf4", dtype)),
                            samples.decoded(packed, samples.State(absmax=absmax, shape=torch.Size((64, 512)),
                                                                  dtype=dtype, blocksize=blocksize)))
            """)

    def test_agrees_with_bitsandbytes_where_that_is_right(self):
        code = """
            import bitsandbytes.functional as F
            torch.manual_seed(0)
            for dtype in (torch.bfloat16, torch.float32):
                for nested in (False, True):
                    w = torch.randn(64, 512, dtype=dtype)
                    state = F.quantize_4bit(w, compress_statistics=nested, quant_type="nf4")
                    print(F.dequantize_4bit(*state).double().sum().item(), state[0].sum().item())
            """
        ours, theirs = (self.run_code(code, NF4_DISABLE=off).stdout for off in ("0", "1"))
        self.assertEqual(ours, theirs)

    def test_products_gradients_and_layers(self):
        self.run_code("""
            import bitsandbytes as bnb, bitsandbytes.functional as F
            from bitsandbytes.nn import Linear4bit
            for dtype in samples.TYPES:
                for nested in (False, True):
                    for shape in ((1, 128), (2, 5, 128), (128,), (300, 128)):
                        layer = Linear4bit(128, 48, quant_type="nf4", compute_dtype=dtype,
                                           compress_statistics=nested).to("cpu")
                        layer.bias.data = layer.bias.data.to(dtype)
                        layer.train()  # in eval, some CPUs have bitsandbytes repack the weight
                        values = samples.decoded(layer.weight.data, layer.weight.quant_state, dtype)
                        x = torch.randn(shape, dtype=dtype)
                        # Its backward does not take one dimension.
                        for grad in (False, True) if len(shape) > 1 else (False,):
                            x = x.clone().requires_grad_(grad)
                            result = layer(x)
                            assert result.shape == (*shape[:-1], 48) and result.dtype == dtype
                            error = samples.product_error(result.detach().view(-1, 48), x.detach().view(-1, 128),
                                                          values, layer.bias.detach())
                            assert error < 1, error
                            if grad:
                                result.sum().backward()
                                y = x.detach().clone().requires_grad_()
                                torch.nn.functional.linear(y, values).sum().backward()
                                assert torch.equal(x.grad, y.grad)
            """)

    def test_waits_for_an_import_that_succeeds(self):
        self.run_code("""
            import importlib.util, pathlib, bitsandbytes
            from nf4bench.torch import takeover
            took, folder = [], pathlib.Path(sys.path[1])
            for name, code in (("late", "import os; os.environ['READY']"), ("undone", "from nf4bench.torch import takeover"
                               "; takeover.put_back()")):
                folder.joinpath(name + ".py").write_text(code)
                importlib.invalidate_caches()
                takeover.after_import(name, lambda module: took.append(module.__name__))
                assert importlib.util.find_spec(name) and name in takeover.awaited
                if name == "late":
                    try:
                        import late
                    except KeyError:
                        os.environ["READY"] = "1"
                    assert name in takeover.awaited
                importlib.import_module(name)
                assert took == ["late"] and name not in takeover.awaited
            """)

    def test_tangents_flow_as_in_bitsandbytes(self):
        self.run_code("""
            import bitsandbytes as bnb
            from torch.autograd import forward_ad
            layer = bnb.nn.Linear4bit(64, 32, quant_type="nf4", compute_dtype=torch.float32, bias=False).to("cpu")
            layer.train()
            values = samples.decoded(layer.weight.data, layer.weight.quant_state, torch.float32)
            x, tangent = torch.randn(3, 64), torch.randn(3, 64)
            for grad in (False, True):
                with torch.set_grad_enabled(grad), forward_ad.dual_level():
                    dual = forward_ad.make_dual(x, tangent)
                    for result in (bnb.matmul_4bit(dual, layer.weight.t(), layer.weight.quant_state), layer(dual)):
                        torch.testing.assert_close(forward_ad.unpack_dual(result).tangent, tangent @ values.t())
            """)

    def test_serves_the_products_of_servers(self):
        self.run_code("""
            import bitsandbytes as bnb, bitsandbytes.functional as F
            from torch import library as registry

            # Written anew in the shape of what servers do. vLLM and SGLang: an operator that is opaque to the
            # compiler, imports within the call, and copies the product of each shard into a slice of `out`.
            @registry.custom_op("stand_in::apply", mutates_args=("out",))
            def apply(x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor, out: torch.Tensor) -> None:
                from bitsandbytes import matmul_4bit
                column = 0
                for shard, state in enumerate(states):
                    size = state.shape[0]
                    out[:, column:column + size] = matmul_4bit(x, weight[ends[shard]:ends[shard + 1]].t(), state)
                    column += size

            # The same by a server that has the product written where it belongs.
            @registry.custom_op("stand_in::apply_in_place", mutates_args=("out",))
            def apply_in_place(x: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor, out: torch.Tensor) -> None:
                from bitsandbytes import matmul_4bit
                column = 0
                for shard, state in enumerate(states):
                    place = out[:, column:column + state.shape[0]]
                    assert matmul_4bit(x, weight[ends[shard]:ends[shard + 1]].t(), state, out=place) is place
                    column += state.shape[0]

            def by(operator):
                def sharded(x):
                    wide = x.to(torch.bfloat16).reshape(-1, x.size(-1))
                    out = torch.empty(wide.shape[0], sum(state.shape[0] for state in states), dtype=torch.bfloat16,
                                      device=x.device)
                    operator(wide, weight, ends, out)
                    return (out.to(x.dtype) + bias).view(*x.shape[:-1], -1)
                return sharded

            sharded, in_place = by(torch.ops.stand_in.apply), by(torch.ops.stand_in.apply_in_place)

            def copies(work):
                with torch.inference_mode(), torch.profiler.profile() as profile:
                    work()
                return sum(each.name == "aten::copy_" for each in profile.events())

            # Text Generation Inference.
            def whole(x):
                return bnb.matmul_4bit(x, parts[0].t(), bias=bias[:states[0].shape[0]], quant_state=states[0])

            torch.manual_seed(0)
            for device in samples.DEVICES:
                parts, states, values = [], [], []
                for rows in (96, 32, 32):
                    packed, state = F.quantize_4bit(torch.randn(rows, 256).bfloat16().to(device), quant_type="nf4",
                                                    compress_statistics=True)
                    values.append(samples.decoded(packed, state, torch.bfloat16))
                    # Loading does away with the second level of scales.
                    state.absmax = F.dequantize_blockwise(state.absmax, state.state2) + state.offset
                    state.nested, state.state2, state.offset = False, None, None
                    assert torch.equal(samples.decoded(packed, state, torch.bfloat16), values[-1])
                    parts.append(packed); states.append(state)
                weight, bias = torch.cat(parts), torch.randn(160, dtype=torch.bfloat16, device=device)
                ends = torch.tensor([0, *(part.shape[0] for part in parts)]).cumsum(0)
                x = torch.randn(16, 256, device=device).bfloat16()
                assert (copies(lambda: sharded(x)), copies(lambda: in_place(x))) == (3, 0)
                for work, each, products in ((sharded, torch.cat(values), 3), (in_place, torch.cat(values), 3),
                                             (whole, values[0], 1),
                                             (torch.compile(sharded, backend="aot_eager"), torch.cat(values), 3),
                                             (torch.compile(in_place, backend="aot_eager"), torch.cat(values), 3)):
                    for shape in ((1, 256), (2, 256), (16, 256), (4, 16, 256), (300, 256)):
                        x = torch.randn(shape, device=device).bfloat16()
                        with samples.served() as calls, torch.inference_mode():
                            results = [work(x)]
                        assert calls["linear"] == products, (calls, shape)
                        if device == "cuda" and x[..., 0].numel() <= 64:
                            graph, result = samples.captured(lambda: work(x))
                            x.copy_(torch.randn_like(x))
                            graph.replay()
                            results = [result]
                        for result in results:
                            error = samples.product_error(result.view(-1, result.shape[-1]), x.view(-1, 256), each,
                                                          bias[:result.shape[-1]])
                            # With shards the sum with the bias is rounded once more.
                            assert error < (1 if work is whole else 2), error
            """)

    def test_an_offset_in_16_bits_is_that_number(self):
        self.run_code("""
            import bitsandbytes as bnb, nf4bench.torch.kernels as kernels
            linear, ours = kernels.linear, []
            kernels.linear = lambda *arguments: ours.append(linear(*arguments)) or ours[-1]
            torch.manual_seed(0)
            x = torch.randn(4, 64).bfloat16()
            packed, state = bnb.functional.quantize_4bit(torch.randn(64, 64).bfloat16(), quant_type="nf4",
                                                         compress_statistics=True)
            def product(offset):
                return torch.ops.bitsandbytes.gemm_4bit(x, packed, [64, 64], state.state2.absmax, 64, "nf4", None,
                                                        state.absmax, state.state2.code, offset)
            for dtype in (torch.float16, torch.bfloat16):
                offset = state.offset.to(dtype)
                assert torch.equal(product(offset), product(offset.float()))
            assert len(ours) == 4, len(ours)
            """)

    def test_compiles_whole_with_the_operators_replaced(self):
        self.run_code("""
            import bitsandbytes as bnb
            from bitsandbytes.nn import Linear4bit
            layer = Linear4bit(128, 48, quant_type="nf4", compute_dtype=torch.bfloat16, bias=False).to("cpu").train()
            x = torch.randn(3, 128, dtype=torch.bfloat16, requires_grad=True)
            layer(x).sum().backward()
            expected, x.grad = x.grad, None
            compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
            assert torch.equal(compiled(x), layer(x))
            compiled(x).sum().backward()
            assert torch.equal(x.grad, expected)
            for nested in (False, True):
                w = bnb.functional.quantize_4bit(torch.randn(48, 128), compress_statistics=nested, quant_type="nf4")
                decode = torch.compile(lambda q: bnb.functional.dequantize_4bit(q, w[1]) + 1, fullgraph=True,
                                       backend="aot_eager")
                assert torch.equal(decode(w[0]), bnb.functional.dequantize_4bit(*w) + 1)
            """)

    def test_what_it_cannot_do_is_the_originals(self):
        code = """
            import copy
            import bitsandbytes as bnb, bitsandbytes.functional as F
            torch.manual_seed(0)

            def show(name, work, exact=True):
                try:
                    result = work()
                    if not isinstance(result, torch.Tensor):
                        return print(name, result)
                    total = result.double().sum().item()
                    print(name, result.dtype, tuple(result.shape), total if exact else f"{total:.3g}")
                except Exception as error:
                    print(name, type(error).__name__, str(error)[:60])

            w, x = torch.randn(64, 128), torch.randn(3, 128)
            for nested in (False, True):
                packed, state = F.quantize_4bit(w, quant_type="fp4", compress_statistics=nested)
                show("fp4 decode", lambda: F.dequantize_4bit(packed, state))
                show("fp4 product", lambda: bnb.matmul_4bit(x, packed, state))
                show("fp4 operator", lambda: torch.ops.bitsandbytes.dequantize_4bit(
                    packed, torch.ones(128), 64, "fp4", [64, 128], torch.float32))
            packed, state = F.quantize_4bit(w, quant_type="nf4")
            show("wrong inputs", lambda: bnb.matmul_4bit(x[:, :100], packed, state))
            show("no state", lambda: bnb.matmul_4bit(x, packed, None))
            show("no state", lambda: F.dequantize_4bit(packed))
            show("wrong bias", lambda: bnb.matmul_4bit(x, packed, state, bias=torch.zeros(63)))
            show("into out", lambda: F.dequantize_4bit(packed, state, out=torch.empty(64, 128)))
            show("meta", lambda: bnb.matmul_4bit(x.to("meta"), packed.to("meta"), state))
            out = torch.empty(3, 64)
            show("empty", lambda: bnb.matmul_4bit(x[:0], packed, state))
            odd, odd_state = F.quantize_4bit(torch.randn(64, 96).half(), quant_type="nf4", blocksize=32)
            shifted = torch.cat([odd[:1], odd])[1:]
            show("not aligned", lambda: F.dequantize_4bit(shifted, odd_state))
            print(bnb.matmul_4bit(x, packed, state, out=out) is out)
            for name, wrong in (("rows", torch.empty(2, 64)), ("columns", torch.empty(3, 63)), ("number", 1.5),
                                ("half", out.half()), ("wider", torch.empty(2, 3, 64)), ("meta", out.to("meta")),
                                ("overlapping", torch.empty(64).expand(3, 64)), ("sparse", out.to_sparse()),
                                ("wrapped", samples.Wrapper(out)), ("negated", torch._neg_view(out)),
                                ("wants a gradient", torch.empty(3, 64).requires_grad_())):
                show(name + " out", lambda: bnb.matmul_4bit(x, packed, state, out=wrong), exact=False)
            show("empty out", lambda: bnb.matmul_4bit(x[:0], packed, state, out=torch.empty(0, 64)))

            negated = torch.view_as_complex(torch.stack([torch.zeros_like(x), x], -1)).conj().imag
            assert negated.is_neg()
            zero, ones = torch._efficientzerotensor((3, 128)), torch.ones(64)
            for name, tokens in (("negated", negated), ("sparse", x.to_sparse()), ("zero", zero), ("number", 1.5),
                                 ("nested", torch.nested.nested_tensor([x, x]))):
                show(name, lambda: bnb.matmul_4bit(tokens, packed, state), exact=False)
            for name, bias in (("sparse bias", ones.to_sparse()), ("zero bias", torch._efficientzerotensor((64,))),
                               ("negated bias", torch._neg_view(ones)), ("wrapped bias", samples.Wrapper(ones)),
                               ("number for a bias", 1.5)):
                show(name, lambda: bnb.matmul_4bit(x, packed, state, bias=bias), exact=False)
            for name, weight in (("wrapped", samples.Wrapper(packed)), ("no tensor", 5), ("no tensor", None),
                                 ("sparse", packed.to_sparse()), ("not quantized", w)):
                show(name + " weight", lambda: bnb.matmul_4bit(x, weight, state), exact=False)
                show(name + " weight decoded", lambda: F.dequantize_4bit(weight, state))
            for dtype in (torch.bfloat16, torch.float16):
                with torch.autocast("cpu", dtype):
                    for tokens in (x, x.bfloat16(), x.half()):
                        show("autocast", lambda: bnb.matmul_4bit(tokens, packed, state).dtype)

            packed, state = F.quantize_4bit(w, quant_type="nf4", compress_statistics=True)
            for name, value in (("shape", torch.Size((32, 128))), ("shape", torch.Size((65, 128))), ("shape", 5),
                                ("shape", None), ("blocksize", 128), ("blocksize", 64.0), ("blocksize", "64"),
                                ("dtype", torch.float64), ("offset", None),
                                ("quant_type", "int4")):
                other = copy.copy(state)
                setattr(other, name, value)
                show(f"{name} {value} decoded", lambda: F.dequantize_4bit(packed, other))
                show(f"{name} {value}", lambda: bnb.matmul_4bit(x, packed, other), exact=False)
            for name, value in (("dtype", torch.float16), ("blocksize", 128)):
                other = copy.copy(state)
                other.state2 = copy.copy(state.state2)
                setattr(other.state2, name, value)
                show(f"nested {name} {value} decoded", lambda: F.dequantize_4bit(packed, other))
                show(f"nested {name} {value}", lambda: bnb.matmul_4bit(x, packed, other), exact=False)
            show("half a nested scale", lambda: torch.ops.bitsandbytes.gemm_4bit(
                x, packed, [64, 128], state.state2.absmax, 64, "nf4", None, state.absmax, state.state2.code, None))
            """
        ours, theirs = (self.run_code(code, NF4_DISABLE=off).stdout for off in ("0", "1"))
        self.assertEqual(ours.splitlines(), theirs.splitlines())

    def test_unsloth_imported_before_and_after(self):
        check = """
            import unsloth.kernels, unsloth.kernels.utils as utils
            packed, state = samples.weight((48, 128))
            expected = samples.decoded(packed, state)
            for each in (utils.fast_dequantize, unsloth.kernels.fast_dequantize):
                assert torch.equal(each(packed, state), expected)
                assert torch.equal(each(packed, state, use_global_buffer=True, dtype=torch.float32), expected)
            assert torch.equal(unsloth.kernels.decode(packed, state), expected.t())
            x = torch.randn(1, 1, 128).bfloat16()
            result = unsloth.kernels.fast_gemv(x, packed, state)
            assert result.shape == (1, 1, 48)
            assert samples.product_error(result.view(1, 48), x.view(1, 128), expected) < 1
            # Its own inference has buffers that are larger than what it multiplies.
            buffers = torch.zeros(2, 1, 1, 64).bfloat16()
            for out in (buffers[0][:, :, :48], buffers[1][:, :, 16:]):
                assert unsloth.kernels.fast_gemv(x, packed, state, out=out) is out
                assert torch.equal(out, result)
            assert not buffers[0, ..., 48:].any() and not buffers[1, ..., :16].any()
            assert utils.called == [], utils.called
            # What is not ours is Unsloth's own.
            assert utils.fast_dequantize(packed) is packed
            utils.fast_dequantize(packed, [1, 2, 3])
            state.quant_type = "fp4"
            utils.fast_dequantize(packed, state, None, False, torch.float32)
            utils.fast_gemv(x, packed, None)
            assert utils.called == ["fast_dequantize"] * 3 + ["fast_gemv"], utils.called
            """
        for first in ("import bitsandbytes", "import unsloth.kernels; import bitsandbytes"):
            with self.subTest(first):
                self.run_code(first + textwrap.dedent(check))

    def test_unsloth_before_2026_10(self):
        self.run_code("""
            import unsloth.kernels.utils as utils
            def fast_dequantize(W, quant_state=None, out=None, use_global_buffer=False):
                return W
            utils.fast_dequantize = fast_dequantize
            import bitsandbytes
            packed, state = samples.weight()
            assert torch.equal(utils.fast_dequantize(packed, state), samples.decoded(packed, state))
            try:
                utils.fast_dequantize(packed, dtype=torch.float32)
            except TypeError as error:
                assert "dtype" in str(error)
            else:
                raise AssertionError("it has no dtype")
            """)

    def test_unsloths_patches_before_and_after(self):
        code = """
            import unsloth_zoo, nf4bench.torch as nf4
            import bitsandbytes as bnb, bitsandbytes.functional as F
            if not hasattr(bnb.matmul_4bit, "__wrapped__"):
                unsloth_zoo.patch()
                del os.environ["NF4_DISABLE"]
                nf4.activate()
                assert not hasattr(bnb.nn.Linear4bit.forward, "__wrapped__")
            else:
                unsloth_zoo.patch()
            patched = F.dequantize_4bit, bnb.nn.Linear4bit.forward
            assert all(each.__module__ == "unsloth_zoo" for each in patched)
            layer = bnb.nn.Linear4bit(128, 48, quant_type="nf4", compute_dtype=torch.bfloat16).to("cpu").train()
            packed, state = layer.weight.data, layer.weight.quant_state
            values, x = samples.decoded(packed, state, torch.bfloat16), torch.randn(5, 128).bfloat16()

            def use(calls_of_forward, calls_of_training, calls_of_decode):
                with samples.served() as calls, torch.no_grad():
                    result = layer(x)
                assert calls == calls_of_forward, calls
                error = samples.product_error(result, x, values, layer.bias.detach().bfloat16())
                assert error < 1, error
                tokens = x.clone().requires_grad_()
                with samples.served() as calls:
                    layer(tokens).sum().backward()
                assert calls == calls_of_training, calls
                assert torch.equal(tokens.grad, torch.ones(5, 48).bfloat16() @ values)
                with samples.served() as calls:
                    decoded = F.dequantize_4bit(packed, state)
                assert calls == calls_of_decode, calls
                assert torch.equal(decoded, samples.decoded(packed, state))

            ours = {"linear": 1}, {"linear": 1, "dequantize": 1}, {"dequantize": 1}
            use(*ours)
            unsloth_zoo.LIMIT = 128 * 48 - 1
            assert torch.equal(F.dequantize_4bit(packed, state), samples.decoded(packed, state))
            unsloth_zoo.LIMIT = 2**31 - 1
            nf4.deactivate()
            assert (F.dequantize_4bit, bnb.nn.Linear4bit.forward) == patched
            use({}, {}, {})
            nf4.activate()
            use(*ours)
            """
        for disable in ("0", "1"):
            with self.subTest(NF4_DISABLE=disable):
                self.run_code(code, NF4_DISABLE=disable)

    def test_unsloth_is_left_alone_when_switched_off(self):
        self.run_code("""
            import bitsandbytes, unsloth.kernels.utils as utils
            packed, state = samples.weight()
            assert utils.fast_dequantize(packed, state) is packed
            """, NF4_DISABLE="1")

    def test_a_saved_layer_is_loaded_without_this_package(self):
        path = os.path.join(self.folder.name, "layer.pt")
        code = """
            import bitsandbytes as bnb
            from bitsandbytes.nn import Linear4bit
            layer = Linear4bit(128, 48, quant_type="nf4", compute_dtype=torch.bfloat16).to("cpu").train()
            """
        self.run_code(code + f"""
            layer(torch.randn(2, 128).bfloat16())
            torch.save(layer, {path!r}); torch.save(layer.state_dict(), {path + "d"!r})
            """)
        self.run_code(f"""
            assert not any("nf4bench" in each for each in sys.modules)
            layer = torch.load({path!r}, weights_only=False)
            layer(torch.randn(2, 128).bfloat16())
            assert "nf4bench" not in open({path!r}, "rb").read().decode("latin-1")
            """, NF4_DISABLE="1")


if __name__ == "__main__":
    if importlib.util.find_spec("bitsandbytes") is None:
        print("bitsandbytes is not installed")
        sys.exit(77)
    unittest.main()
