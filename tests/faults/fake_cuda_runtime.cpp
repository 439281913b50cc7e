#include "faults/fake_cuda_runtime.hpp"

#include "catalog.hpp"
#include "cuda/device_tools.hpp"
#include "cuda/matmul/cublas.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace nf4bench::fake_cuda {
namespace {

// What a graph does when it is launched.
using Nodes = std::vector<std::function<void()>>;

struct State {
  Script script;
  std::optional<Nodes> captured;        // while a stream is being captured
  std::map<const void*, Nodes> graphs;  // by their handles, instantiated or not
  Nodes elsewhere;                      // what is still to be done on streams of peers
  std::int64_t counted = 0;
  std::int64_t live = 0;
  std::string failed;
  cudaError_t sticky = cudaSuccess;
  cudaError_t last = cudaSuccess;  // what cudaGetLastError() will say
  std::size_t l2_set_aside = kL2SetAside;
  bool has_variant = false;           // in what was launched last, or is being captured
  std::set<std::string_view> called;  // names are literals
  std::size_t most_filled = 0;        // bytes, by one call
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

constexpr std::size_t kObjectBytes = 64;

template <class Object>
cudaError_t create(const char* name, Object* handle) {
  if (const cudaError_t status = enter(name); status != cudaSuccess) return status;
  *handle = reinterpret_cast<Object>(std::calloc(1, kObjectBytes));
  ++state().live;
  return cudaSuccess;
}

bool is_set(const std::string& word) {
  const char* const setting = std::getenv(kSetting);
  return setting != nullptr && std::string(setting).find(word) != std::string::npos;
}

using Clock = std::chrono::steady_clock;

// An event is when it was recorded, which is when all before it was done.
struct Event {
  Clock::time_point recorded{};
};

constexpr std::size_t kGranularity = std::size_t{2} << 20;
constexpr std::size_t kHead = 4096;

// What lies in front of an allocation that processes share.
struct Head {
  std::array<std::atomic<pid_t>, 64> users;  // that have it open; 0: none
};

// An allocation in a file, here or opened from another process.
struct SharedFile {
  int descriptor = -1;  // of ours
  std::size_t bytes = 0;
};

// By where they begin, behind their heads.
std::map<void*, SharedFile>& shared_files() {
  static std::map<void*, SharedFile> files;
  return files;
}

// What a handle says.
struct Handle {
  pid_t owner = 0;
  int descriptor = -1;
  ino_t inode = 0;
  std::size_t bytes = 0;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t));

void* map_file(int descriptor, std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, kHead + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped) + kHead;
}

Head& head_of(void* begin) {
  return *reinterpret_cast<Head*>(static_cast<char*>(begin) - kHead);
}

void replace_user(void* begin, pid_t from, pid_t to) {
  for (std::atomic<pid_t>& user : head_of(begin).users) {
    pid_t found = from;
    if (user.compare_exchange_strong(found, to)) return;
  }
}

void* allocate_file(std::size_t bytes) {
  const int descriptor = memfd_create("fake GPU", MFD_CLOEXEC);
  if (ftruncate(descriptor, static_cast<off_t>(kHead + bytes)) != 0) return nullptr;
  void* const begin = map_file(descriptor, bytes);
  shared_files()[begin] = {descriptor, bytes};
  return begin;
}

std::int64_t undefined_frees = 0;

// True when it was one.
bool free_file(void* begin) {
  const auto found = shared_files().find(begin);
  if (found == shared_files().end()) return false;
  for (const std::atomic<pid_t>& user : head_of(begin).users) {
    if (user != 0 && kill(user, 0) == 0) ++undefined_frees;
  }
  munmap(static_cast<char*>(begin) - kHead, kHead + found->second.bytes);
  close(found->second.descriptor);
  shared_files().erase(found);
  return true;
}

cudaError_t allocate(const char* name, void** pointer, std::size_t bytes) {
  if (const auto status = enter(name, Counted::kAllocations); status != cudaSuccess) return status;
  const bool is_shareable = bytes % kGranularity == 0;
  *pointer =
      is_shareable ? allocate_file(bytes) : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++state().live;
  return cudaSuccess;
}

// Releasing always releases, but on a broken device it returns the error again.
cudaError_t release(void* object) {
  if (object != nullptr) --state().live;
  if (!free_file(object)) std::free(object);
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

std::int64_t freed_while_open() {
  return undefined_frees;
}

std::int64_t live_objects() {
  return state().live;
}

}  // namespace nf4bench::fake_cuda

using nf4bench::fake_cuda::allocate;
using nf4bench::fake_cuda::create;
using nf4bench::fake_cuda::enter;
using nf4bench::fake_cuda::Event;
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
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = which == cudaDevAttrIpcEventSupport && !nf4bench::fake_cuda::is_set("alone") ? 1 : 0;
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
  if (error == cudaErrorInvalidResourceHandle) return "cudaErrorInvalidResourceHandle";
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
cudaError_t CUDARTAPI cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  using namespace nf4bench::fake_cuda;
  if (const cudaError_t status = enter("cudaIpcGetMemHandle"); status != cudaSuccess) return status;
  const auto found = shared_files().find(pointer);
  if (found == shared_files().end()) return cudaErrorInvalidValue;
  struct stat file {};
  fstat(found->second.descriptor, &file);
  const Handle told = {getpid(), found->second.descriptor, file.st_ino, found->second.bytes};
  std::memcpy(static_cast<void*>(handle), &told, sizeof(told));
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  using namespace nf4bench::fake_cuda;
  if (const cudaError_t status = enter("cudaIpcOpenMemHandle"); status != cudaSuccess)
    return status;
  if (is_set("unopenable")) return cudaErrorInvalidResourceHandle;
  Handle told;
  std::memcpy(static_cast<void*>(&told), &handle, sizeof(told));
  const std::string path =
      "/proc/" + std::to_string(told.owner) + "/fd/" + std::to_string(told.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat file {};
  const bool is_there = fstat(descriptor, &file) == 0 && file.st_ino == told.inode;
  void* const begin = is_there ? map_file(descriptor, told.bytes) : nullptr;
  close(descriptor);
  if (begin == nullptr) return cudaErrorInvalidResourceHandle;
  replace_user(begin, 0, getpid());
  shared_files()[begin] = {-1, told.bytes};
  *pointer = begin;
  return cudaSuccess;
}
cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void* pointer) {
  using namespace nf4bench::fake_cuda;
  const auto found = shared_files().find(pointer);
  if (found == shared_files().end()) return cudaErrorInvalidValue;
  replace_user(pointer, getpid(), 0);
  munmap(static_cast<char*>(pointer) - kHead, kHead + found->second.bytes);
  shared_files().erase(found);
  return state().sticky;
}
// For peers: a kernel that is a function of theirs.
__attribute__((visibility("default"))) cudaError_t CUDARTAPI
cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  const cudaError_t status = enter("cudaLaunchHostFunc");
  if (status != cudaSuccess) return status;
  nf4bench::fake_cuda::run_or_record([function, data] { function(data); });
  return status;
}
// For peers: the same on another stream, whose work is done once all wait for it.
__attribute__((visibility("default"))) void fake_cuda_launch_elsewhere(cudaHostFn_t function,
                                                                       void* data) {
  state().elsewhere.emplace_back([function, data] { function(data); });
}
// For peers: what a kernel does that leaves its memory.
__attribute__((visibility("default"))) void fake_cuda_fault() {
  state().sticky = cudaErrorIllegalAddress;
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
  for (const auto& node : std::exchange(state().elsewhere, {})) node();
  return enter("cudaDeviceSynchronize");
}
cudaError_t CUDARTAPI cudaProfilerStart() {
  return enter("cudaProfilerStart");
}

cudaError_t CUDARTAPI cudaProfilerStop() {
  return enter("cudaProfilerStop");
}

cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t* event) {
  return create("cudaEventCreate", event);
}
cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event) {
  return release(event);
}
cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  reinterpret_cast<Event*>(event)->recorded = nf4bench::fake_cuda::Clock::now();
  return enter("cudaEventRecord");
}
cudaError_t CUDARTAPI cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                           cudaEvent_t stop) {
  *milliseconds = state().has_variant ? 1.0f : 0.5f;
  if (nf4bench::fake_cuda::is_set("timed")) {
    const std::chrono::duration<float, std::milli> passed =
        reinterpret_cast<Event*>(stop)->recorded - reinterpret_cast<Event*>(start)->recorded;
    *milliseconds = passed.count();
  }
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
  static const kernels::Variant decode = kernels::cpu::dequantize().variants.back();  // the fastest
  const std::size_t bytes = static_cast<std::size_t>(job.elements) * size_in_bytes(job.output_type);
  void* const whole = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  kernels::Job decoding = job;
  decoding.output = whole;
  decode.launch(decoding, {});
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

const Catalog& backward() {
  static const Catalog none;
  return none;
}

}  // namespace kernels::cuda

}  // namespace nf4bench
