#include "io/look_alike.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace nf4bench::io {
namespace {

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
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.starts_with("<!doctype html") || lower.starts_with("<html");
}

}  // namespace

std::string_view look_alike(std::string_view first_bytes) {
  if (is_html(first_bytes)) return "an HTML page, perhaps a login or error page";
  const auto found =
      std::find_if(kSignatures.begin(), kSignatures.end(),
                   [first_bytes](const Signature& s) { return first_bytes.starts_with(s.prefix); });
  return found == kSignatures.end() ? std::string_view() : found->meaning;
}

}  // namespace nf4bench::io
