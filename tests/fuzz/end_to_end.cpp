#include "fuzz/second_decoder.hpp"
#include "fuzz/targets.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "nf4/reference.hpp"

#include <cmath>
#include <cstring>

namespace nf4bench::fuzz {
namespace {

constexpr std::size_t kTensorsDecoded = 3;

bool is_same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

void check_elements(const nf4::Nf4Tensor& tensor, nf4::OutputType type,
                    const std::vector<std::byte>& decoded) {
  for (std::int64_t i = 0; i < tensor.elements; ++i) {
    require(is_same(second_value(decoded, type, i), second_round(second_decode(tensor, i), type)),
            "both decoders see the same value");
  }
}

void check_tensor(const nf4::Nf4Tensor& tensor) {
  for (const nf4::OutputType type : nf4::kOutputTypes) {
    const std::vector<std::byte> whole = nf4::reference_dequantize(tensor, type);
    const std::size_t size = nf4::size_in_bytes(type);
    require(whole.size() == static_cast<std::size_t>(tensor.elements) * size,
            "every element is decoded");
    // The last third alone, which begins anywhere in a block and in a byte.
    const std::int64_t first = tensor.elements - tensor.elements / 3;
    std::vector<std::byte> part(static_cast<std::size_t>(tensor.elements - first) * size);
    nf4::reference_dequantize(tensor, type, {first, tensor.elements - first}, part);
    require(part.empty() || std::memcmp(part.data(), whole.data() + whole.size() - part.size(),
                                        part.size()) == 0,
            "a part decodes as it does in the whole");
    check_elements(tensor, type, whole);
  }
}

}  // namespace

void fuzz_end_to_end(Bytes input) {
  accepts([&] {
    const io::Checkpoint checkpoint =
        io::Checkpoint::open_memory("fuzz.safetensors", {input.begin(), input.end()});
    std::size_t decoded = 0;
    for (const io::TensorEntry& entry : checkpoint.tensors()) {
      if (!entry.problem.empty()) {
        require(!accepts([&] { checkpoint.load(entry); }), "a tensor with a problem is not loaded");
      } else if (decoded++ < kTensorsDecoded) {
        check_tensor(checkpoint.load(entry));
      }
    }
  });
}

}  // namespace nf4bench::fuzz
