// y = W x for 1 to 8 tokens on tensor cores, with what comes before (norm, column order) and after (bias, activation,
// gate, residual, logits) in the same launch.
//
// A block computes ROW_TILES tiles of 16 rows, a strip, and further ones with the same activations where there are more
// strips than blocks; K_SLICES warps share a tile, each taking its part of the columns, and add up in shared memory in a
// fixed order. A warp takes two units of columns at a time, a span, in whose middle the next span's loads begin. Tokens
// are the columns of the B operand.
//
// A variant is made by macros: BITS 3, 4, 8, 16; SCHEME 0 sym, 1 zero, 2 affine; GROUP 16, 32, 64 columns, or 128 for
// that and all wider groups; SCALE_TYPE and BIAS_TYPE 0 fp16, 1 fp32, 2 two-level with uint8 codes, 3 with int8 codes;
// TOKENS 1 or 8; ROW_TILES, K_SLICES; EXPERTS 0, or 1 for a stack of matrices of which each row of the grid reads one.
#include "epilogue.cuh"
#include "norms.cuh"
#include "scaling.cuh"

constexpr int kPadding = 8;  // halfs that keep tokens on different banks
constexpr int kThreads = kWarp * ROW_TILES * K_SLICES;
// 80 registers; 128 where they do not suffice: of wider codes or scales, more values of groups, more tokens.
constexpr bool kIsLean = BITS == 4 && SCHEME == 0 && GROUP == 128 && SCALE_TYPE == 0 && TOKENS == 1 && !EXPERTS;
// Of experts' three bits in groups of 16 by eight tokens neither suffices: one block a multiprocessor, nothing spilled.
constexpr bool kIsLavish = BITS == 3 && GROUP == 16 && TOKENS > 1 && EXPERTS;
constexpr int kMinBlocks = (kIsLean ? 768 : kIsLavish ? 256 : 512) / kThreads;

// Whose rows a block multiplies, and with which matrix of a stack.
#if EXPERTS
struct Batch {
    int matrix, num_pairs;

    __device__ __forceinline__ explicit Batch(const GemvArgs& args)
        : matrix(args.visit_matrices[blockIdx.y]), num_pairs(0) {
        if (matrix >= 0 && args.matrix_places) matrix = args.matrix_places[matrix];
        const int most = matrix < 0 ? 0 : min(TOKENS, args.num_tokens);
        while (num_pairs < most && output_row(args, num_pairs) >= 0) ++num_pairs;
    }
    // At one token a visit that is one at all has one pair.
    __device__ __forceinline__ int count(const GemvArgs&) const { return TOKENS == 1 ? 1 : num_pairs; }
    __device__ __forceinline__ int input_row(const GemvArgs& args, int token) const {
        return output_row(args, token) / args.pairs_per_row;
    }
    __device__ __forceinline__ int output_row(const GemvArgs& args, int token) const {
        return args.visit_pairs[blockIdx.y * 8 + token];
    }
};
#else
struct Batch {
    static constexpr int matrix = 0;

    __device__ __forceinline__ explicit Batch(const GemvArgs&) {}
    __device__ __forceinline__ int count(const GemvArgs& args) const { return args.num_tokens; }
    __device__ __forceinline__ int input_row(const GemvArgs&, int token) const { return token; }
    __device__ __forceinline__ int output_row(const GemvArgs&, int token) const { return token; }
};
#endif

struct Unit {
    uint4 loads[kUnitLoads];
};

// One of three bits in narrow groups: all their values and two units' codes would not fit into 128 registers.
constexpr int kSpanUnits = BITS == 3 && GROUP < 64 ? 1 : 2;

struct Span {
    Unit units[kSpanUnits];
};

__device__ __forceinline__ Unit load_unit(const uint4* codes, int unit) {
    Unit result;
#pragma unroll
    for (int i = 0; i < kUnitLoads; ++i) {
        result.loads[i] = __ldcs(codes + static_cast<size_t>(unit) * kUnitLoads * kWarp + i * kWarp);
    }
    return result;
}

// The units of [first, last) that are this warp's, as even as can be; those that share super values stay together.
struct Share {
    int begin, end;

    __device__ __forceinline__ Share(int first, int last) {
        constexpr int kTogether = ScaleValues::kHasSupers ? kSharingUnits : 1;
        const int slice = threadIdx.x / kWarp % K_SLICES, count = (last - first + kTogether - 1) / kTogether;
        begin = first + count * slice / K_SLICES * kTogether;
        end = min(first + count * (slice + 1) / K_SLICES * kTogether, last);
    }
    // Units beyond the last are that one: loaded, but not used.
    __device__ __forceinline__ Span load_first(const uint4* codes, int num_units) const {
        Span span;
#pragma unroll
        for (int i = 0; i < kSpanUnits; ++i) span.units[i] = load_unit(codes, min(begin + i, num_units - 1));
        return span;
    }
};

// Of the unit that is `later` from `at`; `x` and `sums` are what this lane needs of its columns.
__device__ __forceinline__ void multiply_unit(const LanePointers& at, const Unit& codes, int later, const uint4* x,
                                              const u32* sums, SharedSums& shared, float (&acc)[4]) {
    Decoder decoder{reinterpret_cast<const u32*>(codes.loads), {}};
    uint4 two_fragments = {};
    const auto scales = at.scales.load(later);
    const auto zeros = at.zeros.load(later);
#pragma unroll
    for (int part = 0; part < kGroups; ++part) {
        const ZeroPoints zero = zero_points(zeros, part);
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < kGroupFragments; ++i) {
            const int fragment = part * kGroupFragments + i;
            if (fragment % 2 == 0) two_fragments = x[fragment / 4 * 8 + fragment % 4 / 2];
            u32 a[4], b[2] = {fragment % 2 ? two_fragments.z : two_fragments.x,
                              fragment % 2 ? two_fragments.w : two_fragments.y};
            if constexpr (kAreWeightsScaled) {
                decode_scaled_nibbles(decoder.words[fragment], scales.codes(part), a);
                mma_m16n8k16(shared.codes, a, b);
            } else {
                decoder.decode(fragment, zero, a);
                mma_m16n8k16(c, a, b);
            }
        }
        if constexpr (!kAreWeightsScaled) {
            const float2 scale = kIsQuantized ? scales.factors(part) : make_float2(1.0f, 1.0f);
            add_scaled(scale, c, ScaleValues::kHasSupers ? shared.codes : acc);
        }
    }
    if constexpr (kIsAffine) add_biases(at.biases, later, sums, shared, acc);
}

// acc += the products of the warp's share; `at`, `x` and `sums` are those of its first unit, `span` has been loaded.
__device__ __forceinline__ void multiply_share(LanePointers at, int num_units, const half* x, const u32* sums, Span& span,
                                               float (&acc)[4]) {
#pragma unroll 1
    for (; num_units > 0; num_units -= kSpanUnits) {
        SharedSums shared = {};
#pragma unroll
        for (int i = 0; i < kSpanUnits; ++i) {
            if (i == 0 || i < num_units) {
                multiply_unit(at, span.units[i], i, reinterpret_cast<const uint4*>(x + i * kUnitColumns),
                              sums + i * kGroups * TOKENS, shared, acc);
            }
            if (kSpanUnits + i < num_units) span.units[i] = load_unit(at.codes, kSpanUnits + i);
            if ((i + 1) % kSharingUnits == 0 || i + 1 == kSpanUnits) {
                add_shared(at, i, shared, acc);
                shared = {};
            }
        }
        at.skip(kSpanUnits);
        x += kSpanUnits * kUnitColumns;
        sums += kSpanUnits * kGroups * TOKENS;
    }
}

// Of each token, in shared memory.
__device__ void measure_tokens(const GemvArgs& args, const Batch& batch, Deviation* stats, float* scratch) {
    for (int token = 0; token < batch.count(args); ++token) {
        const float* x = static_cast<const float*>(args.x) + static_cast<size_t>(batch.input_row(args, token)) * args.x_stride;
        const Deviation deviation =
            measure<kThreads>(x, args.in_features, args.input == kLayerNorm, args.eps, scratch);
        if (threadIdx.x == 0) stats[token] = deviation;
        __syncthreads();
    }
}

// Activations are staged in the order of the B operand: of each step, lanes with t = lane % 4 find their two halfs of
// row 2t (+ 8) of fragment 0, 1, 2, 3 together, 32 bytes a lane.
__device__ __forceinline__ int staged_place(int column) {
    const int step = column / kStepColumns, fragment = column % kStepColumns / 16, upper = column % 16 / 8;
    const int t = column % 8 / 2, half_index = column % 2;
    return step * kStepColumns + t * 16 + fragment * 4 + upper * 2 + half_index;
}

__device__ __forceinline__ void load_floats(const float* at, float (&v)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
        const float4 four = *reinterpret_cast<const float4*>(at + i);
        v[i] = four.x, v[i + 1] = four.y, v[i + 2] = four.z, v[i + 3] = four.w;
    }
}

// Eight columns from `column` on of a row, as pairs of halfs.
__device__ __forceinline__ void load_pairs(const GemvArgs& args, int row, int column, Deviation deviation,
                                           half2 (&pairs)[4]) {
    const size_t at = static_cast<size_t>(row) * args.x_stride + column;
    if (args.input == kHalfs) {
        const uint4 four = *reinterpret_cast<const uint4*>(static_cast<const half*>(args.x) + at);
        pairs[0] = as_half2(four.x), pairs[1] = as_half2(four.y);
        pairs[2] = as_half2(four.z), pairs[3] = as_half2(four.w);
        return;
    }
    float v[8], weight[8];
    load_floats(static_cast<const float*>(args.x) + at, v);
    if (args.input != kFloats) {
        load_floats(args.norm_weight + column, weight);
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = scaled(v[i], deviation, weight[i], args.norm_bias, column + i);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) pairs[i] = __floats2half2_rn(v[2 * i], v[2 * i + 1]);
}

// Whether `load_pairs` may read this x.
__device__ __forceinline__ bool is_in_eights(const GemvArgs& args) {
    return !args.perm && args.in_features % 8 == 0 && args.x_stride % 8 == 0 && reinterpret_cast<size_t>(args.x) % 16 == 0;
}

// `stage` where columns come in eights: the pairs of four lanes, 16 halfs apart.
__device__ void stage_eights(const GemvArgs& args, const Batch& batch, half* x, int stride, int begin, int count,
                             const Deviation* stats) {
    for (int token = 0; token < TOKENS; ++token) {
        for (int i = threadIdx.x * 8; i < count; i += kThreads * 8) {
            half2 pairs[4] = {};
            if (token < batch.count(args) && begin + i < args.in_features) {
                load_pairs(args, batch.input_row(args, token), begin + i, stats[token], pairs);
            }
            half* to = x + token * stride + staged_place(i);
#pragma unroll
            for (int t = 0; t < 4; ++t) *reinterpret_cast<half2*>(to + t * 16) = pairs[t];
        }
    }
}

// Columns [begin, begin + count) as halfs [TOKENS][stride]; zero beyond the tokens and the columns that exist.
__device__ void stage(const GemvArgs& args, const Batch& batch, half* x, int stride, int begin, int count,
                      const Deviation* stats) {
    if (is_in_eights(args)) {
        stage_eights(args, batch, x, stride, begin, count, stats);
        return;
    }
    for (int token = 0; token < TOKENS; ++token) {
        for (int i = threadIdx.x; i < count; i += kThreads) {
            const bool exists = token < batch.count(args) && begin + i < args.in_features;
            const float v = exists ? load_input(args, batch.matrix, batch.input_row(args, token), begin + i, stats[token])
                                   : 0.0f;
            x[token * stride + staged_place(i)] = __float2half_rn(v);
        }
    }
}

// [count / kGroupColumns][TOKENS]: what an affine group's bias is multiplied with. For each t of a lane, a group's halfs
// stand together.
__device__ void sum_groups(const half* x, int stride, int count, u32* sums) {
    constexpr int kSteps = kGroupColumns > kStepColumns ? kGroupColumns / kStepColumns : 1;
    constexpr int kTogether = kGroupColumns / kSteps / 4;
    const int num_sums = count / kGroupColumns * TOKENS;
    for (int i = threadIdx.x; i < num_sums; i += kThreads) {
        const half* at = x + i % TOKENS * stride + staged_place(i / TOKENS * kGroupColumns);
        float sum = 0.0f;
#pragma unroll
        for (int part = 0; part < 4 * kSteps; ++part) {
#pragma unroll
            for (int j = 0; j < kTogether; j += 2) {
                const half2 pair = *reinterpret_cast<const half2*>(at + part * 16 + j);
                sum += __low2float(pair) + __high2float(pair);
            }
        }
        sums[i] = sum_bits(sum);
    }
}

// Gate and up rows of a tile stand eight and eight.
__device__ void store_gated(const GemvArgs& args, const Batch& batch, const float (*tile)[TOKENS], int first_row) {
    for (int i = threadIdx.x; i < kTileRows / 2 * ROW_TILES * batch.count(args); i += kThreads) {
        const int token = i % batch.count(args), unit = i / batch.count(args);
        const int local = unit / 8 * kTileRows + unit % 8, row = first_row + local;
        if (row >= args.out_features) continue;
        store_joined(args, tile[local][token], tile[local + 8][token], batch.output_row(args, token),
                     batch.matrix * args.out_features + row, first_row / 2 + unit);
    }
}

// The strip's greatest logit of each token and its row (the first of equals), for choosing greedily.
__device__ void store_greatest(const GemvArgs& args, const float (*tile)[TOKENS], int first_row) {
    const int token = threadIdx.x;
    if (token >= args.num_tokens) return;
    float best = tile[0][token];
    int where = first_row;
    for (int local = 1; local < ROW_TILES * kTileRows && first_row + local < args.out_features; ++local) {
        const float v = tile[local][token];
        // What is not a number stays: sampling.cu must see it.
        if (v > best || v != v) {
            best = v;
            where = first_row + local;
        }
    }
    const int at = first_row / (ROW_TILES * kTileRows) * args.num_tokens + token;
    args.block_max[at] = best;
    args.block_argmax[at] = where;
}

__device__ void store(const GemvArgs& args, const Batch& batch, float (*tile)[TOKENS], int first_row) {
    if (args.epilogue == kGate) {
        store_gated(args, batch, tile, first_row);
        return;
    }
    for (int i = threadIdx.x; i < ROW_TILES * kTileRows * batch.count(args); i += kThreads) {
        const int token = i % batch.count(args), local = i / batch.count(args), row = first_row + local;
        if (row >= args.out_features) continue;
        const float v = with_bias(args, tile[local][token], batch.matrix * args.out_features + row);
        tile[local][token] = store_one(args, v, batch.output_row(args, token), row);
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

extern "C" __global__ void __launch_bounds__(kThreads, kMinBlocks) gemv(const GemvArgs args) {
    DYNAMIC_SHARED(half, x);  // [TOKENS][stride], then the sums
    __shared__ float partial[ROW_TILES * K_SLICES][kWarp][4];
    __shared__ float tile_values[ROW_TILES * kTileRows][TOKENS];
    __shared__ Deviation stats[TOKENS];
    __shared__ float scratch[kThreads / kWarp];
    const Batch batch(args);
    if (EXPERTS && batch.matrix < 0) return;
    const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
    const int num_tiles = (args.out_features + kTileRows - 1) / kTileRows;
    const int num_strips = (num_tiles + ROW_TILES - 1) / ROW_TILES;
    const int num_units = args.num_steps / kUnitSteps, chunk_units = min(args.chunk_steps / kUnitSteps, num_units);
    const int stride = args.chunk_steps * kStepColumns + kPadding;
    u32* sums = reinterpret_cast<u32*>(x + TOKENS * stride);
    const half* lane_x = x + (TOKENS == 1 ? 0 : lane / 4) * stride + lane % 4 * 16;
    const auto point_at = [&](int strip) {
        const int tile = min(strip * ROW_TILES + warp / K_SLICES, num_tiles - 1);
        return point(args, batch.matrix * num_tiles + tile, matrix_group());
    };

    // Codes depend on nothing: the first are under way before the norm is known. Experts lack the registers.
    Span span = {};
    if (!EXPERTS) span = Share(0, chunk_units).load_first(point_at(blockIdx.x).codes, num_units);
    if (args.input >= kRmsNorm) measure_tokens(args, batch, stats, scratch);
    bool is_staged = false;  // once for all strips, where shared memory holds all columns
    for (int strip = blockIdx.x; strip < num_strips; strip += gridDim.x) {
        const LanePointers at = point_at(strip);
        float acc[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int first = 0; first < num_units; first += chunk_units) {
            const int last = min(first + chunk_units, num_units);
            const Share share(first, last);
            if (EXPERTS || first) span = share.load_first(at.codes, num_units);
            if (!is_staged) {
                __syncthreads();  // until all have read the chunk before
                is_staged = chunk_units == num_units;
                const int count = (last - first) * kUnitColumns;
                stage(args, batch, x, stride, first * kUnitColumns, count, stats);
                __syncthreads();
                if constexpr (kIsAffine) {
                    sum_groups(x, stride, count, sums);
                    __syncthreads();
                }
            }
            LanePointers own = at;
            own.skip(share.begin);
            const int before = share.begin - first;
            multiply_share(own, share.end - share.begin, lane_x + before * kUnitColumns,
                           sums + before * kGroups * TOKENS + lane_sum(), span, acc);
        }
        const int later = strip + gridDim.x;
        if (!EXPERTS && later < num_strips) span = Share(0, chunk_units).load_first(point_at(later).codes, num_units);
        if constexpr (kAreWeightsScaled) scale_rows(acc);
        reduce(acc, partial, tile_values);
        store(args, batch, tile_values, strip * ROW_TILES * kTileRows);
    }
}
