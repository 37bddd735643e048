// y = W x for 1 to 8 tokens on tensor cores, with what comes before (norm, column order) and after (bias, activation,
// gate, residual, logits) in the same launch.
//
// A block computes ROW_TILES tiles of 16 rows; K_SLICES warps share a tile, each taking every K_SLICES-th unit of
// columns, and add up in shared memory in a fixed order. Tokens are the columns of the B operand.
//
// A variant is made by macros: BITS 3, 4, 8, 16; SCHEME 0 sym, 1 zero, 2 affine; GROUPS per 64 columns 1, 2, 4;
// SCALE_TYPE and BIAS_TYPE 0 fp16, 1 fp32, 2 two-level with uint8 codes, 3 with int8 codes; TOKENS 1 or 8.
#include "fragments.cuh"
#include "gemv.cuh"

constexpr int kRing = 2;  // units of codes in flight per warp
constexpr int kUnitSteps = BITS == 3 ? 4 : 1;
constexpr int kUnitLoads = BITS == 3 ? 3 : BITS == 4 ? 1 : BITS == 8 ? 2 : 4;
constexpr int kStepColumns = 64, kTileRows = 16, kPadding = 8;  // halfs that keep tokens on different banks
constexpr int kColumnsPerGroup = kStepColumns / GROUPS, kFragmentsPerGroup = 4 / GROUPS;
constexpr bool kIsQuantized = BITS != 16, kIsAffine = kIsQuantized && SCHEME == 2;
constexpr int kThreads = kWarp * ROW_TILES * K_SLICES;
constexpr u32 kSymmetricZero = 1u << (BITS - 1);

struct Unit {
    uint4 loads[kUnitLoads];
};

struct Pair {
    float low, high;  // of rows g and g + 8
};

__device__ __forceinline__ Unit load_unit(const uint4* codes, int unit) {
    Unit result;
#pragma unroll
    for (int i = 0; i < kUnitLoads; ++i) {
        result.loads[i] = __ldcs(codes + (static_cast<size_t>(unit) * kUnitLoads + i) * kWarp);
    }
    return result;
}

// Two values of a group, one for each row of the lane; two-level codes are multiplied with their super values.
template <int kType>
__device__ __forceinline__ Pair load_pair(const void* values, const half2* supers, size_t at, size_t super_at) {
    if constexpr (kType == 0) {
        const half2 pair = static_cast<const half2*>(values)[at];
        return {__low2float(pair), __high2float(pair)};
    }
    if constexpr (kType == 1) {
        const float2 pair = static_cast<const float2*>(values)[at];
        return {pair.x, pair.y};
    }
    const u32 codes = static_cast<const unsigned short*>(values)[at];
    const half2 unit = supers[super_at];
    const float low = kType == 2 ? static_cast<float>(codes & 255) : static_cast<float>(static_cast<i8>(codes));
    const float high = kType == 2 ? static_cast<float>(codes >> 8) : static_cast<float>(static_cast<i8>(codes >> 8));
    return {low * __low2float(unit), high * __high2float(unit)};
}

// Where a step's groups stand in the arrays of pairs.
struct GroupPlace {
    size_t at, super_at;
};

__device__ __forceinline__ GroupPlace place_group(const GemvArgs& args, int tile, int step, int part, int g) {
    const int group = GROUPS == 1 ? step >> args.group_shift : step * GROUPS + part;
    const int num_supers = (args.num_steps + 3) / 4;
    return {(static_cast<size_t>(tile) * args.num_groups + group) * 8 + g,
            (static_cast<size_t>(tile) * num_supers + step / 4) * 8 + g};
}

__device__ __forceinline__ ZeroPoints load_zeros(const GemvArgs& args, size_t at) {
    if constexpr (SCHEME == 0) return same_zero(kSymmetricZero);
    if constexpr (SCHEME == 2) return same_zero(0);
    const u32 codes = reinterpret_cast<const unsigned short*>(args.zeros)[at];
    return {thousand_plus(codes & 255), thousand_plus(codes >> 8)};
}

// The fragments of 16 columns; `pairs` are those of the whole step where three-bit codes need them all at once.
__device__ __forceinline__ void decode(const u32* words, int fragment, const ZeroPoints& zero, u32 (&a)[4]) {
    if constexpr (BITS == 4) decode_nibbles(words[fragment], zero, a);
    if constexpr (BITS == 8) decode_bytes(words[2 * fragment], words[2 * fragment + 1], zero, a);
    if constexpr (BITS == 16) {
#pragma unroll
        for (int r = 0; r < 4; ++r) a[r] = words[4 * fragment + r];
    }
}

__device__ __forceinline__ void load_activations(const half* x, int stride, int column, u32 (&b)[2]) {
    const int lane = threadIdx.x % kWarp, token = TOKENS == 1 ? 0 : lane / 4;
    const half* at = x + token * stride + column + 2 * (lane % 4);
    b[0] = *reinterpret_cast<const u32*>(at);
    b[1] = *reinterpret_cast<const u32*>(at + 8);
}

// acc += scale * c (+ bias * sum of the group's activations).
__device__ __forceinline__ void add_group(const GemvArgs& args, const GroupPlace& place, const float* sums,
                                          const float (&c)[4], float (&acc)[4]) {
    Pair scale = {1.0f, 1.0f};
    if constexpr (kIsQuantized) scale = load_pair<SCALE_TYPE>(args.scales, args.super_scales, place.at, place.super_at);
    acc[0] = fmaf(scale.low, c[0], acc[0]);
    acc[2] = fmaf(scale.high, c[2], acc[2]);
    if constexpr (TOKENS > 1) {
        acc[1] = fmaf(scale.low, c[1], acc[1]);
        acc[3] = fmaf(scale.high, c[3], acc[3]);
    }
    if constexpr (kIsAffine) {
        const Pair bias = load_pair<BIAS_TYPE>(args.biases, args.super_biases, place.at, place.super_at);
        const int first = TOKENS == 1 ? 0 : 2 * (threadIdx.x % 4);
        acc[0] = fmaf(bias.low, sums[first], acc[0]);
        acc[2] = fmaf(bias.high, sums[first], acc[2]);
        if constexpr (TOKENS > 1) {
            acc[1] = fmaf(bias.low, sums[first + 1], acc[1]);
            acc[3] = fmaf(bias.high, sums[first + 1], acc[3]);
        }
    }
}

// One step of 64 columns. `x` and `sums` start at the step's columns.
__device__ __forceinline__ void multiply_step(const GemvArgs& args, const u32* words, int tile, int step, const half* x,
                                              int stride, const float* sums, float (&acc)[4]) {
    const int g = threadIdx.x % kWarp / 4;
    [[maybe_unused]] u32 pairs[16];
#pragma unroll
    for (int part = 0; part < GROUPS; ++part) {
        const GroupPlace place = place_group(args, tile, step, part, g);
        const ZeroPoints zero = load_zeros(args, place.at);
        if constexpr (BITS == 3) decode_three_bits(words, zero, pairs);
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < kFragmentsPerGroup; ++i) {
            const int fragment = part * kFragmentsPerGroup + i;
            u32 a[4], b[2];
            if constexpr (BITS == 3) {
#pragma unroll
                for (int r = 0; r < 4; ++r) a[r] = pairs[4 * fragment + r];
            } else {
                decode(words, fragment, zero, a);
            }
            load_activations(x, stride, 16 * fragment, b);
            mma_m16n8k16(c, a, b);
        }
        add_group(args, place, sums + part * TOKENS, c, acc);
    }
}

// Mean and 1 / deviation of each token, in shared memory; for an RMSNorm the mean is 0.
__device__ void measure_tokens(const GemvArgs& args, float (*stats)[2], float* scratch) {
    const float* x = static_cast<const float*>(args.x);
    for (int token = 0; token < args.num_tokens; ++token, x += args.in_features) {
        float mean = 0.0f, square = 0.0f;
        if (args.norm == kLayerNorm) {
            for (int i = threadIdx.x; i < args.in_features; i += kThreads) mean += x[i];
            mean = block_sum(mean, scratch) / args.in_features;
            __syncthreads();
        }
        for (int i = threadIdx.x; i < args.in_features; i += kThreads) square += (x[i] - mean) * (x[i] - mean);
        square = block_sum(square, scratch) / args.in_features;
        if (threadIdx.x == 0) {
            stats[token][0] = mean;
            stats[token][1] = rsqrtf(square + args.eps);
        }
        __syncthreads();
    }
}

__device__ __forceinline__ float load_input(const GemvArgs& args, int token, int column, const float (*stats)[2]) {
    const int source = args.perm ? args.perm[column] : column;
    const size_t at = static_cast<size_t>(token) * args.in_features + source;
    if (args.norm == kNoNorm) return __half2float(static_cast<const half*>(args.x)[at]);
    const float v = (static_cast<const float*>(args.x)[at] - stats[token][0]) * stats[token][1];
    return v * args.norm_weight[source] + (args.norm_bias ? args.norm_bias[source] : 0.0f);
}

// Columns [begin, begin + count) as halfs [TOKENS][stride]; zero beyond the tokens and the columns that exist.
__device__ void stage(const GemvArgs& args, half* x, int stride, int begin, int count, const float (*stats)[2]) {
    for (int token = 0; token < TOKENS; ++token) {
        for (int i = threadIdx.x; i < count; i += kThreads) {
            const bool exists = token < args.num_tokens && begin + i < args.in_features;
            x[token * stride + i] = __float2half_rn(exists ? load_input(args, token, begin + i, stats) : 0.0f);
        }
    }
}

// [count / kColumnsPerGroup][TOKENS]: what an affine group's bias is multiplied with.
__device__ void sum_groups(const half* x, int stride, int count, float* sums) {
    const int num_sums = count / kColumnsPerGroup * TOKENS;
    for (int i = threadIdx.x; i < num_sums; i += kThreads) {
        const half* at = x + i % TOKENS * stride + i / TOKENS * kColumnsPerGroup;
        float sum = 0.0f;
        for (int c = 0; c < kColumnsPerGroup; ++c) sum += __half2float(at[c]);
        sums[i] = sum;
    }
}

__device__ __forceinline__ float activate(int kind, float v) {
    if (kind == kSilu) return v / (1.0f + __expf(-v));
    if (kind == kGelu) return 0.5f * v * (1.0f + erff(v * 0.70710678f));
    return 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

__device__ __forceinline__ float with_bias(const GemvArgs& args, float v, int row) {
    return args.bias ? v + args.bias[row] : v;
}

// Gate and up rows of a tile stand eight and eight.
__device__ void store_gated(const GemvArgs& args, const float (*tile)[TOKENS], int first_row) {
    for (int i = threadIdx.x; i < kTileRows / 2 * ROW_TILES * args.num_tokens; i += kThreads) {
        const int token = i % args.num_tokens, unit = i / args.num_tokens;
        const int local = unit / 8 * kTileRows + unit % 8, row = first_row + local;
        if (row >= args.out_features) continue;
        const float gate = with_bias(args, tile[local][token], row);
        const float up = with_bias(args, tile[local + 8][token], row + 8);
        const size_t at = static_cast<size_t>(token) * (args.out_features / 2) + first_row / 2 + unit;
        static_cast<half*>(args.out)[at] = __float2half_rn(activate(args.activation, gate) * up);
    }
}

__device__ __forceinline__ float store_one(const GemvArgs& args, float v, int token, int row) {
    const size_t at = static_cast<size_t>(token) * args.out_features + row;
    switch (args.epilogue) {
        case kAddToResidual: static_cast<float*>(args.out)[at] += args.multiplier * v; break;
        case kLogits:
            v *= args.multiplier;
            if (args.softcap > 0.0f) v = args.softcap * tanhf(v / args.softcap);
            static_cast<float*>(args.out)[at] = v;
            break;
        case kActivate: v = activate(args.activation, v); [[fallthrough]];
        default: static_cast<half*>(args.out)[at] = __float2half_rn(v);
    }
    return v;
}

// The block's greatest logit of each token and its row (the first of equals), for choosing greedily.
__device__ void store_greatest(const GemvArgs& args, const float (*tile)[TOKENS], int first_row) {
    const int token = threadIdx.x;
    if (token >= args.num_tokens) return;
    float best = -3.402823466e38f;
    int where = first_row;
    for (int local = 0; local < ROW_TILES * kTileRows && first_row + local < args.out_features; ++local) {
        const float v = tile[local][token];
        if (v > best) {
            best = v;
            where = first_row + local;
        }
    }
    args.block_max[blockIdx.x * args.num_tokens + token] = best;
    args.block_argmax[blockIdx.x * args.num_tokens + token] = where;
}

__device__ void store(const GemvArgs& args, float (*tile)[TOKENS], int first_row) {
    if (args.epilogue == kGate) {
        store_gated(args, tile, first_row);
        return;
    }
    for (int i = threadIdx.x; i < ROW_TILES * kTileRows * args.num_tokens; i += kThreads) {
        const int token = i % args.num_tokens, local = i / args.num_tokens, row = first_row + local;
        if (row >= args.out_features) continue;
        tile[local][token] = store_one(args, with_bias(args, tile[local][token], row), token, row);
    }
    if (args.epilogue == kLogits) {
        __syncthreads();
        store_greatest(args, tile, first_row);
    }
}

// Adds the slices' accumulators in order: [ROW_TILES * 16][TOKENS].
__device__ void reduce(const float (&acc)[4], float (*partial)[kWarp][4], float (*tile)[TOKENS]) {
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < 4; ++i) partial[warp][lane][i] = acc[i];
    __syncthreads();
    for (int i = threadIdx.x; i < ROW_TILES * kTileRows * TOKENS; i += kThreads) {
        const int token = i % TOKENS, local = i / TOKENS, row = local % kTileRows;
        const int from = row % 8 * 4 + token / 2, which = row / 8 * 2 + token % 2;
        float sum = 0.0f;
        for (int slice = 0; slice < K_SLICES; ++slice) sum += partial[local / kTileRows * K_SLICES + slice][from][which];
        tile[local][token] = sum;
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kThreads) gemv(const GemvArgs args) {
    DYNAMIC_SHARED(half, x);  // [TOKENS][stride], then the sums
    __shared__ float partial[ROW_TILES * K_SLICES][kWarp][4];
    __shared__ float tile_values[ROW_TILES * kTileRows][TOKENS];
    __shared__ float stats[TOKENS][2], scratch[kThreads / kWarp];
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp, slice = warp % K_SLICES;
    const int tile = blockIdx.x * ROW_TILES + warp / K_SLICES, num_tiles = (args.out_features + kTileRows - 1) / kTileRows;
    const int num_units = args.num_steps / kUnitSteps, chunk_units = args.chunk_steps / kUnitSteps;
    const int stride = args.chunk_steps * kStepColumns + kPadding;
    float* sums = reinterpret_cast<float*>(x + TOKENS * stride);
    const uint4* codes = args.codes + static_cast<size_t>(min(tile, num_tiles - 1)) * num_units * kUnitLoads * kWarp + lane;
    float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    Unit ring[kRing];

    if (args.norm != kNoNorm) measure_tokens(args, stats, scratch);
    for (int first = 0; first < num_units; first += chunk_units) {
        const int end = min(first + chunk_units, num_units);
        // Codes depend on nothing: they are under way before the activations are ready.
#pragma unroll
        for (int i = 0; i < kRing; ++i) ring[i] = load_unit(codes, min(first + slice + i * K_SLICES, end - 1));
        __syncthreads();  // until all have read the chunk before
        const int count = (end - first) * kUnitSteps * kStepColumns;
        stage(args, x, stride, first * kUnitSteps * kStepColumns, count, stats);
        __syncthreads();
        if constexpr (kIsAffine) {
            sum_groups(x, stride, count, sums);
            __syncthreads();
        }
        for (int base = first + slice; base < end; base += kRing * K_SLICES) {
#pragma unroll
            for (int i = 0; i < kRing; ++i) {
                const int unit = base + i * K_SLICES;
                const Unit now = ring[i];
                ring[i] = load_unit(codes, min(unit + kRing * K_SLICES, end - 1));
                if (unit >= end) continue;
#pragma unroll
                for (int s = 0; s < kUnitSteps; ++s) {
                    const int local = (unit - first) * kUnitSteps + s;
                    constexpr int kStepWords = BITS == 3 ? 3 : 4 * kUnitLoads;
                    const u32* words = reinterpret_cast<const u32*>(now.loads) + s * kStepWords;
                    multiply_step(args, words, min(tile, num_tiles - 1), unit * kUnitSteps + s,
                                  x + local * kStepColumns, stride, sums + local * GROUPS * TOKENS, acc);
                }
            }
        }
    }
    reduce(acc, partial, tile_values);
    store(args, tile_values, blockIdx.x * ROW_TILES * kTileRows);
}
