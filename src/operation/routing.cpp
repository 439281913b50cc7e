#include "operation/routing.hpp"

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "base/parsed.hpp"
#include "base/text.hpp"
#include "nf4/random.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>

namespace nf4bench::operation {
namespace {

using kernels::Problem;

// Streams of random words, apart from those of tensors and activations.
constexpr std::uint64_t kNoise = 0x726f7574696e6773u;
constexpr std::uint64_t kLiking = 0x6578706572747321u;
constexpr std::uint64_t kWeights = 0x736c6f7477656967u;

template <class Value>
Value value_at(std::span<const std::byte> bytes, std::int64_t index) {
  Value value = 0;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(value),
              sizeof(value));
  return value;
}

// The whole of `word` as a number of 0 or more; none when it is not.
std::optional<double> number_of(std::string_view word) {
  const auto value = parsed<double>(word);
  return value && *value >= 0.0 && *value < 1e6 ? value : std::nullopt;
}

// In which order experts stand in line: for who is dead, who is liked most, and whose turn it is.
std::vector<std::int64_t> shuffled_experts(std::int64_t experts, std::uint64_t seed) {
  const nf4::RandomStream words(seed, kLiking);
  std::vector<std::int64_t> order(static_cast<std::size_t>(experts));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = experts - 1; i > 0; --i) {
    const std::uint64_t other = words.at(i) % static_cast<std::uint64_t>(i + 1);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

// How much each expert is liked by all tokens; the first `alive` of `order` at all.
std::vector<double> liking_of(const Routing& routing, std::span<const std::int64_t> order,
                              std::int64_t alive, std::uint64_t seed) {
  const nf4::RandomStream words(seed, kLiking);
  std::vector<double> liking(order.size(), -std::numeric_limits<double>::infinity());
  for (std::int64_t rank = 0; rank < alive; ++rank) {
    double& own = liking[static_cast<std::size_t>(order[static_cast<std::size_t>(rank)])];
    own = 0.0;
    if (routing.kind == RoutingKind::kZipf) {
      own = -routing.strength * nf4::portable_log(static_cast<double>(rank + 1));
    } else if (routing.kind == RoutingKind::kNormal) {
      own = routing.strength * nf4::normal_quantile(nf4::to_unit(words.at(-1 - rank)));
    }
  }
  return liking;
}

// The experts of one token: the top_k greatest of what is liked plus noise (Gumbel's), in order.
void choose(const nf4::RandomStream& noise, std::int64_t token, std::span<const double> liking,
            std::span<std::int64_t> chosen) {
  const auto experts = static_cast<std::int64_t>(liking.size());
  std::vector<std::pair<double, std::int64_t>> scores(liking.size());
  for (std::int64_t e = 0; e < experts; ++e) {
    const double unit = nf4::to_unit(noise.at(token * experts + e));
    scores[static_cast<std::size_t>(e)] = {
        nf4::portable_log(-nf4::portable_log(unit)) - liking[static_cast<std::size_t>(e)], e};
  }
  std::partial_sort(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(chosen.size()),
                    scores.end());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = scores[i].second;
}

}  // namespace

std::int64_t row_bytes(const Problem& problem) {
  return input_rows(problem) * problem.inputs *
         static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
}

std::int64_t call_bytes(const Problem& problem) {
  if (problem.group.experts == 0) return row_bytes(problem);
  const std::int64_t slot_bytes = 8 + (problem.group.sums_slots ? 4 : 0);
  return row_bytes(problem) + slots_of(problem) * slot_bytes;
}

CallParts parts_of(const Problem& problem, std::span<const std::byte> input) {
  if (problem.group.experts == 0 || input.empty()) return {input, {}, {}};
  const auto rows = static_cast<std::size_t>(row_bytes(problem));
  const auto ids = static_cast<std::size_t>(slots_of(problem) * 8);
  return {input.first(rows), input.subspan(rows, ids), input.subspan(rows + ids)};
}

// The sign is the top bit of the last byte: values are little-endian.
void negate(nf4::OutputType type, std::span<std::byte> values) {
  const std::size_t size = nf4::size_in_bytes(type);
  for (std::size_t i = size - 1; i < values.size(); i += size) values[i] ^= std::byte{0x80};
}

std::vector<std::byte> call_of_tokens(const Problem& problem, std::span<const std::byte> input,
                                      std::int64_t first, std::int64_t count) {
  const CallParts parts = parts_of(problem, input);
  std::vector<std::byte> some;
  for (const std::span<const std::byte> part : {parts.rows, parts.ids, parts.slot_weights}) {
    const std::size_t bytes = part.size() / static_cast<std::size_t>(problem.tokens);
    const auto own = part.subspan(static_cast<std::size_t>(first) * bytes,
                                  static_cast<std::size_t>(count) * bytes);
    some.insert(some.end(), own.begin(), own.end());
  }
  return some;
}

std::int64_t expert_of(const Problem& problem, const CallParts& parts, std::int64_t slot) {
  if (problem.group.experts == 0) return 0;
  const auto id = value_at<std::int64_t>(parts.ids, slot);
  return id >= 0 && id < problem.group.experts ? id : -1;
}

double slot_weight(const CallParts& parts, std::int64_t slot) {
  return parts.slot_weights.empty() ? 1.0 : double{value_at<float>(parts.slot_weights, slot)};
}

Routing parse_routing(const std::string& word) {
  const auto refuse = [&] {
    return Error(
        ErrorKind::kUsage,
        "--routing: \"{}\" is none; wanted uniform, zipf:S, normal:S, one or balanced, each "
        "perhaps with :dead=F (a share below 1), or a .npy file of ids [tokens, top-k]",
        escaped(word));
  };
  Routing routing;
  if (word.ends_with(".npy")) {
    routing.kind = RoutingKind::kFile;
    routing.file = word;
    return routing;
  }
  std::string_view rest = word;
  if (const std::size_t at = rest.find(":dead="); at != std::string_view::npos) {
    const std::optional<double> dead = number_of(rest.substr(at + 6));
    if (!dead || *dead >= 1.0) throw refuse();
    routing.dead = *dead;
    rest = rest.substr(0, at);
  }
  const std::size_t colon = rest.find(':');
  const std::string_view name = rest.substr(0, colon);
  const bool has_strength = name == "zipf" || name == "normal";
  if (has_strength != (colon != std::string_view::npos)) throw refuse();
  if (has_strength) {
    const std::optional<double> strength = number_of(rest.substr(colon + 1));
    if (!strength) throw refuse();
    routing.strength = *strength;
  }
  routing.kind = name == "zipf"       ? RoutingKind::kZipf
                 : name == "normal"   ? RoutingKind::kNormal
                 : name == "one"      ? RoutingKind::kOne
                 : name == "balanced" ? RoutingKind::kBalanced
                                      : RoutingKind::kUniform;
  if (routing.kind == RoutingKind::kUniform && name != "uniform") throw refuse();
  return routing;
}

std::vector<std::int64_t> draw_ids(const Problem& problem, const Routing& routing,
                                   std::uint64_t seed) {
  const std::int64_t experts = problem.group.experts;
  const std::int64_t top_k = problem.group.top_k;
  const auto dead = static_cast<std::int64_t>(routing.dead * static_cast<double>(experts));
  const std::int64_t alive = experts - dead;
  if (alive < top_k) {
    throw Error(ErrorKind::kUsage,
                "--routing: leaves {} of {} experts, and each token chooses {}; wanted a smaller "
                "share of dead experts, or a smaller --top-k",
                alive, experts, top_k);
  }
  const std::vector<std::int64_t> order = shuffled_experts(experts, seed);
  const std::vector<double> liking = liking_of(routing, order, alive, seed);
  const nf4::RandomStream noise(seed, kNoise);
  std::vector<std::int64_t> ids(static_cast<std::size_t>(slots_of(problem)));
  parallel_for(problem.tokens, 64, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t token = first; token < last; ++token) {
      const auto own = std::span(ids).subspan(static_cast<std::size_t>(token * top_k),
                                              static_cast<std::size_t>(top_k));
      if (routing.kind == RoutingKind::kBalanced) {
        for (std::int64_t i = 0; i < top_k; ++i) {
          own[static_cast<std::size_t>(i)] =
              order[static_cast<std::size_t>((token * top_k + i) % alive)];
        }
      } else {
        choose(noise, routing.kind == RoutingKind::kOne ? 0 : token, liking, own);
      }
    }
  });
  return ids;
}

std::vector<std::byte> routing_bytes(const Problem& problem, std::span<const std::int64_t> ids,
                                     std::uint64_t seed) {
  const auto id_bytes = std::as_bytes(ids);
  std::vector<std::byte> bytes(id_bytes.begin(), id_bytes.end());
  if (!problem.group.sums_slots) return bytes;
  const nf4::RandomStream words(seed, kWeights);
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    const double unit = nf4::to_unit(words.at(static_cast<std::int64_t>(slot)));
    const auto weight = static_cast<float>(0.1 + 0.9 * unit);
    const auto part = std::as_bytes(std::span(&weight, 1));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

ExpertLoad load_of(const Problem& problem, const CallParts& parts) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(problem.group.experts));
  ExpertLoad load;
  for (std::int64_t slot = 0; slot < slots_of(problem); ++slot) {
    const std::int64_t expert = expert_of(problem, parts, slot);
    if (expert < 0) continue;
    const std::int64_t own = ++rows[static_cast<std::size_t>(expert)];
    if (own == 1) ++load.hit;
    load.fullest = std::max(load.fullest, own);
    ++load.slots;
  }
  return load;
}

}  // namespace nf4bench::operation
