#include "plan/shard.hpp"

#include "base/error.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace nf4bench::plan {
namespace {

constexpr int kMostTasks = 1'000'000;

std::optional<int> number_in(std::string_view text) {
  const auto number = parsed<int>(text);
  return number && *number >= 0 && *number <= kMostTasks ? number : std::nullopt;
}

std::optional<int> number_of(const char* name, const Variables& variables) {
  const char* const text = variables(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  if (const auto number = number_in(text)) return number;
  throw Error(ErrorKind::kUsage,
              "{}: found \"{}\", wanted the number of a task; --shard I/N says it instead of the "
              "environment",
              name, escaped(text));
}

record::Shard parse_shard(const std::string& word) {
  const std::size_t slash = word.find('/');
  if (slash != std::string::npos) {
    const auto index = number_in(std::string_view(word).substr(0, slash));
    const auto count = number_in(std::string_view(word).substr(slash + 1));
    if (index && count && *index < *count) {
      return {.index = *index, .count = *count, .split = false, .origin = "--shard"};
    }
  }
  throw Error(ErrorKind::kUsage,
              "--shard: found \"{}\", wanted I/N: the number of this task from 0 on, and how many "
              "there are, as in 0/8 to 7/8",
              escaped(word));
}

std::optional<record::Shard> rank_of_mpi(const Variables& variables) {
  const char* const name = "OMPI_COMM_WORLD_RANK";
  const auto rank = number_of(name, variables);
  if (!rank) return std::nullopt;
  const int size = number_of("OMPI_COMM_WORLD_SIZE", variables).value_or(0);
  return record::Shard{.index = *rank, .count = size, .split = false, .origin = name};
}

// The script of a batch job is no task of it, though it has the number 0: only steps, which srun
// starts, say how many tasks they have. Each task of an array runs that script, or steps of its
// own.
std::optional<record::Shard> task_of_slurm(const Variables& variables) {
  const char* const name = "SLURM_PROCID";
  const int tasks = number_of("SLURM_STEP_NUM_TASKS", variables).value_or(0);
  const int task = tasks > 0 ? number_of(name, variables).value_or(-1) : -1;
  const auto array = number_of("SLURM_ARRAY_TASK_ID", variables);
  if (!array) {
    if (task < 0) return std::nullopt;
    return record::Shard{.index = task, .count = tasks, .split = false, .origin = name};
  }
  // Only an array that begins at 0 and has no gaps says how many tasks the whole job has.
  const auto in_array = number_of("SLURM_ARRAY_TASK_COUNT", variables);
  const auto last = number_of("SLURM_ARRAY_TASK_MAX", variables);
  const bool is_dense = in_array && last && *in_array == *last + 1;
  const int in_step = std::max(1, tasks);
  return record::Shard{.index = *array * in_step + std::max(0, task),
                       .count = is_dense ? *in_array * in_step : 0,
                       .split = false,
                       .origin = "SLURM_ARRAY_TASK_ID"};
}

std::optional<record::Shard> index_of_kubernetes(const Variables& variables) {
  const char* const name = "JOB_COMPLETION_INDEX";
  const auto index = number_of(name, variables);
  if (!index) return std::nullopt;
  return record::Shard{.index = *index, .count = 0, .split = false, .origin = name};
}

// One that is there, or would be made: all but names of files, which have an ending.
bool names_a_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return std::filesystem::is_directory(path, ignored);
  return !path.empty() && path != "-" && !path.has_extension();
}

}  // namespace

std::optional<record::Shard> find_shard(const std::string& word, const Variables& variables) {
  if (!word.empty()) return parse_shard(word);
  if (auto rank = rank_of_mpi(variables)) return rank;
  if (auto task = task_of_slurm(variables)) return task;
  return index_of_kubernetes(variables);
}

std::optional<record::Shard> shard_of(const record::RunOptions& options) {
  auto shard = find_shard(options.shard, [](const char* name) { return std::getenv(name); });
  if (!options.split) return shard;
  if (!shard || shard->count == 0) {
    throw Error(ErrorKind::kUsage,
                "--split: it is not known which task of how many this is; add --shard I/N, or "
                "start the tasks with srun or mpirun");
  }
  shard->split = true;
  return shard;
}

std::string report_path(const std::string& json, const std::optional<record::Shard>& shard) {
  if (!shard || !names_a_folder(json)) return json;
  return (std::filesystem::path(json) / fmt::format("shard-{}.json", shard->index)).string();
}

}  // namespace nf4bench::plan
