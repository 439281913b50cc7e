#pragma once

#include "record/report.hpp"
#include "record/run_options.hpp"

#include <functional>
#include <optional>
#include <string>

namespace nf4bench::plan {

// The value of a variable of the environment; null when it is not set.
using Variables = std::function<const char*(const char* name)>;

// Which task of a job this process is; none outside of jobs. The first of these counts: `word`, as
// --shard takes it ("I/N", empty when it is not given); mpirun's rank; the task of a step of Slurm,
// counted on over the tasks of a job array; the index of an indexed Job of Kubernetes, which does
// not say how many there are. Throws Error(kUsage) that names the option or the variable.
std::optional<record::Shard> find_shard(const std::string& word, const Variables& variables);

// The same for `options` and the environment of this process, with the share of the geometries
// that --split asks for. Throws Error(kUsage), also when there is nothing to split by.
std::optional<record::Shard> shard_of(const record::RunOptions& options);

// The file that --json names in the task `shard`: in a folder, which any name without an ending is
// unless there is such a file, "shard-I.json", so that a task that runs again replaces its own
// report and nobody else's.
std::string report_path(const std::string& json, const std::optional<record::Shard>& shard);

}  // namespace nf4bench::plan
