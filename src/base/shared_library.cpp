#include "base/shared_library.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/stat.h>

namespace nf4bench {
namespace {

// The dynamic linker names the file that it could not load: `path` itself, or one that it needs.
[[noreturn]] void explain_failure(const std::string& path) {
  const char* const said = dlerror();
  const std::string message = said == nullptr ? "no reason given" : said;
  const bool lacks_other = !message.starts_with(path) &&
                           message.find("cannot open shared object file") != std::string::npos;
  throw Error(ErrorKind::kInput, "cannot load {}: {}{}", escaped(path), escaped(message, 400),
              lacks_other ? "; put the folder of what it needs into LD_LIBRARY_PATH" : "");
}

}  // namespace

void require_regular_file(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) {
    throw Error(ErrorKind::kInput, "cannot open {}: {}", escaped(path), std::strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    throw Error(ErrorKind::kInput, "{} is no regular file", escaped(path));
  }
}

SharedLibrary::SharedLibrary(const std::string& path) {
  require_regular_file(path);
  handle_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (handle_ == nullptr) explain_failure(path);
  borrowed_ = handle_.get();
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(borrowed_, symbol);
}

void SharedLibrary::Close::operator()(void* handle) const {
  dlclose(handle);
}

}  // namespace nf4bench
