// Matrix times vector straight from the codes, and matrix times many rows through a decoded block in cache.
#pragma once

#include "core.h"
#include "core_affine.h"
#include "core_int8.h"

namespace {

// Four sums, for the four columns of a quad, hide the latency of fma.
struct Sums {
    F32x16 a = zero_f32(), b = zero_f32(), c = zero_f32(), d = zero_f32();
    F32x16 total() const { return (a + b) + (c + d); }
};

template <Codes C, int K, int END>
inline void dot_quads(const uint8_t* step, const float* x, Sums& sums) {
    if constexpr (K < END) {
        const Quad q = quad_at<C, K>(step);
        sums.a = fma(column<0>(q), broadcast(x[4 * K]), sums.a);
        sums.b = fma(column<1>(q), broadcast(x[4 * K + 1]), sums.b);
        sums.c = fma(column<2>(q), broadcast(x[4 * K + 2]), sums.c);
        sums.d = fma(column<3>(q), broadcast(x[4 * K + 3]), sums.d);
        dot_quads<C, K + 1, END>(step, x, sums);
    }
}

// The same for int4, two quads (eight columns) at a time: column j is nibble 2j, column 4 + j nibble 2j + 1.
template <int PAIR, int END>
inline void dot_pairs(const uint8_t* step, const float* x, Sums& sums) {
    if constexpr (PAIR < END) {
        const Quad q = load_quad(step + 64 * PAIR);
        sums.a = fma(nibble<0>(q), broadcast(x[8 * PAIR]), sums.a);
        sums.b = fma(nibble<2>(q), broadcast(x[8 * PAIR + 1]), sums.b);
        sums.c = fma(nibble<4>(q), broadcast(x[8 * PAIR + 2]), sums.c);
        sums.d = fma(nibble<6>(q), broadcast(x[8 * PAIR + 3]), sums.d);
        sums.a = fma(nibble<1>(q), broadcast(x[8 * PAIR + 4]), sums.a);
        sums.b = fma(nibble<3>(q), broadcast(x[8 * PAIR + 5]), sums.b);
        sums.c = fma(nibble<5>(q), broadcast(x[8 * PAIR + 6]), sums.c);
        sums.d = fma(nibble<7>(q), broadcast(x[8 * PAIR + 7]), sums.d);
        dot_pairs<PAIR + 1, END>(step, x, sums);
    }
}

template <Codes C, int FIRST, int END>
inline F32x16 codes_dot(const uint8_t* step, const float* x) {
    Sums sums;
    if constexpr (C == Codes::kInt4) {
        dot_pairs<FIRST / 2, END / 2>(step, x, sums);
    } else {
        dot_quads<C, FIRST, END>(step, x, sums);
    }
    return sums.total();
}

// A row in float32, as `gemv_tile` wants it.
struct FloatRow {
    const di::Input& in;

    template <Codes C, int FIRST, int END>
    F32x16 add(const Affine& group, const uint8_t* step, int c, F32x16 total) const {
        const float sum = END - FIRST == 8 ? in.sums32[c / 32] : in.sums16[c / 16 + FIRST / 4];
        return group.add_to(total, codes_dot<C, FIRST, END>(step, in.x + c), sum);
    }
};

template <Codes C>
F32x16 gemv_dense_tile(const Tiles& w, const uint8_t* tile, const di::Input& in) {
    Sums sums;
    for (int i = 0; i < w.padded_in; i += 4) {
        sums.a = fma(dense_column<C>(tile, i), broadcast(in.x[i]), sums.a);
        sums.b = fma(dense_column<C>(tile, i + 1), broadcast(in.x[i + 1]), sums.b);
        sums.c = fma(dense_column<C>(tile, i + 2), broadcast(in.x[i + 2]), sums.c);
        sums.d = fma(dense_column<C>(tile, i + 3), broadcast(in.x[i + 3]), sums.d);
    }
    return sums.total();
}

using GemvTile = F32x16 (*)(const Tiles&, const uint8_t*, const di::Input&);

template <Codes C>
F32x16 gemv_float_tile(const Tiles& w, const uint8_t* tile, const di::Input& in) {
    return w.group_columns == 16 ? gemv_tile<C, true>(w, tile, FloatRow{in}) : gemv_tile<C, false>(w, tile, FloatRow{in});
}

GemvTile gemv_for(const Tiles& w) {
    switch (w.codes) {
        case Codes::kF32: return gemv_dense_tile<Codes::kF32>;
        case Codes::kF16: return gemv_dense_tile<Codes::kF16>;
        case Codes::kBf16: return gemv_dense_tile<Codes::kBf16>;
        case Codes::kInt3: return gemv_float_tile<Codes::kInt3>;
        case Codes::kInt4: return gemv_float_tile<Codes::kInt4>;
        case Codes::kInt8: break;
    }
    return gemv_float_tile<Codes::kInt8>;
}

// sums[ROWS][16] += block[columns][16]^T x[ROWS][stride]
template <int ROWS>
void gemm_block(const float* block, int columns, const float* x, int64_t stride, float* sums) {
    F32x16 acc[ROWS];
    for (int r = 0; r < ROWS; ++r) acc[r] = load(sums + r * 16);
    for (int c = 0; c < columns; ++c) {
        const F32x16 weight = load(block + c * 16);
        for (int r = 0; r < ROWS; ++r) acc[r] = fma(weight, broadcast(x[r * stride + c]), acc[r]);
    }
    for (int r = 0; r < ROWS; ++r) store(sums + r * 16, acc[r]);
}

// Calls gemm_block with `rows` as its template argument, rows <= kGemmRows.
template <int ROWS>
void gemm_rows(int rows, const float* block, int columns, const float* x, int64_t stride, float* sums) {
    if constexpr (ROWS > 0) {
        if (rows == ROWS) return gemm_block<ROWS>(block, columns, x, stride, sums);
        gemm_rows<ROWS - 1>(rows, block, columns, x, stride, sums);
    }
}

void gemm_tile(const Product& p, int32_t tile) {
    alignas(64) float block[kBlockColumns * 16];
    alignas(64) float sums[kMaxRows * 16];
    const di::Input& in = *p.input;
    memset(sums, 0, sizeof(float) * 16 * static_cast<size_t>(in.rows));
    for (int begin = 0; begin < p.w->padded_in; begin += kBlockColumns) {
        const Block place = block_at(*p.w, begin);
        decode_block(*p.w, tile_at(*p.w, tile), place, block);
        for (int r = 0; r < in.rows; r += kGemmRows) {
            const int rows = in.rows - r < kGemmRows ? in.rows - r : kGemmRows;
            const float* x = in.x + static_cast<int64_t>(r) * in.stride + begin;
            gemm_rows<kGemmRows>(rows, block, place.columns, x, in.stride, sums + r * 16);
        }
    }
    for (int r = 0; r < in.rows; ++r) finish(p, tile, r, load(sums + r * 16));
}

void linear(const Product& p, int32_t tile_begin, int32_t tile_end) {
    if (p.input->codes && !di::is_dense(p.w->codes)) return linear_int8(p, tile_begin, tile_end);
    if (p.input->rows > 1) {
        for (int32_t t = tile_begin; t < tile_end; ++t) gemm_tile(p, t);
        return;
    }
    const GemvTile gemv = gemv_for(*p.w);
    for (int32_t t = tile_begin; t < tile_end; ++t) finish(p, t, 0, gemv(*p.w, tile_at(*p.w, t), *p.input));
}

}  // namespace
