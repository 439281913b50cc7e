#pragma once

#include "device/device.hpp"
#include "peer/shared_library.hpp"
#include "variant.hpp"

#include <deque>
#include <string>
#include <vector>

namespace nf4bench::peer {

// True when `library` exports what include/nf4bench_peer.h describes.
bool is_generic_peer(const SharedLibrary& library);

// The library's variants for devices of `kind`, called `name` or "`name`.VARIANT"; there may be
// none. Their strings are kept in `strings`. Throws Error(kInput) saying which entry of the
// library's table breaks which rule of the header.
std::vector<kernels::Variant> generic_variants(const SharedLibrary& library,
                                               const std::string& name, record::DeviceKind kind,
                                               std::deque<std::string>& strings);

}  // namespace nf4bench::peer
