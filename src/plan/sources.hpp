#pragma once

#include "base/error.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "plan/plan.hpp"
#include "plan/words.hpp"
#include "record/run_options.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::plan {

// The tensors found, and the opened files that they load their data from.
struct Sources {
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;
  std::vector<TensorSource> tensors;
  std::vector<std::string> warnings;
};

// The tensors that `options` name: opens every input. Throws Error(kInput) when one holds no NF4
// tensor or a selected tensor cannot be decoded, Error(kUsage) when nothing is asked for, nothing
// is selected, or a stack shape is of no use.
Sources find_sources(const record::RunOptions& options);

// One input, whatever it holds: a path, or dumps.
struct OneInput {
  std::string name;  // for messages; not escaped
  io::Checkpoint checkpoint;
};

// Opens the only input of `inputs`. Throws Error(kUsage) when there is none or more than one, or
// when a stack shape is of no use.
OneInput open_input(const record::Inputs& inputs);

// The same. Throws Error(kInput) saying what it holds instead when it holds no NF4 tensor.
io::Checkpoint open_nf4(const record::Inputs& inputs);

// Why --tensor `regex`, which selects no NF4 tensor, is refused: Error(kUsage) that says which
// tensors of other kinds it selects.
Error nothing_selected(const std::string& regex,
                       const std::vector<const io::Checkpoint*>& checkpoints);

// The tensors of one kind other than NF4 that a filter selects.
struct OtherCount {
  std::string_view kind;
  std::int64_t count = 0;
  std::string_view example = {};  // the first name
};

// One for each kind of which any is selected. Borrows from `checkpoint`.
std::vector<OtherCount> count_others(const io::Checkpoint& checkpoint, const NameFilter& filter);

// "no NF4 tensor in PATH; found 12 bfloat16 (for example "a.weight")", and what to do about arrays
// that look like the pieces of one.
std::string describe_lack(const std::string& input, const io::Checkpoint& checkpoint);

}  // namespace nf4bench::plan
