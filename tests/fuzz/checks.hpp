#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

namespace nf4bench::fuzz {

using Bytes = std::span<const std::byte>;

// Holds any product of two sizes.
__extension__ typedef unsigned __int128 Wide;

// Ends the process, as a crash does, unless `holds`; says which claim failed.
void require(bool holds, std::string_view claim);

// Text that users see must be one line of printable UTF-8 of limited length.
void require_printable(std::string_view text);

// The same for text of many lines, each ended by a newline; colours are off.
void require_printable_lines(std::string_view text);

// Runs `read`. True when it returns, false when it refuses with an Error of bad input that is fit
// to print; any other exception ends the process.
bool accepts(const std::function<void()>& read);

// The bytes as text.
std::string_view text_of(Bytes bytes);

}  // namespace nf4bench::fuzz
