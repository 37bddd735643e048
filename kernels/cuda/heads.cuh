// From a row of the q, k and v projections to heads: normed, with their rotary embedding; keys and values into the
// cache. Each head by one warp. Macros: HEAD_DIM, INT8_KV 0 or 1.
#pragma once

#include "cache.cuh"
#include "rotation.cuh"

constexpr int kMaxPerLane = (HEAD_DIM + kWarp - 1) / kWarp;

struct HeadArgs {
    const half* qkv;      // [rows][(num_heads + 2 * num_kv_heads) * HEAD_DIM]
    const float* q_norm;  // [HEAD_DIM], or [num_heads * HEAD_DIM] where is_projection_norm; or null
    const float* k_norm;
    const float* inv_freq;  // [rotary_dim / 2]
    int num_heads, num_kv_heads, rotary_dim, is_projection_norm;
    float eps, cos_sin_factor, query_scaling_beta, query_scaling_length;  // beta 0: queries are not scaled
};

// One head of a row's q, k or v: which, and what is done to it.
struct Head {
    const half* projection;  // all heads of its kind
    const float* norm;       // null for none
    int index, heads, rotary_dim;
};

__device__ __forceinline__ const half* projections_of(const HeadArgs& args, int row) {
    return args.qkv + static_cast<size_t>(row) * (args.num_heads + 2 * args.num_kv_heads) * HEAD_DIM;
}

__device__ __forceinline__ Head query_head(const HeadArgs& args, int row, int index) {
    return {projections_of(args, row), args.q_norm, index, args.num_heads, args.rotary_dim};
}

__device__ __forceinline__ Head key_head(const HeadArgs& args, int row, int index) {
    return {projections_of(args, row) + args.num_heads * HEAD_DIM, args.k_norm, index, args.num_kv_heads,
            args.rotary_dim};
}

__device__ __forceinline__ Head value_head(const HeadArgs& args, int row, int index) {
    return {projections_of(args, row) + (args.num_heads + args.num_kv_heads) * HEAD_DIM, nullptr, index,
            args.num_kv_heads, 0};
}

// 1 / the root of the mean square that the head is divided by: over itself or over its whole projection.
__device__ __forceinline__ float inverse_norm(const HeadArgs& args, const Head& head) {
    const half* values = args.is_projection_norm ? head.projection : head.projection + head.index * HEAD_DIM;
    const int count = args.is_projection_norm ? head.heads * HEAD_DIM : HEAD_DIM;
    float sum = 0.0f;
    for (int i = threadIdx.x % kWarp; i < count; i += kWarp) {
        const float v = __half2float(values[i]);
        sum = fmaf(v, v, sum);
    }
    return rsqrtf(__fdividef(warp_sum(sum), count) + args.eps);
}

// This lane's columns of the head: column i turned with i + rotary_dim / 2.
__device__ __forceinline__ void read_head(const HeadArgs& args, const Head& head, int position,
                                          float (&out)[kMaxPerLane]) {
    const half* values = head.projection + head.index * HEAD_DIM;
    const float* weight = head.norm && args.is_projection_norm ? head.norm + head.index * HEAD_DIM : head.norm;
    // Without norms of heads at all nothing is summed; a value beside a key that has one is, for nothing.
    const float inverse = args.k_norm ? inverse_norm(args, head) : 1.0f;
    const auto read = [&](int i) {
        const float v = __half2float(values[i]);
        return weight ? v * inverse * weight[i] : v;
    };
    const int half_dim = head.rotary_dim / 2;
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x % kWarp + j * kWarp;
        if (i >= HEAD_DIM) break;
        out[j] = read(i);
        if (i >= head.rotary_dim) continue;
        const int pair = i < half_dim ? i : i - half_dim;
        float cosine, sine;
        rotation(position * args.inv_freq[pair], cosine, sine);
        const float other = read(i < half_dim ? i + half_dim : pair);
        const float sign = i < half_dim ? -1.0f : 1.0f;
        out[j] = (out[j] * cosine + sign * other * sine) * args.cos_sin_factor;
    }
}

__device__ __forceinline__ float query_scale(const HeadArgs& args, int position) {
    if (args.query_scaling_beta == 0.0f) return 1.0f;
    return 1.0f + args.query_scaling_beta * log1pf(floorf(__fdividef(position, args.query_scaling_length)));
}

// A query as attention reads it, to HEAD_DIM halfs.
__device__ __forceinline__ void store_query(const HeadArgs& args, const Head& head, int position, half* to,
                                            bool is_stored = true) {
    float out[kMaxPerLane] = {};
    read_head(args, head, position, out);
    const float scale = query_scale(args, position);
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x % kWarp + j * kWarp;
        if (i < HEAD_DIM && is_stored) to[i] = __float2half_rn(out[j] * scale);
    }
}

// A key or a value, to a row of the cache.
__device__ __forceinline__ void store_cached(const HeadArgs& args, const Head& head, int position, void* rows,
                                             half* scales, size_t row, bool is_stored) {
    const int lane = threadIdx.x % kWarp;
    float v[kMaxPerLane] = {};
    read_head(args, head, position, v);
#if INT8_KV
    u32 greatest = 0;
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        if (lane + j * kWarp < HEAD_DIM) greatest = larger_magnitude(greatest, v[j]);
    }
    const CodeScale scale(greatest);
    if (lane == 0 && is_stored) scales[row] = scale.scale;
#endif
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = lane + j * kWarp;
        if (i >= HEAD_DIM || !is_stored) continue;
#if INT8_KV
        static_cast<i8*>(rows)[row * HEAD_DIM + i] = scale.code(v[j]);
#else
        static_cast<half*>(rows)[row * HEAD_DIM + i] = __float2half_rn(v[j]);
#endif
    }
}
