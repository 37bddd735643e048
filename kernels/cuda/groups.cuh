// What belongs to groups of columns - scales, biases, zero points - for the two rows of a lane. Up to 64 columns a group,
// the values of a unit stand together, [tiles][units][8][groups of a unit][2], so that a lane loads them at once; wider
// ones stand as [tiles][groups][8][2] (kernels/cuda/pack.py).
#pragma once

#include "tiles.cuh"

template <int kType>
class GroupValues {
    static constexpr int kElementBytes = kType == kF16 ? 2 : kType == kF32 ? 4 : 1;
    static constexpr bool kIsWide = kGroupColumns >= 128;
    static constexpr int kLaneBytes = 2 * kElementBytes * (kIsWide ? 1 : kGroups);
    static constexpr int kWords = (kLaneBytes + 3) / 4;
    static constexpr u32 kSigns = kType == kI8 ? 0x80808080u : 0;

public:
    static constexpr bool kHasSupers = kType == kU8 || kType == kI8;

    // The values of a unit's groups.
    class Unit {
    public:
        // The codes of two rows, in units of `super`, exactly; in `words`, signed ones are 128 more.
        __device__ __forceinline__ half2 codes(int part) const {
            // 1024 + code as halfs, and back: conversions from integers are slow.
            const u32 word = kIsWide ? words[part][0] : words[0][part / 2];
            const half2 shifted = as_half2(__byte_perm(word, 0x64646464u, !kIsWide && part % 2 ? 0x4342u : 0x4140u));
            return __hsub2(shifted, __float2half2_rn(kType == kI8 ? 1152.0f : 1024.0f));
        }

        // What a group's sum is multiplied with before `supers`: values, or whole numbers where there are two levels.
        __device__ __forceinline__ float2 factors(int part) const {
            if constexpr (kType == kF16) return __half22float2(as_half2(kIsWide ? words[part][0] : words[0][part]));
            if constexpr (kType == kF32) {
                const u32* both = kIsWide ? words[part] : words[0] + 2 * part;
                return make_float2(__uint_as_float(both[0]), __uint_as_float(both[1]));
            }
            return __half22float2(codes(part));
        }

        __device__ __forceinline__ float2 supers() const { return __half22float2(super); }

        __device__ __forceinline__ float2 pair(int part) const {
            const float2 each = factors(part);
            if constexpr (!kHasSupers) return each;
            return make_float2(each.x * supers().x, each.y * supers().y);
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

    // Of the rows of this lane; `first_group` of a unit's groups that stand together.
    __device__ __forceinline__ GroupValues(const GemvArgs& args, const void* values, const half2* supers, int tile,
                                           int first_group = 0) {
        const int g = threadIdx.x % kWarp / 4;
        const size_t blocks = kIsWide ? args.num_groups : args.num_steps / kUnitSteps;
        const size_t skipped = (tile * blocks * 8 + g) * kLaneBytes + first_group * 2 * kElementBytes;
        if constexpr (kType != kAbsent) values_ = static_cast<const u8*>(values) + skipped;
        if constexpr (kHasSupers) supers_ = supers + static_cast<size_t>(tile) * args.num_supers * 8 + g;
        shift_ = args.group_shift;
    }

    // On to the unit that is `units` further.
    __device__ __forceinline__ void skip(int units) {
        if constexpr (kIsWide) unit_ += units;
        if constexpr (kType != kAbsent && !kIsWide) values_ += units * 8 * kLaneBytes;
        if constexpr (kHasSupers) supers_ += units / kSharingUnits * 8;
    }

    // Of the unit that is `later` from here.
    __device__ __forceinline__ Unit load(int later) const {
        Unit result = {};
        if constexpr (kType == kAbsent) return result;
#pragma unroll
        for (int i = 0; i < (kIsWide ? kGroups : 1); ++i) {
            // An offset of 32 bits, into which the compiler cannot draw the tile's address: fewer instructions.
            const u32 block = kIsWide ? static_cast<u32>((unit_ + later) * kGroups + i) >> shift_ : later;
            load_words(values_ + block * (8 * kLaneBytes), result.words[i]);
#pragma unroll
            for (u32& word : result.words[i]) word ^= kSigns;
        }
        if constexpr (kHasSupers) result.super = *super_at(later);
        return result;
    }

    // The bits of one group's values for both rows, of groups that stand together; signed codes get 128 more.
    __device__ __forceinline__ u32 load_rows(int later, int group) const {
        const u8* from = values_ + (later * 8 * kLaneBytes + group * 2 * kElementBytes);
        if constexpr (kElementBytes == 2) return *reinterpret_cast<const u32*>(from);
        return *reinterpret_cast<const unsigned short*>(from) ^ (kSigns & 0xffffu);
    }

    __device__ __forceinline__ float2 load_supers(int later) const {
        if constexpr (!kHasSupers) return make_float2(1.0f, 1.0f);
        return __half22float2(*super_at(later));
    }

private:
    __device__ __forceinline__ const half2* super_at(int later) const {
        return supers_ + static_cast<u32>(later) / kSharingUnits * 8;
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
    int unit_ = 0, shift_ = 0;
};
