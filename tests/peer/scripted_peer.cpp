// A peer whose table and faults the tests choose through NF4BENCH_TEST_PEER. Compiled with the
// header of each version.
//   SCRIPTED_ENTRY       the function that it exports, if not that of the header's version
//   SCRIPTED_CUDA        its variants are of CUDA devices; their kernels are functions that the
//   fake
//                        runtime (faults/fake_cuda_runtime.hpp) runs
//   SCRIPTED_ALSO_FIRST  exports a function of version 1 too, which is of no use

#include "nf4/arithmetic.hpp"
#include "nf4/format.hpp"
#include "nf4bench_peer.h"

#include <atomic>
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sched.h>
#include <stdexcept>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

std::size_t element_bytes(const nf4bench_peer_job& job) {
  return job.output_type == NF4BENCH_PEER_FLOAT32 ? 4 : 2;
}

std::size_t output_bytes(const nf4bench_peer_job& job) {
  return static_cast<std::size_t>(job.elements) * element_bytes(job);
}

// Elements [first, last).
void decode_range(const nf4bench_peer_job* job, std::int64_t first, std::int64_t last) {
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t block = i >> job->block_shift;
    const float scale =
        job->absmax != nullptr
            ? job->absmax[block]
            : nf4bench::nf4::nested_scale(job->nested_map[job->absmax_codes[block]],
                                          job->nested_absmax[block / 256], job->nested_offset);
    const unsigned byte = job->packed[i / 2];
    const float value = nf4bench::nf4::multiply_flushed(
        nf4bench::nf4::codebook_value(static_cast<int>(i % 2 == 0 ? byte >> 4 : byte & 15)), scale);
    if (job->output_type == NF4BENCH_PEER_FLOAT32) {
      static_cast<float*>(job->output)[i] = value;
    } else {
      static_cast<std::uint16_t*>(job->output)[i] = job->output_type == NF4BENCH_PEER_FLOAT16
                                                        ? nf4bench::nf4::to_float16_bits(value)
                                                        : nf4bench::nf4::to_bfloat16_bits(value);
    }
  }
}

int decode(const nf4bench_peer_job* job, void* stream) {
  if (stream != nullptr || job->struct_bytes != sizeof(*job)) return 100;
  decode_range(job, 0, job->elements);
  return 0;
}

int fail(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  return 7;
}

int write_nothing(const nf4bench_peer_job*, void*) {
  return 0;
}

int write_half(const nf4bench_peer_job* job, void* stream) {
  nf4bench_peer_job half = *job;
  half.elements /= 2;
  return decode(&half, stream);
}

int write_wrong(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  static_cast<unsigned char*>(job->output)[output_bytes(*job) - 1] ^= 1;
  return 0;
}

int write_past_the_end(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  std::memset(static_cast<char*>(job->output) + output_bytes(*job), 0, 1);
  return 0;
}

int write_before_the_start(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  std::memset(static_cast<char*>(job->output) - 1, 0, 1);
  return 0;
}

constexpr std::size_t kWorkspace = 100;

std::size_t small_workspace(const nf4bench_peer_job*) {
  return kWorkspace;
}

int overrun_workspace(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  std::memset(job->workspace, 0, kWorkspace + 1);
  return 0;
}

int underrun_workspace(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  std::memset(static_cast<char*>(job->workspace) - 1, 0, kWorkspace);
  return 0;
}

int use_workspace(const nf4bench_peer_job* job, void* stream) {
  std::memset(job->workspace, 0, kWorkspace);
  return decode(job, stream);
}

int round_upward(const nf4bench_peer_job* job, void* stream) {
  decode(job, stream);
  std::fesetround(FE_UPWARD);
  return 0;
}

int throw_up(const nf4bench_peer_job*, void*) {
  throw std::runtime_error("no luck");
}

// What a kernel can do that nobody can stop. Small tensors are spared, so that a run has results to
// lose.
constexpr std::int64_t kSpared = 4096;

int hang(const nf4bench_peer_job* job, void* stream) {
  while (job->elements > kSpared) pause();
  return decode(job, stream);
}

int crash(const nf4bench_peer_job* job, void* stream) {
  if (job->elements > kSpared) raise(SIGSEGV);
  return decode(job, stream);
}

int devour(const nf4bench_peer_job*, void*) {
  static std::deque<std::vector<char>> all;
  for (;;) all.emplace_back(std::size_t{1} << 24, 'x');
}

// What depends on whether another variant has run in the same process.
bool has_company = false;

int keep_company(const nf4bench_peer_job* job, void* stream) {
  has_company = true;
  return decode(job, stream);
}

int take_longer_in_company(const nf4bench_peer_job* job, void* stream) {
  usleep(has_company ? 5000 : 500);
  return decode(job, stream);
}

int crash_alone(const nf4bench_peer_job* job, void* stream) {
  if (!has_company) raise(SIGSEGV);
  return decode(job, stream);
}

int crawl_alone(const nf4bench_peer_job* job, void* stream) {
  if (!has_company) usleep(100'000);
  return decode(job, stream);
}

// Letters up to the end of a page behind which nothing can be read.
const char* endless_text() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(pages, 'x', page);
  mprotect(pages + page, page, PROT_NONE);
  return pages;
}

// Answers that no library should give.

const char* no_words(const nf4bench_peer_job*, const nf4bench_peer_device*) {
  return "";
}

const char* throw_a_question(const nf4bench_peer_job*, const nf4bench_peer_device*) {
  throw std::runtime_error("no luck");
}

std::size_t all_memory(const nf4bench_peer_job*) {
  return static_cast<std::size_t>(-1);
}

std::size_t throw_a_size(const nf4bench_peer_job*) {
  throw std::runtime_error("no luck");
}

const char* only_plain(const nf4bench_peer_job* job, const nf4bench_peer_device* device) {
  if (device->kind != NF4BENCH_PEER_CPU || device->multiprocessors < 1) return "odd device";
  return job->nested == 1 ? "plain tensors only" : nullptr;
}

using Launch = int (*)(const nf4bench_peer_job*, void*);

constexpr nf4bench_peer_variant variant(const char* name, Launch launch) {
  nf4bench_peer_variant result = {};
  result.name = name;
  result.summary = "scripted";
  result.operation = NF4BENCH_PEER_DEQUANTIZE;
  result.device = NF4BENCH_PEER_CPU;
  result.launches = 1;
  result.launch = launch;
  return result;
}

float value_of(const nf4bench_peer_job& job, const void* values, std::int64_t index) {
  if (job.output_type == NF4BENCH_PEER_FLOAT32) return static_cast<const float*>(values)[index];
  const std::uint16_t bits = static_cast<const std::uint16_t*>(values)[index];
  return job.output_type == NF4BENCH_PEER_FLOAT16 ? nf4bench::nf4::from_float16_bits(bits)
                                                  : nf4bench::nf4::from_bfloat16_bits(bits);
}

std::size_t whole_weight(const nf4bench_peer_job* job) {
  return output_bytes(*job);
}

// y = x W^T with the first `inputs` inputs alone.
void multiply_inputs(const nf4bench_peer_job& job, std::int64_t inputs) {
  nf4bench_peer_job decoding = job;
  decoding.output = job.workspace;
  decode_range(&decoding, 0, job.elements);
  for (std::int64_t m = 0; m < job.tokens; ++m) {
    for (std::int64_t n = 0; n < job.outputs; ++n) {
      double sum = 0;
      for (std::int64_t k = 0; k < inputs; ++k) {
        sum += double{value_of(job, job.input, m * job.inputs + k)} *
               value_of(job, job.workspace, n * job.inputs + k);
      }
      const std::int64_t at = m * job.outputs + n;
      const auto rounded = static_cast<float>(sum);
      if (job.output_type == NF4BENCH_PEER_FLOAT32) {
        static_cast<float*>(job.output)[at] = rounded;
      } else {
        static_cast<std::uint16_t*>(job.output)[at] =
            job.output_type == NF4BENCH_PEER_FLOAT16 ? nf4bench::nf4::to_float16_bits(rounded)
                                                     : nf4bench::nf4::to_bfloat16_bits(rounded);
      }
    }
  }
}

// Whether the job says what it is, as the header promises.
bool is_whole_product(const nf4bench_peer_job& job) {
  return job.struct_bytes == sizeof(job) && job.operation == NF4BENCH_PEER_MATMUL &&
         job.tokens >= 1 && job.elements == job.outputs * job.inputs && job.input != nullptr &&
         job.nested == (job.absmax == nullptr ? 1 : 0) &&
         (job.nested == 0 || *job.nested_offset_at == job.nested_offset);
}

int multiply(const nf4bench_peer_job* job, void*) {
  if (!is_whole_product(*job)) return 100;
  multiply_inputs(*job, job->inputs);
  return 0;
}

int drop_last_block(const nf4bench_peer_job* job, void*) {
  multiply_inputs(*job, job->inputs - (std::int64_t{1} << job->block_shift));
  return 0;
}

// Right in its first calls, which are its verification; with half of the inputs from then on.
int halve_inputs(const nf4bench_peer_job* job, void*) {
  static std::atomic<int> calls = 0;
  multiply_inputs(*job, calls++ < 100 ? job->inputs : job->inputs / 2);
  return 0;
}

// Says that it multiplies, and decodes.
int decode_instead(const nf4bench_peer_job* job, void*) {
  decode_range(job, 0, job->elements);
  return 0;
}

// Finds fault with a question that does not say all it should, or hands out a buffer.
const char* examine(const nf4bench_peer_job* job, const nf4bench_peer_device* device) {
  static char answer[100];
  const bool has_buffers = job->packed != nullptr || job->absmax != nullptr ||
                           job->absmax_codes != nullptr || job->input != nullptr ||
                           job->output != nullptr;
  if (has_buffers || job->struct_bytes != sizeof(*job) || device->kind != NF4BENCH_PEER_CPU) {
    return "an odd question";
  }
  std::snprintf(answer, sizeof answer, "operation %d, %lld x %lld x %lld, nested %d",
                job->operation, static_cast<long long>(job->tokens),
                static_cast<long long>(job->outputs), static_cast<long long>(job->inputs),
                job->nested);
  return answer;
}

// A larger entry, as a newer header would have it.
struct Larger {
  nf4bench_peer_variant known;
  void* unknown[3];
};

nf4bench_peer_table table_of(std::size_t variant_bytes, std::uint32_t count,
                             const nf4bench_peer_variant* variants) {
  nf4bench_peer_table table = {};
  table.abi = NF4BENCH_PEER_ABI;
  table.variant_bytes = static_cast<std::uint32_t>(variant_bytes);
  table.variant_count = count;
  table.table_bytes = sizeof(nf4bench_peer_table);
  table.variants = variants;
  return table;
}

struct Scripted {
  nf4bench_peer_variant variants[16] = {};
  Larger larger[2] = {{variant("first", decode), {}}, {variant("second", decode), {}}};
  nf4bench_peer_table table = table_of(sizeof(nf4bench_peer_variant), 0, variants);

  nf4bench_peer_variant& add(const nf4bench_peer_variant& added) {
    return variants[table.variant_count++] = added;
  }
};

void add_bad_variants(Scripted& s) {
  s.add(variant("error", fail));
  s.add(variant("nothing", write_nothing));
  s.add(variant("half", write_half));
  s.add(variant("wrong", write_wrong));
  s.add(variant("past", write_past_the_end));
  s.add(variant("before", write_before_the_start));
  s.add(variant("workspace_past", overrun_workspace)).workspace_bytes = small_workspace;
  s.add(variant("workspace_before", underrun_workspace)).workspace_bytes = small_workspace;
  s.add(variant("throws", throw_up));
  s.add(variant("upward", round_upward));
}

void add_good_variants(Scripted& s) {
  s.add(variant(nullptr, decode));
  s.add(variant("scratch", use_workspace)).workspace_bytes = small_workspace;
  s.add(variant("plain", decode)).unsupported = only_plain;
  s.add(variant("elsewhere", decode)).device = NF4BENCH_PEER_CUDA;
}

void add_odd_answers(Scripted& s) {
  s.add(variant("mute", decode)).unsupported = no_words;
  s.add(variant("throws", decode)).unsupported = throw_a_question;
  s.add(variant("greedy", decode)).workspace_bytes = all_memory;
  s.add(variant("throws_size", decode)).workspace_bytes = throw_a_size;
  s.add(variant("verbose", decode)).summary = endless_text();
}

void add_product(Scripted& s, const char* name, Launch launch) {
  nf4bench_peer_variant& added = s.add(variant(name, launch));
  added.operation = NF4BENCH_PEER_MATMUL;
  added.workspace_bytes = whole_weight;
}

void add_products(Scripted& s) {
  s.add(variant(nullptr, decode));
  add_product(s, nullptr, multiply);
  add_product(s, "short", drop_last_block);
  add_product(s, "halves", halve_inputs);
  add_product(s, "decodes", decode_instead);
  add_product(s, "asks", multiply);
  s.variants[s.table.variant_count - 1].unsupported = examine;
}

void add_deadly_variants(Scripted& s) {
  s.add(variant("hangs", hang));
  s.add(variant("crashes", crash));
}

void add_harmful_variants(Scripted& s) {
  s.add(variant("hangs", hang));
  s.add(variant("good", decode));
  s.add(variant("devours", devour));
}

// Two variants, of which the second does what `word` says.
void add_company(Scripted& s, std::string_view word) {
  s.add(variant("companion", keep_company));
  s.add(variant("other", word == "company_slows"    ? take_longer_in_company
                         : word == "company_saves"  ? crash_alone
                         : word == "company_speeds" ? crawl_alone
                                                    : decode));
}

// What libraries for threads do: bind the caller to a processor, and let idle threads spin.

void bind_caller() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
}

int bind(const nf4bench_peer_job* job, void* stream) {
  bind_caller();
  return decode(job, stream);
}

int spin(const nf4bench_peer_job* job, void* stream) {
  static const bool has_begun = [] {
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
      std::thread([] {
        for (volatile bool is_idle = true; is_idle;) {
        }
      }).detach();
    }
    return true;
  }();
  return has_begun ? decode(job, stream) : 100;
}

void add_threaded(Scripted& s, bool binds) {
  s.add(variant(nullptr, binds ? bind : spin));
  s.add(variant("other", decode));
}

// What a constructor of a library can do to whoever loads it.
__attribute__((constructor)) void change_the_mode() {
  const char* const script = std::getenv("NF4BENCH_TEST_PEER");
  if (script != nullptr && std::string_view(script) == "good_upward") std::fesetround(FE_UPWARD);
  if (script != nullptr && std::string_view(script) == "idle_bound") bind_caller();
  if (script != nullptr && std::string_view(script) == "exits_when_loaded") _exit(3);
}

#ifdef SCRIPTED_CUDA
// What faults of a device are to a peer of one.
extern "C" int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data);
extern "C" void fake_cuda_launch_elsewhere(void (*function)(void*), void* data);
extern "C" void fake_cuda_fault();

Launch on_host[16];

struct Node {
  nf4bench_peer_job job;
  Launch launch;
};

// Graphs replay a node, so it stays.
template <std::size_t index>
int enqueue(const nf4bench_peer_job* job, void* stream) {
  auto* const node = new Node{*job, on_host[index]};
  return cudaLaunchHostFunc(
      stream,
      [](void* data) {
        const auto* const made = static_cast<const Node*>(data);
        made->launch(&made->job, nullptr);
      },
      node);
}

template <std::size_t... indices>
void move_to_cuda(Scripted& s, std::index_sequence<indices...>) {
  (..., (on_host[indices] = std::exchange(s.variants[indices].launch, enqueue<indices>)));
  for (nf4bench_peer_variant& each : s.variants) each.device = NF4BENCH_PEER_CUDA;
}

int leave(const nf4bench_peer_job*, void*) {
  std::exit(0);
}

int leave_at_once(const nf4bench_peer_job*, void*) {
  _exit(7);
}

int abandon(const nf4bench_peer_job*, void*) {
  std::fputs("cannot go on\n", stderr);
  std::abort();
}

int leave_its_memory(const nf4bench_peer_job*, void*) {
  fake_cuda_fault();
  return 0;
}

int change_inputs(const nf4bench_peer_job* job, void* stream) {
  const_cast<std::uint8_t*>(job->packed)[0] ^= 1;
  return decode(job, stream);
}

// Right in its first call, which is its verification.
int skip_a_tenth(const nf4bench_peer_job* job, void*) {
  static int calls = 0;
  const bool is_verified = calls++ == 0;
  for (std::int64_t i = 0; i < job->elements; ++i) {
    if (is_verified || i % 10 != 3) decode_range(job, i, i + 1);
  }
  return 0;
}

int tire(const nf4bench_peer_job* job, void* stream) {
  static int calls = 0;
  return calls++ < 4 ? decode(job, stream) : 0;
}

// On another stream, but for its first call.
int lag(const nf4bench_peer_job* job, void* stream) {
  static int calls = 0;
  if (calls++ == 0) return decode(job, stream);
  fake_cuda_launch_elsewhere(
      [](void* data) { decode(static_cast<const nf4bench_peer_job*>(data), nullptr); },
      new nf4bench_peer_job(*job));
  return 0;
}

void add_cuda_variants(Scripted& s) {
  s.add(variant("crashes", crash));
  s.add(variant("leaves", leave));
  s.add(variant("leaves_at_once", leave_at_once));
  s.add(variant("abandons", abandon));
  s.add(variant("strays", leave_its_memory));
  s.add(variant("changes_inputs", change_inputs));
  s.add(variant("tenth", skip_a_tenth));
  s.add(variant("tires", tire));
  s.add(variant("lags", lag));
}
#endif

// A table that breaks one rule.
void add_broken(Scripted& s, std::string_view rule) {
  s.add(variant("fine", decode));
  nf4bench_peer_variant& broken = s.add(variant("broken", decode));
  if (rule == "abi") s.table.abi = 7;
  if (rule == "stride") s.table.variant_bytes = 8;
  if (rule == "huge_stride") s.table.variant_bytes = 1u << 30;
  if (rule == "odd_stride") s.table.variant_bytes += 4;
  if (rule == "count") s.table.variant_count = 0;
  if (rule == "many") s.table.variant_count = 1u << 31;
  if (rule == "no_variants") s.table.variants = nullptr;
  if (rule == "name") broken.name = "a b\n";
  if (rule == "twice") broken.name = "fine";
  if (rule == "device") broken.device = 9;
  if (rule == "operation") broken.operation = 4;
  if (rule == "flags") broken.flags = 0x80;
  if (rule == "launches") broken.launches = -1;
  if (rule == "launch") broken.launch = nullptr;
  if (rule == "endless_name") broken.name = endless_text();
  if (rule == "table_bytes") s.table.table_bytes = 0;
  if (rule == "huge_table") s.table.table_bytes = 1u << 30;
  if (rule == "product") broken.operation = NF4BENCH_PEER_MATMUL;
  if (rule == "cuda_only") {
    for (nf4bench_peer_variant& each : s.variants) each.device = NF4BENCH_PEER_CUDA;
  }
  if (rule == "larger") s.table = table_of(sizeof(Larger), 2, &s.larger[0].known);
}

}  // namespace

#ifndef SCRIPTED_ENTRY
#define SCRIPTED_ENTRY nf4bench_peer_v2
#endif

extern "C" NF4BENCH_PEER_EXPORT const nf4bench_peer_table* SCRIPTED_ENTRY();

const nf4bench_peer_table* SCRIPTED_ENTRY() {
  const char* const script = std::getenv("NF4BENCH_TEST_PEER");
  const std::string_view wanted = script == nullptr ? "good" : script;
  if (wanted == "null") return nullptr;
  static std::deque<Scripted> kept;  // as long as the library is loaded, as the header demands
  Scripted* const scripted = &kept.emplace_back();
  if (wanted == "good" || wanted == "good_upward") {
    add_good_variants(*scripted);
  } else if (wanted == "bad") {
    add_bad_variants(*scripted);
  } else if (wanted == "deadly") {
    add_deadly_variants(*scripted);
  } else if (wanted == "harmful") {
    add_harmful_variants(*scripted);
#ifdef SCRIPTED_CUDA
    add_cuda_variants(*scripted);
#endif
  } else if (wanted.substr(0, 7) == "company") {
    add_company(*scripted, wanted);
  } else if (wanted == "idle_bound" || wanted == "idle_spins") {
    add_threaded(*scripted, wanted == "idle_bound");
  } else if (wanted == "odd") {
    add_odd_answers(*scripted);
  } else if (wanted == "products") {
    add_products(*scripted);
  } else {
    add_broken(*scripted, wanted);
  }
#ifdef SCRIPTED_CUDA
  move_to_cuda(*scripted, std::make_index_sequence<16>());
#endif
  return &scripted->table;
}
