#include "io/byte_source.hpp"

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string>
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

using namespace std::string_view_literals;

struct Signature {
  std::string_view prefix;
  std::string_view meaning;
};

constexpr std::string_view kPickle =
    "a Python pickle, which is not read because that would run code: scripts/dump_nf4.py FILE -o "
    "FOLDER writes what is NF4 in one of torch.save (.pt, .pth, .bin) as a folder to give instead";

constexpr std::array kSignatures = {
    Signature{"version https://git-lfs"sv,
              "a Git LFS pointer: the data was never downloaded, run git lfs pull"sv},
    Signature{"\x93NUMPY"sv,
              "a NumPy .npy array: give the folder that holds all its arrays, or --raw "
              "weight=FILE,absmax=FILE,shape=OUTxIN,blocksize=64"sv},
    Signature{"PK\x03\x04"sv,
              "a zip archive: scripts/dump_nf4.py FILE -o FOLDER writes what is NF4 in one of "
              "torch.save (.pt, .pth, .bin) as a folder to give instead; a NumPy archive's name "
              "ends in .npz"sv},
    Signature{"PK\x05\x06"sv, "an empty zip archive"sv},
    Signature{"\x1f\x8b"sv, "a gzip archive"sv},
    Signature{"GGUF"sv, "a GGUF model, whose quantization is not NF4"sv},
    Signature{"ggml"sv, "a GGML model, whose quantization is not NF4"sv},
    Signature{"\x80\x02"sv, kPickle},
    Signature{"\x80\x03"sv, kPickle},
    Signature{"\x80\x04"sv, kPickle},
    Signature{"\x80\x05"sv, kPickle},
    Signature{"\x89HDF\r\n"sv, "an HDF5 file"sv},
    Signature{"\x28\xb5\x2f\xfd"sv, "a Zstandard archive"sv},
    Signature{"\x7f"
              "ELF"sv,
              "an ELF binary"sv},
    Signature{"{"sv, "a JSON text: an index is recognised by a name that ends in .index.json"sv},
};

bool is_html(std::string_view bytes) {
  const std::size_t start = bytes.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  std::string lower(bytes.substr(start, 14));
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.starts_with("<!doctype html") || lower.starts_with("<html");
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

std::string_view look_alike(std::string_view first_bytes) {
  if (is_html(first_bytes)) return "an HTML page, perhaps a login or error page";
  const auto found = std::ranges::find_if(
      kSignatures, [first_bytes](const Signature& s) { return first_bytes.starts_with(s.prefix); });
  return found == kSignatures.end() ? std::string_view() : found->meaning;
}

}  // namespace nf4bench::io
