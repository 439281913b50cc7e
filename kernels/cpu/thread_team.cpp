#include "cpu/thread_team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <exception>
#include <new>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

namespace nf4bench::kernels::cpu {
namespace {

// How long a thread waits awake. Calls in a row find the others awake; where other programs want
// the processor they get it soon, and a thread that lost it while it works is moved to one that is
// free.
constexpr std::chrono::microseconds kSpin{50};

// How long wake_threads() waits: about ten times as long as a sleeping thread takes on a quiet
// machine.
constexpr std::chrono::microseconds kWake{500};

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns true as soon as is_over() does, false after `longest`.
template <typename Condition>
bool spin_until(const Condition& is_over, std::chrono::microseconds longest) {
  constexpr int kLooksPerClock = 32;
  const auto end = std::chrono::steady_clock::now() + longest;
  do {
    for (int look = 0; look < kLooksPerClock; ++look) {
      if (is_over()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return is_over();
}

// The parts that a member begins with. In a cache line of its own.
struct alignas(64) Share {
  std::atomic<std::int64_t> next{0};
  std::int64_t end = 0;

  // Takes a part and hands it to `body`, as long as there is one.
  void drain(const std::function<void(std::int64_t)>& body) {
    while (next.load(std::memory_order_relaxed) < end) {
      const std::int64_t part = next.fetch_add(1, std::memory_order_relaxed);
      if (part < end) body(part);
    }
  }
};

// A caller, who is member 0, and the threads that help it.
class Team {
 public:
  explicit Team(int members);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int members() const { return static_cast<int>(shares_.size()); }
  void run(std::int64_t parts, const std::function<void(std::int64_t)>& body);
  void wake();

 private:
  void serve(std::size_t member);
  void await_round(int seen);
  void begin_round();
  bool enter();
  void leave();
  void take_parts(std::size_t member);

  // Of gate_, beside the number of helpers inside: nobody may enter.
  static constexpr int kClosed = 1 << 30;

  std::vector<Share> shares_;  // of the members; they and body_ change only while nobody is inside
  const std::function<void(std::int64_t)>* body_ = nullptr;
  std::atomic<std::size_t> wanted_{0};  // members that begin with a share
  std::atomic<int> gate_{kClosed};
  std::atomic<int> round_{0};  // helpers sleep until it changes
  std::atomic<int> awake_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::jthread> helpers_;
};

Team::Team(int members) : shares_(static_cast<std::size_t>(members)) {
  // Signals of the program are for its own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool is_blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  try {
    for (std::size_t member = 1; member < shares_.size(); ++member) {
      awake_.fetch_add(1);
      helpers_.emplace_back([this, member] { serve(member); });
      pthread_setname_np(helpers_.back().native_handle(),
                         "nf4 team");  // for whoever looks for others
    }
  } catch (const std::exception&) {  // no more threads, or no memory: those that began do the work
    awake_.fetch_sub(1);
  }
  if (is_blocked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Team::~Team() {
  is_over_.store(true);
  begin_round();
}

void Team::begin_round() {
  round_.fetch_add(1);
  round_.notify_all();
}

void Team::run(std::int64_t parts, const std::function<void(std::int64_t)>& body) {
  const std::int64_t sharers = std::min<std::int64_t>(parts, members());
  for (std::int64_t member = 0; member < sharers; ++member) {
    Share& share = shares_[static_cast<std::size_t>(member)];
    share.next.store(parts * member / sharers, std::memory_order_relaxed);
    share.end = parts * (member + 1) / sharers;
  }
  body_ = &body;
  wanted_.store(static_cast<std::size_t>(sharers), std::memory_order_relaxed);
  gate_.store(0, std::memory_order_release);
  begin_round();
  take_parts(0);
  gate_.fetch_or(kClosed);
  const auto is_empty = [this] { return gate_.load(std::memory_order_acquire) == kClosed; };
  if (spin_until(is_empty, kSpin)) return;
  // Asleep, because a helper that lost its processor may take over this one.
  while (!is_empty()) {
    const int inside = gate_.load();
    if (inside != kClosed) gate_.wait(inside);
  }
}

void Team::wake() {
  begin_round();
  const auto is_awake = [this] { return awake_.load() == static_cast<int>(helpers_.size()); };
  spin_until(is_awake, kWake);
}

void Team::serve(std::size_t member) {
  for (int seen = 0; !is_over_.load();) {
    await_round(seen);
    seen = round_.load(std::memory_order_acquire);
    if (member >= wanted_.load(std::memory_order_relaxed) || !enter()) continue;
    take_parts(member);
    leave();
  }
}

void Team::await_round(int seen) {
  const auto has_begun = [&] { return round_.load(std::memory_order_acquire) != seen; };
  if (spin_until(has_begun, kSpin)) return;
  awake_.fetch_sub(1);
  round_.wait(seen);
  awake_.fetch_add(1);
}

bool Team::enter() {
  int inside = gate_.load(std::memory_order_relaxed);
  while ((inside & kClosed) == 0) {
    if (gate_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void Team::leave() {
  if (gate_.fetch_sub(1, std::memory_order_acq_rel) == kClosed + 1) gate_.notify_all();
}

// First the member's own parts, then those of the members behind it.
void Team::take_parts(std::size_t member) {
  const std::size_t sharers = wanted_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < sharers; ++i) shares_[(member + i) % sharers].drain(*body_);
}

std::atomic_flag is_in_use = ATOMIC_FLAG_INIT;
Team* process_team = nullptr;  // of this process, for whoever has set is_in_use

// At the end of the process, or when the library is unloaded, nobody may get the team any more; a
// thread that is at work with it then keeps it.
struct End {
  ~End() {
    if (!is_in_use.test_and_set(std::memory_order_acquire)) delete process_team;
  }
};

// A child of a fork has none of its parent's threads: neither helpers nor one that is at work.
void forget_team() {
  process_team = nullptr;
  is_in_use.clear();
}

// The team, made anew when another size is wanted; null when there is no memory for it. For whoever
// has set is_in_use.
Team* team_of(int members) {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_team);
  static const End end;
  if (registered != 0) return nullptr;
  if (process_team == nullptr || process_team->members() != members) {
    delete std::exchange(process_team, nullptr);
    try {
      process_team = new Team(members);
    } catch (const std::bad_alloc&) {
    }
  }
  return process_team;
}

// Calls use(team) and returns true, unless there is nobody to help, or none free.
template <typename Use>
bool with_team(int members, const Use& use) {
  if (members <= 1 || is_in_use.test_and_set(std::memory_order_acquire)) return false;
  Team* const found = team_of(members);
  if (found != nullptr) use(*found);
  is_in_use.clear(std::memory_order_release);
  return found != nullptr;
}

}  // namespace

void run_parts(int threads, std::int64_t parts,
               const std::function<void(std::int64_t part)>& body) {
  if (parts > 1 && with_team(threads, [&](Team& team) { team.run(parts, body); })) return;
  for (std::int64_t part = 0; part < parts; ++part) body(part);
}

void wake_threads(int threads) {
  with_team(threads, [](Team& team) { team.wake(); });
}

}  // namespace nf4bench::kernels::cpu
