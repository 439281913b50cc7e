#include "faults/synthetic_checkpoint.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace nf4bench::test {
namespace {

// bitsandbytes' table, in the digits in which its source has it.
constexpr std::array<float, 16> kTable = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

template <class Values>
std::string bytes_of(const Values& values) {
  std::string bytes(values.size() * sizeof(values[0]), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string nested_map() {
  std::array<float, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i) - 127.5f) / 128.0f;
  }
  return bytes_of(values);
}

std::string weight_name(int number) {
  constexpr std::array<const char*, 3> kRoles = {"gate_proj", "up_proj", "down_proj"};
  const int expert = number / 3;
  return fmt::format("model.layers.{}.mlp.experts.{}.{}.weight", expert / 128, expert % 128,
                     kRoles[static_cast<std::size_t>(number % 3)]);
}

// One shard in the making: small entries with bytes, then holes.
class Shard {
 public:
  void add(std::string_view name, const char* dtype, std::int64_t count, std::string_view bytes) {
    describe(name, dtype, count, static_cast<std::int64_t>(bytes.size()));
    data_ += bytes;
  }
  void add_hole(std::string_view name, const char* dtype, std::int64_t count, std::int64_t bytes) {
    describe(name, dtype, count, bytes);
  }

  // Returns the bytes written; with its holes the file is larger.
  std::int64_t write(const std::string& path) {
    header_.back() = '}';
    header_.resize((header_.size() + 7) / 8 * 8, ' ');
    std::uint64_t length = header_.size();
    std::string text(reinterpret_cast<const char*>(&length), sizeof(length));
    text += header_;
    const auto size = static_cast<std::int64_t>(text.size()) + end_;
    text += data_;
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool is_written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::ftruncate(file, size) == 0;
    if (file >= 0) ::close(file);
    if (!is_written) throw std::runtime_error("cannot write " + path);
    return static_cast<std::int64_t>(text.size());
  }

 private:
  void describe(std::string_view name, const char* dtype, std::int64_t count, std::int64_t bytes) {
    fmt::format_to(std::back_inserter(header_),
                   R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)", name, dtype,
                   count, end_, end_ + bytes);
    end_ += bytes;
  }

  std::string header_ = "{";
  std::string data_;
  std::int64_t end_ = 0;
};

}  // namespace

std::int64_t write_sparse_checkpoint(const std::string& folder, const CheckpointSpec& spec) {
  const std::string table = bytes_of(kTable);
  const std::string map = nested_map();
  const std::string state =
      fmt::format(R"({{"quant_type":"nf4","blocksize":64,"dtype":"bfloat16","shape":[{},{}],)"
                  R"("nested_blocksize":256,"nested_dtype":"float32","nested_offset":0.05}})",
                  spec.rows, spec.columns);
  const std::int64_t elements = spec.rows * spec.columns;
  const std::int64_t blocks = (elements + 63) / 64;
  std::string index = R"({"metadata":{},"weight_map":{)";
  std::int64_t written = 0;
  for (int s = 0; s < spec.shards; ++s) {
    const std::string file =
        spec.shards == 1 ? "model.safetensors" : fmt::format("model-{:05}.safetensors", s);
    const int first = static_cast<int>(std::int64_t{spec.weights} * s / spec.shards);
    const int last = static_cast<int>(std::int64_t{spec.weights} * (s + 1) / spec.shards);
    Shard shard;
    std::vector<std::string> names;
    for (int i = first; i < last; ++i) names.push_back(weight_name(i));
    for (const std::string& name : names) {
      shard.add(name + ".quant_map", "F32", 16, table);
      shard.add(name + ".nested_quant_map", "F32", 256, map);
      shard.add(name + ".quant_state.bitsandbytes__nf4", "U8",
                static_cast<std::int64_t>(state.size()), state);
    }
    for (const std::string& name : names) {
      const std::int64_t nested = (blocks + 255) / 256;
      shard.add_hole(name + ".nested_absmax", "F32", nested, 4 * nested);
      shard.add_hole(name + ".absmax", "U8", blocks, blocks);
      shard.add_hole(name, "U8", (elements + 1) / 2, (elements + 1) / 2);
      for (const char* piece : {"", ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map",
                                ".quant_state.bitsandbytes__nf4"}) {
        fmt::format_to(std::back_inserter(index), R"("{}{}":"{}",)", name, piece, file);
      }
    }
    written += shard.write(folder + "/" + file);
  }
  if (spec.shards == 1) return written;
  index.back() = '}';
  index += '}';
  const std::string path = folder + "/model.safetensors.index.json";
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool is_written =
      out >= 0 && ::write(out, index.data(), index.size()) == static_cast<ssize_t>(index.size());
  if (out >= 0) ::close(out);
  if (!is_written) throw std::runtime_error("cannot write " + path);
  return written + static_cast<std::int64_t>(index.size());
}

}  // namespace nf4bench::test
