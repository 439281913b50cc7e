#include "report/json/sections.hpp"
#include "report/marking.hpp"

#include <fmt/format.h>

namespace nf4bench {
namespace {

JsonText variant_json(const ReportVariant& variant) {
  return json_object({
      {"name", json_string(variant.name)},
      {"summary", json_string(variant.summary)},
      {"launches", json_integer(variant.launches)},
      {"inline_ptx", json_bool(variant.inline_ptx)},
      {"cache_hints", json_bool(variant.cache_hints)},
      {"persistent", json_bool(variant.persistent)},
      {"mirrors", json_string(variant.mirrors)},
  });
}

JsonText points_json(const std::optional<MarkingPoints>& points) {
  if (!points) return json_null();
  return json_object({
      {"single_kernel", json_integer(points->single_kernel)},
      {"speedup", json_integer(points->speedup)},
      {"torch_compile", json_null()},
      {"custom_asm", json_integer(points->custom_asm)},
      {"cache_eviction", json_integer(points->cache_eviction)},
      {"tested_types", json_integer(points->tested_types)},
      {"total", json_integer(points->total())},
  });
}

JsonText one_marking_json(const Marking& marking, NumberGuard& guard) {
  return json_object({
      {"variant", json_string(marking.variant)},
      {"single_kernel", json_bool(marking.single_kernel)},
      {"speedup", guard.number("speedup", marking.speedup)},
      {"speedup_tier", guard.number("speedup_tier", marking.speedup_tier)},
      {"torch_compile", json_null()},
      {"torch_compile_reason", json_string(kNoTorchCompile)},
      {"custom_asm", json_bool(marking.custom_asm)},
      {"cache_eviction", json_bool(marking.cache_eviction)},
      {"tested_float16", json_bool(marking.tested_float16)},
      {"tested_bfloat16", json_bool(marking.tested_bfloat16)},
      {"points", points_json(marking.points)},
      {"reason", json_string_or_null(marking.reason)},
  });
}

}  // namespace

JsonText variants_json(const std::vector<ReportVariant>& variants) {
  return json_array_of(variants, variant_json);
}

JsonText marking_json(const Report& report, NumberGuard& guard) {
  std::vector<JsonText> texts;
  for (const Marking& marking : mark_variants(report)) {
    guard.enter(fmt::format("summary.marking[{}]", texts.size()));
    texts.push_back(one_marking_json(marking, guard));
  }
  return json_array(texts);
}

}  // namespace nf4bench
