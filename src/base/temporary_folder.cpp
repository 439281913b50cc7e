#include "base/temporary_folder.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace nf4bench {

TemporaryFolder::TemporaryFolder(const std::string& word) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / fmt::format("nf4bench-{}-XXXXXX", word)).string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error(ErrorKind::kOutput, "{}: cannot make a folder there", pattern);
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace nf4bench
