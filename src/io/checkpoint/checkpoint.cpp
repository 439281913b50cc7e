#include "io/checkpoint/checkpoint.hpp"

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/memory.hpp"
#include "base/parallel.hpp"
#include "base/text.hpp"
#include "io/checkpoint/entry_reader.hpp"
#include "io/checkpoint/expert_stack.hpp"
#include "io/checkpoint/inventory.hpp"
#include "io/checkpoint/tensor_group.hpp"
#include "io/name_table.hpp"
#include "nf4/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace nf4bench::io {

namespace {

// Where the pieces of a judged entry are, and the one value of its state that an entry lacks.
struct TensorPlan {
  TensorGroup group;
  float nested_offset = 0.0f;
};

class PieceReader {
 public:
  PieceReader(const Inventory& inventory, const TensorGroup& group)
      : inventory_(inventory), group_(group), files_(inventory) {}

  // The first `count` values of `piece`, whose layout has been checked.
  template <typename T>
  std::vector<T> read(Piece piece, std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    const StoredTensor tensor = inventory_.tensors[*group_[piece]];
    files_[tensor.file].read(tensor.begin, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  const Inventory& inventory_;
  const TensorGroup& group_;
  OpenFiles files_;
};

void read_pieces(PieceReader& reader, nf4::Nf4Tensor& tensor) {
  tensor.packed = reader.read<std::uint8_t>(Piece::kWeight, nf4::packed_bytes(tensor.elements));
  if (!tensor.is_nested()) {
    tensor.absmax = reader.read<float>(Piece::kAbsmax, tensor.blocks());
    return;
  }
  tensor.absmax_codes = reader.read<std::uint8_t>(Piece::kAbsmax, tensor.blocks());
  tensor.nested_absmax = reader.read<float>(Piece::kNestedAbsmax, tensor.nested_blocks());
  tensor.nested_map = reader.read<float>(Piece::kNestedQuantMap, nf4::kNestedMapEntries);
}

// Reads the tensor behind `entry`, which has no problem. Throws Error(kInput) when the files fail,
// have changed, or hold more than this process may have in memory.
nf4::Nf4Tensor read_tensor(const Inventory& inventory, const TensorPlan& plan,
                           const TensorEntry& entry) {
  const std::string where =
      fmt::format("{}: tensor {}", escaped(entry.source), in_quotes(entry.name));
  const std::int64_t needed = entry.packed_bytes + entry.state_bytes;
  const std::int64_t usable = usable_memory_bytes();
  if (needed > usable) {
    throw input_error(where, "memory", fmt::format("{} bytes that may be used", usable),
                      fmt::format("{} for this tensor alone", needed));
  }
  nf4::Nf4Tensor tensor;
  tensor.name = entry.name;
  tensor.source = entry.source;
  tensor.shape = entry.shape;
  tensor.elements = entry.elements;
  tensor.blocksize = entry.blocksize;
  tensor.dtype = entry.dtype;
  tensor.absmax_kind = entry.absmax_kind;
  tensor.nested_offset = plan.nested_offset;
  try {
    PieceReader reader(inventory, plan.group);
    read_pieces(reader, tensor);
  } catch (const std::bad_alloc&) {
    throw input_error(where, fmt::format("{} bytes of memory could not be had", needed));
  }
  nf4::validate(tensor);
  return tensor;
}

// On all cores: a checkpoint may have a hundred thousand quant states.
std::vector<JudgedEntry> judge(const Inventory& inventory, const std::vector<TensorGroup>& groups,
                               const StackShapes& shapes) {
  constexpr std::int64_t kGrain = 512;
  std::vector<JudgedEntry> judged(groups.size());
  parallel_for(
      static_cast<std::int64_t>(groups.size()), kGrain, [&](std::int64_t first, std::int64_t last) {
        EntryReader reader(inventory, shapes);
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
          judged[i] = reader.read(groups[i]);
        }
      });
  return judged;
}

// The config.json of the model that was read; empty when there is none.
std::filesystem::path find_config(const Inventory& inventory) {
  if (inventory.files.empty() || inventory.files.front().is_memory) return {};
  const std::filesystem::path folder =
      inventory.folder.empty() ? folder_of(inventory.files.front().path) : inventory.folder;
  std::filesystem::path config = folder / "config.json";
  std::error_code error;
  return std::filesystem::exists(config, error) ? config : std::filesystem::path();
}

bool has_stack(const TensorGroups& groups) {
  return std::ranges::any_of(groups.four_bit, &TensorGroup::is_stack);
}

}  // namespace

struct Checkpoint::Impl {
  explicit Impl(Inventory taken, const std::vector<StackShape>& shapes = {})
      : inventory(std::move(taken)) {
    TensorGroups groups = group_tensors(inventory);
    others = std::move(groups.others);
    StackShapes known = {.shapes = shapes};
    if (has_stack(groups)) config = find_config(inventory);
    if (!config.empty()) add_config_shapes(config, known);
    std::vector<JudgedEntry> judged = judge(inventory, groups.four_bit, known);
    OtherTensors fp4 = {"FP4", {}};
    for (std::size_t i = 0; i < judged.size(); ++i) {
      if (judged[i].entry.problem.empty() && judged[i].quant_type == "fp4") {
        fp4.names.push_back(groups.four_bit[i].name);
        continue;
      }
      entries.push_back(std::move(judged[i].entry));
      plans.push_back({groups.four_bit[i], judged[i].nested_offset});
    }
    if (!fp4.names.empty()) others.push_back(std::move(fp4));
    std::ranges::sort(others, {}, &OtherTensors::kind);
  }

  Inventory inventory;
  std::filesystem::path config;      // that was read for expert stacks; empty when none was
  std::vector<TensorEntry> entries;  // in natural name order
  std::vector<TensorPlan> plans;     // of each entry
  std::vector<OtherTensors> others;
};

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

Checkpoint Checkpoint::open(const std::filesystem::path& path,
                            const std::vector<StackShape>& shapes) {
  return Checkpoint(std::make_unique<Impl>(take_inventory(path), shapes));
}

Checkpoint Checkpoint::open_dumps(const std::vector<RawDump>& dumps) {
  return Checkpoint(std::make_unique<Impl>(take_inventory(dumps)));
}

Checkpoint Checkpoint::open_memory(const std::string& name, std::vector<std::byte> bytes) {
  return Checkpoint(std::make_unique<Impl>(take_inventory(name, std::move(bytes))));
}

const std::vector<TensorEntry>& Checkpoint::tensors() const {
  return impl_->entries;
}

const std::vector<OtherTensors>& Checkpoint::others() const {
  return impl_->others;
}

CheckpointFiles Checkpoint::files() const {
  const Inventory& inventory = impl_->inventory;
  CheckpointFiles files = {
      .files = {}, .index = inventory.index, .config = impl_->config, .folder = inventory.folder};
  for (const InputFile& file : inventory.files) {
    if (!file.is_memory) files.files.push_back(file.path);
  }
  return files;
}

std::filesystem::path Checkpoint::model_config() const {
  return find_config(impl_->inventory);
}

std::vector<StoredTensor> Checkpoint::rest() const {
  const StoredTensors& tensors = impl_->inventory.tensors;
  std::vector<bool> is_nf4(tensors.size(), false);
  for (const TensorPlan& plan : impl_->plans) {
    for (const auto& number : plan.group.pieces) {
      if (number) is_nf4[*number] = true;
    }
  }
  std::vector<StoredTensor> rest;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_nf4[i]) rest.push_back(tensors[i]);
  }
  return rest;
}

void Checkpoint::copy(const StoredTensor& tensor, const ByteSink& sink) const {
  const Inventory& inventory = impl_->inventory;
  const auto damage = inventory.unreadable.find(inventory.tensors.find(tensor.name).value());
  if (damage != inventory.unreadable.end()) throw Error(ErrorKind::kInput, damage->second);
  const InputFile& file = inventory.files[tensor.file];
  const ByteRange range = {.begin = tensor.begin, .bytes = tensor.bytes};
  if (file.archive) {
    read_in_pieces(open_again(file), range, sink, tensor.bytes);  // each read unpacks the member
  } else {
    read_in_pieces(open_again(file), range, sink);
  }
}

nf4::Nf4Tensor Checkpoint::load(const TensorEntry& entry) const {
  const auto& entries = impl_->entries;
  const auto found =
      std::ranges::lower_bound(entries, entry.name, natural_less, &TensorEntry::name);
  if (found == entries.end() || found->name != entry.name) {
    throw Error(ErrorKind::kUsage, "the input has no NF4 tensor " + in_quotes(entry.name));
  }
  if (!found->problem.empty()) throw Error(ErrorKind::kInput, found->problem);
  const auto number = static_cast<std::size_t>(found - entries.begin());
  return read_tensor(impl_->inventory, impl_->plans[number], *found);
}

}  // namespace nf4bench::io
