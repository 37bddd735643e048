// Between the q, k and v projections and attention: norms of heads, rotary embedding, and keys and values into the
// cache. One warp a head; grid (rows, query heads + 2 * key/value heads). Macros: HEAD_DIM, INT8_KV 0 or 1.
#include "cache.cuh"
#include "rotation.cuh"

constexpr int kMaxPerLane = (HEAD_DIM + kWarp - 1) / kWarp;

struct RopeArgs {
    const half* qkv;      // [rows][(num_heads + 2 * num_kv_heads) * HEAD_DIM]
    half* queries;        // [rows][num_heads * HEAD_DIM], as attention reads them
    const float* q_norm;  // [HEAD_DIM], or [num_heads * HEAD_DIM] where is_projection_norm; or null
    const float* k_norm;
    const float* inv_freq;  // [rotary_dim / 2]
    const int* slots;       // [rows]
    const int* positions;   // [rows]
    KvCache cache;
    int num_heads, rotary_dim, is_projection_norm;
    float eps, cos_sin_factor, query_scaling_beta, query_scaling_length;  // beta 0: queries are not scaled
};

__device__ float sum_of_squares(const half* values, int count) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < count; i += kWarp) {
        const float v = __half2float(values[i]);
        sum = fmaf(v, v, sum);
    }
    return warp_sum(sum);
}

// Column i of a head, normed; the norm's statistics are over the head or over the whole projection.
struct HeadReader {
    const half* values;
    const float* weight;  // of this head; or null
    float inverse;

    __device__ __forceinline__ float operator()(int i) const {
        const float v = __half2float(values[i]);
        return weight ? v * inverse * weight[i] : v;
    }
};

__device__ HeadReader read_head(const RopeArgs& args, const half* projection, int head, int heads, const float* norm) {
    HeadReader reader = {projection + head * HEAD_DIM, nullptr, 1.0f};
    if (!norm) return reader;
    const bool is_whole = args.is_projection_norm;
    const int count = is_whole ? heads * HEAD_DIM : HEAD_DIM;
    const float square = __fdividef(sum_of_squares(is_whole ? projection : reader.values, count), count);
    reader.inverse = rsqrtf(square + args.eps);
    reader.weight = is_whole ? norm + head * HEAD_DIM : norm;
    return reader;
}

// This lane's columns of the head, rotated: column i with i + rotary_dim / 2.
__device__ void rotate(const RopeArgs& args, const HeadReader& read, int position, float (&out)[kMaxPerLane]) {
    const int half_dim = args.rotary_dim / 2;
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        if (i >= HEAD_DIM) break;
        out[j] = read(i);
        if (i >= args.rotary_dim) continue;
        const int pair = i < half_dim ? i : i - half_dim;
        float cosine, sine;
        rotation(position * args.inv_freq[pair], cosine, sine);
        const float other = read(i < half_dim ? i + half_dim : pair);
        const float sign = i < half_dim ? -1.0f : 1.0f;
        out[j] = (out[j] * cosine + sign * other * sine) * args.cos_sin_factor;
    }
}

__device__ void store_head(void* rows, half* scales, size_t row, const float (&v)[kMaxPerLane]) {
#if INT8_KV
    float greatest = 0.0f;
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        if (threadIdx.x + j * kWarp < HEAD_DIM) greatest = fmaxf(greatest, fabsf(v[j]));
    }
    const half scale = __float2half_rn(warp_max(greatest) * (1.0f / 127.0f));
    const float inverse = __half2float(scale) > 0.0f ? __fdividef(1.0f, __half2float(scale)) : 0.0f;
    if (threadIdx.x == 0) scales[row] = scale;
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        if (i < HEAD_DIM) {
            const float code = fminf(fmaxf(rintf(v[j] * inverse), -127.0f), 127.0f);
            static_cast<i8*>(rows)[row * HEAD_DIM + i] = static_cast<i8>(code);
        }
    }
#else
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        if (i < HEAD_DIM) static_cast<half*>(rows)[row * HEAD_DIM + i] = __float2half_rn(v[j]);
    }
#endif
}

__device__ float query_scale(const RopeArgs& args, int position) {
    if (args.query_scaling_beta == 0.0f) return 1.0f;
    return 1.0f + args.query_scaling_beta * log1pf(floorf(__fdividef(position, args.query_scaling_length)));
}

extern "C" __global__ void __launch_bounds__(kWarp) rotate_and_store(const RopeArgs args) {
    const int row = blockIdx.x, num_kv_heads = args.cache.num_kv_heads;
    const int position = args.positions[row], slot = args.slots[row];
    const size_t width = static_cast<size_t>(args.num_heads + 2 * num_kv_heads) * HEAD_DIM;
    const half* q = args.qkv + row * width;
    const half* k = q + args.num_heads * HEAD_DIM;
    const half* v = k + num_kv_heads * HEAD_DIM;
    float out[kMaxPerLane] = {};
    int head = blockIdx.y;
    if (head < args.num_heads) {
        rotate(args, read_head(args, q, head, args.num_heads, args.q_norm), position, out);
        const float scale = query_scale(args, position);
#pragma unroll
        for (int j = 0; j < kMaxPerLane; ++j) {
            const int i = threadIdx.x + j * kWarp;
            const size_t at = (static_cast<size_t>(row) * args.num_heads + head) * HEAD_DIM + i;
            if (i < HEAD_DIM) args.queries[at] = __float2half_rn(out[j] * scale);
        }
        return;
    }
    head -= args.num_heads;
    const bool is_key = head < num_kv_heads;
    if (!is_key) head -= num_kv_heads;
    const size_t at = cache_row(args.cache, slot, head, position);
    if (is_key) {
        rotate(args, read_head(args, k, head, num_kv_heads, args.k_norm), position, out);
        store_head(args.cache.keys, args.cache.key_scales, at, out);
        return;
    }
#pragma unroll
    for (int j = 0; j < kMaxPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        if (i < HEAD_DIM) out[j] = __half2float(v[head * HEAD_DIM + i]);
    }
    store_head(args.cache.values, args.cache.value_scales, at, out);
}
