#include "host_call.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace nf4bench::test {
namespace {

// A weight that needs more than one thread, made without those of nf4bench.
class Decoder {
 public:
  nf4_status decode(int threads) {
    const nf4_device device = cpu_device(threads);
    nf4_weight weight = {};
    weight.struct_bytes = sizeof(weight);
    weight.blocksize = kBlocksize;
    weight.outputs = kRows;
    weight.inputs = kRows;
    weight.packed = packed_.as<std::uint8_t>();
    weight.absmax = absmax_.as<float>();
    return nf4_dequantize(&device, &weight, NF4_FLOAT32, values_.data(), nullptr);
  }

 private:
  static constexpr std::size_t kRows = 512;
  static constexpr int kBlocksize = 64;
  HostBuffer packed_{kRows * kRows / 2};
  HostBuffer absmax_{kRows * kRows / kBlocksize * sizeof(float)};
  HostBuffer values_{kRows * kRows * sizeof(float)};
};

std::int64_t threads_of_this_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

long processors() {
  return sysconf(_SC_NPROCESSORS_CONF);
}

void decode_without_end() {
  std::thread([] {
    for (Decoder decoder;;) decoder.decode(2);
  }).detach();
}

// Ends as its child does.
void decode_in_a_child_too() {
  constexpr unsigned kPatienceS = 20;
  Decoder decoder;
  decoder.decode(2);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatienceS);
    const bool has_decoded =
        decoder.decode(2) == NF4_OK && threads_of_this_process() == std::min(2L, processors());
    std::exit(has_decoded ? 7 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

TEST(Libnf4Threads, AProgramMayEndWhileAnotherThreadDecodes) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int run = 0; run < 25; ++run) {
    EXPECT_EXIT(
        {
          decode_without_end();
          Decoder().decode(2);
          std::exit(7);
        },
        testing::ExitedWithCode(7), "");
  }
}

// Those of the library would end the program if they took a signal that it waits for.
TEST(Libnf4Threads, LeaveSignalsToTheProgram) {
  Decoder decoder;
  ASSERT_EQ(decoder.decode(2), NF4_OK);
  sigset_t wanted;
  sigset_t before;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &wanted, &before), 0);
  ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
  int taken = 0;
  EXPECT_EQ(sigwait(&wanted, &taken), 0);
  EXPECT_EQ(taken, SIGUSR1);
  EXPECT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
}

TEST(Libnf4Threads, AreNotMoreThanTheMachineHasProcessors) {
  const std::int64_t before = threads_of_this_process();
  EXPECT_EQ(Decoder().decode(400), NF4_OK);
  EXPECT_LE(threads_of_this_process(), before + processors());
}

TEST(Libnf4Threads, AChildOfAForkHasItsOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(decode_in_a_child_too(), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace nf4bench::test
