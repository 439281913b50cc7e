#include "fuzz/state_dict_model.hpp"

#include "fuzz/second_reader.hpp"

#include <algorithm>

namespace nf4bench::fuzz {
namespace {

constexpr std::uint64_t kMaxBytes = 4096;  // of a tensor whose length a mutation decides

// A JSON string of any bytes; those that JSON cannot hold unescaped are hexadecimal.
std::string in_quotes(std::string_view text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '"' || c == '\\') {
      result += "\\u00";
      result += kDigits[byte / 16];
      result += kDigits[byte % 16];
    } else {
      result += c;
    }
  }
  result += '"';
  return result;
}

void resize(Model& model, const std::string& name, std::uint64_t count) {
  for (ModelTensor& tensor : model) {
    if (tensor.name != name) continue;
    tensor.bytes.resize(count * element_bytes(tensor.dtype), '\x35');
    tensor.shape = {count};
  }
}

}  // namespace

std::optional<Model> model_of(std::string_view file) {
  const auto tensors = second_safetensors(file);
  if (!tensors) return std::nullopt;
  Model model;
  for (const DeclaredTensor& tensor : *tensors) {
    model.push_back({tensor.name, tensor.dtype, tensor.shape,
                     std::string(file.substr(tensor.begin, tensor.end - tensor.begin))});
  }
  return model;
}

std::string to_file(std::string_view header, std::string_view data) {
  std::string file;
  for (unsigned i = 0; i < 8; ++i) file += static_cast<char>((header.size() >> (8 * i)) & 0xff);
  file += header;
  file += data;
  return file;
}

std::string to_file(const Model& model) {
  std::string header = "{";
  std::string data;
  for (const ModelTensor& tensor : model) {
    if (header.size() > 1) header += ',';
    header += in_quotes(tensor.name) + ":{\"dtype\":" + in_quotes(tensor.dtype) + ",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      if (i > 0) header += ',';
      header += std::to_string(tensor.shape[i]);
    }
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data += tensor.bytes;
    header += std::to_string(data.size()) + "]}";
  }
  return to_file(header + "}", data);
}

std::uint64_t element_bytes(std::string_view dtype) {
  if (dtype.ends_with("64")) return 8;
  if (dtype.ends_with("32")) return 4;
  return dtype.ends_with("16") ? 2 : 1;
}

bool fit_bytes(ModelTensor& tensor) {
  std::uint64_t count = element_bytes(tensor.dtype);
  for (const std::uint64_t dimension : tensor.shape) {
    if (dimension > kMaxBytes) return false;
    count *= dimension;
    if (count > kMaxBytes) return false;
  }
  tensor.bytes.resize(count, '\x35');
  return true;
}

void fit_weight(Model& model, const std::string& name) {
  const std::string key = name + ".quant_state.bitsandbytes__nf4";
  const auto text = std::ranges::find(model, key, &ModelTensor::name);
  if (text == model.end()) return;
  const auto state = second_quant_state(text->bytes);
  if (!state || state->quant_type != "nf4") return;
  std::uint64_t elements = 1;
  for (const std::uint64_t dimension : state->shape) {
    elements *= dimension;
    if (elements > 2 * kMaxBytes) return;
  }
  const std::uint64_t blocks = (elements + state->blocksize - 1) / state->blocksize;
  for (ModelTensor& tensor : model) {
    if (tensor.name == name + ".absmax") tensor.dtype = state->nested_offset ? "U8" : "F32";
    if (tensor.name != name) continue;
    const std::uint64_t width = element_bytes(tensor.dtype);
    tensor.shape = {((elements + 1) / 2 + width - 1) / width};
    tensor.bytes.resize(tensor.shape[0] * width, '\x7a');
  }
  resize(model, name + ".absmax", blocks);
  resize(model, name + ".nested_absmax", (blocks + 255) / 256);
}

}  // namespace nf4bench::fuzz
