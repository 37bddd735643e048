// A tile of quantized codes times one row, block by block.
#pragma once

#include "core_affine.h"

namespace {

// A core may wait for as many lines as its nearest cache has buffers (24 on Zen 4, which is 15 GB/s): lines that are
// called into the next cache do not take those, and the product of a row then took 0.6 to 0.8 times as long.
constexpr size_t kAhead = 8192;

template <Codes C>
inline void prefetch_codes(const uint8_t* step) {
    for (size_t i = 0; i < step_bytes(C); i += 64) prefetch(step + kAhead + i);
}

inline void prefetch_values(const uint8_t* tile, const Block& block) {
    for (size_t i = block.values; i < block.codes; i += 64) prefetch(tile + kAhead + i);
}

// The part of one group, columns [c, end) of the row; `step` begins at the first and is moved on to the last.
template <Codes C, typename Row>
inline F32x16 dot_group(const Affine& group, const uint8_t*& step, const Row& row, int c, int end, F32x16 total) {
    for (; c < end; c += 32, step += step_bytes(C)) {
        prefetch_codes<C>(step);
        total = row.template add<C, 0, 8>(group, step, c, total);
    }
    return total;
}

// The same for the two groups of 32 columns.
template <Codes C, typename Row>
inline F32x16 dot_halves(const Affine* groups, const uint8_t*& step, const Row& row, int c, F32x16 total) {
    prefetch_codes<C>(step);
    total = row.template add<C, 0, 4>(groups[0], step, c, total);
    total = row.template add<C, 4, 8>(groups[1], step, c, total);
    step += step_bytes(C);
    return total;
}

// `Row::add<C, FIRST, END>` adds what quads [FIRST, END) of a step that begins at a column give. BY16: groups have 16 columns.
template <Codes C, bool BY16, typename Row>
F32x16 gemv_tile(const Tiles& w, const uint8_t* tile, const Row& row) {
    Affine groups[kMaxGroups];
    F32x16 total = zero_f32();
    for (int begin = 0; begin < w.padded_in; begin += kBlockColumns) {
        const Block block = block_at(w, begin);
        prefetch_values(tile, block);
        read_affines(w, tile, block, groups);
        const uint8_t* step = tile + block.codes;
        const int end = begin + block.columns, columns = BY16 ? 32 : w.group_columns;
        const Affine* group = groups;
        for (int c = begin; c < end; c += columns) {
            if constexpr (BY16) {
                total = dot_halves<C>(group, step, row, c, total);
                group += 2;
            } else {
                total = dot_group<C>(*group++, step, row, c, c + columns < end ? c + columns : end, total);
            }
        }
    }
    return total;
}

}  // namespace
