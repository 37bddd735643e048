// A tile of quantized codes times a few rows, block by block.
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

// Columns whose codes are multiplied and summed before a scale is: the same for every number of rows, and so is their
// order. A token's result does not depend on what runs beside it.
template <bool BY16>
constexpr int kUnit = BY16 ? 16 : 32;

// The scales of a block's groups, by its columns. A shift, since a division would take as long as a step.
struct Groups {
    Affine affines[kMaxGroups];
    int shift;
    explicit Groups(const Tiles& w) : shift(4) {
        while (1 << shift < w.group_columns) ++shift;
    }
    const Affine& at(int column) const { return affines[column >> shift]; }
};

// `Rows::add<C, UNIT, STEPS>` adds to the totals what STEPS steps from column `begin + place` on give; `place` is the column
// within the block.
template <Codes C, bool BY16, typename Rows, int ROWS>
void gemv_tile(const Tiles& w, const uint8_t* tile, const Rows& rows, F32x16 (&totals)[ROWS]) {
    Groups groups(w);
    for (int begin = 0; begin < w.padded_in; begin += kBlockColumns) {
        const Block block = block_at(w, begin);
        prefetch_values(tile, block);
        read_affines(w, tile, block, groups.affines);
        const uint8_t* step = tile + block.codes;
        int place = 0;
        for (; place + 32 * Rows::kSteps <= block.columns; place += 32 * Rows::kSteps) {
            for (int i = 0; i < Rows::kSteps; ++i) prefetch_codes<C>(step + i * step_bytes(C));
            rows.template add<C, kUnit<BY16>, Rows::kSteps>(groups, step, begin, place, totals);
            step += Rows::kSteps * step_bytes(C);
        }
        for (; place < block.columns; place += 32, step += step_bytes(C)) {
            prefetch_codes<C>(step);
            rows.template add<C, kUnit<BY16>, 1>(groups, step, begin, place, totals);
        }
    }
}

// A number of rows as a type.
template <int N>
struct RowCount {
    static constexpr int value = N;
};

// Calls `body` with `rows` (1 to MOST) as a type.
template <int MOST, typename F>
inline void with_row_count(int rows, F&& body) {
    if constexpr (MOST > 1) {
        if (rows < MOST) return with_row_count<MOST - 1>(rows, body);
    }
    body(RowCount<MOST>());
}

// Rows [first, last) in shares: as many of MOST as there are, and what is left in even ones of up to four, since every
// further number of rows is to be compiled. `body(first, row count)`.
template <int MOST, typename F>
inline void for_row_shares(int first, int last, F&& body) {
    constexpr int kRest = MOST < 4 ? MOST : 4;
    if constexpr (MOST > kRest) {
        for (; first + MOST <= last; first += MOST) body(first, RowCount<MOST>());
    }
    for (int shares = (last - first + kRest - 1) / kRest; shares > 0; --shares) {
        const int count = (last - first) / shares;
        with_row_count<kRest>(count, [&](auto n) { body(first, n); });
        first += count;
    }
}

}  // namespace
