#include "io/checkpoint/open_files.hpp"

namespace nf4bench::io {

const ByteSource& OpenFiles::operator[](std::uint32_t file) {
  for (const auto& [number, source] : open_) {
    if (number == file) return source;
  }
  ByteSource source = open_again(inventory_.files[file]);
  if (open_.size() < kMaxOpen) {
    open_.emplace_back(file, std::move(source));
    return open_.back().second;
  }
  auto& slot = open_[oldest_];
  oldest_ = (oldest_ + 1) % kMaxOpen;
  slot.first = file;
  slot.second = std::move(source);
  return slot.second;
}

}  // namespace nf4bench::io
