// Products of codes with int8 activations: integer dot products over 32 (or 16) columns, scaled and summed in float32.
//
// One row and many rows do the same operations in the same order, so a token's result does not depend on how its prompt
// was cut into pieces.
#pragma once

#include "core_affine.h"
#include "core_gemv.h"

namespace {

constexpr int kFewRows = 8;  // that decode together: more are worth unpacking a block of codes for

template <Codes C>
using Dot = CodeDot<C == Codes::kInt8 || C == Codes::kInt6>;

template <Codes C, int K, int END, int ROWS>
DI_INLINE void dot_codes(const uint8_t* step, const int8_t* x, int64_t stride, Dot<C> (&dots)[ROWS]) {
    if constexpr (K < END) {
        if constexpr (C == Codes::kInt6 && kNibbleDots) {
            const Quad small = low_nibbles<K>(step), large = high_pairs<K, 0>(step) + repeat(kInt6Offset / 16 * 0x01010101u);
            for (int r = 0; r < ROWS; ++r) dots[r].add(small, large, x + r * stride + 4 * K);
        } else {
            const Quad quad = quad_at<C, K>(step);
            for (int r = 0; r < ROWS; ++r) dots[r].add(quad, x + r * stride + 4 * K);
        }
        dot_codes<C, K + 1, END>(step, x, stride, dots);
    }
}

// Rows of int8 codes, as `gemv_tile` wants them.
template <int ROWS>
struct CodeRows {
    static constexpr int kSteps = 1;
    const di::Input& in;
    int first;

    template <Codes C, int UNIT, int STEPS>
    void add(const Groups& groups, const uint8_t* step, int begin, int place, F32x16 (&totals)[ROWS]) const {
        add_unit<C, UNIT, 0>(groups.at(place), step, begin + place, totals);
        if constexpr (UNIT == 16) add_unit<C, UNIT, 4>(groups.at(place + 16), step, begin + place, totals);
    }

    // Quads from FIRST on of the step of column c.
    template <Codes C, int UNIT, int FIRST>
    void add_unit(const Affine& group, const uint8_t* step, int c, F32x16 (&totals)[ROWS]) const {
        const int64_t stride = in.stride;
        const float* unit_sums = (UNIT == 16 ? in.sums16 : in.sums32) + first * (stride / UNIT) + (c + 4 * FIRST) / UNIT;
        const float* steps = in.steps + first * (stride / 32) + c / 32;
        Dot<C> dots[ROWS];
        dot_codes<C, FIRST, FIRST + UNIT / 4>(step, in.codes + first * stride + c, stride, dots);
        for (int r = 0; r < ROWS; ++r) {
            totals[r] = group.add_to(totals[r], dots[r].value(), steps[r * (stride / 32)], unit_sums[r * (stride / UNIT)]);
        }
    }
};

// A block of columns with its codes one a byte and its scales in float32.
struct CodeBlock {
    alignas(64) uint8_t quads[kBlockColumns / 4 * 64];
    Affine groups[kMaxGroups];
};

template <Codes C, int K>
inline void unpack_quads(const uint8_t* step, uint8_t* quads) {
    if constexpr (K < 8) {
        store_quad(quads + 64 * K, quad_at<C, K>(step));
        unpack_quads<C, K + 1>(step, quads);
    }
}

template <Codes C>
void unpack_block(const Tiles& w, const uint8_t* tile, const Block& block, CodeBlock& out) {
    const uint8_t* step = tile + block.codes;
    for (int c = 0; c < block.columns; c += 32, step += step_bytes(C)) unpack_quads<C, 0>(step, out.quads + c / 4 * 64);
    read_affines(w, tile, block, out.groups);
}

// sums[ROWS][16] += the block's part of W x, for ROWS rows from `row` on.
template <Codes C, int UNIT, int ROWS>
void gemm_int8_block(const CodeBlock& block, int group_columns, int begin, int columns, const di::Input& in, int row, float* sums) {
    const int8_t* codes = in.codes + static_cast<int64_t>(row) * in.stride + begin;
    const float* steps = in.steps + static_cast<int64_t>(row) * (in.stride / 32) + begin / 32;
    const float* unit_sums = UNIT == 16 ? in.sums16 : in.sums32;
    unit_sums += static_cast<int64_t>(row) * (in.stride / UNIT) + begin / UNIT;
    F32x16 totals[ROWS];
    for (int r = 0; r < ROWS; ++r) totals[r] = load(sums + r * 16);
    for (int c = 0; c < columns; c += UNIT) {
        Dot<C> dots[ROWS];  // independent sums side by side: one alone would wait for itself
        for (int k = 0; k < UNIT / 4; ++k) {
            const Quad quad = load_quad(block.quads + (c / 4 + k) * 64);
            for (int r = 0; r < ROWS; ++r) dots[r].add(quad, codes + r * static_cast<int64_t>(in.stride) + c + 4 * k);
        }
        const Affine affine = block.groups[c / group_columns];
        for (int r = 0; r < ROWS; ++r) {
            const float step = steps[r * (in.stride / 32) + c / 32], sum = unit_sums[r * (in.stride / UNIT) + c / UNIT];
            totals[r] = affine.add_to(totals[r], dots[r].value(), step, sum);
        }
    }
    for (int r = 0; r < ROWS; ++r) store(sums + r * 16, totals[r]);
}

// Some rows straight from the codes.
template <Codes C, bool BY16>
void gemv_int8_tile(const Product& p, int32_t tile, int first_row) {
    for_row_shares<kInt8Rows>(first_row, p.input->rows, [&](int first, auto count) {
        constexpr int kRows = decltype(count)::value;
        F32x16 totals[kRows];
        for (F32x16& total : totals) total = zero_f32();
        gemv_tile<C, BY16>(*p.w, tile_at(*p.w, tile), CodeRows<kRows>{*p.input, first}, totals);
        for (int r = 0; r < kRows; ++r) finish(p, tile, first + r, totals[r]);
    });
}

// Many rows, whole shares of kInt8Rows, through unpacked blocks.
template <Codes C, int UNIT>
void gemm_int8_tile(const Product& p, int32_t tile, int num_rows) {
    alignas(64) float sums[kMaxRows * 16];
    CodeBlock block;
    memset(sums, 0, sizeof(float) * 16 * static_cast<size_t>(num_rows));
    for (int begin = 0; begin < p.w->padded_in; begin += kBlockColumns) {
        const Block place = block_at(*p.w, begin);
        unpack_block<C>(*p.w, tile_at(*p.w, tile), place, block);
        for (int r = 0; r < num_rows; r += kInt8Rows) {
            gemm_int8_block<C, UNIT, kInt8Rows>(block, p.w->group_columns, begin, place.columns, *p.input, r, sums + r * 16);
        }
    }
    for (int r = 0; r < num_rows; ++r) finish(p, tile, r, load(sums + r * 16));
}

template <Codes C, bool BY16>
void linear_int8_as(const Product& p, int32_t tile_begin, int32_t tile_end) {
    const int rows = p.input->rows, whole = rows > kFewRows ? rows / kInt8Rows * kInt8Rows : 0;
    for (int32_t t = tile_begin; t < tile_end; ++t) {
        if (whole > 0) gemm_int8_tile<C, kUnit<BY16>>(p, t, whole);
        gemv_int8_tile<C, BY16>(p, t, whole);
    }
}

template <Codes C>
void linear_int8_of(const Product& p, int32_t tile_begin, int32_t tile_end) {
    p.w->group_columns == 16 ? linear_int8_as<C, true>(p, tile_begin, tile_end) : linear_int8_as<C, false>(p, tile_begin, tile_end);
}

void linear_int8(const Product& p, int32_t tile_begin, int32_t tile_end) {
    switch (p.w->codes) {
        case Codes::kInt3: return linear_int8_of<Codes::kInt3>(p, tile_begin, tile_end);
        case Codes::kInt6: return linear_int8_of<Codes::kInt6>(p, tile_begin, tile_end);
        case Codes::kInt4: return linear_int8_of<Codes::kInt4>(p, tile_begin, tile_end);
        default: return linear_int8_of<Codes::kInt8>(p, tile_begin, tile_end);
    }
}

}  // namespace
