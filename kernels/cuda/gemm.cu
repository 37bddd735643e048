// Y = X W^T for chunks of tokens on tensor cores, from the tiles that gemv.cu reads too.
//
// A block computes 64 rows for TOKENS tokens, warps sharing both: a warp decodes the fragments of its rows for a step of
// 64 columns in registers, and multiplies them with all its tokens. Codes and activations come by cp.async, a step ahead.
// As in gemv.cu products are of exact codes, and sums of a group are scaled in fp32.
//
// Macros: BITS, SCHEME, GROUP, SCALE_TYPE, BIAS_TYPE as in gemv.cu; TOKENS 32 or 64.
#include "epilogue.cuh"
#include "gemm.cuh"
#include "units.cuh"

constexpr int kRowWarps = 2, kTokenWarps = 2, kWarpTiles = 2;
constexpr int kThreads = kWarp * kRowWarps * kTokenWarps;
constexpr int kBlockTiles = kRowWarps * kWarpTiles, kBlockRows = kBlockTiles * kTileRows;
constexpr int kWarpTokens = TOKENS / kTokenWarps, kTokenTiles = kWarpTokens / 8;
constexpr int kStages = 2;
constexpr int kStride = kStepColumns + 8;    // halfs of a token, so that rows of a matrix lie on different banks
constexpr int kTileStride = kBlockRows + 4;  // floats of a token of the result, likewise
constexpr int kStepFragments = kStepColumns / kFragmentColumns;
constexpr int kStepWords = BITS == 3 ? 3 : 4 * kStepLoads;
constexpr int kStepParts = kGroupColumns < kStepColumns ? kStepColumns / kGroupColumns : 1;
constexpr int kPartFragments = kStepFragments / kStepParts;
constexpr int kCopyHalfs = 8;  // of one cp.async
// 255 registers: fewer would be spilled where many groups share a step, and plain forms take fewer by themselves.
constexpr int kMinBlocks = 2;

struct Shared {
    union {
        half x[kStages][TOKENS][kStride];
        float tile[TOKENS][kTileStride];
    };
    uint4 codes[2][kBlockTiles][kUnitLoads * kWarp];
    float sums[kStages][kStepParts][kIsAffine ? TOKENS : 4];
};

// What a block reads: the first of its tokens and tiles.
struct Block {
    int first_token, first_tile, num_tiles;

    __device__ __forceinline__ explicit Block(const GemvArgs& args)
        : first_token(blockIdx.x * TOKENS), first_tile(blockIdx.y * kBlockTiles),
          num_tiles((args.out_features + kTileRows - 1) / kTileRows) {}
    // Tiles behind the last one read that one again, and store nothing.
    __device__ __forceinline__ int tile(int local) const { return min(first_tile + local, num_tiles - 1); }
};

// What a thread copies of each step: pointers go from step to step.
class Copies {
    static constexpr int kRowCopies = kStepColumns / kCopyHalfs, kTokensApart = kThreads / kRowCopies;
    static constexpr int kTokenCopies = TOKENS / kTokensApart;
    static constexpr int kCopyFloats = 4, kSumCopies = TOKENS / kCopyFloats;

public:
    __device__ __forceinline__ Copies(const GemmArgs& args, const Block& block)
        : local_(threadIdx.x / kRowCopies), column_(threadIdx.x % kRowCopies * kCopyHalfs),
          columns_left_(args.product.in_features - column_) {
        static_assert(kThreads == kBlockTiles * kWarp && kThreads >= kStepParts * kSumCopies);
        x_ = static_cast<const half*>(args.product.x) + column_;
#pragma unroll
        for (int i = 0; i < kTokenCopies; ++i) {
            // Tokens behind the last one repeat it: their columns of the result are not stored.
            const int token = min(block.first_token + local_ + i * kTokensApart, args.product.num_tokens - 1);
            rows_[i] = token * args.product.x_stride;
        }
        codes_ = point(args.product, block.tile(threadIdx.x / kWarp)).codes;
        if constexpr (kIsAffine) {
            sum_stride_ = kStepParts * args.sum_stride;
            sums_ = args.sums + threadIdx.x / kSumCopies * args.sum_stride + block.first_token +
                    threadIdx.x % kSumCopies * kCopyFloats;
        }
    }

    // All that the next step needs; with the first step of a unit come its codes.
    __device__ __forceinline__ void copy(int step, Shared& shared) {
        const int num_bytes = columns_left_ > 0 ? 2 * kCopyHalfs : 0;
#pragma unroll
        for (int i = 0; i < kTokenCopies; ++i) {
            copy_async_16(&shared.x[step % kStages][local_ + i * kTokensApart][column_], x_ + rows_[i], num_bytes);
        }
        x_ += kStepColumns;
        columns_left_ -= kStepColumns;
        if (step % kUnitSteps == 0) copy_codes(shared.codes[step / kUnitSteps % 2][threadIdx.x / kWarp]);
        if constexpr (kIsAffine) copy_sums(&shared.sums[step % kStages][0][0]);
    }

private:
    __device__ __forceinline__ void copy_codes(uint4 (&codes)[kUnitLoads * kWarp]) {
#pragma unroll
        for (int i = 0; i < kUnitLoads; ++i) {
            copy_async_16(&codes[i * kWarp + threadIdx.x % kWarp], codes_ + i * kWarp);
        }
        codes_ += kUnitLoads * kWarp;
    }

    __device__ __forceinline__ void copy_sums(float* sums) {
        if (threadIdx.x < kStepParts * kSumCopies) copy_async_16(sums + threadIdx.x * kCopyFloats, sums_);
        sums_ += sum_stride_;
    }

    int local_, column_, columns_left_, rows_[kTokenCopies], sum_stride_ = 0;
    const half* x_;
    const uint4* codes_;
    const float* sums_ = nullptr;
};

// Fragments of one tile for one step, and what their groups are scaled with.
struct StepFragments {
    u32 a[kStepFragments][4];
    float2 scales[kStepParts], biases[kStepParts];
};

__device__ __forceinline__ void load_words(const uint4* codes, int within, u32 (&words)[kStepWords]) {
    const int lane = threadIdx.x % kWarp;
    if constexpr (BITS == 3) {
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            const int word = 3 * within + i;
            words[i] = reinterpret_cast<const u32*>(codes + word / 4 * kWarp + lane)[word % 4];
        }
    } else {
#pragma unroll
        for (int i = 0; i < kStepLoads; ++i) {
            const uint4 four = codes[(within * kStepLoads + i) * kWarp + lane];
            words[4 * i] = four.x;
            words[4 * i + 1] = four.y;
            words[4 * i + 2] = four.z;
            words[4 * i + 3] = four.w;
        }
    }
}

// Groups of a unit of one tile.
struct UnitGroups {
    ScaleValues::Unit scales;
    BiasValues::Unit biases;
    ZeroValues::Unit zeros;
};

__device__ __forceinline__ void decode_step(const uint4* codes, const UnitGroups& groups, int within,
                                            StepFragments& step) {
    u32 words[kStepWords];
    load_words(codes, within, words);
    Decoder decoder{words, {}};
#pragma unroll
    for (int p = 0; p < kStepParts; ++p) {
        const int part = within * kStepColumns / kGroupColumns + p;
        if constexpr (kIsQuantized) step.scales[p] = groups.scales.pair(part);
        if constexpr (kIsAffine) step.biases[p] = groups.biases.pair(part);
    }
#pragma unroll
    for (int f = 0; f < kStepFragments; ++f) {
        const int part = (within * kStepFragments + f) / kGroupFragments;
        decoder.decode(f, zero_points(groups.zeros, part), step.a[f]);
    }
}

// acc += scale * c + bias * sum, for two rows and two tokens.
__device__ __forceinline__ void add_part(const StepFragments& step, int part, const float (&c)[4], float2 sums,
                                         float (&acc)[4]) {
    const float2 scale = step.scales[part], bias = step.biases[part];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        acc[i] = fmaf(i / 2 ? scale.y : scale.x, c[i], acc[i]);
        if constexpr (kIsAffine) acc[i] = fmaf(i / 2 ? bias.y : bias.x, i % 2 ? sums.y : sums.x, acc[i]);
    }
}

// One tile's step times eight tokens.
__device__ __forceinline__ void multiply_tile(const StepFragments& step, const u32 (&b)[kStepFragments][2],
                                              const float2 (&sums)[kStepParts], float (&acc)[4]) {
#pragma unroll
    for (int p = 0; p < kStepParts; ++p) {
        float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int f = p * kPartFragments; f < (p + 1) * kPartFragments; ++f) {
            mma_m16n8k16(kIsQuantized ? c : acc, step.a[f], b[f]);
        }
        if constexpr (kIsQuantized) add_part(step, p, c, sums[p], acc);
    }
}

using Accumulators = float[kWarpTiles][kTokenTiles][4];

__device__ __forceinline__ void multiply_step(const StepFragments (&steps)[kWarpTiles], const half (&x)[TOKENS][kStride],
                                              const float (&sums)[kStepParts][kIsAffine ? TOKENS : 4], int first_token,
                                              Accumulators& acc) {
    const int lane = threadIdx.x % kWarp;
    const half* row = &x[first_token + lane % 8][lane / 8 * 8];
#pragma unroll
    for (int j = 0; j < kTokenTiles; ++j) {
        u32 b[kStepFragments][2], four[4];
        float2 part_sums[kStepParts] = {};
#pragma unroll
        for (int f = 0; f < kStepFragments; f += 2) {
            load_matrices<false>(four, row + j * 8 * kStride + f * kFragmentColumns);
            b[f][0] = four[0];
            b[f][1] = four[1];
            b[f + 1][0] = four[2];
            b[f + 1][1] = four[3];
        }
        if constexpr (kIsAffine) {
#pragma unroll
            for (int p = 0; p < kStepParts; ++p) {
                part_sums[p] = *reinterpret_cast<const float2*>(&sums[p][first_token + j * 8 + lane % 4 * 2]);
            }
        }
#pragma unroll
        for (int r = 0; r < kWarpTiles; ++r) multiply_tile(steps[r], b, part_sums, acc[r][j]);
    }
}

// Accumulators to shared memory, [token][row].
__device__ __forceinline__ void share(const Accumulators& acc, int first_row, int first_token,
                                      float (&tile)[TOKENS][kTileStride]) {
    const int g = threadIdx.x % kWarp / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int r = 0; r < kWarpTiles; ++r) {
#pragma unroll
        for (int j = 0; j < kTokenTiles; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                tile[first_token + j * 8 + 2 * t + i % 2][first_row + r * kTileRows + g + i / 2 * 8] = acc[r][j][i];
            }
        }
    }
}

// Neighbouring threads have neighbouring rows of one token.
__device__ __forceinline__ void store(const GemvArgs& args, const Block& block, const float (&tile)[TOKENS][kTileStride]) {
    const int first_row = block.first_tile * kTileRows;
    const int num_tokens = min(TOKENS, args.num_tokens - block.first_token);
    if (args.epilogue == kGate) {
        for (int i = threadIdx.x; i < num_tokens * kBlockRows / 2; i += kThreads) {
            const int token = i / (kBlockRows / 2), unit = i % (kBlockRows / 2);
            const int local = unit / 8 * kTileRows + unit % 8;
            if (first_row + local >= args.out_features) continue;
            store_joined(args, tile[token][local], tile[token][local + 8], block.first_token + token, first_row + local,
                         first_row / 2 + unit);
        }
        return;
    }
    for (int i = threadIdx.x; i < num_tokens * kBlockRows; i += kThreads) {
        const int token = i / kBlockRows, local = i % kBlockRows, row = first_row + local;
        if (row < args.out_features) {
            store_one(args, with_bias(args, tile[token][local], row), block.first_token + token, row);
        }
    }
}

// Grid (blocks of tokens, blocks of rows): blocks that read the same codes stand side by side.
extern "C" __global__ void __launch_bounds__(kThreads, kMinBlocks) gemm(const GemmArgs args) {
    __shared__ __align__(16) Shared shared;
    const Block block(args.product);
    const int warp = threadIdx.x / kWarp, first_tile = warp % kRowWarps * kWarpTiles;
    const int first_token = warp / kRowWarps * kWarpTokens;
    const int num_units = args.product.num_steps / kUnitSteps;
    const LanePointers at[kWarpTiles] = {point(args.product, block.tile(first_tile)),
                                         point(args.product, block.tile(first_tile + 1))};
    Copies copies(args, block);
    Accumulators acc = {};

    copies.copy(0, shared);
    commit_copies();
    for (int unit = 0; unit < num_units; ++unit) {
        UnitGroups groups[kWarpTiles];
#pragma unroll
        for (int r = 0; r < kWarpTiles; ++r) {
            groups[r] = {at[r].scales.load(unit), at[r].biases.load(unit), at[r].zeros.load(unit)};
        }
#pragma unroll
        for (int within = 0; within < kUnitSteps; ++within) {
            const int step = unit * kUnitSteps + within;
            wait_for_copies<0>();
            __syncthreads();  // the step is there for all, and all have read the one before
            if (step + 1 < args.product.num_steps) copies.copy(step + 1, shared);
            commit_copies();
            StepFragments fragments[kWarpTiles];
#pragma unroll
            for (int r = 0; r < kWarpTiles; ++r) {
                decode_step(shared.codes[unit % 2][first_tile + r], groups[r], within, fragments[r]);
            }
            multiply_step(fragments, shared.x[step % kStages], shared.sums[step % kStages], first_token, acc);
        }
    }
    __syncthreads();
    share(acc, first_tile * kTileRows, first_token, shared.tile);
    __syncthreads();
    store(args.product, block, shared.tile);
}
