// Rows of a packed matrix as numbers: the embedding of tokens. One block a row. Macros: as in gemv.cu (BITS, SCHEME,
// GROUP, SCALE_TYPE, BIAS_TYPE).
#include "gemv.cuh"
#include "tiles.cuh"

constexpr int kThreads = 128;
constexpr bool kIsWide = GROUP >= 128;
constexpr int kUnitGroups = kIsWide ? 1 : kUnitColumns / GROUP;

struct RowsArgs {
    GemvArgs matrix;    // codes, scales and sizes alone
    const int* rows;    // [gridDim.x]
    float* floats;      // [gridDim.x][in_features]
    float multiplier;
};

// Where a column stands: its step, the lane and the value (r, h) of fragment `fragment` (kernels/cuda/pack.py).
struct Place {
    int step, lane, fragment, value;
};

__device__ __forceinline__ Place place_of(int row, int column) {
    const int inner = column % kStepColumns, in_fragment = inner % 16;
    const int r = in_fragment / 8 * 2 + row % kTileRows / 8;
    return {column / kStepColumns, row % 8 * 4 + in_fragment % 8 / 2, inner / 16, 2 * r + in_fragment % 2};
}

// `word(i)` is word i of the three that hold a step of a lane.
template <class Word>
__device__ __forceinline__ int three_bit_code(Word word, int pair, int half_index) {
    const int shift = 16 * half_index;
    if (pair < 15) return word(pair / 5) >> (3 * (pair % 5) + shift) & 7;
    int code = 0;
#pragma unroll
    for (int bit = 0; bit < 3; ++bit) code |= (word(bit) >> (15 + shift) & 1) << bit;
    return code;
}

// The code of a place as stored, or the number itself of a dense matrix.
__device__ float code_at(const GemvArgs& m, int tile, const Place& p) {
    const size_t step = static_cast<size_t>(tile) * m.num_steps + p.step;
#if BITS == 4
    const u32 word = reinterpret_cast<const u32*>(m.codes)[(step * 32 + p.lane) * 4 + p.fragment];
    return word >> (4 * (p.value / 2) + 16 * (p.value % 2)) & 15;
#elif BITS == 8
    const size_t load = step * 2 + p.fragment / 2;
    return reinterpret_cast<const u8*>(m.codes)[(load * 32 + p.lane) * 16 + p.fragment % 2 * 8 + p.value];
#elif BITS == 16
    return __half2float(reinterpret_cast<const half*>(m.codes)[((step * 4 + p.fragment) * 32 + p.lane) * 8 + p.value]);
#else
    const auto word = [&](int i) {
        const int place = p.step % 4 * 3 + i;
        return reinterpret_cast<const u32*>(m.codes)[((step / 4 * 3 + place / 4) * 32 + p.lane) * 4 + place % 4];
    };
    return three_bit_code(word, p.fragment * 4 + p.value / 2, p.value % 2);
#endif
}

// Index into an array of pack_groups.
__device__ __forceinline__ size_t group_at(const GemvArgs& m, int tile, int row, int column) {
    const int r = row % kTileRows;
    if constexpr (kIsWide) {
        const int group = column / 128 >> m.group_shift;
        return ((static_cast<size_t>(tile) * m.num_groups + group) * 8 + r % 8) * 2 + r / 8;
    }
    const int units = m.num_steps * kStepColumns / kUnitColumns, unit = column / kUnitColumns;
    const int part = column % kUnitColumns / (kIsWide ? kUnitColumns : GROUP);
    return (((static_cast<size_t>(tile) * units + unit) * 8 + r % 8) * kUnitGroups + part) * 2 + r / 8;
}

__device__ __forceinline__ float value_at(int kind, const void* values, const half2* supers, size_t at, size_t super_at) {
    switch (kind) {
        case kF16: return __half2float(static_cast<const half*>(values)[at]);
        case kF32: return static_cast<const float*>(values)[at];
        case kU8: return static_cast<const u8*>(values)[at] * __half2float(reinterpret_cast<const half*>(supers)[super_at]);
        default: return static_cast<const i8*>(values)[at] * __half2float(reinterpret_cast<const half*>(supers)[super_at]);
    }
}

__device__ float weight_at(const GemvArgs& m, int row, int column) {
    const int tile = row / kTileRows, r = row % kTileRows;
    const float code = code_at(m, tile, place_of(row, column));
#if BITS == 16
    return code;
#else
    const size_t at = group_at(m, tile, row, column);
    const size_t super_at = ((static_cast<size_t>(tile) * m.num_supers + column / kSuperColumns) * 8 + r % 8) * 2 + r / 8;
    const float scale = value_at(SCALE_TYPE, m.scales, m.super_scales, at, super_at);
    if (SCHEME == 0) return (code - (1 << (BITS - 1))) * scale;
    if (SCHEME == 1) return (code - m.zeros[at]) * scale;
    return code * scale + value_at(BIAS_TYPE, m.biases, m.super_biases, at, super_at);
#endif
}

extern "C" __global__ void __launch_bounds__(kThreads) read_rows(const RowsArgs args) {
    const int row = args.rows[blockIdx.x];
    float* out = args.floats + static_cast<size_t>(blockIdx.x) * args.matrix.in_features;
    for (int column = threadIdx.x; column < args.matrix.in_features; column += kThreads) {
        const float v = weight_at(args.matrix, row, column) * args.multiplier;
        out[args.matrix.perm ? args.matrix.perm[column] : column] = v;
    }
}
