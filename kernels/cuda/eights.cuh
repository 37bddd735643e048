// What attention kernels read of the cache: eight values of a row at a time, as operands of tensor cores.
#pragma once

#include "cache.cuh"

// The score of a key that is not looked at, and a maximum over no key. Scores that are not numbers count.
constexpr float kNothing = -3.0e38f;

// What weighted values are divided by: a sink ([heads] or null) is one more key without a value.
__device__ __forceinline__ float divisor(const float* sinks, int head, float maximum, float weight) {
    return sinks ? weight + __expf(sinks[head] - maximum) : weight;
}

// The four words that hold a lane's eight values of one row.
struct Eight {
    u32 words[4];
};

// Of row `row` of kWidth halfs, or (INT8_KV) of codes as halfs; 0 beyond its end.
template <int kWidth>
__device__ __forceinline__ Eight load_eight(const void* rows, size_t row, int dimension) {
    Eight result = {};
    if (dimension >= kWidth) return result;
#if INT8_KV
    const uint2 codes = *reinterpret_cast<const uint2*>(static_cast<const i8*>(rows) + row * kWidth + dimension);
    const u32 both[2] = {codes.x ^ 0x80808080u, codes.y ^ 0x80808080u};
    const half2 zero = __float2half2_rn(1152.0f);  // 1024 + 128
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const u32 shifted = __byte_perm(both[i / 2], 0x64646464u, i % 2 ? 0x4342u : 0x4140u);
        result.words[i] = as_bits(__hsub2(as_half2(shifted), zero));
    }
#else
    const uint4 four = *reinterpret_cast<const uint4*>(static_cast<const half*>(rows) + row * kWidth + dimension);
    result.words[0] = four.x;
    result.words[1] = four.y;
    result.words[2] = four.z;
    result.words[3] = four.w;
#endif
    return result;
}
