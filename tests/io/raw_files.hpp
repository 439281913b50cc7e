#pragma once

// Files made byte by byte, without the project's own writers.

#include "io/checkpoint/checkpoint.hpp"
#include "scratch.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nf4bench::testing {

using TemporaryFolder = test::ScratchFolder;

void write_raw(const std::filesystem::path& path, std::string_view bytes);
std::string read_raw(const std::filesystem::path& path);

// A file of the repository's data folder.
std::filesystem::path data_file(const std::string& name);

std::vector<std::byte> to_bytes(std::string_view text);

// `value`, little-endian, in `bytes` bytes.
std::string little_endian(std::uint64_t value, int bytes);

// The raw bytes of float32 values.
std::string floats(const std::vector<float>& values);

// `count` times `text`.
std::string repeated(std::string_view text, std::size_t count);

// A safetensors file: the header's length (or a lie about it), the header, the data.
std::string safetensors(std::string_view header, std::string_view data = {},
                        std::optional<std::uint64_t> length = {});

// A .npy file whose header is padded as numpy pads it.
std::string npy(std::string_view dict, std::string_view data, int major = 1);

// One tensor of a state dict, and a whole one in the order of the file it came from.
struct RawTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::string bytes;
};

using StateDict = std::vector<RawTensor>;

// The tensors of a valid file, read without the project's readers.
StateDict read_state_dict(const std::filesystem::path& path);

// The entries of `all` that make up the weight `name`.
StateDict select_weight(const StateDict& all, const std::string& name);

// The entry called `name`; the test fails when there is none.
RawTensor& at(StateDict& entries, const std::string& name);
void remove(StateDict& entries, const std::string& name);

// The state dict as a safetensors file, in the order given.
std::string to_safetensors(const StateDict& entries);

// `from` replaced by `to` in `text`, where it must occur.
std::string replaced(std::string text, std::string_view from, std::string_view to);

// The message of the Error that `action` throws, which must be one of bad input in one line; "" and
// a failed test when it throws none.
std::string refusal(const std::function<void()>& action);

// `message` holds `part`.
void expect_part(const std::string& message, const std::string& part);

// What a header declares, as "a U8 [2]; b F32 [1, 2]" in the file's order.
std::string declared_tensors(const std::string& file);

// The only entry of the state dict, read as the safetensors file "test.safetensors".
io::TensorEntry only_entry(const StateDict& entries);

}  // namespace nf4bench::testing
