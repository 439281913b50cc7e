#include "io/npy/npy.hpp"

#include "fuzz/targets.hpp"
#include "io/stored_tensors.hpp"

#include <algorithm>
#include <string>

namespace nf4bench::fuzz {
namespace {

// The same header as numpy would write it.
std::string written_again(const io::NpyHeader& header) {
  const char* descr = nullptr;
  switch (io::facts(header.type).bits) {
    case 8:
      descr = "|u1";
      break;
    case 16:
      descr = "<f2";
      break;
    case 32:
      descr = "<f4";
      break;
    default:
      descr = "<f8";
  }
  std::string shape;
  for (const std::uint64_t dimension : header.shape) shape += std::to_string(dimension) + ", ";
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape +
         "), }\n";
}

}  // namespace

void fuzz_npy(Bytes input) {
  io::NpyHeader header;
  if (!accepts([&] { header = io::read_npy_header(io::ByteSource::in_memory("fuzz.npy", input)); }))
    return;
  require(
      header.data_begin <= input.size() && header.data_bytes == input.size() - header.data_begin,
      "the data are the rest of the file");
  Wide bytes = io::facts(header.type).bits / 8;
  bool is_empty = false;
  for (const std::uint64_t dimension : header.shape) {
    is_empty = is_empty || dimension == 0;
    bytes *= std::max<std::uint64_t>(dimension, 1);
    require(bytes <= UINT64_MAX, "a size fits 64 bits");
  }
  require((is_empty ? 0 : bytes) == header.data_bytes, "the shape's bytes are there");

  std::string again("\x93NUMPY\x02\x00", 8);
  const std::string dict = written_again(header);
  for (unsigned i = 0; i < 4; ++i) again += static_cast<char>((dict.size() >> (8 * i)) & 0xff);
  again += dict + std::string(header.data_bytes, '\0');
  const auto bytes_again = std::as_bytes(std::span(again));
  io::NpyHeader second;
  require(accepts([&] {
            second = io::read_npy_header(io::ByteSource::in_memory("again.npy", bytes_again));
          }) &&
              second.shape == header.shape,
          "what is accepted is accepted in numpy's own words");
}

}  // namespace nf4bench::fuzz
