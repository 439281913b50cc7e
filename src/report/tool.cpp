#include "report/tool.hpp"

#include "git_version.hpp"

#include <fmt/format.h>

namespace nf4bench::report {

record::ToolInfo tool_info() {
  record::ToolInfo tool;
  tool.version = NF4BENCH_VERSION;
  tool.git_commit = kGitCommit;
  tool.git_dirty = kGitDirty;
  tool.build_type = NF4BENCH_BUILD_TYPE;
  tool.compiler = NF4BENCH_COMPILER;
  tool.cuda_architectures = NF4BENCH_CUDA_ARCHITECTURES;
  return tool;
}

std::string version_text() {
  const record::ToolInfo tool = tool_info();
  const std::string commit = tool.git_commit.empty() ? "unknown" : tool.git_commit;
  const std::string cuda = tool.cuda_architectures.empty()
                               ? "no (CPU device only)"
                               : "yes, architectures " + tool.cuda_architectures;
  return fmt::format("nf4bench {}\ncommit: {}{}\nbuild: {}, {}\nCUDA: {}", tool.version, commit,
                     tool.git_dirty ? " with local changes" : "", tool.build_type, tool.compiler,
                     cuda);
}

}  // namespace nf4bench::report
