// Products of codes with int8 activations: integer dot products over 32 (or 16) columns, scaled and summed in float32.
//
// One row and many rows do the same operations in the same order, so a token's result does not depend on how its prompt
// was cut into pieces.
#pragma once

#include "core_affine.h"

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

template <Codes C>
F32x16 gemv_int8_tile(const Tiles& w, const uint8_t* tile, const di::Input& in) {
    F32x16 total = zero_f32();
    Affine affine;
    int next_group_at = 0, group = 0;
    for (int c = 0; c < w.padded_in; c += 32) {
        if (c == next_group_at) {
            affine = Affine(group_scale(w, tile, group++));
            next_group_at += w.group_columns;
        }
        const uint8_t* step = tile + c / 32 * step_bytes(C);
        prefetch_codes<C>(step);
        const F32x16 dot = int8_dot<C, 0, 8>(step, in.codes + c);
        total = affine.add_to(total, dot, in.steps[c / 32], in.sums32[c / 32]);
    }
    return total;
}

template <Codes C>
F32x16 gemv_int8_tile_by16(const Tiles& w, const uint8_t* tile, const di::Input& in) {
    F32x16 total = zero_f32();
    for (int c = 0; c < w.padded_in; c += 32) {
        const uint8_t* step = tile + c / 32 * step_bytes(C);
        prefetch_codes<C>(step);
        const Affine low(group_scale(w, tile, c / 16)), high(group_scale(w, tile, c / 16 + 1));
        total = low.add_to(total, int8_dot<C, 0, 4>(step, in.codes + c), in.steps[c / 32], in.sums16[c / 16]);
        total = high.add_to(total, int8_dot<C, 4, 8>(step, in.codes + c), in.steps[c / 32], in.sums16[c / 16 + 1]);
    }
    return total;
}

// A block of columns with its codes one a byte and its scales in float32.
struct CodeBlock {
    alignas(64) uint8_t quads[kBlockColumns / 4 * 64];
    Affine affines[kBlockColumns / 16];  // one per 32 columns, or one per 16
};

template <Codes C, int K>
inline void unpack_quads(const uint8_t* step, uint8_t* quads) {
    if constexpr (K < 8) {
        store_quad(quads + 64 * K, quad_at<C, K>(step));
        unpack_quads<C, K + 1>(step, quads);
    }
}

template <Codes C, int UNIT>
void unpack_block(const Tiles& w, const uint8_t* tile, int begin, int columns, CodeBlock& block) {
    for (int c = 0; c < columns; c += 32) {
        unpack_quads<C, 0>(tile + (begin + c) / 32 * step_bytes(C), block.quads + c / 4 * 64);
    }
    int group = -1;
    for (int c = 0; c < columns; c += UNIT) {
        const int wanted = (begin + c) / w.group_columns;
        Affine& affine = block.affines[c / UNIT];
        affine = wanted == group ? block.affines[c / UNIT - 1] : Affine(group_scale(w, tile, wanted));
        group = wanted;
    }
}

// sums[ROWS][16] += the block's part of W x, for ROWS rows from `row` on.
template <Codes C, int UNIT, int ROWS>
void gemm_int8_block(const CodeBlock& block, int begin, int columns, const di::Input& in, int row, float* sums) {
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
        const Affine affine = block.affines[c / UNIT];
        for (int r = 0; r < ROWS; ++r) {
            const float step = steps[r * (in.stride / 32) + c / 32], sum = unit_sums[r * (in.stride / UNIT) + c / UNIT];
            totals[r] = affine.add_to(totals[r], dots[r].value(), step, sum);
        }
    }
    for (int r = 0; r < ROWS; ++r) store(sums + r * 16, totals[r]);
}

template <Codes C, int UNIT>
void gemm_int8_tile(const Product& p, int32_t tile) {
    constexpr int kRows = kInt8Rows;
    alignas(64) float sums[kMaxRows * 16];
    CodeBlock block;
    const di::Input& in = *p.input;
    memset(sums, 0, sizeof(float) * 16 * static_cast<size_t>(in.rows));
    for (int begin = 0; begin < p.w->padded_in; begin += kBlockColumns) {
        const int rest = p.w->padded_in - begin, columns = rest < kBlockColumns ? rest : kBlockColumns;
        unpack_block<C, UNIT>(*p.w, tile_at(*p.w, tile), begin, columns, block);
        int r = 0;
        for (; r + kRows <= in.rows; r += kRows) gemm_int8_block<C, UNIT, kRows>(block, begin, columns, in, r, sums + r * 16);
        for (; r < in.rows; ++r) gemm_int8_block<C, UNIT, 1>(block, begin, columns, in, r, sums + r * 16);
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
            finish(p, t, 0, by16 ? gemv_int8_tile_by16<C>(*p.w, tile, *p.input) : gemv_int8_tile<C>(*p.w, tile, *p.input));
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
