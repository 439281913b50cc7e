#include "plan/experts.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/matrices.hpp"
#include "plan/joined_experts.hpp"
#include "plan/layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

namespace nf4bench::plan {
namespace {

// The stack that was read last, so that its matrices need not read it again. One at a time: stacks
// are large.
struct LastStack {
  std::size_t index = 0;
  std::optional<nf4::Nf4Tensor> tensor;
};

void require_whole_blocks(const TensorSource& stack) {
  const auto shape = nf4::matrix_shape(stack.geometry.shape);
  const record::Geometry matrix = {.shape = shape};
  if (matrix.elements() % stack.geometry.blocksize == 0) return;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("tensor \"{}\": matrices of {} do not each begin with a block of {}, so "
                  "that no product can be made with one alone; leave it out (--tensor)",
                  escaped(stack.name), nf4::shape_to_string(shape), stack.geometry.blocksize));
}

record::StackPart part_of(const TensorSource& source, const std::vector<record::StackPart>& asked) {
  if (source.geometry.stack) return source.geometry.stack->part;
  const auto has = [&](const char* word) { return source.name.find(word) != std::string::npos; };
  if (has("down") || has("w2")) return record::StackPart::kDown;
  if (has("gate") || has("up_proj") || has("w13") || asked.size() != 1) {
    return record::StackPart::kGateUp;
  }
  const bool is_down = asked.front() == record::StackPart::kDown;
  return is_down ? record::StackPart::kDown : record::StackPart::kGateUp;
}

std::int64_t top_k_of(const TensorSource& source, std::int64_t asked) {
  const std::int64_t own = source.geometry.stack ? source.geometry.stack->top_k : source.top_k;
  const std::int64_t top_k = asked > 0 ? asked : own;
  const std::int64_t experts = source.geometry.shape.front();
  if (top_k == 0) {
    throw Error(ErrorKind::kUsage,
                fmt::format("tensor \"{}\": nothing says how many of its {} experts a token "
                            "chooses; wanted --top-k K",
                            escaped(source.name), experts));
  }
  if (top_k > experts) {
    throw Error(ErrorKind::kUsage, fmt::format("--top-k: {} is more than the {} experts of \"{}\"",
                                               top_k, experts, escaped(source.name)));
  }
  return top_k;
}

}  // namespace

std::vector<TensorSource> whole_stacks(const std::vector<TensorSource>& sources,
                                       const record::RunOptions& options) {
  const auto is_asked = [&](record::StackPart part) {
    const bool is_product = part != record::StackPart::kLayer;
    return options.parts.empty() ? is_product
                                 : std::ranges::find(options.parts, part) != options.parts.end();
  };
  std::vector<TensorSource> given = sources;
  std::ranges::move(joined_experts(sources), std::back_inserter(given));
  std::vector<TensorSource> all;
  for (const TensorSource& source : given) {
    if (source.geometry.shape.size() != 3 || source.geometry.elements() == 0) continue;
    all.push_back(source);
    all.back().geometry.stack = {.part = part_of(source, options.parts),
                                 .top_k = top_k_of(source, options.top_k)};
  }
  std::vector<TensorSource> stacks;
  for (const TensorSource& source : all) {
    if (is_asked(source.geometry.stack->part)) stacks.push_back(source);
  }
  if (is_asked(record::StackPart::kLayer)) {
    std::vector<TensorSource> layers = whole_layers(all, options);
    std::move(layers.begin(), layers.end(), std::back_inserter(stacks));
  }
  if (!stacks.empty()) return stacks;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("experts: found no stack of matrices{}; wanted a tensor [experts, "
                  "outputs, inputs] of a file, or experts.0.up_proj.weight and so on, --shape "
                  "8x14336x4096 --top-k 2, or a preset with experts (--preset "
                  "qwen3-30b-a3b)",
                  options.parts.empty() ? "" : " for that --part"));
}

std::vector<TensorSource> split_stacks(std::vector<TensorSource> sources) {
  std::vector<TensorSource> matrices;
  const auto last = std::make_shared<LastStack>();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    TensorSource& source = sources[i];
    if (source.geometry.shape.size() <= 2) {
      matrices.push_back(std::move(source));
      continue;
    }
    require_whole_blocks(source);
    const record::Geometry& stack = source.geometry;
    TensorSource matrix = source;
    matrix.geometry = {
        .shape = nf4::matrix_shape(stack.shape),
        .blocksize = stack.blocksize,
        .absmax_kind = nf4::matrix_absmax_kind(stack.shape, stack.blocksize, stack.absmax_kind)};
    for (std::int64_t index = 0; index < nf4::matrix_count(stack.shape); ++index) {
      matrix.name = fmt::format("{}[{}]", source.name, index);
      matrix.load = [last, i, index, load = source.load] {
        if (!last->tensor || last->index != i) {
          last->tensor.reset();
          *last = {i, load()};
        }
        return nf4::matrix_of(*last->tensor, index);
      };
      matrices.push_back(matrix);
    }
  }
  return matrices;
}

}  // namespace nf4bench::plan
