#include "cuda/matmul/cublas.hpp"

#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <limits>
#include <map>

namespace nf4bench::kernels::cuda {
namespace {

// Values of the enumerations in cublas_v2.h and library_types.h.
constexpr int kNoTranspose = 0;
constexpr int kTranspose = 1;
constexpr int kFloat32Sums = 68;          // CUBLAS_COMPUTE_32F
constexpr int kDefaultAlgorithm = -1;     // CUBLAS_GEMM_DEFAULT
constexpr int kKeepFloat32Partials = 16;  // no partial sums in 16 bits

int data_type(OutputType type) {
  switch (type) {
    case OutputType::kFloat16:
      return 2;  // CUDA_R_16F
    case OutputType::kBfloat16:
      return 14;  // CUDA_R_16BF
    case OutputType::kFloat32:
      break;
  }
  return 0;  // CUDA_R_32F
}

struct Cublas {
  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, CUstream_st* stream) = nullptr;
  int (*set_workspace)(void* handle, void* workspace, std::size_t bytes) = nullptr;
  int (*set_math_mode)(void* handle, int mode) = nullptr;
  int (*gemm)(void* handle, int a_form, int b_form, int m, int n, int k, const void* alpha,
              const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
              const void* beta, void* c, int c_type, int ldc, int compute, int algorithm) = nullptr;

  bool is_whole() const {
    return create != nullptr && set_stream != nullptr && set_workspace != nullptr &&
           set_math_mode != nullptr && gemm != nullptr;
  }
};

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

Cublas load() {
  Cublas cublas;
  for (const char* name :
       {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13",
        "/usr/local/cuda/lib64/libcublas.so.12"}) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    find(library, "cublasCreate_v2", cublas.create);
    find(library, "cublasSetStream_v2", cublas.set_stream);
    find(library, "cublasSetWorkspace_v2", cublas.set_workspace);
    find(library, "cublasSetMathMode", cublas.set_math_mode);
    find(library, "cublasGemmEx", cublas.gemm);
    if (cublas.is_whole()) break;
  }
  return cublas;
}

const Cublas& cublas() {
  static const Cublas loaded = load();
  return loaded;
}

// The current device's handle; null when there can be none. Handles live as long as the process.
void* handle_of_device() {
  static std::map<int, void*> handles;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
  const auto [place, is_new] = handles.emplace(device, nullptr);
  if (is_new && cublas().create(&place->second) == 0) {
    cublas().set_math_mode(place->second, kKeepFloat32Partials);
  }
  return place->second;
}

}  // namespace

const char* cublas_unsupported(const Problem& problem) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (problem.tokens > kMost || problem.outputs > kMost || problem.inputs > kMost) {
    return "has a dimension of more than 2^31 - 1; cuBLAS counts in 32 bits";
  }
  if (!cublas().is_whole()) {
    return "found no cuBLAS (libcublas.so.13 or .12); put its folder into LD_LIBRARY_PATH";
  }
  return nullptr;
}

void multiply_by_cublas(const Job& job, const void* weights, void* workspace, CUstream_st* stream) {
  void* const handle = handle_of_device();
  if (handle == nullptr) return;
  const float one = 1.0f;
  const float zero = 0.0f;
  const int type = data_type(job.output_type);
  const int inputs = static_cast<int>(job.inputs);
  const int outputs = static_cast<int>(job.outputs);
  const int form = job.transposed ? kNoTranspose : kTranspose;
  // Setting the stream takes the workspace away. Columns come first in cuBLAS: y^T = W x^T.
  cublas().set_stream(handle, stream);
  cublas().set_workspace(handle, workspace, kCublasWorkspace);
  cublas().gemm(handle, form, kNoTranspose, outputs, static_cast<int>(job.tokens), inputs, &one,
                weights, type, job.transposed ? outputs : inputs, job.input, type, inputs, &zero,
                job.output, type, outputs, kFloat32Sums, kDefaultAlgorithm);
}

}  // namespace nf4bench::kernels::cuda
