// Calls of libnf4 take no memory of the host, once a thread has made its first.

#include "lib/host_call.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
}

namespace {
thread_local int allocations = 0;
thread_local int left = std::numeric_limits<int>::max();  // until there is no memory any more

bool is_out_of_memory() {
  ++allocations;
  return left-- <= 0;
}
}  // namespace

// In place of glibc's, for the library as well.
extern "C" {
__attribute__((visibility("default"))) void* malloc(std::size_t bytes) {
  return is_out_of_memory() ? nullptr : __libc_malloc(bytes);
}
__attribute__((visibility("default"))) void* calloc(std::size_t count, std::size_t bytes) {
  return is_out_of_memory() ? nullptr : __libc_calloc(count, bytes);
}
__attribute__((visibility("default"))) void* realloc(void* memory, std::size_t bytes) {
  return is_out_of_memory() ? nullptr : __libc_realloc(memory, bytes);
}
}

namespace nf4bench::test {
namespace {

TEST(Libnf4Allocation, IsOfTheFirstCallAlone) {
  const HostWeight weight(nf4::make_synthetic({.shape = {300, 1030}}));
  const nf4_weight c = weight.c();
  const HostBuffer decoded(300 * 1030 * 2);
  for (const int threads : {1, 2}) {
    const nf4_device device = cpu_device(threads);
    for (const std::int64_t tokens : {1, 3, 700}) {
      const HostProduct host(c, nf4::OutputType::kBfloat16,
                             std::vector<std::byte>(static_cast<std::size_t>(tokens * 1030) * 2));
      const auto call = [&] {
        EXPECT_EQ(nf4_dequantize(&device, &c, NF4_BFLOAT16, decoded.data(), nullptr), NF4_OK);
        EXPECT_EQ(nf4_linear(&device, &c, &host.product, nullptr), NF4_OK);
      };
      call();
      const int before = allocations;
      EXPECT_GT(before, 0);
      for (int i = 0; i < 3; ++i) call();
      EXPECT_EQ(allocations, before) << threads << " threads, " << tokens << " tokens";
    }
  }
}

// Whatever of a team of threads there is no memory for, the work is done.
TEST(Libnf4Allocation, MayFailWhileThreadsAreMade) {
  const HostWeight weight(nf4::make_synthetic({.shape = {300, 1030}}));
  const nf4_weight c = weight.c();
  const HostBuffer decoded(300 * 1030 * 2);
  for (int begun = 0; begun < 20; ++begun) {
    const nf4_device device = cpu_device(5 + begun % 2);  // a team of another size is a new one
    left = begun;
    const nf4_status status = nf4_dequantize(&device, &c, NF4_BFLOAT16, decoded.data(), nullptr);
    left = std::numeric_limits<int>::max();
    EXPECT_EQ(status, NF4_OK) << begun;
  }
}

}  // namespace
}  // namespace nf4bench::test
