#!/usr/bin/env python3
"""Writes the seed corpus of the fuzz targets, tests/fuzz/corpus/TARGET/, from data/ and
tests/report/golden. Needs no packages; the same input gives the same bytes.

    tests/fuzz/make_corpus.py
"""

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"


def write(target, name, data):
    path = CORPUS / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def safetensors(header, data=b""):
    text = header.encode()
    return struct.pack("<Q", len(text)) + text + data


def file_of(tensors):
    """A .safetensors file of (name, dtype, shape, bytes)."""
    header, data = {}, b""
    for name, dtype, shape, content in tensors:
        end = len(data) + len(content)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), end]}
        data += content
    return safetensors(json.dumps(header, separators=(",", ":")), data)


def npy_data(name):
    """The bytes of an array of data/npy, without its header."""
    raw = (ROOT / "data/npy" / name).read_bytes()
    return raw[10 + struct.unpack("<H", raw[8:10])[0] :]


def state(**changes):
    fields = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [5, 77]}
    fields.update(changes)
    return json.dumps({k: v for k, v in fields.items() if v is not None})


NESTED = {"nested_blocksize": 256, "nested_dtype": "float32", "nested_offset": 0.0173}


def weight(name, text, dtype="U8", absmax=None, key="nf4"):
    """The pieces of an NF4 weight whose lengths follow from its quant state `text`."""
    said = json.loads(text)
    elements = 1
    for extent in said["shape"]:
        elements *= extent
    width = {"U8": 1, "BF16": 2, "F16": 2, "F32": 4}[dtype]
    packed = -(-elements // 2)
    count = -(-packed // width)
    content = bytes((37 * i + 11) % 256 for i in range(packed)).ljust(count * width, b"\0")
    blocks = -(-elements // said["blocksize"])
    nested = "nested_offset" in said
    tensors = [(name, dtype, [count, 1], content)]
    if nested:
        tensors.append((name + ".absmax", "U8", [blocks], bytes(range(1, 256))[:blocks]))
        tensors.append((name + ".nested_absmax", "F32", [1], struct.pack("<f", 0.021)))
        table = npy_data("s5x77.weight.nested_quant_map.npy")
        tensors.append((name + ".nested_quant_map", "F32", [256], table))
    else:
        values = absmax or [0.01 * (i + 1) for i in range(blocks)]
        tensors.append((name + ".absmax", "F32", [blocks], struct.pack(f"<{blocks}f", *values)))
    tensors.append((name + ".quant_map", "F32", [16], npy_data("s5x77.weight.quant_map.npy")))
    blob = text.encode()
    tensors.append((f"{name}.quant_state.bitsandbytes__{key}", "U8", [len(blob)], blob))
    return tensors


def end_to_end():
    inf, nan = float("inf"), float("nan")
    write("end_to_end", "nested", file_of(weight("a.weight", state(**NESTED))))
    write("end_to_end", "plain", file_of(weight("w", state(shape=[3, 50], dtype="float16"))))
    odd = [inf, -inf, nan, -0.0, 1e-42, 3.4e38, -1.0, 7e4]
    write("end_to_end", "odd_scales",
          file_of(weight("w", state(shape=[255], blocksize=32, dtype="float32"), absmax=odd)))
    write("end_to_end", "wide_storage",
          file_of(weight("w", state(shape=[9, 31], blocksize=128, **NESTED), dtype="F32")))
    two = weight("l.1", state(shape=[65])) + weight("l.0", state(shape=[1], blocksize=4096))
    write("end_to_end", "two", file_of(two))
    broken = [t for t in weight("w", state(shape=[64])) if not t[0].endswith(".absmax")]
    write("end_to_end", "no_absmax", file_of(broken))


def other_tensors():
    names = ["q.weight", "q.SCB", "g.qweight", "g.scales", "g.g_idx", "g.qzeros", "h.qweight",
             "h.scales", "plain"]
    types = ["I8", "F32", "I32", "F16", "I32", "I32", "I32", "F16", "BF16"]
    width = {"I8": 1, "F32": 4, "I32": 4, "F16": 2, "BF16": 2}
    return file_of([(n, t, [2], bytes(2 * width[t])) for n, t in zip(names, types)])


def headers():
    u8 = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    write("safetensors", "nested", file_of(weight("w", state(shape=[64, 3], **NESTED))))
    write("safetensors", "plain", file_of(weight("w", state(shape=[64]))))
    fp4 = weight("w", state(shape=[64], quant_type="fp4"), key="fp4")
    write("safetensors", "fp4", file_of(fp4))
    rounded = [(n, "BF16" if n.endswith("quant_map") else t, s,
                b"".join(d[i + 2 : i + 4] for i in range(0, 64, 4)) if n.endswith("quant_map") else d)
               for n, t, s, d in weight("w", state(shape=[64]))]
    write("safetensors", "bfloat16_map", file_of(rounded))
    write("safetensors", "other_kinds", other_tensors())
    write("safetensors", "empty", safetensors("{}"))
    write("safetensors", "metadata",
          safetensors('{"__metadata__":{"format":"pt","a":"\\u00e9\\ud83d\\ude00"},"w":%s}' % u8, b"\1"))
    write("safetensors", "unknown_field",
          safetensors('  {"w":{"x":[1,{"y":null}],"dtype":"F4","shape":[2,2],"data_offsets":[0,2]}} ',
                      b"\1\2"))
    write("safetensors", "zero_sizes",
          safetensors('{"z":{"dtype":"F32","shape":[0,9],"data_offsets":[1,1]},"w":%s}' % u8, b"\1"))
    write("safetensors", "overlap", safetensors('{"a":%s,"b":%s}' % (u8, u8), b"\1"))
    write("safetensors", "overflow",
          safetensors('{"w":{"dtype":"U8","shape":[4294967296,4294967296,16],"data_offsets":[0,0]}}'))
    write("safetensors", "twice", safetensors('{"a":%s,"a":%s}' % (u8, u8), b"\1"))
    write("safetensors", "lie", struct.pack("<Q", 1 << 40) + b"{}")


def npy(descr, shape, data, version=1, order="False"):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    prefix = 8 + (2 if version == 1 else 4)
    text += " " * (-(prefix + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data


def arrays():
    for name, piece in [("weight", ""), ("absmax", ".absmax"), ("quant_map", ".quant_map"),
                        ("quant_state", ".quant_state.bitsandbytes__nf4")]:
        write("npy", name, (ROOT / f"data/npy/s5x77.weight{piece}.npy").read_bytes())
    write("npy", "scalar", npy("<f4", "()", bytes(4)))
    write("npy", "long_suffix", npy("<u2", "(2L, 3L)", bytes(12), 2))
    write("npy", "version_3", npy("|V2", "(4,)", bytes(8), 3))
    write("npy", "fortran", npy("|u1", "(4, 1)", bytes(4), order="True"))
    write("npy", "empty", npy("<f8", "(0, 4)", b""))
    write("npy", "objects", npy("|O", "(2,)", bytes(16)))
    write("npy", "overflow", npy("<f4", "(4611686018427387904, 4)", bytes(16)))


def archive(members, method=zipfile.ZIP_STORED, zip64=False, comment=b""):
    """A .npz of (name, bytes). Level 0, so that every zlib writes the same."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=0) as out:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with out.open(info, "w", force_zip64=zip64) as member:
                member.write(data)
        out.comment = comment
    return file.getvalue()


def changed(data, signature, offset, fmt, value):
    """`data` with another value in each record of this signature."""
    at = data.find(signature)
    while at >= 0:
        end = at + offset + struct.calcsize(fmt)
        data = data[: at + offset] + struct.pack(fmt, value) + data[end:]
        at = data.find(signature, at + 1)
    return data


def in_both_headers(data, offset, fmt, value):
    """The same at `offset` of each member's own header, and where the directory repeats it."""
    return changed(changed(data, b"PK\3\4", offset, fmt, value), b"PK\1\2", offset + 2, fmt, value)


def raw_deflate(data):
    packer = zlib.compressobj(0, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def streamed(name, data):
    """One deflated member whose sizes and checksum follow it."""
    packed, crc = raw_deflate(data), zlib.crc32(data)
    sizes = struct.pack("<III", crc, len(packed), len(data))
    fields = struct.pack("<HHHHH", 20, 8, 8, 0, 33)
    lengths = struct.pack("<HH", len(name), 0)
    own = b"PK\3\4" + fields + bytes(12) + lengths + name + packed + b"PK\7\10" + sizes
    entry = b"PK\1\2" + struct.pack("<H", 20) + fields + sizes + lengths + bytes(14) + name
    return own + entry + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(own), 0)


def with_zip64_end(data):
    """`data`, which has no comment, with the end records of zip64 as well."""
    count, size, begin = struct.unpack("<HII", data[-12:-2])
    end = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, count, count, size, begin)
    end += b"PK\6\7" + struct.pack("<IQI", 0, begin + size, 1)
    return data[:-22] + end + data[-22:-6] + struct.pack("<IH", (1 << 32) - 1, 0)


def archives():
    for name in ["savez", "savez_compressed"]:
        write("npz", name, (ROOT / f"data/npz/{name}.npz").read_bytes())
    text = state(shape=[64])
    arrays = [("w.npy", npy("|u1", "(32,)", bytes(range(32)))),
              ("w.absmax.npy", npy("<f4", "(1,)", struct.pack("<f", 0.5))),
              ("w.quant_map.npy", npy("<f4", "(16,)", npy_data("s5x77.weight.quant_map.npy"))),
              ("w.quant_state.json", text.encode())]
    stored = archive(arrays)
    write("npz", "stored", stored)
    write("npz", "deflated", archive(arrays, zipfile.ZIP_DEFLATED))
    write("npz", "zip64", with_zip64_end(archive(arrays, zip64=True)))
    write("npz", "lying_locator", changed(with_zip64_end(stored), b"PK\6\7", 8, "<Q", 7))
    write("npz", "comment", archive(arrays[:1], comment=b"PK\5 a comment"))
    write("npz", "streamed", streamed(b"w.npy", npy("|u1", "(3,)", b"abc")))
    write("npz", "no_members", archive([]))
    write("npz", "other_members", archive([("README", b"x"), ("w.npy", b"no array")]))
    write("npz", "path", archive([("../w.npy", b"x")]))
    write("npz", "method_14", in_both_headers(stored, 8, "<H", 14))
    write("npz", "encrypted", in_both_headers(stored, 6, "<H", 1))
    write("npz", "wrong_checksum", in_both_headers(stored, 14, "<I", 7))
    large = archive(arrays, zipfile.ZIP_DEFLATED)
    write("npz", "too_large", in_both_headers(large, 22, "<I", 1 << 30))
    write("npz", "other_size", changed(stored, b"PK\3\4", 22, "<I", 7))
    write("npz", "other_name", stored.replace(b"w.npy", b"v.npy", 1))
    write("npz", "past_the_end", changed(stored, b"PK\1\2", 42, "<I", 1 << 30))
    write("npz", "many_disks", changed(stored, b"PK\5\6", 4, "<H", 1))
    write("npz", "two_ends", archive(arrays[:1], comment=stored[-22:]))


def indexes():
    sample = ROOT / "data/sharded/model.safetensors.index.json"
    write("shard_index", "sample", sample.read_bytes())
    write("shard_index", "small", '{"metadata":{"total_size":1e3},"weight_map":{"a":"x.safetensors"}}')
    write("shard_index", "empty_map", '{"weight_map": {}}')
    write("shard_index", "path", '{"weight_map":{"a":"../x.safetensors"}}')
    write("shard_index", "twice", '{"weight_map":{"a":"x.safetensors","a":"y.safetensors"}}')
    write("shard_index", "no_map", '{"weight_map":["x.safetensors"]}')


def states():
    write("quant_state", "nested", state(**NESTED))
    write("quant_state", "plain", state(dtype="float16", blocksize=4096, shape=[7]))
    write("quant_state", "fp4", state(quant_type="fp4"))
    write("quant_state", "unknown_field", state(dtype="float32", extra={"a": [1, 2]}))
    write("quant_state", "trailing_nul", state() + "\0\0")
    write("quant_state", "half_nested", state(nested_blocksize=256))
    write("quant_state", "tiny_offset", state(**{**NESTED, "nested_offset": -1e-45}))
    write("quant_state", "nan", state(**{**NESTED, "nested_offset": float("nan")}))
    write("quant_state", "huge_shape", state(shape=[1 << 20, 1 << 20, 2]))


def reports():
    golden = ROOT / "tests/report/golden"
    for name in ["cpu", "empty"]:
        report = json.loads((golden / f"{name}.json").read_text())
        write("report", name, json.dumps(report, separators=(",", ":")))
    gpu = json.loads((golden / "gpu.json").read_text())
    gpu["measurements"] = gpu["measurements"][:4]
    gpu["ceilings"]["stream"] = gpu["ceilings"]["stream"][:1]
    gpu["summary"]["variants"] = []
    write("report", "gpu", json.dumps(gpu, separators=(",", ":")))
    old = {k: v for k, v in json.loads((golden / "cpu.json").read_text()).items() if k != "variants"}
    write("report", "without_variants", json.dumps(old, separators=(",", ":")))
    write("report", "other_version", '{"schema":"nf4bench.report","schema_version":"2.0.0"}')
    write("report", "deep", "[" * 33 + "]" * 33)


def main():
    for make in [headers, end_to_end, arrays, archives, indexes, states, reports]:
        make()


if __name__ == "__main__":
    main()
