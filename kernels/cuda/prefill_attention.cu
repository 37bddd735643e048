// Attention of a chunk of queries over the cache, which holds the chunk's own keys already: one block 64 queries of one
// head, four warps of 16. Scores and results stay in registers; tiles of keys and values pass through shared memory, the
// next ones under way while these are used. Macros: HEAD_DIM (a multiple of 8), INT8_KV 0 or 1, SHARED_BYTES as
// kernels/cuda/attention.py counts them.
#include "eights.cuh"

constexpr int kWarps = 4, kThreads = kWarps * kWarp, kWarpQueries = 16, kQueries = kWarps * kWarpQueries;
constexpr int kTileKeys = HEAD_DIM > 96 ? 32 : 64;  // so that two blocks share a multiprocessor's 100 KB up to 128
constexpr int kDims = (HEAD_DIM + 15) / 16 * 16, kStride = kDims + 8;  // halfs, so that rows lie on different banks
constexpr int kKeyTiles = kTileKeys / 8, kDimTiles = kDims / 8;
constexpr int kCopyHalfs = 8, kRowCopies = kDims / kCopyHalfs;

struct ChunkAttentionArgs {
    const half* queries;  // [rows][num_heads * HEAD_DIM]
    half* out;            // likewise
    const float* sinks;   // [num_heads] or null
    const int* slots;     // [rows], all the same
    const int* positions;  // [rows], ascending
    KvCache cache;
    int num_rows, num_heads, window;  // window 0: the whole past
    float scale, softcap;             // softcap 0: none
};

struct Tile {
    half rows[kTileKeys][kStride];
    float scales[kTileKeys];  // INT8_KV
};

struct Shared {
    half queries[kQueries][kStride];
    Tile keys, values;
};
static_assert(sizeof(Shared) == SHARED_BYTES);
static_assert(kPagePositions % kTileKeys == 0);

// What a block looks at: keys [begin, end) of a slot and head.
struct View {
    int slot, kv_head, begin, end;
};

__device__ __forceinline__ View find_view(const ChunkAttentionArgs& args, int first_row, int kv_head) {
    const int last_row = min(first_row + kQueries, args.num_rows) - 1;
    const int begin = args.window > 0 ? max(0, args.positions[first_row] + 1 - args.window) : 0;
    return {args.slots[first_row], kv_head, begin, args.positions[last_row] + 1};
}

__device__ __forceinline__ void copy_queries(const ChunkAttentionArgs& args, int first_row, int head,
                                             half (&queries)[kQueries][kStride]) {
    for (int i = threadIdx.x; i < kQueries * kRowCopies; i += kThreads) {
        const int local = i / kRowCopies, dim = i % kRowCopies * kCopyHalfs, row = first_row + local;
        const bool exists = row < args.num_rows && dim < HEAD_DIM;
        const size_t at = exists ? (static_cast<size_t>(row) * args.num_heads + head) * HEAD_DIM + dim : 0;
        copy_async_16(&queries[local][dim], args.queries + at, exists ? 16 : 0);
    }
}

// Keys [first, first + kTileKeys), which lie in one page; zeros where the view ends, whatever the cache holds there.
__device__ __forceinline__ void copy_tile(const KvCache& cache, const View& view, int first, const void* rows,
                                          const half* scales, Tile& tile) {
    const size_t row = cache_row(cache, view.slot, view.kv_head, first);
    const int num_keys = view.end - first;
    for (int i = threadIdx.x; i < kTileKeys * kRowCopies; i += kThreads) {
        const int key = i / kRowCopies, dim = i % kRowCopies * kCopyHalfs;
        const bool exists = key < num_keys && dim < HEAD_DIM;
#if INT8_KV
        const Eight eight = exists ? load_eight<HEAD_DIM>(rows, row + key, dim) : Eight{};
        const uint4 four = {eight.words[0], eight.words[1], eight.words[2], eight.words[3]};
        *reinterpret_cast<uint4*>(&tile.rows[key][dim]) = four;
#else
        const half* from = static_cast<const half*>(rows) + (exists ? (row + key) * HEAD_DIM + dim : 0);
        copy_async_16(&tile.rows[key][dim], from, exists ? 16 : 0);
#endif
    }
#if INT8_KV
    if (threadIdx.x < kTileKeys) {
        tile.scales[threadIdx.x] = static_cast<int>(threadIdx.x) < num_keys ? __half2float(scales[row + threadIdx.x]) : 0.0f;
    }
#endif
}

__device__ __forceinline__ void copy_keys(const KvCache& cache, const View& view, int first, Shared& shared) {
    if (first < view.end) copy_tile(cache, view, first, cache.keys, cache.key_scales, shared.keys);
    commit_copies();
}

__device__ __forceinline__ void copy_values(const KvCache& cache, const View& view, int first, Shared& shared) {
    if (first < view.end) copy_tile(cache, view, first, cache.values, cache.value_scales, shared.values);
    commit_copies();
}

using Scores = float[kKeyTiles][4];  // C of mma: rows g and g + 8, keys 8 j + 2 t and + 1
using Sums = float[kDimTiles][4];

// Queries times keys, from shared memory; rows of the warp are the A operand.
__device__ __forceinline__ void multiply_keys(const Shared& shared, int first_query, Scores& scores) {
    const int lane = threadIdx.x % kWarp;
    const half* queries = &shared.queries[first_query + lane % 16][lane / 16 * 8];
    const half* keys = &shared.keys.rows[lane / 16 * 8 + lane % 8][lane / 8 % 2 * 8];
#pragma unroll
    for (int dim = 0; dim < kDims; dim += 16) {
        u32 a[4], four[4];
        load_matrices<false>(a, queries + dim);
#pragma unroll
        for (int j = 0; j < kKeyTiles; j += 2) {
            load_matrices<false>(four, keys + j * 8 * kStride + dim);
            const u32 first[2] = {four[0], four[1]}, second[2] = {four[2], four[3]};
            mma_m16n8k16(scores[j], a, first);
            mma_m16n8k16(scores[j + 1], a, second);
        }
    }
}

// Of the two rows of a lane: where it stands, and the running maximum and weight of what it has seen.
struct Row {
    int position;
    float maximum, weight;
};

__device__ __forceinline__ void scale_scores(const ChunkAttentionArgs& args, const Tile& keys, Scores& scores) {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            scores[j][i] *= args.scale;
#if INT8_KV
            scores[j][i] *= keys.scales[j * 8 + threadIdx.x % 4 * 2 + i % 2];
#endif
        }
    }
    if (args.softcap <= 0.0f) return;
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[j][i] = args.softcap * tanhf(__fdividef(scores[j][i], args.softcap));
    }
}

// kNothing where a row does not see a key.
__device__ __forceinline__ void mask_scores(int window, int first, const Row (&rows)[2], Scores& scores) {
#pragma unroll
    for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int key = first + j * 8 + threadIdx.x % 4 * 2 + i % 2, position = rows[i / 2].position;
            if (key > position || (window > 0 && key <= position - window)) scores[j][i] = kNothing;
        }
    }
}

// From scores to weights relative to the new maximum; what was summed before is scaled to it.
__device__ __forceinline__ void weigh_scores(Row (&rows)[2], Scores& scores, Sums& sums) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float greatest = rows[r].maximum;
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j) greatest = fmaxf(greatest, fmaxf(scores[j][2 * r], scores[j][2 * r + 1]));
        greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 1));
        greatest = fmaxf(greatest, __shfl_xor_sync(kAllLanes, greatest, 2));
        const float shrink = __expf(rows[r].maximum - greatest);
        rows[r].maximum = greatest;
        rows[r].weight *= shrink;
#pragma unroll
        for (int j = 0; j < kKeyTiles; ++j) {
#pragma unroll
            for (int i = 2 * r; i < 2 * r + 2; ++i) {
                scores[j][i] = scores[j][i] == kNothing ? 0.0f : __expf(scores[j][i] - greatest);
                rows[r].weight += scores[j][i];
            }
        }
#pragma unroll
        for (int d = 0; d < kDimTiles; ++d) {
            sums[d][2 * r] *= shrink;
            sums[d][2 * r + 1] *= shrink;
        }
    }
}

// Two weights as halfs; of int8 values times their scale.
__device__ __forceinline__ u32 weight_pair(const Tile& values, const Scores& scores, int j, int row) {
    float low = scores[j][2 * row], high = scores[j][2 * row + 1];
#if INT8_KV
    low *= values.scales[j * 8 + threadIdx.x % 4 * 2];
    high *= values.scales[j * 8 + threadIdx.x % 4 * 2 + 1];
#endif
    return as_bits(__floats2half2_rn(low, high));
}

// Weights, which stand as an A operand already, times values.
__device__ __forceinline__ void multiply_values(const Tile& values, const Scores& scores, Sums& sums) {
    const int lane = threadIdx.x % kWarp;
    const half* rows = &values.rows[lane % 16][lane / 16 * 8];
#pragma unroll
    for (int j = 0; j < kKeyTiles; j += 2) {
        const u32 a[4] = {weight_pair(values, scores, j, 0), weight_pair(values, scores, j, 1),
                          weight_pair(values, scores, j + 1, 0), weight_pair(values, scores, j + 1, 1)};
#pragma unroll
        for (int d = 0; d < kDimTiles; d += 2) {
            u32 four[4];
            load_matrices<true>(four, rows + j * 8 * kStride + d * 8);
            const u32 first[2] = {four[0], four[1]}, second[2] = {four[2], four[3]};
            mma_m16n8k16(sums[d], a, first);
            mma_m16n8k16(sums[d + 1], a, second);
        }
    }
}

__device__ __forceinline__ void store(const ChunkAttentionArgs& args, int first_row, int head, Row (&rows)[2],
                                      const Sums& sums) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float weight = rows[r].weight;
        weight += __shfl_xor_sync(kAllLanes, weight, 1);
        weight += __shfl_xor_sync(kAllLanes, weight, 2);
        weight = divisor(args.sinks, head, rows[r].maximum, weight);
        const int row = first_row + g + 8 * r;
        if (row >= args.num_rows) continue;
        half* out = args.out + (static_cast<size_t>(row) * args.num_heads + head) * HEAD_DIM;
#pragma unroll
        for (int d = 0; d < HEAD_DIM / 8; ++d) {
            const float low = __fdividef(sums[d][2 * r], weight), high = __fdividef(sums[d][2 * r + 1], weight);
            *reinterpret_cast<half2*>(out + d * 8 + 2 * t) = __floats2half2_rn(low, high);
        }
    }
}

// Grid (blocks of 64 rows, heads).
extern "C" __global__ void __launch_bounds__(kThreads, 1) attend_chunk(const ChunkAttentionArgs args) {
    DYNAMIC_SHARED(u8, bytes);
    Shared& shared = *reinterpret_cast<Shared*>(bytes);
    const int first_row = blockIdx.x * kQueries, head = blockIdx.y, warp = threadIdx.x / kWarp;
    const View view = find_view(args, first_row, head / (args.num_heads / args.cache.num_kv_heads));
    const int warp_row = first_row + warp * kWarpQueries;
    Row rows[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int row = warp_row + threadIdx.x % kWarp / 4 + 8 * r;
        rows[r] = {row < args.num_rows ? args.positions[row] : -1, kNothing, 0.0f};
    }
    Sums sums = {};

    int first = view.begin / kTileKeys * kTileKeys;
    copy_queries(args, first_row, head, shared.queries);
    copy_keys(args.cache, view, first, shared);
    copy_values(args.cache, view, first, shared);
    for (; first < view.end; first += kTileKeys) {
        Scores scores = {};
        wait_for_copies<1>();
        __syncthreads();  // the keys are there
        multiply_keys(shared, warp * kWarpQueries, scores);
        scale_scores(args, shared.keys, scores);
        mask_scores(args.window, first, rows, scores);
        __syncthreads();  // all have read the keys
        copy_keys(args.cache, view, first + kTileKeys, shared);
        weigh_scores(rows, scores, sums);
        wait_for_copies<1>();
        __syncthreads();  // the values are there
        multiply_values(shared.values, scores, sums);
        __syncthreads();  // all have read the values
        copy_values(args.cache, view, first + kTileKeys, shared);
    }
    store(args, warp_row, head, rows, sums);
}
