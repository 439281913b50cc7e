#include "cpu/matmul/blas_library.hpp"

#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

namespace nf4bench::kernels::cpu {
namespace {

// Values of the C interface to BLAS.
constexpr int kRowMajor = 101;
constexpr int kAsIs = 111;
constexpr int kTransposed = 112;

using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
using SetThreads = void(int threads);

template <class Function>
Function* symbol_of(void* library, const char* name) {
  void* const address = dlsym(library, name);
  Function* function = nullptr;
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(address));
  return function;
}

// Stays loaded. Its own threads would compete with ours, which share the rows of W out.
Sgemm* load() {
  for (const char* const name : {"libopenblas.so.0", "libblas.so.3", "libcblas.so.3"}) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    auto* const found = symbol_of<Sgemm>(library, "cblas_sgemm");
    if (found == nullptr) {
      dlclose(library);
      continue;
    }
    auto* const set_threads = symbol_of<SetThreads>(library, "openblas_set_num_threads");
    if (set_threads != nullptr) set_threads(1);
    return found;
  }
  return nullptr;
}

Sgemm* library() {
  static Sgemm* const found = load();
  return found;
}

}  // namespace

bool has_blas() {
  return library() != nullptr;
}

void sgemm(const SgemmCall& call) {
  const int b_form = call.b_form == SecondMatrix::kAsIs ? kAsIs : kTransposed;
  library()(kRowMajor, kAsIs, b_form, call.m, call.n, call.k, 1.0f, call.a, call.lda, call.b,
            call.ldb, call.beta, call.c, call.ldc);
}

}  // namespace nf4bench::kernels::cpu
