// Products of codes with int8 activations: integer dot products over 32 (or 16) columns, scaled and summed in float32.
//
// One row and many rows do the same operations in the same order, so a token's result does not depend on how its prompt
// was cut into pieces.
#pragma once

#include "core_affine.h"
#include "core_gemv.h"

namespace {

template <Codes C>
using Dot = CodeDot<C == Codes::kInt8>;

template <Codes C, int K, int END>
inline void dot_codes(const uint8_t* step, const int8_t* x, Dot<C>& dot) {
    if constexpr (K < END) {
        dot.add(quad_at<C, K>(step), x + 4 * K);
        dot_codes<C, K + 1, END>(step, x, dot);
    }
}

template <Codes C, int FIRST, int END>
inline F32x16 int8_dot(const uint8_t* step, const int8_t* x) {
    Dot<C> dot;
    dot_codes<C, FIRST, END>(step, x, dot);
    return dot.value();
}

// A row of int8 codes, as `gemv_tile` wants it.
struct CodesRow {
    const di::Input& in;

    template <Codes C, int FIRST, int END>
    F32x16 add(const Affine& group, const uint8_t* step, int c, F32x16 total) const {
        const float sum = END - FIRST == 8 ? in.sums32[c / 32] : in.sums16[c / 16 + FIRST / 4];
        return group.add_to(total, int8_dot<C, FIRST, END>(step, in.codes + c), in.steps[c / 32], sum);
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

// A number of rows as a type.
template <int N>
struct Rows {
    static constexpr int value = N;
};

template <Codes C, int UNIT>
void gemm_int8_tile(const Product& p, int32_t tile) {
    alignas(64) float sums[kMaxRows * 16];
    CodeBlock block;
    const di::Input& in = *p.input;
    memset(sums, 0, sizeof(float) * 16 * static_cast<size_t>(in.rows));
    for (int begin = 0; begin < p.w->padded_in; begin += kBlockColumns) {
        const Block place = block_at(*p.w, begin);
        unpack_block<C>(*p.w, tile_at(*p.w, tile), place, block);
        const auto add_rows = [&](auto rows, int r) {
            gemm_int8_block<C, UNIT, decltype(rows)::value>(block, p.w->group_columns, begin, place.columns, in, r, sums + r * 16);
        };
        int r = 0;
        for (; r + kInt8Rows <= in.rows; r += kInt8Rows) add_rows(Rows<kInt8Rows>(), r);
        for (; r < in.rows; ++r) add_rows(Rows<1>(), r);
    }
    for (int r = 0; r < in.rows; ++r) finish(p, tile, r, load(sums + r * 16));
}

template <Codes C>
void linear_int8_of(const Product& p, int32_t tile_begin, int32_t tile_end) {
    const bool by16 = p.w->group_columns == 16;
    for (int32_t t = tile_begin; t < tile_end; ++t) {
        const uint8_t* tile = tile_at(*p.w, t);
        if (p.input->rows > 1) {
            by16 ? gemm_int8_tile<C, 16>(p, t) : gemm_int8_tile<C, 32>(p, t);
        } else {
            finish(p, t, 0, by16 ? gemv_tile<C, true>(*p.w, tile, CodesRow{*p.input}) : gemv_tile<C, false>(*p.w, tile, CodesRow{*p.input}));
        }
    }
}

void linear_int8(const Product& p, int32_t tile_begin, int32_t tile_end) {
    switch (p.w->codes) {
        case Codes::kInt3: return linear_int8_of<Codes::kInt3>(p, tile_begin, tile_end);
        case Codes::kInt4: return linear_int8_of<Codes::kInt4>(p, tile_begin, tile_end);
        default: return linear_int8_of<Codes::kInt8>(p, tile_begin, tile_end);
    }
}

}  // namespace
