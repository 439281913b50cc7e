#include "plan/cards.hpp"

#include "base/error.hpp"
#include "base/nearest_names.hpp"
#include "base/text.hpp"
#include "cuda/cards.hpp"
#include "cuda/prediction.hpp"
#include "cuda/shared_bytes.hpp"
#include "plan/words.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

namespace nf4bench::plan {
namespace {

using kernels::cuda::Card;
using kernels::cuda::Prediction;

constexpr int kBlockShift = 6;

// A card, what it is asked to compute, and what that should take.
struct PredictedRow {
  const Card& card;
  kernels::Problem problem;
  Prediction prediction;

  bool is_product() const { return problem.tokens > 0; }
  double roof_ns() const { return std::max(prediction.roof.memory_ns, prediction.roof.tensor_ns); }
};

double tensor_flops(const Card& card) {
  return 2 * card.tensor * card.clock_hz * card.facts.multiprocessors;
}

// Two digits, which is more than is known.
std::string about(double seconds) {
  const double us = seconds * 1e6;
  if (us >= 9950) return fmt::format("~{:.0f} ms", us / 1e3);
  if (us >= 995) return fmt::format("~{:.1f} ms", us / 1e3);
  if (us >= 99.5) return fmt::format("~{:.0f} us", std::round(us / 10) * 10);
  return us >= 9.95 ? fmt::format("~{:.0f} us", us) : fmt::format("~{:.1f} us", us);
}

text::Value seconds(double ns) {
  return ns > 0.0 ? text::Value(ns * 1e-9) : text::Value();
}

text::Value about_ns(double ns) {
  return text::Value(about(ns * 1e-9));
}

// Of the card, for programs; people find them above the rows.
void add_facts(text::Columns<PredictedRow>& columns) {
  using Row = PredictedRow;
  const auto add = [&](const char* key, auto of) { columns.push_back({{.key = key}, of}); };
  add("card", [](const Row& row) { return row.card.name; });
  add("compute_capability", [](const Row& row) { return row.card.facts.compute_capability; });
  add("multiprocessors", [](const Row& row) { return row.card.facts.multiprocessors; });
  add("clock_hz", [](const Row& row) { return row.card.clock_hz; });
  add("peak_bytes_per_s", [](const Row& row) { return row.card.facts.memory_bytes_per_s; });
  add("l2_bytes", [](const Row& row) { return row.card.facts.l2_bytes; });
  add("shared_bytes_a_block",
      [](const Row& row) { return kernels::cuda::shared_bytes_a_block(row.card.facts); });
  add("peak_flops_per_s", [](const Row& row) { return tensor_flops(row.card); });
}

text::Columns<PredictedRow> card_columns() {
  using Row = PredictedRow;
  text::Columns<Row> columns;
  add_facts(columns);
  const text::Columns<Row> predictions = {
      {{.name = "shape", .key = "shape"},
       [](const Row& row) {
         return text::Value::Shape{row.problem.outputs, row.problem.inputs};
       }},
      {{.name = "operation", .key = "operation"},
       [](const Row& row) { return row.is_product() ? "matmul" : "dequantize"; }},
      {{.name = "tokens", .key = "tokens"},
       [](const Row& row) {
         return row.is_product() ? text::Value(row.problem.tokens) : text::Value();
       }},
      {{.key = "output_dtype"}, [](const Row& row) { return to_string(row.problem.output_type); }},
      {{.name = "kernel", .key = "kernel"},
       [](const Row& row) { return text::Value(row.prediction.kernel); }},
      {{.name = "predicted"}, [](const Row& row) { return about_ns(row.prediction.ns); }},
      {{.key = "predicted.time_s"}, [](const Row& row) { return seconds(row.prediction.ns); }},
      {{.name = "roof"}, [](const Row& row) { return about(row.roof_ns() * 1e-9); }},
      {{.key = "predicted.roof_s"}, [](const Row& row) { return row.roof_ns() * 1e-9; }},
      {{.name = "bound by", .key = "predicted.bound"},
       [](const Row& row) {
         const kernels::cuda::Roof& roof = row.prediction.roof;
         return roof.memory_ns >= roof.tensor_ns ? "memory" : "tensor cores";
       }},
      {{.name = "of roof", .unit = text::Unit::kFraction, .key = "predicted.fraction_of_roof"},
       [](const Row& row) { return text::Value(row.roof_ns() / row.prediction.ns); }},
      {{.name = "16 bit", .meaning = "a BLAS on weights that stay in 16 bits"},
       [](const Row& row) {
         return row.is_product() ? about_ns(row.prediction.resident_ns) : text::Value();
       }},
      {{.key = "predicted.resident_s"},
       [](const Row& row) { return seconds(row.prediction.resident_ns); }}};
  columns.insert(columns.end(), predictions.begin(), predictions.end());
  return columns;
}

std::string facts_text(const Card& card) {
  const kernels::DeviceFacts& facts = card.facts;
  return fmt::format(
      "{}.{}, {} SMs, {:.0f} MHz, {} GB/s, L2 {}, {} shared a block, {} TFLOP/s",
      facts.compute_capability / 10, facts.compute_capability % 10, facts.multiprocessors,
      card.clock_hz / 1e6, text::format_gigabytes(facts.memory_bytes_per_s),
      text::format_size(facts.l2_bytes),
      text::format_size(static_cast<std::int64_t>(kernels::cuda::shared_bytes_a_block(facts))),
      text::format_tera(tensor_flops(card)));
}

std::string lowered(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return word;
}

std::vector<const Card*> find_cards(const std::string& name) {
  std::vector<const Card*> found;
  std::vector<std::string> names;
  for (const Card& card : kernels::cuda::known_cards()) {
    names.emplace_back(card.name);
    if (lowered(card.name).find(lowered(name)) != std::string::npos) found.push_back(&card);
  }
  if (found.empty()) {
    throw Error(ErrorKind::kUsage, "list: no known card is called \"{}\"; there are {}",
                escaped(name), fmt::join(names, ", "));
  }
  return found;
}

// Without tokens: dequantization.
kernels::Problem problem_of(const std::string& shape, nf4::OutputType type) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<std::int64_t> sizes = parse_shape(shape);
  if (sizes.size() != 2 || std::ranges::any_of(sizes, [](auto size) { return size > kMost; })) {
    throw Error(ErrorKind::kUsage,
                "--shape: \"{}\" is no matrix of less than 2^31 rows and columns", escaped(shape));
  }
  kernels::Problem problem;
  problem.outputs = sizes[0];
  problem.inputs = sizes[1];
  problem.elements = problem.outputs * problem.inputs;
  problem.block_shift = kBlockShift;
  problem.blocks = kernels::block_count(problem.elements, 1 << kBlockShift);
  problem.nested = true;
  problem.output_type = type;
  return problem;
}

text::Section section_of(const Card& card, const std::vector<kernels::Problem>& problems,
                         int compute_capability) {
  kernels::DeviceFacts device = card.facts;
  if (compute_capability != 0 && compute_capability < device.compute_capability) {
    device.card_capability = device.compute_capability;
    device.compute_capability = compute_capability;
  }
  // Said of each, because Markdown has no legend.
  text::Section section = {.title = fmt::format("{} (predicted, not measured)", card.name),
                           .aside = facts_text(card)};
  for (const kernels::Problem& problem : problems) {
    section.rows.push_back(row_of(
        card_columns(), PredictedRow{card, problem, kernels::cuda::predict(problem, device)}));
    section.rows.back().tone = text::Tone::kFaint;
  }
  return section;
}

// What it is, and the commands that put measurements in its place.
std::vector<std::string> legend_of(const std::vector<std::string>& shapes,
                                   const std::vector<std::int64_t>& tokens,
                                   const std::string& dtype) {
  const std::string run =
      fmt::format("nf4bench run --shape {} --dtype {}", fmt::join(shapes, " --shape "), dtype);
  return {fmt::format("PREDICTED, NOT MEASURED: what data sheets and counted instructions lead to "
                      "for {}, blocksize 64, nested absmax, a cold cache and a CUDA graph; "
                      "docs/kernels.md says how far off this is",
                      dtype),
          fmt::format("to measure a card itself: {} --json dequantize.json", run),
          fmt::format("and products: {} --operation matmul --tokens {} --json matmul.json", run,
                      fmt::join(tokens, ","))};
}

}  // namespace

text::Sheet sheet_of_cards(const CardQuestion& asked) {
  const std::vector<std::string> shapes =
      asked.shapes.empty() ? std::vector<std::string>{"8192x8192"} : asked.shapes;
  const std::vector<std::int64_t> tokens =
      asked.tokens.empty() ? std::vector<std::int64_t>{1, 8, 64, 256} : asked.tokens;
  const std::string dtype = asked.dtype.empty() ? "float16" : asked.dtype;
  const std::optional<nf4::OutputType> type = output_type_named(dtype);
  if (!type) throw not_one_of("--dtype", dtype, {"float16", "bfloat16"});
  std::vector<kernels::Problem> problems;
  for (const std::string& shape : shapes) {
    kernels::Problem problem = problem_of(shape, *type);
    problems.push_back(problem);
    for (const std::int64_t count : tokens) {
      problem.tokens = count;
      problems.push_back(problem);
    }
  }
  text::Sheet sheet = empty_sheet(card_columns());
  int newest = 0;
  for (const Card* card : find_cards(asked.name)) {
    sheet.sections.push_back(section_of(*card, problems, asked.compute_capability));
    newest = std::max(newest, card->facts.compute_capability);
  }
  if (asked.compute_capability > newest) {
    throw Error(ErrorKind::kUsage,
                "--compute-capability: found {}, which no such card runs; wanted at most {}",
                asked.compute_capability, newest);
  }
  sheet.legend = legend_of(shapes, tokens, dtype);
  return sheet;
}

}  // namespace nf4bench::plan
