#pragma once

// A weight and a product in host memory, as a caller of the C library has them.

#include "nf4.h"
#include "nf4/synthetic.hpp"
#include "nf4/tensor.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace nf4bench::test {

// Memory that starts `offset` bytes behind a multiple of 256 and ends with its last byte.
class HostBuffer {
 public:
  // What the library asks of buffers, and not more.
  static constexpr std::size_t kLeast = 16;

  explicit HostBuffer(std::size_t bytes, std::size_t offset = kLeast)
      : memory_(std::aligned_alloc(256, (offset + bytes + 255) / 256 * 256)),
        offset_(offset),
        bytes_(bytes) {
    std::memset(data(), kPoison, bytes);
  }
  template <typename T>
  explicit HostBuffer(const std::vector<T>& values) : HostBuffer(values.size() * sizeof(T)) {
    if (bytes_ != 0) std::memcpy(data(), values.data(), bytes_);
  }

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()) + offset_; }
  std::span<std::byte> span() const { return {data(), bytes_}; }
  // Null for what is not there.
  template <typename T>
  T* as() const {
    return bytes_ == 0 ? nullptr : reinterpret_cast<T*>(data());
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  static constexpr int kPoison = 0xeb;
  std::unique_ptr<void, Free> memory_;
  std::size_t offset_;
  std::size_t bytes_;
};

inline nf4_device cpu_device(int threads = 2) {
  nf4_device device = {};
  device.struct_bytes = sizeof(device);
  nf4_query_device(NF4_CPU, 0, &device);
  device.multiprocessors = threads;
  return device;
}

// The weight of a tensor of two dimensions.
class HostWeight {
 public:
  explicit HostWeight(nf4::Nf4Tensor tensor)
      : tensor_(std::move(tensor)),
        packed_(tensor_.packed),
        absmax_(tensor_.absmax),
        codes_(tensor_.absmax_codes),
        nested_absmax_(tensor_.nested_absmax),
        nested_map_(tensor_.nested_map) {}

  const nf4::Nf4Tensor& tensor() const { return tensor_; }
  nf4_weight c() const {
    return {.struct_bytes = sizeof(nf4_weight),
            .blocksize = tensor_.blocksize,
            .outputs = tensor_.shape[0],
            .inputs = tensor_.shape[1],
            .packed = packed_.as<std::uint8_t>(),
            .absmax = absmax_.as<float>(),
            .absmax_codes = codes_.as<std::uint8_t>(),
            .nested_absmax = nested_absmax_.as<float>(),
            .nested_map = nested_map_.as<float>(),
            .nested_offset = tensor_.is_nested() ? &tensor_.nested_offset : nullptr};
  }

 private:
  nf4::Nf4Tensor tensor_;
  HostBuffer packed_;
  HostBuffer absmax_;
  HostBuffer codes_;
  HostBuffer nested_absmax_;
  HostBuffer nested_map_;
};

// A product with it of which all is right but what a test changes in `product`.
class HostProduct {
 public:
  HostProduct(const nf4_weight& weight, nf4::OutputType type, std::vector<std::byte> input)
      : input_(input),
        output_(static_cast<std::size_t>(tokens(weight, type, input.size()) * weight.outputs) *
                size_in_bytes(type)),
        workspace_(workspace_bytes(weight, type, tokens(weight, type, input.size())), 0) {
    product = {.struct_bytes = sizeof(nf4_product),
               .type = static_cast<std::int32_t>(type),
               .tokens = tokens(weight, type, input.size()),
               .input = input_.data(),
               .bias = nullptr,
               .output = output_.data(),
               .workspace = workspace_.data(),
               .workspace_bytes = workspace_.span().size(),
               .output_stride = 0};
  }

  std::vector<std::byte> output() const { return {output_.span().begin(), output_.span().end()}; }

  nf4_product product = {};

 private:
  static std::int64_t tokens(const nf4_weight& weight, nf4::OutputType type, std::size_t bytes) {
    return static_cast<std::int64_t>(bytes / size_in_bytes(type)) / weight.inputs;
  }
  static std::size_t workspace_bytes(const nf4_weight& weight, nf4::OutputType type,
                                     std::int64_t tokens) {
    const nf4_device device = cpu_device();
    nf4_product sizes = {};
    sizes.struct_bytes = sizeof(sizes);
    sizes.type = static_cast<std::int32_t>(type);
    sizes.tokens = tokens;
    std::size_t bytes = 0;
    nf4_linear_workspace(&device, &weight, &sizes, &bytes);
    return bytes;
  }

  HostBuffer input_;
  HostBuffer output_;
  HostBuffer workspace_;
};

}  // namespace nf4bench::test
