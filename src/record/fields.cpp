#include "record/fields.hpp"

namespace nf4bench::record {

std::optional<ProductRates> product_rates(const Ceilings& ceilings) {
  if (ceilings.flops_per_s.empty()) return std::nullopt;
  const auto rate_of = [&](nf4::OutputType type) {
    const auto found = ceilings.flops_per_s.find(type);
    return found == ceilings.flops_per_s.end() ? std::nullopt : std::optional(found->second);
  };
  return ProductRates{rate_of(nf4::OutputType::kFloat16), rate_of(nf4::OutputType::kBfloat16)};
}

void set_product_rates(Ceilings& ceilings, const std::optional<ProductRates>& rates) {
  ceilings.flops_per_s.clear();
  if (!rates) return;
  if (rates->float16) ceilings.flops_per_s[nf4::OutputType::kFloat16] = *rates->float16;
  if (rates->bfloat16) ceilings.flops_per_s[nf4::OutputType::kBfloat16] = *rates->bfloat16;
}

void set_roof(Measurement& measurement, const std::optional<double>& fraction,
              const std::optional<RoofLimit>& limit) {
  measurement.roof.reset();
  if (fraction && limit) measurement.roof = Roof{*fraction, *limit};
}

}  // namespace nf4bench::record
