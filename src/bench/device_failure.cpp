#include "bench/device_failure.hpp"

#include <fmt/format.h>

namespace nf4bench::bench {

namespace {

// Why not even a small upload works any more; empty when it does.
std::string problem_of(device::Device& device) {
  const std::vector<std::byte> content(64);
  device::Work probe;
  probe.name = "probe";
  probe.inputs = {{.content = content}};
  probe.output_bytes = 256;
  probe.bind = [](std::span<std::byte* const>, std::byte*) { return kernels::Job(); };
  try {
    device.upload(probe, device::UploadPurpose::kVerify);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// Whose calls have a limit already, at which that process ends and this one goes on.
bool has_own_process(const RunContext& context, const Caller& caller) {
  return caller.index && context.variants[*caller.index].variant.launch_elsewhere;
}

}  // namespace

DeviceLost::DeviceLost(const Caller& caller, const std::string& cause, const std::string& after)
    : Error(ErrorKind::kDevice, fmt::format("{}: {}; after that the device works no more: {}",
                                            caller.name, cause, after)),
      caller_(caller),
      cause_(cause) {}

std::optional<std::string> device_failure(const RunContext& context, const Caller& caller,
                                          const std::function<void()>& call) {
  std::optional<Watchdog::Watch> watch;
  if (!has_own_process(context, caller)) watch.emplace(context.watchdog, caller);
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kDevice) throw;
    const std::string after = problem_of(context.device);
    if (!after.empty()) throw DeviceLost(caller, error.what(), after);
    return error.what();
  }
}

}  // namespace nf4bench::bench
