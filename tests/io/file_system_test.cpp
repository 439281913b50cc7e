// What the file system can put in a reader's way.

#include "io/byte_source.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/raw_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace nf4bench::testing {
namespace {

namespace fs = std::filesystem;

const std::string kOneTensor = R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";

std::string open_refusal(const fs::path& path) {
  return refusal([&] { io::Checkpoint::open(path); });
}

TEST(FileSystem, MissingPathIsNamedWithTheSystemsReason) {
  const TemporaryFolder folder;
  const std::string message = open_refusal(folder / "absent.safetensors");
  expect_part(message, "absent.safetensors");
  expect_part(message, "No such file or directory");
}

TEST(FileSystem, FolderWithoutACheckpointIsNotAnInput) {
  const TemporaryFolder folder;
  write_raw(folder / "notes.txt", "nothing here");
  expect_part(open_refusal(folder.path()), "found neither .safetensors nor .npy files");
}

TEST(FileSystem, FolderOfTorchSaveSaysHowItIsConverted) {
  const TemporaryFolder folder;
  write_raw(folder / "config.json", "{}");
  write_raw(folder / "pytorch_model.bin", "PK");
  expect_part(open_refusal(folder.path()),
              "found files of torch.save only (1, the first is \"pytorch_model.bin\"), wanted a "
              "checkpoint of .safetensors files; \"scripts/dump_nf4.py " +
                  (folder / "pytorch_model.bin").string() + " -o FOLDER\"");
}

TEST(FileSystem, DirectoryCalledSafetensorsInsideAFolderIsNamed) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "x.safetensors");
  expect_part(open_refusal(folder.path()), "file type: found a directory, wanted a regular file");
}

TEST(FileSystem, FifoIsRefusedWithoutBlocking) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "x.safetensors").c_str(), 0600), 0);
  expect_part(open_refusal(folder / "x.safetensors"), "file type: found a FIFO");
}

TEST(FileSystem, SocketIsRefused) {
  const TemporaryFolder folder;
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = folder / "x.safetensors";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expect_part(open_refusal(path), "x.safetensors: cannot be opened");
  ::close(descriptor);
}

TEST(FileSystem, CharacterDeviceIsRefused) {
  expect_part(open_refusal("/dev/zero"), "file type: found a character device");
}

TEST(FileSystem, TerminalIsRefused) {
  const int terminal = ::open("/dev/ptmx", O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "/dev/ptmx: " << std::strerror(errno);
  ::close(terminal);
  expect_part(open_refusal("/dev/ptmx"), "file type: found a character device");
}

// The descriptor that the source will get is known beforehand, and then points to a folder.
TEST(FileSystem, ReadThatFailsIsNamedWithTheSystemsReason) {
  const TemporaryFolder folder;
  write_raw(folder / "a", std::string(100, 'x'));
  const int next = ::open("/dev/null", O_RDONLY);
  ASSERT_GE(next, 0);
  ::close(next);
  const io::ByteSource source = io::ByteSource::open(folder / "a");
  const int directory = ::open(folder.path().c_str(), O_RDONLY);
  ASSERT_EQ(::dup2(directory, next), next);
  ::close(directory);
  std::vector<std::byte> out(100);
  expect_part(refusal([&] { source.read(0, out); }), "Is a directory");
}

TEST(FileSystem, ZipArchiveWithoutTheNameOfAnNpzIsNamedForWhatItIs) {
  const TemporaryFolder folder;
  write_raw(folder / "x.pt", std::string("PK\x03\x04", 4) + std::string(20, '\0'));
  expect_part(open_refusal(folder / "x.pt"),
              "it looks like a zip archive: scripts/dump_nf4.py FILE -o FOLDER writes what is NF4 "
              "in one of torch.save (.pt, .pth, .bin) as a folder to give instead; a NumPy "
              "archive's name ends in .npz");
}

TEST(FileSystem, SymbolicLinkLoopIsNamed) {
  const TemporaryFolder folder;
  fs::create_symlink("b.safetensors", folder / "a.safetensors");
  fs::create_symlink("a.safetensors", folder / "b.safetensors");
  expect_part(open_refusal(folder / "a.safetensors"), "Too many levels of symbolic links");
}

TEST(FileSystem, DanglingLinkIsNamed) {
  const TemporaryFolder folder;
  fs::create_symlink("nowhere", folder / "a.safetensors");
  expect_part(open_refusal(folder / "a.safetensors"), "No such file or directory");
}

// Root reads everything; while this lives, it is somebody else.
class AsNobody {
 public:
  AsNobody() {
    if (was_root_ && ::seteuid(65534) != 0) throw std::runtime_error("cannot step down from root");
  }
  ~AsNobody() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  bool was_root_ = ::geteuid() == 0;
};

TEST(FileSystem, UnreadableFileIsNamed) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::others_exec, fs::perm_options::add);
  write_raw(folder / "a.safetensors", safetensors("{}"));
  fs::permissions(folder / "a.safetensors", fs::perms::none);
  const AsNobody nobody;
  expect_part(open_refusal(folder / "a.safetensors"), "Permission denied");
}

TEST(FileSystem, UnsearchableFolderIsNamed) {
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::create_directory(folder / "shut");
  fs::permissions(folder / "shut", fs::perms::none);
  {
    const AsNobody nobody;
    expect_part(open_refusal(folder / "shut"), "Permission denied");
    expect_part(open_refusal(folder / "shut/a.safetensors"), "Permission denied");
  }
  fs::permissions(folder / "shut", fs::perms::owner_all);
}

TEST(FileSystem, NameWithNulIsRefusedAndNotCut) {
  const TemporaryFolder folder;
  write_raw(folder / "a", safetensors("{}"));
  const std::string name("a\0.safetensors", 14);
  expect_part(open_refusal(folder / name), "a path cannot hold a NUL character");
}

TEST(FileSystem, ControlCharactersInNamesAreShownEscaped) {
  const TemporaryFolder folder;
  const std::string message = open_refusal(folder / "a\n\x1b[31mb\xff.safetensors");
  expect_part(message, "a\\n\\x1b[31mb\\xff.safetensors: cannot be opened");
}

TEST(FileSystem, NameOf5000CharactersIsCutInTheMessage) {
  const TemporaryFolder folder;
  const std::string message = open_refusal(folder / std::string(5000, 'a'));
  expect_part(message, "File name too long");
  EXPECT_LT(message.size(), 400u);
}

TEST(FileSystem, FileThatShrinksWhileItIsReadIsAnError) {
  const TemporaryFolder folder;
  write_raw(folder / "a", std::string(100, 'x'));
  const io::ByteSource source = io::ByteSource::open(folder / "a");
  fs::resize_file(folder / "a", 50);
  std::vector<std::byte> bytes(100);
  expect_part(refusal([&] { source.read(0, bytes); }),
              "the file ended at byte 50 while it was read; it had 100 bytes when it was opened");
}

TEST(FileSystem, FileThatGrowsIsReadAsLongAsItWas) {
  const TemporaryFolder folder;
  write_raw(folder / "a", "12345678");
  const io::ByteSource source = io::ByteSource::open(folder / "a");
  write_raw(folder / "a", "1234567890");
  EXPECT_EQ(source.size(), 8u);
  std::vector<std::byte> bytes(9);
  expect_part(refusal([&] { source.read(0, bytes); }), "past the end of the file (8 bytes)");
}

TEST(FileSystem, FileReplacedBetweenOpenAndLoadIsAnError) {
  const TemporaryFolder folder;
  fs::copy(data_file("quant_storage.safetensors"), folder / "a.safetensors");
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "a.safetensors");
  fs::copy(data_file("quant_storage.safetensors"), folder / "b.safetensors");
  fs::rename(folder / "b.safetensors", folder / "a.safetensors");
  expect_part(refusal([&] { checkpoint.load(checkpoint.tensors().front()); }),
              "a.safetensors: the file changed since its header was read");
}

TEST(FileSystem, FileTruncatedBetweenOpenAndLoadIsAnError) {
  const TemporaryFolder folder;
  fs::copy(data_file("quant_storage.safetensors"), folder / "a.safetensors");
  const io::Checkpoint checkpoint = io::Checkpoint::open(folder / "a.safetensors");
  fs::resize_file(folder / "a.safetensors", 2000);
  expect_part(refusal([&] { checkpoint.load(checkpoint.tensors().front()); }),
              "the file changed since its header was read");
}

TEST(FileSystem, FileThatStatesNoSizeIsRefused) {
  if (::access("/proc/self/mem", R_OK) != 0) GTEST_SKIP() << "there is no /proc here";
  expect_part(open_refusal("/proc/self/mem"), "/proc/self/mem: size: found 0 bytes");
}

TEST(FileSystem, SparseFileThatClaimsMuchIsRefusedWithoutMemory) {
  const TemporaryFolder folder;
  write_raw(folder / "a.safetensors", safetensors(kOneTensor, "1234"));
  fs::resize_file(folder / "a.safetensors", std::uintmax_t{1} << 42);
  expect_part(open_refusal(folder / "a.safetensors"),
              "wanted 4: the tensors do not cover the whole file");
}

TEST(FileSystem, RangesNearTheEndOfTheNumbersDoNotWrap) {
  const std::vector<std::byte> bytes(8);
  const io::ByteSource source = io::ByteSource::in_memory("m", bytes);
  std::vector<std::byte> out(4);
  expect_part(refusal([&] { source.read(UINT64_MAX - 1, out); }), "past the end of the file");
  expect_part(refusal([&] { source.read_text(4, UINT64_MAX - 2); }), "past the end of the file");
}

struct Disguise {
  std::string bytes;
  std::string meaning;
};

TEST(FileSystem, FilesOfOtherKindsAreNamedAsWhatTheyAre) {
  const std::vector<Disguise> disguises = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "a Git LFS pointer"},
      {"<!DOCTYPE html><html><body>Sign in</body></html>", "an HTML page"},
      {"\n <HTML><head></head></HTML>", "an HTML page"},
      {std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10), "a gzip archive"},
      {std::string("PK\x03\x04\x14\x00\x00\x00\x00\x00", 10), "a zip archive: scripts/dump_nf4.py"},
      {std::string("GGUF\x03\x00\x00\x00\x00\x00", 10), "a GGUF model"},
      {std::string("\x93NUMPY\x01\x00v\x00{'descr'", 18), "a NumPy .npy array"},
      {std::string("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}", 12),
       "a Python pickle, which is not read because that would run code: scripts/dump_nf4.py"},
      {R"({"weight_map":{}, "metadata":{}})", "a JSON text"},
  };
  const TemporaryFolder folder;
  for (const Disguise& disguise : disguises) {
    write_raw(folder / "x.safetensors", disguise.bytes);
    expect_part(open_refusal(folder / "x.safetensors"),
                "not a safetensors file; it looks like " + disguise.meaning);
  }
}

}  // namespace
}  // namespace nf4bench::testing
