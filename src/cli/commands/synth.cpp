#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/files.hpp"
#include "cli/shared_options.hpp"
#include "io/writers/writers.hpp"
#include "nf4/synthetic.hpp"
#include "plan/words.hpp"
#include "text/units.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
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

const Choices<nf4::Distribution> kDistributions = {{"codes", nf4::Distribution::kRandomCodes},
                                                   {"normal", nf4::Distribution::kNormal},
                                                   {"outlier", nf4::Distribution::kOutlier},
                                                   {"uniform", nf4::Distribution::kUniform},
                                                   {"extremes", nf4::Distribution::kExtremes}};

struct Arguments {
  std::string output;
  Words shapes;             // "[NAME=]OUTxIN"
  nf4::SyntheticSpec spec;  // everything but name and shape
  bool force = false;
};

// One spec for each --shape. The i-th tensor is called "layers.i.weight" if it is given no name.
std::vector<nf4::SyntheticSpec> parse_specs(const Arguments& arguments) {
  nf4::SyntheticSpec spec = arguments.spec;
  plan::check_blocksize(spec.blocksize);
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
                  "--shape: \"{}\" names no tensor of its own; names must be unique and not empty",
                  escaped(word));
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
  throw Error(
      ErrorKind::kUsage,
      "-o: \"{}\" ends neither in .safetensors (one file) nor in / (a folder of .npy files)",
      escaped(output));
}

ExitCode write_tensors(const Arguments& arguments, const Context& context) {
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
  write_stderr(fmt::format("nf4bench: wrote {} to {}\n",
                           text::format_count(std::ssize(tensors), "tensor"),
                           escaped(arguments.output)));
  return ExitCode::kOk;
}

}  // namespace

Command synth_command() {
  const auto a = std::make_shared<Arguments>();
  const Words types = {"float16", "bfloat16", "float32"};
  a->spec.dtype = nf4::OutputType::kBfloat16;
  a->spec.distribution = nf4::Distribution::kNormal;
  Command command("synth", "Write valid NF4 tensors of random weights, as bitsandbytes would",
                  kExamples);
  command.add("-o,--output PATH", a->output,
              "FILE.safetensors, or FOLDER/ for .npy files (required)", kRequired | kFiles);
  command.add("--shape [NAME=]OUTxIN", a->shapes, "A tensor to write (repeatable, required)",
              kRequired);
  add_scale_options(command, a->spec.blocksize, a->spec.absmax_kind);
  command
      .add(
          "--dtype TYPE",
          [a, types](const std::string& word) { a->spec.dtype = parse_output_type(word, types); },
          "Type the state names: float16, bfloat16, float32 [bfloat16]")
      .suggests(types);
  command.add("--seed N", a->spec.seed, "The same seed gives the same bytes everywhere [=]");
  command.add(
      "--distribution NAME", choice(a->spec.distribution, kDistributions),
      "Of the weights [normal]: normal: N(0, 0.02); outlier: the same with rare large ones; "
      "uniform; codes: random codes under log-normal scales; extremes: zero blocks, tiny "
      "and overflowing scales");
  add_force_option(command, a->force);
  command.run = [a](const Context& context) { return write_tensors(*a, context); };
  return command;
}

}  // namespace nf4bench::cli
