#pragma once

#include "io/checkpoint/expert_stack.hpp"
#include "io/checkpoint/raw_dump.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace nf4bench::plan {

// What people write for inputs that do not describe themselves. Throw Error(kUsage) that names the
// option, what was found and what is wanted.

// --raw: "weight=W.npy,absmax=A.npy,shape=OUTxIN,blocksize=64" and, if there are any,
// "nested_absmax=,nested_map=,offset=" (a number or a .npy file), "quant_map=", "dtype=", "name=".
// Without a name it is that of the weight's file, without .npy.
io::RawDump parse_raw(const std::string& word);

// The output type that `word` names, also as tables and other programs call it: fp16, half. Empty
// when it names none.
std::optional<nf4::OutputType> output_type_named(std::string_view word);

// --shape-of: "gate_up_proj=1536x2048", outputs x inputs of each expert.
io::StackShape parse_stack_shape(const std::string& word);

}  // namespace nf4bench::plan
