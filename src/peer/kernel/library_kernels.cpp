#include "peer/kernel/library_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <fstream>
#include <memory>
#include <optional>
#include <regex>

namespace nf4bench::peer {
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
