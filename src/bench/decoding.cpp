#include "bench/decoding.hpp"

#include "base/text.hpp"
#include "nf4/finiteness.hpp"
#include "nf4/reference.hpp"
#include "operation/dequantize.hpp"
#include "operation/judge.hpp"
#include "operation/operation.hpp"
#include "operation/weight.hpp"
#include "operation/wrong_output.hpp"
#include "plan/plan.hpp"
#include "plan/sources.hpp"
#include "text/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nf4bench::bench {
namespace {

const char* safetensors_dtype(nf4::OutputType type) {
  return type == nf4::OutputType::kFloat16    ? "F16"
         : type == nf4::OutputType::kBfloat16 ? "BF16"
                                              : "F32";
}

// Decodes `tensor` and returns the bytes, which are the reference's bit for bit.
std::vector<std::byte> decode(device::Device& device, const kernels::Variant& variant,
                              const nf4::Nf4Tensor& tensor, nf4::OutputType type) {
  const auto workload =
      device.upload(operation::dequantize_work(tensor, type), device::UploadPurpose::kVerify);
  const std::string reason = workload->unsupported(variant);
  if (!reason.empty()) {
    throw Error(ErrorKind::kUsage, "{} cannot decode {} on {}: {}; choose another --variant",
                variant.name, escaped(tensor.name), device.info().id, reason);
  }
  std::vector<std::byte> output = workload->output_of(variant);
  const std::vector<std::byte> expected = nf4::reference_dequantize(tensor, type);
  record::Verification comparison = operation::compare_outputs(type, expected, output);
  if (!comparison.passed()) {
    comparison.first_wrong = operation::explain_decoded(tensor, operation::problem_of(tensor, type),
                                                        expected, output, comparison);
    throw Error(ErrorKind::kVerification, "{} decodes {} wrongly on {}: {}; nothing was written",
                variant.name, escaped(tensor.name), device.info().id,
                operation::describe_mismatch(comparison));
  }
  return output;
}

}  // namespace

std::vector<io::TensorEntry> select_entries(const io::Checkpoint& checkpoint,
                                            const std::string& regex) {
  const plan::NameFilter filter(regex);
  std::vector<io::TensorEntry> selected;
  for (const io::TensorEntry& entry : checkpoint.tensors()) {
    if (!filter.selects(entry.name)) continue;
    if (!entry.problem.empty()) throw Error(ErrorKind::kInput, entry.problem);
    selected.push_back(entry);
  }
  if (selected.empty()) throw plan::nothing_selected(regex, {&checkpoint});
  return selected;
}

kernels::Variant choose_decoder(const std::string& word, const device::Device& device,
                                const peer::Peers& peers) {
  if (!word.empty()) {
    const std::vector<plan::SelectedVariant> selected =
        plan::select_variants(peers.variants(), peer::without_absent_peers({word}, {&peers}));
    if (selected.size() == 1) return selected.front().variant;
    throw Error(ErrorKind::kUsage, "--variant: \"{}\" matches {} variants; wanted one",
                escaped(word), selected.size());
  }
  const kernels::Catalog& catalog = operation::dequantize().catalog(device.info().kind);
  const std::string flagship = catalog.flagship;
  const auto& variants = catalog.variants;
  const auto found = std::ranges::find(variants, flagship, &kernels::Variant::name);
  return found == variants.end() ? variants.front() : *found;
}

io::OutputTensor decoded_tensor(const Decoding& decoding, const io::TensorEntry& entry,
                                nf4::OutputType type) {
  const auto produce = [decoding, entry, type](const io::ByteSink& sink) {
    const nf4::Nf4Tensor tensor = decoding.checkpoint.load(entry);
    const std::string found = nf4::describe_non_finite(tensor, type);
    if (!found.empty()) decoding.warn(fmt::format("{}: {}", escaped(tensor.name), found));
    sink(decode(decoding.device, decoding.variant, tensor, type));
  };
  const auto element_bytes = static_cast<std::int64_t>(nf4::size_in_bytes(type));
  return {.name = entry.name,
          .dtype = safetensors_dtype(type),
          .shape = entry.shape,
          .bytes = entry.elements * element_bytes,
          .produce = produce};
}

std::string rest_text(const io::DecodedModel& output, const io::Checkpoint& checkpoint) {
  const std::string rest = text::format_count(std::ssize(checkpoint.rest()), "other tensor");
  if (!output.is_complete) {
    return checkpoint.rest().empty()
               ? ""
               : fmt::format("; left out {} (--complete writes the whole model)", rest);
  }
  std::string text = fmt::format("; copied {}", rest);
  if (!output.is_folder) return text;
  const io::ModelFiles& files = output.files;
  text += fmt::format(" and {}", text::format_count(std::ssize(files.small), "file"));
  if (files.left_out.empty()) return text;
  return text +
         fmt::format("; left out {}", escaped(fmt::format("{}", fmt::join(files.left_out, ", "))));
}

}  // namespace nf4bench::bench
