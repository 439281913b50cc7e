#!/usr/bin/env python3
"""Asks bitsandbytes itself what its CUDA path multiplies with, and compares with what was recorded.

  choices_test.py            compares; exits with 77 where bitsandbytes is not installed
  choices_test.py --record   writes choices.txt anew

The function that chooses needs no device and no PyTorch: it is taken out of the installed package
and asked about devices that are not here. Cases are added until every line of it that returns has
answered three of them with yes and three with no, where it can.
"""

import ast
import collections
import importlib.util
import pathlib
import random
import sys
import types

RECORD = pathlib.Path(__file__).with_name("choices.txt")
FUNCTION = "_gemm_4bit_use_custom_cuda"
MOST_TOKENS = 1536  # beyond, the caller of the function decides
TYPES = ("float16", "bfloat16", "float32")

# Compute capability and multiprocessors.
DEVICES = [(61, 28), (70, 80), (75, 40), (75, 71), (80, 108), (80, 57), (86, 84), (87, 16), (89, 128),
           (89, 58), (90, 132), (90, 79), (100, 148), (103, 160), (110, 20), (120, 188), (120, 37),
           (121, 48), (130, 200)]

# Layers of models: outputs and inputs.
LAYERS = [(1024, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (2048, 2048), (5120, 5120),
          (25600, 5120), (8192, 8192), (28672, 8192), (8192, 28672), (3420, 1280), (256, 2048)]


class Chooser:
    """The function of the installed package, which notes the line that answered."""

    def __init__(self, source):
        tree = ast.parse(source)
        [function] = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == FUNCTION]
        [floor] = [n.value.value for n in tree.body if isinstance(n, ast.Assign)
                   and getattr(n.targets[0], "id", "") == "_GEMM_4BIT_CUSTOM_FLOOR_M"]
        function.decorator_list = []
        for node in ast.walk(function):
            if isinstance(node, ast.Return):
                note = ast.Call(ast.Name("_note", ast.Load()),
                                [ast.Constant(node.lineno), node.value], [])
                node.value = ast.copy_location(note, node.value)
        module = ast.fix_missing_locations(ast.Module([function], []))
        self.device = None
        self.line = 0
        names = {"torch": types.SimpleNamespace(**{name: name for name in TYPES}),
                 "_gpu_dispatch_props": lambda _: self.device,
                 "_GEMM_4BIT_CUSTOM_FLOOR_M": floor,
                 "_note": self.note}
        exec(compile(module, FUNCTION, "exec"), names)  # the package itself, not its input
        self.function = names[FUNCTION]

    def note(self, line, answer):
        self.line = line
        return answer

    def fuses(self, case, tokens):
        (capability, multiprocessors), kind, outputs, inputs = case
        self.device = (multiprocessors, capability // 10, capability % 10)
        return bool(self.function(0, kind, tokens, outputs, inputs))

    def ranges(self, case):
        """The tokens up to 1536 that are multiplied by the fused kernel: "1-5,8-16"."""
        chosen = [t for t in range(1, MOST_TOKENS + 1) if self.fuses(case, t)]
        starts = [t for t in chosen if t - 1 not in set(chosen)]
        ends = [t for t in chosen if t + 1 not in set(chosen)]
        return ",".join(f"{a}-{b}" for a, b in zip(starts, ends))


def random_case(draw):
    device = draw.choice(DEVICES)
    waves = draw.choice([1 / 8, 1 / 4, 1 / 3, 1 / 2, 3 / 5, 3 / 4, 4 / 5, 1, 2, 3])
    blocks = max(1, int(device[1] * waves) + draw.randint(-1, 1))
    outputs = max(1, 64 * blocks - draw.choice([0, 0, 1, 63]))
    inputs = draw.choice([outputs, 2 * outputs, 2 * outputs + 64, 3 * outputs, outputs // 2,
                          outputs // 3, 704, 1024, (4 << 20) // outputs, draw.randint(64, 30000)])
    return device, draw.choice(TYPES), outputs, max(64, inputs // 64 * 64)


def choose_cases(chooser):
    cases = [(device, kind, outputs, inputs) for device in DEVICES for kind in TYPES[:2]
             for outputs, inputs in LAYERS]
    cases = cases[::5] + [((90, 132), "bfloat16", outputs, inputs) for outputs, inputs in LAYERS]
    draw = random.Random(1)
    seen = collections.Counter()
    for _ in range(100000):
        case = random_case(draw)
        answered = []
        for tokens in (5, 6, 8, 9, 16, 17, 24, 33, 65, 97, 129, 257, 321, 513):
            answered.append((chooser.fuses(case, tokens), chooser.line))
        new = [each for each in set(answered) if seen[each] < 3]
        if new:
            seen.update(new)
            cases.append(case)
    return sorted(set(cases))


def line_of(chooser, case):
    (capability, multiprocessors), kind, outputs, inputs = case
    return f"{capability} {multiprocessors} {kind} {outputs} {inputs} {chooser.ranges(case)}"


def case_of(line):
    capability, multiprocessors, kind, outputs, inputs, _ = line.split()
    return (int(capability), int(multiprocessors)), kind, int(outputs), int(inputs)


def main():
    spec = importlib.util.find_spec("bitsandbytes")
    if spec is None:
        print("bitsandbytes is not installed")
        return 77
    package = pathlib.Path(spec.submodule_search_locations[0])
    source = (package / "backends" / "cuda" / "ops.py").read_text()
    if FUNCTION not in source:
        print("this bitsandbytes has no function that chooses")
        return 77
    chooser = Chooser(source)
    if "--record" in sys.argv[1:]:
        lines = [line_of(chooser, case) for case in choose_cases(chooser)]
        head = "# Compute capability, multiprocessors, type, outputs, inputs, and the tokens up to\n" \
               "# 1536 that bitsandbytes 0.50.2 multiplies by its fused kernel. Written by\n" \
               "# choices_test.py.\n"
        RECORD.write_text(head + "\n".join(lines) + "\n")
        return 0
    recorded = [line for line in RECORD.read_text().splitlines() if not line.startswith("#")]
    wrong = [line for line in recorded if line_of(chooser, case_of(line)) != line]
    for line in wrong[:20]:
        print(f"recorded {line}, now {line_of(chooser, case_of(line))}")
    print(f"{len(recorded)} cases, {len(wrong)} differ")
    return 1 if wrong or not recorded else 0


if __name__ == "__main__":
    sys.exit(main())
