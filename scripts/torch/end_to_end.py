#!/usr/bin/env python3
"""A model of a known shape with random NF4 weights, under bitsandbytes' own code and under the drop-in.

  end_to_end.py --part PART [--model MODEL] [--json FILE] [--batch 1,8]

MODEL is llama-3.1-8b, the default, or qwen3-30b-a3b: 8 of its 48 layers, with experts that transformers multiplies and
bitsandbytes' replace_parameter_4bit keeps in NF4; or tiny, of which serving, training and trace run on a CPU too. PART
is one or more of

  layers    the linear layers of one decoding step, without experts: by CUDA graph, and eagerly
  step      a whole decoding step with a static cache, captured as a CUDA graph
  compiled  the same, compiled by torch.compile before it is captured; about a minute a batch size
  generate  model.generate() as people call it, eagerly
  prefill   2,048 tokens, eagerly
  serving   1 to 32 requests at a time (prompts of 128 tokens, 128 new ones) by transformers' continuous batching, which
            `transformers serve` runs: eagerly, as it chooses with paged SDPA; serving_graphs: in CUDA graphs
  training  a step of QLoRA (LoRA on all linear layers, checkpointed, 1 and 4 sequences of 1,024 tokens)
  trace     what such a step is made of, by torch.profiler: 1 and 4 sequences of 512 and of 2,048 tokens

With commas between, in the order given; training and trace come last, for they change the model. A part takes one to
six minutes with all batches. Measurements of the two alternate in one process, and a part replaces what FILE has of it.
Needs a GPU with 24 GB, more for trace, transformers and, for training and trace, peft.
"""

import argparse
import functools
import json
import pathlib
import time

import bitsandbytes as bnb
import models
import step_trace
import torch
from measure import BOTH, both, interleaved, switch, synchronize
from serving import measure_serving
from table import header, rows

from nf4bench import libnf4_version

CONTEXT = 256  # tokens of the static cache
BATCHES = (1, 4, 8, 16, 32, 64)
TRAINED = (1, 4)  # sequences


def milliseconds(work):
    """Of the device, for one call of something that is enqueued at once."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def wall_milliseconds(work):
    synchronize()
    begin = time.perf_counter()
    work()
    synchronize()
    return (time.perf_counter() - begin) * 1e3


def captured(work):
    """A CUDA graph of `work`, and what it returned; both stay valid when the drop-in is switched."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
        work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def replays(graphs, rounds):
    return interleaved({who: functools.partial(milliseconds, graph.replay) for who, graph in graphs.items()}, rounds)


def layers_of(model):
    for layer in model.model.layers:
        yield from (each for each in layer.modules() if isinstance(each, bnb.nn.Linear4bit))


def measure_layers(model, batches, device):
    linear = list(layers_of(model))
    inputs = sorted({each.in_features for each in linear})
    for batch in batches or BATCHES:
        tokens = {count: torch.randn(batch, 1, count, device=device).bfloat16() for count in inputs}

        def step():
            for each in linear:
                each(tokens[each.in_features])

        graphs = {}
        for who, ours in BOTH:
            switch(ours)
            graphs[who] = captured(step)[0]
        graph = replays(graphs, 25)
        eager = both(functools.partial(wall_milliseconds, step), 10)
        host = {who: each["median"] / len(linear) * 1e3 for who, each in eager.items()}
        yield batch, {"graph_ms": graph, "eager_ms": eager, "eager_us_a_layer": host}


def decoding_step(model, batch, device):
    """A function that computes the logits of one more token behind 63, and overwrites nothing else."""
    from transformers import StaticCache

    cache = StaticCache(config=model.config, max_cache_len=CONTEXT)
    prompt = torch.randint(0, model.config.vocab_size, (batch, 63), device=device)
    model(input_ids=prompt, past_key_values=cache, use_cache=True, logits_to_keep=1)
    token = torch.randint(0, model.config.vocab_size, (batch, 1), device=device)
    position = torch.full((batch, 1), 63, device=device)

    def again():
        # The cache counts what was written to it: back to 63, so that every step writes the same place.
        for layer in cache.layers:
            counted = getattr(layer, "cumulative_length", None)
            if isinstance(counted, torch.Tensor):
                counted.fill_(63)
            elif counted is not None:
                layer.cumulative_length = 63

    def step(run=model):
        again()
        return run(input_ids=token, position_ids=position, past_key_values=cache, use_cache=True).logits

    return step


def largest_difference(results):
    """Between the logits of the two, beside their size: they differ by roundings alone."""
    first, second = (each.float() for each in results.values())
    return {"largest": (first - second).abs().max().item(), "size": first.abs().max().item()}


def measure_steps(model, batches, device, is_compiled=False):
    for batch in batches or BATCHES:
        graphs, results = {}, {}
        torch.manual_seed(batch)
        step = decoding_step(model, batch, device)
        for who, ours in BOTH:
            switch(ours)
            run = model
            if is_compiled:
                torch._dynamo.reset()
                run = torch.compile(model, dynamic=False)
            begin = time.monotonic()
            graphs[who], results[who] = captured(functools.partial(step, run))
            if is_compiled:
                print(f"compiled with {who} in {time.monotonic() - begin:.0f} s", flush=True)
        for graph in graphs.values():
            graph.replay()
        torch.cuda.synchronize()
        measured = replays(graphs, 25)
        rate = {who: batch / each["median"] * 1e3 for who, each in measured.items()}
        yield batch, {"ms": measured, "tokens_per_second": rate, "logits": largest_difference(results)}


def measure_generate(model, batches, device):
    for batch in batches or BATCHES:
        prompt = torch.randint(1, model.config.vocab_size, (batch, 32), device=device)

        def seconds(count):
            begin = time.perf_counter()
            model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count, min_new_tokens=count,
                           do_sample=False)
            torch.cuda.synchronize()
            return time.perf_counter() - begin

        # The prefill and what a call costs once cancel out.
        measured = both(lambda: (seconds(14) - seconds(2)) / 12 * 1e3, 3)
        yield batch, {"ms_a_token": measured,
                      "tokens_per_second": {who: batch / each["median"] * 1e3 for who, each in measured.items()}}


def measure_prefill(model, batches, device):
    tokens = torch.randint(0, model.config.vocab_size, (1, 2048), device=device)
    work = functools.partial(model, input_ids=tokens, use_cache=False, logits_to_keep=1)
    yield 1, {"tokens": 2048, "ms": both(lambda: wall_milliseconds(work), 12)}


@functools.cache
def qlora(model):
    """The model with LoRA on all its linear layers, which changes it, and a function that does a step with tokens."""
    import peft

    model.is_loaded_in_4bit = True
    linear = sorted({name.rpartition(".")[2] for name, each in model.named_modules()
                     if isinstance(each, bnb.nn.Linear4bit)})
    lora = peft.LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, target_modules=linear)
    model = peft.get_peft_model(model, lora).train()
    model.enable_input_require_grads()
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-5)

    def step(tokens):
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return model, step


def measure_training(model, batches, device):
    model, step = qlora(model)
    for batch in TRAINED:
        tokens = torch.randint(0, model.config.vocab_size, (batch, 1024), device=device)
        work = functools.partial(step, tokens)
        # The host, which a small batch waits for, needs many rounds.
        yield batch, {"tokens": 1024 * batch, "ms": both(lambda work=work: wall_milliseconds(work), 40 // batch)}


def measure_trace(model, batches, device):
    yield from step_trace.measure_trace(*qlora(model), TRAINED, device, wall_milliseconds)


PARTS = {"layers": measure_layers, "step": measure_steps,
         "compiled": functools.partial(measure_steps, is_compiled=True), "generate": measure_generate,
         "prefill": measure_prefill, "serving": measure_serving,
         "serving_graphs": functools.partial(measure_serving, is_captured=True), "training": measure_training,
         "trace": measure_trace}
TRAIN = ("training", "trace")


MODELS = {"llama-3.1-8b": models.llama, "qwen3-30b-a3b": models.qwen3_moe, "tiny": models.tiny}
LAYERS = {"llama-3.1-8b": "32 of 32", "qwen3-30b-a3b": "8 of 48", "tiny": "2 of 2"}


def save(path, model, part, results):
    whole = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    import transformers
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    whole["machine"] = {"gpu": gpu, "torch": torch.__version__,
                        "transformers": transformers.__version__, "bitsandbytes": bnb.__version__,
                        "libnf4": libnf4_version()}
    whole["model"] = {"shape": model, "layers": LAYERS[model]}
    whole.setdefault("parts", {})[part] = results
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", required=True, metavar="PART,...", help=", ".join(PARTS))
    parser.add_argument("--model", choices=MODELS, default="llama-3.1-8b")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--batch", type=lambda text: [int(each) for each in text.split(",")],
                        help="of all parts but prefill, training and trace [1,4,8,16,32,64; of serving 1,2,4,8,16,32]")
    options = parser.parse_args()
    parts = options.part.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--part {options.part}: parts are {', '.join(PARTS)}")
    begin = time.monotonic()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = MODELS[options.model](device)
    print(f"built in {time.monotonic() - begin:.0f} s", flush=True)
    print(header("what", ["batch", f"bitsandbytes {bnb.__version__}", "with the drop-in", "ratio"]), flush=True)
    for part in parts:
        results = {}
        with torch.set_grad_enabled(part in TRAIN):
            for batch, result in PARTS[part](model, options.batch, device):
                results[str(batch)] = result
                print(*rows(part, str(batch), result), sep="\n", flush=True)
                if options.json:
                    save(options.json, options.model, part, results)
        print(f"{part} after {time.monotonic() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
