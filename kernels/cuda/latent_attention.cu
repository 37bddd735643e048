// Attention in the latent space: all query heads share one row of the cache per position, whose first LATENT_DIM columns
// are the value. Split over the cache's length like attention.cu, one block a (row, eight heads, split). The warps of a
// block score sixteen keys each and then share the columns of the values, so that none holds more than a part of them.
// Macros: LATENT_DIM, ROPE_DIM (multiples of 8; of 32 with INT8_KV), INT8_KV 0 or 1.
#include "splits.cuh"

constexpr int kWarps = 4, kThreads = kWarps * kWarp, kMaxQueries = 8;
constexpr int kKeyDim = LATENT_DIM + ROPE_DIM;
constexpr int kWarpKeys = 16, kTileKeys = kWarps * kWarpKeys;
constexpr int kKeyBlocks = (kKeyDim + 31) / 32;  // of 32 columns: 8 a lane
constexpr int kValueBlocks = (LATENT_DIM + 63) / 64, kWarpBlocks = (kValueBlocks + kWarps - 1) / kWarps;
constexpr int kQueryStride = kKeyBlocks * 32 + 8, kWeightStride = kTileKeys + 8;  // halfs; queries on different banks
static_assert(!INT8_KV || LATENT_DIM % 32 == 0, "one scale a block of columns");

struct Shared {
    __align__(16) half queries[kMaxQueries][kQueryStride];
    __align__(16) half weights[kMaxQueries][kWeightStride];
    float maximum[kWarps][kMaxQueries], weight[kWarps][kMaxQueries];
    int is_last;
};

// Running maximum and weight of two queries (columns 2t, 2t + 1), and sums of this warp's columns of the values.
struct State {
    float maximum[2], weight[2];
    float sums[kWarpBlocks][4][4];  // per block of 64 columns and fragment of 16: C of mma
};

__device__ void stage_queries(const AttentionArgs& args, int row, int first_head, int num_queries, Shared& shared) {
    const half* from = args.queries + (static_cast<size_t>(row) * args.num_heads + first_head) * kKeyDim;
    for (int i = threadIdx.x; i < kMaxQueries * kKeyBlocks * 32; i += kThreads) {
        const int query = i / (kKeyBlocks * 32), column = i % (kKeyBlocks * 32);
        const bool exists = query < num_queries && column < kKeyDim;
        shared.queries[query][column] = exists ? from[query * kKeyDim + column] : __float2half_rn(0.0f);
    }
    __syncthreads();
}

// The cache's row of a key; `exists` only within the span.
struct KeyRow {
    size_t row;
    bool exists;
};

__device__ __forceinline__ KeyRow find_key(const AttentionArgs& args, int slot, int key, Span span) {
    const bool exists = key >= span.begin && key < span.end;
    return {exists ? cache_row(args.cache, slot, 0, key) : 0, exists};
}

// Keys times queries over blocks [kFirst, kEnd) of 32 columns.
template <int kFirst, int kEnd>
__device__ __forceinline__ void multiply_keys(const AttentionArgs& args, const KeyRow (&keys)[2], const Shared& shared,
                                              float (&c)[4]) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll 2
    for (int block = kFirst; block < kEnd; ++block) {
        const int column = block * 32 + t * 8;
        Eight low = {}, high = {};
        if (keys[0].exists) low = load_eight<kKeyDim>(args.cache.keys, keys[0].row, column);
        if (keys[1].exists) high = load_eight<kKeyDim>(args.cache.keys, keys[1].row, column);
        const uint4 q = *reinterpret_cast<const uint4*>(&shared.queries[g][column]);
        const u32 words[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const u32 a[4] = {low.words[2 * i], high.words[2 * i], low.words[2 * i + 1], high.words[2 * i + 1]};
            const u32 b[2] = {words[2 * i], words[2 * i + 1]};
            mma_m16n8k16(c, a, b);
        }
    }
}

// Scores of this warp's keys: rows g and g + 8, columns 2t and 2t + 1.
__device__ __forceinline__ void score(const AttentionArgs& args, const KeyRow (&keys)[2], const Shared& shared,
                                      float (&c)[4]) {
#if INT8_KV
    float turned[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    multiply_keys<0, LATENT_DIM / 32>(args, keys, shared, c);
    multiply_keys<LATENT_DIM / 32, kKeyBlocks>(args, keys, shared, turned);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (!keys[i / 2].exists) continue;
        const float latent_scale = __half2float(args.cache.key_scales[keys[i / 2].row]);
        c[i] = c[i] * latent_scale + turned[i] * __half2float(args.cache.value_scales[keys[i / 2].row]);
    }
#else
    multiply_keys<0, kKeyBlocks>(args, keys, shared, c);
#endif
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        c[i] *= args.scale;
        if (args.softcap > 0.0f) c[i] = args.softcap * tanhf(__fdividef(c[i], args.softcap));
        if (!keys[i / 2].exists) c[i] = kNothing;
    }
}

// From scores to weights relative to the greatest of the block so far; what was summed before is scaled to it.
__device__ __forceinline__ void weigh(const AttentionArgs& args, const KeyRow (&keys)[2], Shared& shared, State& state,
                                      float (&c)[4]) {
    const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int column = 0; column < 2; ++column) {
        float greatest = fmaxf(c[column], c[column + 2]);
#pragma unroll
        for (int distance = 4; distance < kWarp; distance *= 2) {
            greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, distance));
        }
        if (g == 0) shared.maximum[warp][2 * t + column] = greatest;
    }
    __syncthreads();
#pragma unroll
    for (int column = 0; column < 2; ++column) {
        float maximum = state.maximum[column];
#pragma unroll
        for (int other = 0; other < kWarps; ++other) maximum = fmaxf(maximum, shared.maximum[other][2 * t + column]);
        const float shrink = __expf(state.maximum[column] - maximum);
        state.maximum[column] = maximum;
        state.weight[column] *= shrink;
#pragma unroll
        for (int i = column; i < 4; i += 2) {
            float v = c[i] == kNothing ? 0.0f : __expf(c[i] - maximum);
            state.weight[column] += v;
#if INT8_KV
            if (keys[i / 2].exists) v *= __half2float(args.cache.key_scales[keys[i / 2].row]);
#endif
            shared.weights[2 * t + column][warp * kWarpKeys + g + i / 2 * 8] = __float2half_rn(v);
        }
#pragma unroll
        for (int block = 0; block < kWarpBlocks; ++block) {
#pragma unroll
            for (int f = 0; f < 4; ++f) {
                state.sums[block][f][column] *= shrink;
                state.sums[block][f][column + 2] *= shrink;
            }
        }
    }
    __syncthreads();
}

// The block of 64 columns that is this warp's n-th.
__device__ __forceinline__ int value_block(int n) { return n * kWarps + threadIdx.x / kWarp; }

// sums += values^T weights for sixteen keys; lanes and columns as in attention.cu.
__device__ __forceinline__ void add_values(const AttentionArgs& args, const KeyRow (&keys)[4], const half* weights,
                                           State& state) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
    const half* at = weights + g * kWeightStride + 2 * t;
    const u32 b[2] = {*reinterpret_cast<const u32*>(at), *reinterpret_cast<const u32*>(at + 8)};
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block) {
        const int column = value_block(block) * 64 + g * 8;
        Eight v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const bool exists = keys[i].exists && column < LATENT_DIM;
            v[i] = exists ? load_eight<kKeyDim>(args.cache.keys, keys[i].row, column) : Eight{};
        }
#pragma unroll
        for (int f = 0; f < 4; ++f) {
            constexpr u32 kLowHalves = 0x5410u, kHighHalves = 0x7632u;
            const u32 a[4] = {__byte_perm(v[0].words[f], v[1].words[f], kLowHalves),
                              __byte_perm(v[0].words[f], v[1].words[f], kHighHalves),
                              __byte_perm(v[2].words[f], v[3].words[f], kLowHalves),
                              __byte_perm(v[2].words[f], v[3].words[f], kHighHalves)};
            mma_m16n8k16(state.sums[block][f], a, b);
        }
    }
}

// Each warp's weights together, in order.
__device__ void join_weights(State& state, Shared& shared) {
    const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int column = 0; column < 2; ++column) {
#pragma unroll
        for (int distance = 4; distance < kWarp; distance *= 2) {
            state.weight[column] += __shfl_xor_sync(kAllLanes, state.weight[column], distance);
        }
        if (g == 0) shared.weight[warp][2 * t + column] = state.weight[column];
    }
    __syncthreads();
#pragma unroll
    for (int column = 0; column < 2; ++column) {
        state.weight[column] = 0.0f;
        for (int other = 0; other < kWarps; ++other) state.weight[column] += shared.weight[other][2 * t + column];
    }
}

// Calls use(query, column of the value, sum) for all that this thread holds.
template <class Use>
__device__ __forceinline__ void for_each_sum(const State& state, int num_queries, Use use) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int block = 0; block < kWarpBlocks; ++block) {
#pragma unroll
        for (int f = 0; f < 4; ++f) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int query = 2 * t + i % 2, column = value_block(block) * 64 + g * 8 + f * 2 + i / 2;
                if (query < num_queries && column < LATENT_DIM) use(i % 2, query, column, state.sums[block][f][i]);
            }
        }
    }
}

// Grid (blocks of at most eight heads, splits, rows).
extern "C" __global__ void __launch_bounds__(kThreads, 4) attend_latent(const AttentionArgs args) {
    __shared__ Shared shared;
    const int first_head = blockIdx.x * kMaxQueries, num_queries = min(kMaxQueries, args.num_heads - first_head);
    const int row = blockIdx.z, split = blockIdx.y, slot = args.slots[row];
    const Span whole = whole_span(args, args.positions[row]);
    const int first_split = whole.begin / args.split_keys, last_split = (whole.end - 1) / args.split_keys;
    if (split < first_split || split > last_split) return;
    const Span span = {max(whole.begin, split * args.split_keys), min(whole.end, (split + 1) * args.split_keys)};

    const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
    stage_queries(args, row, first_head, num_queries, shared);
    State state = {};
    state.maximum[0] = state.maximum[1] = kNothing;
    for (int base = span.begin / kTileKeys * kTileKeys; base < span.end; base += kTileKeys) {
        const int first = base + warp * kWarpKeys;
        const KeyRow mine[2] = {find_key(args, slot, first + g, span), find_key(args, slot, first + g + 8, span)};
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        score(args, mine, shared, c);
        weigh(args, mine, shared, state, c);
        for (int keys = 0; keys < kTileKeys; keys += kWarpKeys) {
            const int key = base + keys + 2 * t;
            const KeyRow theirs[4] = {find_key(args, slot, key, span), find_key(args, slot, key + 1, span),
                                      find_key(args, slot, key + 8, span), find_key(args, slot, key + 9, span)};
            add_values(args, theirs, &shared.weights[0][keys], state);
        }
    }
    join_weights(state, shared);
    if (first_split == last_split) {
        for_each_sum(state, num_queries, [&](int which, int query, int column, float sum) {
            const int head = first_head + query;
            const float v = __fdividef(sum, divisor(args.sinks, head, state.maximum[which], state.weight[which]));
            args.out[(static_cast<size_t>(row) * args.num_heads + head) * LATENT_DIM + column] = __float2half_rn(v);
        });
        return;
    }
    for_each_sum(state, num_queries, [&](int, int query, int column, float sum) {
        partial_of<LATENT_DIM>(args, row, first_head + query, split)[column] = sum;
    });
    if (warp == 0 && g == 0) {
#pragma unroll
        for (int column = 0; column < 2; ++column) {
            if (2 * t + column >= num_queries) continue;
            float* partial = partial_of<LATENT_DIM>(args, row, first_head + 2 * t + column, split);
            partial[LATENT_DIM] = state.maximum[column];
            partial[LATENT_DIM + 1] = state.weight[column];
        }
    }
    if (!is_last_to_arrive(args, row, last_split - first_split, shared.is_last)) return;
    join_splits<LATENT_DIM, kThreads>(args, row, first_head, num_queries, first_split, last_split);
}
