#include "bench/cell.hpp"

#include "bench/energy.hpp"
#include "bench/fault.hpp"
#include "bench/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <utility>

namespace nf4bench::bench {

namespace {

constexpr int kStreamRounds = 5;  // to find the fastest stream shapes

// One sample in so many is judged.
constexpr std::uint64_t kSamplesAJudgement = 8;

// Inputs change once in so many rounds, before a sample that nobody can foresee, and as long as
// this takes no more than such a share of the time.
constexpr std::uint64_t kRoundsAChange = 8;
constexpr double kMostOfTimeForChanges = 0.1;

class CellTimer {
 public:
  CellTimer(const RunContext& context, device::Workload& workload, const CellSpec& spec)
      : context_(context), workload_(workload), spec_(spec) {}

  CellTiming run(const std::vector<std::size_t>& passed);

 private:
  using Contenders = std::vector<Contender*>;

  Contenders all();
  std::optional<device::Sample> sample(Contender& contender, int launches);
  void rest_after(const std::optional<device::Sample>& taken, int launches);
  std::optional<device::Sample> sample_watched(Contender& contender);
  void calibrate(Contender& contender);
  void find_best_streams();
  void warm_up(double until_s);
  bool may_change() const;
  void change_now_and_then(std::size_t contenders);
  void change(const std::function<void()>& part);
  void check_after_changes();
  void run_round(RoundOrder& order, const Contenders& contenders);
  void run_rounds();
  bool all_steady() const;
  bool any_running() const;
  std::optional<std::string> ask(const Contender& contender, const std::function<void()>& call);
  device::Sample take(Contender& contender, const device::SampleSpec& sample);
  void check(Contender& contender);
  void check_clock(Contender& contender);
  void measure_energy(Contender& contender);
  void blame(Contender& contender, const device::OutputFault& fault) const;
  device::SampleSpec sample_spec(int launches) const {
    return {spec_.cache, spec_.launch, launches};
  }

  const RunContext& context_;
  device::Workload& workload_;
  const CellSpec& spec_;
  CellTiming timing_;
  double started_s_ = 0.0;
  double changing_s_ = 0.0;                         // that changes of inputs took
  std::mt19937_64 secret_{std::random_device{}()};  // a variant may know the seed of the run
};

CellTimer::Contenders CellTimer::all() {
  Contenders contenders;
  for (Contender& contender : timing_.variants) contenders.push_back(&contender);
  for (Contender& contender : timing_.streams) contenders.push_back(&contender);
  return contenders;
}

// Has the device do work for a contender; says why that failed, if it did.
std::optional<std::string> CellTimer::ask(const Contender& contender,
                                          const std::function<void()>& call) {
  const Caller caller = contender.is_stream
                            ? Caller{contender.variant->name}
                            : Caller{context_.variants[contender.index].name, contender.index};
  return device_failure(context_, caller, call);
}

void CellTimer::blame(Contender& contender, const device::OutputFault& fault) const {
  contender.failure = describe_fault(context_, spec_, fault);
  contender.found = fault.found;
  contender.found->fault = fault.kind;
}

// A sample that is judged or not, as chance will have it. A fault is looked into by a check, which
// can tell more about it.
device::Sample CellTimer::take(Contender& contender, const device::SampleSpec& sample) {
  const bool is_judged = !contender.is_stream && secret_() % kSamplesAJudgement == 0;
  if (!is_judged) return workload_.sample(*contender.variant, sample);
  const device::JudgedSample judged =
      workload_.judged_sample(*contender.variant, sample, spec_.expected);
  if (judged.fault) {
    const auto fault = workload_.check(*contender.variant, sample, spec_.expected);
    blame(contender, fault.value_or(*judged.fault));
  }
  return judged.sample;
}

// One sample, or none when the contender failed.
std::optional<device::Sample> CellTimer::sample(Contender& contender, int launches) {
  device::Sample taken;
  const std::optional<std::string> failure =
      ask(contender, [&] { taken = take(contender, sample_spec(launches)); });
  if (failure) {
    contender.failure = *failure;
  } else if (contender.is_running() && (!std::isfinite(taken.seconds) || taken.seconds <= 0.0)) {
    contender.failure = fmt::format("the timer reported {} s for a call", taken.seconds);
  }
  if (!contender.is_running()) return std::nullopt;
  return taken;
}

// As long as leaves the device at work for `duty` of the time.
void CellTimer::rest_after(const std::optional<device::Sample>& taken, int launches) {
  const double duty = context_.options.duty;
  if (taken && duty < 1.0) context_.clocks.rest_s(taken->seconds * launches * (1.0 / duty - 1.0));
}

// The same, with an eye on threads that have nothing to do with it: whoever else computes in this
// process is a peer.
std::optional<device::Sample> CellTimer::sample_watched(Contender& contender) {
  const bool is_own = *contender.variant->traits.peer == '\0';
  if (!is_own || !depends_on_host(context_, spec_.launch)) {
    return sample(contender, contender.launches);
  }
  const double begun_s = context_.clocks.clock_s();
  context_.threads.begin();
  const std::optional<device::Sample> taken = sample(contender, contender.launches);
  context_.threads.end(context_.clocks.clock_s() - begun_s, contender.idle);
  return taken;
}

// Whatever chance has judged: no time without a look at what was timed.
void CellTimer::check(Contender& contender) {
  if (!contender.is_running() || contender.samples_s.empty()) return;
  std::optional<device::OutputFault> fault;
  const std::optional<std::string> failure = ask(contender, [&] {
    fault = workload_.check(*contender.variant, sample_spec(contender.launches), spec_.expected);
  });
  if (failure) contender.failure = *failure;
  if (fault) blame(contender, *fault);
}

// At least once, and after a change of each part: what is remembered of one shows when that one has
// changed and the others have not. Again where it costs little: a single change may lie where a
// variant looks.
void CellTimer::check_after_changes() {
  constexpr std::size_t kEnough = 3;
  const std::size_t parts = spec_.changes.size();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, parts) || (i < kEnough && may_change());
       ++i) {
    if (parts > 0 && any_running()) change(spec_.changes[i % parts]);
    for (Contender& contender : timing_.variants) check(contender);
  }
}

// A variant that is timed in another process is called so often in a row that another clock tells
// whether what was said of its samples can be true: processor time of a single long sample on the
// CPU, the time that passes on a GPU.
void CellTimer::check_clock(Contender& contender) {
  constexpr double kLongEnoughS = 0.05;
  const bool is_elsewhere = static_cast<bool>(contender.variant->launch_elsewhere);
  if (!is_elsewhere || !contender.is_running() || contender.samples_s.empty()) return;
  const double calls =
      std::min(1e5, std::ceil(kLongEnoughS / statistics::median(contender.samples_s)));
  const bool is_one_sample = context_.device.info().kind == record::DeviceKind::kCpu;
  const int launches = is_one_sample ? static_cast<int>(calls) : contender.launches;
  const auto failure = ask(contender, [&] {
    workload_.repeat(*contender.variant, sample_spec(launches),
                     static_cast<int>(std::ceil(calls / launches)));
  });
  if (failure) contender.failure = *failure;
}

void CellTimer::measure_energy(Contender& contender) {
  if (!contender.is_running() || contender.samples_s.empty()) return;
  if (spec_.launch == record::LaunchMode::kSpaced) {
    contender.energy.emplace();
    contender.energy->unavailable = "spaced calls stand between other work";
    return;
  }
  const double sample_s = statistics::median(contender.samples_s) * contender.launches;
  const int times = static_cast<int>(std::clamp(std::ceil(kEnergyPieceS / sample_s), 1.0, 1e5));
  contender.energy = bench::measure_energy(
      {.run_piece =
           [&] {
             const auto failure = ask(contender, [&] {
               workload_.repeat(*contender.variant, sample_spec(contender.launches), times);
             });
             if (failure) contender.failure = *failure;
             return !failure && !context_.is_interrupted();
           },
       .calls_a_piece = std::int64_t{times} * contender.launches,
       .counter_j = [&] { return context_.device.energy_j(); },
       .clock_s = context_.clocks.clock_s});
}

void CellTimer::calibrate(Contender& contender) {
  const int buffer_sets =
      spec_.cache == record::CacheMode::kCold && record::is_replayed(spec_.launch)
          ? workload_.buffer_sets()
          : 1;
  Calibration calibration(context_.options.min_sample_s, buffer_sets);
  while (!calibration.is_done() && !context_.is_interrupted()) {
    const std::optional<device::Sample> taken = sample(contender, calibration.launches());
    rest_after(taken, calibration.launches());
    if (!taken) return;
    calibration.add(taken->seconds);
  }
  contender.launches = calibration.launches();
}

// Leaves the fastest stream shapes, calibrated, in timing_.streams.
void CellTimer::find_best_streams() {
  const std::vector<kernels::Variant>& shapes = context_.catalog().stream_shapes;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!workload_.unsupported(shapes[i]).empty()) continue;
    timing_.streams.push_back({.variant = &shapes[i], .index = i, .is_stream = true});
  }
  Contenders contenders;
  for (Contender& shape : timing_.streams) {
    calibrate(shape);
    contenders.push_back(&shape);
  }
  RoundOrder order(contenders.size(), spec_.seed);
  for (int round = 0; round < kStreamRounds; ++round) run_round(order, contenders);

  std::erase_if(timing_.streams, [](const Contender& shape) {
    return !shape.is_running() || shape.samples_s.size() < kFewestSamples;
  });
  std::ranges::stable_sort(timing_.streams, [](const Contender& a, const Contender& b) {
    return statistics::median(a.samples_s) < statistics::median(b.samples_s);
  });
  if (timing_.streams.size() > kStreamFinalists) {
    timing_.streams.erase(timing_.streams.begin() + kStreamFinalists, timing_.streams.end());
  }
  for (Contender& shape : timing_.streams) {
    shape.samples_s.clear();
    shape.sm_clock_hz.clear();
  }
}

void CellTimer::warm_up(double until_s) {
  while (context_.clocks.clock_s() < until_s && any_running()) {
    for (Contender* contender : all()) {
      if (context_.is_interrupted()) return;
      if (!contender->is_running()) continue;
      rest_after(sample(*contender, contender->launches), contender->launches);
    }
  }
}

void CellTimer::change_now_and_then(std::size_t contenders) {
  if (secret_() % (kRoundsAChange * contenders) != 0 || !may_change()) return;
  change(spec_.changes[secret_() % spec_.changes.size()]);
}

bool CellTimer::may_change() const {
  if (spec_.changes.empty() || context_.is_interrupted()) return false;
  const double elapsed_s = context_.clocks.clock_s() - started_s_;
  return changing_s_ <= kMostOfTimeForChanges * elapsed_s;
}

void CellTimer::change(const std::function<void()>& part) {
  const Caller caller{"a change of the inputs"};
  const double begun_s = context_.clocks.clock_s();
  const std::optional<std::string> failure = device_failure(context_, caller, part);
  if (failure) throw Error(ErrorKind::kDevice, "{}: {}", caller.name, *failure);
  changing_s_ += context_.clocks.clock_s() - begun_s;
}

void CellTimer::run_round(RoundOrder& order, const Contenders& contenders) {
  for (const std::size_t turn : order.next()) {
    if (context_.is_interrupted()) return;
    Contender& contender = *contenders[turn];
    if (!contender.is_running()) continue;
    change_now_and_then(contenders.size());
    const std::optional<device::Sample> taken = sample_watched(contender);
    rest_after(taken, contender.launches);
    if (!taken) continue;
    contender.samples_s.push_back(taken->seconds);
    if (taken->sm_clock_hz) contender.sm_clock_hz.push_back(*taken->sm_clock_hz);
  }
}

// Every contender takes part in every round until the end, the steady ones too, so that ratios pair
// samples of the same round. Whether all are steady is asked after ever longer stretches: asking
// costs a sort, and stopping at the first lucky look would favour narrow intervals.
void CellTimer::run_rounds() {
  const Contenders contenders = all();
  const double started = context_.clocks.clock_s();
  const double budget = context_.options.max_time_s * static_cast<double>(contenders.size());
  const auto min_rounds = static_cast<std::size_t>(std::max(context_.options.min_samples, 1));
  RoundOrder order(contenders.size(), spec_.seed);
  std::size_t next_look = std::max(min_rounds, statistics::kFewestForInterval);
  for (std::size_t rounds = 1; any_running(); ++rounds) {
    run_round(order, contenders);
    if (context_.is_interrupted()) return;
    const double elapsed = context_.clocks.clock_s() - started;
    context_.progress.advance(budget > 0.0 ? elapsed / budget : 1.0);
    if (rounds >= kFewestSamples && elapsed >= budget) return;
    if (rounds < next_look) continue;
    if (all_steady()) return;
    next_look = rounds + std::max<std::size_t>(1, rounds / 8);
  }
}

bool CellTimer::all_steady() const {
  return std::ranges::all_of(timing_.variants, [&](const Contender& contender) {
    return !contender.is_running() || is_steady(contender.samples_s, context_.options);
  });
}

bool CellTimer::any_running() const {
  return std::ranges::any_of(timing_.variants, &Contender::is_running);
}

CellTiming CellTimer::run(const std::vector<std::size_t>& passed) {
  timing_.cache = spec_.cache;
  timing_.launch = spec_.launch;
  started_s_ = context_.clocks.clock_s();
  const device::LoadReading load = context_.clocks.read_load();
  for (const std::size_t index : passed) {
    timing_.variants.push_back({.variant = &context_.variants[index].variant, .index = index});
  }
  for (Contender& contender : timing_.variants) {
    if (record::is_replayed(spec_.launch) && !contender.variant->traits.capturable) {
      contender.unavailable = "its launches cannot be recorded into a graph; see --launch stream";
    }
    if (contender.is_running()) calibrate(contender);
    const std::string peer = contender.variant->traits.peer;
    if (!peer.empty()) context_.threads.note_new(peer);
  }
  if (context_.options.measure_stream_shapes && any_running()) find_best_streams();
  warm_up(started_s_ + kWarmUpS);
  run_rounds();
  timing_.load = device::load_between(load, context_.clocks.read_load());
  if (context_.options.measure_energy) {
    for (Contender& contender : timing_.variants) measure_energy(contender);
  }
  check_after_changes();
  // Last: what is wrong with outputs says more than what is wrong with times.
  for (Contender& contender : timing_.variants) check_clock(contender);
  timing_.was_interrupted = context_.is_interrupted();
  return std::move(timing_);
}

}  // namespace

bool depends_on_host(const RunContext& context, record::LaunchMode launch) {
  return context.device.info().kind == record::DeviceKind::kCpu ||
         launch == record::LaunchMode::kStream;
}

bool is_steady(const std::vector<double>& samples_s, const record::RunOptions& options) {
  const auto wanted = static_cast<std::size_t>(std::max(options.min_samples, 1));
  if (samples_s.size() < std::max(wanted, statistics::kFewestForInterval)) return false;
  return *statistics::relative_half_width(statistics::summarize(samples_s)) <= options.precision;
}

CellTiming time_cell(const RunContext& context, device::Workload& workload, const CellSpec& spec,
                     const std::vector<std::size_t>& passed) {
  return CellTimer(context, workload, spec).run(passed);
}

}  // namespace nf4bench::bench
