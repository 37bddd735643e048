// What the float32 and the int8 products share.
#pragma once

#include "core.h"
#include "core_decode.h"
#include "core_math.h"

namespace {

using di::Product;

inline const uint8_t* tile_at(const Tiles& w, int32_t tile) {
    return w.data + static_cast<size_t>(tile) * w.tile_bytes;
}

// Bias and residual, then whole lanes or what is left of the row.
inline void finish(const Product& p, int32_t tile, int32_t row, F32x16 sum) {
    const int64_t at = row * p.y_stride + tile * kTileRows, room = p.y_stride - tile * kTileRows;
    if (p.w->bias) sum = sum + load(p.w->bias + tile * kTileRows);
    if (p.add) sum = sum + load_n(p.add + at, room < 16 ? static_cast<int>(room) : 16);
    store_n(p.y + at, sum, room);
}

// What a group adds to y: scale * (codes . x) + (bias - zero * scale) * sum(x).
struct Affine {
    F32x16 scale = zero_f32(), offset = zero_f32();
    Affine() = default;
    F32x16 add_to(F32x16 total, F32x16 dot, float sum) const { return fma(offset, broadcast(sum), fma(scale, dot, total)); }
    F32x16 add_to(F32x16 total, F32x16 dot, float step, float sum) const {
        return fma(offset, broadcast(sum), fma(scale * broadcast(step), dot, total));
    }
};

inline void read_affines(const Tiles& w, const uint8_t* tile, const Block& block, Affine* groups) {
    for_scales(w, tile, block, [&](int g, F32x16 scale) { groups[g].scale = scale; });
    if (w.scheme == Scheme::kAffine) {
        for_biases(w, tile, block, [&](int g, F32x16 bias) { groups[g].offset = bias; });
    } else {
        for (int g = 0; g < block.num_groups; ++g) {
            groups[g].offset = zero_f32() - zero_of(w, tile, block, g) * groups[g].scale;
        }
    }
}

constexpr int kMaxRows = 128;

}  // namespace
