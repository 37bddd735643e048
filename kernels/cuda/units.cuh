// How a warp walks along a tile of a packed matrix: what it loads at once, what belongs to its groups of columns, and the
// fragments that come of it. Macros: BITS, SCHEME, GROUP, SCALE_TYPE, BIAS_TYPE as in gemv.cu.
#pragma once

#include "fragments.cuh"
#include "gemv.cuh"
#include "tiles.cuh"

constexpr int kFragmentColumns = 16;
constexpr int kStepLoads = BITS == 3 ? 1 : BITS / 4, kUnitLoads = BITS == 3 ? 3 : kUnitSteps * kStepLoads;
constexpr int kGroupColumns = BITS == 16 ? kUnitColumns : GROUP;
constexpr int kGroups = kUnitColumns / kGroupColumns, kGroupFragments = kGroupColumns / kFragmentColumns;
constexpr bool kIsQuantized = BITS != 16, kIsAffine = kIsQuantized && SCHEME == 2;
constexpr u32 kSymmetricZero = 1u << (BITS - 1);

#include "groups.cuh"  // needs kGroups and kGroupColumns

using ScaleValues = GroupValues<kIsQuantized ? SCALE_TYPE : kAbsent>;
using BiasValues = GroupValues<kIsAffine ? BIAS_TYPE : kAbsent>;
using ZeroValues = GroupValues<kIsQuantized && SCHEME == 1 ? kZero : kAbsent>;

// Codes, scales and the like of the rows of this lane, from their tile on.
struct LanePointers {
    const uint4* codes;
    ScaleValues scales;
    BiasValues biases;
    ZeroValues zeros;

    // On to the unit that is `units` further.
    __device__ __forceinline__ void skip(int units) {
        codes += units * kUnitLoads * kWarp;
        scales.skip(units);
        biases.skip(units);
        zeros.skip(units);
    }
};

// `bias_group`: of a unit's groups, from which on biases are read.
__device__ __forceinline__ LanePointers point(const GemvArgs& args, int tile, int bias_group = 0) {
    const int lane = threadIdx.x % kWarp;
    const size_t units = static_cast<size_t>(tile) * (args.num_steps / kUnitSteps);
    return {args.codes + units * kUnitLoads * kWarp + lane, {args, args.scales, args.super_scales, tile},
            {args, args.biases, args.super_biases, tile, bias_group}, {args, args.zeros, nullptr, tile}};
}

__device__ __forceinline__ ZeroPoints zero_points(const ZeroValues::Unit& zeros, int part) {
    if constexpr (SCHEME == 0) return same_zero(kSymmetricZero);
    if constexpr (SCHEME == 2) return same_zero(0);
    return {zeros.thousand_plus(part, 0), zeros.thousand_plus(part, 1)};
}

// Fragments of a unit, one after the other; three-bit codes are decoded a step at a time.
struct Decoder {
    const u32* words;
    u32 pairs[16];

    __device__ __forceinline__ void decode(int fragment, const ZeroPoints& zero, u32 (&a)[4]) {
        if constexpr (BITS == 4) decode_nibbles(words[fragment], zero, a);
        if constexpr (BITS == 8) decode_bytes(words[2 * fragment], words[2 * fragment + 1], zero, a);
        if constexpr (BITS == 3) {
            const int first = 4 * (fragment % 4);
            // Every group has zero points of its own: what other groups' fragments would need is thrown away.
            if (first == 0 || kGroupColumns < kStepColumns) decode_three_bits(words + fragment / 4 * 3, zero, pairs);
#pragma unroll
            for (int r = 0; r < 4; ++r) a[r] = pairs[first + r];
        }
        if constexpr (BITS == 16) {
#pragma unroll
            for (int r = 0; r < 4; ++r) a[r] = words[4 * fragment + r];
        }
    }
};
