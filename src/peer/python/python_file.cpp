#include "peer/python/python_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/format.hpp"
#include "peer/embedded.hpp"
#include "peer/python/interpreter.hpp"
#include "peer/shared_library.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace nf4bench::peer {
namespace {

constexpr double kImportS = 300.0;

// Between here and glue.py, which has the same struct.
struct PythonDoor {
  std::uint32_t job_bytes = sizeof(nf4bench_peer_job);
  std::uint32_t table_bytes = sizeof(nf4bench_peer_table);
  const float* codebook = nullptr;
  // Null when the file cannot be used; then error() says why.
  const nf4bench_peer_table* (*load)(const char* path, double limit_s) = nullptr;
  const char* (*error)() = nullptr;
};

std::uintptr_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

PythonDoor open_door() {
  static const std::array<float, nf4::kCodes> codebook = [] {
    std::array<float, nf4::kCodes> values{};
    for (int code = 0; code < nf4::kCodes; ++code) {
      values[static_cast<std::size_t>(code)] = nf4::codebook_value(code);
    }
    return values;
  }();
  PythonDoor door;
  door.codebook = codebook.data();
  start_interpreter(
      find_interpreter(),
      fmt::format("import ctypes, sys, types\n"
                  "glue = types.ModuleType('nf4bench_glue')\n"
                  "sys.modules['nf4bench_glue'] = glue\n"
                  "text = ctypes.string_at({}, {})\n"
                  "exec(compile(text, 'nf4bench_glue', 'exec'), glue.__dict__)\n"
                  "glue.start({})\n",
                  address_of(kPythonGlue), std::strlen(kPythonGlue), address_of(&door)));
  return door;
}

struct Started {
  PythonDoor door;
  std::string failure;  // empty: it runs
};

// Tried once: an interpreter that could not be started is not to be started again.
const PythonDoor& python() {
  static const Started started = []() -> Started {
    try {
      return {open_door(), ""};
    } catch (const Error& error) {
      return {{}, error.what()};
    }
  }();
  if (!started.failure.empty()) throw Error(ErrorKind::kInput, started.failure);
  return started.door;
}

}  // namespace

double import_limit_s() {
  const char* const said = std::getenv("NF4BENCH_PYTHON_IMPORT_S");
  const double limit_s = said == nullptr ? 0.0 : std::strtod(said, nullptr);
  return limit_s > 0.0 ? limit_s : kImportS;
}

bool is_python_file(const std::string& path) {
  return path.ends_with(".py");
}

const nf4bench_peer_table& python_table(const std::string& path) {
  require_regular_file(path);
  const nf4bench_peer_table* const table = python().load(path.c_str(), import_limit_s());
  if (table == nullptr) {
    throw Error(ErrorKind::kInput,
                fmt::format("{}: {}", escaped(path), printable(python().error())));
  }
  return *table;
}

}  // namespace nf4bench::peer
