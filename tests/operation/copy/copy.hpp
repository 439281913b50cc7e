#pragma once

#include "operation/operation.hpp"

namespace nf4bench::test {

// An operation that this program does not have: its output is the packed weight, byte for byte. One
// variant does that, another leaves out the last byte.
const operation::Operation& copy();

}  // namespace nf4bench::test
