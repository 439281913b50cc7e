#pragma once

// Where the sums of the warpgroup kernel go: to the output, or to the workspace where several
// blocks share a tile.

#include "cuda/arithmetic.cuh"
#include "cuda/matmul/claimed_counter.cuh"
#include "cuda/matmul/stage_walk.cuh"
#include "cuda/matmul/wgmma/named_barriers.cuh"
#include "cuda/matmul/wgmma/wgmma_rings.cuh"
#include "variant.hpp"

namespace nf4bench::kernels::cuda {

// Sums of split tiles, in the workspace. A block has at most two split tiles, and each of its
// warpgroups a place for each of them; a tile has a counter a warpgroup.
struct SplitSums {
  float* sums;
  unsigned long long* counters;
};

// Which of a warp's 16 rows the tensor cores' row lane / 4 is, and with `second` the one eight
// further: neighbours, so that their outputs are. In the upper half of a warp they change places,
// so that the rows that a warp reads from shared memory together lie in different banks.
__host__ __device__ constexpr int lane_row(int lane, int second) {
  return lane / 4 * 2 + (lane / 16 ^ second);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Until all threads of this warpgroup are here.
__device__ __forceinline__ void meet_warpgroup() {
  sync_at<128>(kWarpgroupBarrier + static_cast<int>(threadIdx.x / 128));
}

// The two neighbouring rows of a lane in its warpgroup's 64.
struct LaneRows {
  int pair;     // the first row of the two
  int swapped;  // 1: the second row comes first, as lane_row() says

  __device__ __forceinline__ LaneRows()
      : pair(static_cast<int>(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 * 2)),
        swapped(static_cast<int>(threadIdx.x / 16 % 2)) {}
  __device__ __forceinline__ int first() const { return pair + swapped; }
  __device__ __forceinline__ int second() const { return pair + (swapped ^ 1); }
};

// Values of a lane's two rows.
struct RowValues {
  float first;
  float second;
};

// Where a lane's sums go: its rows of a tile. kPairs: both rows of a token are stored together, for
// which their number has to be even.
template <OutputType kType, bool kPairs>
class LaneOutputs {
 public:
  __device__ __forceinline__ LaneOutputs(const Job& job, RowValues factors, int row, int token)
      : factors_(factors), token_bytes_(static_cast<unsigned>(job.outputs) * 2) {
    const LaneRows rows;
    const auto outputs = static_cast<int>(job.outputs);
    row += rows.pair;
    token += static_cast<int>(threadIdx.x % 4 * 2);
    if (row >= outputs) return;
    tokens_ = static_cast<int>(job.tokens) - token;
    at_ = static_cast<std::uint8_t*>(job.output) + (std::int64_t{token} * outputs + row) * 2;
    has_second_ = row + 1 < outputs;
    const float upper = bias_of<kType>(job, row);
    const float lower = has_second_ ? bias_of<kType>(job, row + 1) : 0.0f;
    const bool swapped = rows.swapped != 0;
    order_ = swapped ? 0x1032 : 0x3210;
    bias_ = {swapped ? lower : upper, swapped ? upper : lower};
  }

  // The sums of two tokens of each eight; `eight` counts these.
  __device__ __forceinline__ void store(int eight, float4 sums) const {
    store_token(eight * 8, sums.x, sums.z);
    store_token(eight * 8 + 1, sums.y, sums.w);
  }

 private:
  __device__ __forceinline__ void store_token(int token, float first, float second) const {
    first = __fadd_rn(first * factors_.first, bias_.first);
    second = __fadd_rn(second * factors_.second, bias_.second);
    const std::uint32_t pair = __byte_perm(
        kType == OutputType::kFloat16 ? pack_float16(first, second) : pack_bfloat16(first, second),
        0, order_);
    std::uint8_t* at = at_ + std::uint64_t{static_cast<unsigned>(token)} * token_bytes_;
    if constexpr (kPairs) {
      if (token < tokens_) *reinterpret_cast<std::uint32_t*>(at) = pair;
    } else {
      auto* values = reinterpret_cast<std::uint16_t*>(at);
      if (token < tokens_) values[0] = static_cast<std::uint16_t>(pair);
      if (token < tokens_ && has_second_) values[1] = static_cast<std::uint16_t>(pair >> 16);
    }
  }

  RowValues factors_;  // of the sums
  RowValues bias_ = {};
  unsigned token_bytes_;        // from a token to the next
  int tokens_ = 0;              // from this lane's first on
  std::uint8_t* at_ = nullptr;  // the pair of rows of that token
  std::uint32_t order_ = 0;     // of a pair's bytes
  bool has_second_ = false;
};

// The i-th 16 bytes of a lane's sums.
template <int kCount>
__device__ __forceinline__ float4 piece_of(const float (&sums)[kCount], int i) {
  return make_float4(sums[4 * i], sums[4 * i + 1], sums[4 * i + 2], sums[4 * i + 3]);
}

__device__ __forceinline__ float4 load_shared_piece(std::uint32_t address) {
  const uint4 bits = load_shared_16(address);
  return make_float4(__uint_as_float(bits.x), __uint_as_float(bits.y), __uint_as_float(bits.z),
                     __uint_as_float(bits.w));
}

__device__ __forceinline__ float4 add(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Of a lane's sums, which are in pieces of 16 bytes, each of the parts that share a tile adds up
// some: load(part, piece) of all parts, in their order, so that the result is always the same.
template <int kPieces>
class PieceShare {
 public:
  __device__ __forceinline__ PieceShare(int parts, int begin, int end)
      : parts_(parts), begin_(begin), end_(end) {}

  __device__ __forceinline__ int count() const { return end_ - begin_; }

  template <class Outputs, class Load>
  __device__ __forceinline__ void add_up(const Outputs& outputs, const Load& load) const {
    int piece = begin_;
    if constexpr (kPieces >= 16) {
      while (parts_ == 2 && piece + 8 <= end_) piece = add_up_pieces<8>(outputs, piece, load);
    }
    if constexpr (kPieces >= 4) {
      while (piece + 4 <= end_) piece = add_up_pieces<4>(outputs, piece, load);
    }
    if constexpr (kPieces >= 4 && kPieces < 16) {
      if (piece + 2 <= end_) piece = add_up_pieces<2>(outputs, piece, load);
    }
    while (piece < end_) piece = add_up_pieces<1>(outputs, piece, load);
  }

 private:
  // kCount of them from `first` on, with 16 loads under way at once. Returns what comes next.
  template <int kCount, class Outputs, class Load>
  __device__ __forceinline__ int add_up_pieces(const Outputs& outputs, int first,
                                               const Load& load) const {
    constexpr int kParts = 16 / kCount;
    float4 sums[kCount] = {};
    for (int part = 0; part < parts_; part += kParts) {
      float4 loaded[kParts][kCount] = {};
#pragma unroll
      for (int k = 0; k < kParts; ++k) {
        if (part + k >= parts_) continue;
#pragma unroll
        for (int i = 0; i < kCount; ++i) loaded[k][i] = load(part + k, first + i);
      }
#pragma unroll
      for (int k = 0; k < kParts; ++k) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) sums[i] = add(sums[i], loaded[k][i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) outputs.store(first + i, sums[i]);
    return first + kCount;
  }

  int parts_;
  int begin_;
  int end_;
};

// A tile that the blocks of a cluster, two, four or eight, share. Each sends its sums to those that
// add them up.
template <class Shape>
class ClusterTile {
 public:
  __device__ __forceinline__ ClusterTile(const StagePlan& plan, const ClusterSums& sums,
                                         std::uint32_t shared)
      : parts_(plan.team),
        place_(TeamMember(plan, static_cast<int>(blockIdx.x)).place),
        shift_(__ffs(parts_) - 1),
        share_((kPieces + parts_ - 1) >> shift_),
        is_early_(Shape::kArrivesEarly && sums.is_early),
        barrier_(shared + Shape::kJoin),
        sums_(shared + (Shape::kArrivesEarly ? sums.at : Shape::kWeights) +
              threadIdx.x / 128 * 2048 + threadIdx.x % 128 * 16) {}

  __device__ __forceinline__ void send(const float (&sums)[Shape::kSums]) const {
    if (is_pair()) return place_ == 0 ? send_half<1>(sums) : send_half<0>(sums);
    meet((parts_ - 1) * own_count());
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const float4 piece = piece_of(sums, i);
      const auto parts = static_cast<unsigned>(((i + 1) << shift_) + kPieces - 1);
      const int block = static_cast<int>(parts / kPieces) - 1;  // who adds it up
      const std::uint32_t target = place(place_, block, i);
      if (block == place_) {
        store_shared_16(target, piece);  // for this thread itself
      } else {
        send_16(address_in_block(block, target), piece, address_in_block(block, barrier_));
      }
    }
  }

  template <class Outputs>
  __device__ __forceinline__ void add_up(const float (&sums)[Shape::kSums],
                                         const Outputs& outputs) const {
    wait_for_cluster_bytes(barrier_);
    if (is_pair()) {
      return place_ == 0 ? add_half<0>(sums, outputs) : add_half<1>(sums, outputs);
    }
    // In the order of the blocks, so that the result is always the same.
    constexpr int kLoads = kPieces > 1 ? 4 : 2;  // at once; two blocks may share a single piece
    const int count = own_count();
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      float4 total = {};
#pragma unroll 1
      for (int block = 0; block < parts_; block += kLoads) {
        float4 loaded[kLoads];
#pragma unroll
        for (int k = 0; k < kLoads; ++k) {
          loaded[k] = load_shared_piece(sums_ + ((block + k) * share_ + i) * kPieceBytes);
        }
#pragma unroll
        for (int k = 0; k < kLoads; ++k) total = add(total, loaded[k]);
      }
      outputs.store(first_piece(place_) + i, total);
    }
  }

 private:
  static constexpr int kPieces = Shape::kPieces;
  static constexpr int kHalf = kPieces / 2;
  static constexpr int kPieceBytes = Shape::kPieceBytes;

  // Of two blocks the first adds up the first half, and each has its own sums in registers.
  __device__ __forceinline__ bool is_pair() const {
    return Shape::is_pair(parts_);
  }

  template <int kWhich>
  __device__ __forceinline__ void send_half(const float (&sums)[Shape::kSums]) const {
    const std::uint32_t target = address_in_block(kWhich, sums_);
    const std::uint32_t barrier = address_in_block(kWhich, barrier_);
    meet(kHalf);
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      send_16(target + i * kPieceBytes, piece_of(sums, kWhich * kHalf + i), barrier);
    }
  }

  template <int kWhich, class Outputs>
  __device__ __forceinline__ void add_half(const float (&sums)[Shape::kSums],
                                           const Outputs& outputs) const {
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const int piece = kWhich * kHalf + i;
      outputs.store(piece, add(piece_of(sums, piece), load_shared_piece(sums_ + i * kPieceBytes)));
    }
  }

  // Until all are ready. This block waits for `pieces` from now on.
  __device__ __forceinline__ void meet(int pieces) const {
    if (threadIdx.x == 0) arrive_expecting(barrier_, pieces * kPieceBytes);
    if (!is_early_) arrive_at_cluster();
    wait_for_cluster();
  }

  // Of the pieces that a block adds up.
  __device__ __forceinline__ int first_piece(int block) const {
    return block * kPieces >> shift_;
  }

  __device__ __forceinline__ int own_count() const {
    return first_piece(place_ + 1) - first_piece(place_);
  }

  // Where `to`, which adds up a piece, has it `from` a block.
  __device__ __forceinline__ std::uint32_t place(int from, int to, int piece) const {
    return sums_ + (from * share_ + piece - first_piece(to)) * kPieceBytes;
  }

  int parts_;
  int place_;
  int shift_;  // 2^shift_ parts
  int share_;  // pieces that a block adds up at most
  bool is_early_;
  std::uint32_t barrier_;
  std::uint32_t sums_;
};

// The blocks that share a split tile. Each of their warpgroups leaves its sums in the workspace and
// goes on. When it has nothing else to do it waits for the others, and adds up its share of what
// all of them have left. All blocks of the grid run at once, so the wait ends.
template <class Shape>
class SharedTile {
 public:
  __device__ __forceinline__ SharedTile(const StagePlan& plan, const SplitSums& split, int tile)
      : split_(split),
        counter_(split.counters + (tile - plan.whole) * Shape::kGroups + group()),
        blocks_(plan, tile - plan.whole) {}

  // ClaimedCounter's, for leave().
  __device__ __forceinline__ unsigned long long look() const {
    return threadIdx.x % 128 == 0 ? counter_.look() : 0;
  }

  __device__ __forceinline__ void leave(const float (&sums)[Shape::kSums],
                                        unsigned long long seen) const {
    if (threadIdx.x % 128 == 0) counter_.claim(seen);
    float4* own = place(static_cast<int>(blockIdx.x) - blocks_.first);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      __stcg(own + i * 128, piece_of(sums, i));
    }
    meet_warpgroup();
    if (threadIdx.x % 128 == 0) counter_.leave();
  }

  template <class Outputs>
  __device__ __forceinline__ void add_up(const Outputs& outputs) const {
    const int index = static_cast<int>(blockIdx.x) - blocks_.first;
    const PieceShare<kPieces> share(blocks_.count, index * kPieces / blocks_.count,
                                    (index + 1) * kPieces / blocks_.count);
    if (share.count() == 0) return;
    if (threadIdx.x % 128 == 0) counter_.wait(blocks_.count);
    meet_warpgroup();
    share.add_up(outputs, [&](int block, int piece) { return __ldcg(place(block) + piece * 128); });
    // Not before the sums have been asked for.
    if (threadIdx.x % 128 == 0) counter_.tell_seen(min(blocks_.count, kPieces));
  }

 private:
  static constexpr int kPieces = Shape::kPieces;

  __device__ __forceinline__ static int group() {
    return static_cast<int>(threadIdx.x / 128);
  }

  // The sums that the block-th of the tile's blocks has left, a lane's in steps of 128 pieces.
  __device__ __forceinline__ float4* place(int block) const {
    const int index =
        (blocks_.first + block) * 2 + (block == 0 && blocks_.first_has_another ? 1 : 0);
    return reinterpret_cast<float4*>(
               split_.sums + (std::int64_t{index} * Shape::kGroups + group()) * Shape::kGroupSums) +
           threadIdx.x % 128;
  }

  const SplitSums& split_;
  ClaimedCounter counter_;
  TileBlocks blocks_;
};

#endif

}  // namespace nf4bench::kernels::cuda
