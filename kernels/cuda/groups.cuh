// What belongs to groups of columns - scales, biases, zero points - for the two rows of a lane. Up to 64 columns a group,
// the values of a unit stand together, [tiles][units][8][groups of a unit][2], so that a lane loads them at once; wider
// ones stand as [tiles][groups][8][2] (kernels/cuda/pack.py).
#pragma once

#include "tiles.cuh"

template <int kType>
class GroupValues {
    static constexpr bool kHasSupers = kType == kU8 || kType == kI8;
    static constexpr int kElementBytes = kType == kF16 ? 2 : kType == kF32 ? 4 : 1;
    static constexpr bool kIsWide = kGroupColumns >= 128;
    static constexpr int kLaneBytes = 2 * kElementBytes * (kIsWide ? 1 : kGroups);
    static constexpr int kWords = (kLaneBytes + 3) / 4;
    // A lane's place as an index of 32 bits, which scales and zero points share, instead of a pointer each: fewer
    // instructions with zero points, and no register too many of three bits in groups of 16 by eight tokens. By one
    // token pointers are better there: what is spilled is counted on all architectures.
    static constexpr bool kIsIndexed = SCHEME == 1 || (BITS == 3 && kType == kI8 && TOKENS == 8);

public:
    // The values of a unit's groups.
    class Unit {
    public:
        // The bits of two rows' values.
        __device__ __forceinline__ u32 raw(int part) const {
            if constexpr (kIsWide) return words[part][0];
            const u32 word = words[0][part * 2 * kElementBytes / 4];
            return kElementBytes == 1 ? word >> part % 2 * 16 & 0xffff : word;
        }

        __device__ __forceinline__ float2 pair(int part) const {
            if constexpr (kType == kF16) return __half22float2(as_half2(raw(part)));
            if constexpr (kType == kF32) {
                const u32* both = kIsWide ? words[part] : words[0] + 2 * part;
                return make_float2(__uint_as_float(both[0]), __uint_as_float(both[1]));
            }
            // 1024 + code as halfs, and back: conversions from integers are slow.
            const u32 codes = kType == kI8 ? raw(part) ^ 0x8080u : raw(part);
            const half2 shifted = as_half2(__byte_perm(codes, 0x64646464u, 0x4140u));
            const half2 zero = __float2half2_rn(kType == kI8 ? 1152.0f : 1024.0f);
            const float2 exact = __half22float2(__hsub2(shifted, zero)), unit = __half22float2(super);
            return make_float2(exact.x * unit.x, exact.y * unit.y);
        }

        // 1024 + the byte of row g or g + 8, in both halves: a byte each from the values and from the exponent.
        __device__ __forceinline__ half2 thousand_plus(int part, int upper) const {
            const u32 word = kIsWide ? words[part][0] : words[0][part / 2];
            const u32 byte = (kIsWide ? 0 : part % 2 * 2) + upper;
            return as_half2(__byte_perm(word, 0x64646464u, 0x4040u + byte * 0x0101u));
        }

        u32 words[kIsWide ? kGroups : 1][kWords];
        half2 super;
    };

    __device__ __forceinline__ GroupValues(const GemvArgs& args, const void* values, const half2* supers, int tile) {
        const int g = threadIdx.x % kWarp / 4;
        const size_t blocks = kIsWide ? args.num_groups : args.num_steps / kUnitSteps, first = tile * blocks * 8 + g;
        if constexpr (kIsIndexed) first_ = static_cast<u32>(first);
        const size_t skipped = kIsIndexed ? 0 : first * kLaneBytes;
        if constexpr (kType != kAbsent) values_ = static_cast<const u8*>(values) + skipped;
        if constexpr (kHasSupers) supers_ = supers + static_cast<size_t>(tile) * args.num_supers * 8 + g;
        shift_ = args.group_shift;
    }

    __device__ __forceinline__ Unit load(int unit) const {
        Unit result = {};
        if constexpr (kType == kAbsent) return result;
#pragma unroll
        for (int i = 0; i < (kIsWide ? kGroups : 1); ++i) {
            const int block = kIsWide ? (unit * kGroups + i) >> shift_ : unit;
            load_words(values_ + place(block) * kLaneBytes, result.words[i]);
        }
        if constexpr (kHasSupers) result.super = supers_[unit * kUnitColumns / 256 * 8];
        return result;
    }

private:
    // In lanes' values from `values_` on.
    __device__ __forceinline__ size_t place(int block) const {
        if constexpr (kIsIndexed) return first_ + static_cast<u32>(block) * 8;
        return static_cast<size_t>(block) * 8;
    }

    static __device__ __forceinline__ void load_words(const u8* from, u32 (&words)[kWords]) {
        if constexpr (kLaneBytes == 2) words[0] = *reinterpret_cast<const unsigned short*>(from);
        if constexpr (kLaneBytes == 4) words[0] = *reinterpret_cast<const u32*>(from);
        if constexpr (kLaneBytes == 8) {
            const uint2 two = *reinterpret_cast<const uint2*>(from);
            words[0] = two.x;
            words[1] = two.y;
        }
        if constexpr (kLaneBytes >= 16) {
#pragma unroll
            for (int i = 0; i < kLaneBytes / 16; ++i) {
                const uint4 four = reinterpret_cast<const uint4*>(from)[i];
                words[4 * i] = four.x;
                words[4 * i + 1] = four.y;
                words[4 * i + 2] = four.z;
                words[4 * i + 3] = four.w;
            }
        }
    }

    const u8* values_ = nullptr;
    const half2* supers_ = nullptr;
    u32 first_ = 0;
    int shift_ = 0;
};
