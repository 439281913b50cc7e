#include "report/json/sections.hpp"
#include "report/marking.hpp"

#include <fmt/format.h>

namespace nf4bench::report {
namespace {

json::JsonText variant_json(const record::ReportVariant& variant) {
  return json::json_object({
      {"name", json::json_string(variant.name)},
      {"operation", json::json_string(variant.operation)},
      {"summary", json::json_string(variant.summary)},
      {"launches", json::json_integer(variant.launches)},
      {"inline_ptx", json::json_bool(variant.inline_ptx)},
      {"cache_hints", json::json_bool(variant.cache_hints)},
      {"persistent", json::json_bool(variant.persistent)},
      {"mirrors", json::json_string(variant.mirrors)},
      {"compiled_from", json::json_string_or_null(variant.compiled_from)},
  });
}

json::JsonText points_json(const std::optional<MarkingPoints>& points) {
  if (!points) return json::json_null();
  return json::json_object({
      {"single_kernel", json::json_integer(points->single_kernel)},
      {"speedup", json::json_integer(points->speedup)},
      {"torch_compile",
       points->torch_compile ? json::json_integer(*points->torch_compile) : json::json_null()},
      {"custom_asm", json::json_integer(points->custom_asm)},
      {"cache_eviction", json::json_integer(points->cache_eviction)},
      {"tested_types", json::json_integer(points->tested_types)},
      {"total", json::json_integer(points->total())},
  });
}

json::JsonText one_marking_json(const Marking& marking, NumberGuard& guard) {
  return json::json_object({
      {"variant", json::json_string(marking.variant)},
      {"single_kernel", json::json_bool(marking.single_kernel)},
      {"speedup", guard.number("speedup", marking.speedup)},
      {"speedup_tier", guard.number("speedup_tier", marking.speedup_tier)},
      {"torch_compile",
       marking.torch_compile ? json::json_bool(*marking.torch_compile) : json::json_null()},
      {"torch_compile_reason", json::json_string_or_null(marking.torch_compile_reason)},
      {"custom_asm", json::json_bool(marking.custom_asm)},
      {"cache_eviction", json::json_bool(marking.cache_eviction)},
      {"tested_float16", json::json_bool(marking.tested_float16)},
      {"tested_bfloat16", json::json_bool(marking.tested_bfloat16)},
      {"points", points_json(marking.points)},
      {"reason", json::json_string_or_null(marking.reason)},
  });
}

}  // namespace

json::JsonText variants_json(const std::vector<record::ReportVariant>& variants) {
  return json::json_array_of(variants, variant_json);
}

json::JsonText marking_json(const record::Report& report, NumberGuard& guard) {
  std::vector<json::JsonText> texts;
  for (const Marking& marking : mark_variants(report)) {
    guard.enter(fmt::format("summary.marking[{}]", texts.size()));
    texts.push_back(one_marking_json(marking, guard));
  }
  return json::json_array(texts);
}

}  // namespace nf4bench::report
