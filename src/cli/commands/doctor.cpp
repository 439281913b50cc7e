#include "base/error.hpp"
#include "base/signals.hpp"
#include "base/terminal.hpp"
#include "cli/commands/commands.hpp"
#include "cli/shared_options.hpp"
#include "device/devices.hpp"
#include "doctor/diagnosis.hpp"
#include "doctor/examination.hpp"
#include "operation/operation.hpp"
#include "report/host.hpp"
#include "text/page.hpp"
#include "text/progress.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Whether a measurement on the best device here can be trusted, and what to do about it:
    nf4bench doctor
  In a CI job, before the gate:
    nf4bench doctor --json
No setting is changed. --device all examines every GPU, one after the other. Exit codes: 0 usable, 6 a gate run here would be worthless, 5 no usable device, 130 or 143 interrupted.)";

struct Arguments {
  std::string device = "auto";
  std::string operation = "dequantize";
  bool json = false;
};

// Why "auto" chose the CPU; empty when it did not, or when the CPU was asked for.
std::string cuda_problem(const Arguments& arguments, const device::Device& device) {
  std::string problem;
  if (arguments.device == "auto" && device.info().kind == record::DeviceKind::kCpu) {
    device::cuda_devices(&problem);
  }
  return problem;
}

using OnProgress = std::function<void(double done, const std::string& what)>;

// Empty when it was interrupted.
std::optional<doctor::Diagnosis> examine(const std::string& name, const Arguments& arguments,
                                         const OnProgress& on_progress) {
  const auto device = device::open_device(name, {});
  doctor::ExaminationOptions options;
  options.architectures = report::tool_info().cuda_architectures;
  options.cuda_problem = cuda_problem(arguments, *device);
  const std::vector<operation::Operation> operations =
      operation::operations_of({arguments.operation});
  options.aa.operation = &operations.front();
  options.on_progress = on_progress;
  const doctor::DoctorFacts facts = doctor::examine(*device, options, watch_for_interruption());
  if (facts.aa.was_interrupted) return std::nullopt;
  return doctor::diagnose(facts);
}

ExitCode say_interrupted() {
  write_stderr("nf4bench: interrupted; nothing was decided\n");
  return interruption().value_or(ExitCode::kInterrupted);
}

ExitCode code_of(const doctor::Diagnosis& diagnosis) {
  return diagnosis.worst == doctor::Severity::kWorthless ? ExitCode::kInconclusive : ExitCode::kOk;
}

ExitCode examine_one(const Arguments& arguments) {
  text::ProgressLine progress(text::ProgressMode::kAuto);
  const auto diagnosis =
      examine(arguments.device, arguments,
              [&](double done, const std::string& what) { progress.update(done, what); });
  progress.clear();
  if (!diagnosis) return say_interrupted();
  write_stdout(arguments.json ? doctor::diagnosis_json(*diagnosis)
                              : doctor::diagnosis_table(*diagnosis, text::table_style()));
  return code_of(*diagnosis);
}

// One after the other, so that none disturbs another. One that fails leaves the others.
ExitCode examine_several(const Arguments& arguments) {
  const std::vector<int> indices = device::several_devices(arguments.device);
  text::ProgressLine progress(text::ProgressMode::kAuto);
  std::vector<doctor::Diagnosis> diagnoses;
  ExitCode worst = ExitCode::kOk;
  for (const int index : indices) {
    const std::string name = fmt::format("cuda:{}", index);
    const auto show = [&](double done, const std::string& what) {
      const double before = static_cast<double>(diagnoses.size()) + done;
      progress.update(before / static_cast<double>(indices.size()),
                      fmt::format("{} {}", name, what));
    };
    try {
      auto diagnosis = examine(name, arguments, show);
      if (!diagnosis) {
        progress.clear();
        return say_interrupted();
      }
      if (worst == ExitCode::kOk) worst = code_of(*diagnosis);
      diagnoses.push_back(std::move(*diagnosis));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kDevice) throw;
      worst = ExitCode::kNoDevice;
      record::DeviceInfo device;
      device.kind = record::DeviceKind::kCuda;
      device.id = name;
      device.name = "not usable";
      diagnoses.push_back(doctor::without_facts(device, error.what()));
    }
  }
  progress.clear();
  write_stdout(arguments.json ? doctor::devices_json(diagnoses)
                              : doctor::devices_table(diagnoses, text::table_style()));
  return worst;
}

}  // namespace

Command doctor_command() {
  const auto a = std::make_shared<Arguments>();
  Words operations;
  for (const operation::Operation& each : operation::operations()) {
    if (!each.has_routing) operations.push_back(each.name);  // a stack is not measured here
  }
  Command command("doctor", "Say what would make a measurement here untrustworthy", kExamples);
  command
      .add("--device NAME", a->device,
           "auto, cuda, cuda:N or cpu [auto: the first GPU, else the CPU]; all, cuda:all or "
           "cuda:0,2: several GPUs, a line for each")
      .suggests(several_devices_words());
  command.add("--operation NAME", a->operation, "What is measured against itself [=]")
      .one_of(operations);
  command.add("--json", a->json, "Print JSON instead of a table");
  command.run = [a](const Context&) {
    const bool is_of_several = device::names_several(a->device);
    if (!is_of_several) device::check_device_name(a->device);
    watch_for_interruption();
    return is_of_several ? examine_several(*a) : examine_one(*a);
  };
  return command;
}

}  // namespace nf4bench::cli
