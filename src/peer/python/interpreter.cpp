#include "peer/python/interpreter.hpp"

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <sstream>

namespace nf4bench::peer {
namespace {

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
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

Api load(const InterpreterFacts& facts) {
  // Extension modules take Python's functions from wherever they are.
  void* const library = dlopen(facts.shared_library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* const said = dlerror();
    throw Error(ErrorKind::kInput,
                fmt::format("cannot load the library of Python {}: {}; {}", facts.version,
                            escaped(said == nullptr ? "no reason given" : said, 400), kAnother));
  }
  Api api;
  find(library, "Py_InitializeEx", api.initialize);
  find(library, "Py_DecodeLocale", api.decode);
  find(library, "Py_SetProgramName", api.set_program_name);
  find(library, "PyRun_SimpleString", api.run);
  find(library, "PyEval_SaveThread", api.release);
  if (api.initialize == nullptr || api.decode == nullptr || api.run == nullptr ||
      api.release == nullptr) {
    throw Error(ErrorKind::kInput, fmt::format("{} is no library of Python 3; {}",
                                               escaped(facts.shared_library), kAnother));
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

}  // namespace

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
    throw Error(ErrorKind::kInput,
                fmt::format("a Python file needs an interpreter, and {} is none (exit code {}); "
                            "install python3, or {}",
                            escaped(program), outcome.exit_code, kAnother));
  }
  if (facts.shared_library.empty()) {
    throw Error(
        ErrorKind::kInput,
        fmt::format("Python {} at {} has no shared library to be loaded; Debian and Ubuntu have it "
                    "in libpython{}, pyenv builds it with PYTHON_CONFIGURE_OPTS=--enable-shared, "
                    "and uv and conda bring it along; {}",
                    facts.version, escaped(facts.executable),
                    facts.version.substr(0, facts.version.rfind('.')), kAnother));
  }
  return facts;
}

void start_interpreter(const InterpreterFacts& facts, const std::string& source) {
  const Api api = load(facts);
  name_program(api, facts);
  api.initialize(0);
  const int status = api.run(source.c_str());
  api.release();
  if (status != 0) {
    throw Error(ErrorKind::kInput, fmt::format("Python {} at {} cannot be used, see above; {}",
                                               facts.version, escaped(facts.executable), kAnother));
  }
}

}  // namespace nf4bench::peer
