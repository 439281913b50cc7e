#include "io/safetensors/safetensors_header.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/byte_source.hpp"
#include "json/json_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <vector>

namespace nf4bench::io {
namespace {

constexpr std::uint64_t kLengthBytes = 8;

// The length of "":{"dtype":"U8","shape":[],"data_offsets":[0,0]}, with its comma.
constexpr std::uint64_t kFewestEntryBytes = 50;

// A list of integers that a tensor's object may hold.
struct List {
  bool is_given = false;
  std::vector<std::uint64_t> values;
};

// What the object of the current tensor has said so far. It is reused for each tensor, because a
// header may have too many of them to allocate memory each time.
struct Declaration {
  std::string name;
  std::optional<ElementType> type;
  List shape;
  List offsets;

  void start(std::string_view of) {
    name = of;
    type.reset();
    shape.is_given = false;
    offsets.is_given = false;
  }
};

// Follows a header's JSON and appends each tensor when its object ends.
class HeaderWalk {
 public:
  HeaderWalk(const ByteSource& source, std::uint32_t file, std::uint64_t data_begin,
             StoredTensors& tensors)
      : source_(source),
        file_(file),
        data_begin_(data_begin),
        data_bytes_(source.size() - data_begin),
        tensors_(tensors) {}

  void operator()(const json::JsonEvent& event) {
    if (event.depth == 0) {
      on_document(event);
    } else if (event.depth == 1) {
      on_entry(event);
    } else if (is_metadata_) {
      on_metadata(event);
    } else if (event.depth == 2) {
      on_field(event);
    } else if (event.depth == 3) {
      on_element(event);
    }  // deeper: inside a field that nobody knows
  }

 private:
  enum class Field : std::uint8_t { kType, kShape, kOffsets, kUnknown };

  void on_document(const json::JsonEvent& event) const {
    if (event.kind != json::JsonKind::kBeginObject && event.kind != json::JsonKind::kEndObject) {
      throw input_error(source_.name(), "header", json::describe(event), "an object");
    }
  }

  void on_entry(const json::JsonEvent& event) {
    if (event.kind == json::JsonKind::kKey) {
      is_metadata_ = event.text == "__metadata__";
      current_.start(event.text);
    } else if (event.kind == json::JsonKind::kEndObject) {
      if (!is_metadata_) finish_tensor();
    } else if (event.kind != json::JsonKind::kBeginObject &&
               !(is_metadata_ && event.kind == json::JsonKind::kNull)) {
      throw input_error(where(), "header entry", json::describe(event), "an object");
    }
  }

  void on_metadata(const json::JsonEvent& event) const {
    if (event.kind != json::JsonKind::kKey && event.kind != json::JsonKind::kString) {
      throw input_error(source_.name(), "__metadata__ value", json::describe(event), "a string");
    }
  }

  void on_field(const json::JsonEvent& event) {
    if (event.kind == json::JsonKind::kKey) {
      field_ = field_of(event.text);
    } else if (field_ == Field::kType) {
      // A second dtype is refused when the object ends. Until then it must not replace the first.
      current_.type.reset();
      if (event.kind == json::JsonKind::kString) current_.type = element_type(event.text);
      if (!current_.type) {
        throw input_error(where(), "dtype", json::describe(event),
                          "a type that safetensors defines");
      }
    } else if (field_ == Field::kShape || field_ == Field::kOffsets) {
      if (event.kind == json::JsonKind::kBeginArray) {
        list().is_given = true;
        list().values.clear();
      } else if (event.kind != json::JsonKind::kEndArray) {
        throw input_error(where(), field_name(), json::describe(event), "a list of integers");
      }
    }
  }

  void on_element(const json::JsonEvent& event) {
    if (field_ == Field::kUnknown) return;
    if (event.kind != json::JsonKind::kUnsigned) {
      throw input_error(where(), field_name(), json::describe(event),
                        "an integer from 0 to 18446744073709551615");
    }
    if (list().values.size() == kMaxStoredRank) {
      throw input_error(where(), field_name(), fmt::format("more than {} values", kMaxStoredRank),
                        fmt::format("at most {}", kMaxStoredRank));
    }
    list().values.push_back(event.unsigned_value);
  }

  void finish_tensor() {
    if (!current_.type) throw input_error(where(), "the field dtype is missing");
    if (!current_.shape.is_given) throw input_error(where(), "the field shape is missing");
    if (!current_.offsets.is_given) throw input_error(where(), "the field data_offsets is missing");
    if (current_.offsets.values.size() != 2) {
      throw input_error(where(), "data_offsets",
                        fmt::format("{} values", current_.offsets.values.size()),
                        "2: begin and end");
    }
    if (tensors_.size() >= kMaxStoredTensors) {
      throw input_error(source_.name(), "tensors", fmt::format("more than {}", kMaxStoredTensors),
                        "at most that many in one input");
    }
    const std::uint64_t begin = current_.offsets.values[0];
    const std::uint64_t bytes = checked_bytes(begin, current_.offsets.values[1]);
    tensors_.add({.name = current_.name,
                  .type = *current_.type,
                  .shape = current_.shape.values,
                  .file = file_,
                  .begin = data_begin_ + begin,
                  .bytes = bytes});
  }

  // end - begin. The range must lie in the file and have the length that type and shape need.
  std::uint64_t checked_bytes(std::uint64_t begin, std::uint64_t end) const {
    const auto found = [&] { return fmt::format("[{}, {}]", begin, end); };
    if (begin > end) throw input_error(where(), "data_offsets", found(), "begin <= end");
    if (end > data_bytes_) {
      throw input_error(where(), "data_offsets", found(),
                        fmt::format("an end within the {} bytes of data that the file has (is it "
                                    "cut short?)",
                                    data_bytes_));
    }
    std::optional<std::uint64_t> bits = 1;
    for (const std::uint64_t dimension : current_.shape.values) {
      if (bits) bits = checked_multiply(*bits, dimension);
    }
    if (bits) bits = checked_multiply(*bits, facts(*current_.type).bits);
    const auto shape = [&] { return dimensions_to_string(current_.shape.values); };
    if (!bits) throw input_error(where(), "shape", shape(), "a size that fits 64 bits");
    if (*bits % 8 != 0) {
      throw input_error(where(), "shape", shape(), "a size that fills whole bytes");
    }
    if (end - begin != *bits / 8) {
      throw input_error(
          where(), "data_offsets", fmt::format("{} bytes", end - begin),
          fmt::format("the {} bytes of {} {}", *bits / 8, facts(*current_.type).spelling, shape()));
    }
    return end - begin;
  }

  static Field field_of(std::string_view key) {
    if (key == "dtype") return Field::kType;
    if (key == "shape") return Field::kShape;
    if (key == "data_offsets") return Field::kOffsets;
    return Field::kUnknown;
  }

  const char* field_name() const { return field_ == Field::kShape ? "shape" : "data_offsets"; }

  List& list() { return field_ == Field::kShape ? current_.shape : current_.offsets; }

  std::string where() const {
    return fmt::format("{}: tensor {}", source_.name(), in_quotes(current_.name));
  }

  const ByteSource& source_;
  std::uint32_t file_;
  std::uint64_t data_begin_;
  std::uint64_t data_bytes_;
  StoredTensors& tensors_;
  Declaration current_;
  Field field_ = Field::kUnknown;
  bool is_metadata_ = false;
};

// The length of the header, which is known to lie within the file.
std::uint64_t header_bytes(const ByteSource& source) {
  if (source.size() < kLengthBytes) {
    throw input_error(source.name(), "size", fmt::format("{} bytes", source.size()),
                      "a safetensors file, which has 8 at least");
  }
  const std::string first = source.read_text(0, std::min<std::uint64_t>(source.size(), 64));
  const std::uint64_t length = number_at(first, 0, kLengthBytes);
  const bool fits = length <= std::min(kMaxHeaderBytes, source.size() - kLengthBytes);
  const bool opens_json =
      fits && length > 0 && std::string_view("{ \t\r\n").find(first[8]) != std::string_view::npos;
  const std::string_view other = look_alike(first);
  if (!opens_json && !other.empty()) {
    throw input_error(source.name(),
                      fmt::format("not a safetensors file; it looks like {}", other));
  }
  if (length > kMaxHeaderBytes) {
    throw input_error(source.name(), "header length", fmt::format("{} bytes", length),
                      fmt::format("at most {} (is this a safetensors file?)", kMaxHeaderBytes));
  }
  if (!fits) {
    throw input_error(source.name(), "header length", fmt::format("{} bytes", length),
                      fmt::format("at most the {} that the file has (is it cut short?)",
                                  source.size() - kLengthBytes));
  }
  return length;
}

// Every byte of the data belongs to exactly one of the tensors from number `first` on.
void check_cover(const ByteSource& source, std::uint64_t data_begin, const StoredTensors& tensors,
                 std::size_t first) {
  struct Range {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t number;
    // clang-tidy 14 takes the comparison with 0 that this is made of for one with a pointer.
    auto operator<=>(const Range&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  std::vector<Range> ranges;
  ranges.reserve(tensors.size() - first);
  for (std::size_t i = first; i < tensors.size(); ++i) {
    const StoredTensor tensor = tensors[i];
    ranges.push_back({tensor.begin, tensor.begin + tensor.bytes, i});
  }
  std::ranges::sort(ranges);
  std::uint64_t covered = data_begin;
  for (const Range& range : ranges) {
    if (range.begin != covered) {
      throw input_error(
          fmt::format("{}: tensor {}", source.name(), in_quotes(tensors[range.number].name)),
          "data_offsets", fmt::format("begin {}", range.begin - data_begin),
          fmt::format("{}, where the tensor before it ends ({})", covered - data_begin,
                      range.begin > covered ? "a hole" : "an overlap"));
    }
    covered = range.end;
  }
  if (covered != source.size()) {
    throw input_error(
        source.name(), "data", fmt::format("{} bytes", source.size() - data_begin),
        fmt::format("{}: the tensors do not cover the whole file", covered - data_begin));
  }
}

}  // namespace

void read_safetensors_header(const ByteSource& source, std::uint32_t file, StoredTensors& tensors) {
  const std::uint64_t length = header_bytes(source);
  const std::uint64_t data_begin = kLengthBytes + length;
  const std::size_t first = tensors.size();
  {
    const std::string text = source.read_text(kLengthBytes, length);
    // No header has more names than this. Memory that is not used is never touched.
    tensors.expect(length / kFewestEntryBytes, length);
    HeaderWalk walk(source, file, data_begin, tensors);
    json::read_json(fmt::format("{}: header", source.name()), text, std::ref(walk));
  }
  check_cover(source, data_begin, tensors, first);
}

}  // namespace nf4bench::io
