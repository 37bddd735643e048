// The KV cache: pages of 256 positions, found by a table per slot. Of a layer, keys and values stand as
// [pages][num_kv_heads][256][HEAD_DIM], as halfs or (INT8_KV) as bytes with one half scale per position and head,
// [pages][num_kv_heads][256].
#pragma once

#include "common.cuh"

constexpr int kPagePositions = 256;

struct KvCache {
    void* keys;
    void* values;
    half* key_scales;  // null without INT8_KV
    half* value_scales;
    const int* pages;  // [slots][max_pages]
    int max_pages, num_kv_heads;
};

// The row of a position: times HEAD_DIM for keys and values, as it stands for scales.
__device__ __forceinline__ size_t cache_row(const KvCache& cache, int slot, int head, int position) {
    const size_t page = cache.pages[slot * cache.max_pages + position / kPagePositions];
    return (page * cache.num_kv_heads + head) * kPagePositions + position % kPagePositions;
}

// The larger magnitude, as bits: they order as magnitudes do, and what is not a number is above all of them.
__device__ __forceinline__ u32 larger_magnitude(u32 greatest, float v) { return max(greatest, __float_as_uint(fabsf(v))); }

// What a warp's values are multiplied with to become codes, and what codes are multiplied with.
struct CodeScale {
    half scale;
    float inverse;

    // From the greatest magnitude of each lane; of values that are not finite neither is the scale.
    __device__ __forceinline__ explicit CodeScale(u32 greatest) {
#pragma unroll
        for (int distance = kWarp / 2; distance; distance /= 2) {
            greatest = max(greatest, __shfl_xor_sync(kAllLanes, greatest, distance));
        }
        scale = __float2half_rn(__uint_as_float(greatest) * (1.0f / 127.0f));
        inverse = __half2float(scale) > 0.0f ? __fdividef(1.0f, __half2float(scale)) : 0.0f;
    }

    __device__ __forceinline__ i8 code(float v) const {
        return static_cast<i8>(fminf(fmaxf(rintf(v * inverse), -127.0f), 127.0f));
    }
};
