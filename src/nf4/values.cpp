#include "nf4/values.hpp"

#include "nf4/arithmetic.hpp"

#include <cstring>

namespace nf4bench::nf4 {
namespace {

// Calls body(bits, number) with what converts the bits of one value to a float and back.
template <class Body>
auto with_type(OutputType type, const Body& body) {
  switch (type) {
    case OutputType::kFloat16:
      return body(from_float16_bits, to_float16_bits);
    case OutputType::kBfloat16:
      return body(from_bfloat16_bits, to_bfloat16_bits);
    case OutputType::kFloat32:
      break;
  }
  return body(float_of, [](float value) { return bits_of(value); });
}

template <class Bits>
double read(float (&from_bits)(Bits), const std::byte* value) {
  Bits bits = 0;
  std::memcpy(&bits, value, sizeof(bits));
  return from_bits(bits);
}

}  // namespace

double value_at(OutputType type, std::span<const std::byte> values, std::int64_t index) {
  const std::byte* value = values.data() + static_cast<std::size_t>(index) * size_in_bytes(type);
  return with_type(type, [&](auto& from_bits, const auto&) { return read(from_bits, value); });
}

std::vector<double> to_doubles(OutputType type, std::span<const std::byte> values) {
  const std::size_t size = size_in_bytes(type);
  std::vector<double> numbers(values.size() / size);
  with_type(type, [&](auto& from_bits, const auto&) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = read(from_bits, values.data() + i * size);
    }
  });
  return numbers;
}

std::vector<std::byte> to_values(OutputType type, std::span<const double> numbers) {
  const std::size_t size = size_in_bytes(type);
  std::vector<std::byte> values(numbers.size() * size);
  with_type(type, [&](const auto&, const auto& to_bits) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto bits = to_bits(static_cast<float>(numbers[i]));
      std::memcpy(values.data() + i * size, &bits, sizeof(bits));
    }
  });
  return values;
}

}  // namespace nf4bench::nf4
