#include "bitsandbytes/bitsandbytes.hpp"

#include <cstdint>

namespace nf4bench::bitsandbytes {
namespace {

constexpr std::int64_t kAlways = 4;    // up to so many tokens on every device
constexpr std::int64_t kFew = 7;       // up to so many the kernel reads the weight once
constexpr std::int64_t kMost = 1536;   // beyond so many never
constexpr std::int64_t kOutputs = 64;  // of a block of the kernel
constexpr std::int64_t kSmallWeight = std::int64_t{4} << 20;
constexpr std::int64_t kMostOfLarge = 512;

// The most tokens that are multiplied by the kernel, for each kind of device and weight. Waves are
// blocks of 64 outputs for each multiprocessor.
class Choice {
 public:
  Choice(const kernels::Problem& problem, const kernels::DeviceFacts& device)
      : tokens_(problem.tokens),
        n_(problem.outputs),
        k_(problem.inputs),
        is_float16_(problem.output_type == kernels::OutputType::kFloat16),
        is_float32_(problem.output_type == kernels::OutputType::kFloat32),
        capability_(device.compute_capability),
        multiprocessors_(device.multiprocessors),
        blocks_(kernels::block_count(problem.outputs, kOutputs)) {}

  std::int64_t most_tokens() const {
    if (!has_matrix_instructions()) return kFew;
    if (capability_ == 87 || capability_ / 10 == 11) return kAlways;
    if (capability_ / 10 == 10) return most_of_datacenter_blackwell();
    if (n_ * k_ < kSmallWeight) return k_ * 2 < n_ ? most_of_short() : most_of_small();
    if (tokens_ <= kFew) return loses_at_few_tokens() ? tokens_ - 1 : kFew;
    return tokens_ <= kMostOfLarge ? most_of_large() : kAlways;
  }

 private:
  // Those that the kernel multiplies with: for bfloat16 from sm_80 on.
  bool has_matrix_instructions() const {
    if (is_float32_ || capability_ < 75) return false;
    return capability_ / 10 > 7 || is_float16_;
  }

  bool is_turing() const { return capability_ == 75; }
  bool is_a100() const { return capability_ == 80; }
  bool is_hopper() const { return capability_ / 10 == 9; }
  bool has_stacked_memory() const { return is_a100() || is_hopper(); }

  // At least `numerator` / `denominator` waves.
  bool fills(std::int64_t numerator, std::int64_t denominator = 1) const {
    return blocks_ * denominator >= multiprocessors_ * numerator;
  }

  // A multiprocessor more or less does not matter.
  bool fills_half() const { return blocks_ >= multiprocessors_ / 2; }

  std::int64_t most_of_datacenter_blackwell() const {
    if (fills(3)) return 32;
    return fills(1) && k_ < n_ ? 8 : kAlways;
  }

  // Fewer inputs than half of the outputs.
  std::int64_t most_of_short() const {
    if (has_stacked_memory()) {
      const bool is_sparse = !fills(1, 3);
      if (is_a100()) return is_sparse ? 1536 : 512;
      return is_sparse ? 512 : 320;
    }
    if (is_turing() && !fills(3)) return k_ >= 1024 ? 64 : k_ >= 704 ? 96 : 320;
    const bool is_deep = !fills(1) && blocks_ * k_ > multiprocessors_ * 320;
    return is_deep && !is_turing() ? 192 : 320;
  }

  std::int64_t most_of_small() const {
    const bool is_within_quarter = blocks_ * 4 <= multiprocessors_;
    if (is_a100() && is_within_quarter) {
      if (k_ < n_) return 384;
      return blocks_ * 8 <= multiprocessors_ ? 32 : 128;
    }
    if (is_turing() && !fills(1) && tokens_ > 8) return 64;
    if (is_within_quarter) return k_ < n_ || has_stacked_memory() ? 32 : 23;
    return blocks_ * 2 <= multiprocessors_ ? 16 : kAlways;
  }

  // Of 5 to 7 tokens; the exceptions are devices whose memory is fast.
  bool loses_at_few_tokens() const {
    if (!has_stacked_memory() || tokens_ < 6 || blocks_ < (is_hopper() ? 36 : 48)) return false;
    if (k_ > n_) return !fills(3, 4);
    if (k_ < n_) return false;
    return is_a100() ? !fills(3, 5) : fills(3, 5) && !fills(3, 4);
  }

  std::int64_t most_of_large() const {
    if (is_turing()) return most_of_turing();
    if (is_a100()) return most_of_a100();
    if (capability_ == 86) return fills(1) ? 128 : fills_half() ? 64 : 16;
    if (is_hopper()) return most_of_hopper();
    if (capability_ == 121 && fills(1)) return 256;
    return capability_ == 120 ? most_of_blackwell() : most_of_ada();
  }

  std::int64_t most_of_turing() const {
    if (fills(3)) return k_ < n_ ? 128 : 64;
    return fills_half() ? 64 : 32;
  }

  std::int64_t most_of_a100() const {
    if (fills(3)) return 128;
    if (fills(1)) return k_ < n_ ? 64 : 32;
    if (k_ >= 3 * n_ && blocks_ * 4 > multiprocessors_) return kAlways;
    if (k_ == n_ && blocks_ >= 48 && !fills(3, 5)) return kAlways;
    if (!fills(1, 2) && k_ <= n_) return 128;
    if (!fills(1, 2) && fills(1, 3)) return kAlways;
    return fills_half() && k_ < n_ ? 128 : 16;
  }

  std::int64_t most_of_hopper() const {
    if (fills(3)) return 64;
    if (fills(2)) return 48;
    if (fills(1)) return 32;
    return fills_half() && (k_ < n_ || fills(3, 4)) ? 16 : kAlways;
  }

  std::int64_t most_of_blackwell() const {
    if (fills(3)) return 256;
    if (fills(2)) return 128;
    if (fills(4, 5)) return k_ >= n_ ? 96 : 64;
    if (fills_half()) return k_ * 2 >= n_ && blocks_ >= 128 ? 64 : 8;
    return k_ > n_ * 2 && blocks_ > 64 ? 16 : 8;
  }

  // Also of devices that are not known.
  std::int64_t most_of_ada() const {
    const bool is_tall = k_ > n_ * 2;
    if (fills(3)) return 256;
    if (fills(2)) return 128;
    if (fills(4, 5)) {
      if (is_tall || blocks_ >= 200) return 128;
      if (k_ < n_) return 64;
      return multiprocessors_ >= 60 ? 128 : 32;
    }
    if (fills_half()) return is_tall ? 64 : blocks_ >= 64 ? 8 : 32;
    if (k_ > n_ && blocks_ <= 48) return k_ >= n_ * 3 ? 12 : 10;
    return is_tall || blocks_ < 48 ? 16 : 8;
  }

  std::int64_t tokens_;
  std::int64_t n_;
  std::int64_t k_;
  bool is_float16_;
  bool is_float32_;
  int capability_;
  std::int64_t multiprocessors_;
  std::int64_t blocks_;
};

}  // namespace

bool fuses(const kernels::Problem& problem, const kernels::DeviceFacts& device) {
  const std::int64_t blocksize = std::int64_t{1} << problem.block_shift;
  if (problem.tokens > kMost || problem.inputs % blocksize != 0) return false;
  return problem.tokens <= kAlways || problem.tokens <= Choice(problem, device).most_tokens();
}

}  // namespace nf4bench::bitsandbytes
