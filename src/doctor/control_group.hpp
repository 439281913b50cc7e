#pragma once

#include <filesystem>
#include <optional>

namespace nf4bench::doctor {

// What the control groups of this process (version 1 or 2) tell about processor time.
struct ControlGroupTime {
  bool is_known = false;
  std::optional<double> limit;     // processors that it may keep busy; absent: no limit
  std::optional<double> paused_s;  // since the groups were made, because of limits
};

// Reads the group that <root>/proc/self/cgroup names and those above it, as far as they can be seen
// from here. The tightest limit counts.
ControlGroupTime read_control_group(const std::filesystem::path& root);

}  // namespace nf4bench::doctor
