#!/usr/bin/env python3
"""Runs bitsandbytes' own tests of 4 bits with and without the drop-in, then a merge and a training.

  acceptance.py --bitsandbytes CHECKOUT [--out FOLDER] [--only tests|merge|training] [--steps N]

CHECKOUT holds tests/ of the installed bitsandbytes, which need a GPU and pytest. All else runs on the CPU as well, with
peft and transformers. Exit code 0 when no test is lost, every merged bit is the same, and the losses differ by no more
than rounding makes them.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

import torch

# A file, and which of its tests are of 4 bits.
FILES = {"test_ops.py": "4bit", "test_functional.py": "4bit", "test_autograd.py": "4bit", "test_linear4bit.py": "",
         "test_parametrize.py": ""}
TIME_LIMIT_S = 240
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def start_tests(checkout, out, disabled):
    """Starts pytest on all files at once, each in a process; returns them with their reports."""
    environment = {**os.environ, "NF4_DISABLE": "1" if disabled else "0", "BNB_TEST_DEVICE": "cuda",
                   "OMP_NUM_THREADS": "1",
                   "PET_MASTER_PORT": "29500" if disabled else "29501"}  # torchrun's, which one test starts
    running = []
    for name, words in FILES.items():
        report = out / f"{'original' if disabled else 'nf4bench'}-{name}.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider",
                   f"tests/{name}", f"--junitxml={report}", "-W", "ignore", "--tb=short"]
        command += ["-k", words] if words else []
        with open(report.with_suffix(".log"), "w", encoding="utf-8") as log:
            process = subprocess.Popen(command, cwd=checkout, env=environment, stdout=log, stderr=log)
        running.append((name, process, report))
    return running


def outcomes(running, deadline):
    """test -> passed, failed or skipped, of all reports."""
    found = {}
    for name, process, report in running:
        try:
            process.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            print(f"{name}: not finished in {TIME_LIMIT_S} s", flush=True)
        if not report.exists():
            found[name] = "no report"
            continue
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            found[f"{name}::{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = outcome
    return found


def compare_tests(checkout, out):
    # Both at once: the GPU has room, and the comparison is of outcomes, not of times.
    running = {disabled: start_tests(checkout, out, disabled) for disabled in (True, False)}
    deadline = time.monotonic() + TIME_LIMIT_S
    theirs, ours = (outcomes(running[disabled], deadline) for disabled in (True, False))
    lost = sorted(name for name, outcome in theirs.items() if outcome == "passed" and ours.get(name) != "passed")
    won = sorted(name for name, outcome in ours.items() if outcome == "passed" and theirs.get(name) != "passed")
    count = lambda found, outcome: sum(each == outcome for each in found.values())  # noqa: E731
    for who, found in (("bitsandbytes", theirs), ("nf4bench", ours)):
        print(f"{who:12s} {count(found, 'passed')} passed, {count(found, 'failed')} failed, "
              f"{count(found, 'skipped')} skipped", flush=True)
    for name in lost[:40]:
        print("  lost", name)
    for name in won[:40]:
        print("  won ", name)
    result = {who: {kind: count(found, kind) for kind in ("passed", "failed", "skipped")}
              for who, found in (("bitsandbytes", theirs), ("nf4bench", ours))}
    return {**result, "lost": lost, "won": won}, bool(theirs) and count(theirs, "passed") > 0 and not lost


def small_model(seed=0):
    """A LLaMA of four layers, quantized by bitsandbytes itself, with LoRA on all its linear layers."""
    import bitsandbytes as bnb
    import peft
    import transformers

    torch.manual_seed(seed)
    config = transformers.LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=4,
                                      num_attention_heads=8, num_key_value_heads=4, vocab_size=2048,
                                      max_position_embeddings=512)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)

    def quantize(module):
        for name, child in list(module.named_children()):
            if isinstance(child, torch.nn.Linear) and name != "lm_head":
                layer = bnb.nn.Linear4bit(child.in_features, child.out_features, bias=False,
                                          compute_dtype=torch.bfloat16, quant_type="nf4")
                layer.weight = bnb.nn.Params4bit(child.weight.data, requires_grad=False, quant_type="nf4")
                setattr(module, name, layer)
            else:
                quantize(child)

    quantize(model)
    model = model.to(DEVICE)
    model.is_loaded_in_4bit = True  # which peft looks at
    torch.manual_seed(seed + 1)
    lora = peft.LoraConfig(r=16, lora_alpha=32, lora_dropout=0.0, init_lora_weights=False,
                           target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"])
    return peft.get_peft_model(model, lora)


def merged(ours):
    import nf4bench.torch
    (nf4bench.torch.activate if ours else nf4bench.torch.deactivate)()
    model = small_model().merge_and_unload()
    tensors = {}
    for name, each in model.named_parameters():
        tensors[name] = each.data.clone()
        state = getattr(each, "quant_state", None)
        if state is not None:
            tensors[name + ".absmax"] = state.absmax.clone()
            tensors[name + ".nested_absmax"] = state.state2.absmax.clone()
    return tensors


def compare_merges():
    theirs, ours = merged(False), merged(True)
    different = [name for name in theirs if not torch.equal(theirs[name], ours[name])]
    quantized = sum(name.endswith(".absmax") for name in theirs)
    print(f"merge: {len(theirs)} tensors of {quantized} merged weights, {len(different)} differ", flush=True)
    return {"tensors": len(theirs), "merged_weights": quantized, "different": different}, quantized > 0 and not different


def losses(steps, ours, swapped=False):
    """Of a training; `swapped` exchanges the halves of each batch, which changes nothing but roundings."""
    import nf4bench.torch
    (nf4bench.torch.activate if ours else nf4bench.torch.deactivate)()
    model = small_model().train()
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=2e-4)
    draw = torch.Generator().manual_seed(7)
    # Sequences that can be learned: each counts on from a random start in steps of its own.
    result = []
    for _ in range(steps):
        start = torch.randint(0, 2048, (4, 1), generator=draw)
        stride = torch.randint(1, 9, (4, 1), generator=draw)
        tokens = (start + stride * torch.arange(128)) % 2048
        if swapped:
            tokens = tokens.roll(2, dims=0)
        loss = model(input_ids=tokens.to(DEVICE), labels=tokens.to(DEVICE)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        result.append(loss.detach())
    return torch.stack(result).double().cpu()


def compare_trainings(steps):
    first, again, swapped, ours = (losses(steps, *how) for how in ((False,), (False,), (False, True), (True,)))
    noise = max((again - first).abs().max().item(), (swapped - first).abs().max().item())
    difference = (ours - first).abs().max().item()
    print(f"training: loss {first[0]:.4f} -> {first[-1]:.4f}, with the drop-in {ours[-1]:.4f}; largest difference "
          f"{difference:.2e}; of the original run again {(again - first).abs().max():.2e}, with the batch in another "
          f"order {(swapped - first).abs().max():.2e}", flush=True)
    result = {"steps": len(first), "losses": {"bitsandbytes": first.tolist(), "again": again.tolist(),
                                              "batch_swapped": swapped.tolist(), "nf4bench": ours.tolist()},
              "largest_difference": difference, "noise": noise}
    # Two runs that differ in roundings alone differ by a random amount: three times the one seen is allowed.
    return result, first[-1] < first[0] and difference <= 3 * noise


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bitsandbytes", type=pathlib.Path, metavar="CHECKOUT")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("torch-results"))
    parser.add_argument("--only", choices=["tests", "merge", "training"])
    parser.add_argument("--steps", type=int, default=50, help="of the training (default: 50)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts = {"tests": lambda: compare_tests(options.bitsandbytes.resolve(), options.out.resolve()),
             "merge": compare_merges, "training": lambda: compare_trainings(options.steps)}
    if options.only:
        parts = {options.only: parts[options.only]}
    elif options.bitsandbytes is None:
        del parts["tests"]
    result, good = {}, True
    for name, part in parts.items():
        result[name], passed = part()
        good = good and passed
        print(f"{name}: {'good' if passed else 'NOT GOOD'}", flush=True)
    (options.out / "acceptance.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
