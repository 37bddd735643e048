// From logits to the next token of every row, as app/engine/sampling.py defines it, and the step's end: `finish_row`.
//
// A batch that only wants the likeliest tokens takes `choose_greatest` alone: the product that made the logits left the
// greatest of each of its blocks. Any other takes `penalize`, which turns logits into keys; `narrow_keys` six times,
// which finds the last key that top-k and then top-p keep, eleven bits, eleven and ten, by histograms of counts or
// weights; and `draw`. Rows that do not ask for a choice leave its launches at once. Weights are integers, so that sums
// are exact in any order. Grid (blocks that share a row's tokens, rows).
#include "philox.cuh"
#include "weights.cuh"

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kChunkTokens = 4 * kWarp;  // consecutive tokens whose weights a warp adds up
constexpr int kBins = 2048, kBinsPerThread = kBins / kThreads;
constexpr u64 kNotFinite = ~0ull;

enum Phase { kTopK, kTopP };

// How far the choice of a row has come.
struct Selection {
    u64 best;       // key * 2^32 + ~id of the likeliest token, or kNotFinite; 0 between steps
    u64 remaining;  // count or weight still wanted of the keys that begin with `prefix`; 0: all are kept
    u32 floor_key;  // keys above it are kept,
    u32 tie_limit;  // and so many of those that equal it, in the order of ids
    u32 prefix;
    u32 arrived;  // blocks; 0 between launches
};

struct SamplingArgs {
    StepState state;
    u32* logits;            // [rows][vocab_size], floats; `penalize` leaves keys there
    const float* block_max;  // [num_blocks][gridDim.y], and where they are
    const int* block_argmax;
    Selection* selections;  // [rows]
    u64* histograms;        // [rows][kBins], 0; left so
    u64* chunk_weights;     // [rows][num_chunks]
    u32* chunk_ties;
    int num_blocks, num_chunks, phase, level;
};

__device__ __forceinline__ u64 pack_best(u32 bits, int id) {
    if ((bits & kExponent) == kExponent && bits != kMinusInfinity) return kNotFinite;
    return static_cast<u64>(key_of(bits)) << 32 | ~static_cast<u32>(id);
}

__device__ __forceinline__ u32 best_key(u64 best) { return static_cast<u32>(best >> 32); }

// Nothing can be drawn: a logit is infinite or not a number, or all are minus infinity.
__device__ __forceinline__ bool is_unusable(u64 best) {
    return best == kNotFinite || best_key(best) == key_of(kMinusInfinity);
}

__device__ __forceinline__ int best_id(u64 best) {
    return is_unusable(best) ? -1 : static_cast<int>(~static_cast<u32>(best));
}

__device__ __forceinline__ u64 warp_greatest(u64 v) {
#pragma unroll
    for (int distance = kWarp / 2; distance; distance /= 2) v = max(v, __shfl_xor_sync(kAllLanes, v, distance));
    return v;
}

// The greatest of the block, in every thread.
__device__ u64 block_greatest(u64 v, u64* scratch) {
    v = warp_greatest(v);
    if (threadIdx.x % kWarp == 0) scratch[threadIdx.x / kWarp] = v;
    __syncthreads();
    for (int warp = 0; warp < kWarps; ++warp) v = max(v, scratch[warp]);
    return v;
}

__device__ __forceinline__ u64 warp_inclusive(u64 v) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const u64 lower = __shfl_up_sync(kAllLanes, v, distance);
        if (lane >= distance) v += lower;
    }
    return v;
}

// The sum over all threads before this one, and that over all; `scratch` is free again after the next barrier.
__device__ u64 block_exclusive(u64 v, u64* scratch, u64& total) {
    const u64 inclusive = warp_inclusive(v);
    const int warp = threadIdx.x / kWarp;
    if (threadIdx.x % kWarp == kWarp - 1) scratch[warp] = inclusive;
    __syncthreads();
    u64 before = 0;
    total = 0;
    for (int w = 0; w < kWarps; ++w) {
        if (w < warp) before += scratch[w];
        total += scratch[w];
    }
    return before + inclusive - v;
}

// A condition that is the same in all threads. The compiler sees that of a vote alone, and shuffles behind any other
// branch become calls.
__device__ __forceinline__ bool uniform(bool condition) { return __any_sync(kAllLanes, condition); }

// Whether all other blocks of the row are through; the last one sees what they wrote.
__device__ bool is_last_block(u32* arrived, int* flag) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        *flag = atomicAdd(arrived, 1u) == gridDim.x - 1;
        if (*flag) *arrived = 0;
    }
    __syncthreads();
    __threadfence();
    return uniform(*flag);
}

// Grid (1, rows).
extern "C" __global__ void __launch_bounds__(kThreads) choose_greatest(const SamplingArgs args) {
    __shared__ u64 scratch[kWarps];
    const int row = blockIdx.y;
    u64 best = 0;
    for (int i = threadIdx.x; i < args.num_blocks; i += kThreads) {
        const int at = i * gridDim.y + row;
        best = max(best, pack_best(__float_as_uint(args.block_max[at]), args.block_argmax[at]));
    }
    best = block_greatest(best, scratch);
    if (threadIdx.x == 0) finish_row(args.state, row, best_id(best));
}

extern "C" __global__ void __launch_bounds__(kThreads) penalize(const SamplingArgs args) {
    __shared__ u64 scratch[kWarps];
    const int row = blockIdx.y, vocab_size = args.state.vocab_size;
    const RowState& s = args.state.rows[row];
    const size_t penalties = penalty_index(args.state, row);
    u32* logits = args.logits + static_cast<size_t>(row) * vocab_size;
    u64 best = 0;
    for (int id = blockIdx.x * kThreads + threadIdx.x; id < vocab_size; id += gridDim.x * kThreads) {
        u32 bits = logits[id];
        if (pack_best(bits, id) == kNotFinite) best = kNotFinite;
        bits = penalize_logit(s, bits, args.state.is_seen + penalties + id, args.state.num_output + penalties + id);
        best = max(best, pack_best(bits, id));
        logits[id] = key_of(bits);
    }
    best = block_greatest(best, scratch);
    if (threadIdx.x == 0) atomicMax(&args.selections[row].best, best);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        args.selections[row].floor_key = 0;
        args.selections[row].tie_limit = ~0u;
    }
}

struct Histogram {
    u32 low[kBins], high[kBins];  // of 64 bits: atomics on those would spin

    __device__ __forceinline__ void add(u32 bin, u64 v) {
        const u32 part = static_cast<u32>(v), old = atomicAdd(low + bin, part);
        const u32 rest = static_cast<u32>(v >> 32) + (old + part < part);
        if (rest) atomicAdd(high + bin, rest);
    }
};

struct Level {
    int shift, bits;
};

__device__ __forceinline__ Level level_of(int level) {
    return level == 0 ? Level{21, 11} : level == 1 ? Level{10, 11} : Level{0, 10};
}

__device__ __forceinline__ bool asks_for(const SamplingArgs& args, const RowState& s) {
    if (s.temperature == 0.0) return false;
    return args.phase == kTopK ? s.top_k > 0 && s.top_k < args.state.vocab_size : s.top_p < 1.0;
}

__device__ void count_keys(const SamplingArgs& args, int row, Histogram& shared) {
    const RowState& s = args.state.rows[row];
    const Selection& selection = args.selections[row];
    const Level level = level_of(args.level);
    const u32* keys = args.logits + static_cast<size_t>(row) * args.state.vocab_size;
    const double best = widen(bits_of(best_key(selection.best)));
    const u32 floor_key = selection.floor_key, prefix = selection.prefix;
    const int prefix_shift = level.shift + level.bits;  // 32 at the first level: no bit is chosen yet
    for (int id = blockIdx.x * kThreads + threadIdx.x; id < args.state.vocab_size; id += gridDim.x * kThreads) {
        const u32 key = keys[id];
        if (key < floor_key || (args.level && (key ^ prefix) >> (prefix_shift & 31))) continue;
        const u64 v = args.phase == kTopK ? 1 : weight_of(s, key, best);
        if (v) shared.add(key >> level.shift & ((1u << level.bits) - 1), v);
    }
}

// The fewest tokens of this weight that reach `wanted`, which some number below 2^21 does.
__device__ u32 count_to_reach(u64 wanted, u64 weight) {
    u32 count = 0;
    for (u32 bit = 1u << 20; bit; bit /= 2) {
        if ((count + bit) * weight < wanted) count += bit;
    }
    return count + 1;
}

// The bin in which the wanted count or weight is reached, from the highest key down; then the next level looks there.
__device__ void choose_bin(const SamplingArgs& args, int row, u64* scratch) {
    const RowState& s = args.state.rows[row];
    Selection& selection = args.selections[row];
    const Level level = level_of(args.level);
    u64* bins = args.histograms + static_cast<size_t>(row) * kBins + (kBins - kBinsPerThread * (threadIdx.x + 1));
    u64 mine[kBinsPerThread], sum = 0, total;
#pragma unroll
    for (int i = 0; i < kBinsPerThread; ++i) {
        mine[i] = bins[i];
        bins[i] = 0;
        sum += mine[i];
    }
    u64 before = block_exclusive(sum, scratch, total);
    const u64 reached = static_cast<u64>(ceil(__dmul_rn(s.top_p, __ull2double_rn(total))));
    const u64 wanted = args.level ? selection.remaining : args.phase == kTopK ? s.top_k : reached;
    __syncthreads();  // until all have read the selection
    if (threadIdx.x == 0 && wanted > total) selection.remaining = 0;
    if (before >= wanted || before + sum < wanted) return;
#pragma unroll
    for (int i = kBinsPerThread - 1; i >= 0; --i) {
        if (before < wanted && before + mine[i] >= wanted) {
            const u32 bin = kBins - kBinsPerThread * (threadIdx.x + 1) + i;
            const u32 prefix = (args.level ? selection.prefix : 0) | bin << level.shift;
            selection.prefix = prefix;
            selection.remaining = wanted - before;
            if (args.level == 2) selection.floor_key = prefix;
        }
        before += mine[i];
    }
}

// One level of one phase.
extern "C" __global__ void __launch_bounds__(kThreads) narrow_keys(const SamplingArgs args) {
    __shared__ Histogram shared;
    __shared__ u64 scratch[kWarps];
    __shared__ int is_last;
    const int row = blockIdx.y;
    const RowState& s = args.state.rows[row];
    Selection& selection = args.selections[row];
    if (uniform(!asks_for(args, s) || is_unusable(selection.best) || (args.level && !selection.remaining))) return;
    for (int bin = threadIdx.x; bin < kBins; bin += kThreads) shared.low[bin] = shared.high[bin] = 0;
    __syncthreads();
    count_keys(args, row, shared);
    __syncthreads();
    for (int bin = threadIdx.x; bin < kBins; bin += kThreads) {
        const u64 v = static_cast<u64>(shared.high[bin]) << 32 | shared.low[bin];
        if (v) atomicAdd(args.histograms + static_cast<size_t>(row) * kBins + bin, v);
    }
    if (!is_last_block(&selection.arrived, &is_last)) return;
    choose_bin(args, row, scratch);
    __syncthreads();
    if (args.phase == kTopP && args.level == 2 && threadIdx.x == 0) {
        const u64 weight = weight_of(s, selection.floor_key, widen(bits_of(best_key(selection.best))));
        selection.tie_limit = count_to_reach(selection.remaining, weight);
    }
}

// What min-p and the rounding to nothing leave of a weight.
__device__ __forceinline__ u64 kept_weight(const RowState& s, u32 key, double best) {
    const u64 weight = weight_of(s, key, best);
    return weight >= s.least_weight ? weight : 0;
}

// Of every chunk the weight of keys above the floor, and how many lie on it.
__device__ void weigh_chunks(const SamplingArgs& args, int row, double best, u32 floor_key) {
    const RowState& s = args.state.rows[row];
    const u32* keys = args.logits + static_cast<size_t>(row) * args.state.vocab_size;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    // Every warp takes as many turns, the last one perhaps beyond the end.
    for (int first = blockIdx.x * kWarps; first < args.num_chunks; first += gridDim.x * kWarps) {
        const int chunk = first + warp;
        u64 weight = 0;
        u32 ties = 0;
#pragma unroll 1  // unrolled, so many branches take more barriers than sm_90 has, and those are spilled
        for (int i = 0; i < kChunkTokens / kWarp; ++i) {
            const int id = chunk * kChunkTokens + i * kWarp + lane;
            const u32 key = id < args.state.vocab_size ? keys[id] : 0;
            if (key > floor_key) weight += kept_weight(s, key, best);
            ties += __popc(__ballot_sync(kAllLanes, id < args.state.vocab_size && key == floor_key));
        }
        weight = __shfl_sync(kAllLanes, warp_inclusive(weight), kWarp - 1);
        if (lane == 0 && chunk < args.num_chunks) {
            args.chunk_weights[static_cast<size_t>(row) * args.num_chunks + chunk] = weight;
            args.chunk_ties[static_cast<size_t>(row) * args.num_chunks + chunk] = ties;
        }
    }
}

// Where the drawn weight lies: a chunk, how much of it comes before, and how many ties come before the chunk.
struct Drawn {
    int chunk;
    u32 ties;
    u64 weight;
};

// Ties of a chunk that are kept, `before` of them standing in chunks before it.
__device__ __forceinline__ u64 kept_ties(u32 ties, u32 before, u32 limit) {
    return before < limit ? min(ties, limit - before) : 0;
}

__device__ void draw_chunk(const SamplingArgs& args, int row, u64 tie_weight, u64* scratch, Drawn& drawn) {
    const RowState& s = args.state.rows[row];
    const u64* weights = args.chunk_weights + static_cast<size_t>(row) * args.num_chunks;
    const u32* ties = args.chunk_ties + static_cast<size_t>(row) * args.num_chunks;
    const u32 limit = args.selections[row].tie_limit;
    const int per_thread = (args.num_chunks + kThreads - 1) / kThreads;
    const int first = min(static_cast<int>(threadIdx.x) * per_thread, args.num_chunks);
    const int end = min(first + per_thread, args.num_chunks);
    u64 total, my_ties = 0, sum = 0;
    for (int chunk = first; chunk < end; ++chunk) my_ties += ties[chunk];
    u32 ties_before = static_cast<u32>(block_exclusive(my_ties, scratch, total));
    u32 passed = ties_before;
    for (int chunk = first; chunk < end; ++chunk) {
        sum += weights[chunk] + kept_ties(ties[chunk], passed, limit) * tie_weight;
        passed += ties[chunk];
    }
    __syncthreads();
    u64 before = block_exclusive(sum, scratch, total);
    const u64 chosen = __umul64hi(random_64(s.seed, s.step), total);
    if (chosen < before || chosen - before >= sum) return;
    for (int chunk = first; chunk < end; ++chunk) {
        const u64 kept = weights[chunk] + kept_ties(ties[chunk], ties_before, limit) * tie_weight;
        if (chosen - before < kept) {
            drawn = {chunk, ties_before, chosen - before};
            return;
        }
        before += kept;
        ties_before += ties[chunk];
    }
}

// The token of the drawn chunk; every warp finds the same.
__device__ int draw_token(const SamplingArgs& args, int row, double best, u64 tie_weight, const Drawn& drawn) {
    const RowState& s = args.state.rows[row];
    const Selection& selection = args.selections[row];
    const u32* keys = args.logits + static_cast<size_t>(row) * args.state.vocab_size;
    const int lane = threadIdx.x % kWarp;
    u32 ties_before = drawn.ties;
    u64 before = 0;
    int token = -1;
#pragma unroll 1
    for (int i = 0; i < kChunkTokens / kWarp; ++i) {
        const int id = drawn.chunk * kChunkTokens + i * kWarp + lane;
        const bool exists = id < args.state.vocab_size;
        const u32 key = exists ? keys[id] : 0;
        const u32 ties = __ballot_sync(kAllLanes, exists && key == selection.floor_key);
        const u32 rank = ties_before + __popc(ties & ((1u << lane) - 1));
        u64 weight = 0;
        if (key > selection.floor_key) weight = kept_weight(s, key, best);
        if (ties >> lane & 1 && rank < selection.tie_limit) weight = tie_weight;
        const u64 inclusive = before + warp_inclusive(weight);
        const u32 beyond = __ballot_sync(kAllLanes, inclusive > drawn.weight);
        if (token < 0 && beyond) token = drawn.chunk * kChunkTokens + i * kWarp + __ffs(beyond) - 1;
        before = __shfl_sync(kAllLanes, inclusive, kWarp - 1);
        ties_before += __popc(ties);
    }
    return token;
}

extern "C" __global__ void __launch_bounds__(kThreads) draw(const SamplingArgs args) {
    __shared__ u64 scratch[kWarps];
    __shared__ Drawn drawn;
    __shared__ int is_last;
    const int row = blockIdx.y;
    const RowState& s = args.state.rows[row];
    Selection& selection = args.selections[row];
    const u64 greatest = selection.best;
    const bool is_drawn = s.temperature != 0.0 && !is_unusable(greatest);
    const double best = widen(bits_of(best_key(greatest)));
    const u32 floor_key = selection.floor_key;
    if (uniform(is_drawn)) weigh_chunks(args, row, best, floor_key);
    if (!is_last_block(&selection.arrived, &is_last)) return;
    int token = best_id(greatest);
    if (uniform(is_drawn)) {
        const u64 tie_weight = kept_weight(s, floor_key, best);
        draw_chunk(args, row, tie_weight, scratch, drawn);
        __syncthreads();
        token = draw_token(args, row, best, tie_weight, drawn);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        selection.best = 0;
        finish_row(args.state, row, token);
    }
}
