#pragma once

#include "io/checkpoint/expert_stack.hpp"
#include "io/checkpoint/raw_dump.hpp"

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::plan {

// What people write for shapes, and for inputs that do not describe themselves. Throw Error(kUsage)
// that names the option, what was found and what is wanted.

// "4096x14336", "100", "8x64x64": positive integers whose product fits 63 bits.
std::vector<std::int64_t> parse_shape(const std::string& word, const char* option = "--shape");

// A power of two from 32 to 4096.
int check_blocksize(int blocksize, const char* option = "--blocksize");

// --raw: "weight=W.npy,absmax=A.npy,shape=OUTxIN,blocksize=64" and, if there are any,
// "nested_absmax=,nested_map=,offset=" (a number or a .npy file), "quant_map=", "dtype=", "name=".
// Without a name it is that of the weight's file, without .npy.
io::RawDump parse_raw(const std::string& word);

// The output type that `word` names, also as tables and other programs call it: fp16, half. Empty
// when it names none.
std::optional<nf4::OutputType> output_type_named(std::string_view word);

// --shape-of: "gate_up_proj=1536x2048", outputs x inputs of each expert.
io::StackShape parse_stack_shape(const std::string& word);

// A compiled --tensor option: which tensor names it selects.
class NameFilter {
 public:
  // An ECMAScript regular expression that may match anywhere in a name; an empty one selects all.
  // Throws Error(kUsage) for a malformed one.
  explicit NameFilter(const std::string& regex);

  bool selects(const std::string& name) const;

 private:
  std::optional<std::regex> regex_;
};

}  // namespace nf4bench::plan
