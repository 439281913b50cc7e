#include "device/cuda/cuda_tensor.hpp"

#include <algorithm>
#include <bit>

namespace nf4bench::device {
namespace {

// Sets beyond this many cost more time to make than a colder cache is worth. Reached by tensors of
// less than some tens of kilobytes.
constexpr std::int64_t kMaxSets = 4096;

template <class T>
std::int64_t bytes_of(const std::vector<T>& values) {
  return static_cast<std::int64_t>(values.size() * sizeof(T));
}

}  // namespace

std::int64_t CudaTensor::Sizes::total() const {
  return aligned_bytes(packed) + aligned_bytes(absmax) + aligned_bytes(nested_absmax) +
         aligned_bytes(output);
}

CudaTensor::CudaTensor(const nf4::Nf4Tensor& tensor, nf4::OutputType type, std::int64_t guard,
                       const CudaStream& stream)
    : sizes_{.packed = bytes_of(tensor.packed),
             .absmax = tensor.is_nested() ? bytes_of(tensor.absmax_codes) : bytes_of(tensor.absmax),
             .nested_absmax = bytes_of(tensor.nested_absmax),
             .output = tensor.elements * static_cast<std::int64_t>(nf4::size_in_bytes(type))} {
  const auto upload = [&](const auto& values) {
    CudaBuffer buffer(bytes_of(values));
    if (buffer.bytes() > 0) {
      check_cuda(
          cudaMemcpyAsync(buffer.data(), values.data(), static_cast<std::size_t>(buffer.bytes()),
                          cudaMemcpyHostToDevice, stream.get()),
          "copy a tensor to the device");
    }
    return buffer;
  };
  packed_ = upload(tensor.packed);
  absmax_ = tensor.is_nested() ? upload(tensor.absmax_codes) : upload(tensor.absmax);
  nested_absmax_ = upload(tensor.nested_absmax);
  nested_map_ = upload(tensor.nested_map);
  output_ = GuardedBuffer(sizes_.output, guard);

  kernels::Job job;
  job.packed = packed_.data();
  if (tensor.is_nested()) {
    job.absmax_codes = absmax_.data();
    job.nested_absmax = reinterpret_cast<const float*>(nested_absmax_.data());
    job.nested_map = reinterpret_cast<const float*>(nested_map_.data());
    job.nested_offset = tensor.nested_offset;
  } else {
    job.absmax = reinterpret_cast<const float*>(absmax_.data());
  }
  job.elements = tensor.elements;
  job.blocks = tensor.blocks();
  job.block_shift = std::countr_zero(static_cast<unsigned>(tensor.blocksize));
  job.output_type = type;
  job.output = output_.data();
  jobs_.push_back(job);
}

void CudaTensor::add_sets(std::int64_t total_bytes, const CudaStream& stream) {
  if (jobs_.front().elements == 0) return;
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "ask for free device memory");
  const std::int64_t wanted = nf4::block_count(total_bytes, sizes_.total());
  const auto fitting = static_cast<std::int64_t>(static_cast<double>(free) * 0.8) / sizes_.total();
  const auto count = static_cast<int>(std::min({wanted, fitting, kMaxSets - 1}));
  if (count <= 0) return;
  slab_ = CudaBuffer(count * sizes_.total());
  std::uint8_t* next = slab_.data();
  const auto duplicate = [&](const void* source, std::int64_t bytes) {
    std::uint8_t* target = next;
    next += aligned_bytes(bytes);
    if (bytes > 0 && source != nullptr) {
      check_cuda(cudaMemcpyAsync(target, source, static_cast<std::size_t>(bytes),
                                 cudaMemcpyDeviceToDevice, stream.get()),
                 "duplicate a tensor on the device");
    }
    return target;
  };
  for (int i = 0; i < count; ++i) {
    kernels::Job job = jobs_.front();
    job.packed = duplicate(job.packed, sizes_.packed);
    const void* absmax = job.is_nested() ? static_cast<const void*>(job.absmax_codes) : job.absmax;
    std::uint8_t* const copied = duplicate(absmax, sizes_.absmax);
    if (job.is_nested()) {
      job.absmax_codes = copied;
      job.nested_absmax =
          reinterpret_cast<const float*>(duplicate(job.nested_absmax, sizes_.nested_absmax));
    } else {
      job.absmax = reinterpret_cast<const float*>(copied);
    }
    job.output = duplicate(nullptr, sizes_.output);
    jobs_.push_back(job);
  }
}

}  // namespace nf4bench::device
