#include "device/cuda/cuda_memory.hpp"

#include "base/error.hpp"
#include "cuda/device_tools.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

namespace nf4bench::device {
namespace {

// Sets beyond this many cost more time to make than a colder cache is worth. Reached by tensors of
// less than some tens of kilobytes.
constexpr std::int64_t kMostSets = 4095;

// Of the free memory; the rest is left for workspaces and for others.
constexpr double kShareOfFree = 0.8;

constexpr std::int64_t kGranularity = std::int64_t{2} << 20;

cudaIpcMemHandle_t handle_of(void* block) {
  cudaIpcMemHandle_t handle{};
  check_cuda(cudaIpcGetMemHandle(&handle, block), "share memory with another process");
  return handle;
}

}  // namespace

CudaSharedBuffers::CudaSharedBuffers(int index) : index_(index), probe_(allocate(1)) {}

CudaSharedBuffers::~CudaSharedBuffers() {
  release(probe_);
}

std::byte* CudaSharedBuffers::allocate(std::int64_t bytes) {
  const std::int64_t taken = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  CudaBuffer buffer(taken);
  auto* const block = reinterpret_cast<std::byte*>(buffer.data());
  blocks_[block] = {.id = last_id_ + 1, .bytes = taken, .handle = handle_of(block)};
  ++last_id_;
  buffer.release();
  return block;
}

void CudaSharedBuffers::release(std::byte* block) noexcept {
  const auto found = blocks_.find(block);
  for (BlockUser* const user : users_) user->let_go(found->second.id);
  blocks_.erase(found);
  cudaFree(block);
}

std::string CudaSharedBuffers::news(std::uint64_t& known) const {
  std::string news;
  for (const auto& [begin, block] : blocks_) {
    if (block.id > known) news += raw_bytes(block);
  }
  known = last_id_;
  return news;
}

std::uint64_t CudaSharedBuffers::place_of(const void* address) const {
  const auto* const place = static_cast<const std::byte*>(address);
  if (place == nullptr) return 0;
  const auto behind = blocks_.upper_bound(place);
  if (behind != blocks_.begin()) {
    const auto& [begin, block] = *std::prev(behind);
    if (place - begin < block.bytes) {
      return (block.id << kOffsetBits) + static_cast<std::uint64_t>(place - begin);
    }
  }
  throw Error(ErrorKind::kDevice, "a buffer is not shared with the process of a peer");
}

void CudaSharedBuffers::settle() {
  wait_for_device();
}

std::string why_not_shared(int index) {
  int is_supported = 0;
  check_cuda(cudaDeviceGetAttribute(&is_supported, cudaDevAttrIpcEventSupport, index),
             "read a device attribute");
  if (is_supported == 0) {
    return "this GPU's driver does not share memory between processes, as under WSL 2";
  }
  const CudaBuffer probe(kGranularity);
  cudaIpcMemHandle_t handle{};
  const cudaError_t status = cudaIpcGetMemHandle(&handle, probe.data());
  if (status == cudaSuccess) return "";
  cudaGetLastError();
  return explain_failed_call("share memory with another process", problem_of(status));
}

std::byte* CudaMemory::allocate(std::int64_t bytes, Access access) {
  if (shared_ != nullptr && access != Access::kPrivate) return shared_->allocate(bytes);
  return reinterpret_cast<std::byte*>(allocate_device_memory(bytes));
}

void CudaMemory::release(std::byte* block) noexcept {
  if (shared_ != nullptr && shared_->holds(block)) return shared_->release(block);
  cudaFree(block);
}

void CudaMemory::copy_in(std::byte* to, std::span<const std::byte> from) {
  check_cuda(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream_.get()),
             "copy a tensor to the device");
}

void CudaMemory::copy_out(std::span<std::byte> to, const std::byte* from) {
  check_cuda(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream_.get()),
             "read a buffer");
  stream_.synchronize();
}

void CudaMemory::copy_within(std::byte* to, const std::byte* from, std::int64_t bytes) {
  check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice,
                             stream_.get()),
             "duplicate a tensor on the device");
}

void CudaMemory::fill(std::byte* to, unsigned char value, std::int64_t bytes) {
  check_cuda(cudaMemsetAsync(to, value, static_cast<std::size_t>(bytes), stream_.get()),
             "fill a buffer");
}

bool CudaMemory::equal(std::span<std::byte* const> places, const std::byte* original,
                       std::int64_t bytes) {
  if (bytes < 4 || places.empty()) return true;
  std::vector<kernels::OutputPair> pairs;
  pairs.reserve(places.size());
  for (std::byte* const place : places) pairs.push_back({original, place});
  std::vector<kernels::DeviceVerdict> verdicts(places.size());
  const std::size_t pairs_bytes = pairs.size() * sizeof(kernels::OutputPair);
  const std::size_t verdicts_bytes = verdicts.size() * sizeof(kernels::DeviceVerdict);
  const CudaBuffer pairs_there(static_cast<std::int64_t>(pairs_bytes));
  const CudaBuffer verdicts_there(static_cast<std::int64_t>(verdicts_bytes));
  const auto enqueue = [this](void* to, const void* from, std::size_t count, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, count, kind, stream_.get()), "compare inputs");
  };
  enqueue(pairs_there.data(), pairs.data(), pairs_bytes, cudaMemcpyHostToDevice);
  enqueue(verdicts_there.data(), verdicts.data(), verdicts_bytes, cudaMemcpyHostToDevice);
  kernels::cuda::launch_compare(
      {.type = nf4::OutputType::kFloat32,
       .values = bytes / 4,
       .pairs = reinterpret_cast<const kernels::OutputPair*>(pairs_there.data()),
       .count = static_cast<int>(pairs.size())},
      reinterpret_cast<kernels::DeviceVerdict*>(verdicts_there.data()), stream_.get());
  check_cuda(cudaGetLastError(), "compare inputs");
  enqueue(verdicts.data(), verdicts_there.data(), verdicts_bytes, cudaMemcpyDeviceToHost);
  stream_.synchronize();
  return std::ranges::all_of(
      verdicts, [](const kernels::DeviceVerdict& each) { return each.mismatches == 0; });
}

void CudaMemory::lay_poison(std::span<std::byte* const> outputs, std::int64_t bytes,
                            const PoisonPattern& pattern) {
  static_assert(kPoisonPiece == kernels::cuda::kPoisonPiece);
  if (outputs.empty()) return;
  const auto list_bytes = static_cast<std::int64_t>(outputs.size_bytes());
  if (poisoned_.bytes() < list_bytes) poisoned_ = CudaBuffer(list_bytes);
  check_cuda(cudaMemcpyAsync(poisoned_.data(), outputs.data(), outputs.size_bytes(),
                             cudaMemcpyHostToDevice, stream_.get()),
             "list outputs");
  kernels::cuda::launch_poison({.outputs = reinterpret_cast<std::byte**>(poisoned_.data()),
                                .count = static_cast<int>(outputs.size()),
                                .bytes = bytes,
                                .first = pattern.first,
                                .stride = pattern.stride},
                               kPoisonByte, stream_.get());
  check_cuda(cudaGetLastError(), "poison outputs");
}

std::int64_t CudaMemory::fitting_sets(std::int64_t wanted, std::int64_t set_bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "ask for free device memory");
  const auto fitting =
      static_cast<std::int64_t>(static_cast<double>(free) * kShareOfFree) / set_bytes;
  return std::min({wanted, fitting, kMostSets});
}

}  // namespace nf4bench::device
