#include "cli/commands/doctor_command.hpp"

#include "base/terminal.hpp"
#include "cli/options/choices.hpp"
#include "cli/progress_line.hpp"
#include "cli/signals.hpp"
#include "device/devices.hpp"
#include "doctor/diagnosis_text.hpp"
#include "doctor/examination.hpp"
#include "report/tool.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  Whether a measurement on the best device here can be trusted, and what to do about it:
    nf4bench doctor
  In a CI job, before the gate:
    nf4bench doctor --json
No setting is changed. Exit codes: 0 usable, 6 a gate run here would be worthless, 5 no usable
device, 130 or 143 interrupted.)";

// Why "auto" chose the CPU; empty when it did not, or when the CPU was asked for.
std::string cuda_problem(const DoctorArguments& arguments, const device::Device& device) {
  std::string problem;
  if (arguments.device == "auto" && device.info().kind == record::DeviceKind::kCpu) {
    device::cuda_devices(&problem);
  }
  return problem;
}

}  // namespace

CLI::App* add_doctor_command(CLI::App& app, DoctorArguments& arguments) {
  CLI::App* command =
      add_command(app, "doctor", "Say what would make a measurement here untrustworthy", kExamples);
  add_single(*command, arguments.device,
             {"--device", "NAME", "auto, cuda, cuda:N or cpu [auto: the first GPU, else the CPU]"})
      .suggests(device_words());
  add_single(*command, arguments.operation,
             {"--operation", "NAME",
              fmt::format("What is measured against itself [{}]", arguments.operation)})
      .one_of(operation_words());
  add_flag(*command, "--json", arguments.json, "Print JSON instead of a table");
  return command;
}

ExitCode execute(const DoctorArguments& arguments, const Context&) {
  check_device_name(arguments.device);
  const auto device = device::open_device(arguments.device, {});
  const std::atomic<bool>& interrupted = watch_for_interruption();
  ProgressLine progress(ProgressLine::Mode::kAuto);
  doctor::ExaminationOptions options;
  options.architectures = report::tool_info().cuda_architectures;
  options.cuda_problem = cuda_problem(arguments, *device);
  const std::vector<operation::Operation> operations = parse_operations({arguments.operation});
  options.aa.operation = &operations.front();
  options.on_progress = [&](double done, const std::string& what) { progress.update(done, what); };
  const doctor::DoctorFacts facts = doctor::examine(*device, options, interrupted);
  progress.clear();
  if (facts.aa.was_interrupted) {
    write_stderr("nf4bench: interrupted; nothing was decided\n");
    return interruption().value_or(ExitCode::kInterrupted);
  }
  const doctor::Diagnosis diagnosis = doctor::diagnose(facts);
  if (arguments.json) {
    write_stdout(doctor::diagnosis_json(diagnosis));
  } else {
    const Terminal terminal = terminal_of(STDOUT_FILENO);
    write_stdout(
        doctor::diagnosis_table(diagnosis, {.width = terminal.width, .colour = terminal.colour}));
  }
  return diagnosis.worst == doctor::Severity::kWorthless ? ExitCode::kInconclusive : ExitCode::kOk;
}

}  // namespace nf4bench::cli
