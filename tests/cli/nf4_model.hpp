#pragma once

#include <cstdint>
#include <string>

namespace nf4bench::test {

// Models as transformers and bitsandbytes write them, tiny.

// A file with the NF4 weight "q_proj.weight", 64x96, and two tensors of other kinds. Returns its
// path.
std::string write_mixed_file(const std::string& path);

// A folder: two shards and an index, config.json, tokenizer and more. One weight has its scales in
// the other shard. Two NF4 weights, four other tensors. Returns its path.
std::string write_model_folder(const std::string& path);

// One NF4 weight: packed in the file `packed`, all that it needs besides in the file `state`.
void write_split_weight(const std::string& packed, const std::string& state);

// The bytes of the tensor `name` in the .safetensors file at `path`.
std::string stored_bytes(const std::string& path, const std::string& name);

}  // namespace nf4bench::test
