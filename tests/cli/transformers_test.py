#!/usr/bin/env python3
"""Loads what "nf4bench dequantize --complete" writes with transformers, and compares every weight.

  transformers_test.py NF4BENCH [FOLDER]    FOLDER keeps the two models; else they are removed

A tiny Llama is made in the layout of bitsandbytes, without torch. Exit code: 0 when all is equal, 77
when torch or transformers is not installed. With bitsandbytes and a CUDA device the quantized model
is loaded, too, and decoded by bitsandbytes itself.
"""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

LAYERS = 2
PROJECTIONS = {"self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64),
               "self_attn.v_proj": (32, 64), "self_attn.o_proj": (64, 64),
               "mlp.gate_proj": (128, 64), "mlp.up_proj": (128, 64), "mlp.down_proj": (64, 128)}
NORMS = ("input_layernorm", "post_attention_layernorm")
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64,
    "intermediate_size": 128, "num_hidden_layers": LAYERS, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 256, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "bos_token_id": 1, "eos_token_id": 2,
    "quantization_config": {
        "_load_in_4bit": True, "_load_in_8bit": False, "bnb_4bit_compute_dtype": "bfloat16",
        "bnb_4bit_quant_storage": "uint8", "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True, "llm_int8_skip_modules": ["lm_head"],
        "load_in_4bit": True, "load_in_8bit": False, "quant_method": "bitsandbytes"},
    "torch_dtype": "bfloat16"}
TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
    "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "four": 3, "bits": 4}, "unk_token": "[UNK]"}}


def read_tensors(path):
    """Name -> (type, shape, bytes) of a .safetensors file."""
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"],
                   data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]])
            for name, entry in header.items()}


def write_tensors(path, tensors):
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(d for _, _, d in tensors.values()))


def bfloat16(shape, mean=0.0):
    count = 1
    for extent in shape:
        count *= extent
    values = (random.gauss(mean, 0.02) for _ in range(count))
    return ("BF16", list(shape), b"".join(struct.pack("<f", value)[2:] for value in values))


def make_model(binary, folder):
    """A tiny NF4 Llama of two shards; the scales of one layer lie in the shard of the other."""
    random.seed(4)
    folder.mkdir(parents=True)
    shapes = {f"model.layers.{layer}.{name}.weight": shape
              for layer in range(LAYERS) for name, shape in PROJECTIONS.items()}
    words = [word for name, (rows, columns) in shapes.items()
             for word in ("--shape", f"{name}={rows}x{columns}")]
    packed = folder / "packed.safetensors"
    subprocess.run([binary, "synth", "-o", packed, *words], check=True, stderr=subprocess.DEVNULL)
    shards = [{}, {}]
    for name, tensor in read_tensors(packed).items():
        shards[("layers.1." in name) or not name.endswith("proj.weight")][name] = tensor
    packed.unlink()
    shards[0]["model.embed_tokens.weight"] = bfloat16((256, 64))
    for layer in range(LAYERS):
        for norm in NORMS:
            shards[layer][f"model.layers.{layer}.{norm}.weight"] = bfloat16((64,), 1.0)
    shards[1]["model.norm.weight"] = bfloat16((64,), 1.0)
    shards[1]["lm_head.weight"] = bfloat16((256, 64))
    places = {}
    for number, shard in enumerate(shards, 1):
        name = f"model-{number:05}-of-00002.safetensors"
        write_tensors(folder / name, shard)
        places.update(dict.fromkeys(shard, name))
    size = sum(len(data) for shard in shards for _, _, data in shard.values())
    texts = {"model.safetensors.index.json": {"metadata": {"total_size": size}, "weight_map": places},
             "config.json": CONFIG, "tokenizer.json": TOKENIZER,
             "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
             "generation_config.json": {"bos_token_id": 1, "eos_token_id": 2}}
    for name, text in texts.items():
        (folder / name).write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")


def decoded_by_hand(torch, tensors, name):
    """The bfloat16 weight `name`, by the rules of docs/formats.md."""
    def array(suffix, kind):
        return torch.frombuffer(bytearray(tensors[name + suffix][2]), dtype=kind)
    state = json.loads(tensors[name + ".quant_state.bitsandbytes__nf4"][2])
    codes = array(".absmax", torch.uint8).long()
    outer = array(".nested_absmax", torch.float32)[torch.arange(len(codes)) // 256]
    scales = array(".nested_quant_map", torch.float32)[codes] * outer + torch.tensor(
        state["nested_offset"], dtype=torch.float32)
    packed = array("", torch.uint8).long()
    nibbles = torch.stack((packed >> 4, packed & 15), dim=1).flatten()
    values = array(".quant_map", torch.float32)[nibbles]
    blocks = torch.arange(len(values)) // state["blocksize"]
    return (values * scales[blocks]).to(torch.bfloat16).reshape(state["shape"])


def expected_tensors(torch, model):
    tensors = {}
    for shard in sorted(model.glob("*.safetensors")):
        tensors.update(read_tensors(shard))
    expected = {}
    for name, (kind, shape, data) in tensors.items():
        if name + ".quant_map" in tensors:
            expected[name] = decoded_by_hand(torch, tensors, name)
        elif kind == "BF16":
            expected[name] = torch.frombuffer(bytearray(data), dtype=torch.bfloat16).reshape(shape)
    return expected


def check_loaded(torch, transformers, model, decoded):
    loaded, info = transformers.AutoModelForCausalLM.from_pretrained(
        decoded, output_loading_info=True, dtype="auto")
    for problem in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        assert not info.get(problem), (problem, info[problem])
    assert getattr(loaded.config, "quantization_config", None) is None
    assert not getattr(loaded, "is_quantized", False)
    expected = expected_tensors(torch, model)
    state = loaded.state_dict()
    assert set(state) == set(expected), set(state) ^ set(expected)
    for name, tensor in expected.items():
        assert state[name].dtype == torch.bfloat16, (name, state[name].dtype)
        assert torch.equal(state[name], tensor), name
    logits = loaded(torch.tensor([[1, 3, 4]])).logits
    assert bool(torch.isfinite(logits).all())
    words = [transformers.AutoTokenizer.from_pretrained(each)("four bits").input_ids
             for each in (model, decoded)]
    assert words[0] == words[1] == [3, 4], words
    return len(expected)


def check_with_bitsandbytes(torch, transformers, model, decoded):
    """Whether the quantized model was loaded and compared."""
    try:
        import accelerate  # pylint: disable=import-outside-toplevel,unused-import
        import bitsandbytes  # pylint: disable=import-outside-toplevel
    except ImportError:
        return False
    if not torch.cuda.is_available():
        return False
    quantized = transformers.AutoModelForCausalLM.from_pretrained(model, device_map={"": 0})
    plain = transformers.AutoModelForCausalLM.from_pretrained(decoded, dtype="auto").state_dict()
    compared = 0
    for name, module in quantized.named_modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            weight = bitsandbytes.functional.dequantize_4bit(module.weight.data,
                                                             module.weight.quant_state)
            assert torch.equal(weight.cpu(), plain[name + ".weight"]), name
            compared += 1
    assert compared == LAYERS * len(PROJECTIONS), compared
    return True


def main():
    binary = pathlib.Path(sys.argv[1]).resolve(strict=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else scratch)
        model, decoded = folder / "nf4", folder / "decoded"
        make_model(binary, model)
        subprocess.run([binary, "dequantize", model, "-o", decoded, "--complete", "--device", "cpu"],
                       check=True)
        try:
            import torch  # pylint: disable=import-outside-toplevel
            import transformers  # pylint: disable=import-outside-toplevel
        except ImportError as error:
            print(f"skipped: {error}")
            return 77
        count = check_loaded(torch, transformers, model, decoded)
        with_bitsandbytes = check_with_bitsandbytes(torch, transformers, model, decoded)
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {count} tensors are "
          f"equal{', and bitsandbytes decodes the same' if with_bitsandbytes else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
