"""Tokens a second of requests that are served together, by the loop that `transformers serve` runs."""

import collections
import contextlib
import functools
import time

import bitsandbytes as bnb
import torch
from measure import BOTH, interleaved, switch, synchronize

from nf4bench.torch import kernels

PROMPT, NEW = 128, 128
ROUNDS = 3
BLOCK = 256  # tokens of a block of the paged cache


class Continuous:
    """transformers' continuous batching: requests queue up, and a thread of its own serves those that are there."""

    name = "continuous batching of transformers"

    def __init__(self, model, count, is_captured):
        from transformers import ContinuousBatchingConfig, GenerationConfig

        # One that asks for no other, as the packages of FlashAttention that are installed would.
        model.set_attn_implementation("paged|sdpa")
        # Sizes that are named leave memory for the second server. No prompt is to be found in what an earlier one left.
        sizes = {"block_size": BLOCK, "num_blocks": 2 * count + 2, "max_batch_tokens": max(BLOCK, count * PROMPT),
                 "allow_block_sharing": False}
        if is_captured:  # as many queries as requests, and two lengths of what they look at
            sizes |= {"use_cuda_graph": True, "q_padding_interval_size": count,
                      "kv_padding_interval_size": count * PROMPT}
        self.manager = model.init_continuous_batching(
            generation_config=GenerationConfig(do_sample=False, eos_token_id=-1, pad_token_id=0),
            continuous_batching_config=ContinuousBatchingConfig(seed=1, **sizes))
        self.manager.start()

    def serve(self, prompts, new):
        names = self.manager.add_requests(prompts, max_new_tokens=new)
        found = {}
        while len(found) < len(prompts):
            result = self.manager.get_result(timeout=1)
            if result is None:
                if not self.manager.is_running():
                    raise RuntimeError("the thread that serves has ended")
            elif result.error is not None:
                raise RuntimeError(result.error)
            elif result.is_finished():
                found[result.request_id] = list(result.generated_tokens)
        return [found[name] for name in names]

    def facts(self):
        config = self.manager.continuous_batching_config
        return {"cuda_graphs": any(config.cuda_graph_booleans), "attention": "paged|sdpa",
                "max_batch_tokens": config.max_batch_tokens, "blocks": config.num_blocks}

    def close(self):
        self.manager.stop(block=True, timeout=60)


class Batch:
    """What stands in where there is no continuous batching: all prompts at once, then all next tokens."""

    name = "a batch with a growing cache"

    def __init__(self, model, count, is_captured):
        if is_captured:
            raise RuntimeError("no CUDA graph without transformers' continuous batching")
        model.set_attn_implementation("sdpa")
        self.model = model

    @torch.no_grad()
    def serve(self, prompts, new):
        from transformers import DynamicCache

        cache, found = DynamicCache(config=self.model.config), []
        tokens = torch.tensor(prompts, device=self.model.device)
        while len(found) < new:
            logits = self.model(input_ids=tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).logits
            tokens = logits[:, -1].argmax(-1, keepdim=True)
            found.append(tokens.flatten().tolist())  # a server sends each token as it comes
        return [list(each) for each in zip(*found)]

    def facts(self):
        return {"cuda_graphs": False, "attention": "sdpa"}

    def close(self):
        pass


@contextlib.contextmanager
def counted(model):
    """Counts meanwhile how often a Linear4bit is called, and how often libnf4 multiplies."""
    counts, linear = collections.Counter(layers=0, by_libnf4=0), kernels.linear

    def counted_linear(*arguments):
        counts["by_libnf4"] += 1
        return linear(*arguments)

    hooks = [each.register_forward_pre_hook(lambda *_: counts.update(layers=1))
             for each in model.modules() if isinstance(each, bnb.nn.Linear4bit)]
    kernels.linear = counted_linear
    try:
        yield counts
    finally:
        kernels.linear = linear
        for hook in hooks:
            hook.remove()


def served_once(server, prompts, new):
    """The tokens of all, and the seconds until the last came."""
    synchronize()
    begin = time.perf_counter()
    tokens = server.serve(prompts, new)
    seconds = time.perf_counter() - begin
    if [len(each) for each in tokens] != [new] * len(prompts):
        raise RuntimeError(f"asked for {new} tokens each, and got {[len(each) for each in tokens]}")
    return tokens, seconds


def measured(kind, model, prompts, new, rounds, is_captured):
    """Of a server of this kind for each of the two: a CUDA graph holds the kernels that were captured into it."""
    servers, found, counts = {}, {}, {}

    def rate(who, ours):
        switch(ours)
        return len(prompts) * new / served_once(servers[who], prompts, new)[1]

    with contextlib.ExitStack() as stack:
        for who, ours in BOTH:
            switch(ours)
            servers[who] = kind(model, len(prompts), is_captured)
            stack.callback(servers[who].close)
            # The first time pays for what is loaded and captured, and is not measured. Requests may come in other
            # batches the next time, which want graphs of their own.
            with counted(model) as counts[who]:
                found[who] = served_once(servers[who], prompts, new)[0]
            if is_captured:
                served_once(servers[who], prompts, new)
        rates = interleaved({who: functools.partial(rate, who, ours) for who, ours in BOTH}, rounds, "tokens/s")
        facts = servers["nf4bench"].facts()
    pairs = [pair for each in zip(*found.values()) for pair in zip(*each)]
    return {"loop": kind.name, **facts, "tokens_per_second": rates,
            "products": {who: dict(each) for who, each in counts.items()},
            "same_tokens": sum(first == second for first, second in pairs) / len(pairs)}


def measure_serving(model, batches, device, is_captured=False, new=NEW, rounds=ROUNDS):
    """Yields, for each number of requests at a time, tokens a second and who served the products."""
    attention = model.config._attn_implementation
    draw = torch.Generator().manual_seed(1)
    for count in batches or (1, 2, 4, 8, 16, 32):
        prompts = torch.randint(1, model.config.vocab_size, (count, PROMPT), generator=draw).tolist()
        try:
            result = measured(Continuous, model, prompts, new, rounds, is_captured)
        except Exception as error:  # of an interface that changes from version to version
            if is_captured:
                raise
            print(f"continuous batching fails, so {Batch.name} stands in: {error!r}", flush=True)
            result = {**measured(Batch, model, prompts, new, rounds, is_captured), "instead_because": repr(error)}
        finally:
            model.set_attn_implementation(attention)
        ours = result["products"]["nf4bench"]
        if not ours["layers"] == ours["by_libnf4"]:
            print(f"libnf4 served {ours['by_libnf4']} of {ours['layers']} products", flush=True)
        yield count, {"prompt": PROMPT, "new": new, **result}
