#include "layer.hpp"
#include "nf4/random.hpp"
#include "nf4/reference.hpp"
#include "nf4/values.hpp"
#include "operation/activations.hpp"
#include "operation/experts.hpp"
#include "operation/judge.hpp"
#include "operation/probes.hpp"
#include "operation/routing.hpp"
#include "operation/weight.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

namespace nf4bench::operation {
namespace {

using kernels::Problem;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Streams of random words, apart from those of activations and of the run's own routing.
constexpr std::uint64_t kPlaces = 0x6578706c61636573u;
constexpr std::uint64_t kOtherSeed = 0x6f746865726964u;

// What one step may cost the host, and all steps of a walk each variant, in products.
struct Limits {
  double truth = 0.0;
  double walk = 0.0;
};

Limits limits_of(const record::RunOptions& options, record::DeviceKind device) {
  if (options.verify != record::VerifyScope::kAll) return {0x1p26, 0x1p26};
  return device == record::DeviceKind::kCuda ? Limits{0x1p30, 0x1p40} : Limits{0x1p28, 0x1p30};
}

// A call that is made up: rows of x, ids, and slot weights.
struct Call {
  std::vector<double> rows;
  std::vector<std::int64_t> ids;
  std::vector<float> weights;  // empty unless slots are summed
};

class Prober {
 public:
  Prober(const Problem& problem, const record::RunOptions& options, record::DeviceKind device)
      : problem_(problem),
        seed_(options.seed),
        limits_(limits_of(options, device)),
        places_(options.seed, kPlaces) {}

  std::vector<Probe> probes() const;

 private:
  // Of rows that are drawn as usual, under a routing that is not the run's.
  Call usual_call(std::uint64_t number) const;
  Call walk(std::int64_t step) const;
  Call whole_numbers() const;
  Call hostile_ids(std::int64_t step) const;
  Call nan_in_a_row(std::int64_t step) const;
  Call cancelling() const;
  Probe large_rows() const;
  Probe cancelling_layers() const;
  std::vector<kernels::ProductBound> bounds(const nf4::Nf4Tensor& weight,
                                            std::span<const std::byte> input) const;
  ProbeStep step(std::string name, const nf4::Nf4Tensor& weight, const Call& call) const;
  Probe probe_of(std::string name, Call (Prober::*call)(std::int64_t step) const) const;
  Probe exact_probe_of(std::string name, const Call& call, std::optional<float> tolerance) const;

  std::int64_t slots() const { return slots_of(problem_); }
  bool is_layer() const { return problem_.layer.columns > 0; }
  std::int64_t walk_steps() const;
  std::int64_t place(std::int64_t number) const {
    return static_cast<std::int64_t>(places_.at(number) %
                                     static_cast<std::uint64_t>(problem_.inputs));
  }
  double& at(Call& call, std::int64_t row, std::int64_t k) const {
    return call.rows[static_cast<std::size_t>(row * problem_.inputs + k)];
  }

  Problem problem_;
  std::uint64_t seed_;
  Limits limits_;
  nf4::RandomStream places_;
};

std::int64_t Prober::walk_steps() const {
  const double products = computed_elements(problem_);
  const double affordable = std::min(limits_.walk / products, 64.0);
  const std::int64_t all = kernels::block_count(problem_.group.experts, slots());
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(affordable), 1, all);
}

Call Prober::usual_call(std::uint64_t number) const {
  const std::uint64_t seed = seed_ ^ (kOtherSeed + number);
  Call call;
  call.rows = nf4::to_doubles(problem_.output_type,
                              make_activations(problem_, record::Activations::kNormal, seed));
  call.ids = draw_ids(problem_, {}, seed);
  if (problem_.group.sums_slots) {
    for (std::int64_t slot = 0; slot < slots(); ++slot) {
      call.weights.push_back(static_cast<float>(nf4::to_unit(places_.at(-1 - slot)) - 0.4));
    }
  }
  return call;
}

// Experts in turn, and one input for each row that counts.
Call Prober::walk(std::int64_t step) const {
  Call call = usual_call(0);
  std::ranges::fill(call.rows, 0.0);
  const std::int64_t top_k = problem_.group.top_k;
  for (std::int64_t slot = 0; slot < slots(); ++slot) {
    const auto index = static_cast<std::size_t>(slot);
    call.ids[index] = (step * slots() + slot) % problem_.group.experts;
    const std::int64_t token = slot / top_k;
    const bool is_summed = problem_.group.sums_slots;
    const bool counts = is_summed ? slot % top_k == (token + step) % top_k : slot % top_k == 0;
    const std::int64_t row = problem_.group.slots_have_rows ? slot : token;
    if (counts) at(call, row, place(step * slots() + slot)) = 1.0;
    if (is_layer() && !counts) call.ids[index] = -1;  // its row is that of the slot that counts
    if (!call.weights.empty())
      call.weights[index] = std::ldexp(1.0f, -static_cast<int>((slot + 5 * step) % 16));
  }
  return call;
}

// So few that float32 holds every sum, see product_probes.cpp.
Call Prober::whole_numbers() const {
  constexpr std::int64_t kMostSummed = 512;
  Call call = usual_call(1);
  std::ranges::fill(call.rows, 0.0);
  const std::int64_t summed = problem_.group.sums_slots ? problem_.group.top_k : 1;
  const std::int64_t count =
      std::min(problem_.inputs, std::max<std::int64_t>(1, kMostSummed / summed));
  for (std::int64_t row = 0; row < input_rows(problem_); ++row) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = row * count + i;
      at(call, row, place(number)) = places_.at(-1 - number) % 2 == 0 ? 1.0 : -1.0;
    }
  }
  std::ranges::fill(call.weights, 1.0f);
  return call;
}

// Every third slot has, in turn, an id that is there already and ones that are no expert's.
Call Prober::hostile_ids(std::int64_t step) const {
  Call call = usual_call(2);
  const std::int64_t none[] = {-1, problem_.group.experts, std::numeric_limits<std::int32_t>::max(),
                               std::int64_t{1} << 32};
  for (std::int64_t slot = 0; slot < slots(); slot += 3) {
    const auto index = static_cast<std::size_t>(slot);
    const std::int64_t kind = (slot / 3 + step) % 5;
    if (kind == 0) {
      call.ids[index] = call.ids[static_cast<std::size_t>(slots() - 1)];
      continue;
    }
    call.ids[index] = none[kind - 1];
    if (!call.weights.empty()) call.weights[index] = static_cast<float>(kNan);
    if (problem_.group.slots_have_rows) at(call, slot, 0) = kNan;
  }
  return call;
}

Call Prober::nan_in_a_row(std::int64_t) const {
  Call call = usual_call(3);
  at(call, input_rows(problem_) / 2, place(0)) = kNan;
  return call;
}

// The first and the third slot of each token have one expert and one row, with opposite weights.
Call Prober::cancelling() const {
  Call call = usual_call(4);
  std::ranges::fill(call.rows, 0.0);
  for (std::int64_t token = 0; token < problem_.tokens; ++token) {
    const std::int64_t first = token * problem_.group.top_k;
    const auto index = static_cast<std::size_t>(first);
    call.ids[index + 2] = call.ids[index];
    const float weights[] = {4096.0f, 1.0f, -4096.0f};
    for (std::int64_t i = 0; i < 3; ++i) {
      call.weights[index + static_cast<std::size_t>(i)] = weights[i];
      at(call, first + i, place(first + i % 2)) = 1.0;
    }
  }
  return call;
}

// So large that gates and ups are beyond the limits of activations that have some.
Probe Prober::large_rows() const {
  constexpr double kTypical = 8.0;  // of gates and ups
  Probe probe;
  probe.make = [own = *this](const nf4::Nf4Tensor& weight, std::int64_t) {
    const nf4::OutputType type = own.problem_.output_type;
    std::vector<std::byte> row(static_cast<std::size_t>(own.problem_.inputs) *
                               nf4::size_in_bytes(type));
    nf4::reference_dequantize(weight, type, {0, own.problem_.inputs}, row);
    double squares = 0.0;
    for (const double value : nf4::to_doubles(type, row)) squares += value * value;
    const double wanted =
        std::isfinite(squares) && squares > 0.0 ? kTypical / std::sqrt(squares) : 1.0;
    Call call = own.usual_call(5);
    for (double& value : call.rows) value *= std::clamp(wanted, 1.0, 4096.0);
    return own.step("with rows that are large", weight, call);
  };
  return probe;
}

// The first and the third slot of each token have one expert and opposite weights. What an expert
// gives for a row is the same both times, so that the second slot is all that is left.
Probe Prober::cancelling_layers() const {
  Call call = usual_call(4);
  for (std::size_t slot = 0; slot < call.ids.size(); ++slot) {
    const auto in_token = static_cast<std::int64_t>(slot) % problem_.group.top_k;
    if (in_token == 2) call.ids[slot] = call.ids[slot - 2];
    if (in_token > 2) call.ids[slot] = -1;
    const float weights[] = {4096.0f, 1.0f, -4096.0f};
    call.weights[slot] = in_token < 3 ? weights[in_token] : 0.0f;
  }
  Probe probe;
  probe.make = [own = *this, call](const nf4::Nf4Tensor& weight, std::int64_t) {
    const auto of_slot = [&](std::int64_t which) {
      Call one = call;
      for (std::size_t slot = 0; slot < one.ids.size(); ++slot) {
        const auto in_token = static_cast<std::int64_t>(slot) % own.problem_.group.top_k;
        if (in_token != which) one.ids[slot] = -1;
        one.weights[slot] = 1.0f;
      }
      return own.step("with slots that cancel each other", weight, one);
    };
    ProbeStep step = of_slot(1);
    std::vector<kernels::ProductBound> bounds = bounds_in(step.expected);
    const std::vector<kernels::ProductBound> gone = bounds_in(of_slot(0).expected);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      // What float32 loses of 4096 times that, and of how far sums in another order are off.
      const auto lost =
          static_cast<float>(0x1p-10 * std::fabs(gone[i].value) + 0x1p-2 * gone[i].exact);
      bounds[i].exact += lost;
      bounds[i].rounded = std::copysign(std::fabs(bounds[i].rounded) + lost, bounds[i].rounded);
    }
    ProbeStep both = own.step(step.name, weight, call);
    both.expected = bytes_of(bounds);
    return both;
  };
  return probe;
}

// As many as the host can sum up.
std::vector<kernels::ProductBound> Prober::bounds(const nf4::Nf4Tensor& weight,
                                                  std::span<const std::byte> input) const {
  const auto summed = static_cast<double>(problem_.group.sums_slots ? problem_.group.top_k : 1);
  if (is_layer()) {  // whole tokens: what is activated is most of the work
    const double tokens =
        limits_.truth / (summed * static_cast<double>(products_of_slot(problem_)));
    const auto most = std::max<std::int64_t>(1, static_cast<std::int64_t>(tokens));
    return experts_bounds(weight, problem_, input,
                          std::min(most, problem_.tokens) * problem_.outputs);
  }
  const double outputs = limits_.truth / (summed * static_cast<double>(problem_.inputs));
  return experts_bounds(weight, problem_, input,
                        std::max<std::int64_t>(1, static_cast<std::int64_t>(outputs)));
}

ProbeStep Prober::step(std::string name, const nf4::Nf4Tensor& weight, const Call& call) const {
  ProbeStep step = {std::move(name), nf4::to_values(problem_.output_type, call.rows), {}};
  const auto add = [&](std::span<const std::byte> bytes) {
    step.input.insert(step.input.end(), bytes.begin(), bytes.end());
  };
  add(std::as_bytes(std::span(call.ids)));
  add(std::as_bytes(std::span(call.weights)));
  step.expected = bytes_of(bounds(weight, step.input));
  return step;
}

Probe Prober::probe_of(std::string name, Call (Prober::*call)(std::int64_t step) const) const {
  Probe probe;
  probe.make = [own = *this, name = std::move(name), call](const nf4::Nf4Tensor& weight,
                                                           std::int64_t number) {
    return own.step(name, weight, (own.*call)(number));
  };
  return probe;
}

// Of weights and rows whose sums float32 holds: all bits, or what `tolerance` leaves; without one
// what rounded weights may be off by.
Probe Prober::exact_probe_of(std::string name, const Call& call,
                             std::optional<float> tolerance) const {
  Probe probe;
  probe.make = [own = *this, name = std::move(name), call, tolerance](const nf4::Nf4Tensor& weight,
                                                                      std::int64_t) {
    ProbeStep step = own.step(name, weight, call);
    const nf4::OutputType type = own.problem_.output_type;
    std::vector<kernels::ProductBound> bounds = bounds_in(step.expected);
    for (kernels::ProductBound& bound : bounds) {
      bound.value = nf4::value_at(type, nf4::to_values(type, {{bound.value}}), 0);
      bound.exact = 0.0f;
      bound.rounded = tolerance.value_or(bound.rounded);
    }
    step.expected = bytes_of(bounds);
    return step;
  };
  return probe;
}

// Scales that are NaN, of the experts that `ids` leave out.
nf4::Nf4Tensor with_nan_where_unused(const nf4::Nf4Tensor& weight, const Problem& problem,
                                     std::span<const std::int64_t> ids) {
  nf4::Nf4Tensor result = weight;
  // Of the blocks that are its alone.
  const auto spoil = [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = kernels::block_count(begin, weight.blocksize);
    for (std::int64_t block = first; block < end / weight.blocksize; ++block) {
      if (weight.is_nested()) {
        result.absmax_codes[static_cast<std::size_t>(block)] = 255;
      } else {
        result.absmax[static_cast<std::size_t>(block)] = static_cast<float>(kNan);
      }
    }
  };
  const bool is_layer = problem.layer.columns > 0;
  const std::int64_t firsts = is_layer ? kernels::up_of(problem).elements : problem.elements;
  const std::int64_t size = firsts / problem.group.experts;
  const std::int64_t second = (problem.elements - firsts) / problem.group.experts;
  for (std::int64_t expert = 0; expert < problem.group.experts; ++expert) {
    if (std::ranges::find(ids, expert) != ids.end()) continue;
    spoil(expert * size, (expert + 1) * size);
    spoil(firsts + expert * second, firsts + (expert + 1) * second);
  }
  if (!weight.is_nested()) return result;
  for (std::int64_t block = 0; block < weight.blocks(); ++block) {
    std::uint8_t& code = result.absmax_codes[static_cast<std::size_t>(block)];
    const bool is_own = code == weight.absmax_codes[static_cast<std::size_t>(block)];
    if (is_own && code == 255) code = 254;
  }
  result.nested_map[255] = static_cast<float>(kNan);
  return result;
}

std::vector<Probe> Prober::probes() const {
  Probe walk;
  walk.steps = walk_steps();
  walk.make = [own = *this](const nf4::Nf4Tensor& weight, std::int64_t number) {
    const std::int64_t first = number * own.slots() % own.problem_.group.experts;
    return own.step(fmt::format("with one input at a time, expert {} first", first), weight,
                    own.walk(number));
  };
  std::vector<Probe> probes = {std::move(walk)};
  const bool is_16_bit = problem_.output_type != nf4::OutputType::kFloat32;
  if (is_layer()) {
    probes.push_back(large_rows());
    if (problem_.group.top_k >= 3) probes.push_back(cancelling_layers());
  } else if (is_16_bit) {
    probes.push_back(
        exact_probe_of("with sums that are exact in any order", whole_numbers(), std::nullopt));
    probes.back().change = with_powers_of_two;
  }
  if (problem_.group.slots_have_rows && problem_.group.top_k >= 3) {
    probes.push_back(exact_probe_of("with slots that cancel each other", cancelling(), 0.2f));
    probes.back().change = with_signs;
  }
  probes.push_back(probe_of("with ids that are twice there or no expert's", &Prober::hostile_ids));
  probes.back().steps = slots() < 15 ? 5 : 1;
  probes.push_back(probe_of("with NaN in one row of x", &Prober::nan_in_a_row));
  probes.push_back(probe_of("with NaN in the experts that nobody chose", &Prober::nan_in_a_row));
  const Call call = nan_in_a_row(0);
  probes.back().change = [problem = problem_, ids = call.ids](const nf4::Nf4Tensor& weight) {
    return with_nan_where_unused(weight, problem, ids);
  };
  return probes;
}

}  // namespace

std::vector<Probe> experts_probes(const Problem& problem, const record::RunOptions& options,
                                  record::DeviceKind device) {
  if (problem.elements == 0) return {};
  return Prober(problem, options, device).probes();
}

}  // namespace nf4bench::operation
