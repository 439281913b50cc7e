#pragma once

#include "fuzz/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nf4bench::fuzz {

// Each target takes any bytes, returns, and ends the process when one of its claims fails.

// A .safetensors file: the header against the second reader, then all that opening it reads.
void fuzz_safetensors(Bytes input);

// The header of a .npy file.
void fuzz_npy(Bytes input);

// A model.safetensors.index.json, against the second reader.
void fuzz_shard_index(Bytes input);

// The JSON text of a quant state, against the second reader.
void fuzz_quant_state(Bytes input);

// A .npz archive: every member is read as declared or refused, then all tensors are loaded.
void fuzz_npz(Bytes input);

// A report: read, written, compared with itself, shown in all forms.
void fuzz_report(Bytes input);

// A .safetensors file: its tensors are loaded and decoded by the reference and by every CPU
// variant, which must agree in every bit.
void fuzz_end_to_end(Bytes input);

// Changes bytes at random within `max_size` and returns the new size: LLVMFuzzerMutate.
using MutateBytes = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t max_size);

// Mutators that know the structure of what they change; as LLVMFuzzerCustomMutator.
std::size_t mutate_bytes(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                         MutateBytes anyhow);
std::size_t mutate_json(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                        MutateBytes anyhow);
std::size_t mutate_safetensors(std::uint8_t* data, std::size_t size, std::size_t max_size,
                               unsigned seed, MutateBytes anyhow);
std::size_t mutate_npz(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed,
                       MutateBytes anyhow);

struct Target {
  std::string_view name;  // of its program, its corpus and its dictionary
  void (*run)(Bytes input);
  decltype(&mutate_bytes) mutate;
};

inline constexpr Target kTargets[] = {
    {"safetensors", fuzz_safetensors, mutate_safetensors},
    {"npy", fuzz_npy, mutate_bytes},
    {"shard_index", fuzz_shard_index, mutate_json},
    {"quant_state", fuzz_quant_state, mutate_json},
    {"report", fuzz_report, mutate_json},
    {"end_to_end", fuzz_end_to_end, mutate_safetensors},
    {"npz", fuzz_npz, mutate_npz},
};

}  // namespace nf4bench::fuzz
