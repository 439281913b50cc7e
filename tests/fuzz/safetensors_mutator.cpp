#include "fuzz/json_mutator.hpp"
#include "fuzz/state_dict_model.hpp"
#include "fuzz/targets.hpp"

#include <algorithm>
#include <cstring>

namespace nf4bench::fuzz {
namespace {

constexpr std::string_view kTypes[] = {"U8",  "F32", "F16",     "BF16",    "I8",  "BOOL", "F4",
                                       "F64", "I64", "F8_E4M3", "F6_E2M3", "C64", "U32",  "u8"};
constexpr std::string_view kSuffixes[] = {"",
                                          ".absmax",
                                          ".quant_map",
                                          ".nested_absmax",
                                          ".nested_quant_map",
                                          ".quant_state.bitsandbytes__nf4",
                                          ".quant_state.bitsandbytes__fp4",
                                          ".quant_state.json",
                                          ".SCB",
                                          ".weight",
                                          ".qweight",
                                          ".scales",
                                          ".g_idx",
                                          ".qzeros"};
constexpr std::uint64_t kDimensions[] = {0, 1, 2, 3, 7, 16, 31, 32, 33, 64, 65, 256, 257, 1000};
constexpr std::string_view kStateMark = ".quant_state.";

std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// LLVMFuzzerMutate for strings; the result is at most twice as long, and 64 bytes.
void mutate_string(std::string& text, MutateBytes anyhow) {
  const std::size_t size = text.size();
  text.resize(2 * size + 64);
  text.resize(anyhow(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
}

// The name of the weight that the tensor `name` belongs to.
std::string weight_of(const std::string& name) {
  for (const std::string_view suffix : kSuffixes) {
    if (!suffix.empty() && suffix != ".weight" && name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

void mutate_content(ModelTensor& tensor, Random& random, MutateBytes anyhow) {
  if (tensor.name.find(kStateMark) != std::string::npos && !random.one_in(4)) {
    tensor.bytes = mutate_json_text(tensor.bytes, random);
    tensor.shape = {tensor.bytes.size()};
    return;
  }
  const std::size_t size = tensor.bytes.size();
  mutate_string(tensor.bytes, anyhow);
  tensor.bytes.resize(size);
}

void mutate_shape(ModelTensor& tensor, Random& random) {
  if (!tensor.shape.empty() && random.one_in(2)) {
    tensor.shape[random.below(tensor.shape.size())] = random.pick<std::uint64_t>(kDimensions);
  } else if (!tensor.shape.empty() && random.one_in(2)) {
    tensor.shape.pop_back();
  } else {
    tensor.shape.push_back(random.pick<std::uint64_t>(kDimensions));
  }
  if (!random.one_in(4)) fit_bytes(tensor);
}

void mutate_model(Model& model, Random& random, MutateBytes anyhow) {
  ModelTensor& tensor = model[random.below(model.size())];
  const std::string weight = weight_of(tensor.name);
  switch (random.below(8)) {
    case 0:
    case 1:
    case 2:
      mutate_content(tensor, random, anyhow);
      if (!random.one_in(3)) fit_weight(model, weight);
      break;
    case 3:
      mutate_shape(tensor, random);
      break;
    case 4:
      tensor.dtype = random.pick<std::string_view>(kTypes);
      if (!random.one_in(4)) fit_bytes(tensor);
      if (random.one_in(2)) fit_weight(model, weight);
      break;
    case 5:
      tensor.name = weight + std::string(random.pick<std::string_view>(kSuffixes));
      break;
    case 6: {
      ModelTensor copy = tensor;
      copy.name = weight + std::string(random.pick<std::string_view>(kSuffixes));
      model.insert(model.begin() + static_cast<std::ptrdiff_t>(random.below(model.size() + 1)),
                   std::move(copy));
      break;
    }
    default:
      model.erase(model.begin() + static_cast<std::ptrdiff_t>(random.below(model.size())));
  }
}

// The file with something in the text of its header changed, the length kept right.
std::string with_mutated_header(const std::string& file, Random& random, MutateBytes anyhow) {
  if (file.size() < 8) return "";
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  length = std::min<std::uint64_t>(length, file.size() - 8);
  std::string header = file.substr(8, length);
  if (random.one_in(4)) {
    mutate_string(header, anyhow);
  } else {
    header = mutate_json_text(header, random);
  }
  return to_file(header, std::string_view(file).substr(8 + length));
}

}  // namespace

std::size_t mutate_safetensors(std::uint8_t* data, std::size_t size, std::size_t max_size,
                               unsigned seed, MutateBytes anyhow) {
  Random random(seed);
  const std::string file = text_of(data, size);
  std::string mutated;
  const std::size_t way = random.below(8);
  if (way > 2) {
    auto model = model_of(file);
    if (model && !model->empty()) {
      do {
        mutate_model(*model, random, anyhow);
      } while (!model->empty() && random.one_in(3));
      mutated = to_file(*model);
    }
  }
  if (mutated.empty() && way > 0) mutated = with_mutated_header(file, random, anyhow);
  if (mutated.empty() || mutated.size() > max_size) return anyhow(data, size, max_size);
  std::ranges::copy(mutated, data);
  return mutated.size();
}

}  // namespace nf4bench::fuzz
