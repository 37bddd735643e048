// From tiles back to numbers: quads of codes, group scales, float32 columns.
#pragma once

#include "simd.h"
#include "tiles.h"

namespace {

using di::Codes;
using di::kSuperColumns;
using di::kTileRows;
using di::Scheme;
using di::scale_bytes;
using di::ScaleType;
using di::Tiles;

constexpr size_t step_bytes(Codes codes) {  // of 32 columns x 16 rows
    return codes == Codes::kInt8 ? 512 : codes == Codes::kInt4 ? 256 : 192;
}

// The machine's own prefetcher stops at each page's end, every few tiles: measured 10 % of a token's time.
template <Codes C>
inline void prefetch_codes(const uint8_t* step) {
    constexpr size_t kAhead = 4096;
    for (size_t i = 0; i < step_bytes(C); i += 64) prefetch(step + kAhead + i);
}

// Bit K of every byte moves to bit 2; the other bits are noise.
template <int K>
inline Quad to_bit_two(Quad q) {
    if constexpr (K < 2) return shift_left<2 - K>(q);
    if constexpr (K > 2) return shift_right<K - 2>(q);
    return q;
}

// Quad K (columns 4K .. 4K+3) of a 32-column step of codes.
template <Codes C, int K>
inline Quad quad_at(const uint8_t* step) {
    if constexpr (C == Codes::kInt8) return load_quad(step + 64 * K);
    if constexpr (C == Codes::kInt4) {
        const Quad pair = load_quad(step + 64 * (K / 2));
        return mask(K % 2 ? shift_right<4>(pair) : pair, 0x0f0f0f0fu);
    }
    const Quad low = shift_right<2 * (K % 4)>(load_quad(step + 64 * (K / 4)));
    const Quad high = to_bit_two<K>(load_quad(step + 128));
    return mask(low, 0x03030303u) | mask(high, 0x04040404u);
}

// Sixteen values of `group`: scales, or biases stored the same way. Those of the next tile are called for a tile ahead:
// waiting for them was a third of a token's time.
inline F32x16 group_values(const Tiles& w, const uint8_t* tile, ScaleType type, size_t at, size_t super_at, int group) {
    const uint8_t* values = tile + at + static_cast<size_t>(group) * kTileRows * scale_bytes(type);
    prefetch(values + w.tile_bytes);
    switch (type) {
        case ScaleType::kF16: return load_f16(values);
        case ScaleType::kF32: return load(reinterpret_cast<const float*>(values));
        default: break;
    }
    const int super = static_cast<int>(static_cast<int64_t>(group) * w.group_columns / kSuperColumns);
    const F32x16 unit = load_f16(tile + super_at + static_cast<size_t>(super) * 32);
    return unit * (type == ScaleType::kTwoLevelI8 ? load_i8(values) : load_u8(values));
}

// w = (code - zero) * scale + bias, for the sixteen rows of one group.
struct GroupScale {
    F32x16 scale, zero, bias;
};

inline GroupScale group_scale(const Tiles& w, const uint8_t* tile, int group) {
    GroupScale g;
    g.scale = group_values(w, tile, w.scale_type, w.scales_at, w.super_scales_at, group);
    g.zero = g.bias = zero_f32();
    if (w.scheme == Scheme::kSym) {
        g.zero = broadcast(static_cast<float>(1 << (static_cast<int>(w.codes) - 1)));
    } else if (w.scheme == Scheme::kZero) {
        g.zero = load_u8(tile + w.zeros_at + static_cast<size_t>(group) * 16);
    } else {
        g.bias = group_values(w, tile, w.bias_type, w.biases_at, w.super_biases_at, group);
    }
    return g;
}

template <Codes C, int K, int END>
inline void decode_quads(const GroupScale& g, const uint8_t* step, float* out) {
    if constexpr (K < END) {
        const Quad q = quad_at<C, K>(step);
        store(out, (column<0>(q) - g.zero) * g.scale + g.bias);
        store(out + 16, (column<1>(q) - g.zero) * g.scale + g.bias);
        store(out + 32, (column<2>(q) - g.zero) * g.scale + g.bias);
        store(out + 48, (column<3>(q) - g.zero) * g.scale + g.bias);
        decode_quads<C, K + 1, END>(g, step, out + 64);
    }
}

// Columns [begin, end) of a tile as float32 [column][16]; begin and end are multiples of 32. Each operation rounds
// once, as the format defines, so the result equals the reference decoder bit for bit.
template <Codes C>
void decode_quantized(const Tiles& w, const uint8_t* tile, int begin, int end, float* out) {
    for (int column0 = begin; column0 < end; column0 += 32, out += 32 * kTileRows) {
        const uint8_t* step = tile + column0 / 32 * step_bytes(C);
        const GroupScale low = group_scale(w, tile, column0 / w.group_columns);
        decode_quads<C, 0, 4>(low, step, out);
        const GroupScale high = w.group_columns == 16 ? group_scale(w, tile, column0 / 16 + 1) : low;
        decode_quads<C, 4, 8>(high, step, out + 16 * kTileRows);
    }
}

template <Codes C>
inline F32x16 dense_column(const uint8_t* tile, int column0) {
    if constexpr (C == Codes::kF32) return load(reinterpret_cast<const float*>(tile) + column0 * 16);
    if constexpr (C == Codes::kF16) return load_f16(tile + static_cast<size_t>(column0) * 32);
    return load_bf16(tile + static_cast<size_t>(column0) * 32);
}

template <Codes C>
void decode_dense(const uint8_t* tile, int begin, int end, float* out) {
    for (int c = begin; c < end; ++c) store(out + (c - begin) * 16, dense_column<C>(tile, c));
}

void decode_columns(const Tiles& w, const uint8_t* tile, int begin, int end, float* out) {
    switch (w.codes) {
        case Codes::kF32: return decode_dense<Codes::kF32>(tile, begin, end, out);
        case Codes::kF16: return decode_dense<Codes::kF16>(tile, begin, end, out);
        case Codes::kBf16: return decode_dense<Codes::kBf16>(tile, begin, end, out);
        case Codes::kInt3: return decode_quantized<Codes::kInt3>(w, tile, begin, end, out);
        case Codes::kInt4: return decode_quantized<Codes::kInt4>(w, tile, begin, end, out);
        case Codes::kInt8: return decode_quantized<Codes::kInt8>(w, tile, begin, end, out);
    }
}

void decode_row(const Tiles& w, int32_t row, float* out) {
    alignas(64) float columns[32 * 16];
    const uint8_t* tile = w.data + static_cast<size_t>(row / kTileRows) * w.tile_bytes;
    for (int begin = 0; begin < w.padded_in; begin += 32) {
        decode_columns(w, tile, begin, begin + 32, columns);
        for (int c = 0; c < 32; ++c) out[begin + c] = begin + c < w.in_features ? columns[c * 16 + row % kTileRows] : 0.0f;
    }
}

}  // namespace
