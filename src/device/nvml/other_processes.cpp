#include "device/nvml/other_processes.hpp"

namespace nf4bench::device {

std::optional<OtherProcesses> others_of(const std::optional<std::vector<GpuProcess>>& processes,
                                        std::uint32_t own_pid) {
  if (!processes || processes->empty()) return std::nullopt;
  OtherProcesses others;
  for (const GpuProcess& process : *processes) {
    if (process.pid == own_pid) {
      others.sees_itself = true;
    } else {
      others.listed.push_back(process);
    }
  }
  others.count = static_cast<int>(others.listed.size()) - (others.sees_itself ? 0 : 1);
  return others;
}

}  // namespace nf4bench::device
