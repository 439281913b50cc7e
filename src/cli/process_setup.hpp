#pragma once

namespace nf4bench::cli {

// What every command relies on, whatever the parent process left behind: a full disk or a limit on
// file sizes is an error and no signal, and nothing that is opened later passes for stdout or
// stderr. A standard stream that was closed can then neither be read nor written.
void set_up_process();

}  // namespace nf4bench::cli
