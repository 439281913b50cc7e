#include "device/devices.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

namespace nf4bench::device {
namespace {

// The N of "cuda:N", 0 for "cuda"; empty for any other word.
std::optional<int> cuda_index(std::string_view name) {
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto index = parsed<int>(name);
  return index && *index >= 0 ? index : std::nullopt;
}

void require_cuda_device(const std::string& name, int index) {
  std::string problem;
  const int count = cuda_device_count(&problem);
  if (count == 0) {
    throw Error(ErrorKind::kDevice, "device \"{}\" is not there: {}; --device cpu works anywhere",
                escaped(name), problem.empty() ? "no CUDA device found" : problem);
  }
  if (index >= count) {
    throw Error(ErrorKind::kDevice,
                "device \"{}\" is not there: found {} CUDA device(s), cuda:0 to cuda:{}", name,
                count, count - 1);
  }
}

bool is_all(const std::string& name) {
  return name == "all" || name == "cuda:all";
}

}  // namespace

DeviceListing list_devices() {
  DeviceListing listing;
  listing.devices = cuda_devices(&listing.cuda_problem);
  listing.devices.push_back(open_cpu_device({})->info());
  return listing;
}

std::unique_ptr<Device> open_device(const std::string& name, const DeviceOptions& options) {
  if (name == "cpu") return open_cpu_device(options);
  if (name == "auto") {
    std::string problem;
    if (cuda_device_count(&problem) == 0) return open_cpu_device(options);
    return open_cuda_device(0, options);
  }
  const std::optional<int> index = cuda_index(name);
  if (!index) {
    throw Error(ErrorKind::kUsage, "unknown device \"{}\"; use auto, cpu, cuda or cuda:N",
                escaped(name));
  }
  require_cuda_device(name, *index);
  return open_cuda_device(*index, options);
}

bool names_several(const std::string& name) {
  return is_all(name) || (name.starts_with("cuda:") && name.find(',') != std::string::npos);
}

std::vector<int> several_devices(const std::string& name) {
  std::vector<int> indices;
  if (is_all(name)) {
    require_cuda_device(name, 0);
    std::string problem;
    indices.resize(static_cast<std::size_t>(cuda_device_count(&problem)));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
  }
  const auto colon = name.find(':');
  std::istringstream numbers(colon == std::string::npos ? "" : name.substr(colon + 1) + ",");
  for (std::string number; std::getline(numbers, number, ',');) {
    const std::optional<int> index = cuda_index("cuda:" + number);
    const bool is_twice = index && std::ranges::find(indices, *index) != indices.end();
    if (!index || is_twice) {
      throw Error(ErrorKind::kUsage, "device \"{}\" {}; use all, or numbers as in cuda:0,2",
                  escaped(name), is_twice ? "names one twice" : "is none");
    }
    indices.push_back(*index);
  }
  return indices;
}

std::vector<record::DeviceInfo> cuda_devices(std::string* problem) {
  std::vector<record::DeviceInfo> devices;
  const int count = cuda_device_count(problem);
  devices.reserve(static_cast<std::size_t>(count));
  for (int index = 0; index < count; ++index) devices.push_back(cuda_device_info(index));
  return devices;
}

void check_device_name(const std::string& word) {
  if (word == "auto" || word == "cpu" || word == "cuda") return;
  constexpr std::string_view kCudaPrefix = "cuda:";
  if (word.starts_with(kCudaPrefix)) {
    const std::string_view index = std::string_view(word).substr(kCudaPrefix.size());
    const bool is_short = !index.empty() && index.size() <= 4;
    if (is_short && index.find_first_not_of("0123456789") == std::string_view::npos) return;
  }
  if (word.starts_with("gpu")) {
    throw Error(ErrorKind::kUsage,
                "--device: \"{}\" is none; a GPU is cuda, or cuda:0 by its number", escaped(word));
  }
  throw not_one_of("--device", word, {"auto", "cpu", "cuda", "cuda:N"});
}

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

std::string DeviceUse::others_at_start() const {
  if (!use_.had_others()) return "";
  return fmt::format(
      "another nf4bench run uses {} already; its times and those of this one are not to be "
      "trusted: wait for it to end",
      device_);
}

std::string DeviceUse::others_meanwhile() const {
  if (!use_.got_others()) return "";
  return fmt::format(
      "another nf4bench run began to use {} during this one; the times of both are not to be "
      "trusted",
      device_);
}

}  // namespace nf4bench::device
