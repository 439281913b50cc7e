#pragma once

namespace nf4bench::kernels::cpu {

// How the second matrix of a product lies.
enum class SecondMatrix { kTransposed, kAsIs };

// c[m, n] = a[m, k] b[n, k]^T or, with b as it is, a[m, k] b[k, n]; all row-major. Leading
// dimensions in floats.
struct SgemmCall {
  int m = 0;
  int n = 0;
  int k = 0;
  const float* a = nullptr;
  int lda = 0;
  const float* b = nullptr;
  int ldb = 0;
  float* c = nullptr;
  int ldc = 0;
  SecondMatrix b_form = SecondMatrix::kTransposed;
  float beta = 0.0f;  // what c holds is multiplied with that and added
};

// Whether there is a BLAS library. It is looked for at run time, by the names under which
// distributions install OpenBLAS and others with a C interface, so that the program needs none to
// be built or installed.
bool has_blas();

// Computes `call` on the caller's thread alone, if the library can be told so, as OpenBLAS can.
void sgemm(const SgemmCall& call);

}  // namespace nf4bench::kernels::cpu
