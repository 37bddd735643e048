// Matrix times vector straight from the codes, and matrix times many rows through a decoded block in cache.
#pragma once

#include "core.h"
#include "core_affine.h"
#include "core_int8.h"

namespace {

// dots[unit][row] += codes of columns in order times those of the rows. J counts the columns of a pair of quads of int4:
// column j of the first is nibble 2j, of the second nibble 2j + 1.
template <int UNIT, int PAIR, int J, int STEPS, int ROWS>
DI_INLINE void dot_nibbles(const Quad (&pairs)[STEPS], const float* x, int64_t stride, F32x16 (&dots)[STEPS * 32 / UNIT][ROWS]) {
    if constexpr (J < 8) {
        for (int s = 0; s < STEPS; ++s) {
            const F32x16 code = nibble<J % 4 * 2 + J / 4>(pairs[s]);
            F32x16(&sums)[ROWS] = dots[(32 * s + 8 * PAIR) / UNIT];
            for (int r = 0; r < ROWS; ++r) sums[r] = fma(code, broadcast(x[r * stride + 32 * s + 8 * PAIR + J]), sums[r]);
        }
        dot_nibbles<UNIT, PAIR, J + 1>(pairs, x, stride, dots);
    }
}

template <int UNIT, int K, int J, int STEPS, int ROWS>
DI_INLINE void dot_columns(const Quad (&quads)[STEPS], const float* x, int64_t stride, F32x16 (&dots)[STEPS * 32 / UNIT][ROWS]) {
    if constexpr (J < 4) {
        for (int s = 0; s < STEPS; ++s) {
            const F32x16 code = column<J>(quads[s]);
            F32x16(&sums)[ROWS] = dots[(32 * s + 4 * K) / UNIT];
            for (int r = 0; r < ROWS; ++r) sums[r] = fma(code, broadcast(x[r * stride + 32 * s + 4 * K + J]), sums[r]);
        }
        dot_columns<UNIT, K, J + 1>(quads, x, stride, dots);
    }
}

// Quad K and those behind it of each of the steps; of int4 two at a time.
template <Codes C, int UNIT, int STEPS, int K, int ROWS>
DI_INLINE void dot_steps(const uint8_t* step, const float* x, int64_t stride, F32x16 (&dots)[STEPS * 32 / UNIT][ROWS]) {
    if constexpr (K < 8) {
        Quad quads[STEPS];
        if constexpr (C == Codes::kInt4) {
            for (int s = 0; s < STEPS; ++s) quads[s] = load_quad(step + s * step_bytes(C) + 32 * K);
            dot_nibbles<UNIT, K / 2, 0>(quads, x, stride, dots);
            dot_steps<C, UNIT, STEPS, K + 2>(step, x, stride, dots);
        } else {
            for (int s = 0; s < STEPS; ++s) quads[s] = quad_at<C, K>(step + s * step_bytes(C));
            dot_columns<UNIT, K, 0>(quads, x, stride, dots);
            dot_steps<C, UNIT, STEPS, K + 1>(step, x, stride, dots);
        }
    }
}

template <int UNITS, int ROWS>
inline void clear_dots(F32x16 (&dots)[UNITS][ROWS]) {
    for (int u = 0; u < UNITS; ++u) {
        for (int r = 0; r < ROWS; ++r) dots[u][r] = zero_f32();
    }
}

// Rows in float32, as `gemv_tile` wants them. Few need several units side by side, which hide the latency of fma.
template <int ROWS>
struct FloatRows {
    static constexpr int kSteps = ROWS < kFloatSteps ? kFloatSteps / ROWS : 1;
    const di::Input& in;
    int first;

    template <Codes C, int UNIT, int STEPS>
    void add(const Groups& groups, const uint8_t* step, int begin, int place, F32x16 (&totals)[ROWS]) const {
        constexpr int kUnits = STEPS * 32 / UNIT;
        const int64_t stride = in.stride;
        F32x16 dots[kUnits][ROWS];
        clear_dots(dots);
        dot_steps<C, UNIT, STEPS, 0>(step, in.x + first * stride + begin + place, stride, dots);
        const float* unit_sums = (UNIT == 16 ? in.sums16 : in.sums32) + first * (stride / UNIT) + (begin + place) / UNIT;
        for (int u = 0; u < kUnits; ++u) {
            const Affine& group = groups.at(place + u * UNIT);
            for (int r = 0; r < ROWS; ++r) totals[r] = group.add_to(totals[r], dots[u][r], unit_sums[r * (stride / UNIT) + u]);
        }
    }
};

template <Codes C, bool BY16>
void gemv_float_tile(const Product& p, int32_t tile) {
    for_row_shares<kFloatRows>(0, p.input->rows, [&](int first, auto count) {
        constexpr int kRows = decltype(count)::value;
        F32x16 totals[kRows];
        for (F32x16& total : totals) total = zero_f32();
        gemv_tile<C, BY16>(*p.w, tile_at(*p.w, tile), FloatRows<kRows>{*p.input, first}, totals);
        for (int r = 0; r < kRows; ++r) finish(p, tile, first + r, totals[r]);
    });
}

// UNITS units of 32 columns of a dense tile, in the order of `gemm_tile`.
template <Codes C, int UNITS>
inline F32x16 add_dense(const uint8_t* tile, const float* x, int column, F32x16 total) {
    F32x16 dots[UNITS];
    for (F32x16& dot : dots) dot = zero_f32();
    for (int c = column; c < column + 32; ++c) {
        for (int u = 0; u < UNITS; ++u) dots[u] = fma(dense_column<C>(tile, c + 32 * u), broadcast(x[c + 32 * u]), dots[u]);
    }
    for (const F32x16& dot : dots) total = total + dot;
    return total;
}

template <Codes C>
void gemv_dense_tile(const Product& p, int32_t tile) {
    const uint8_t* data = tile_at(*p.w, tile);
    F32x16 total = zero_f32();
    int c = 0;
    for (; c + 32 * kFloatSteps <= p.w->padded_in; c += 32 * kFloatSteps) total = add_dense<C, kFloatSteps>(data, p.input->x, c, total);
    for (; c < p.w->padded_in; c += 32) total = add_dense<C, 1>(data, p.input->x, c, total);
    finish(p, tile, 0, total);
}

// A block of columns as float32 [column][16]: dense weights, or codes with the scales of their groups.
struct FloatBlock {
    alignas(64) float columns[kBlockColumns * 16];
    Affine groups[kMaxGroups];
};

template <Codes C, int K>
inline void spread_quads(const uint8_t* step, float* out) {
    if constexpr (K < 8) {
        const Quad q = quad_at<C, K>(step);
        store(out, column<0>(q));
        store(out + 16, column<1>(q));
        store(out + 32, column<2>(q));
        store(out + 48, column<3>(q));
        spread_quads<C, K + 1>(step, out + 64);
    }
}

template <Codes C>
void read_block(const Tiles& w, const uint8_t* tile, const Block& block, FloatBlock& out) {
    const uint8_t* step = tile + block.codes;
    for (int c = 0; c < block.columns; c += 32, step += step_bytes(C)) spread_quads<C, 0>(step, out.columns + c * 16);
    read_affines(w, tile, block, out.groups);
}

// sums[ROWS][16] += the block's part of W x for ROWS rows from `row` on, unit by unit.
template <bool IS_DENSE, int UNIT, int ROWS>
void gemm_block(const FloatBlock& block, int group_columns, int begin, int columns, const di::Input& in, int row, float* sums) {
    const int64_t stride = in.stride;
    const float* x = in.x + row * stride + begin;
    const float* unit_sums = (UNIT == 16 ? in.sums16 : in.sums32) + row * (stride / UNIT) + begin / UNIT;
    for (int c = 0; c < columns; c += UNIT) {
        F32x16 dots[ROWS];
        for (int r = 0; r < ROWS; ++r) dots[r] = zero_f32();
        for (int k = c; k < c + UNIT; ++k) {
            const F32x16 weight = load(block.columns + k * 16);
            for (int r = 0; r < ROWS; ++r) dots[r] = fma(weight, broadcast(x[r * stride + k]), dots[r]);
        }
        for (int r = 0; r < ROWS; ++r) {
            const F32x16 total = load(sums + r * 16);
            if constexpr (IS_DENSE) {
                store(sums + r * 16, total + dots[r]);
            } else {
                const Affine& group = block.groups[c / group_columns];
                store(sums + r * 16, group.add_to(total, dots[r], unit_sums[r * (stride / UNIT) + c / UNIT]));
            }
        }
    }
}

// `read(place, block)` fills a block.
template <bool IS_DENSE, int UNIT, typename Read>
void gemm_tile(const Product& p, int32_t tile, Read&& read) {
    alignas(64) float sums[kMaxRows * 16];
    FloatBlock block;
    const di::Input& in = *p.input;
    memset(sums, 0, sizeof(float) * 16 * static_cast<size_t>(in.rows));
    for (int begin = 0; begin < p.w->padded_in; begin += kBlockColumns) {
        const Block place = block_at(*p.w, begin);
        read(place, block);
        for_row_shares<kGemmRows>(0, in.rows, [&](int r, auto rows) {
            gemm_block<IS_DENSE, UNIT, decltype(rows)::value>(block, p.w->group_columns, begin, place.columns, in, r, sums + r * 16);
        });
    }
    for (int r = 0; r < in.rows; ++r) finish(p, tile, r, load(sums + r * 16));
}

template <Codes C>
void linear_dense_of(const Product& p, int32_t tile_begin, int32_t tile_end) {
    for (int32_t t = tile_begin; t < tile_end; ++t) {
        const auto read = [&](const Block& place, FloatBlock& block) {
            decode_dense<C>(tile_at(*p.w, t) + place.codes, place, block.columns);
        };
        p.input->rows == 1 ? gemv_dense_tile<C>(p, t) : gemm_tile<true, 32>(p, t, read);
    }
}

template <Codes C, bool BY16>
void linear_float_of(const Product& p, int32_t tile_begin, int32_t tile_end) {
    for (int32_t t = tile_begin; t < tile_end; ++t) {
        const auto read = [&](const Block& place, FloatBlock& block) { read_block<C>(*p.w, tile_at(*p.w, t), place, block); };
        p.input->rows <= kFloatRows ? gemv_float_tile<C, BY16>(p, t) : gemm_tile<false, kUnit<BY16>>(p, t, read);
    }
}

template <Codes C>
void linear_float(const Product& p, int32_t tile_begin, int32_t tile_end) {
    p.w->group_columns == 16 ? linear_float_of<C, true>(p, tile_begin, tile_end) : linear_float_of<C, false>(p, tile_begin, tile_end);
}

void linear(const Product& p, int32_t tile_begin, int32_t tile_end) {
    switch (p.w->codes) {
        case Codes::kF32: return linear_dense_of<Codes::kF32>(p, tile_begin, tile_end);
        case Codes::kF16: return linear_dense_of<Codes::kF16>(p, tile_begin, tile_end);
        case Codes::kBf16: return linear_dense_of<Codes::kBf16>(p, tile_begin, tile_end);
        default: break;
    }
    if (p.input->codes) return linear_int8(p, tile_begin, tile_end);
    switch (p.w->codes) {
        case Codes::kInt3: return linear_float<Codes::kInt3>(p, tile_begin, tile_end);
        case Codes::kInt6: return linear_float<Codes::kInt6>(p, tile_begin, tile_end);
        case Codes::kInt4: return linear_float<Codes::kInt4>(p, tile_begin, tile_end);
        default: return linear_float<Codes::kInt8>(p, tile_begin, tile_end);
    }
}

}  // namespace
