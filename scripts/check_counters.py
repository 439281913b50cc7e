#!/usr/bin/env python3
"""Holds the counters of "nf4bench run --why" to those that ncu alone reads of the same kernels. Needs a GPU and ncu.

    scripts/check_counters.py build/nf4bench

Each variant is measured with --why, then an ordinary run of it is put under ncu, which looks at later launches of its
kernel by name. Launches differ: on an H200 wgmma_decode has 77,000 to 86,000 bank conflicts. So counts must lie within
3 % of what these launches have at least and at most, shares within 2 points. Exit code 1 when any does not, 2 when
nothing could be compared.
"""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHAPE = "8192x8192"
CASES = {"lop3_prmt": ("dequantize", "fused_planes"), "lut_shared": ("dequantize", "fused_"),
         "lut_constant": ("dequantize", "fused_"), "wgmma_decode": ("matmul", "wgmma_decode")}
COUNTS = {"dram_bytes_read": "dram__bytes_read.sum", "instructions": "smsp__inst_executed.sum",
          "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
          "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"}
SHARES = {"dram_fraction": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
          "l2_fraction": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
          "l2_hit_fraction": "lts__t_sector_hit_rate.pct",
          "issue_fraction": "sm__issue_active.avg.pct_of_peak_sustained_elapsed",
          "alu_fraction": "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "tensor_fraction": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "warps_fraction": "sm__warps_active.avg.pct_of_peak_sustained_active"}
MOST_RELATIVE = 0.03
MOST_POINTS = 0.02
FEW = 2000  # counts as small as these are chance
LAUNCHES_BEFORE = 2
LAUNCHES = 8


def words_of(variant, operation):
    """What both runs have in common."""
    words = ["run", "--device", "cuda", "--shape", SHAPE, "--operation", operation, "--dtype", "bfloat16", "--variant",
             variant, "--baseline", "none", "--launch", "stream", "--no-ceilings", "--verify", "sampled"]
    return words + ["--tokens", "64"] * (operation == "matmul")


def counted(program, variant, operation, folder):
    """The counters of the report of a run with --why."""
    report = folder / "why.json"
    subprocess.run([program, *words_of(variant, operation), "--why", "--max-time", "0.2", "-q", "--force", "--json",
                    str(report)], check=False)
    if not report.exists():
        return None
    return json.loads(report.read_text(encoding="utf-8"))["measurements"][0].get("counters")


def read_alone(program, variant, operation, kernel, folder):
    """What ncu says of some launches: the least and the greatest by metric."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    log = folder / "ncu.csv"
    metrics = ",".join([*COUNTS.values(), *SHARES.values()])
    subprocess.run([ncu, "--csv", "--page", "raw", "--print-units", "base", "--metrics", metrics, "--clock-control",
                    "none", "--kernel-name", f"regex:{kernel}", "--launch-skip", str(LAUNCHES_BEFORE), "--launch-count",
                    str(LAUNCHES), "--log-file", str(log), program, *words_of(variant, operation), "--max-time", "0",
                    "--call-timeout", "0", "-q"], check=False, env=dict(os.environ, LC_ALL="C"))
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    table = list(csv.reader(line for line in lines if line.startswith('"')))
    if len(table) < 3:
        return None
    ranges = {}
    for launch in table[2:]:
        for name, text in zip(table[0], launch):
            try:
                value = float(text.replace(",", ""))
            except ValueError:
                continue
            least, greatest = ranges.get(name, (value, value))
            ranges[name] = min(least, value), max(greatest, value)
    return ranges


def differences(counters, alone):
    """Yields for each counter that both have: name, here, the range alone, whether they agree."""
    for name, metric in COUNTS.items():
        if counters[name] is not None and metric in alone:
            least, greatest = alone[metric]
            margin = max(MOST_RELATIVE * greatest, FEW)
            yield name, counters[name], least, greatest, least - margin <= counters[name] <= greatest + margin
    for name, metric in SHARES.items():
        if counters[name] is not None and metric in alone:
            least, greatest = (value / 100 for value in alone[metric])
            yield (name, counters[name], least, greatest,
                   least - MOST_POINTS <= counters[name] <= greatest + MOST_POINTS)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = str(pathlib.Path(sys.argv[1]).resolve())
    compared, apart = 0, 0
    for variant, (operation, kernel) in CASES.items():
        with tempfile.TemporaryDirectory() as name:
            counters = counted(program, variant, operation, pathlib.Path(name))
            if not counters or counters["kernels"] != 1:
                why = counters["unavailable"] or f"{counters['kernels']} kernels" if counters else "no counters"
                print(f"{variant}: not compared: {why}")
                continue
            print(f"{variant}: {counters['judgement']}")
            alone = read_alone(program, variant, operation, kernel, pathlib.Path(name))
            if alone is None:
                print("  not compared: ncu alone has seen no such kernel")
                continue
        for metric, here, least, greatest, agrees in differences(counters, alone):
            compared += 1
            apart += not agrees
            print(f"  {metric:18} {here:16.6g} {least:16.6g} {greatest:16.6g}  {'' if agrees else 'APART'}")
    print(f"{compared} counters compared, {apart} apart")
    return 2 if compared == 0 else int(apart > 0)


if __name__ == "__main__":
    sys.exit(main())
