#include "io/checkpoint/tensor_group.hpp"

#include "io/checkpoint/npy_folder.hpp"
#include "io/name_table.hpp"

#include <algorithm>
#include <map>

namespace nf4bench::io {
namespace {

constexpr std::array<std::string_view, kPieces> kSuffixes = {
    "",
    ".absmax",
    ".quant_map",
    ".nested_absmax",
    ".nested_quant_map",
    ".quant_state.bitsandbytes__nf4",
    ".quant_state.bitsandbytes__fp4",
    kJsonStateSuffix,
};

// How the names of an expert stack's tensors end, those of nested scales as the last.
constexpr std::string_view kStackWeight = "_proj";
constexpr std::array<std::string_view, 2> kStackAbsmax = {"_absmax", "_absmax_q"};
constexpr std::string_view kStackNestedAbsmax = "_absmax_s";
constexpr std::string_view kStackNestedMap = "_absmax_code";
constexpr std::string_view kStackOffset = "_absmax_off";

std::size_t at(Piece piece) {
  return static_cast<std::size_t>(piece);
}

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  return name.substr(0, name.size() - suffix.size());
}

// Which piece a tensor called `name` is; none for a weight, which may have any name. At most one
// suffix matches, because each begins with a dot.
std::optional<Piece> piece_of(std::string_view name) {
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    const std::string_view suffix = kSuffixes[piece];
    if (!suffix.empty() && name.size() > suffix.size() && name.ends_with(suffix)) {
      return static_cast<Piece>(piece);
    }
  }
  return std::nullopt;
}

class Grouping {
 public:
  explicit Grouping(const Inventory& inventory)
      : tensors_(inventory.tensors),
        unreadable_(inventory.unreadable),
        is_claimed_(tensors_.size(), false) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (const auto piece = piece_of(tensors_[i].name)) {
        named_as_[at(*piece)].push_back(i);
      } else {
        note_stack(i);
      }
    }
  }

  TensorGroups finish() {
    // A quant state is the surest sign, so weights that have one claim their pieces first.
    for (const Piece piece : {Piece::kStateNf4, Piece::kStateJson, Piece::kStateFp4}) {
      claim_by(piece);
    }
    for (const Piece piece :
         {Piece::kAbsmax, Piece::kQuantMap, Piece::kNestedAbsmax, Piece::kNestedQuantMap}) {
      claim_by(piece);
    }
    for (std::size_t kind = 0; kind < kStackAbsmax.size(); ++kind) {
      for (const std::size_t number : stack_absmax_[kind]) claim_stack(kStackAbsmax[kind], number);
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!is_claimed_[i]) count_other(i);
    }
    std::ranges::sort(groups_.four_bit, [](const TensorGroup& a, const TensorGroup& b) {
      return natural_less(a.name, b.name);
    });
    for (auto& [kind, other] : others_) groups_.others.push_back(std::move(other));
    return std::move(groups_);
  }

 private:
  // Makes a group for every unclaimed tensor whose name ends as `piece` does.
  void claim_by(Piece piece) {
    for (const std::size_t number : named_as_[at(piece)]) {
      if (!is_claimed_[number]) claim(piece, number);
    }
  }

  // Makes a group of tensor `number`, whose name says that it is the piece `known`, and of the
  // other pieces of the same weight. Looking a name up costs a few cache misses. So the first guess
  // is that the pieces follow each other as in the last group, and pieces that occur nowhere in the
  // input are not looked up.
  void claim(Piece known, std::size_t number) {
    TensorGroup group;
    group.name = without_suffix(tensors_[number].name, suffix_of(known));
    std::string name(group.name);
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      if (piece == at(known)) {
        group.pieces[piece] = number;
      } else if (piece == at(Piece::kWeight) || !named_as_[piece].empty()) {
        name.resize(group.name.size());
        name.append(kSuffixes[piece]);
        group.pieces[piece] = tensors_.find(name, last_[piece] + number - last_[at(known)]);
      }
    }
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
      last_[piece] = group.pieces[piece].value_or(last_[piece]);
    }
    const bool has_state =
        group[Piece::kStateNf4] || group[Piece::kStateFp4] || group[Piece::kStateJson];
    // Pieces that have neither a weight nor a quant state may be anything: other libraries have an
    // absmax too.
    if (!has_state && !group[Piece::kWeight]) return;
    for (const auto& piece : group.pieces) {
      if (piece) is_claimed_[*piece] = true;
    }
    groups_.four_bit.push_back(group);
  }

  void note_stack(std::size_t number) {
    for (std::size_t kind = 0; kind < kStackAbsmax.size(); ++kind) {
      if (tensors_[number].name.ends_with(kStackAbsmax[kind])) {
        stack_absmax_[kind].push_back(number);
      }
    }
  }

  // Makes a group of the scales `number`, whose name ends in `suffix`, and their packed weight.
  void claim_stack(std::string_view suffix, std::size_t number) {
    std::string name(without_suffix(tensors_[number].name, suffix));
    const auto weight = tensors_.find(name.append(kStackWeight));
    if (!weight || is_claimed_[*weight] || tensors_[*weight].type != ElementType::kU8) return;
    TensorGroup group;
    group.name = tensors_[*weight].name;
    group.is_stack = true;
    group.pieces[at(Piece::kWeight)] = weight;
    group.pieces[at(Piece::kAbsmax)] = number;
    if (suffix == kStackAbsmax.back()) {
      for (const Piece piece : {Piece::kNestedAbsmax, Piece::kNestedQuantMap}) {
        group.pieces[at(piece)] = tensors_.find(name_of(group, piece));
      }
      group.stack_offset = tensors_.find(name_of_stack_offset(group));
    }
    for (const auto& piece : group.pieces) {
      if (piece) is_claimed_[*piece] = true;
    }
    if (group.stack_offset) is_claimed_[*group.stack_offset] = true;
    groups_.four_bit.push_back(group);
  }

  bool has(std::string_view stem, std::string_view suffix) const {
    return tensors_.find(std::string(stem).append(suffix)).has_value();
  }

  void count_other(std::size_t number) {
    const StoredTensor tensor = tensors_[number];
    const std::size_t dot = tensor.name.rfind('.');
    const std::string_view stem = tensor.name.substr(0, dot);
    const std::string_view last =
        dot == std::string_view::npos ? std::string_view() : tensor.name.substr(dot + 1);
    if (unreadable_.contains(number)) {
      count("unreadable .npy", tensor.name);
    } else if (last == "weight" && has(stem, ".SCB")) {
      count("LLM.int8", tensor.name);
    } else if (last == "qweight" && has(stem, ".scales")) {
      count(has(stem, ".g_idx") ? "GPTQ" : "GPTQ or AWQ", tensor.name);
    } else if (!is_part_of_other(stem, last)) {
      count(facts(tensor.type).name, tensor.name);
    }
  }

  // True for the side tensors of LLM.int8 and GPTQ weights, which are counted with the weight.
  bool is_part_of_other(std::string_view stem, std::string_view last) const {
    if (last == "SCB" || last == "weight_format") return has(stem, ".weight") && has(stem, ".SCB");
    if (last == "qzeros" || last == "scales" || last == "g_idx") return has(stem, ".qweight");
    return false;
  }

  void count(std::string_view kind, std::string_view name) {
    auto it = others_.find(kind);
    if (it == others_.end()) it = others_.emplace(kind, OtherTensors{std::string(kind), {}}).first;
    it->second.names.push_back(name);
  }

  const StoredTensors& tensors_;
  const std::map<std::size_t, std::string>& unreadable_;
  std::vector<bool> is_claimed_;
  std::array<std::size_t, kPieces> last_ = {};  // numbers of the pieces that were found last
  std::array<std::vector<std::size_t>, kPieces> named_as_;  // tensors whose name ends as a piece's
  std::array<std::vector<std::size_t>, kStackAbsmax.size()> stack_absmax_;  // or a stack's scales'
  TensorGroups groups_;
  std::map<std::string, OtherTensors, std::less<>> others_;
};

}  // namespace

std::string_view suffix_of(Piece piece) {
  return kSuffixes[at(piece)];
}

std::string name_of(const TensorGroup& group, Piece piece) {
  if (!group.is_stack) return std::string(group.name).append(suffix_of(piece));
  const bool is_map = piece == Piece::kNestedQuantMap;
  return std::string(without_suffix(group.name, kStackWeight))
      .append(is_map ? kStackNestedMap : kStackNestedAbsmax);
}

std::string name_of_stack_offset(const TensorGroup& group) {
  return std::string(without_suffix(group.name, kStackWeight)).append(kStackOffset);
}

TensorGroups group_tensors(const Inventory& inventory) {
  return Grouping(inventory).finish();
}

}  // namespace nf4bench::io
