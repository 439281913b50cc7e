#include "catalog.hpp"
#include "fuzz/targets.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "nf4/reference.hpp"
#include "operation/exact_bits.hpp"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace nf4bench::fuzz {
namespace {

constexpr std::size_t kTensorsDecoded = 3;

// Memory as a job promises it: aligned and ending where it says, so that AddressSanitizer sees
// whoever leaves it.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    require(posix_memalign(&memory, 256, bytes) == 0, "a small buffer can be had");
    memory_.reset(static_cast<std::byte*>(memory));
    if (bytes != 0) std::memset(memory, 0xeb, bytes);
  }
  template <typename T>
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size() * sizeof(T)) {
    if (bytes_ != 0) std::memcpy(memory_.get(), values.data(), bytes_);
  }

  template <typename T>
  T* as() const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(memory_.get());
  }
  std::span<const std::byte> span() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

// The buffers of a tensor, and a job that reads them.
struct Inputs {
  explicit Inputs(const nf4::Nf4Tensor& tensor)
      : packed(tensor.packed),
        absmax(tensor.absmax),
        codes(tensor.absmax_codes),
        nested_absmax(tensor.nested_absmax),
        nested_map(tensor.nested_map) {
    job.packed = packed.as<std::uint8_t>();
    job.absmax = absmax.as<float>();
    job.absmax_codes = codes.as<std::uint8_t>();
    job.nested_absmax = nested_absmax.as<float>();
    job.nested_map = nested_map.as<float>();
    job.nested_offset = tensor.nested_offset;
    job.elements = tensor.elements;
    job.blocks = tensor.blocks();
    job.block_shift = std::countr_zero(static_cast<unsigned>(tensor.blocksize));
  }

  Buffer packed;
  Buffer absmax;
  Buffer codes;
  Buffer nested_absmax;
  Buffer nested_map;
  kernels::Job job;
};

void check_variants(kernels::Job job, nf4::OutputType type,
                    const std::vector<std::byte>& expected) {
  job.output_type = type;
  for (const kernels::Variant& variant : kernels::cpu_variants()) {
    const Buffer output(expected.size());
    const Buffer workspace(variant.workspace_bytes(job));
    job.output = output.as<void>();
    job.workspace = workspace.as<void>();
    require(variant.unsupported(job, {}) == nullptr, "every CPU variant decodes every tensor");
    variant.launch(job, kernels::Launch{});
    require(operation::compare_outputs(type, expected, output.span()).is_exact(),
            "every CPU variant decodes as the reference does");
  }
}

void check_tensor(const nf4::Nf4Tensor& tensor) {
  const Inputs inputs(tensor);
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
    check_variants(inputs.job, type, whole);
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
