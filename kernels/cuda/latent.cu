// Latent attention's part between its projections: the latent vector normed, its rotary columns turned, both into the
// cache; the rotary columns of queries turned and put behind what the absorbed product gave them. One warp a head; grid
// (rows, query heads + 1), the last one the cache's. Macros: LATENT_DIM, ROPE_DIM (multiples of 8), INT8_KV 0 or 1.
#include "cache.cuh"
#include "rotation.cuh"

constexpr int kKeyDim = LATENT_DIM + ROPE_DIM;
constexpr int kLatentPerLane = (LATENT_DIM + kWarp - 1) / kWarp, kRopePerLane = (ROPE_DIM + kWarp - 1) / kWarp;

struct LatentArgs {
    const float* latent;  // [rows][latent_stride]: LATENT_DIM columns, then ROPE_DIM that all heads' keys share
    const half* q;        // [rows][num_heads][q_head_dim]: the last ROPE_DIM rotate
    half* queries;        // [rows][num_heads][kKeyDim]: only the last ROPE_DIM are written
    const float* norm_weight;  // [LATENT_DIM]
    const float* inv_freq;     // [ROPE_DIM / 2]; null: positions are not embedded
    const int* slots;          // [rows]
    const int* positions;      // [rows]
    KvCache cache;  // keys alone, of kKeyDim columns and one head; with INT8_KV key_scales are those of the latent
                    // columns, value_scales those of the rotary ones
    int latent_stride, num_heads, q_head_dim;
    float eps, cos_sin_factor;
};

// Column i with i + ROPE_DIM / 2, as rope.cu.
template <class Read>
__device__ __forceinline__ void rotate(const LatentArgs& args, Read read, int position, float (&out)[kRopePerLane]) {
    constexpr int kHalfDim = ROPE_DIM / 2;
#pragma unroll
    for (int j = 0; j < kRopePerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        out[j] = 0.0f;
        if (i >= ROPE_DIM) continue;
        out[j] = read(i);
        if (!args.inv_freq) continue;
        const int pair = i < kHalfDim ? i : i - kHalfDim;
        float cosine, sine;
        rotation(position * args.inv_freq[pair], cosine, sine);
        const float other = read(i < kHalfDim ? i + kHalfDim : pair);
        out[j] = (out[j] * cosine + (i < kHalfDim ? -other : other) * sine) * args.cos_sin_factor;
    }
}

// This lane's columns of kDim at `first` of a row of the cache, with a scale of their own.
template <int kDim, int kPerLane>
__device__ __forceinline__ void store(const LatentArgs& args, half* scales, size_t row, int first,
                                      const float (&v)[kPerLane]) {
#if INT8_KV
    u32 greatest = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) greatest = larger_magnitude(greatest, v[j]);
    const CodeScale scale(greatest);
    if (threadIdx.x == 0) scales[row] = scale.scale;
#endif
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        if (i >= kDim) continue;
#if INT8_KV
        static_cast<i8*>(args.cache.keys)[row * kKeyDim + first + i] = scale.code(v[j]);
#else
        static_cast<half*>(args.cache.keys)[row * kKeyDim + first + i] = __float2half_rn(v[j]);
#endif
    }
}

extern "C" __global__ void __launch_bounds__(kWarp) rotate_and_store_latent(const LatentArgs args) {
    const int row = blockIdx.x, position = args.positions[row], head = blockIdx.y;
    float turned[kRopePerLane];
    if (head < args.num_heads) {
        const size_t at = static_cast<size_t>(row) * args.num_heads + head;
        const half* q = args.q + (at + 1) * args.q_head_dim - ROPE_DIM;
        rotate(args, [&](int i) { return __half2float(q[i]); }, position, turned);
#pragma unroll
        for (int j = 0; j < kRopePerLane; ++j) {
            const int i = threadIdx.x + j * kWarp;
            if (i < ROPE_DIM) args.queries[at * kKeyDim + LATENT_DIM + i] = __float2half_rn(turned[j]);
        }
        return;
    }
    const float* latent = args.latent + static_cast<size_t>(row) * args.latent_stride;
    float values[kLatentPerLane], square = 0.0f;
#pragma unroll
    for (int j = 0; j < kLatentPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        values[j] = i < LATENT_DIM ? latent[i] : 0.0f;
        square = fmaf(values[j], values[j], square);
    }
    const float inverse = rsqrtf(__fdividef(warp_sum(square), LATENT_DIM) + args.eps);
#pragma unroll
    for (int j = 0; j < kLatentPerLane; ++j) {
        const int i = threadIdx.x + j * kWarp;
        values[j] *= i < LATENT_DIM ? inverse * args.norm_weight[i] : 0.0f;
    }
    rotate(args, [&](int i) { return latent[LATENT_DIM + i]; }, position, turned);
    const size_t at = cache_row(args.cache, args.slots[row], 0, position);
    store<LATENT_DIM>(args, args.cache.key_scales, at, 0, values);
    store<ROPE_DIM>(args, args.cache.value_scales, at, LATENT_DIM, turned);
}
