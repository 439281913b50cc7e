#pragma once

#include "report/report.hpp"

#include <optional>
#include <string>

namespace nf4bench::report {
// The machine this process runs on, from /etc/os-release, uname, /proc/cpuinfo and sysconf.
record::HostInfo host_info();

// What the file of a peer is at this moment.
record::PeerFile peer_file(const std::string& name, const std::string& file);

// Now, in UTC, as RFC 3339 writes it: "2025-01-31T12:00:00Z".
std::string utc_now();

// Of such a time, since 1970; none of what is no such time.
std::optional<double> seconds_of(const std::string& utc);

// How this binary was built.
record::ToolInfo tool_info();

// The answer to --version: version, commit, and which CUDA architectures are built in.
std::string version_text();

}  // namespace nf4bench::report
