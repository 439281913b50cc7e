#pragma once

// Tensors that bitsandbytes wrote, as parts to be broken one at a time.

#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace nf4bench::testing {

inline const std::string kStateNf4 = ".quant_state.bitsandbytes__nf4";
inline const std::string kStateFp4 = ".quant_state.bitsandbytes__fp4";

inline StateDict golden(const std::string& file, const std::string& weight) {
  return select_weight(read_state_dict(data_file(file)), weight);
}

// 5x77 float16, blocksize 64, nested: 385 elements, 193 bytes, 7 blocks.
inline const std::string kNested = "s5x77.weight";
inline StateDict nested() {
  return golden("odd_shapes.safetensors", kNested);
}

// 128x320 bfloat16, blocksize 64, plain.
inline const std::string kPlain = "plain_bf16.weight";
inline StateDict plain() {
  return golden("dtypes.safetensors", kPlain);
}

inline io::Checkpoint open(const StateDict& entries) {
  return io::Checkpoint::open_memory("test.safetensors", to_bytes(to_safetensors(entries)));
}

// The only entry of `entries` has a problem, told in one line that holds `part`.
inline void expect_problem(const StateDict& entries, const std::string& part) {
  const io::TensorEntry entry = only_entry(entries);
  EXPECT_TRUE(entry.problem.starts_with("test.safetensors: tensor \"")) << entry.problem;
  EXPECT_EQ(entry.problem.find('\n'), std::string::npos);
  expect_part(entry.problem, part);
}

inline void resize(RawTensor& tensor, std::vector<std::uint64_t> shape, std::size_t bytes) {
  tensor.shape = std::move(shape);
  tensor.bytes.resize(bytes);
}

// Replaces `from` by `to` in the quant state of `weight`.
inline void set_state(StateDict& entries, const std::string& weight, const std::string& from,
                      const std::string& to) {
  RawTensor& state = at(entries, weight + kStateNf4);
  state.bytes = replaced(state.bytes, from, to);
  state.shape = {state.bytes.size()};
}

}  // namespace nf4bench::testing
