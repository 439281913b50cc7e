#include "device/devices.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace nf4bench::device {
namespace {

// The N of "cuda:N", 0 for "cuda"; empty for any other word.
std::optional<int> cuda_index(std::string_view name) {
  if (name == "cuda") return 0;
  constexpr std::string_view kPrefix = "cuda:";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int index = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (!is_number || index < 0) return std::nullopt;
  return index;
}

void require_cuda_device(const std::string& name, int index) {
  std::string problem;
  const std::vector<record::DeviceInfo> devices = cuda_devices(&problem);
  if (devices.empty()) {
    throw Error(ErrorKind::kDevice,
                fmt::format("device \"{}\" is not there: {}; --device cpu works anywhere", name,
                            problem.empty() ? "no CUDA device found" : problem));
  }
  if (index >= static_cast<int>(devices.size())) {
    throw Error(ErrorKind::kDevice,
                fmt::format("device \"{}\" is not there: found {} CUDA device(s), cuda:0 to {}",
                            name, devices.size(), devices.back().id));
  }
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
    if (cuda_devices(&problem).empty()) return open_cpu_device(options);
    return open_cuda_device(0, options);
  }
  const std::optional<int> index = cuda_index(name);
  if (!index) {
    throw Error(ErrorKind::kUsage,
                fmt::format("unknown device \"{}\"; use auto, cpu, cuda or cuda:N", escaped(name)));
  }
  require_cuda_device(name, *index);
  return open_cuda_device(*index, options);
}

}  // namespace nf4bench::device
