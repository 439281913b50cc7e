#include "device/cuda/cuda_shared_buffers.hpp"

#include "base/error.hpp"

#include <iterator>

namespace nf4bench::device {
namespace {

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

}  // namespace nf4bench::device
