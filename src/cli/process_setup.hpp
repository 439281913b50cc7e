#pragma once

namespace nf4bench::cli {

// Makes the process one that every command can rely on, however its parent started it. A limit on
// file sizes becomes an error instead of a signal. A standard stream that the parent closed is
// opened on /dev/null, or else the next file that is opened would get its number and take what is
// meant for stdout or stderr.
void set_up_process();

}  // namespace nf4bench::cli
