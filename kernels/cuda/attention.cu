// From the q, k and v projections of a few rows to their attention over the cache, split over its length: one block a
// (row, key/value head, split), the last one to arrive joins the splits. Each block norms and turns its queries, and the
// keys and values that the step's rows add to its part of the cache: where several do, they store the same.
//
// All queries that share a key/value head are columns of the same tensor operations: scores are keys times queries, the
// result is values (transposed) times weights. Macros: HEAD_DIM (a multiple of 8), INT8_KV 0 or 1.
#include "heads.cuh"
#include "splits.cuh"

constexpr int kWarps = 4, kThreads = kWarps * kWarp, kTileKeys = 16, kMaxQueries = 8;
constexpr int kKeyBlocks = (HEAD_DIM + 31) / 32;    // of 32 dimensions: 8 a lane
constexpr int kValueBlocks = (HEAD_DIM + 63) / 64;  // of 64 dimensions: 8 a group of four lanes

struct DecodeArgs {
    AttentionArgs attention;  // without queries
    HeadArgs heads;
    int num_rows;
};

// Keys of one tile that this lane touches, and where they stand in the cache.
struct TileRows {
    size_t rows[4];
    bool exist[4];
};

template <int kCount>
__device__ __forceinline__ TileRows find_rows(const AttentionArgs& args, int slot, int head, int first,
                                              const int (&offsets)[kCount], Span span) {
    TileRows tile = {};
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
        const int key = first + offsets[i];
        tile.exist[i] = key >= span.begin && key < span.end;
        if (tile.exist[i]) tile.rows[i] = cache_row(args.cache, slot, head, key);
    }
    return tile;
}

// Running maximum, weight and sums of two queries (columns 2t, 2t + 1), over the keys that a warp has seen.
struct State {
    float maximum[2], weight[2];
    float sums[kValueBlocks * 4][4];  // per fragment of 16 dimensions: C of mma
};

// Scores of 16 keys: rows g and g + 8, columns 2t and 2t + 1.
__device__ __forceinline__ void score_tile(const AttentionArgs& args, const TileRows& tile, const Eight (&q)[kKeyBlocks],
                                           float (&c)[4]) {
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int block = 0; block < kKeyBlocks; ++block) {
        Eight low = {}, high = {};
        if (tile.exist[0]) low = load_eight<HEAD_DIM>(args.cache.keys, tile.rows[0], block * 32 + t * 8);
        if (tile.exist[1]) high = load_eight<HEAD_DIM>(args.cache.keys, tile.rows[1], block * 32 + t * 8);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const u32 a[4] = {low.words[2 * i], high.words[2 * i], low.words[2 * i + 1], high.words[2 * i + 1]};
            const u32 b[2] = {q[block].words[2 * i], q[block].words[2 * i + 1]};
            mma_m16n8k16(c, a, b);
        }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float scale = args.scale;
#if INT8_KV
        if (tile.exist[i / 2]) scale *= __half2float(args.cache.key_scales[tile.rows[i / 2]]);
#endif
        c[i] *= scale;
        if (args.softcap > 0.0f) c[i] = args.softcap * tanhf(__fdividef(c[i], args.softcap));
        if (!tile.exist[i / 2]) c[i] = kNothing;
    }
}

// From scores to weights relative to the new maximum; what was summed before is scaled to it.
__device__ __forceinline__ void weigh_tile(State& state, float (&c)[4]) {
#pragma unroll
    for (int column = 0; column < 2; ++column) {
        float greatest = fmaxf(c[column], c[column + 2]);
#pragma unroll
        for (int distance = 4; distance < kWarp; distance *= 2) {
            greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, distance));
        }
        const float maximum = fmaxf(state.maximum[column], greatest);
        const float shrink = __expf(state.maximum[column] - maximum);
        state.maximum[column] = maximum;
        state.weight[column] *= shrink;
#pragma unroll
        for (int i = column; i < 4; i += 2) {
            c[i] = c[i] == kNothing ? 0.0f : __expf(c[i] - maximum);
            state.weight[column] += c[i];
        }
#pragma unroll
        for (int fragment = 0; fragment < kValueBlocks * 4; ++fragment) {
            state.sums[fragment][column] *= shrink;
            state.sums[fragment][column + 2] *= shrink;
        }
    }
}

// sums += values^T weights. Of a block of 64 dimensions, lane g has dimensions 8g to 8g + 7 of keys 2t, 2t + 1, 2t + 8,
// 2t + 9; fragment f takes dimensions 8g + 2f as row g and 8g + 2f + 1 as row g + 8.
__device__ __forceinline__ void add_values(const AttentionArgs& args, const TileRows& tile, const half* weights,
                                           State& state) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
    const half* at = weights + g * kTileKeys + 2 * t;
    const u32 b[2] = {*reinterpret_cast<const u32*>(at), *reinterpret_cast<const u32*>(at + 8)};
#pragma unroll
    for (int block = 0; block < kValueBlocks; ++block) {
        Eight v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            v[i] = tile.exist[i] ? load_eight<HEAD_DIM>(args.cache.values, tile.rows[i], block * 64 + g * 8) : Eight{};
        }
#pragma unroll
        for (int f = 0; f < 4; ++f) {
            constexpr u32 kLowHalves = 0x5410u, kHighHalves = 0x7632u;
            const u32 a[4] = {__byte_perm(v[0].words[f], v[1].words[f], kLowHalves),
                              __byte_perm(v[0].words[f], v[1].words[f], kHighHalves),
                              __byte_perm(v[2].words[f], v[3].words[f], kLowHalves),
                              __byte_perm(v[2].words[f], v[3].words[f], kHighHalves)};
            mma_m16n8k16(state.sums[block * 4 + f], a, b);
        }
    }
}

// Weights as halfs [query][key], for the other operand's order; of int8 values times their scale.
__device__ __forceinline__ void share_weights(const AttentionArgs& args, const TileRows& tile, const float (&c)[4],
                                              half* weights) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float v = c[i];
#if INT8_KV
        if (tile.exist[i / 2]) v *= __half2float(args.cache.value_scales[tile.rows[i / 2]]);
#endif
        weights[(2 * t + i % 2) * kTileKeys + g + i / 2 * 8] = __float2half_rn(v);
    }
}

// Dimension of row `row` of fragment `fragment`.
__device__ __forceinline__ int dimension_of(int fragment, int row) {
    return fragment / 4 * 64 + row % 8 * 8 + fragment % 4 * 2 + row / 8;
}

// What the warps of a block tell each other.
struct Shared {
    __align__(16) half queries[kMaxQueries][HEAD_DIM + 8];  // 8 more: rows on different banks
    float maximum[kWarps][kMaxQueries], weight[kWarps][kMaxQueries];
    float sums[kMaxQueries][HEAD_DIM];
    half weights[kWarps][kMaxQueries * kTileKeys];
    int is_last;
};

// Joins the four warps' states in order: sums relative to the block's maximum.
__device__ void join_warps(State& state, Shared& shared) {
    const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int column = 0; column < 2; ++column) {
#pragma unroll
        for (int distance = 4; distance < kWarp; distance *= 2) {
            state.weight[column] += __shfl_xor_sync(kAllLanes, state.weight[column], distance);
        }
        if (g == 0) {
            shared.maximum[warp][2 * t + column] = state.maximum[column];
            shared.weight[warp][2 * t + column] = state.weight[column];
        }
    }
    __syncthreads();
    for (int turn = 0; turn < kWarps; ++turn) {
        if (turn == warp) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int query = 2 * t + i % 2;
                float maximum = kNothing;
                for (int w = 0; w < kWarps; ++w) maximum = fmaxf(maximum, shared.maximum[w][query]);
                const float scale = __expf(shared.maximum[warp][query] - maximum);
#pragma unroll
                for (int fragment = 0; fragment < kValueBlocks * 4; ++fragment) {
                    const int dimension = dimension_of(fragment, g + i / 2 * 8);
                    if (dimension >= HEAD_DIM) continue;
                    const float v = state.sums[fragment][i] * scale;
                    shared.sums[query][dimension] = turn ? shared.sums[query][dimension] + v : v;
                }
            }
        }
        __syncthreads();
    }
}

// Maximum and weight of the whole block for a query.
__device__ __forceinline__ float2 block_total(const Shared& shared, int query) {
    float maximum = kNothing, weight = 0.0f;
    for (int w = 0; w < kWarps; ++w) maximum = fmaxf(maximum, shared.maximum[w][query]);
    for (int w = 0; w < kWarps; ++w) weight += shared.weight[w][query] * __expf(shared.maximum[w][query] - maximum);
    return make_float2(maximum, weight);
}

__device__ void store_single(const AttentionArgs& args, const Shared& shared, int row, int first_head, int num_queries) {
    for (int i = threadIdx.x; i < num_queries * HEAD_DIM; i += kThreads) {
        const int query = i / HEAD_DIM, head = first_head + query;
        const float2 total = block_total(shared, query);
        const float v = __fdividef(shared.sums[query][i % HEAD_DIM], divisor(args.sinks, head, total.x, total.y));
        args.out[(static_cast<size_t>(row) * args.num_heads + head) * HEAD_DIM + i % HEAD_DIM] = __float2half_rn(v);
    }
}

__device__ void store_partial(const AttentionArgs& args, const Shared& shared, int row, int first_head, int num_queries,
                              int split) {
    for (int i = threadIdx.x; i < num_queries * HEAD_DIM; i += kThreads) {
        partial_of<HEAD_DIM>(args, row, first_head + i / HEAD_DIM, split)[i % HEAD_DIM] = shared.sums[i / HEAD_DIM][i % HEAD_DIM];
    }
    if (threadIdx.x < num_queries) {
        const float2 total = block_total(shared, threadIdx.x);
        float* partial = partial_of<HEAD_DIM>(args, row, first_head + threadIdx.x, split);
        partial[HEAD_DIM] = total.x;
        partial[HEAD_DIM + 1] = total.y;
    }
}

// Keys and values that rows of this sequence have in the span.
__device__ __forceinline__ void store_rows(const DecodeArgs& args, int slot, int kv_head, Span span) {
    const KvCache& cache = args.attention.cache;
    const int warp = threadIdx.x / kWarp;
    const bool is_key = warp % 2 == 0;
    for (int row = 0; row < args.num_rows; ++row) {
        const int position = args.attention.positions[row];
        if (args.attention.slots[row] != slot || position < span.begin || position >= span.end) continue;
        // Every warp takes part: the compiler must see that shuffles are of whole warps.
        store_cached(args.heads, is_key ? key_head(args.heads, row, kv_head) : value_head(args.heads, row, kv_head),
                     position, is_key ? cache.keys : cache.values, is_key ? cache.key_scales : cache.value_scales,
                     cache_row(cache, slot, kv_head, position), warp < 2);
    }
}

__device__ __forceinline__ void stage_queries(const HeadArgs& args, Shared& shared, int row, int first_head,
                                              int num_queries, int position) {
    for (int first = 0; first < num_queries; first += kWarps) {
        // Beyond the last one the last one again, for nothing.
        const int wanted = first + static_cast<int>(threadIdx.x) / kWarp, query = min(wanted, num_queries - 1);
        store_query(args, query_head(args, row, first_head + query), position, shared.queries[query], query == wanted);
    }
}

__device__ __forceinline__ void load_queries(const Shared& shared, int num_queries, Eight (&q)[kKeyBlocks]) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int block = 0; block < kKeyBlocks; ++block) {
        const int dimension = block * 32 + t * 8;
        q[block] = {};
        if (g >= num_queries || dimension >= HEAD_DIM) continue;
        const uint4 four = *reinterpret_cast<const uint4*>(shared.queries[g] + dimension);
        q[block].words[0] = four.x;
        q[block].words[1] = four.y;
        q[block].words[2] = four.z;
        q[block].words[3] = four.w;
    }
}

// Grid (num_kv_heads * blocks of at most 8 of the queries that share one, splits, rows).
extern "C" __global__ void __launch_bounds__(kThreads, 1) attend(const DecodeArgs step) {
    __shared__ Shared shared;
    const AttentionArgs& args = step.attention;
    const int num_kv_heads = args.cache.num_kv_heads, shared_by = args.num_heads / num_kv_heads;
    const int blocks = (shared_by + kMaxQueries - 1) / kMaxQueries;
    const int kv_head = blockIdx.x / blocks, first_query = blockIdx.x % blocks * kMaxQueries;
    const int first_head = kv_head * shared_by + first_query, num_queries = min(kMaxQueries, shared_by - first_query);
    const int row = blockIdx.z, split = blockIdx.y, slot = args.slots[row];
    const int position = args.positions[row];
    const Span whole = whole_span(args, position);
    const int first_split = whole.begin / args.split_keys, last_split = (whole.end - 1) / args.split_keys;
    if (split < first_split || split > last_split) return;
    const Span span = {max(whole.begin, split * args.split_keys), min(whole.end, (split + 1) * args.split_keys)};

    const int warp = threadIdx.x / kWarp, g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
    const int key_rows[2] = {g, g + 8}, value_rows[4] = {2 * t, 2 * t + 1, 2 * t + 8, 2 * t + 9};
    half* weights = shared.weights[warp];
    Eight q[kKeyBlocks];
    store_rows(step, slot, kv_head, span);
    stage_queries(step.heads, shared, row, first_head, num_queries, position);
    __syncthreads();  // keys, values and queries are there
    load_queries(shared, num_queries, q);
    State state = {};
    state.maximum[0] = state.maximum[1] = kNothing;
    // Every warp takes as many turns, some over no key: the compiler must see that shuffles are of whole warps.
    for (int base = span.begin / kTileKeys * kTileKeys; base < span.end; base += kWarps * kTileKeys) {
        const int first = base + warp * kTileKeys;
        const TileRows keys = find_rows(args, slot, kv_head, first, key_rows, span);
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        score_tile(args, keys, q, c);
        weigh_tile(state, c);
        share_weights(args, keys, c, weights);
        __syncwarp();
        add_values(args, find_rows(args, slot, kv_head, first, value_rows, span), weights, state);
        __syncwarp();
    }
    join_warps(state, shared);
    if (first_split == last_split) {
        store_single(args, shared, row, first_head, num_queries);
        return;
    }
    store_partial(args, shared, row, first_head, num_queries, split);
    if (!is_last_to_arrive(args, row, last_split - first_split, shared.is_last)) return;
    join_splits<HEAD_DIM, kThreads>(args, row, first_head, num_queries, first_split, last_split);
}
