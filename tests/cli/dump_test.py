"""Dumps NF4 weights with scripts/dump_nf4.py and lets the program read them.

A dump must decode to the bytes that the checkpoint decodes to. Layers are made by bitsandbytes where
it is installed with a backend that quantizes here; a stand-in with the same attributes is used in any
case.
"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "data"

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))
import dump_nf4

try:
    import bitsandbytes
    import torch
except ImportError:
    bitsandbytes = None
try:
    import numpy
except ImportError:
    numpy = None

BINARY = None


def nf4bench(*words):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, check=False)


def run_script(*words):
    return subprocess.run([sys.executable, str(ROOT / "scripts/dump_nf4.py"), *map(str, words)],
                          capture_output=True, text=True, check=False)


class Dump(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def decoded(self, path, tensor=""):
        """Bytes of each tensor that the program decodes, by name."""
        out = self.folder / "decoded.safetensors"
        words = ["dequantize", path, "-o", out, "--device", "cpu", "--dtype", "float32"]
        outcome = nf4bench(*words, *(["--tensor", tensor] if tensor else []))
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        data = out.read_bytes()
        out.unlink()
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        header.pop("__metadata__", None)
        return {name: (e["shape"], data[8 + length:][slice(*e["data_offsets"])]) for name, e in header.items()}

    def expect_same(self, source, tensor=""):
        dump = self.folder / "dump"
        outcome = run_script(source, "-o", dump, *(["--tensor", tensor] if tensor else []))
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        wanted = self.decoded(source, tensor)
        self.assertTrue(wanted)
        self.assertEqual(self.decoded(dump), wanted)
        return wanted

    def test_checkpoint_decodes_to_the_same_bytes(self):
        for name in ("llama_layer", "dtypes", "odd_shapes", "quant_storage"):
            with self.subTest(name):
                self.setUp()
                self.expect_same(DATA / f"{name}.safetensors")

    def test_selected_weights_only(self):
        self.assertEqual(len(self.expect_same(DATA / "llama_layer.safetensors", "q_proj|down")), 2)

    def test_shards_are_joined(self):
        self.expect_same(DATA / "sharded")
        self.setUp()
        self.expect_same(DATA / "sharded/model.safetensors.index.json")

    def layer_of(self, name, convert=lambda array: array):
        """An object with the attributes that bitsandbytes documents for a quantized layer."""
        file = dump_nf4.SafetensorsFile(DATA / "dtypes.safetensors")

        class State:
            def as_dict(self, packed):
                assert packed
                return {key.removeprefix(name + "."): convert(file[key])
                        for key in file.keys() if key.startswith(name + ".")}

        class Weight:
            data = convert(file[name])
            quant_state = State()

        class Layer:
            weight = Weight()

        return Layer()

    def test_layer_and_its_weight(self):
        name = "nested_bf16.weight"
        layer = self.layer_of(name)
        wanted = self.decoded(DATA / "dtypes.safetensors", f"^{name}$")[name]
        dump_nf4.dump_layer(layer, self.folder / "layer")
        dump_nf4.dump_layer(layer.weight, self.folder / "weight", name="up")
        self.assertEqual(self.decoded(self.folder / "layer"), {"weight": wanted})
        self.assertEqual(self.decoded(self.folder / "weight"), {"up": wanted})

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_arrays_of_numpy(self):
        types = {"|u1": "u1", "<f4": "<f4"}

        def convert(array):
            return numpy.frombuffer(array.data, types[array.npy_type]).reshape(array.shape)

        file = dump_nf4.SafetensorsFile(DATA / "llama_layer.safetensors")
        dump_nf4.dump_state_dict({key: convert(file[key]) for key in file.keys()}, self.folder / "dump")
        self.assertEqual(self.decoded(self.folder / "dump"), self.decoded(DATA / "llama_layer.safetensors"))

    @unittest.skipIf(numpy is None, "needs numpy")
    def test_headers_are_those_of_numpy(self):
        for shape in ((), (7,), (3, 5), (2, 1, 4)):
            array = numpy.zeros(shape, "<f4")
            with open(self.folder / "numpy.npy", "wb") as file:
                numpy.save(file, array)
            self.assertEqual(dump_nf4.Array.of(array).npy(), (self.folder / "numpy.npy").read_bytes())

    @unittest.skipIf(bitsandbytes is None, "needs bitsandbytes")
    def test_layer_of_bitsandbytes(self):
        for nested in (False, True):
            with self.subTest(nested=nested):
                device = "cuda" if torch.cuda.is_available() else "cpu"
                torch.manual_seed(1)
                layer = bitsandbytes.nn.Linear4bit(256, 192, bias=False, compress_statistics=nested,
                                                   quant_type="nf4").to(device)
                dump = self.folder / f"nested {nested}"
                dump_nf4.dump_layer(layer, dump / "layer")
                dump_nf4.dump_state_dict(layer.state_dict(), dump / "state")
                torch.save(layer.state_dict(), dump / "layer.pt")
                self.assertEqual(run_script(dump / "layer.pt", "-o", dump / "file").returncode, 0)
                decoded = self.decoded(dump / "layer")
                weights = bitsandbytes.functional.dequantize_4bit(layer.weight.data, layer.weight.quant_state)
                shape, data = decoded["weight"]
                self.assertEqual(shape, [192, 256])
                if device == "cuda":
                    self.assertEqual(data, dump_nf4.Array.of(weights.float()).data)
                else:  # the CPU backend rounds otherwise in rare places
                    found = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
                    self.assertTrue(torch.allclose(found, weights.float(), rtol=1e-2, atol=1e-6))
                self.assertEqual(self.decoded(dump / "state"), decoded)
                self.assertEqual(self.decoded(dump / "file"), decoded)

    def expect_refusal(self, part, *words):
        outcome = run_script(*words)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn(part, outcome.stderr)
        self.assertNotIn("Traceback", outcome.stderr)

    def test_a_folder_called_torch_is_no_pytorch(self):
        (self.folder / "state.pt").write_bytes(b"")
        outcome = subprocess.run([sys.executable, "-S", str(ROOT / "scripts/dump_nf4.py"), self.folder / "state.pt",
                                  "-o", self.folder / "x"], capture_output=True, text=True, check=False,
                                 env={**os.environ, "PYTHONPATH": ""})
        self.assertIn("reading it needs torch", outcome.stderr)
        self.assertNotIn("Traceback", outcome.stderr)

    def test_refusals_say_what_is_wrong(self):
        self.expect_refusal("found no NF4 weight", DATA / "fp4.safetensors", "-o", self.folder / "x")
        self.expect_refusal("not a .safetensors file", DATA / "README.md", "-o", self.folder / "x")
        self.expect_refusal("No such file", self.folder / "none", "-o", self.folder / "x")
        (self.folder / "full").mkdir()
        (self.folder / "full/mine").touch()
        self.expect_refusal("wanted a new or an empty one", DATA / "dtypes.safetensors", "-o", self.folder / "full")
        with self.assertRaisesRegex(dump_nf4.DumpError, "wanted a layer that has been quantized"):
            dump_nf4.dump_layer(object(), self.folder / "x")
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
