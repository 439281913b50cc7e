#include "plan/joined_experts.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/matrices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace nf4bench::plan {
namespace {

// What a matrix is for.
enum Role : std::size_t { kGate, kUp, kDown, kRoles };

struct Word {
  std::string_view word;
  Role role;
};
constexpr Word kWords[] = {{"gate_proj", kGate}, {"up_proj", kUp}, {"down_proj", kDown},
                           {"w1", kGate},        {"w3", kUp},      {"w2", kDown}};

struct Matrix {
  std::string layer;  // "model.layers.0.mlp.experts"
  std::int64_t expert = 0;
  Role role = kGate;
};

std::optional<Matrix> parse_name(std::string_view name) {
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight)) name.remove_suffix(kWeight.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const auto* const word = std::ranges::find(kWords, name.substr(dot + 1), &Word::word);
  if (word == std::end(kWords)) return std::nullopt;
  const std::string_view rest = name.substr(0, dot);
  const std::size_t begin = rest.rfind('.');
  if (begin == std::string_view::npos || !rest.substr(0, begin).ends_with("experts")) {
    return std::nullopt;
  }
  const std::string_view number = rest.substr(begin + 1);
  Matrix matrix = {.layer = std::string(rest.substr(0, begin)), .role = word->role};
  const char* const last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, matrix.expert);
  const bool is_number = error == std::errc() && end == last && matrix.expert >= 0;
  return is_number ? std::optional(matrix) : std::nullopt;
}

// The matrices of a layer: of each expert one of each role, where it has them.
using Layer = std::map<std::int64_t, std::array<const TensorSource*, kRoles>>;

[[noreturn]] void fail(const std::string& layer, const std::string& what) {
  throw Error(ErrorKind::kUsage,
              fmt::format("experts: the matrices of \"{}\" make no stack: {}; leave them out "
                          "(--tensor)",
                          escaped(layer), what));
}

void require_alike(const std::string& layer, const TensorSource& first, const TensorSource& other) {
  const bool is_alike = other.geometry.shape == first.geometry.shape &&
                        other.geometry.blocksize == first.geometry.blocksize &&
                        other.dtype == first.dtype;
  if (is_alike) return;
  fail(layer, fmt::format("\"{}\" is {} in blocks of {}, \"{}\" {} in blocks of {}",
                          escaped(first.name), nf4::shape_to_string(first.geometry.shape),
                          first.geometry.blocksize, escaped(other.name),
                          nf4::shape_to_string(other.geometry.shape), other.geometry.blocksize));
}

// The matrices of these roles, expert by expert.
std::vector<const TensorSource*> matrices_of(const std::string& name, const Layer& layer,
                                             const std::vector<Role>& roles) {
  std::vector<const TensorSource*> matrices;
  std::int64_t next = 0;
  for (const auto& [expert, of_roles] : layer) {
    if (expert != next++) fail(name, fmt::format("expert {} is missing", next - 1));
    for (const Role role : roles) {
      if (of_roles[role] == nullptr) {
        fail(name, fmt::format("expert {} lacks one that the first has", expert));
      }
      matrices.push_back(of_roles[role]);
      require_alike(name, *matrices.front(), *matrices.back());
    }
  }
  return matrices;
}

TensorSource stack_of(const std::string& name, std::vector<const TensorSource*> matrices,
                      std::int64_t experts) {
  TensorSource stack = *matrices.front();
  const std::int64_t each = static_cast<std::int64_t>(matrices.size()) / experts;
  const std::vector<std::int64_t>& shape = matrices.front()->geometry.shape;
  stack.name = name;
  stack.geometry.shape = {experts, each * shape[0], shape[1]};
  stack.geometry.absmax_kind = nf4::AbsmaxKind::kPlain;
  std::vector<std::function<nf4::Nf4Tensor()>> loads;
  loads.reserve(matrices.size());
  for (const TensorSource* matrix : matrices) loads.push_back(matrix->load);
  stack.load = [name, shape = stack.geometry.shape, loads = std::move(loads)] {
    nf4::Nf4Tensor whole = loads.front()();
    nf4::make_plain(whole);
    for (std::size_t i = 1; i < loads.size(); ++i) nf4::append(whole, loads[i]());
    whole.name = name;
    whole.shape = shape;
    return whole;
  };
  return stack;
}

}  // namespace

std::vector<TensorSource> joined_experts(const std::vector<TensorSource>& sources) {
  std::map<std::string, Layer> layers;
  std::vector<std::string> order;
  for (const TensorSource& source : sources) {
    if (source.geometry.shape.size() != 2) continue;
    const std::optional<Matrix> matrix = parse_name(source.name);
    if (!matrix) continue;
    if (!layers.contains(matrix->layer)) order.push_back(matrix->layer);
    layers[matrix->layer][matrix->expert][matrix->role] = &source;
  }
  std::vector<TensorSource> stacks;
  for (const std::string& name : order) {
    const Layer& layer = layers[name];
    const auto& first = layer.begin()->second;
    const auto experts = static_cast<std::int64_t>(layer.size());
    const bool has_gates = first[kGate] != nullptr;
    if (has_gates || first[kUp] != nullptr) {
      const std::vector<Role> roles = has_gates ? std::vector{kGate, kUp} : std::vector{kUp};
      stacks.push_back(stack_of(name + (has_gates ? ".gate_up_proj" : ".up_proj"),
                                matrices_of(name, layer, roles), experts));
    }
    if (first[kDown] != nullptr) {
      stacks.push_back(stack_of(name + ".down_proj", matrices_of(name, layer, {kDown}), experts));
    }
  }
  return stacks;
}

}  // namespace nf4bench::plan
