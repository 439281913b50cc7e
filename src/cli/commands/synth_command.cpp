#include "cli/commands/synth_command.hpp"

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/options/choices.hpp"
#include "cli/outputs.hpp"
#include "io/writers/writers.hpp"
#include "plan/shape.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

namespace nf4bench::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  One layer in a safetensors file:
    nf4bench synth -o layer.safetensors --shape 4096x4096
  Two named tensors with plain scales as a folder of .npy files:
    nf4bench synth -o dump/ --shape up.weight=1024x256 --shape down.weight=256x1024 --plain
  Values that try every special case of the arithmetic:
    nf4bench synth -o extremes.safetensors --shape 64x256 --distribution extremes)";

void add_data_options(CLI::App& command, SynthArguments& a) {
  add_single(command, a.spec.blocksize,
             {"--blocksize", "N",
              fmt::format("Elements that share a scale: 32 to 4096 [{}]", a.spec.blocksize)});
  add_absmax_flags(command, a.spec.absmax_kind);
  add_single(command, a.dtype,
             {"--dtype", "TYPE",
              fmt::format("Type the state names: float16, bfloat16, float32 [{}]", a.dtype)})
      .one_of(output_type_words());
  add_single(command, a.spec.seed,
             {"--seed", "N",
              fmt::format("The same seed gives the same bytes everywhere [{}]", a.spec.seed)});
  add_single(command, a.distribution,
             {"--distribution", "NAME",
              fmt::format("Of the weights [{}]:\n"
                          "normal: N(0, 0.02); outlier: the same with rare large ones;\n"
                          "uniform; codes: random codes under log-normal scales;\n"
                          "extremes: zero blocks, tiny and overflowing scales",
                          a.distribution)})
      .one_of(distribution_words());
  add_force_option(command, a.force);
}

nf4::SyntheticSpec parse_spec(const SynthArguments& arguments) {
  nf4::SyntheticSpec spec = arguments.spec;
  plan::check_blocksize(spec.blocksize);
  spec.dtype = parse_output_type(arguments.dtype);
  spec.distribution = parse_distribution(arguments.distribution);
  return spec;
}

// One spec for each --shape. The i-th tensor is called "layers.i.weight" if it is given no name.
std::vector<nf4::SyntheticSpec> parse_specs(const SynthArguments& arguments) {
  nf4::SyntheticSpec spec = parse_spec(arguments);
  nf4::SyntheticSeeds seeds(spec.seed);
  std::vector<nf4::SyntheticSpec> specs;
  std::set<std::string> names;
  for (const std::string& word : arguments.shapes) {
    const std::size_t equals = word.rfind('=');
    const bool has_name = equals != std::string::npos;
    spec.shape = plan::parse_shape(has_name ? word.substr(equals + 1) : word);
    spec.name = has_name ? word.substr(0, equals) : fmt::format("layers.{}.weight", specs.size());
    if (spec.name.empty() || !names.insert(spec.name).second) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--shape: \"{}\" names no tensor of its own; names must be unique "
                              "and not empty",
                              escaped(word)));
    }
    spec.seed = seeds.next(spec.shape);
    specs.push_back(spec);
  }
  return specs;
}

enum class Format { kSafetensors, kNpyFolder };

Format format_of(const std::string& output) {
  const std::filesystem::path path = output;
  if (path.extension() == ".safetensors") return Format::kSafetensors;
  std::error_code ignored;
  if (output.ends_with('/') || std::filesystem::is_directory(path, ignored)) {
    return Format::kNpyFolder;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("-o: \"{}\" ends neither in .safetensors (one file) nor in / (a folder "
                          "of .npy files)",
                          escaped(output)));
}

}  // namespace

CLI::App* add_synth_command(CLI::App& app, SynthArguments& arguments) {
  CLI::App* command = add_command(
      app, "synth", "Write valid NF4 tensors of random weights, as bitsandbytes would", kExamples);
  add_single(*command, arguments.output,
             {"-o,--output", "PATH", "FILE.safetensors, or FOLDER/ for .npy files (required)"})
      .required()
      .files();
  add_repeated(*command, arguments.shapes,
               {"--shape", "[NAME=]OUTxIN ...", "A tensor to write (repeatable, required)"})
      .required();
  add_data_options(*command, arguments);
  return command;
}

ExitCode execute(const SynthArguments& arguments, const Context& context) {
  const Format format = format_of(arguments.output);
  const std::vector<nf4::SyntheticSpec> specs = parse_specs(arguments);
  const OutputTarget target =
      tensor_target(arguments.output, files_read({}, context), arguments.force);
  const io::WriteOptions options = write_options("synth", target);
  if (format == Format::kSafetensors) check_output(target);
  std::vector<nf4::Nf4Tensor> tensors;
  tensors.reserve(specs.size());
  for (const nf4::SyntheticSpec& spec : specs) tensors.push_back(nf4::make_synthetic(spec));
  if (format == Format::kSafetensors) {
    io::write_nf4_safetensors(arguments.output, tensors, options);
  } else {
    io::write_nf4_npy_folder(arguments.output, tensors, options);
  }
  write_stderr(fmt::format("nf4bench: wrote {} tensor{} to {}\n", tensors.size(),
                           tensors.size() == 1 ? "" : "s", escaped(arguments.output)));
  return ExitCode::kOk;
}

}  // namespace nf4bench::cli
