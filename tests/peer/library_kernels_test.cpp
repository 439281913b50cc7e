// Kernels that host code launches: what nvcc and its disassembler tell of those of a library.

#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "peer/kernel/kernel_facts.hpp"
#include "peer/kernel/kernel_program.hpp"
#include "peer/source_file.hpp"
#include "scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace nf4bench {
namespace {

using nf4::OutputType;
using peer::KernelFacts;
using testing::ElementsAre;
using testing::Field;
using testing::SizeIs;

// As nvcc says it of a kernel of 14 registers more than the last one.
std::string log_with(const std::vector<std::string>& symbols) {
  std::string log = "ptxas info    : 0 bytes gmem\n";
  int registers = 0;
  for (const std::string& symbol : symbols) {
    log += "ptxas info    : Compiling entry function '" + symbol + "' for 'sm_90a'\n";
    log += "ptxas info    : Function properties for " + symbol + "\n";
    log += "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n";
    log +=
        "ptxas info    : Used " + std::to_string(registers += 14) + " registers, 32 bytes smem\n";
  }
  return log;
}

kernels::Problem decoding_to(OutputType type) {
  kernels::Problem problem;
  problem.elements = 64;
  problem.output_type = type;
  return problem;
}

class LibraryKernels : public testing::Test {
 protected:
  std::string library_with(const std::string& log) const {
    std::string path = folder_.path("library.so");
    std::ofstream(path) << "some code";
    peer::add_log(path, log);
    return path;
  }

  std::vector<std::string> names_of(const std::vector<std::string>& symbols, OutputType type) {
    std::vector<std::string> names;
    const std::string path = library_with(log_with(symbols));
    for (const KernelFacts& each : peer::library_kernel_facts(path, decoding_to(type), "")) {
      names.push_back(each.name);
    }
    return names;
  }

  test::ScratchFolder folder_;
};

TEST_F(LibraryKernels, ALogStandsBehindItsLibrary) {
  EXPECT_EQ(peer::log_of(library_with("two\nlines")), "two\nlines");
  EXPECT_EQ(peer::log_of(library_with("")), "");
  EXPECT_EQ(peer::log_of(folder_.path("none")), "");
  std::ofstream(folder_.path("other")) << "nf4bench log\n\nnf4bench log 9999999999";
  EXPECT_EQ(peer::log_of(folder_.path("other")), "");
}

TEST_F(LibraryKernels, HaveTheirNamesAndWhatTheCompilerSays) {
  const std::string path = library_with(log_with({"_Z6decode17nf4bench_peer_job", "plain_c"}));
  const auto facts = peer::library_kernel_facts(path, decoding_to(OutputType::kFloat16), "");
  ASSERT_THAT(facts, ElementsAre(Field(&KernelFacts::name, "decode"),
                                 Field(&KernelFacts::name, "plain_c")));
  EXPECT_EQ(facts[1].registers, 28);
  EXPECT_EQ(facts[1].spill_bytes, 4);
  EXPECT_EQ(facts[1].shared_bytes, 32);
  EXPECT_FALSE(facts[1].launch) << "which its host code knows alone";
}

TEST_F(LibraryKernels, OfSeveralArchitecturesAreTheSame) {
  EXPECT_THAT(names_of({"decode", "decode"}, OutputType::kFloat16), ElementsAre("decode"));
}

TEST_F(LibraryKernels, AreThoseOfTheTypeThatTheirNamesSay) {
  const std::vector<std::string> symbols = {"_Z6decodeI6__halfEv17nf4bench_peer_jobPT_",
                                            "_Z6decodeI13__nv_bfloat16Ev17nf4bench_peer_jobPT_",
                                            "_ZN12_GLOBAL__N_16decodeIfEEv17nf4bench_peer_jobPT_",
                                            "_Z3intPKfP6__halfi"};
  EXPECT_THAT(names_of(symbols, OutputType::kFloat16), ElementsAre("decode<__half>", "int"));
  EXPECT_THAT(names_of(symbols, OutputType::kBfloat16), ElementsAre("decode<__nv_bfloat16>"));
  EXPECT_THAT(names_of(symbols, OutputType::kFloat32), ElementsAre("decode<float>"));
}

TEST_F(LibraryKernels, WithTwoTypesOrNoneMayBeOfAny) {
  for (const OutputType type : nf4::kOutputTypes) {
    EXPECT_THAT(names_of({"_Z4bothI6__halffEvPT_PT0_", "_Z4nonePKfPvi"}, type),
                ElementsAre("both<__half, float>", "none"));
  }
}

constexpr const char* kDecode = R"(#include "nf4bench_kernel.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
template <class T>
__global__ void decode(nf4bench_peer_job job, T* output) {
  const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
  if (i < job.elements) output[i] = T(nf4::value(job, i));
}
template <class T>
static void launch(const nf4bench_peer_job& job, void* stream) {
  const auto grid = static_cast<unsigned>((job.elements + 255) / 256);
  decode<<<grid, 256, 0, static_cast<cudaStream_t>(stream)>>>(job, static_cast<T*>(job.output));
}
static int launch_any(const nf4bench_peer_job* job, void* stream) {
  if (job->output_type == NF4BENCH_PEER_FLOAT16) launch<__half>(*job, stream);
  if (job->output_type == NF4BENCH_PEER_BFLOAT16) launch<__nv_bfloat16>(*job, stream);
  if (job->output_type == NF4BENCH_PEER_FLOAT32) launch<float>(*job, stream);
  return cudaGetLastError();
}
NF4BENCH_CUDA_DECODE(launch_any)
)";

TEST_F(LibraryKernels, OfASourceFileAreKnownByTheirMachineCode) {
  setenv("XDG_CACHE_HOME", folder_.path("cache").c_str(), 1);
  std::ofstream(folder_.path("mine.cu")) << kDecode;
  std::string library;
  try {
    library = peer::compiled_library(folder_.path("mine.cu"), 90);
  } catch (const peer::CompileError&) {
    throw;
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_NO_THROW(SharedLibrary{library}) << "with its log behind it";
  const std::string sass = peer::disassembled(library);
  for (const OutputType type : nf4::kOutputTypes) {
    kernels::Problem problem = decoding_to(type);
    const auto facts = peer::kernel_facts(library, "", problem, {}, sass);
    ASSERT_THAT(facts, SizeIs(1));
    EXPECT_GT(facts[0].registers, 8);
    EXPECT_EQ(facts[0].spill_bytes, 0);
    if (sass.empty()) continue;
    ASSERT_TRUE(facts[0].instructions);
    EXPECT_GT(facts[0].instructions->issued, 20.0);  // an element a thread
    EXPECT_GE(facts[0].instructions->global, 3.0);   // a byte, a scale and the element
    problem.tokens = 1;
    EXPECT_FALSE(peer::kernel_facts(library, "", problem, {}, sass).at(0).instructions);
  }
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace nf4bench
