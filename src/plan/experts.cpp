#include "plan/experts.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "nf4/matrices.hpp"

#include <fmt/format.h>

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

}  // namespace

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
