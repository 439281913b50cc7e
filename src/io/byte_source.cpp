#include "io/byte_source.hpp"

#include "base/input_error.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
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

std::string kind_of(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "a directory";
  if (S_ISFIFO(status.st_mode)) return "a FIFO";
  if (S_ISSOCK(status.st_mode)) return "a socket";
  if (S_ISCHR(status.st_mode)) return "a character device";
  if (S_ISBLK(status.st_mode)) return "a block device";
  return "not a regular file";
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
  if (path.native().find('\0') != std::string::npos) {
    throw input_error(source.name_, "a path cannot hold a NUL character");
  }
  do {
    source.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (source.descriptor_ < 0 && errno == EINTR);
  if (source.descriptor_ < 0) {
    throw input_error(source.name_, fmt::format("cannot be opened: {}", errno_text(errno)));
  }
  struct stat status = {};
  if (::fstat(source.descriptor_, &status) != 0) {
    throw input_error(source.name_, fmt::format("cannot be examined: {}", errno_text(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw input_error(source.name_, "file type", kind_of(status), "a regular file");
  }
  source.identity_ = identity_of(status);
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

ByteSource::ByteSource(ByteSource&& other) noexcept
    : name_(std::move(other.name_)),
      identity_(other.identity_),
      memory_(other.memory_),
      reader_(std::move(other.reader_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

ByteSource& ByteSource::operator=(ByteSource&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(identity_, other.identity_);
  std::swap(memory_, other.memory_);
  std::swap(reader_, other.reader_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ByteSource::~ByteSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
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
  if (descriptor_ < 0) {
    std::memcpy(out.data(), memory_.data() + offset, out.size());
    return;
  }
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t wanted = std::min(out.size() - done, kPieceBytes);
    const ssize_t got =
        ::pread(descriptor_, out.data() + done, wanted, static_cast<off_t>(offset + done));
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
