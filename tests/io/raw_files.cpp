#include "io/raw_files.hpp"

#include "error_of.hpp"
#include "io/byte_source.hpp"
#include "io/safetensors/safetensors_header.hpp"
#include "source_dir.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace nf4bench::testing {

namespace fs = std::filesystem;

void write_raw(const fs::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(stream.good()) << path;
}

std::string read_raw(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream.good()) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

fs::path data_file(const std::string& name) {
  return fs::path(NF4BENCH_SOURCE_DIR) / "data" / name;
}

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string little_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>((value >> (8 * i)) & 0xff);
  return text;
}

std::string floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string safetensors(std::string_view header, std::string_view data,
                        std::optional<std::uint64_t> length) {
  std::string file = little_endian(length.value_or(header.size()), 8);
  file += header;
  file += data;
  return file;
}

std::string npy(std::string_view dict, std::string_view data, int major) {
  const int length_bytes = major == 1 ? 2 : 4;
  std::string header(dict);
  while ((8 + static_cast<std::size_t>(length_bytes) + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  file += little_endian(header.size(), length_bytes);
  file += header;
  file += data;
  return file;
}

StateDict read_state_dict(const fs::path& path) {
  const std::string file = read_raw(path);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  const auto header = nlohmann::ordered_json::parse(file.substr(8, length));
  StateDict entries;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t begin = entry["data_offsets"][0];
    const std::size_t end = entry["data_offsets"][1];
    entries.push_back(
        {name, entry["dtype"], entry["shape"], file.substr(8 + length + begin, end - begin)});
  }
  return entries;
}

StateDict select_weight(const StateDict& all, const std::string& name) {
  StateDict selected;
  std::ranges::copy_if(all, std::back_inserter(selected), [&](const RawTensor& t) {
    return t.name == name || t.name.starts_with(name + ".");
  });
  return selected;
}

RawTensor& at(StateDict& entries, const std::string& name) {
  const auto found = std::ranges::find(entries, name, &RawTensor::name);
  if (found == entries.end()) throw std::runtime_error("the test has no tensor " + name);
  return *found;
}

void remove(StateDict& entries, const std::string& name) {
  at(entries, name);
  std::erase_if(entries, [&](const RawTensor& t) { return t.name == name; });
}

std::string to_safetensors(const StateDict& entries) {
  std::string header = "{";
  std::string data;
  for (const RawTensor& entry : entries) {
    std::ostringstream text;
    text << (header.size() > 1 ? "," : "") << nlohmann::json(entry.name) << R"(:{"dtype":")"
         << entry.dtype << R"(","shape":)" << nlohmann::json(entry.shape) << R"(,"data_offsets":[)"
         << data.size() << ',' << data.size() + entry.bytes.size() << "]}";
    header += text.str();
    data += entry.bytes;
  }
  return safetensors(header + "}", data);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t begin = text.find(from);
  if (begin == std::string::npos) throw std::runtime_error("nothing to replace");
  return text.replace(begin, from.size(), to);
}

std::string refusal(const std::function<void()>& action) {
  std::string message = test::error_of(ErrorKind::kInput, action);
  EXPECT_FALSE(message.empty()) << "nothing was refused";
  EXPECT_EQ(message.find_first_of("\n\r\x1b"), std::string::npos) << message;
  EXPECT_LT(message.size(), 1500u) << message;
  return message;
}

void expect_part(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos)
      << "message: " << message << "\nwanted:  " << part;
}

std::string declared_tensors(const std::string& file) {
  const std::vector<std::byte> bytes = to_bytes(file);
  const io::ByteSource source = io::ByteSource::in_memory("test.safetensors", bytes);
  io::StoredTensors tensors;
  io::read_safetensors_header(source, 0, tensors);
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const io::StoredTensor tensor = tensors[i];
    if (i > 0) text += "; ";
    text += std::string(tensor.name) + " " + std::string(io::facts(tensor.type).spelling) + " " +
            io::dimensions_to_string(tensor.shape);
  }
  return text;
}

io::TensorEntry only_entry(const StateDict& entries) {
  const io::Checkpoint checkpoint =
      io::Checkpoint::open_memory("test.safetensors", to_bytes(to_safetensors(entries)));
  if (checkpoint.tensors().size() != 1) throw std::runtime_error("wanted one entry");
  return checkpoint.tensors().front();
}

}  // namespace nf4bench::testing
