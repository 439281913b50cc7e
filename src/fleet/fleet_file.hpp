#pragma once

#include "fleet/fleet.hpp"
#include "json/json_stream.hpp"

#include <string>
#include <string_view>

namespace nf4bench::fleet {

// Writes `fleet` as docs/fleet.schema.json describes, piece by piece.
void write_fleet(const Fleet& fleet, const json::TextSink& sink);

// Whether a file that begins so is a merged one, as this program lays it out.
bool begins_as_fleet(std::string_view beginning);

// Reads the regular file at `path`, which write_fleet() wrote (any minor version of the same
// major). Throws Error(kInput).
Fleet read_fleet(const std::string& path);

}  // namespace nf4bench::fleet
