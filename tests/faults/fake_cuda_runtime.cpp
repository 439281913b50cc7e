#include "faults/fake_cuda_runtime.hpp"

#include "catalog.hpp"
#include "cuda/device_tools.hpp"
#include "cuda/matmul/cublas.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace nf4bench::fake_cuda {
namespace {

// What a graph does when it is launched.
using Nodes = std::vector<std::function<void()>>;

struct State {
  Script script;
  std::optional<Nodes> captured;        // while a stream is being captured
  std::map<const void*, Nodes> graphs;  // by their handles, instantiated or not
  std::int64_t counted = 0;
  std::int64_t live = 0;
  std::string failed;
  cudaError_t sticky = cudaSuccess;
  cudaError_t last = cudaSuccess;  // what cudaGetLastError() will say
  std::size_t l2_set_aside = kL2SetAside;
  bool has_variant = false;  // in what was launched last, or is being captured
  std::set<std::string> called;
  std::size_t most_filled = 0;  // bytes, by one call
};

State& state() {
  static State the_state;
  return the_state;
}

// The error that a call is to return instead of doing anything.
cudaError_t enter(const char* name, Counted kind = Counted::kAllCalls) {
  State& s = state();
  s.called.insert(name);
  if (s.sticky != cudaSuccess) return s.last = s.sticky;
  if (s.script.counted == Counted::kAllocations && kind != Counted::kAllocations) {
    return cudaSuccess;
  }
  if (++s.counted != s.script.fail_at) return cudaSuccess;
  s.failed = name;
  if (s.script.is_sticky) s.sticky = s.script.error;
  return s.last = s.script.error;
}

// A launch returns nothing.
bool may_launch(const char* name) {
  return enter(name) == cudaSuccess;
}

template <class Handle>
cudaError_t create(const char* name, Handle* handle) {
  if (const cudaError_t status = enter(name); status != cudaSuccess) return status;
  *handle = reinterpret_cast<Handle>(std::malloc(1));
  ++state().live;
  return cudaSuccess;
}

cudaError_t allocate(const char* name, void** pointer, std::size_t bytes) {
  if (const auto status = enter(name, Counted::kAllocations); status != cudaSuccess) return status;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++state().live;
  return cudaSuccess;
}

// Releasing always releases, but on a broken device it returns the error again.
cudaError_t release(void* object) {
  if (object != nullptr) --state().live;
  std::free(object);
  return state().sticky;
}

// A launch on a stream: it is done at once, or becomes a node of the graph that is being captured.
void run_or_record(std::function<void()> node) {
  if (state().captured) {
    state().captured->push_back(std::move(node));
  } else {
    node();
  }
}

// The large buffers of the ceilings are never looked at.
bool is_small(std::size_t bytes) {
  return bytes <= std::size_t{1} << 20;
}

}  // namespace

void play(const Script& script) {
  State next;
  next.script = script;
  next.live = state().live;
  next.graphs = state().graphs;
  state() = next;
}

std::int64_t counted_calls() {
  return state().counted;
}

const std::string& failed_call() {
  return state().failed;
}

bool was_called(const std::string& name) {
  return state().called.contains(name);
}

std::size_t most_filled() {
  return state().most_filled;
}

std::int64_t live_objects() {
  return state().live;
}

}  // namespace nf4bench::fake_cuda

using nf4bench::fake_cuda::allocate;
using nf4bench::fake_cuda::create;
using nf4bench::fake_cuda::enter;
using nf4bench::fake_cuda::is_small;
using nf4bench::fake_cuda::Nodes;
using nf4bench::fake_cuda::release;
using nf4bench::fake_cuda::state;

extern "C" {

cudaError_t CUDARTAPI cudaGetDeviceCount(int* count) {
  *count = state().script.devices;
  return state().script.no_device;
}
cudaError_t CUDARTAPI cudaDriverGetVersion(int* version) {
  *version = state().script.driver_version;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaSetDevice(int) {
  return enter("cudaSetDevice");
}
cudaError_t CUDARTAPI cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Fake GPU");
  properties->major = 9;
  properties->multiProcessorCount = 2;
  properties->l2CacheSize = 4096;
  properties->totalGlobalMem = std::size_t{1} << 30;
  return enter("cudaGetDeviceProperties");
}
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 0;
  return enter("cudaDeviceGetAttribute");
}
cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char* id, int, int) {
  std::strcpy(id, "0000:00:00.0");
  return enter("cudaDeviceGetPCIBusId");
}
cudaError_t CUDARTAPI cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 28;
  return enter("cudaMemGetInfo");
}
cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache() {
  return enter("cudaCtxResetPersistingL2Cache");
}
cudaError_t CUDARTAPI cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
  *value = state().l2_set_aside;
  return enter("cudaDeviceGetLimit");
}
cudaError_t CUDARTAPI cudaDeviceSetLimit(cudaLimit, std::size_t value) {
  const cudaError_t status = enter("cudaDeviceSetLimit");
  if (status == cudaSuccess) state().l2_set_aside = value;
  return status;
}

cudaError_t CUDARTAPI cudaGetLastError() {
  return std::exchange(state().last, state().sticky);
}
const char* CUDARTAPI cudaGetErrorName(cudaError_t error) {
  if (error == cudaErrorMemoryAllocation) return "cudaErrorMemoryAllocation";
  if (error == cudaErrorIllegalAddress) return "cudaErrorIllegalAddress";
  if (error == cudaErrorNoDevice) return "cudaErrorNoDevice";
  if (error == cudaErrorInsufficientDriver) return "cudaErrorInsufficientDriver";
  return "cudaErrorUnknown";
}
const char* CUDARTAPI cudaGetErrorString(cudaError_t) {
  return "what CUDA says";
}

cudaError_t CUDARTAPI cudaMalloc(void** pointer, std::size_t bytes) {
  return allocate("cudaMalloc", pointer, bytes);
}
cudaError_t CUDARTAPI cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  return allocate("cudaHostAlloc", pointer, bytes);
}
cudaError_t CUDARTAPI cudaFree(void* pointer) {
  return release(pointer);
}
cudaError_t CUDARTAPI cudaFreeHost(void* pointer) {
  return release(pointer);
}
cudaError_t CUDARTAPI cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const cudaError_t status = enter("cudaMemcpy");
  if (status == cudaSuccess && is_small(bytes)) std::memcpy(to, from, bytes);
  return status;
}
cudaError_t CUDARTAPI cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                                      cudaStream_t) {
  const cudaError_t status = enter("cudaMemcpyAsync");
  if (status == cudaSuccess && is_small(bytes)) std::memcpy(to, from, bytes);
  return status;
}
cudaError_t CUDARTAPI cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  const cudaError_t status = enter("cudaMemsetAsync");
  state().most_filled = std::max(state().most_filled, bytes);
  if (status == cudaSuccess && is_small(bytes)) std::memset(to, value, bytes);
  return status;
}

cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return create("cudaStreamCreateWithFlags", stream);
}
cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream) {
  return release(stream);
}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t) {
  return enter("cudaStreamSynchronize");
}
cudaError_t CUDARTAPI cudaDeviceSynchronize() {
  return enter("cudaDeviceSynchronize");
}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  return create("cudaEventCreate", event);
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  return release(event);
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return enter("cudaEventRecord");
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = state().has_variant ? 1.0f : 0.5f;
  return enter("cudaEventElapsedTime");
}

cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  state().has_variant = false;
  const cudaError_t status = enter("cudaStreamBeginCapture");
  if (status == cudaSuccess) state().captured = Nodes{};
  return status;
}
cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = nullptr;
  const Nodes nodes = std::exchange(state().captured, std::nullopt).value_or(Nodes{});
  const cudaError_t status = create("cudaStreamEndCapture", graph);
  if (status == cudaSuccess) state().graphs[*graph] = nodes;
  return status;
}
cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           unsigned long long) {
  const cudaError_t status = create("cudaGraphInstantiate", executable);
  if (status == cudaSuccess) state().graphs[*executable] = state().graphs[graph];
  return status;
}
cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t, cudaStream_t) {
  return enter("cudaGraphUpload");
}
cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  const cudaError_t status = enter("cudaGraphLaunch");
  if (status != cudaSuccess) return status;
  state().has_variant = !state().graphs[executable].empty();
  for (const auto& node : state().graphs[executable]) node();
  return status;
}
cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph) {
  state().graphs.erase(graph);
  return release(graph);
}
cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t executable) {
  state().graphs.erase(executable);
  return release(executable);
}

}  // extern "C"

namespace nf4bench {

using fake_cuda::may_launch;

namespace kernels::cuda {

void launch_compare(const OutputPairs& outputs, DeviceVerdict* verdicts, CUstream_st*) {
  if (!may_launch("launch_compare")) return;
  const std::size_t bytes =
      static_cast<std::size_t>(outputs.values) * nf4::size_in_bytes(outputs.type);
  for (int i = 0; i < outputs.count; ++i) {
    const OutputPair& pair = outputs.pairs[i];
    if (std::memcmp(pair.expected, pair.actual, bytes) != 0)
      verdicts[i] = {.mismatches = 1, .first_mismatch = 0, .max_ulp = 1};
  }
}
void launch_poison(const PoisonPlaces& places, unsigned char value, CUstream_st*) {
  if (!may_launch("launch_poison")) return;
  for (int i = 0; i < places.count; ++i) {
    for (std::int64_t at = places.first; at < places.bytes; at += places.stride) {
      std::memset(places.outputs[i] + at, value,
                  static_cast<std::size_t>(std::min(kPoisonPiece, places.bytes - at)));
    }
  }
}
void launch_clock_stamp(ClockStamp*, int, CUstream_st*) {
  may_launch("launch_clock_stamp");
}
void launch_nothing(CUstream_st*) {
  may_launch("launch_nothing");
}
void launch_read(const void*, std::int64_t, float*, CUstream_st*) {
  may_launch("launch_read");
}
void launch_copy(const void*, void*, std::int64_t, CUstream_st*) {
  may_launch("launch_copy");
}
void launch_spacer(float*, int, CUstream_st*) {
  may_launch("launch_spacer");
}
std::int64_t spacer_output_bytes(int multiprocessors) {
  return multiprocessors * 32;
}
void launch_busy(std::int64_t, CUstream_st*) {
  may_launch("launch_busy");
}
const char* cublas_unsupported(const Problem&) {
  return "the fake runtime has no cuBLAS";
}
void multiply_by_cublas(const Job&, const void*, void*, CUstream_st*) {}

}  // namespace kernels::cuda

namespace {

// Decodes what the job's inputs hold now, and writes one `share`-th of it.
void write_output(const kernels::Job& job, std::size_t share) {
  const std::size_t bytes = static_cast<std::size_t>(job.elements) * size_in_bytes(job.output_type);
  void* const whole = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  kernels::Job decoding = job;
  decoding.output = whole;
  kernels::cpu::dequantize().variants.front().launch(decoding, {});
  std::memcpy(job.output, whole, bytes / share);
  std::free(whole);
}

kernels::Variant fake_variant(const char* name, std::size_t workspace) {
  kernels::Variant variant;
  variant.name = name;
  variant.summary = "writes what it is told to";
  variant.workspace_bytes = [workspace](const kernels::Problem&, const kernels::Launch&) {
    return workspace;
  };
  variant.launch = [](const kernels::Job& job, const kernels::Launch&) {
    fake_cuda::state().has_variant = true;
    if (!may_launch("launch")) return;
    const bool is_lazy = fake_cuda::state().script.is_lazy_in_graphs && fake_cuda::state().captured;
    fake_cuda::run_or_record([job, share = is_lazy ? 2u : 1u] { write_output(job, share); });
  };
  return variant;
}

}  // namespace

namespace kernels::cuda {

const Catalog& dequantize() {
  static const Catalog catalog = [] {
    Catalog made;
    made.variants = {fake_variant("bare", 0), fake_variant("with_workspace", 512),
                     fake_variant("with_prepare", 0)};
    made.variants.back().prepared_bytes = [](const Problem&) -> std::size_t { return 512; };
    made.variants.back().prepare = [](const Job& job, const Launch&) {
      if (may_launch("prepare")) std::memset(job.prepared, 0, 512);
    };
    made.stream_shapes = {fake_variant("stream", 0)};
    made.judge = launch_compare;
    return made;
  }();
  return catalog;
}

// Empty: their kernels would bring the real runtime in.
const Catalog& matmul() {
  static const Catalog none;
  return none;
}
const Catalog& experts() {
  static const Catalog none;
  return none;
}

}  // namespace kernels::cuda

}  // namespace nf4bench
