#!/usr/bin/env python3
"""The drop-in while an adapter beside a quantized layer is trained with the real bitsandbytes, on its CPU back end.

Exits with 77 where bitsandbytes is not installed.
"""

import copy
import importlib.util
import io
import itertools
import os
import pickle
import socket
import sys
import threading
import unittest
import unittest.mock

import samples
import torch
from torch.distributed import fsdp
from torch.utils.checkpoint import checkpoint

import nf4bench.torch as nf4
from nf4bench.torch import weights

if importlib.util.find_spec("bitsandbytes") is None:
    print("bitsandbytes is not installed")
    sys.exit(77)
import bitsandbytes as bnb

STORAGES = (torch.uint8, torch.bfloat16, torch.float32)


class Adapted(torch.nn.Module):
    """A Linear4bit with LoRA beside it, both in `dtype`."""

    def __init__(self, inputs, outputs, dtype=torch.bfloat16, nested=True, storage=torch.uint8, bias=False):
        super().__init__()
        self.base = bnb.nn.Linear4bit(inputs, outputs, bias=bias, compute_dtype=dtype, compress_statistics=nested,
                                      quant_type="nf4", quant_storage=storage)
        # FSDP wants all of a layer in one type: that of a float storage.
        self.kind = storage if storage.is_floating_point else dtype
        self.down = torch.nn.Parameter((torch.randn(8, inputs) / 8).to(self.kind))
        self.up = torch.nn.Parameter((torch.randn(outputs, 8) / 8).to(self.kind))

    def forward(self, x):
        return self.base(x) + x @ self.down.to(x.dtype).t() @ self.up.to(x.dtype).t()

    def values(self, dtype):
        return samples.decoded(self.base.weight.data, self.base.weight.quant_state, dtype)

    def by_definition(self, x):
        """What forward() is, of a weight that is decoded by the definition."""
        product = torch.nn.functional.linear(x, self.values(x.dtype), self.base.bias)
        return product + x @ self.down.to(x.dtype).t() @ self.up.to(x.dtype).t()


def adapted(*sizes, **options):
    # In eval, some CPUs have bitsandbytes repack the weight.
    layers = [Adapted(inputs, outputs, **options).to("cpu").train() for inputs, outputs in zip(sizes, sizes[1:])]
    return layers[0] if len(layers) == 1 else torch.nn.Sequential(*layers)


def gradients(model, x, forward=None):
    """Of the input and the adapters, when the sum of the outputs is what is wanted."""
    x = x.clone().requires_grad_()
    model.zero_grad()
    (model if forward is None else forward)(x).float().sum().backward()
    return [x.grad, *(each.grad.clone() for each in model.parameters() if each.requires_grad)]


def losses(model, x, steps=5):
    """Of a training towards zeros."""
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.02)
    result = []
    for _ in range(steps):
        loss = model(x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        result.append(loss.detach())
    return torch.stack(result)


def distance(some, others):
    return max(((one.float() - other.float()).abs().max() / other.float().abs().max()).item()
               for one, other in zip(some, others, strict=True))


class Training(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        nf4.activate()
        self.addCleanup(nf4.activate)

    def assert_equal(self, some, others):
        for one, other in zip(some, others, strict=True):
            self.assertTrue(torch.equal(one, other), distance([one], [other]))

    def test_gradients_are_those_of_the_decoded_weight(self):
        for dtype, nested, storage in itertools.product(samples.TYPES, (False, True), STORAGES):
            layer = adapted(128, 48, dtype=dtype, nested=nested, storage=storage)
            for shape in ((1, 128), (2, 5, 128)):
                x = torch.randn(shape).to(dtype)
                with self.subTest(dtype=dtype, nested=nested, storage=storage, shape=shape):
                    with samples.served() as calls:
                        ours = gradients(layer, x)
                    self.assertEqual(calls, {"linear": 1, "dequantize": 1})
                    self.assert_equal(ours, gradients(layer, x, layer.by_definition))

    def test_compiles_whole_and_once_for_all_lengths(self):
        layer = adapted(128, 48)
        lengths = [torch.randn(2, 3 + 7 * i, 128).bfloat16() for i in range(20)]
        expected = [gradients(layer, x) for x in lengths]
        for dynamic, graphs in ((True, 1), (None, 2)):  # PyTorch's own choice takes the first length to be the only one
            torch._dynamo.reset()
            torch._dynamo.utils.counters.clear()
            compiled = torch.compile(layer, fullgraph=True, dynamic=dynamic, backend=samples.BACKENDS[-1])
            with samples.served() as calls:
                for x, each in zip(lengths, expected):
                    self.assertLess(distance(gradients(layer, x, compiled), each), 2**-6)
            self.assertEqual(torch._dynamo.utils.counters["stats"]["unique_graphs"], graphs)
            self.assertEqual(dict(torch._dynamo.utils.counters["graph_break"]), {})
            self.assertEqual(calls, {"linear": 20, "dequantize": 20})

    def test_checkpointing_changes_no_bit(self):
        model, x = adapted(128, 64, 48), torch.randn(2, 5, 128).bfloat16()
        expected = gradients(model, x)
        for reentrant in (False, True):
            with self.subTest(reentrant=reentrant):
                def forward(x):
                    for layer in model:
                        x = checkpoint(layer, x, use_reentrant=reentrant)
                    return x
                with samples.served() as calls:
                    self.assert_equal(gradients(model, x, forward), expected)
                self.assertEqual(calls, {"linear": 4, "dequantize": 2})

    def test_a_weight_is_looked_at_once(self):
        # On a GPU each look costs a kernel, and time of the host.
        layer, x = adapted(128, 48), torch.randn(5, 128).bfloat16()
        with unittest.mock.patch.object(weights, "new_weight", wraps=weights.new_weight) as looks:
            for _ in range(5):
                gradients(layer, x)
                gradients(layer, x, lambda x: checkpoint(layer, x, use_reentrant=False))
        self.assertEqual(looks.call_count, 1)

    def test_what_backward_keeps_may_be_moved_away(self):
        packed, state = samples.weight((48, 128))
        x = torch.randn(3, 128).bfloat16().requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(lambda each: each.clone(), lambda each: each.clone()):
            for _ in range(3):
                x.grad = None
                nf4.linear(x, packed, state).sum().backward()
                self.assertTrue(torch.equal(x.grad, torch.ones(3, 48).bfloat16() @ samples.decoded(packed, state)))

    def test_weights_that_are_loaded_in_between_are_seen(self):
        model, other = adapted(128, 48), adapted(128, 48)
        x = torch.randn(5, 128).bfloat16()
        first = gradients(model, x)
        # By name, as packages that shard and merge do; then as bitsandbytes and transformers load a checkpoint.
        model.base.weight.data.copy_(other.base.weight.data)
        for name in ("absmax", "offset"):
            getattr(model.base.weight.quant_state, name).copy_(getattr(other.base.weight.quant_state, name))
        model.base.weight.quant_state.state2.absmax.copy_(other.base.weight.quant_state.state2.absmax)
        model.down.data, model.up.data = other.down.data, other.up.data
        self.assert_equal(gradients(model, x), gradients(other, x))
        file = io.BytesIO()
        torch.save(other.state_dict(), file)
        file.seek(0)
        saved = torch.load(file)
        statistics = {name[len("base.weight."):]: each for name, each in saved.items() if "weight." in name}
        fresh = adapted(128, 48)
        fresh.base.weight = bnb.nn.Params4bit.from_prequantized(saved["base.weight"], statistics, device="cpu",
                                                                module=fresh.base)
        fresh.down.data, fresh.up.data = saved["down"], saved["up"]
        self.assert_equal(gradients(fresh, x), gradients(other, x))
        self.assertGreater(distance(gradients(model, x), first), 0.1)

    def test_copies_and_casts_are_what_they_are_without(self):
        def outcomes():
            torch.manual_seed(1)
            layer, x = adapted(128, 48, bias=True), torch.randn(5, 128).bfloat16()
            gradients(layer, x)
            loaded = adapted(128, 48, bias=True)
            for name, work in (
                    ("deepcopy", lambda: copy.deepcopy(layer)), ("copy", lambda: copy.copy(layer)),
                    ("pickle", lambda: pickle.loads(pickle.dumps(layer))),
                    ("half", lambda: copy.deepcopy(layer).half()),
                    ("float", lambda: copy.deepcopy(layer).float()), ("meta", lambda: copy.deepcopy(layer).to("meta")),
                    ("strict", lambda: loaded.load_state_dict(layer.state_dict()) and loaded),
                    ("lax", lambda: loaded.load_state_dict(layer.state_dict(), strict=False) and loaded)):
                try:
                    other = work()
                    state = other.base.weight.quant_state
                    result = gradients(other, x.to(other.down.dtype))
                    yield name, [*state.absmax.shape, str(other.base.weight.dtype), set(vars(state))], result
                except Exception as error:
                    yield name, (type(error).__name__, str(error)[:200]), []

        ours = list(outcomes())
        nf4.deactivate()
        for one, other in zip(ours, outcomes(), strict=True):
            with self.subTest(one[0]):
                self.assertEqual(one[:2], other[:2])
                self.assertTrue(all(each.is_meta for each in one[2]) if one[0] == "meta" else one[2] == [] or
                                distance(one[2], other[2]) < 2**-6)

    def test_threads_that_train(self):
        layer, x = adapted(128, 48), torch.randn(5, 128).bfloat16()
        expected, failures = gradients(layer, x), []

        def work():
            own = copy.deepcopy(layer)
            for _ in range(20):
                failures.extend(not torch.equal(*each) for each in zip(gradients(own, x), expected))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        self.assertFalse(any(failures))

    def test_a_process_that_forks_trains_on(self):
        layer, x = adapted(128, 48), torch.randn(5, 128).bfloat16()
        expected = gradients(layer, x)
        threads = torch.get_num_threads()
        child = os.fork()
        if child == 0:
            # PyTorch's own threads do not outlive a fork once they have worked.
            torch.set_num_threads(1)
            os._exit(0 if all(map(torch.equal, gradients(layer, x), expected)) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(torch.get_num_threads(), threads)
        self.assert_equal(gradients(layer, x), expected)


def train_in_shards(rank, port, storage, sharder):
    """A process of two, which each train a half of every weight."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nf4.activate()
    model, x = adapted(128, 128, 128, storage=storage), torch.randn(4, 128).bfloat16()
    alone = losses(copy.deepcopy(model), x)
    if sharder == "fully_shard":
        for each in (*model, model):
            fsdp.fully_shard(each)
    else:
        model = fsdp.FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"),
                                              auto_wrap_policy=fsdp.wrap.ModuleWrapPolicy({Adapted}))
    with samples.served() as calls:
        sharded = losses(model, x)
    assert calls == {"linear": 10, "dequantize": 5}, calls  # the first layer's input wants no gradient
    assert distance([sharded], [alone]) < 2**-6 < distance([alone[:1]], [alone[-1:]]), (sharded, alone)
    torch.distributed.destroy_process_group()


class Shards(unittest.TestCase):
    def test_two_processes_train_what_one_does(self):
        for storage, sharder in itertools.product(STORAGES[1:], ("fully_shard", "FullyShardedDataParallel")):
            with self.subTest(storage=storage, sharder=sharder):
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                torch.multiprocessing.spawn(train_in_shards, (port, storage, sharder), nprocs=2)


if __name__ == "__main__":
    unittest.main()
