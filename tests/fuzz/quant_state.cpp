#include "io/checkpoint/quant_state.hpp"

#include "fuzz/second_reader.hpp"
#include "fuzz/targets.hpp"
#include "nf4/arithmetic.hpp"

namespace nf4bench::fuzz {
namespace {

DeclaredState declared(const io::QuantState& state) {
  DeclaredState declared;
  declared.quant_type = state.quant_type;
  if (state.quant_type != "nf4") return declared;
  declared.blocksize = static_cast<std::uint64_t>(state.blocksize);
  declared.dtype = to_string(state.dtype);
  declared.shape.assign(state.shape.begin(), state.shape.end());
  if (state.absmax_kind == nf4::AbsmaxKind::kNested) declared.nested_offset = state.nested_offset;
  return declared;
}

// A state that is written as bitsandbytes writes it, and read again, is the same in every bit.
void check_round_trip(const io::QuantState& state) {
  nf4::Nf4Tensor tensor;
  tensor.shape = state.shape;
  tensor.blocksize = state.blocksize;
  tensor.dtype = state.dtype;
  tensor.absmax_kind = state.absmax_kind;
  tensor.nested_offset = state.nested_offset;
  const io::QuantState again = io::read_quant_state("again", io::write_quant_state(tensor));
  require(declared(again) == declared(state) &&
              nf4::bits_of(again.nested_offset) == nf4::bits_of(state.nested_offset),
          "a state that is written says what was read");
}

}  // namespace

void fuzz_quant_state(Bytes input) {
  io::QuantState state;
  const bool accepted = accepts([&] { state = io::read_quant_state("fuzz", text_of(input)); });
  const auto second = second_quant_state(text_of(input));
  require(accepted == second.has_value(), "both readers accept a state or both refuse it");
  if (!accepted) return;
  require(declared(state) == *second, "both readers see the same state");
  for (const std::string& warning : state.warnings) require_printable(warning);
  if (state.quant_type == "nf4") check_round_trip(state);
}

}  // namespace nf4bench::fuzz
