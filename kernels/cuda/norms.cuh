// Norms over a row of floats, and the input of a product that may be one.
#pragma once

#include "gemv.cuh"

// A mean, 0 for an RMSNorm, and 1 / the deviation from it.
struct Deviation {
    float mean, inverse;
};

// In every thread of the block; `scratch` holds a float a warp and may be used again after the next barrier.
template <int kNumThreads>
__device__ Deviation measure(const float* x, int size, bool is_layer_norm, float eps, float* scratch) {
    float mean = 0.0f, square = 0.0f;
    if (is_layer_norm) {
        for (int i = threadIdx.x; i < size; i += kNumThreads) mean += x[i];
        mean = __fdividef(block_sum(mean, scratch), size);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < size; i += kNumThreads) square += (x[i] - mean) * (x[i] - mean);
    return {mean, rsqrtf(__fdividef(block_sum(square, scratch), size) + eps)};
}

__device__ __forceinline__ float scaled(float x, Deviation deviation, float weight, const float* bias, int i) {
    return (x - deviation.mean) * deviation.inverse * weight + (bias ? bias[i] : 0.0f);
}

__device__ __forceinline__ float normed(float x, Deviation deviation, const float* weight, const float* bias, int i) {
    return scaled(x, deviation, weight[i], bias, i);
}

// Stored column `column` of row `row` of x, for matrix `matrix` of a stack.
__device__ __forceinline__ float load_input(const GemvArgs& args, int matrix, int row, int column, Deviation deviation) {
    const int source = args.perm ? args.perm[matrix * args.in_features + column] : column;
    const size_t at = static_cast<size_t>(row) * args.x_stride + source;
    if (args.input == kHalfs) return __half2float(static_cast<const half*>(args.x)[at]);
    const float raw = static_cast<const float*>(args.x)[at];
    return args.input == kFloats ? raw : normed(raw, deviation, args.norm_weight, args.norm_bias, source);
}
