// Kernels without host code: their directives, what NVRTC makes of them, and how they are launched.

#include "peer/generic_peer.hpp"
#include "peer/kernel/kernel_program.hpp"
#include "peer/kernel/kernel_source.hpp"
#include "peer/kernel/launch_size.hpp"
#include "peer/kernel/nvrtc.hpp"
#include "peer/peers.hpp"
#include "scratch.hpp"
#include "source_dir.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace nf4bench {
namespace {

using nf4::OutputType;
using peer::KernelSource;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kDecode = R"(#include "nf4bench_kernel.h"

// A thread for each element.
// nf4bench: grid=ceil(elements/256) block=256
template <class T>
__global__ void __launch_bounds__(256)
    decode(const uint8_t* __restrict__ packed, const float* absmax, T* output, int64_t elements,
           int block_shift) {
  const int64_t i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= elements) return;
  const int pair = packed[i >> 1];
  const int code = (i & 1) == 0 ? pair >> 4 : pair & 15;
  output[i] = T(nf4::multiply(nf4::codebook(code), absmax[i >> block_shift]));
}
)";

double value_of(const std::string& text) {
  kernels::Problem problem;
  problem.elements = 1000;
  return peer::evaluate(text, peer::sizes_of(problem, {}));
}

TEST(LaunchSize, IsAnExpressionOfSizes) {
  EXPECT_EQ(value_of("256"), 256.0);
  EXPECT_EQ(value_of("ceil(elements/256)"), 4.0);
  EXPECT_EQ(value_of("min(elements*2,132*(2+6))-1"), 1055.0);
  EXPECT_EQ(value_of("8-2-1"), 5.0);
  EXPECT_EQ(value_of("max(floor(elements/300),1)"), 3.0);
}

TEST(LaunchSize, SaysWhatIsWrong) {
  for (const auto& [text, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "ends too early"},
           {"ceil(elements/2", "ends too early"},
           {"element/2", "\"element\" is no size"},
           {"round(elements)", "there is no round()"},
           {"3 4", "unexpected ' '"},
           {"-1", "unexpected '-'"},
           {std::string(1000, '('), "too many brackets"}}) {
    try {
      value_of(text);
      ADD_FAILURE() << text;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(problem)) << text;
    }
  }
}

KernelSource only_kernel(const std::string& text) {
  const std::vector<KernelSource> kernels = peer::kernels_in(text, "mine.cu");
  EXPECT_THAT(kernels, SizeIs(1));
  return kernels.at(0);
}

TEST(KernelSource, ParametersAreMembersOfTheJob) {
  const KernelSource kernel = only_kernel(kDecode);
  EXPECT_EQ(kernel.name, "decode");
  EXPECT_EQ(kernel.operation, NF4BENCH_PEER_DEQUANTIZE);
  EXPECT_TRUE(kernel.is_template);
  EXPECT_TRUE(kernel.takes_plain);
  EXPECT_FALSE(kernel.takes_nested);
  EXPECT_THAT(kernel.parameters,
              ElementsAre("packed", "absmax", "output", "elements", "block_shift"));
  EXPECT_THAT(kernel.narrow, ElementsAre("block_shift"));
  EXPECT_THAT(kernel.types,
              ElementsAre(OutputType::kFloat16, OutputType::kBfloat16, OutputType::kFloat32));
  EXPECT_THAT(kernel.grid, ElementsAre("ceil(elements/256)"));
}

TEST(KernelSource, TheDirectiveSaysTheRest) {
  const KernelSource kernel = only_kernel(R"(
// nf4bench: grid=ceil(outputs/64),tokens block=32,4 shared=48*1024
// nf4bench: workspace=tokens*outputs*4 dtype=bfloat16,float16 scales=nested
extern "C" __global__ void product(nf4bench_peer_job j, const void* input, unsigned short* output) {}
)");
  EXPECT_EQ(kernel.operation, NF4BENCH_PEER_MATMUL);
  EXPECT_THAT(kernel.parameters, ElementsAre("job", "input", "output"));
  EXPECT_THAT(kernel.grid, ElementsAre("ceil(outputs/64)", "tokens"));
  EXPECT_THAT(kernel.block, ElementsAre("32", "4"));
  EXPECT_EQ(kernel.shared, "48*1024");
  EXPECT_EQ(kernel.workspace, "tokens*outputs*4");
  EXPECT_THAT(kernel.types, ElementsAre(OutputType::kBfloat16, OutputType::kFloat16));
  EXPECT_FALSE(kernel.takes_plain);
  EXPECT_TRUE(kernel.takes_nested);
}

TEST(KernelSource, OnlyCodeCounts) {
  const std::string text = std::string(R"(/* // nf4bench: nonsense
__global__ void in_a_comment() {} */
const char* const kText = "__global__ void in_text( // nf4bench: grid=1";
__global__ void declared(nf4bench_peer_job job);
const int kThousand = 1'000; // '
)") + kDecode;
  EXPECT_EQ(only_kernel(text).name, "decode");
  EXPECT_TRUE(peer::has_directive(kDecode));
  EXPECT_FALSE(peer::has_directive("/* // nf4bench: grid=1 */ // of nf4bench: no"));
}

TEST(KernelSource, WhatMeansNothingIsAnErrorWithItsLine) {
  const std::string directive = "\n// nf4bench: grid=elements block=1\n";
  const std::string kernel = "__global__ void k(nf4bench_peer_job job) {}\n";
  for (const auto& [text, line, problem] : std::vector<std::tuple<std::string, int, std::string>>{
           {kernel, 1, "has no directive above it"},
           {fmt::format("{0}{1}{1}", directive, kernel), 4, "has no directive above it"},
           {"// nf4bench: grid=1\n" + kernel, 1, "needs grid= and block="},
           {"// nf4bench: grid\n" + kernel, 1, "\"grid\" is not KEY=VALUE"},
           {"// nf4bench: threads=256\n" + kernel, 1, "there is no threads="},
           {"// nf4bench: grid=element block=1\n" + kernel, 1, "\"element\" is no size"},
           {"// nf4bench: grid=1,1,1,1 block=1\n" + kernel, 1, "three sizes at most"},
           {directive + "__global__ void k(float* weight) {}", 2, "\"weight\" is no member"},
           {directive + "__global__ void k(int packed) {}", 2, "packed is a pointer"},
           {directive + "__global__ void k(float elements) {}", 2, "elements is an integer"},
           {directive + "__global__ void k(const float* absmax, unsigned short* output) {}", 2,
            "add dtype="},
           {kDecode + directive, 16, "no kernel follows"}}) {
    try {
      peer::kernels_in(text, "mine.cu");
      ADD_FAILURE() << text;
    } catch (const peer::CompileError& error) {
      ASSERT_THAT(error.found(), SizeIs(1));
      EXPECT_EQ(error.found()[0].line, line) << text;
      EXPECT_THAT(error.found()[0].message, HasSubstr(problem)) << text;
    }
  }
}

// What the fake tools were asked to launch.
struct Launched {
  std::vector<std::string> symbols;
  peer::KernelLaunch launch;
  std::vector<std::uint64_t> values;
  int arguments = 0;
};
Launched launched;

peer::CudaTools fake_tools() {
  peer::CudaTools tools;
  tools.load_kernel = [](const std::string& cubin, const char* symbol) -> peer::LoadedKernel {
    EXPECT_EQ(cubin.substr(1, 3), "ELF");
    launched.symbols.emplace_back(symbol);
    return {&launched.symbols, ""};
  };
  tools.launch_kernel = [](const peer::KernelLaunch& launch, CUstream_st*) -> std::string {
    launched.launch = launch;
    launched.values.clear();
    for (int i = 0; i < launched.arguments; ++i) {
      std::memcpy(&launched.values.emplace_back(), launch.arguments[i], sizeof(std::uint64_t));
    }
    return launch.block[0] == 1024 ? "too many resources requested for launch" : "";
  };
  return tools;
}

class KernelFile : public testing::Test {
 protected:
  KernelFile() { setenv("XDG_CACHE_HOME", folder_.path("cache").c_str(), 1); }
  ~KernelFile() override { unsetenv("XDG_CACHE_HOME"); }

  void SetUp() override {
    try {
      peer::nvrtc_facts();
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    launched = {};
  }

  std::string write(const std::string& text) const {
    std::ofstream(folder_.path("mine.cu")) << text;
    return folder_.path("mine.cu");
  }

  std::vector<kernels::Variant> variants_of(const std::string& text,
                                            const std::string& operation = "dequantize") {
    const peer::PeerHost host = {.kind = record::DeviceKind::kCuda,
                                 .operation = operation,
                                 .compute_capability = 90,
                                 .tools = fake_tools()};
    return peer::load_here({"mine", write(text)}, host, strings_);
  }

  test::ScratchFolder folder_;
  std::deque<std::string> strings_;
};

kernels::Job decoding_of(std::int64_t elements) {
  kernels::Job job;
  job.elements = elements;
  job.blocks = (elements + 63) / 64;
  job.block_shift = 6;
  job.output_type = OutputType::kFloat16;
  job.output = &launched;
  return job;
}

TEST_F(KernelFile, IsLaunchedWithWhatItsParametersName) {
  const std::vector<kernels::Variant> variants = variants_of(kDecode);
  ASSERT_THAT(variants, SizeIs(1));
  EXPECT_STREQ(variants[0].name, "mine");
  EXPECT_THAT(launched.symbols, SizeIs(3));
  kernels::Job job = decoding_of(100'000);
  EXPECT_EQ(variants[0].unsupported(job, {}), nullptr);
  launched.arguments = 5;
  variants[0].launch(job, {});
  EXPECT_THAT(launched.launch.grid, ElementsAre(391, 1, 1));
  EXPECT_THAT(launched.launch.block, ElementsAre(256, 1, 1));
  EXPECT_THAT(launched.values,
              ElementsAre(0, 0, reinterpret_cast<std::uintptr_t>(&launched), 100'000, 6));
  job.nested = true;
  EXPECT_THAT(variants[0].unsupported(job, {}), HasSubstr("plain scales"));
}

TEST_F(KernelFile, OffersOneVariantForEachKernel) {
  const std::string kernel = "(nf4bench_peer_job job) {}\n// nf4bench: grid=1 block=1\n";
  const std::string two =
      "#include \"nf4bench_kernel.h\"\n// nf4bench: grid=1 block=1\n__global__ void one" + kernel +
      "__global__ void two(nf4bench_peer_job job, const void* input) {}\n";
  EXPECT_THAT(variants_of(two), SizeIs(1));
  const std::vector<kernels::Variant> products = variants_of(two, "matmul");
  ASSERT_THAT(products, SizeIs(1));
  EXPECT_STREQ(products[0].name, "mine.two");
}

TEST_F(KernelFile, RefusesWhatCannotBeLaunched) {
  const std::string head = "#include \"nf4bench_kernel.h\"\n// nf4bench: ";
  const std::string kernel = "\n__global__ void k(nf4bench_peer_job job, int elements) {}\n";
  const auto reason = [&](const std::string& words, std::int64_t elements) -> std::string {
    const char* const why =
        variants_of(head + words + kernel)[0].unsupported(decoding_of(elements), {});
    return why == nullptr ? "" : why;
  };
  EXPECT_EQ(reason("grid=elements block=32", 64), "");
  EXPECT_THAT(reason("grid=elements/3 block=32", 64), HasSubstr("comes to no launch"));
  EXPECT_THAT(reason("grid=1 block=1025", 64), HasSubstr("comes to no launch"));
  EXPECT_THAT(reason("grid=1 block=32,33", 64), HasSubstr("comes to no launch"));
  EXPECT_THAT(reason("grid=1 block=1 workspace=elements/3", 64), HasSubstr("comes to no size"));
  EXPECT_THAT(reason("grid=1 block=1", std::int64_t{1} << 32), HasSubstr("in 32 bits"));
  EXPECT_THROW(variants_of(head + "grid=1 block=1024" + kernel)[0].launch(decoding_of(64), {}),
               Error);
}

TEST_F(KernelFile, IsKeptUntilItChanges) {
  const std::string path = write(kDecode);
  const std::string first = peer::compiled_library(path, 90);
  EXPECT_EQ(peer::compiled_library(path, 90), first);
  EXPECT_NE(peer::compiled_library(path, 80), first);
  EXPECT_TRUE(peer::is_kernel_program(first));
  EXPECT_FALSE(peer::is_kernel_program(path));
}

TEST_F(KernelFile, HasItsErrorsOnItsOwnLines) {
  std::string text = kDecode;
  text.replace(text.find("output[i]"), 9, "outcome[i]");
  try {
    peer::compiled_library(write(text), 90);
    FAIL();
  } catch (const peer::CompileError& error) {
    ASSERT_THAT(error.found(), SizeIs(1));
    EXPECT_EQ(error.found()[0].line, 13);
    EXPECT_EQ(error.found()[0].file, "mine.cu");
    EXPECT_THAT(error.found()[0].message, HasSubstr("outcome"));
  }
}

TEST_F(KernelFile, TellsWhatTheCompilerSaysOfIt) {
  const std::string program = peer::compiled_library(write(R"(#include "nf4bench_kernel.h"
// nf4bench: grid=1 block=1
__global__ void __maxnreg__(24) spills(nf4bench_peer_job job) {
  __shared__ float kept[100];
  float values[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) values[i] = job.absmax[i * job.blocks];
#pragma unroll
  for (int i = 0; i < 64; ++i) kept[threadIdx.x] += values[i] * values[(i * 7) % 64];
  static_cast<float*>(job.output)[0] = kept[0];
}
)"),
                                                     90);
  const auto all = peer::kernel_facts(program, "", decoding_of(64), {.compute_capability = 90}, "");
  ASSERT_THAT(all, SizeIs(1));
  const peer::KernelFacts& facts = all.front();
  EXPECT_LE(facts.registers, 24);
  EXPECT_GT(facts.registers, 8);
  EXPECT_GT(facts.spill_bytes, 0);
  EXPECT_EQ(facts.shared_bytes, 400);
  ASSERT_TRUE(facts.launch);
  EXPECT_EQ(facts.launch->grid, 1);
  EXPECT_EQ(facts.launch->registers, peer::registers_given(facts.registers));
  EXPECT_EQ(facts.launch->occupancy, 0.5);     // 32 blocks of one warp
  EXPECT_EQ(peer::disassembled(program), "");  // what it writes depends on the job
  EXPECT_THAT(peer::kernel_facts(program, "another", decoding_of(64), {}, ""), IsEmpty());
  EXPECT_THAT(peer::kernel_facts(folder_.path("none"), "", decoding_of(64), {}, ""), IsEmpty());
}

TEST_F(KernelFile, TellsWhatItsMachineCodeHas) {
  const std::string program = peer::compiled_library(write(kDecode), 90);
  const std::string sass = peer::disassembled(program);
  const auto all =
      peer::kernel_facts(program, "", decoding_of(64), {.compute_capability = 90}, sass);
  ASSERT_THAT(all, SizeIs(1));
  const peer::KernelFacts& facts = all.front();
  ASSERT_TRUE(facts.launch);
  EXPECT_EQ(facts.launch->occupancy, 1.0);
  if (sass.empty()) GTEST_SKIP() << "no cuobjdump";
  ASSERT_TRUE(facts.instructions);
  EXPECT_GT(facts.instructions->issued, 20.0);  // an element a thread
  EXPECT_EQ(facts.instructions->tensor, 0.0);
  EXPECT_GE(facts.instructions->global, 3.0);  // a byte, a scale and the element
}

TEST_F(KernelFile, HasNoHostCode) {
  EXPECT_THROW(
      peer::compiled_library(write(std::string(kDecode) + "int main() { return 0; }\n"), 90),
      peer::CompileError);
}

// Those of tests/try are run on a GPU; that they compile, or do not, is seen without one.
TEST_F(KernelFile, TheKernelsToTryCompileAsTheySay) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(NF4BENCH_SOURCE_DIR "/tests/try/kernels")) {
    const std::string path = entry.path().string();
    std::string first;
    std::getline(std::ifstream(path) >> std::ws, first);
    if (!peer::is_kernel_file(path)) continue;
    ++files;
    bool compiles = true;
    try {
      peer::compiled_library(path, 90);
    } catch (const peer::CompileError& error) {
      compiles = false;
      EXPECT_THAT(first, testing::StartsWith("// compile_error")) << error.what();
    }
    EXPECT_EQ(compiles, !first.starts_with("// compile_error")) << path;
  }
  EXPECT_GE(files, 15);
}

}  // namespace
}  // namespace nf4bench
