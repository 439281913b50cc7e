#!/usr/bin/env python3
"""Counts machine instructions per element of the compiled kernels, and holds them to a budget.

Reads cubins, objects or programs with cuobjdump and nvdisasm (of the CUDA Toolkit, or the
PyPI packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm). For every kernel that is specialised for
an output type it takes the main path: the cheapest way through the code that makes all the widest
stores. It divides the instructions of that path by the elements that it stores. Instructions of a loop
count once, as do its elements. A kernel of a matrix product works in a loop instead: what counts is that
loop, by the pipe that its instructions occupy, and the budget says how many weights a thread multiplies in
one round of it.

    scripts/count_sass.py build/kernels/cuda/*.a
    scripts/count_sass.py --budget tests/gpu/sass_budget.json build/kernels/cuda/*.a
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, asdict

TYPES = {"0": ("float16", 2), "1": ("bfloat16", 2), "2": ("float32", 4)}
STORE_BYTES = {"8": 1, "U8": 1, "S8": 1, "16": 2, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
TENSOR_PRODUCT = re.compile(r"\b(IMMA|HMMA|HGMMA)\b")
# The pipes of a multiprocessor that instructions of a product's loop occupy; the rest only issue.
KINDS = pathlib.Path(__file__).resolve().parent.parent / "src/peer/kernel/pipes.txt"
PIPES = dict(line.split(maxsplit=1) for line in KINDS.read_text(encoding="utf-8").splitlines())
PIPE_OF = {name: re.compile(rf"(?:@!?U?P\w+\s+)?(?:{codes})\b") for name, codes in PIPES.items()}
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;")


@dataclass
class Kernel:
    """What the main path of one kernel holds."""

    file: str  # source file without extension, which is the variant's name
    name: str
    arch: str
    output_type: str
    nested: bool
    instructions: int
    elements: float
    widest_store: int  # bytes
    local_accesses: int  # loads and stores of spilled registers or stack arrays, cold code included
    serialized: bool  # ptxas waits for each product of warpgroups: it found no registers for two at once
    loops: list  # instructions by pipe, all ways through it, and share of the kernel's products, of each

    def main_loop(self, share=0.75):
        """What the shortest loop has that holds so many of the products, by pipe; nothing if none does."""
        return min((pipes for pipes, products in self.loops if products >= share), key=lambda p: p["issue"], default={})

    @property
    def per_element(self):
        return self.instructions / self.elements


def successors(index, address, lines, index_of):
    """Where control may go after instruction `index`: (next instructions, ends the thread)."""
    text = lines[index][1]
    guarded = text.startswith("@") and not text.startswith("@!PT")
    operation = text.split(" ", 1)[1].strip() if guarded else text
    following = [index + 1] if index + 1 < len(lines) else []
    if operation.startswith("EXIT"):
        return (following if guarded else []), True
    if operation.startswith(("BRA.DIV", "BRA.CONV")):  # taken by a diverged warp only
        return following, False
    if operation.startswith("BRA"):
        target = index_of.get(int(re.search(r"0x([0-9a-f]+)", operation).group(1), 16))
        forward = [target] if target is not None and target > index else []
        return (following if guarded or not forward else []) + forward, not guarded and not forward
    return following, False


def main_path(lines):
    """The cheapest way to an EXIT among those that store most through the widest stores.

    That leaves out the early return of threads with no work, and what only a tensor's ragged end or
    one thread of a block runs. Backward branches are not taken: a loop counts once.
    """
    wide = min(16, max((store_bytes(text) for _, text in lines), default=0))
    index_of = {address: i for i, (address, _) in enumerate(lines)}
    best = [None] * (len(lines) + 1)  # (-bytes of wide stores, instructions, next)
    for i in range(len(lines) - 1, -1, -1):
        address, text = lines[i]
        following, ends = successors(i, address, lines, index_of)
        options = [(best[j][0], best[j][1], j) for j in following if best[j]]
        if ends:
            options.append((0, 0, None))
        if options:
            written = store_bytes(text) if store_bytes(text) >= wide else 0
            stored, count, after = min(options, key=lambda option: option[:2])
            best[i] = (stored - written, count + (not text.startswith("NOP")), after)
    path, i = [], 0
    while i is not None and best[i]:
        path.append(lines[i][1])
        i = best[i][2]
    return path


def store_bytes(text):
    match = re.match(r"(?:@!?U?P\d+\s+)?STG?((?:\.\w+)*)\s", text)
    if not match or not re.match(r"(?:@!?U?P\d+\s+)?(STG|ST)\b", text):
        return 0
    for part in match.group(1).split("."):
        if part in STORE_BYTES:
            return STORE_BYTES[part]
    return 4


def loops_of(lines):
    """(instructions by pipe, share of the kernel's products) of each loop that holds some."""
    index_of = {address: i for i, (address, _) in enumerate(lines)}
    products = [i for i, (_, text) in enumerate(lines) if TENSOR_PRODUCT.search(text)]
    if not products:
        products = [i for i, (_, text) in enumerate(lines) if "FFMA" in text]
    loops = []
    for i, (_, text) in enumerate(lines):
        branch = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", text)
        start = index_of.get(int(branch.group(1), 16)) if branch else None
        held = 0 if start is None else sum(start < p < i for p in products)
        if held > 0:
            loops.append((pipes_of([t for _, t in lines[start : i + 1]]), held / len(products)))
    return loops


def pipes_of(texts):
    """How many of these instructions occupy each pipe; "issue": all of them."""
    counts = {pipe: sum(bool(pattern.match(text)) for text in texts) for pipe, pattern in PIPE_OF.items()}
    return {"issue": sum(not text.startswith("NOP") for text in texts)} | counts


def is_serialized(texts):
    products = sum("HGMMA" in text for text in texts)
    return 0 < products <= sum("WARPGROUP.DEPBAR" in text for text in texts)


def measure(file, name, arch, lines):
    """The Kernel of a disassembled function, or None when it is specialised for no type or scales."""
    tag = re.search(r"OutputTypeE([012])E(?:Lb([01]))?", name)
    scales = re.search(r"ScaleKindE([012])E", name)
    if not tag and not scales:
        return None
    output_type, size = TYPES[tag.group(1)] if tag else ("any", 2)
    path = main_path(lines)
    stores = [width for width in map(store_bytes, path) if width]
    if not stores:
        return None
    return Kernel(
        file=file,
        name=name,
        arch=arch,
        output_type=output_type,
        nested=scales.group(1) != "0" if scales else tag.group(2) == "1",
        instructions=sum(not text.startswith("NOP") for text in path),
        elements=sum(stores) / size,
        widest_store=max(stores, default=0),
        local_accesses=sum(bool(re.search(r"\b(LDL|STL)\b", text)) for _, text in lines),
        serialized=is_serialized([text for _, text in lines]),
        loops=loops_of(lines),
    )


def disassemble(path):
    """Yields (file, function, arch, instructions) of everything in `path`."""
    text = subprocess.run(["cuobjdump", "-sass", path], check=True, capture_output=True, text=True).stdout
    name = arch = None
    file = re.match(r"\w*", os.path.basename(path)).group(0)
    lines = []
    for line in text.splitlines():
        if match := re.match(r"member .*?(\w+)\.cu\.o:", line):
            if name:
                yield file, name, arch, lines
            file, name, lines = match.group(1), None, []
        if match := re.search(r"code for (sm_\w+)", line):
            if name:
                yield file, name, arch, lines
            name, arch, lines = None, match.group(1), []
        elif match := re.search(r"Function : (\S+)", line):
            if name:
                yield file, name, arch, lines
            name, lines = match.group(1), []
        elif (match := INSTRUCTION.match(line)) and name:
            lines.append((int(match.group(1), 16), match.group(2)))
    if name:
        yield file, name, arch, lines


def broken_rules(kernel, rules):
    """What of the first rule that matches it the kernel does not keep, in words."""
    kind = "nested" if kernel.nested else "plain"
    subject = f"{kernel.file or '-'} {kernel.arch} {kernel.output_type} {kind} {kernel.name}"
    limits = next((rule for rule in rules if re.search(rule["match"], subject)), None)
    if limits is None:
        yield "no rule of the budget matches"
        return
    if "loop_weights" in limits:
        loop = kernel.main_loop(limits.get("loop_share", 0.75))
        if not loop:
            yield "no loop holds its products"
        for pipe, budget in limits["instructions_per_weight"].items():
            per_weight = loop.get(pipe, 0) / limits["loop_weights"]
            if per_weight > budget:
                yield f"{per_weight:.3f} {pipe} instructions a weight, budget {budget}"
    elif kernel.per_element > limits["instructions_per_element"]:
        yield f"{kernel.per_element:.2f} instructions an element, budget {limits['instructions_per_element']}"
    if kernel.serialized:
        yield "each product of a warpgroup waits for the one before"
    most_local = limits.get("local_accesses", 0)
    if kernel.local_accesses > most_local:
        yield f"{kernel.local_accesses} local memory accesses, budget {most_local}"
    if kernel.widest_store < limits.get("store_bytes", 0):
        yield f"stores of {kernel.widest_store} bytes, budget {limits['store_bytes']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", help="JSON file with the limits to hold the kernels to")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    parser.add_argument("files", nargs="+", help="cubins, objects, libraries or programs")
    arguments = parser.parse_args()
    for tool in ("cuobjdump", "nvdisasm"):
        if not shutil.which(tool):
            print(f"count_sass: no {tool} on PATH; it comes with the CUDA Toolkit", file=sys.stderr)
            return 77
    kernels = [k for path in arguments.files for f in disassemble(path) if (k := measure(*f))]
    if not kernels:
        print("count_sass: no kernel specialised for an output type in these files", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps([{**asdict(k), "per_element": round(k.per_element, 3)} for k in kernels], indent=1))
        return 0
    budget = json.load(open(arguments.budget, encoding="utf-8"))["rules"] if arguments.budget else None
    failures = 0
    for k in sorted(kernels, key=lambda k: (k.file or "", k.arch, k.output_type, k.nested, k.name)):
        broken = list(broken_rules(k, budget)) if budget else []
        failures += bool(broken)
        if broken or not budget:
            kind = "nested" if k.nested else "plain"
            print(f"{k.arch:7} {k.file or '-':16} {k.output_type:9} {kind:7} {k.per_element:6.2f} an element"
                  f"  {k.instructions:4} / {k.elements:g}  stores {k.widest_store} B  local {k.local_accesses}"
                  f"  loop {' '.join(f'{pipe} {n}' for pipe, n in k.main_loop().items())}"
                  f"  {k.name[-60:]}  {'; '.join(broken)}")
    print(f"{len(kernels)} kernels, {failures} over budget" if budget else f"{len(kernels)} kernels")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
