"""Decodes tensors with the decoder that docs/formats.md shows, and with nothing else.

What it gives must be what bitsandbytes gave, and for scales that are subnormal, infinite or NaN what the
program gives: the page alone is enough to write a decoder. Skipped
where numpy is not installed, which with NF4BENCH_ALL_CONSUMERS in the environment is a failure.
"""

import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = None

try:
    import numpy
except ImportError:
    print("there is no numpy: apt-get install python3-numpy", file=sys.stderr)
    sys.exit(1 if "NF4BENCH_ALL_CONSUMERS" in os.environ else 77)


def decoder_of_the_page():
    """The functions that the page's Python defines."""
    text = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    blocks = [part.split("```", 1)[0] for part in text.split("```python\n")[1:]]
    assert len(blocks) == 1, f"docs/formats.md has {len(blocks)} blocks of Python"
    names = {}
    exec(blocks[0], names)  # pylint: disable=exec-used
    return names


def tensors_of(path):
    """Every tensor of a .safetensors file, as numpy sees it."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    types = {"U8": "u1", "F32": "<f4", "F16": "u1", "BF16": "u1"}
    return {name: numpy.frombuffer(data[8 + length:][slice(*entry["data_offsets"])],
                                   "u1" if name.endswith("weight") else types[entry["dtype"]])
            for name, entry in header.items() if name != "__metadata__"}


def pieces_of(tensors, name):
    """The arguments of the page's decode()."""
    state = json.loads(tensors[name + ".quant_state.bitsandbytes__nf4"].tobytes())
    return [tensors[name], tensors[name + ".absmax"], state, tensors.get(name + ".nested_absmax"),
            tensors.get(name + ".nested_quant_map")]


def extremes(folder, options, dtype):
    """A synthetic weight with scales of every kind, and what the program decodes it to."""
    source, decoded = folder / "extremes.safetensors", folder / "decoded.safetensors"
    subprocess.run([BINARY, "synth", "-o", source, "--shape", "weight=64x256", "--distribution", "extremes",
                    *options], check=True, capture_output=True)
    subprocess.run([BINARY, "dequantize", source, "-o", decoded, "--dtype", dtype, "--device", "cpu",
                    "--variant", "reference"], check=True, capture_output=True)
    return pieces_of(tensors_of(source), "weight"), tensors_of(decoded)["weight"]


def differences(found, decoded, dtype):
    """How many elements differ in their bits, NaN aside."""
    decoded = decoded.view(found.dtype).reshape(found.shape)
    exponent = {"float16": 0x7c00, "bfloat16": 0x7f80, "float32": 0x7f800000}[dtype]
    bits = [array.view("<u4" if dtype == "float32" else "<u2") for array in (found, decoded)]
    sign = 0x80000000 if dtype == "float32" else 0x8000
    is_nan = [(b & (sign - 1)) > exponent for b in bits]
    return numpy.count_nonzero((bits[0] != bits[1]) & ~(is_nan[0] & is_nan[1]))


class Page(unittest.TestCase):
    def test_every_sample_decodes_to_the_bytes_of_bitsandbytes(self):
        page = decoder_of_the_page()
        compared = 0
        for line in (ROOT / "data/expected.txt").read_text(encoding="ascii").splitlines():
            if line.startswith("#"):
                continue
            file, name, _, _, _, _, _, *hashes = line.split()
            if not file.endswith(".safetensors") or "/" in file:
                continue
            tensors = tensors_of(ROOT / "data" / file)
            pieces = pieces_of(tensors, name)
            weights = page["decode"](*pieces)
            self.assertEqual(list(weights.shape), pieces[2]["shape"])
            for dtype, wanted in zip(("float16", "bfloat16", "float32"), hashes):
                with self.subTest(file=file, name=name, dtype=dtype):
                    found = page["convert"](weights, dtype).tobytes()
                    self.assertEqual(hashlib.sha256(found).hexdigest(), wanted)
                    compared += 1
        self.assertGreater(compared, 100)

    def test_extremes_decode_to_the_bits_of_the_program(self):
        for options in (["--nested"], ["--plain"], ["--plain", "--blocksize", "32"]):
            for dtype in ("float16", "bfloat16", "float32"):
                with self.subTest(options=options, dtype=dtype), tempfile.TemporaryDirectory() as folder:
                    page = decoder_of_the_page()
                    pieces, decoded = extremes(pathlib.Path(folder), options, dtype)
                    with numpy.errstate(all="ignore"):
                        found = page["convert"](page["decode"](*pieces), dtype)
                        page["flush"] = lambda x: x
                        careless = page["convert"](page["decode"](*pieces), dtype)
                    self.assertEqual(differences(found, decoded, dtype), 0)
                    if dtype != "float16" and "--plain" in options:  # smaller than any float16
                        self.assertGreater(differences(careless, decoded, dtype), 0)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
