// A transposed matrix times some rows: blocks are decoded, turned round, and added up in float32.
#pragma once

#include "core_decode.h"
#include "core_math.h"

namespace {

using di::TransposedRows;

// [column][16] -> [16][column], sixteen columns at a time.
inline void turn_round(const float* block, int columns, float (*rows)[kBlockColumns]) {
    for (int c = 0; c < columns; c += 16) {
        uint32_t words[16][16];
        memcpy(words, block + c * 16, sizeof words);
        Quad turned[16];
        transpose(words, turned);
        for (int r = 0; r < 16; ++r) store_quad(rows[r] + c, turned[r]);
    }
}

// Rows [first, last) of one tile, `x` for the first of them.
inline void add_turned(const float (*w)[kBlockColumns], int count, int columns, const float* x, float* y) {
    for (int c = 0; c < columns; c += 16) {
        F32x16 even = load(y + c), odd = zero_f32();
        int r = 0;
        for (; r + 2 <= count; r += 2) {
            even = fma(load(w[r] + c), broadcast(x[r]), even);
            odd = fma(load(w[r + 1] + c), broadcast(x[r + 1]), odd);
        }
        if (r < count) even = fma(load(w[r] + c), broadcast(x[r]), even);
        store(y + c, even + odd);
    }
}

void add_transposed(const Tiles& w, int32_t first, int32_t last, const TransposedRows& rows) {
    alignas(64) float block[kBlockColumns * 16];
    alignas(64) float turned[16][kBlockColumns];
    for (int32_t tile = first / kTileRows; tile * kTileRows < last; ++tile) {
        const int32_t begin = tile * kTileRows > first ? tile * kTileRows : first;
        const int32_t end = (tile + 1) * kTileRows < last ? (tile + 1) * kTileRows : last;
        for (int32_t column = 0; column < w.padded_in; column += kBlockColumns) {
            const Block place = block_at(w, column);
            decode_block(w, w.data + static_cast<size_t>(tile) * w.tile_bytes, place, block);
            turn_round(block, place.columns, turned);
            for (int32_t r = 0; r < rows.count; ++r) {
                add_turned(turned + begin % kTileRows, end - begin, place.columns, rows.x + r * rows.x_stride + (begin - first),
                           rows.y + r * rows.y_stride + column);
            }
        }
    }
}

}  // namespace
