#include "io/byte_source.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace nf4bench::io {
namespace {

// Linux transfers at most 2 GiB a call; smaller pieces keep a signal's delay short.
constexpr std::size_t kPieceBytes = std::size_t{64} << 20;

std::string errno_text(int code) {
  return std::generic_category().message(code);
}

FileIdentity identity_of(const struct stat& status) {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  FileIdentity identity;
  identity.device = status.st_dev;
  identity.inode = status.st_ino;
  identity.bytes = static_cast<std::uint64_t>(status.st_size);
  // Unsigned, because a file may have any time stamp and the product may wrap around.
  identity.modified_ns =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(status.st_mtim.tv_sec) * kNanoseconds +
                                static_cast<std::uint64_t>(status.st_mtim.tv_nsec));
  return identity;
}

}  // namespace

ByteSource ByteSource::open(const std::filesystem::path& path) {
  ByteSource source;
  source.name_ = escaped(path.native());
  InputFile file = open_input(path);
  source.descriptor_ = std::move(file.descriptor);
  source.identity_ = identity_of(file.status);
  return source;
}

ByteSource ByteSource::in_memory(std::string_view name, std::span<const std::byte> bytes) {
  ByteSource source;
  source.name_ = escaped(name);
  source.memory_ = bytes;
  source.identity_.bytes = bytes.size();
  return source;
}

ByteSource ByteSource::of_range(std::string name, std::uint64_t bytes, Reader reader) {
  ByteSource source;
  source.name_ = std::move(name);
  source.reader_ = std::move(reader);
  source.identity_.bytes = bytes;
  return source;
}

void ByteSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > size() || out.size() > size() - offset) {
    throw input_error(name_, fmt::format("bytes {} to {} lie past the end of the file ({} bytes)",
                                         offset, offset + out.size(), size()));
  }
  if (out.empty()) return;
  if (reader_) {
    reader_(offset, out);
    return;
  }
  if (!descriptor_.is_open()) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return;
  }
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t wanted = std::min(out.size() - done, kPieceBytes);
    const ssize_t got =
        ::pread(descriptor_.get(), out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw input_error(name_, fmt::format("reading {} bytes at {} failed: {}", wanted,
                                           offset + done, errno_text(errno)));
    }
    if (got == 0) {
      throw input_error(name_, fmt::format("the file ended at byte {} while it was read; it had {} "
                                           "bytes when it was opened",
                                           offset + done, size()));
    }
    done += static_cast<std::size_t>(got);
  }
}

std::string ByteSource::read_text(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size() || count > size() - offset) {
    throw input_error(name_, fmt::format("{} bytes at {} lie past the end of the file ({} bytes)",
                                         count, offset, size()));
  }
  std::string text(count, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void read_in_pieces(const ByteSource& source, const ByteRange& range, const ByteSink& sink,
                    std::uint64_t most) {
  std::vector<std::byte> piece;
  for (std::uint64_t done = 0; done < range.bytes; done += piece.size()) {
    piece.resize(std::min(range.bytes - done, most));
    source.read(range.begin + done, piece);
    sink(piece);
  }
}

}  // namespace nf4bench::io
