#include "packed_linear.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace di {

namespace {

bool is_two_level(ScaleType type) { return type == ScaleType::kTwoLevelU8 || type == ScaleType::kTwoLevelI8; }

// Of quantized codes.
size_t source_row_bytes(const Tiles& w) {
    return (static_cast<size_t>(w.in_features) * static_cast<size_t>(w.codes) + 7) / 8;
}

// Per-row arrays [out][count] -> [count][16] of the tile, for rows [first, first + rows).
template <typename T>
void pack_values(const void* source, int32_t count, int32_t first, int32_t rows, uint8_t* target) {
    const uint8_t* values = static_cast<const uint8_t*>(source) + static_cast<size_t>(first) * count * sizeof(T);
    for (int32_t g = 0; g < count; ++g) {
        for (int32_t r = 0; r < rows; ++r) {
            const size_t from = static_cast<size_t>(r) * count + g, to = static_cast<size_t>(g) * kTileRows + r;
            std::memcpy(target + to * sizeof(T), values + from * sizeof(T), sizeof(T));
        }
    }
}

void pack_groups(const void* source, size_t element, int32_t count, int32_t first, int32_t rows, uint8_t* target) {
    switch (element) {
        case 1: return pack_values<uint8_t>(source, count, first, rows, target);
        case 2: return pack_values<uint16_t>(source, count, first, rows, target);
        default: return pack_values<uint32_t>(source, count, first, rows, target);
    }
}

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

void check(const di_linear_source& s) {
    require(s.out_features > 0 && s.in_features > 0, "a linear has no rows or no columns");
    require(s.weight != nullptr, "a linear has no weights");
    const bool quantized = s.codes == 3 || s.codes == 4 || s.codes == 8;
    require(quantized || (s.codes >= 0 && s.codes <= 2), "unknown code width");
    if (!quantized) return;
    const int32_t g = s.group_size;
    require(g == 16 || g == 32 || g == 64 || g == 128 || g == -1, "unknown group size");
    require(s.scheme >= 0 && s.scheme <= 2 && s.scale_type >= 0 && s.scale_type <= 3, "unknown scheme");
    require(s.scales != nullptr, "scales are missing");
    require(s.scheme != 1 || s.zeros, "zeros are missing");
    require(s.scheme != 2 || s.biases, "biases are missing");
    require(s.scale_type < 2 || s.super_scales, "super_scales are missing");
    require(s.scheme != 2 || s.bias_type < 2 || s.super_biases, "super_biases are missing");
    require(g != -1 || s.scale_type < 2, "two-level scales need groups");
}

}  // namespace

PackedLinear::PackedLinear(const di_linear_source& source, const Core& core, ThreadPool& pool) {
    check(source);
    plan(source);
    data_ = page_array<uint8_t>(tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles), Pages::kHuge);
    tiles_.data = data_.get();
    const int32_t tiles_a_task = tiles_.num_tiles / 256 + 1;
    pool.parallel_for((tiles_.num_tiles + tiles_a_task - 1) / tiles_a_task, [&](int32_t task) {
        const int32_t end = std::min(tiles_.num_tiles, (task + 1) * tiles_a_task);
        for (int32_t tile = task * tiles_a_task; tile < end; ++tile) pack_tile(core, source, tile);
    });
    if (source.bias) {
        bias_ = page_array<float>(static_cast<size_t>(tiles_.num_tiles) * kTileRows);
        std::copy(source.bias, source.bias + source.out_features, bias_.get());
        tiles_.bias = bias_.get();
    }
    if (source.perm) {
        perm_.assign(source.perm, source.perm + source.in_features);
        for (int32_t p : perm_) require(p >= 0 && p < source.in_features, "perm points outside the input");
        tiles_.perm = perm_.data();
    }
}

void PackedLinear::plan(const di_linear_source& source) {
    Tiles& w = tiles_;
    w.out_features = source.out_features;
    w.in_features = source.in_features;
    w.padded_in = round_up(source.in_features, kColumnStep);
    w.num_tiles = round_up(source.out_features, kTileRows) / kTileRows;
    w.codes = static_cast<Codes>(source.codes);
    w.tile_bytes = static_cast<size_t>(w.padded_in / kColumnStep) * code_bytes_per_step(w.codes);
    if (is_dense(w.codes)) return;
    w.scheme = static_cast<Scheme>(source.scheme);
    w.scale_type = static_cast<ScaleType>(source.scale_type);
    w.bias_type = static_cast<ScaleType>(source.bias_type);
    w.group_columns = source.group_size == -1 ? w.padded_in : source.group_size;
    w.num_groups = source.group_size == -1 ? 1 : (w.in_features + w.group_columns - 1) / w.group_columns;
    // Groups of 16 are read two at a time, so the second half of the last step needs an entry, too.
    const size_t groups = static_cast<size_t>(round_up(w.num_groups, 2));
    const size_t supers = static_cast<size_t>((w.padded_in + kSuperColumns - 1) / kSuperColumns);
    const auto reserve = [&](size_t count, size_t element) {
        const size_t at = w.tile_bytes;
        w.tile_bytes += (count * element * kTileRows + 63) / 64 * 64;
        return at;
    };
    w.scales_at = reserve(groups, scale_bytes(w.scale_type));
    if (is_two_level(w.scale_type)) w.super_scales_at = reserve(supers, 2);
    if (w.scheme == Scheme::kZero) w.zeros_at = reserve(groups, 1);
    if (w.scheme == Scheme::kAffine) w.biases_at = reserve(groups, scale_bytes(w.bias_type));
    if (w.scheme == Scheme::kAffine && is_two_level(w.bias_type)) w.super_biases_at = reserve(supers, 2);
}

void PackedLinear::pack_tile(const Core& core, const di_linear_source& source, int32_t tile_index) {
    const Tiles& w = tiles_;
    uint8_t* tile = data_.get() + static_cast<size_t>(tile_index) * w.tile_bytes;
    const int32_t first = tile_index * kTileRows, rows = std::min(kTileRows, w.out_features - first);
    const auto groups = [&](const void* values, size_t element, int32_t count, size_t at) {
        pack_groups(values, element, count, first, rows, tile + at);
    };
    if (is_dense(w.codes)) return groups(source.weight, w.codes == Codes::kF32 ? 4 : 2, w.in_features, 0);
    const size_t row_bytes = source_row_bytes(w);
    const uint8_t* codes = static_cast<const uint8_t*>(source.weight) + static_cast<size_t>(first) * row_bytes;
    core.pack_rows(w.codes, {codes, row_bytes, rows, w.scheme == Scheme::kSym}, w.padded_in, tile);
    const int32_t supers = (w.in_features + kSuperColumns - 1) / kSuperColumns;
    groups(source.scales, scale_bytes(w.scale_type), w.num_groups, w.scales_at);
    if (is_two_level(w.scale_type)) groups(source.super_scales, 2, supers, w.super_scales_at);
    if (w.scheme == Scheme::kZero) groups(source.zeros, 1, w.num_groups, w.zeros_at);
    if (w.scheme != Scheme::kAffine) return;
    groups(source.biases, scale_bytes(w.bias_type), w.num_groups, w.biases_at);
    if (is_two_level(w.bias_type)) groups(source.super_biases, 2, supers, w.super_biases_at);
}

size_t PackedLinear::num_bytes() const {
    const size_t bias = bias_ ? static_cast<size_t>(tiles_.num_tiles) * kTileRows * sizeof(float) : 0;
    return tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles) + bias + perm_.size() * sizeof(int32_t);
}

}  // namespace di
