// How a product of codes becomes one of weights: scales of groups, and biases times the sums of groups' activations.
// Macros as in gemv.cu.
#pragma once

#include "units.cuh"

// Whether codes times scales are halfs already, exactly: four bits and a whole number of Q4_K's.
constexpr bool kAreWeightsScaled = BITS == 4 && kIsAffine && SCALE_TYPE == kU8 && GROUP < 128;
// Several biases a unit are a matrix, 16 rows of biases by the sums of 8 tokens, which tensor cores multiply; not where
// halfs would round them.
constexpr bool kAreBiasesMatrix = kIsAffine && BIAS_TYPE != kF32 && GROUP < 128;

// acc += scale * c, for two rows and two tokens.
__device__ __forceinline__ void add_scaled(float2 scale, const float (&c)[4], float (&acc)[4]) {
    acc[0] = fmaf(scale.x, c[0], acc[0]);
    acc[2] = fmaf(scale.y, c[2], acc[2]);
    if constexpr (TOKENS > 1) {
        acc[1] = fmaf(scale.x, c[1], acc[1]);
        acc[3] = fmaf(scale.y, c[3], acc[3]);
    }
}

// The bits of a sum of a group's activations: a float, or for a matrix two halfs, the mean and what rounding left of it,
// so that none is too large.
__device__ __forceinline__ u32 sum_bits(float sum) {
    if constexpr (!kAreBiasesMatrix) return __float_as_uint(sum);
    const float mean = sum * (1.0f / kGroupColumns);
    const half high = __float2half_rn(mean);
    return as_bits(__halves2half2(high, __float2half_rn(mean - __half2float(high))));
}

// The bias of row g (or g + 8) for both halfs of a sum, from the bits of both rows; unsigned codes as subnormal halves.
__device__ __forceinline__ u32 bias_fragment(u32 rows, int upper) {
    if constexpr (BIAS_TYPE == kF16) return __byte_perm(rows, 0, upper ? 0x3232u : 0x1010u);
    if constexpr (BIAS_TYPE == kU8) return __byte_perm(rows, 0, upper ? 0x4141u : 0x4040u);
    const half2 shifted = as_half2(__byte_perm(rows, 0x64646464u, upper ? 0x4141u : 0x4040u));
    return as_bits(__hsub2(shifted, __float2half2_rn(1152.0f)));
}

// What units leave to be multiplied with the super values that they share.
struct SharedSums {
    float codes[4], biases[4];
};

// Rows g and g + 8 of an accumulator are in units of 1 / kRowScale.
constexpr float kRowScales[2] = {kAreWeightsScaled ? kLowNibbleUnit : 1.0f, kAreWeightsScaled ? kHighNibbleUnit : 1.0f};

__device__ __forceinline__ void scale_rows(float (&acc)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[i] *= kRowScales[i / 2];
}

// Columns 2t and 2t + 1 of a matrix of biases are group t's, once for each half of its sum.
constexpr int kMatrixGroups = kGroups < 4 ? kGroups : 4;

__device__ __forceinline__ int matrix_group() { return kAreBiasesMatrix ? threadIdx.x % 4 % kMatrixGroups : 0; }

// Of a group's sums, which one this lane needs first.
__device__ __forceinline__ int lane_sum() {
    const int lane = threadIdx.x % kWarp;
    if constexpr (kAreBiasesMatrix) return matrix_group() * TOKENS + (TOKENS == 1 ? 0 : lane / 4);
    return TOKENS == 1 ? 0 : 2 * (lane % 4);
}

// Biases of the unit that is `later` from `biases` times `sums` (`sum_bits`), this lane's of [groups of the unit][TOKENS].
__device__ __forceinline__ void add_biases(const BiasValues& biases, int later, const u32* sums, SharedSums& shared,
                                           float (&acc)[4]) {
    if constexpr (kAreBiasesMatrix) {
#pragma unroll
        for (int group = 0; group < kGroups; group += kMatrixGroups) {
            const u32 rows = biases.load_rows(later, group);
            const u32 a[2] = {bias_fragment(rows, 0), bias_fragment(rows, 1)};
            mma_m16n8k8(shared.biases, a, threadIdx.x % 4 < kMatrixGroups ? sums[group * TOKENS] : 0u);
        }
    } else {
        const auto values = biases.load(later);
#pragma unroll
        for (int part = 0; part < kGroups; ++part) {
            const u32* two = sums + part * TOKENS;
            float c[4] = {__uint_as_float(two[0]), 0.0f, __uint_as_float(two[0]), 0.0f};
            if constexpr (TOKENS > 1) c[1] = c[3] = __uint_as_float(two[1]);
            add_scaled(values.pair(part), c, acc);
        }
    }
}

// acc += what units left, the last of them `later` from `at`.
__device__ __forceinline__ void add_shared(const LanePointers& at, int later, const SharedSums& shared, float (&acc)[4]) {
    if constexpr (ScaleValues::kHasSupers) add_scaled(at.scales.load_supers(later), shared.codes, acc);
    if constexpr (kAreBiasesMatrix) {
        constexpr float kUnit = kGroupColumns * (BIAS_TYPE == kU8 ? 0x1p24f : 1.0f);
        const float2 super = at.biases.load_supers(later);
        add_scaled(make_float2(kUnit / kRowScales[0] * super.x, kUnit / kRowScales[1] * super.y), shared.biases, acc);
    }
}
