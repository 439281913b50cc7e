#include "bench/energy.hpp"

#include <chrono>
#include <cmath>
#include <thread>

namespace nf4bench::bench {
namespace {

constexpr double kLongestStandstillS = 1.0;

record::Energy unknown(const char* why) {
  record::Energy energy;
  energy.unavailable = why;
  return energy;
}

// What the counter showed when it had just moved.
struct Move {
  double at_s = 0.0;
  double joules = 0.0;
};

class Batch {
 public:
  explicit Batch(const EnergyBatch& batch) : batch_(batch) {}

  std::optional<record::Energy> measure();

 private:
  // The next move that comes at or after `from_s`.
  std::optional<Move> next_move(double from_s);

  const EnergyBatch& batch_;
  std::int64_t pieces_ = 0;
  bool has_ended_ = false;
};

std::optional<Move> Batch::next_move(double from_s) {
  std::optional<double> last = batch_.counter_j();
  double moved_at_s = batch_.clock_s();
  while (last) {
    has_ended_ = !batch_.run_piece();
    if (has_ended_) return std::nullopt;
    ++pieces_;
    const std::optional<double> joules = batch_.counter_j();
    const double now_s = batch_.clock_s();
    if (!joules || now_s - moved_at_s > kLongestStandstillS) return std::nullopt;
    if (*joules <= *last) continue;
    if (now_s >= from_s) return Move{now_s, *joules};
    last = joules;
    moved_at_s = now_s;
  }
  return std::nullopt;
}

std::optional<record::Energy> Batch::measure() {
  if (!batch_.counter_j()) return unknown("the device has no energy counter");
  const std::optional<Move> first = next_move(0.0);
  pieces_ = 0;
  const std::optional<Move> last =
      first ? next_move(first->at_s + kEnergyBatchS) : std::optional<Move>();
  if (has_ended_) return std::nullopt;
  if (!last) return unknown("the device's energy counter did not move");
  record::Energy energy;
  energy.seconds = last->at_s - first->at_s;
  energy.calls = pieces_ * batch_.calls_a_piece;
  energy.power_w = (last->joules - first->joules) / energy.seconds;
  energy.joules = (last->joules - first->joules) / static_cast<double>(energy.calls);
  // The counter moved at some moment within the piece before either end.
  energy.error = std::sqrt(2.0 / 12.0) / static_cast<double>(pieces_);
  return energy;
}

}  // namespace

std::optional<record::Energy> measure_energy(const EnergyBatch& batch) {
  return Batch(batch).measure();
}

std::optional<double> idle_power(device::Device& device, const std::atomic<bool>& interrupted) {
  const std::optional<record::Energy> energy = measure_energy(
      {.run_piece =
           [&] {
             std::this_thread::sleep_for(std::chrono::duration<double>(kEnergyPieceS));
             return !interrupted.load();
           },
       .counter_j = [&] { return device.energy_j(); },
       .clock_s =
           [] {
             const std::chrono::duration<double> now =
                 std::chrono::steady_clock::now().time_since_epoch();
             return now.count();
           }});
  return energy && energy->joules ? std::optional(energy->power_w) : std::nullopt;
}

}  // namespace nf4bench::bench
