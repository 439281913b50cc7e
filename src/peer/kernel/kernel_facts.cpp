#include "peer/kernel/kernel_facts.hpp"

#include "peer/embedded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string_view>
#include <vector>

namespace nf4bench::peer {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr int kWidestThatCounts = 16;  // a wider store is as good as two

// "@P0 STG.E.128 [R2], R4"
struct Instruction {
  std::uint64_t address = 0;
  bool is_guarded = false;
  std::string operation;  // "STG.E.128"
  std::string operands;

  std::string opcode() const { return operation.substr(0, operation.find('.')); }
};

std::uint64_t hexadecimal(std::string_view digits) {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
}

// The lines of one function: "  /*0010*/  @P0 EXIT ;  /* ... */".
std::vector<Instruction> function_in(const std::string& sass, const std::string& symbol) {
  static const std::regex form(
      R"(\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([\w.]+)\s*(.*?)\s*;.*)");
  std::vector<Instruction> found;
  std::istringstream lines(sass);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("Function : ");
    if (at != std::string::npos) is_inside = line.substr(at + 11) == symbol;
    std::smatch parts;
    if (!is_inside || !std::regex_match(line, parts, form)) continue;
    const std::string guard = parts[2];
    found.push_back(
        {hexadecimal(parts[1].str()), !guard.empty() && guard != "@!PT", parts[3], parts[4]});
  }
  return found;
}

// Bytes that it stores to global memory; 0: it is another instruction.
int stored_bytes(const Instruction& instruction) {
  const std::string opcode = instruction.opcode();
  if (opcode != "STG" && opcode != "ST") return 0;
  std::istringstream parts(instruction.operation);
  for (std::string part; std::getline(parts, part, '.');) {
    if (part == "8" || part == "U8" || part == "S8") return 1;
    if (part == "16" || part == "U16" || part == "S16") return 2;
    if (part == "64") return 8;
    if (part == "128") return 16;
    if (part == "256") return 32;
  }
  return 4;
}

// Where control may go from an instruction; backward branches are not taken.
struct Ways {
  std::size_t next = kNowhere;
  std::size_t target = kNowhere;
  bool ends = false;  // the thread
};

Ways ways_from(const std::vector<Instruction>& code, std::size_t index) {
  const Instruction& at = code[index];
  const std::size_t following = index + 1 < code.size() ? index + 1 : kNowhere;
  if (at.operation.starts_with("EXIT")) {
    return {at.is_guarded ? following : kNowhere, kNowhere, true};
  }
  // BRA.DIV and BRA.CONV are taken by a diverged warp only.
  const bool is_rare = at.operation.starts_with("BRA.DIV") || at.operation.starts_with("BRA.CONV");
  if (!at.operation.starts_with("BRA") || is_rare) return {following, kNowhere, false};
  const std::size_t digits = at.operands.rfind("0x");
  const std::uint64_t address = digits == std::string::npos
                                    ? 0
                                    : hexadecimal(std::string_view(at.operands).substr(digits + 2));
  const auto found = std::find_if(code.begin() + static_cast<std::ptrdiff_t>(index) + 1, code.end(),
                                  [&](const Instruction& each) { return each.address == address; });
  const std::size_t target =
      found == code.end() ? kNowhere : static_cast<std::size_t>(found - code.begin());
  const bool goes_on = at.is_guarded || target == kNowhere;
  return {goes_on ? following : kNowhere, target, !at.is_guarded && target == kNowhere};
}

// The cheapest way to an end among those that store most through the widest stores. That leaves
// out the early return of threads with no work, and what only a ragged end runs.
std::vector<const Instruction*> main_path(const std::vector<Instruction>& code) {
  int widest = 0;
  for (const Instruction& each : code) widest = std::max(widest, stored_bytes(each));
  widest = std::min(widest, kWidestThatCounts);
  struct Way {
    bool is_known = false;
    int stored = 0;  // by the widest stores
    int count = 0;
    std::size_t next = kNowhere;
  };
  std::vector<Way> best(code.size());
  for (std::size_t i = code.size(); i-- > 0;) {
    const Ways ways = ways_from(code, i);
    Way chosen = {.is_known = ways.ends};
    for (const std::size_t next : {ways.next, ways.target}) {
      if (next == kNowhere || !best[next].is_known) continue;
      const Way& way = best[next];
      const bool is_better = !chosen.is_known || way.stored > chosen.stored ||
                             (way.stored == chosen.stored && way.count < chosen.count);
      if (is_better) chosen = {true, way.stored, way.count, next};
    }
    const int bytes = stored_bytes(code[i]);
    if (bytes >= widest) chosen.stored += bytes;
    if (code[i].operation != "NOP") ++chosen.count;
    best[i] = chosen;
  }
  std::vector<const Instruction*> path;
  for (std::size_t i = code.empty() ? kNowhere : 0; i != kNowhere && best[i].is_known;
       i = best[i].next) {
    path.push_back(&code[i]);
  }
  return path;
}

// One line of pipes.txt each.
struct Pipe {
  std::string name;
  std::regex opcodes;
};

std::vector<Pipe> pipes() {
  std::vector<Pipe> all;
  std::istringstream lines(kPipes);
  for (std::string name, opcodes; lines >> name >> opcodes;) {
    all.push_back({name, std::regex(opcodes)});
  }
  return all;
}

// From the CUDA C++ programming guide, "Technical specifications per compute capability".
struct Multiprocessor {
  int capability;
  int warps;
  int blocks;
  std::int64_t shared_kib;
};
constexpr std::array kMultiprocessors = {
    Multiprocessor{70, 64, 32, 96},   Multiprocessor{75, 32, 16, 64},
    Multiprocessor{80, 64, 32, 164},  Multiprocessor{86, 48, 16, 100},
    Multiprocessor{87, 48, 16, 164},  Multiprocessor{89, 48, 24, 100},
    Multiprocessor{90, 64, 32, 228},  Multiprocessor{100, 64, 32, 228},
    Multiprocessor{103, 64, 32, 228}, Multiprocessor{120, 48, 24, 100},
    Multiprocessor{121, 48, 24, 100}};

constexpr std::int64_t kWarp = 32;
constexpr std::int64_t kQuarters = 4;  // of a multiprocessor: each has its own registers
constexpr std::int64_t kRegistersOfQuarter = 16384;  // of all GPUs since 5.0
constexpr std::int64_t kRegisterUnit = 256;          // a warp gets them in these
constexpr int kAmpere = 80;  // from here on a block has shared memory of the system

template <typename Number>
constexpr Number rounded_up(Number value, Number unit) {
  return (value + unit - 1) / unit * unit;
}

std::int64_t number_before(const std::string& line, const char* words) {
  std::smatch match;
  const std::regex wanted(fmt::format(R"((\d+) {})", words));
  return std::regex_search(line, match, wanted) ? std::stoll(match[1]) : 0;
}

}  // namespace

std::optional<InstructionMix> instruction_mix(const std::string& sass, const std::string& symbol,
                                              int bytes_per_element) {
  const std::vector<Instruction> code = function_in(sass, symbol);
  const std::vector<const Instruction*> path = main_path(code);
  int stored = 0;
  for (const Instruction* each : path) stored += stored_bytes(*each);
  if (stored == 0) return std::nullopt;
  const double one = static_cast<double>(bytes_per_element) / stored;
  static const std::vector<Pipe> all = pipes();
  InstructionMix mix;
  for (const Instruction* each : path) {
    if (each->operation == "NOP") continue;
    mix.issued += one;
    fields(mix, [&](const char* name, double& count) {
      for (const Pipe& pipe : all) {
        if (pipe.name == name && std::regex_match(each->opcode(), pipe.opcodes)) count += one;
      }
    });
  }
  return mix;
}

std::int64_t registers_given(std::int64_t registers) {
  return rounded_up(registers, kRegisterUnit / kWarp);
}

record::Launch with_occupancy(record::Launch launch, const kernels::DeviceFacts& device) {
  using record::Resource;
  const auto* const found =
      std::ranges::find(kMultiprocessors, device.compute_capability, &Multiprocessor::capability);
  if (found == kMultiprocessors.end() || launch.block.value_or(0) <= 0) return launch;
  const std::int64_t warps = (*launch.block + kWarp - 1) / kWarp;
  std::int64_t blocks = found->warps / warps;
  launch.occupancy_limit = Resource::kWarps;
  const auto limit = [&](std::int64_t most, Resource resource) {
    if (most >= blocks) return;
    blocks = most;
    launch.occupancy_limit = resource;
  };
  limit(found->blocks, Resource::kBlocks);
  if (launch.registers.value_or(0) > 0) {
    const std::int64_t of_warp = registers_given(*launch.registers) * kWarp;
    const bool fits = of_warp * rounded_up(warps, kQuarters) <= kRegistersOfQuarter * kQuarters;
    limit(fits ? kRegistersOfQuarter / of_warp * kQuarters / warps : 0, Resource::kRegisters);
  }
  const bool has_reserved = device.compute_capability >= kAmpere;
  const std::int64_t shared = rounded_up<std::int64_t>(
      launch.shared_bytes.value_or(0) + (has_reserved ? 1024 : 0), has_reserved ? 128 : 256);
  if (shared > 0) limit(found->shared_kib * 1024 / shared, Resource::kShared);
  launch.occupancy = static_cast<double>(blocks * warps) / found->warps;
  const auto held = static_cast<double>(blocks * device.multiprocessors);
  if (launch.grid && held > 0.0) launch.waves = static_cast<double>(*launch.grid) / held;
  return launch;
}

KernelFacts facts_in(const std::string& log, const std::string& symbol) {
  KernelFacts facts;
  const std::size_t at = log.find(fmt::format("entry function '{}'", symbol));
  if (at == std::string::npos) return facts;
  std::istringstream lines(log.substr(at));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.find("entry function '") == std::string::npos) {
    facts.spill_bytes += number_before(line, "bytes spill stores");
    facts.registers += static_cast<int>(number_before(line, "registers"));
    facts.shared_bytes += number_before(line, "bytes smem");
  }
  return facts;
}

namespace {

using nf4::OutputType;

// The last bytes of a file with a log: how many before them are the log.
constexpr std::size_t kDigits = 10;
constexpr std::string_view kLogMark = "\nnf4bench log ";
constexpr std::size_t kTailBytes = kLogMark.size() + kDigits;

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : symbol;
}

// "void (anonymous namespace)::decode<float>(nf4bench_peer_job, float*)" is "decode<float>".
std::string short_name(std::string name) {
  int depth = 0;
  std::size_t end = name.size();
  while (name.ends_with(')') && end > 0) {
    --end;
    depth += name[end] == ')' ? 1 : name[end] == '(' ? -1 : 0;
    if (depth == 0) break;
  }
  name.resize(end);
  if (name.starts_with("void ")) name.erase(0, 5);
  static const std::regex unnamed(R"(\(anonymous namespace\)::)");
  return std::regex_replace(name, unnamed, "");
}

// The only type of output that a kernel's arguments of templates, or what it may write to, name.
std::optional<OutputType> type_in(const std::string& name) {
  struct Type {
    OutputType type;
    std::regex form;
  };
  static const std::vector<Type> types = {
      {OutputType::kFloat16, std::regex(R"(\b__half2?\b)")},
      {OutputType::kBfloat16, std::regex(R"(\b__nv_bfloat162?\b)")},
      {OutputType::kFloat32, std::regex(R"([<,] ?float[,>]|\bfloat\*)")}};
  std::optional<OutputType> found;
  for (const Type& each : types) {
    if (!std::regex_search(name, each.form)) continue;
    if (found) return std::nullopt;
    found = each.type;
  }
  return found;
}

// Each once, also where it was compiled for several architectures.
std::vector<std::string> symbols_in(const std::string& log) {
  static const std::regex form(R"(entry function '(\w+)')");
  std::vector<std::string> symbols;
  for (std::sregex_iterator each(log.begin(), log.end(), form), end; each != end; ++each) {
    const std::string symbol = (*each)[1];
    if (std::ranges::find(symbols, symbol) == symbols.end()) symbols.push_back(symbol);
  }
  return symbols;
}

}  // namespace

void add_log(const std::string& path, const std::string& log) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << log << kLogMark << fmt::format("{:{}}", log.size(), kDigits);
}

std::string log_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto bytes = static_cast<std::size_t>(file ? static_cast<std::streamoff>(file.tellg()) : 0);
  const auto read = [&](std::size_t from, std::size_t count) {
    std::string text(count, '\0');
    file.seekg(static_cast<std::streamoff>(from));
    file.read(text.data(), static_cast<std::streamsize>(count));
    return text;
  };
  if (bytes < kTailBytes) return "";
  const std::string tail = read(bytes - kTailBytes, kTailBytes);
  const std::size_t size = std::strtoull(tail.c_str() + kLogMark.size(), nullptr, 10);
  const bool is_whole = tail.starts_with(kLogMark) && size <= bytes - kTailBytes;
  return is_whole ? read(bytes - kTailBytes - size, size) : "";
}

std::vector<KernelFacts> library_kernel_facts(const std::string& path,
                                              const kernels::Problem& problem,
                                              const std::string& sass) {
  const std::string log = log_of(path);
  std::vector<KernelFacts> all;
  for (const std::string& symbol : symbols_in(log)) {
    const std::string name = demangled(symbol);
    const std::optional<OutputType> type = type_in(name);
    if (type.value_or(problem.output_type) != problem.output_type) continue;
    KernelFacts& facts = all.emplace_back(facts_in(log, symbol));
    facts.name = short_name(name);
    if (type && problem.tokens == 0) {
      facts.instructions = instruction_mix(sass, symbol, nf4::size_in_bytes(*type));
    }
  }
  return all;
}

}  // namespace nf4bench::peer
