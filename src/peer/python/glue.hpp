#pragma once

namespace nf4bench::peer {

// The text of glue.py.
extern const char* const kPythonGlue;

}  // namespace nf4bench::peer
