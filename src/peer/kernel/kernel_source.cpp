#include "peer/kernel/kernel_source.hpp"

#include "base/text.hpp"
#include "peer/kernel/launch_size.hpp"
#include "peer/peer_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace nf4bench::peer {
namespace {

using nf4::OutputType;

constexpr std::string_view kMark = "nf4bench:";
constexpr std::size_t kMostDimensions = 3;
constexpr std::array kNarrow = {"int", "unsigned", "int32_t", "uint32_t"};

[[noreturn]] void fail(const std::string& file, int line, const std::string& problem) {
  std::string place = fmt::format("{}({}): error: {}", file, line, problem);
  throw CompileError(fmt::format("{} does not compile: {}", escaped(file), printable(place)),
                     {{.file = file, .line = line, .message = problem}}, place + '\n');
}

struct Directive {
  int line = 0;
  std::string words;
};

// A file's code, its comments and literals blanked, and its directives.
struct Stripped {
  std::string code;
  std::vector<Directive> directives;
};

std::size_t end_of_literal(const std::string& text, std::size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

// Digits may be parted by '.
bool begins_literal(const std::string& text, std::size_t at) {
  if (text[at] == '"') return true;
  return text[at] == '\'' &&
         (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0);
}

std::size_t end_of_comment(const std::string& text, std::size_t at) {
  const bool is_line = text[at + 1] == '/';
  const std::size_t end = text.find(is_line ? "\n" : "*/", at + 2);
  if (end == std::string::npos) return text.size();
  return is_line ? end : end + 2;
}

int line_at(const std::string& text, std::size_t at) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
}

Stripped strip(const std::string& text) {
  Stripped stripped;
  std::string& code = stripped.code = text;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_comment =
        text[at] == '/' && at + 1 < text.size() && (text[at + 1] == '/' || text[at + 1] == '*');
    if (!is_comment && !begins_literal(text, at)) {
      ++at;
      continue;
    }
    const std::size_t end = is_comment ? end_of_comment(text, at) : end_of_literal(text, at);
    const std::size_t first = text.find_first_not_of(" \t", at + 2);
    if (is_comment && text[at + 1] == '/' && first < end &&
        text.compare(first, kMark.size(), kMark) == 0) {
      const std::size_t from = first + kMark.size();
      stripped.directives.push_back({line_at(text, at), text.substr(from, end - from)});
    }
    for (; at < end; ++at) {
      if (text[at] != '\n') code[at] = ' ';
    }
  }
  return stripped;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '<' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == ']') --depth;
    if (c == separator && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// What was found of a kernel in the code.
struct Found {
  std::size_t at = 0;  // where it begins
  std::string name;
  std::string parameters;
  std::string type_parameter;  // of a template
  bool is_definition = true;
};

// "T" of "template <class T>"; empty: it is no template.
std::string type_parameter_before(const std::string& code, std::size_t at) {
  static const std::regex kTemplate(R"(template\s*<\s*(?:class|typename)\s+(\w+)\s*>\s*$)");
  const std::size_t from = code.find_last_of(";}", at);
  const std::string before = code.substr(from == std::string::npos ? 0 : from + 1,
                                         at - (from == std::string::npos ? 0 : from + 1));
  std::smatch match;
  return std::regex_search(before, match, kTemplate) ? match[1].str() : "";
}

// `at` is behind "__global__".
Found found_at(const std::string& code, std::size_t at) {
  static const std::regex kName(R"((\w+)\s*$)");
  Found found;
  found.at = at;
  const std::size_t begin = code.rfind("__global__", at);
  found.type_parameter = type_parameter_before(code, begin);
  while (true) {
    const std::size_t open = code.find('(', at);
    if (open == std::string::npos) return found;
    const std::string before = code.substr(at, open - at);
    std::size_t close = open;
    for (int depth = 0; close < code.size(); ++close) {
      if (code[close] == '(') ++depth;
      if (code[close] == ')' && --depth == 0) break;
    }
    if (close >= code.size()) return found;
    std::smatch match;
    const bool is_named = std::regex_search(before, match, kName);
    if (is_named && !match[1].str().starts_with("__")) {
      found.name = match[1];
      found.parameters = code.substr(open + 1, close - open - 1);
      const std::size_t next = code.find_first_not_of(" \n\t", close + 1);
      found.is_definition = next != std::string::npos && code[next] == '{';
      return found;
    }
    at = close + 1;  // of __launch_bounds__ or another attribute
  }
}

std::vector<Found> found_in(const std::string& code) {
  static const std::regex kGlobal(R"(\b__global__\b)");
  std::vector<Found> all;
  for (auto i = std::sregex_iterator(code.begin(), code.end(), kGlobal);
       i != std::sregex_iterator(); ++i) {
    all.push_back(found_at(code, static_cast<std::size_t>(i->position() + i->length())));
  }
  return all;
}

// One parameter, its type without const and __restrict__.
struct Parameter {
  std::string type;
  std::string name;
};

Parameter parameter_of(const std::string& text) {
  static const std::regex kQualifier(
      R"(\b(const|volatile|__restrict__|__restrict|__grid_constant__|std)\b|::)");
  static const std::regex kParts(R"(^(.*?)\s*(\w+)\s*$)");
  std::string plain = std::regex_replace(text, kQualifier, " ");
  std::ranges::replace(plain, '\n', ' ');
  std::smatch match;
  if (!std::regex_match(plain, match, kParts)) return {};
  std::string type = std::regex_replace(match[1].str(), std::regex(R"(\s+)"), " ");
  type = std::regex_replace(type, std::regex(R"(^ | $| (?=\*))"), "");
  return {type, match[2]};
}

std::vector<OutputType> all_types() {
  return {OutputType::kFloat16, OutputType::kBfloat16, OutputType::kFloat32};
}

// What an output of `type` can hold; empty: the type does not say.
std::vector<OutputType> types_of_output(const std::string& type,
                                        const std::string& type_parameter) {
  if (type == "void*" || (!type_parameter.empty() && type == type_parameter + '*')) {
    return all_types();
  }
  if (type == "half*" || type == "__half*") return {OutputType::kFloat16};
  if (type == "nv_bfloat16*" || type == "__nv_bfloat16*") return {OutputType::kBfloat16};
  if (type == "float*") return {OutputType::kFloat32};
  return {};
}

// Reads what a directive says of a kernel.
class DirectiveReader {
 public:
  DirectiveReader(const std::string& file, KernelSource& kernel) : file_(file), kernel_(kernel) {}

  void read(const Directive& directive) {
    line_ = directive.line;
    std::istringstream words(directive.words);
    for (std::string word; words >> word;) {
      const std::size_t equal = word.find('=');
      if (equal == std::string::npos) refuse(fmt::format("\"{}\" is not KEY=VALUE", word));
      read(word.substr(0, equal), word.substr(equal + 1));
    }
  }

 private:
  void read(const std::string& key, const std::string& value) {
    if (key == "grid") {
      kernel_.grid = sizes(value);
    } else if (key == "block") {
      kernel_.block = sizes(value);
    } else if (key == "shared") {
      kernel_.shared = expression(value);
    } else if (key == "workspace") {
      kernel_.workspace = expression(value);
    } else if (key == "operation") {
      kernel_.operation =
          static_cast<int>(one_of(key, value, {kPeerOperations.begin(), kPeerOperations.end()}));
    } else if (key == "scales") {
      const std::size_t which = one_of(key, value, {"plain", "nested", "both"});
      kernel_.takes_plain = which != 1;
      kernel_.takes_nested = which != 0;
    } else if (key == "dtype") {
      kernel_.types = types(value);
    } else {
      refuse(
          fmt::format("there is no {}=; there are grid, block, shared, workspace, operation, "
                      "scales and dtype",
                      key));
    }
  }

  // Which of the words it is.
  std::size_t one_of(const std::string& key, const std::string& value,
                     const std::vector<std::string>& words) const {
    const auto found = std::ranges::find(words, value);
    if (found == words.end()) refuse(fmt::format("{}= is one of {}", key, fmt::join(words, ", ")));
    return static_cast<std::size_t>(found - words.begin());
  }

  std::vector<OutputType> types(const std::string& value) const {
    std::vector<OutputType> found;
    for (const std::string& word : split(value, ',')) {
      found.push_back(all_types()[one_of("dtype", word, {"float16", "bfloat16", "float32"})]);
    }
    return found;
  }

  std::vector<std::string> sizes(const std::string& value) const {
    std::vector<std::string> found = split(value, ',');
    if (found.size() > kMostDimensions) refuse("a grid and a block have three sizes at most");
    for (const std::string& each : found) expression(each);
    return found;
  }

  std::string expression(const std::string& text) const {
    try {
      evaluate(text, Sizes{});
    } catch (const std::invalid_argument& error) {
      refuse(
          fmt::format("\"{}\": {}; sizes are {}", text, error.what(), fmt::join(kSizeNames, ", ")));
    }
    return text;
  }

  [[noreturn]] void refuse(const std::string& problem) const { fail(file_, line_, problem); }

  const std::string& file_;
  KernelSource& kernel_;
  int line_ = 0;
};

bool has(const std::vector<std::string>& names, const char* name) {
  return std::ranges::find(names, name) != names.end();
}

// What the parameters say that no directive needs to.
void infer(KernelSource& kernel) {
  const std::vector<std::string>& names = kernel.parameters;
  kernel.operation = has(names, "ids")     ? NF4BENCH_PEER_EXPERTS
                     : has(names, "input") ? NF4BENCH_PEER_MATMUL
                                           : NF4BENCH_PEER_DEQUANTIZE;
  if (has(names, "job")) return;
  kernel.takes_plain = has(names, "absmax");
  kernel.takes_nested = has(names, "absmax_codes");
}

void take_parameter(KernelSource& kernel, const Parameter& parameter, const Found& found,
                    const std::string& file) {
  kernel.parameters.push_back(parameter.name);
  if (std::ranges::find(kNarrow, parameter.type) != kNarrow.end()) {
    kernel.narrow.push_back(parameter.name);
  }
  if (parameter.type == "nf4bench_peer_job") {
    kernel.parameters.back() = "job";
    kernel.types = all_types();
    return;
  }
  const std::optional<FieldKind> kind = field_kind(parameter.name);
  if (!kind) {
    fail(file, kernel.line,
         fmt::format("{}: \"{}\" is no member of nf4bench_peer_job, from which parameters have "
                     "their names",
                     kernel.name, parameter.name));
  }
  const bool is_pointer = parameter.type.ends_with('*');
  const bool is_float = parameter.type == "float";
  if (is_pointer != (*kind == FieldKind::kPointer) || is_float != (*kind == FieldKind::kFloat)) {
    fail(file, kernel.line,
         fmt::format("{}: {} is {}", kernel.name, parameter.name,
                     *kind == FieldKind::kPointer   ? "a pointer"
                     : *kind == FieldKind::kInteger ? "an integer"
                                                    : "a float"));
  }
  if (parameter.name == "output") {
    kernel.types = types_of_output(parameter.type, found.type_parameter);
  }
}

KernelSource kernel_of(const Found& found, const std::vector<Directive>& directives,
                       const std::string& file, int line) {
  KernelSource kernel;
  kernel.name = found.name;
  kernel.line = directives.empty() ? line : directives.front().line;
  kernel.is_template = !found.type_parameter.empty();
  if (directives.empty()) {
    fail(file, line,
         fmt::format("{} has no directive above it: // nf4bench: grid=ceil(elements/256) block=256",
                     found.name.empty() ? "a kernel" : found.name));
  }
  for (const std::string& text : split(found.parameters, ',')) {
    if (text.find_first_not_of(" \n\t") == std::string::npos) continue;
    take_parameter(kernel, parameter_of(text), found, file);
  }
  infer(kernel);
  DirectiveReader reader(file, kernel);
  for (const Directive& directive : directives) reader.read(directive);
  if (kernel.grid.empty() || kernel.block.empty()) {
    fail(file, kernel.line, fmt::format("{} needs grid= and block=", kernel.name));
  }
  if (kernel.types.empty()) {
    fail(file, kernel.line,
         fmt::format("{}: the output's type does not say what it holds; add dtype=float16, "
                     "bfloat16 or float32",
                     kernel.name));
  }
  return kernel;
}

}  // namespace

bool has_directive(const std::string& text) {
  return text.find(kMark) != std::string::npos && !strip(text).directives.empty();
}

std::vector<KernelSource> kernels_in(const std::string& text, const std::string& file) {
  const Stripped stripped = strip(text);
  std::vector<KernelSource> kernels;
  auto directive = stripped.directives.begin();
  for (const Found& found : found_in(stripped.code)) {
    if (!found.is_definition) continue;
    const int line = line_at(stripped.code, found.at);
    std::vector<Directive> own;
    while (directive != stripped.directives.end() && directive->line <= line) {
      own.push_back(*directive++);
    }
    kernels.push_back(kernel_of(found, own, file, line));
  }
  if (directive != stripped.directives.end()) {
    fail(file, directive->line, "no kernel follows this directive");
  }
  return kernels;
}

}  // namespace nf4bench::peer
