#include "peer/kernel/kernel_program.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "json/fields.hpp"
#include "json/json_tree.hpp"
#include "peer/compile_cache.hpp"
#include "peer/generic_peer.hpp"
#include "peer/kernel/kernel_facts.hpp"
#include "peer/kernel/kernel_source.hpp"
#include "peer/kernel/launch_size.hpp"
#include "peer/kernel/nvrtc.hpp"
#include "peer/peer_table.hpp"
#include "record/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <sstream>

namespace nf4bench::peer {

namespace fs = std::filesystem;

// A kernel as it was compiled for one type of output.
struct CompiledKernel {
  nf4::OutputType type = nf4::OutputType::kFloat16;
  std::string symbol;
  KernelFacts facts;
};

// What a program's file says before the code.
struct KernelEntry {
  KernelSource source;
  std::vector<CompiledKernel> compiled;
};
struct KernelProgram {
  std::vector<KernelEntry> kernels;
  std::string cubin;
};

template <Is<CompiledKernel> Kernel, class F>
void fields(Kernel& k, F&& f) {
  f("dtype", k.type);
  f("symbol", k.symbol);
  f("facts", k.facts);
}
template <Is<KernelEntry> Entry, class F>
void fields(Entry& e, F&& f) {
  f("name", e.source.name);
  f("operation", e.source.operation);
  f("plain", e.source.takes_plain);
  f("nested", e.source.takes_nested);
  f("parameters", e.source.parameters);
  f("narrow", e.source.narrow);
  f("grid", e.source.grid);
  f("block", e.source.block);
  f("shared", e.source.shared);
  f("workspace", e.source.workspace);
  f("compiled", e.compiled);
}
template <Is<KernelProgram> Program, class F>
void fields(Program& p, F&& f) {
  f("kernels", p.kernels);
}

namespace {

constexpr std::string_view kProgramMark = "nf4bench kernels 1 ";
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

std::string text_of(const std::string& path) {
  return read_input(path, kMostBytes);
}

// "nf4_dequantize<__half>" of a template, else its name.
std::string expression_for(const KernelSource& kernel, nf4::OutputType type) {
  if (!kernel.is_template) return kernel.name;
  const char* const name = type == nf4::OutputType::kFloat16    ? "__half"
                           : type == nf4::OutputType::kBfloat16 ? "__nv_bfloat16"
                                                                : "float";
  return fmt::format("{}<{}>", kernel.name, name);
}

struct Made {
  KernelProgram program;
  Cubin cubin;
};

Made make(const std::string& path, const std::string& text, int compute_capability) {
  const std::string file = fs::path(path).filename().string();
  Made made;
  std::vector<std::string> names;
  for (KernelSource& kernel : kernels_in(text, file)) {
    for (const nf4::OutputType type : kernel.types) names.push_back(expression_for(kernel, type));
    made.program.kernels.push_back({std::move(kernel), {}});
  }
  const std::string code = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#line 1\n" + text;
  made.cubin = compile_by_nvrtc(code, file, names, compute_capability);
  std::size_t next = 0;
  for (KernelEntry& entry : made.program.kernels) {
    for (const nf4::OutputType type : entry.source.types) {
      const std::string& symbol = made.cubin.symbols[next++];
      entry.compiled.push_back({type, symbol, facts_in(made.cubin.log, symbol)});
    }
  }
  made.program.cubin = made.cubin.bytes;
  return made;
}

std::string bytes_of(const KernelProgram& program) {
  const std::string header = json::FieldWriter().text(program).text;
  return fmt::format("{}{}\n{}", kProgramMark, header.size(), header) + program.cubin;
}

KernelProgram read_program(const std::string& path) {
  const std::string bytes = text_of(path);
  const std::size_t line = bytes.find('\n');
  std::size_t size = 0;
  if (line != std::string::npos) {
    std::istringstream(bytes.substr(kProgramMark.size(), line - kProgramMark.size())) >> size;
  }
  if (line == std::string::npos || size > bytes.size() - line - 1) {
    throw Error(ErrorKind::kInput, "{} is not whole", escaped(path));
  }
  const json::JsonTree tree = json::parse_json(bytes.substr(line + 1, size), path);
  KernelProgram program;
  const auto no_check = [] {};
  json::FieldReader(no_check).read(json::JsonNode(tree, path), program);
  program.cubin = bytes.substr(line + 1 + size);
  return program;
}

std::optional<record::Launch> launch_facts(const KernelSource& kernel, const KernelFacts& facts,
                                           const kernels::Problem& problem,
                                           const kernels::DeviceFacts& device) {
  const auto launch = launch_of(kernel, sizes_of(problem, device));
  if (!launch) return std::nullopt;
  const auto product = [](const std::array<unsigned, 3>& sizes) {
    return std::int64_t{sizes[0]} * sizes[1] * sizes[2];
  };
  return with_occupancy({.grid = product(launch->grid),
                         .block = product(launch->block),
                         .registers = registers_given(facts.registers),
                         .shared_bytes = facts.shared_bytes + launch->shared_bytes},
                        device);
}

// The launch of the last sizes: that of a problem is read once, and not at every call that is
// timed.
struct LastLaunch {
  Sizes sizes{};
  std::optional<KernelLaunch> launch;
};

const CompiledKernel* compiled_for(const KernelEntry& entry, nf4::OutputType type) {
  const auto found = std::ranges::find(entry.compiled, type, &CompiledKernel::type);
  return found == entry.compiled.end() ? nullptr : &*found;
}

// Only where each type has code of its own do the widths of stores tell how many elements they are.
bool has_countable_stores(const KernelEntry& entry) {
  const std::vector<std::string>& names = entry.source.parameters;
  std::set<std::string> symbols;
  for (const CompiledKernel& compiled : entry.compiled) symbols.insert(compiled.symbol);
  return entry.source.operation == NF4BENCH_PEER_DEQUANTIZE &&
         std::ranges::find(names, "output") != names.end() &&
         symbols.size() == entry.compiled.size();
}

const char* why_not(const KernelEntry& entry, const kernels::Problem& problem,
                    const kernels::DeviceFacts& device) {
  const KernelSource& kernel = entry.source;
  if (problem.layer.columns > 0) return kNoLayers;
  if (problem.transposed && entry.source.operation == NF4BENCH_PEER_EXPERTS) {
    return kNoTransposedStacks;
  }
  if (problem.nested && !kernel.takes_nested) return "takes plain scales only";
  if (!problem.nested && !kernel.takes_plain) return "takes nested scales only";
  if (compiled_for(entry, problem.output_type) == nullptr) return "has no kernel for this dtype";
  const nf4bench_peer_job job = peer_job(problem, kernel.operation);
  for (const std::string& name : kernel.narrow) {
    const auto value = static_cast<std::int64_t>(field_bits(job, name));
    if (value > std::numeric_limits<std::int32_t>::max()) {
      return "takes a size in 32 bits, and this one needs more";
    }
  }
  const Sizes sizes = sizes_of(problem, device);
  if (!launch_of(kernel, sizes)) {
    return "its grid, block or shared= comes to no launch for this problem";
  }
  return workspace_of(kernel, sizes) ? nullptr : "its workspace= comes to no size for this problem";
}

void launch_kernel(const KernelEntry& entry, const CudaTools& tools, void* const function,
                   LastLaunch& last, const kernels::Job& job, const kernels::Launch& at) {
  if (job.elements == 0) return;
  const Sizes sizes = sizes_of(job, at.device);
  if (!last.launch || last.sizes != sizes) last = {sizes, launch_of(entry.source, sizes)};
  if (!last.launch) throw Error(ErrorKind::kDevice, "comes to no launch for this problem");
  KernelLaunch launch = *last.launch;
  nf4bench_peer_job whole = peer_job(job, entry.source.operation);
  std::vector<std::uint64_t> values(entry.source.parameters.size());
  std::vector<void*> arguments;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = entry.source.parameters[i];
    if (name == "job") {
      arguments.push_back(&whole);
      continue;
    }
    values[i] = field_bits(whole, name);
    arguments.push_back(&values[i]);
  }
  launch.function = function;
  launch.arguments = arguments.data();
  const std::string problem = tools.launch_kernel(launch, at.stream);
  if (!problem.empty()) throw Error(ErrorKind::kDevice, problem);
}

// The functions of an entry, by type.
using Functions = std::array<void*, 3>;

Functions load(const KernelEntry& entry, const KernelProgram& program, const CudaTools& tools,
               const std::string& name) {
  Functions functions = {};
  for (const CompiledKernel& compiled : entry.compiled) {
    const LoadedKernel loaded = tools.load_kernel(program.cubin, compiled.symbol.c_str());
    if (loaded.function == nullptr) {
      throw Error(ErrorKind::kInput, "{} cannot be loaded: {}", name, loaded.problem);
    }
    functions[static_cast<std::size_t>(compiled.type)] = loaded.function;
  }
  return functions;
}

kernels::Variant to_variant(const KernelEntry& entry, const Functions& functions,
                            const CudaTools& tools, const char* name) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "a kernel without host code, compiled by NVRTC";
  variant.traits.mirrors = "a library given by --peer";
  variant.unsupported = [entry](const kernels::Problem& problem,
                                const kernels::DeviceFacts& device) {
    return why_not(entry, problem, device);
  };
  variant.workspace_bytes = [entry](const kernels::Problem& problem,
                                    const kernels::Launch& launch) {
    const Sizes sizes = sizes_of(problem, launch.device);
    return static_cast<std::size_t>(workspace_of(entry.source, sizes).value_or(0.0));
  };
  variant.launch = [entry, functions, tools, last = std::make_shared<LastLaunch>()](
                       const kernels::Job& job, const kernels::Launch& launch) {
    launch_kernel(entry, tools, functions[static_cast<std::size_t>(job.output_type)], *last, job,
                  launch);
  };
  return variant;
}

}  // namespace

bool is_kernel_file(const std::string& path) {
  return path.ends_with(".cu") && has_directive(text_of(path));
}

std::string compiled_kernels(const std::string& path, int compute_capability) {
  if (compute_capability == 0) {
    throw Error(ErrorKind::kInput, "{} has kernels for CUDA devices alone", escaped(path));
  }
  const CompileCache cache;
  const std::string absolute = fs::absolute(path).lexically_normal().string();
  const std::string question = fmt::format("{}\n{}\n{}\nwith instructions", nvrtc_facts(),
                                           architecture_name(compute_capability), absolute);
  if (const auto kept = cache.find(question)) return kept->string();
  const FileTime begun = FileTime::clock::now();
  const std::string bytes = bytes_of(make(path, text_of(path), compute_capability).program);
  const fs::path temporary = cache.temporary();
  write_file(temporary, bytes);
  return cache.keep(question, temporary, {absolute}, begun).string();
}

void keep_kernels(const std::string& path, int compute_capability, const std::string& folder) {
  const fs::path name = fs::path(folder) / fs::path(path).filename();
  const std::string text = text_of(path);
  write_file(name, text);
  const Cubin cubin = make(path, text, compute_capability).cubin;
  write_file(fs::path(folder) / "compiler.log", cubin.log);
  write_file(fs::path(name).replace_extension(".ptx"), cubin.ptx);
  write_file(fs::path(name).replace_extension(".cubin"), cubin.bytes);
  keep_sass(fs::path(name).replace_extension(".cubin").string());
}

bool is_kernel_program(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string begin(kProgramMark.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  return begin == kProgramMark;
}

std::vector<kernels::Variant> kernel_variants(const std::string& path, const std::string& name,
                                              const PeerHost& host,
                                              std::deque<std::string>& strings) {
  if (host.kind != record::DeviceKind::kCuda) return {};
  if (!host.tools) {
    throw Error(ErrorKind::kInput, "this nf4bench was built without CUDA, which {} needs",
                escaped(path));
  }
  const KernelProgram program = read_program(path);
  std::vector<kernels::Variant> variants;
  for (const KernelEntry& entry : program.kernels) {
    if (kPeerOperations[static_cast<std::size_t>(entry.source.operation)] != host.operation)
      continue;
    const bool is_only = program.kernels.size() == 1;
    const char* const full =
        strings.emplace_back(is_only ? name : fmt::format("{}.{}", name, entry.source.name))
            .c_str();
    const Functions functions = load(entry, program, *host.tools, entry.source.name);
    variants.push_back(to_variant(entry, functions, *host.tools, full));
  }
  return variants;
}

std::vector<std::string> kernel_symbols(const std::string& path) {
  if (!is_kernel_program(path)) return {};
  std::set<std::string> symbols;
  for (const KernelEntry& entry : read_program(path).kernels) {
    for (const CompiledKernel& compiled : entry.compiled) symbols.insert(compiled.symbol);
  }
  return {symbols.begin(), symbols.end()};
}

std::string disassembled(const std::string& path) {
  if (!is_kernel_program(path)) return log_of(path).empty() ? "" : sass_of(path);
  const KernelProgram program = read_program(path);
  const bool is_of_use = std::ranges::any_of(program.kernels, has_countable_stores);
  if (!is_of_use) return "";
  const TemporaryFolder folder("sass");
  const std::string cubin = folder.path() / "kernels.cubin";
  write_file(cubin, program.cubin);
  return sass_of(cubin);
}

std::vector<KernelFacts> kernel_facts(const std::string& path, const std::string& kernel,
                                      const kernels::Problem& problem,
                                      const kernels::DeviceFacts& device, const std::string& sass) {
  if (!is_kernel_program(path)) return library_kernel_facts(path, problem, sass);
  for (const KernelEntry& entry : read_program(path).kernels) {
    const CompiledKernel* const compiled = compiled_for(entry, problem.output_type);
    if (compiled != nullptr && (kernel.empty() || entry.source.name == kernel)) {
      KernelFacts facts = compiled->facts;
      facts.launch = launch_facts(entry.source, facts, problem, device);
      if (has_countable_stores(entry)) {
        facts.instructions =
            instruction_mix(sass, compiled->symbol, nf4::size_in_bytes(compiled->type));
      }
      return {facts};
    }
  }
  return {};
}

std::vector<nf4::OutputType> kernel_types(const std::string& path) {
  std::vector<nf4::OutputType> types;
  if (!is_kernel_program(path)) return types;
  const KernelProgram program = read_program(path);
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const bool has = std::ranges::any_of(program.kernels, [&](const KernelEntry& entry) {
      return compiled_for(entry, type) != nullptr;
    });
    if (has) types.push_back(type);
  }
  return types;
}

}  // namespace nf4bench::peer
