#pragma once

#include "device/device.hpp"
#include "io/checkpoint/checkpoint.hpp"
#include "io/writers/decoded_model.hpp"
#include "io/writers/writers.hpp"
#include "peer/peers.hpp"

#include <functional>
#include <string>
#include <vector>

namespace nf4bench::bench {

// The entries of `checkpoint` that --tensor selects, all of them decodable. Throws Error(kInput).
std::vector<io::TensorEntry> select_entries(const io::Checkpoint& checkpoint,
                                            const std::string& regex);

// The variant of this name; of the empty one the device's flagship, or its first variant. Throws
// Error(kUsage) when there is not just one.
kernels::Variant choose_decoder(const std::string& word, const device::Device& device,
                                const peer::Peers& peers);

// What decodes the tensors of a checkpoint. Borrowed.
struct Decoding {
  const io::Checkpoint& checkpoint;
  device::Device& device;
  const kernels::Variant& variant;
  std::function<void(const std::string& warning)> warn;
};

// `entry` as a tensor of an output file, decoded when it is written. That throws
// Error(kVerification) where a bit differs from the reference, and Error(kUsage) where the variant
// cannot decode it.
io::OutputTensor decoded_tensor(const Decoding& decoding, const io::TensorEntry& entry,
                                nf4::OutputType type);

// What became of all that is not NF4: "; left out 12 other tensors"; empty when there is none.
std::string rest_text(const io::DecodedModel& output, const io::Checkpoint& checkpoint);

}  // namespace nf4bench::bench
