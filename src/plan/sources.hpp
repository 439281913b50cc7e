#pragma once

#include "base/error.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "nf4/synthetic.hpp"
#include "plan/plan.hpp"

#include <memory>
#include <string>
#include <vector>

namespace nf4bench::plan {

// Where the tensors of a run come from, as the command line says it.
struct SourceRequest {
  std::vector<std::string> inputs;   // files and folders
  std::vector<std::string> shapes;   // "OUTxIN": synthetic
  std::vector<std::string> presets;  // model names: synthetic
  nf4::SyntheticSpec synthetic;      // everything but name and shape of the synthetic ones
  std::string tensor_regex;          // of names; empty selects all
};

// The tensors found, and the opened files that they load their data from.
struct Sources {
  std::vector<std::unique_ptr<io::Checkpoint>> checkpoints;
  std::vector<TensorSource> tensors;
  std::vector<std::string> warnings;
};

// Opens every input. Throws Error(kInput) when one holds no NF4 tensor or a selected tensor cannot
// be decoded, Error(kUsage) when nothing is asked for or nothing is selected.
Sources find_sources(const SourceRequest& request);

// Opens one input. Throws Error(kInput) saying what it holds instead when it holds no NF4 tensor.
io::Checkpoint open_nf4(const std::string& input);

// Why --tensor `regex`, which selects no NF4 tensor, is refused: Error(kUsage) that says which
// tensors of other kinds it selects.
Error nothing_selected(const std::string& regex,
                       const std::vector<const io::Checkpoint*>& checkpoints);

// "no NF4 tensor in PATH; found 12 bfloat16 (for example "a.weight")".
std::string describe_lack(const std::string& input, const io::Checkpoint& checkpoint);

}  // namespace nf4bench::plan
