// A try as a line of JSON, with everything that one may hold.

#include "trying/attempt.hpp"

#include "report/golden_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nf4bench {
namespace {

using trying::Attempt;
using trying::Status;
using trying::TriedCell;

constexpr char kGolden[] = "../../trying/golden/try.json";

record::Launch a_launch(std::int64_t registers) {
  return {.grid = 4096,
          .block = 256,
          .registers = registers,
          .shared_bytes = 1024,
          .waves = 3.88,
          .occupancy = 0.5,
          .occupancy_limit = record::Resource::kRegisters};
}

peer::KernelFacts a_kernel(const std::string& name) {
  return {
      .name = name,
      .registers = 62,
      .spill_bytes = 8,
      .shared_bytes = 512,
      .launch = a_launch(64),
      .instructions = peer::InstructionMix{
          .issued = 6.25, .tensor = 0.5, .fma = 1.0, .alu = 3.5, .shared = 0.5, .global = 0.25}};
}

record::Counters some_counters() {
  return {.kernels = 1,
          .seconds = 2e-5,
          .dram_fraction = 0.91,
          .dram_bytes_read = 8'650'752,
          .dram_bytes_written = 33'554'432,
          .l2_fraction = 0.4,
          .l2_hit_fraction = 0.6,
          .shared_conflicts = 10,
          .shared_wavefronts = 1000,
          .issue_fraction = 0.3,
          .tensor_fraction = 0.1,
          .alu_fraction = 0.2,
          .warps_fraction = 0.45,
          .instructions = 3'276'800,
          .stalls = {{"long_scoreboard", 8.5}},
          .issue_cycles = 12.0,
          .launch = a_launch(64),
          .limit = record::Limit::kDram,
          .judgement = "DRAM limits it: 91 % of its peak",
          .unavailable = "two counters were refused"};
}

TriedCell a_cell() {
  const statistics::Interval interval = {0.9, 1.1};
  TriedCell cell;
  cell.variant = "wide";
  cell.operation = "matmul";
  cell.shape = {4096, 4096};
  cell.blocksize = 64;
  cell.nested = true;
  cell.output_type = nf4::OutputType::kBfloat16;
  cell.tokens = 8;
  cell.status = Status::kWrong;
  cell.reason = "1 of 16777216 elements differ";
  cell.median_s = 1e-5;
  cell.ci95 = {0.9e-5, 1.1e-5};
  cell.bytes_per_s = 4e12;
  cell.flops_per_s = 2.5e13;
  cell.fraction_of_copy = 0.97;
  cell.fraction_of_roof = 0.8;
  cell.fastest = {"fused", 0.98, interval};
  cell.baseline = {"decode_cublas", 4.5, interval};
  cell.last = {"0123456789ab", 1.02, interval};
  cell.disturbed = true;
  cell.mismatches = 1;
  cell.max_error = 0.002;
  cell.first_wrong = {.element = 4097,
                      .row = 1,
                      .column = 1,
                      .block = 64,
                      .nibble = 7,
                      .scale = 0.5,
                      .wanted_bits = "0x3c00",
                      .got_bits = "0x3c01",
                      .wanted = 1.0,
                      .got = 1.5,
                      .pattern = record::WrongPattern::kRounding};
  cell.kernel = a_kernel("");
  cell.kernels = {a_kernel("decode<float>")};
  cell.counters = some_counters();
  cell.hint = "it spills 8 bytes a thread to memory";
  return cell;
}

Attempt a_try() {
  Attempt attempt;
  attempt.id = "ba9876543210";
  attempt.at = "2026-03-01T12:00:00Z";
  attempt.file = "mine.cu";
  attempt.sha256 = std::string(64, 'a');
  attempt.solves = {"mine", "nf4_product"};
  attempt.version = "0.1.0";
  attempt.device = "NVIDIA H200";
  attempt.status = Status::kWrong;
  attempt.reason = "1 of 16777216 elements differ";
  attempt.compile_s = 1.5;
  attempt.errors = {{.file = "mine.cu", .line = 5, .column = 9, .message = "expected a ;"}};
  attempt.program = "/home/me/.cache/nf4bench/peers/aa.so";
  attempt.last = "0123456789ab";
  attempt.cells = {a_cell()};
  attempt.sanitizer = {{{.tool = "memcheck",
                         .kind = "Invalid __global__ write of size 4 bytes",
                         .kernel = "wide(job)",
                         .file = "mine.cu",
                         .line = 6,
                         .thread = "(0,0,0)",
                         .block = "(1,0,0)",
                         .address = "0x7f6510c00001 is misaligned",
                         .times = 3}},
                       "racecheck did not start"};
  return attempt;
}

// docs/try.schema.json is held to the same file.
TEST(TryLine, HasEverything) {
  expect_golden(kGolden, trying::to_json(a_try()) + "\n");
}

TEST(TryLine, IsReadAsItWasWritten) {
  const std::string line = trying::to_json(a_try());
  EXPECT_EQ(trying::to_json(trying::attempt_from_json(line, "tries.jsonl")), line);
}

TEST(TryLine, OfBeforeIsReadWithoutWhatCameLater) {
  nlohmann::json line = nlohmann::json::parse(trying::to_json(a_try()));
  nlohmann::json& cell = line["cells"][0];
  for (const char* const name : {"solution", "sanitizer"}) line.erase(name);
  for (const char* const name : {"disturbed", "max_error", "kernels", "counters", "hint"}) {
    cell.erase(name);
  }
  for (const char* const name : {"name", "launch", "instructions_per_element"}) {
    cell["kernel"].erase(name);
  }
  const Attempt attempt = trying::attempt_from_json(line.dump(), "tries.jsonl");
  ASSERT_EQ(attempt.cells.size(), 1u);
  ASSERT_TRUE(attempt.cells[0].kernel);
  EXPECT_EQ(attempt.cells[0].kernel->registers, 62);
  EXPECT_FALSE(attempt.cells[0].kernel->launch);
  EXPECT_THAT(attempt.cells[0].kernels, testing::IsEmpty());
  cell.erase("kernel");
  EXPECT_FALSE(trying::attempt_from_json(line.dump(), "tries.jsonl").cells[0].kernel);
}

}  // namespace
}  // namespace nf4bench
