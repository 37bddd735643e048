// What every kernel uses: short names for bits, sums over a warp and a block.
#pragma once

#include "ptx.cuh"

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned long long u64;

constexpr int kWarp = 32;
constexpr u32 kAllLanes = 0xffffffffu;

__device__ __forceinline__ half2 as_half2(u32 bits) { return *reinterpret_cast<const half2*>(&bits); }
__device__ __forceinline__ u32 as_bits(half2 pair) { return *reinterpret_cast<const u32*>(&pair); }

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int distance = kWarp / 2; distance; distance /= 2) v += __shfl_xor_sync(kAllLanes, v, distance);
    return v;
}

__device__ __forceinline__ float warp_max(float v) {
#pragma unroll
    for (int distance = kWarp / 2; distance; distance /= 2) v = fmaxf(v, __shfl_xor_sync(kAllLanes, v, distance));
    return v;
}

// The sum over all threads of the block, in every thread; `scratch` holds one float a warp and may be used again after
// the next barrier.
__device__ __forceinline__ float block_sum(float v, float* scratch) {
    v = warp_sum(v);
    const int warp = threadIdx.x / kWarp, num_warps = (blockDim.x + kWarp - 1) / kWarp;
    if (threadIdx.x % kWarp == 0) scratch[warp] = v;
    __syncthreads();
    float total = 0.0f;
    for (int i = 0; i < num_warps; ++i) total += scratch[i];
    return total;
}
