#include "peer/python/python_file.hpp"

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "base/text.hpp"
#include "nf4/format.hpp"
#include "peer/embedded.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sstream>

namespace nf4bench::peer {
namespace {

// An interpreter of this machine, as it describes itself.
struct InterpreterFacts {
  std::string executable;      // a virtual environment's own where it is one
  std::string version;         // "3.11.2"
  std::string shared_library;  // of its code, to be loaded; empty when it has none
  std::string home;            // its folders, as PYTHONHOME takes them
};

constexpr double kPatienceS = 60.0;  // with an interpreter that is asked about itself

// Asked in isolation (-I): Python would import a sysconfig.py of the current folder otherwise. The
// folders are those where distributions, environments and builds of one's own keep the library.
constexpr const char* kQuestions = R"(
import os, sys, sysconfig
ask = sysconfig.get_config_var
folders = [ask('LIBDIR'), os.path.join(ask('LIBDIR') or '', ask('MULTIARCH') or ''), ask('LIBPL'),
           os.path.join(sys.base_prefix, 'lib')]
names = [name for name in (ask('INSTSONAME'), ask('LDLIBRARY')) if name and '.so' in name]
found = [os.path.join(folder, name) for folder in folders for name in names if folder]
found = [path for path in found if os.path.isfile(path)]
print(sys.executable)
print('%d.%d.%d' % sys.version_info[:3])
print(found[0] if found else '')
print(sys.base_prefix + ':' + sys.base_exec_prefix)
)";

constexpr const char* kAnother = "NF4BENCH_PYTHON=/path/to/python3 names another interpreter";

// Functions of Python's stable interface, of which no other is used.
struct Api {
  void (*initialize)(int with_signals) = nullptr;
  wchar_t* (*decode)(const char* text, std::size_t* length) = nullptr;
  void (*set_program_name)(const wchar_t* name) = nullptr;  // not in every version
  int (*run)(const char* source) = nullptr;
  void* (*release)() = nullptr;
};

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Api load(const InterpreterFacts& facts) {
  // Extension modules take Python's functions from wherever they are.
  void* const library = dlopen(facts.shared_library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const said = dlerror();
    throw Error(ErrorKind::kInput, "cannot load the library of Python {}: {}; {}", facts.version,
                escaped(said == nullptr ? "no reason given" : said, 400), kAnother);
  }
  Api api;
  find_function(library, "Py_InitializeEx", api.initialize);
  find_function(library, "Py_DecodeLocale", api.decode);
  find_function(library, "Py_SetProgramName", api.set_program_name);
  find_function(library, "PyRun_SimpleString", api.run);
  find_function(library, "PyEval_SaveThread", api.release);
  if (api.initialize == nullptr || api.decode == nullptr || api.run == nullptr ||
      api.release == nullptr) {
    throw Error(ErrorKind::kInput, "{} is no library of Python 3; {}",
                escaped(facts.shared_library), kAnother);
  }
  return api;
}

// Python finds its modules, those of a virtual environment too, by where its program lies.
void name_program(const Api& api, const InterpreterFacts& facts) {
  if (api.set_program_name != nullptr) {
    api.set_program_name(api.decode(facts.executable.c_str(), nullptr));
  } else {
    setenv("PYTHONHOME", facts.home.c_str(), 0);
  }
}

// Asks python3, or what NF4BENCH_PYTHON names. Throws Error(kInput) when it cannot be asked.
InterpreterFacts find_interpreter() {
  const char* const named = std::getenv("NF4BENCH_PYTHON");
  const std::string program = named == nullptr || *named == '\0' ? "python3" : named;
  const std::atomic<bool> never = false;
  const ChildOutcome outcome = run_children({{.arguments = {program, "-I", "-c", kQuestions},
                                              .environment = {},
                                              .is_this_program = false}},
                                            {.interrupted = never, .silence_s = kPatienceS})
                                   .front();
  std::istringstream lines(outcome.out);
  InterpreterFacts facts;
  std::getline(lines, facts.executable);
  std::getline(lines, facts.version);
  std::getline(lines, facts.shared_library);
  std::getline(lines, facts.home);
  if (outcome.exit_code != 0 || facts.home.empty()) {
    throw Error(
        ErrorKind::kInput,
        "a Python file needs an interpreter, and {} is none (exit code {}); install python3, or {}",
        escaped(program), outcome.exit_code, kAnother);
  }
  if (facts.shared_library.empty()) {
    throw Error(ErrorKind::kInput,
                "Python {} at {} has no shared library to be loaded; Debian and Ubuntu have it in "
                "libpython{}, pyenv builds it with PYTHON_CONFIGURE_OPTS=--enable-shared, and uv "
                "and conda bring it along; {}",
                facts.version, escaped(facts.executable),
                facts.version.substr(0, facts.version.rfind('.')), kAnother);
  }
  return facts;
}

// Loads the interpreter's library into this process, starts it and has it run `source`. It is never
// stopped. From then on it is reached by callbacks that `source` has made, from any thread.
void start_interpreter(const InterpreterFacts& facts, const std::string& source) {
  const Api api = load(facts);
  name_program(api, facts);
  api.initialize(0);
  const int status = api.run(source.c_str());
  api.release();
  if (status != 0) {
    throw Error(ErrorKind::kInput, "Python {} at {} cannot be used, see above; {}", facts.version,
                escaped(facts.executable), kAnother);
  }
}

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
    throw Error(ErrorKind::kInput, "{}: {}", escaped(path), printable(python().error()));
  }
  return *table;
}

}  // namespace nf4bench::peer
