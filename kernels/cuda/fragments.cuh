// From packed codes to the A fragments of mma.m16n8k16: halfs that hold code minus zero point, exactly. Layouts are
// those of kernels/cuda/pack.py. A code is put into the mantissa of 1024 (0x6400), where halfs are integers apart.
#pragma once

#include "common.cuh"

// 1024 + z of the two rows of a lane, g and g + 8, in both halves.
struct ZeroPoints {
    half2 low, high;
};

__device__ __forceinline__ half2 thousand_plus(u32 code) { return as_half2((0x6400u | code) * 0x00010001u); }

__device__ __forceinline__ ZeroPoints same_zero(u32 code) {
    const half2 both = thousand_plus(code);
    return {both, both};
}

// (1024 + 2^k q) / 2^k - (1024 / 2^k + z), from the masked word and 1024 + z; every step is exact.
template <int kShift>
__device__ __forceinline__ u32 scaled_code(u32 masked, half2 zero) {
    if constexpr (kShift == 0) return as_bits(__hsub2(as_half2(masked), zero));
    constexpr u32 kInverse = (15u - kShift) << 10;                     // 2^-k as half
    const half2 inverse = as_half2(kInverse * 0x00010001u);
    const half2 rest = __float2half2_rn(1024.0f - 1024.0f / (1 << kShift));  // 1024 + z -> 1024 / 2^k + z
    return as_bits(__hfma2(as_half2(masked), inverse, __hsub2(rest, zero)));
}

// One word: four registers of two 4-bit codes.
__device__ __forceinline__ void decode_nibbles(u32 word, const ZeroPoints& zero, u32 (&a)[4]) {
    const u32 upper = word >> 8;
    a[0] = scaled_code<0>(mask_or<0x000f000fu, 0x64006400u>(word), zero.low);
    a[1] = scaled_code<4>(mask_or<0x00f000f0u, 0x64006400u>(word), zero.high);
    a[2] = scaled_code<0>(mask_or<0x000f000fu, 0x64006400u>(upper), zero.low);
    a[3] = scaled_code<4>(mask_or<0x00f000f0u, 0x64006400u>(upper), zero.high);
}

// What `decode_scaled_nibbles` leaves to be multiplied with, in rows g and g + 8.
constexpr float kLowNibbleUnit = 0x1p24f, kHighNibbleUnit = 0x1p20f;

// The same times whole numbers of row g and g + 8, without zero points. Nothing is put into a mantissa: a masked code is a
// subnormal half already, q / 2^24 in the low nibbles, which are row g's, and q / 2^20 in the high ones, row g + 8's. The
// products are exact up to 2048 / 2^24, as of Q4_K (15 * 63); above they are rounded to 11 bits.
__device__ __forceinline__ void decode_scaled_nibbles(u32 word, half2 rows, u32 (&a)[4]) {
    const half2 low = __low2half2(rows), high = __high2half2(rows);
    const u32 upper = word >> 8;
    a[0] = as_bits(__hmul2(as_half2(word & 0x000f000fu), low));
    a[1] = as_bits(__hmul2(as_half2(word & 0x00f000f0u), high));
    a[2] = as_bits(__hmul2(as_half2(upper & 0x000f000fu), low));
    a[3] = as_bits(__hmul2(as_half2(upper & 0x00f000f0u), high));
}

// Two words: eight bytes.
__device__ __forceinline__ void decode_bytes(u32 first, u32 second, const ZeroPoints& zero, u32 (&a)[4]) {
    constexpr u32 kExponent = 0x64646464u, kLowBytes = 0x4140u, kHighBytes = 0x4342u;
    a[0] = scaled_code<0>(__byte_perm(first, kExponent, kLowBytes), zero.low);
    a[1] = scaled_code<0>(__byte_perm(first, kExponent, kHighBytes), zero.high);
    a[2] = scaled_code<0>(__byte_perm(second, kExponent, kLowBytes), zero.low);
    a[3] = scaled_code<0>(__byte_perm(second, kExponent, kHighBytes), zero.high);
}

template <int kShift, int kPair>
__device__ __forceinline__ u32 three_bit_pair(u32 word, const ZeroPoints& zero) {
    constexpr u32 kMask = 7u << kShift | 7u << (16 + kShift);
    return scaled_code<kShift>(mask_or<kMask, 0x64006400u>(word), kPair % 2 ? zero.high : zero.low);
}

// Five pairs of a word; the second and the fourth by their place, to save shifts.
template <int kFirst>
__device__ __forceinline__ u32 decode_five_pairs(u32 word, const ZeroPoints& zero, u32 (&pairs)[16]) {
    pairs[kFirst] = three_bit_pair<0, kFirst>(word, zero);
    pairs[kFirst + 1] = three_bit_pair<3, kFirst + 1>(word, zero);
    word >>= 6;
    pairs[kFirst + 2] = three_bit_pair<0, kFirst + 2>(word, zero);
    pairs[kFirst + 3] = three_bit_pair<3, kFirst + 3>(word, zero);
    pairs[kFirst + 4] = three_bit_pair<6, kFirst + 4>(word, zero);
    return word;
}

// Three words: the sixteen registers of a step of 3-bit codes.
__device__ __forceinline__ void decode_three_bits(const u32* words, const ZeroPoints& zero, u32 (&pairs)[16]) {
    const u32 first = decode_five_pairs<0>(words[0], zero, pairs);
    const u32 second = decode_five_pairs<5>(words[1], zero, pairs);
    const u32 third = decode_five_pairs<10>(words[2], zero, pairs);
    const u32 last =
        (first >> 9 & 0x00010001u) | (second >> 8 & 0x00020002u) | (third >> 7 & 0x00040004u);
    pairs[15] = scaled_code<0>(last | 0x64006400u, zero.high);
}
