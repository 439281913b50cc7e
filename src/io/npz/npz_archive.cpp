#include "io/npz/npz_archive.hpp"

#include "base/checked.hpp"
#include "base/error.hpp"
#include "io/npz/zip_directory.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

namespace nf4bench::io {
namespace {

// libzip counts wrongly when it is asked for 4 GiB or more at once.
constexpr std::size_t kReadBytes = std::size_t{64} << 20;

// One bit of deflate gives at most 129 bytes: a match of 258 bytes takes a length and a distance of
// one bit each.
constexpr std::uint64_t kMaxRatio = 1032;

// What libzip reads from. libzip is C, so an error that occurs here is kept and thrown after libzip
// has returned.
struct Feed {
  explicit Feed(ByteSource bytes) : source(std::move(bytes)) { zip_error_init(&error); }
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  ~Feed() { zip_error_fini(&error); }

  ByteSource source;
  std::uint64_t position = 0;
  zip_error_t error = {};
  std::exception_ptr failure;
};

zip_int64_t read_feed(Feed& feed, void* data, std::uint64_t length) {
  const std::uint64_t count = std::min(length, feed.source.size() - feed.position);
  try {
    feed.source.read(feed.position, {static_cast<std::byte*>(data), count});
  } catch (...) {
    feed.failure = std::current_exception();
    zip_error_set(&feed.error, ZIP_ER_READ, EIO);
    return -1;
  }
  feed.position += count;
  return static_cast<zip_int64_t>(count);
}

zip_int64_t seek_feed(Feed& feed, void* data, std::uint64_t length) {
  const zip_int64_t position =
      zip_source_seek_compute_offset(feed.position, feed.source.size(), data, length, &feed.error);
  if (position < 0) return -1;
  feed.position = static_cast<std::uint64_t>(position);
  return 0;
}

zip_int64_t describe_feed(const Feed& feed, void* data) {
  auto* status = static_cast<zip_stat_t*>(data);
  zip_stat_init(status);
  status->size = feed.source.size();
  status->valid = ZIP_STAT_SIZE;
  return sizeof(zip_stat_t);
}

zip_int64_t serve(void* state, void* data, zip_uint64_t length, zip_source_cmd_t command) {
  Feed& feed = *static_cast<Feed*>(state);
  switch (command) {
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_OPEN:
      feed.position = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return read_feed(feed, data, length);
    case ZIP_SOURCE_SEEK:
      return seek_feed(feed, data, length);
    case ZIP_SOURCE_TELL:
      return static_cast<zip_int64_t>(feed.position);
    case ZIP_SOURCE_STAT:
      return describe_feed(feed, data);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&feed.error, data, length);
    default:  // closing and freeing: the feed outlives the archive
      return 0;
  }
}

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};

struct Close {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

using OpenMember = std::unique_ptr<zip_file_t, Close>;

// Why a member cannot be unpacked, according to the directory; empty when it can.
std::string problem_of(const std::string& where, const zip_stat_t& status) {
  if (status.encryption_method != ZIP_EM_NONE) {
    return input_error(where, "encryption", "an encrypted member", "none").what();
  }
  if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE) {
    return input_error(where, "compression", fmt::format("method {}", status.comp_method),
                       "stored (0) or deflated (8), as numpy.savez has it")
        .what();
  }
  const std::string unpacked = fmt::format("{} bytes", status.size);
  if (status.comp_method == ZIP_CM_STORE && status.size != status.comp_size) {
    return input_error(where, "size", unpacked, fmt::format("the {} stored", status.comp_size))
        .what();
  }
  const bool has_remainder = status.size % kMaxRatio != 0;
  if (status.size / kMaxRatio + (has_remainder ? 1 : 0) > status.comp_size) {
    return input_error(
               where, "size", unpacked,
               fmt::format("at most {} times the {} compressed", kMaxRatio, status.comp_size))
        .what();
  }
  return {};
}

}  // namespace

struct NpzArchive::Impl {
  explicit Impl(ByteSource source) : feed(std::move(source)) {}

  [[noreturn]] void fail(const std::string& where, zip_error_t* error) const {
    if (feed.failure) std::rethrow_exception(feed.failure);
    throw input_error(where, fmt::format("the archive is damaged: {}", zip_error_strerror(error)));
  }

  void open();
  void list(const std::vector<std::string>& names);
  OpenMember open_member(std::size_t number) const;
  void fill(std::size_t number, zip_file_t* file, std::span<std::byte> out) const;
  void skip(std::size_t number, zip_file_t* file, std::uint64_t count) const;
  void expect_end(std::size_t number, zip_file_t* file) const;

  std::string where(std::size_t number) const {
    return fmt::format("{}: member {}", feed.source.name(), in_quotes(members[number].name));
  }

  Feed feed;  // before `archive`, which reads from it
  std::unique_ptr<zip_t, Discard> archive;
  std::vector<NpzMember> members;
  std::uint64_t size = 0;
  std::mutex mutex;  // around all use of `archive`
};

void NpzArchive::Impl::open() {
  zip_error_t error = {};
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(serve, &feed, &error);
  if (source != nullptr) {
    // Without ZIP_CHECKCONS, which takes minutes for members with thousands of extra fields and
    // checks nothing that has not been checked: see check_zip_members().
    archive.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
  }
  if (archive) {
    zip_error_fini(&error);
    return;
  }
  zip_source_free(source);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (feed.failure) std::rethrow_exception(feed.failure);
  throw input_error(feed.source.name(), fmt::format("the archive is damaged: {}", reason));
}

void NpzArchive::Impl::list(const std::vector<std::string>& names) {
  for (std::size_t number = 0; number < names.size(); ++number) {
    zip_stat_t status = {};
    if (zip_stat_index(archive.get(), number, ZIP_FL_UNCHANGED | ZIP_FL_ENC_RAW, &status) != 0) {
      fail(feed.source.name(), zip_get_error(archive.get()));
    }
    if (names[number] != status.name) {
      throw input_error(feed.source.name(), "member name",
                        fmt::format("{} and {}", in_quotes(names[number]), in_quotes(status.name)),
                        "one name for a member");
    }
    members.push_back({.name = names[number], .begin = size});
    members.back().problem = problem_of(where(number), status);
    if (members.back().problem.empty()) members.back().bytes = status.size;
    const auto end = checked_add(size, members.back().bytes);
    if (!end) throw input_error(feed.source.name(), "the sizes of its members overflow");
    size = *end;
  }
}

OpenMember NpzArchive::Impl::open_member(std::size_t number) const {
  OpenMember file(zip_fopen_index(archive.get(), number, ZIP_FL_UNCHANGED));
  if (!file) fail(where(number), zip_get_error(archive.get()));
  return file;
}

void NpzArchive::Impl::fill(std::size_t number, zip_file_t* file, std::span<std::byte> out) const {
  while (!out.empty()) {
    const zip_int64_t got = zip_fread(file, out.data(), std::min(out.size(), kReadBytes));
    if (got < 0) fail(where(number), zip_file_get_error(file));
    if (got == 0) {
      throw input_error(where(number), "data", "fewer bytes",
                        fmt::format("the {} that the directory declares", members[number].bytes));
    }
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

void NpzArchive::Impl::skip(std::size_t number, zip_file_t* file, std::uint64_t count) const {
  std::array<std::byte, 8192> unwanted;
  while (count > 0) {
    const std::size_t piece = std::min<std::uint64_t>(count, unwanted.size());
    fill(number, file, std::span(unwanted).first(piece));
    count -= piece;
  }
}

// libzip compares the checksum when it is asked for what follows the last byte.
void NpzArchive::Impl::expect_end(std::size_t number, zip_file_t* file) const {
  std::byte next = {};
  const zip_int64_t got = zip_fread(file, &next, 1);
  if (got < 0) fail(where(number), zip_file_get_error(file));
  if (got > 0) {
    throw input_error(where(number), "data", "more bytes",
                      fmt::format("the {} that the directory declares", members[number].bytes));
  }
}

NpzArchive::NpzArchive(ByteSource source) : impl_(std::make_unique<Impl>(std::move(source))) {
  const std::vector<std::string> names = read_zip_names(impl_->feed.source);
  impl_->open();
  impl_->list(names);
}

NpzArchive::~NpzArchive() = default;

const std::string& NpzArchive::name() const {
  return impl_->feed.source.name();
}

std::uint64_t NpzArchive::size() const {
  return impl_->size;
}

const std::vector<NpzMember>& NpzArchive::members() const {
  return impl_->members;
}

std::string NpzArchive::where(std::size_t member) const {
  return impl_->where(member);
}

std::string NpzArchive::read_start(std::size_t member, std::uint64_t count) const {
  const std::lock_guard lock(impl_->mutex);
  std::string start(std::min(count, members()[member].bytes), '\0');
  impl_->fill(member, impl_->open_member(member).get(), std::as_writable_bytes(std::span(start)));
  return start;
}

void NpzArchive::read(std::uint64_t offset, std::span<std::byte> out) const {
  const auto next = std::ranges::upper_bound(members(), offset, {}, &NpzMember::begin);
  const auto number = static_cast<std::size_t>(std::distance(members().begin(), next)) - 1;
  const NpzMember& member = members()[number];
  const std::uint64_t skipped = offset - member.begin;
  if (skipped > member.bytes || out.size() > member.bytes - skipped) {
    throw input_error(where(number), fmt::format("{} bytes at {} lie past its end ({} bytes)",
                                                 out.size(), skipped, member.bytes));
  }
  const std::lock_guard lock(impl_->mutex);
  const OpenMember file = impl_->open_member(number);
  impl_->skip(number, file.get(), skipped);
  impl_->fill(number, file.get(), out);
  impl_->skip(number, file.get(), member.bytes - skipped - out.size());
  impl_->expect_end(number, file.get());
}

ByteSource NpzArchive::range() const {
  return ByteSource::of_range(
      name(), size(),
      [this](std::uint64_t offset, std::span<std::byte> out) { read(offset, out); });
}

}  // namespace nf4bench::io
