#include "fuzz/second_reader.hpp"
#include "fuzz/targets.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/name_table.hpp"
#include "io/safetensors/safetensors_header.hpp"

#include <algorithm>
#include <vector>

namespace nf4bench::fuzz {
namespace {

void agree_with_second_reader(Bytes input) {
  io::StoredTensors tensors;
  const bool accepted = accepts([&] {
    io::read_safetensors_header(io::ByteSource::in_memory("fuzz.safetensors", input), 0, tensors);
  });
  const auto second = second_safetensors(text_of(input));
  require(accepted == second.has_value(), "both readers accept a header or both refuse it");
  if (!accepted) return;
  require(tensors.size() == second->size(), "both readers see the same number of tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const io::StoredTensor ours = tensors[i];
    const DeclaredTensor same = {std::string(ours.name),
                                 std::string(io::facts(ours.type).spelling),
                                 {ours.shape.begin(), ours.shape.end()},
                                 ours.begin,
                                 ours.begin + ours.bytes};
    require(same == (*second)[i], "both readers see the same tensor");
  }
}

void check_entry(const io::TensorEntry& entry, std::size_t file_bytes) {
  require_printable(entry.problem);
  for (const std::string& warning : entry.warnings) require_printable(warning);
  if (!entry.problem.empty()) return;
  require(nf4::is_legal_blocksize(entry.blocksize), "an entry's blocksize is legal");
  Wide elements = 1;
  for (const std::int64_t extent : entry.shape) {
    elements *= static_cast<Wide>(extent);
    require(extent > 0 && elements <= file_bytes * 2, "an entry's shape fits the file");
  }
  require(!entry.shape.empty() && elements == static_cast<Wide>(entry.elements),
          "an entry's elements are its shape's");
  require(entry.packed_bytes == nf4::packed_bytes(entry.elements), "two elements fill a byte");
  require(entry.packed_bytes + entry.state_bytes <= static_cast<std::int64_t>(file_bytes),
          "the pieces of an entry lie in the file");
}

}  // namespace

void fuzz_safetensors(Bytes input) {
  agree_with_second_reader(input);
  accepts([&] {
    const io::Checkpoint checkpoint =
        io::Checkpoint::open_memory("fuzz.safetensors", {input.begin(), input.end()});
    const std::vector<io::TensorEntry>& entries = checkpoint.tensors();
    for (const io::TensorEntry& entry : entries) check_entry(entry, input.size());
    require(std::ranges::adjacent_find(entries,
                                       [](const io::TensorEntry& a, const io::TensorEntry& b) {
                                         return !io::natural_less(a.name, b.name);
                                       }) == entries.end(),
            "entries are in order, each once");
    for (const io::OtherTensors& other : checkpoint.others()) {
      require(!other.names.empty(), "a kind that is listed was seen");
    }
  });
}

}  // namespace nf4bench::fuzz
