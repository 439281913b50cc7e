#include "device/device_use.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace nf4bench::device {
namespace {

// Where there is no such folder no lock file can be made, and nothing is locked.
std::filesystem::path lock_file(const record::DeviceInfo& device) {
  std::error_code ignored;
  const char* const chosen = std::getenv("NF4BENCH_LOCKS");
  const std::filesystem::path folder =
      chosen == nullptr ? std::filesystem::temp_directory_path(ignored) : chosen;
  if (folder.empty()) return "/nowhere/nf4bench.lock";
  const std::string& key = device.uuid.empty() ? device.id : device.uuid;
  return folder / fmt::format("nf4bench-{}.lock", key);
}

}  // namespace

DeviceUse::DeviceUse(const record::DeviceInfo& device)
    : device_(device.id), use_(lock_file(device)) {}

std::string DeviceUse::company_at_start() const {
  if (!use_.had_company()) return "";
  return fmt::format(
      "another nf4bench run uses {} already; its times and those of this one are not to be "
      "trusted: wait for it to end",
      device_);
}

std::string DeviceUse::company_meanwhile() const {
  if (!use_.got_company()) return "";
  return fmt::format(
      "another nf4bench run began to use {} during this one; the times of both are not to be "
      "trusted",
      device_);
}

}  // namespace nf4bench::device
