#include "operation/contents.hpp"

#include "operation/routing.hpp"
#include "operation/weight.hpp"

#include <algorithm>
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
  std::vector<std::byte>& input_of(device::Content content) const;
  void trade_ids(device::Content content, std::int64_t token, std::int64_t other);
  void hold_token(device::Content content, std::int64_t token);
  void change_codes(nf4::ElementRange block);
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
  const std::int64_t element = draw(std::min(problem.outputs, compared()) * problem.inputs);
  const CallParts parts = parts_of(problem, contents_.input);
  const std::int64_t rows = (compared() + problem.outputs - 1) / problem.outputs;
  const std::int64_t slot = draw(rows * (slots_of(problem) / output_rows(problem)));
  const std::int64_t expert = expert_of(problem, parts, slot);
  return std::max<std::int64_t>(0, expert) * problem.outputs * problem.inputs + element;
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
  // The sign is the top bit of the last byte: values are little-endian.
  for (auto i = static_cast<std::size_t>(size) - 1; i < row.size();
       i += static_cast<std::size_t>(size)) {
    row[i] ^= std::byte{0x80};
  }
  add_input(kInput, at, row, row);
  if (contents_.sibling_input != nullptr) {
    std::ranges::copy(row, contents_.sibling_input->begin() + at);
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
  const nf4::Nf4Tensor& sibling = contents_.sibling;
  const std::int64_t block = draw_element() / sibling.blocksize;
  const std::int64_t first = block * sibling.blocksize;
  const nf4::ElementRange range = {
      first, std::min<std::int64_t>(sibling.blocksize, sibling.elements - first)};
  change_codes(range);
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
  const CallParts parts = parts_of(one, input_of(content));
  std::vector<std::byte> input;
  for (const std::span<const std::byte> part : {parts.rows, parts.ids, parts.slot_weights}) {
    const std::size_t bytes = part.size() / static_cast<std::size_t>(one.tokens);
    const auto own = part.subspan(static_cast<std::size_t>(token) * bytes, bytes);
    input.insert(input.end(), own.begin(), own.end());
  }
  one.tokens = 1;
  std::vector<std::byte> expected =
      operation_.reference(contents_.sibling, one, input, std::numeric_limits<std::int64_t>::max());
  expected.resize(static_cast<std::size_t>(count * value_bytes()));
  if (content == device::Content::kSibling) return hold_to(first, {}, expected);
  hold_to(first, operation_.sibling_reference(one, expected), {});
}

// Each of them becomes another code.
void Changer::change_codes(nf4::ElementRange block) {
  const std::int64_t bytes = (block.count + 1) / 2;
  const std::int64_t count = std::min(bytes, kChangedCodes);
  const std::int64_t at = block.first / 2 + draw(bytes - count + 1);
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
