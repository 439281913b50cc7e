#include "operation/contents.hpp"

#include "layer.hpp"
#include "operation/judge.hpp"
#include "operation/layer_truth.hpp"
#include "operation/routing.hpp"
#include "operation/weight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace nf4bench::operation {
namespace {

// So many bytes of codes change at a time, if the block has as many.
constexpr std::int64_t kChangedCodes = 32;

// How often a scale is looked for that is another one.
constexpr int kScalesTried = 8;

class Changer {
 public:
  Changer(const Operation& operation, const Contents& contents, std::mt19937_64& random)
      : operation_(operation), contents_(contents), random_(random) {
    change_.expected = {contents.own, contents.of_sibling};
  }

  device::ContentChange change_a_block();
  device::ContentChange negate_a_token();
  device::ContentChange trade_places();

 private:
  std::int64_t draw(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }
  std::int64_t value_bytes() const {
    return operation_.expected_bytes(contents_.problem.output_type);
  }
  std::int64_t compared() const {
    return static_cast<std::int64_t>(contents_.own.size()) / value_bytes();
  }
  std::int64_t draw_element();
  std::int64_t draw_expert();
  nf4::ElementRange draw_rows_up();
  nf4::ElementRange draw_block_down();
  void change_part(nf4::ElementRange range, std::int64_t most_bytes);
  device::ContentChange change_a_layer();
  std::vector<PlacedTruths> truth_of(const LayerPart& part, device::Content content) const;
  void hold_part_to(device::Content content, const PlacedTruths& before, const PlacedTruths& after);
  std::vector<std::byte>& input_of(device::Content content) const;
  void trade_ids(device::Content content, std::int64_t token, std::int64_t other);
  void hold_token(device::Content content, std::int64_t token);
  void change_codes(nf4::ElementRange elements, std::int64_t most_bytes);
  void change_scale(std::int64_t block);
  void hold_to(std::int64_t first, std::span<const std::byte> own,
               std::span<const std::byte> sibling);
  void add_input(std::size_t index, std::int64_t at, std::span<const std::byte> own,
                 std::span<const std::byte> sibling);

  const Operation& operation_;
  const Contents& contents_;
  std::mt19937_64& random_;
  device::ContentChange change_;
};

// An element of the weight that compared outputs depend on; of a stack, if any token chose one.
std::int64_t Changer::draw_element() {
  const kernels::Problem& problem = contents_.problem;
  if (problem.tokens == 0) return draw(std::min(problem.elements, compared()));
  const std::int64_t place = draw(std::min(problem.outputs, compared()) * problem.inputs);
  return element_of(problem, draw_expert(), place / problem.inputs, place % problem.inputs);
}

// One that compared outputs depend on; the first where they depend on none.
std::int64_t Changer::draw_expert() {
  const kernels::Problem& problem = contents_.problem;
  const CallParts parts = parts_of(problem, contents_.input);
  const std::int64_t rows = (compared() + problem.outputs - 1) / problem.outputs;
  const std::int64_t slot = draw(rows * (slots_of(problem) / output_rows(problem)));
  return std::max<std::int64_t>(0, expert_of(problem, parts, slot));
}

// The outputs of a token are then the negatives of what they were, as those of the sibling are.
device::ContentChange Changer::negate_a_token() {
  if (compared() == 0) return std::move(change_);
  const kernels::Problem& problem = contents_.problem;
  const std::int64_t outputs = output_rows(problem) / problem.tokens * problem.outputs;  // of each
  const std::int64_t token = draw((compared() + outputs - 1) / outputs);
  const auto size = static_cast<std::int64_t>(nf4::size_in_bytes(problem.output_type));
  const std::int64_t bytes = input_rows(problem) / problem.tokens * problem.inputs * size;
  const std::int64_t at = token * bytes;
  const auto row = std::span(contents_.input)
                       .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(bytes));
  negate(problem.output_type, row);
  add_input(kInput, at, row, row);
  if (contents_.sibling_input != nullptr) {
    std::ranges::copy(row, contents_.sibling_input->begin() + at);
  }
  if (problem.layer.columns > 0) {  // which is no odd function
    hold_token(device::Content::kOwn, token);
    hold_token(device::Content::kSibling, token);
    return std::move(change_);
  }

  const std::int64_t first = token * outputs;
  const std::int64_t count = std::min(outputs, compared() - first);
  const auto negated = [&](std::span<const std::byte> expected) {
    return operation_.sibling_reference(
        problem, expected.subspan(static_cast<std::size_t>(first * value_bytes()),
                                  static_cast<std::size_t>(count * value_bytes())));
  };
  hold_to(first, negated(contents_.own), negated(contents_.of_sibling));
  return std::move(change_);
}

device::ContentChange Changer::change_a_block() {
  if (compared() == 0) return std::move(change_);
  if (contents_.problem.layer.columns > 0) return change_a_layer();
  const nf4::Nf4Tensor& sibling = contents_.sibling;
  const std::int64_t block = draw_element() / sibling.blocksize;
  const std::int64_t first = block * sibling.blocksize;
  const nf4::ElementRange range = {
      first, std::min<std::int64_t>(sibling.blocksize, sibling.elements - first)};
  change_codes(range, kChangedCodes);
  change_scale(block);
  for (const ExpectedPart& part : operation_.reference_of_part(
           sibling, contents_.problem, contents_.input, range, compared())) {
    const bool is_alike = contents_.sibling_input == nullptr;
    hold_to(part.first, operation_.sibling_reference(contents_.problem, part.expected),
            is_alike ? std::span<const std::byte>(part.expected) : std::span<const std::byte>());
  }
  if (contents_.sibling_input == nullptr) return std::move(change_);
  for (const ExpectedPart& part : operation_.reference_of_part(
           sibling, contents_.problem, *contents_.sibling_input, range, compared())) {
    hold_to(part.first, {}, part.expected);
  }
  return std::move(change_);
}

// Some rows of an expert's first matrix: a single one would not show among all columns.
nf4::ElementRange Changer::draw_rows_up() {
  const kernels::Problem up = kernels::up_of(contents_.problem);
  const kernels::Activation of = kernels::activation_of(contents_.problem);
  const std::int64_t half = of.gated && !of.interleaved ? of.columns : up.outputs;  // of the rows
  const std::int64_t rows = std::max<std::int64_t>(1, of.columns / 32);
  const std::int64_t row = draw(up.outputs / half) * half + draw(half - rows + 1);
  return {(draw_expert() * up.outputs + row) * up.inputs, rows * up.inputs};
}

// A block of an expert's second matrix, with elements of no other one.
nf4::ElementRange Changer::draw_block_down() {
  const kernels::Problem down = kernels::down_of(contents_.problem);
  const std::int64_t blocksize = contents_.sibling.blocksize;
  const std::int64_t first =
      contents_.problem.elements - down.elements + draw_expert() * down.outputs * down.inputs;
  const std::int64_t rows = std::min(down.outputs, compared());
  const std::int64_t begin = kernels::block_count(first, blocksize);
  const std::int64_t end = (first + rows * down.inputs) / blocksize;
  if (end <= begin) return {first, 0};
  return {(begin + draw(end - begin)) * blocksize, blocksize};
}

std::vector<PlacedTruths> Changer::truth_of(const LayerPart& part, device::Content content) const {
  std::vector<std::byte> input = input_of(content);
  if (content == device::Content::kOwn) input = operation_.mirrored(contents_.problem, input);
  return truth_of_layer_part(contents_.sibling, contents_.problem, input, part, compared());
}

// Outputs of which a part has become another one.
void Changer::hold_part_to(device::Content content, const PlacedTruths& before,
                           const PlacedTruths& after) {
  const bool is_own = content == device::Content::kOwn;
  const auto known = std::span<const std::byte>(is_own ? contents_.own : contents_.of_sibling)
                         .subspan(static_cast<std::size_t>(after.first * value_bytes()),
                                  after.truths.size() * static_cast<std::size_t>(value_bytes()));
  std::vector<kernels::ProductBound> bounds = bounds_in(known);
  const ErrorBound bound = {contents_.problem.output_type, contents_.problem.layer.columns};
  const double sign = content == device::Content::kOwn ? -1.0 : 1.0;
  const auto add = [&](const PlacedTruths& part, double times) {
    const std::vector<kernels::ProductBound> more = bounds_of(bound, part.truths);
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      bounds[i].value += times * more[i].value;
      bounds[i].exact = std::hypot(bounds[i].exact, more[i].exact);
      const bool may_overflow = bounds[i].rounded < 0.0f || more[i].rounded < 0.0f;
      const float rounded = std::hypot(bounds[i].rounded, more[i].rounded);
      bounds[i].rounded = may_overflow ? -rounded : rounded;
    }
  };
  add(before, -sign);
  add(after, sign);
  const std::vector<std::byte> changed = bytes_of(bounds);
  const auto none = std::span<const std::byte>();
  const auto all = std::span<const std::byte>(changed);
  hold_to(after.first, is_own ? all : none, is_own ? none : all);
}

void Changer::change_part(nf4::ElementRange range, std::int64_t most_bytes) {
  const LayerPart part = part_of_layer(contents_.problem, range.first, range.count);
  constexpr device::Content kBoth[] = {device::Content::kOwn, device::Content::kSibling};
  const std::vector<PlacedTruths> before[] = {truth_of(part, kBoth[0]), truth_of(part, kBoth[1])};
  change_codes(range, most_bytes);
  const std::int64_t blocksize = contents_.sibling.blocksize;
  const bool is_block = range.count == blocksize && range.first % blocksize == 0;
  if (is_block) change_scale(range.first / blocksize);
  for (std::size_t which = 0; which < 2; ++which) {
    const std::vector<PlacedTruths> after = truth_of(part, kBoth[which]);
    for (std::size_t i = 0; i < after.size(); ++i) {
      hold_part_to(kBoth[which], before[which][i], after[i]);
    }
  }
}

// Both stacks, because either may be remembered.
device::ContentChange Changer::change_a_layer() {
  // One may belong to an expert that weighs little where it was chosen.
  constexpr int kChanges = 4;
  for (int i = 0; i < kChanges; ++i) {
    const nf4::ElementRange rows = draw_rows_up();
    if (rows.first % 2 == 0 && rows.count % 2 == 0) change_part(rows, rows.count);
    const nf4::ElementRange block = draw_block_down();
    if (block.count > 0) change_part(block, kChangedCodes);
  }
  return std::move(change_);
}

device::ContentChange Changer::trade_places() {
  const kernels::Problem& problem = contents_.problem;
  const std::int64_t outputs = output_rows(problem) / problem.tokens * problem.outputs;  // of each
  const std::int64_t tokens = (compared() + outputs - 1) / outputs;
  if (tokens == 0) return std::move(change_);
  const std::int64_t token = draw(tokens);
  const std::int64_t other = draw(problem.tokens);
  for (const device::Content content : {device::Content::kOwn, device::Content::kSibling}) {
    trade_ids(content, token, other);
    hold_token(content, token);
    if (other != token) hold_token(content, other);
  }
  return std::move(change_);
}

std::vector<std::byte>& Changer::input_of(device::Content content) const {
  const bool is_own = content == device::Content::kOwn || contents_.sibling_input == nullptr;
  return is_own ? contents_.input : *contents_.sibling_input;
}

// Slot weights stay: each expert then has another one, too.
void Changer::trade_ids(device::Content content, std::int64_t token, std::int64_t other) {
  const kernels::Problem& problem = contents_.problem;
  const auto bytes = static_cast<std::size_t>(problem.group.top_k) * sizeof(std::int64_t);
  const auto begin = static_cast<std::size_t>(row_bytes(problem));
  const std::span<std::byte> ids = std::span(input_of(content)).subspan(begin);
  const auto of = [&](std::int64_t each) {
    return ids.subspan(static_cast<std::size_t>(each) * bytes, bytes);
  };
  if (token == other) {
    const std::span<std::byte> own = of(token);
    std::rotate(own.begin(), own.begin() + sizeof(std::int64_t), own.end());
  } else {
    const std::span<std::byte> own = of(token);
    std::swap_ranges(own.begin(), own.end(), of(other).begin());
  }
  for (const std::int64_t each : {token, other}) {
    const std::span<const std::byte> row = of(each);
    const bool is_own = content == device::Content::kOwn;
    const auto none = std::span<const std::byte>();
    add_input(kIds, each * static_cast<std::int64_t>(bytes), is_own ? row : none,
              is_own ? none : row);
  }
}

// Brings what the outputs of a token are held to up to date.
void Changer::hold_token(device::Content content, std::int64_t token) {
  kernels::Problem one = contents_.problem;
  const std::int64_t outputs = output_rows(one) / one.tokens * one.outputs;
  const std::int64_t first = token * outputs;
  const std::int64_t count = std::min(outputs, compared() - first);
  if (count <= 0) return;
  std::vector<std::byte> input = call_of_tokens(one, input_of(content), token, 1);
  one.tokens = 1;
  if (content == device::Content::kOwn && operation_.mirrored) {
    input = operation_.mirrored(one, input);
  }
  std::vector<std::byte> expected =
      operation_.reference(contents_.sibling, one, input, std::numeric_limits<std::int64_t>::max());
  expected.resize(static_cast<std::size_t>(count * value_bytes()));
  if (content == device::Content::kSibling) return hold_to(first, {}, expected);
  hold_to(first, operation_.sibling_reference(one, expected), {});
}

// Each of them becomes another code.
void Changer::change_codes(nf4::ElementRange elements, std::int64_t most_bytes) {
  const std::int64_t bytes = (elements.count + 1) / 2;
  const std::int64_t count = std::min(bytes, most_bytes);
  const std::int64_t at = elements.first / 2 + draw(bytes - count + 1);
  const auto codes = std::span(contents_.sibling.packed)
                         .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
  for (std::uint8_t& pair : codes) {
    pair ^= static_cast<std::uint8_t>((1 + draw(15)) << 4 | (1 + draw(15)));
  }
  add_input(kPacked, at, std::as_bytes(codes), std::as_bytes(codes));
}

// It becomes that of another block.
void Changer::change_scale(std::int64_t block) {
  nf4::Nf4Tensor& sibling = contents_.sibling;
  const auto take_another = [&](auto& scales) -> auto& {
    auto& scale = scales[static_cast<std::size_t>(block)];
    const auto before = scale;
    for (int i = 0; i < kScalesTried && scale == before; ++i) {
      scale = scales[static_cast<std::size_t>(draw(sibling.blocks()))];
    }
    return scale;
  };
  if (sibling.is_nested()) {
    const auto code = std::as_bytes(std::span(&take_another(sibling.absmax_codes), 1));
    return add_input(kScales, block, code, code);
  }
  const float scale = take_another(sibling.absmax);
  const float own = -scale;
  add_input(kScales, block * static_cast<std::int64_t>(sizeof(float)),
            std::as_bytes(std::span(&own, 1)), std::as_bytes(std::span(&scale, 1)));
}

void Changer::hold_to(std::int64_t first, std::span<const std::byte> own,
                      std::span<const std::byte> sibling) {
  device::ChangedOutputs changed{.first = first, .own_before = {}, .sibling_before = {}};
  const auto replace = [&](std::vector<std::byte>& expected, std::span<const std::byte> with) {
    const auto part =
        std::span(expected).subspan(static_cast<std::size_t>(first * value_bytes()), with.size());
    std::vector<std::byte> before(part.begin(), part.end());
    std::ranges::copy(with, part.begin());
    return before;
  };
  changed.own_before = replace(contents_.own, own);
  changed.sibling_before = replace(contents_.of_sibling, sibling);
  change_.outputs.push_back(std::move(changed));
}

void Changer::add_input(std::size_t index, std::int64_t at, std::span<const std::byte> own,
                        std::span<const std::byte> sibling) {
  change_.inputs.push_back({.input = index,
                            .at = at,
                            .own = {own.begin(), own.end()},
                            .sibling = {sibling.begin(), sibling.end()}});
}

}  // namespace

device::ContentChange change_weight(const Operation& operation, const Contents& contents,
                                    std::mt19937_64& random) {
  return Changer(operation, contents, random).change_a_block();
}

device::ContentChange change_input(const Operation& operation, const Contents& contents,
                                   std::mt19937_64& random) {
  return Changer(operation, contents, random).negate_a_token();
}

device::ContentChange change_routing(const Operation& operation, const Contents& contents,
                                     std::mt19937_64& random) {
  return Changer(operation, contents, random).trade_places();
}

}  // namespace nf4bench::operation
