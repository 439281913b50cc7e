#!/usr/bin/env python3
"""Runs tests of other packages with and without the drop-in, then a merge and a training.

  acceptance.py [--bitsandbytes CHECKOUT] [--axolotl CHECKOUT] [--unsloth-zoo CHECKOUT] [--transformers CHECKOUT]
                [--out FOLDER] [--only PART] [--steps N] [--limit SECONDS]

A CHECKOUT holds tests/ of the installed package, unmodified; files of it that are missing are left out. They are the
tests of 4 bits of bitsandbytes, and of all the tests of experts; they need a GPU and pytest. All else runs on the CPU
as well, with peft and transformers. Exit code 0 when no test is lost, every merged bit is the same, and the losses
differ by no more than rounding makes them.
"""

import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

import torch

# Of each package the files, and which of their tests.
FILES = {
    "bitsandbytes": {"test_ops.py": "4bit", "test_functional.py": "4bit", "test_autograd.py": "4bit",
                     "test_linear4bit.py": "", "test_parametrize.py": "", "test_experts4bit.py": ""},
    "axolotl": {f"integrations/kernels/scattermoe_lora/test_{name}.py": ""
                for name in ("bnb_experts_forward", "ep_sentinel_skip", "gptoss_layout")},
    "unsloth_zoo": {f"test_moe_{name}.py": ""
                    for name in ("bnb4bit_adaptive_recompute", "bnb4bit_per_expert_conversions", "gategrad_identity",
                                 "grouped_mm_format", "grouped_modulelist_parity")},
    "transformers": {f"models/{name}/test_modeling_{name}.py": "batched_and_grouped"
                     for name in ("qwen3_moe", "gpt_oss", "mixtral")},
}
# The drop-in comes with bitsandbytes, which not all of them import.
RUN = """import sys, bitsandbytes, pytest
code = pytest.main(sys.argv[1:])
from nf4bench.torch import takeover
print("taken over:", *takeover.taken, sep="\\n")
sys.exit(code)"""
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def start_tests(package, checkout, out, disabled):
    """Starts pytest on all files at once, each in a process; returns them with their reports."""
    environment = {**os.environ, "NF4_DISABLE": "1" if disabled else "0", "BNB_TEST_DEVICE": "cuda",
                   "OMP_NUM_THREADS": "1",
                   "PET_MASTER_PORT": "29500" if disabled else "29501"}  # torchrun's, which one test starts
    running = []
    for name, words in FILES[package].items():
        if not (checkout / "tests" / name).exists():
            continue
        report = out / f"{'original' if disabled else 'nf4bench'}-{pathlib.Path(name).name}.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-c", RUN, "-q", "--no-header", "-p", "no:cacheprovider",
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
            print(f"{name}: not finished in time", flush=True)
        if not report.exists():
            found[name] = "no report"
            continue
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            outcome = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
            found[f"{name}::{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"] = outcome
    return found


def taken_over(running):
    """What the drop-in had replaced when the tests ended."""
    lines = set()
    for _, _, report in running:
        _, found, text = report.with_suffix(".log").read_text(encoding="utf-8").rpartition("taken over:\n")
        lines.update(text.splitlines() if found else [])
    return sorted(lines - {""})


def compare_tests(package, checkout, out, limit):
    # Both at once: the GPU has room, and the comparison is of outcomes, not of times.
    running = {disabled: start_tests(package, checkout, out, disabled) for disabled in (True, False)}
    deadline = time.monotonic() + limit
    theirs, ours = (outcomes(running[disabled], deadline) for disabled in (True, False))
    lost = sorted(name for name, outcome in theirs.items() if outcome == "passed" and ours.get(name) != "passed")
    won = sorted(name for name, outcome in ours.items() if outcome == "passed" and theirs.get(name) != "passed")
    count = lambda found, outcome: sum(each == outcome for each in found.values())  # noqa: E731
    for who, found in ((package, theirs), ("nf4bench", ours)):
        print(f"{who:12s} {count(found, 'passed')} passed, {count(found, 'failed')} failed, "
              f"{count(found, 'skipped')} skipped, {count(found, 'no report')} files without a report", flush=True)
    for name in lost[:40]:
        print("  lost", name)
    for name in won[:40]:
        print("  won ", name)
    result = {who: {kind: count(found, kind) for kind in ("passed", "failed", "skipped", "no report")}
              for who, found in ((package, theirs), ("nf4bench", ours))}
    result.update(files=[name for name, _, _ in running[False]], lost=lost, won=won,
                  failed_in_both=sorted(name for name, outcome in theirs.items() if outcome == "failed"
                                        and ours.get(name) == "failed"),
                  taken_over=taken_over(running[False]))
    return result, count(theirs, "passed") > 0 and not lost


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
    for package in FILES:
        parser.add_argument("--" + package.replace("_", "-"), type=pathlib.Path, metavar="CHECKOUT")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("torch-results"))
    parser.add_argument("--only", choices=[*FILES, "merge", "training"])
    parser.add_argument("--steps", type=int, default=50, help="of the training (default: 50)")
    parser.add_argument("--limit", type=int, default=240, help="seconds for the tests of a package (default: 240)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    checkouts = {package: vars(options)[package] for package in FILES}
    out = options.out.resolve()
    parts = {package: functools.partial(compare_tests, package, checkout.resolve(), out, options.limit)
             for package, checkout in checkouts.items() if checkout is not None}
    parts.update(merge=compare_merges, training=lambda: compare_trainings(options.steps))
    if options.only:
        if options.only not in parts:
            parser.error(f"--only {options.only} needs --{options.only.replace('_', '-')} CHECKOUT")
        parts = {options.only: parts[options.only]}
    result, good = {}, True
    for name, part in parts.items():
        result[name], passed = part()
        good = good and passed
        print(f"{name}: {'good' if passed else 'NOT GOOD'}", flush=True)
    (options.out / "acceptance.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
