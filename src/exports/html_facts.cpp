#include "exports/html_parts.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nf4bench::exports {
namespace {

// A list of names and values. What is empty is not shown.
class Facts {
 public:
  void text(const char* name, const std::string& value) {
    if (!value.empty()) {
      html_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html_text(value));
    }
  }
  void flag(const char* name, const std::optional<bool>& value) {
    if (value) text(name, *value ? "on" : "off");
  }
  std::string html() const { return "<dl>\n" + html_ + "</dl>\n"; }

 private:
  std::string html_;
};

std::string rate_text(double bytes_per_s) {
  return bytes_per_s > 0.0 ? text::format_gigabytes(bytes_per_s) + " GB/s" : std::string();
}

std::string state_text(const record::DeviceState& state) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<double>& value, double unit, const char* text) {
    if (value) parts.push_back(fmt::format("{:.0f} {}", *value / unit, text));
  };
  add(state.sm_clock_hz, 1e6, "MHz SM");
  add(state.memory_clock_hz, 1e6, "MHz memory");
  add(state.power_w, 1.0, "W");
  add(state.temperature_c, 1.0, "C");
  for (const std::string& reason : state.throttle_reasons) parts.push_back("throttled: " + reason);
  if (!state.unavailable.empty()) parts.push_back(state.unavailable);
  return fmt::format("{}", fmt::join(parts, ", "));
}

void add_device(Facts& facts, const record::Report& report) {
  const record::DeviceInfo& device = report.device;
  facts.text("Device", fmt::format("{} ({})", device.name, device.id));
  facts.text("Memory",
             fmt::format("{:.1f} GiB", static_cast<double>(device.memory_bytes) / (1 << 30)));
  facts.text("Last-level cache",
             fmt::format("{:.1f} MiB", static_cast<double>(device.l2_bytes) / (1 << 20)));
  facts.text("Memory peak", rate_text(device.peak_bytes_per_s.value_or(0.0)));
  facts.text("Driver", device.driver);
  facts.text("CUDA runtime", device.runtime);
  facts.text("SIMD", device.simd);
  facts.flag("ECC", device.ecc);
  facts.flag("MIG", device.mig);
  facts.text("UUID", device.uuid);
  facts.text("Before", state_text(report.state_before));
  if (report.state_after) facts.text("After", state_text(*report.state_after));
}

std::string half_width(double precision) {
  return fmt::format("{:g} %", 100.0 * precision);
}

}  // namespace

std::string environment_section(const Page& page) {
  const record::Report& report = page.report;
  Facts facts;
  add_device(facts, report);
  facts.text("Host", report.host.name);
  facts.text("System", fmt::format("{}, kernel {}", report.host.os, report.host.kernel));
  facts.text("CPU", fmt::format("{}, {}", report.host.cpu,
                                text::format_count(report.host.threads, "thread")));
  facts.text("nf4bench", fmt::format("{} {}{}", report.tool.version, report.tool.git_commit,
                                     report.tool.git_dirty ? " (changed)" : ""));
  facts.text("Build", fmt::format("{}, {}", report.tool.build_type, report.tool.compiler));
  facts.text("CUDA architectures", report.tool.cuda_architectures);
  facts.text("Begun", report.started_at);
  facts.text("Finished", report.finished_at);
  facts.text("Command", fmt::format("{}", fmt::join(report.command, " ")));
  return "<section id=\"environment\"><h2>Environment</h2>\n" + facts.html() + "</section>\n";
}

std::string method_section(const Page& page) {
  const record::Report& report = page.report;
  const record::Settings& settings = report.settings;
  Facts facts;
  facts.text("Verified",
             fmt::format("{}, {}, {} against the reference, before and after timing",
                         text::format_count(report.tensors_verified, "tensor"),
                         settings.verify == record::VerifyScope::kAll ? "every element"
                                                                      : "a sample of each",
                         page.has_tokens() ? "weights bit for bit and products to what rounding "
                                             "explains"
                                           : "bit for bit"));
  facts.text("Baseline", report::baselines_of(settings));
  facts.text("Order", fmt::format("variants take turns in rounds, seed {}", settings.seed));
  facts.text("A sample", fmt::format("at least {} of launches between two events",
                                     text::format_time(settings.min_sample_s,
                                                       text::time_scale({settings.min_sample_s}))));
  facts.text("Stops",
             fmt::format(
                 "when the median's 95 % interval is within {} and there are {}, or after {}",
                 half_width(settings.precision), text::format_count(settings.min_samples, "sample"),
                 text::format_time(settings.max_time_s, text::time_scale({settings.max_time_s}))));
  facts.text("Copy ceiling", rate_text(report.ceilings.copy_bytes_per_s));
  facts.text("Write ceiling", rate_text(report.ceilings.write_bytes_per_s));
  for (const auto& [type, rate] : report.ceilings.flops_per_s) {
    facts.text("Product ceiling",
               fmt::format("{}: {} TFLOP/s", to_string(type), text::format_tera(rate)));
  }
  const auto overhead = [&](const char* name, const std::optional<double>& time_s) {
    if (time_s) facts.text(name, text::format_time(*time_s, text::time_scale({*time_s})));
  };
  overhead("Event overhead", report.ceilings.event_overhead_s);
  overhead("Launch overhead", report.ceilings.launch_overhead_s);
  return "<section id=\"method\"><h2>How it was measured</h2>\n" + facts.html() + "</section>\n";
}

}  // namespace nf4bench::exports
