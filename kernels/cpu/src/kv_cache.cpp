#include "kv_cache.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "half.h"

namespace di {
namespace {

size_t element_bytes(KVType type) {
    switch (type) {
        case KVType::kF32: return 4;
        case KVType::kF16: return 2;
        case KVType::kI8: return 1;
    }
    throw std::invalid_argument("the type of the KV cache is unknown");
}

void store(float x, float* at) { *at = x; }
void store(float x, uint16_t* at) { *at = float_to_half(x); }

// values[i] goes to at[i * step].
template <typename T>
void scatter(const float* values, int32_t n, void* at, size_t step) {
    for (int32_t i = 0; i < n; ++i) store(values[i], static_cast<T*>(at) + i * step);
}

// Codes values / scale, where the scale is max |value| / 127 as float16 rounds it: codes may reach just beyond 127.
void scatter_codes(const float* values, int32_t n, void* at, size_t step, uint16_t* scale_at) {
    float largest = 0.0f;
    for (int32_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(values[i]));
    *scale_at = float_to_half(largest / 127.0f);
    const float scale = half_to_float(*scale_at), inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    for (int32_t i = 0; i < n; ++i) {
        const float code = std::min(127.0f, std::max(-127.0f, std::nearbyint(values[i] * inverse)));
        static_cast<int8_t*>(at)[i * step] = static_cast<int8_t>(code);
    }
}

}  // namespace

KVCache::KVCache(const KVShape& shape, int32_t num_slots, KVType type)
    : shape_(shape),
      value_stride_(round_up(shape.value_dim, kTileRows) + (shape.is_latent ? round_up(shape.head_dim, kTileRows) : 0)),
      type_(type),
      element_bytes_(element_bytes(type)),
      scales_bytes_(type == KVType::kI8 ? kPageTokens * sizeof(uint16_t) : 0),
      slots_(static_cast<size_t>(num_slots)) {
    for (Slot& slot : slots_) slot.views.resize(static_cast<size_t>(shape.num_layers) * shape.num_kv_heads);
}

KVPage KVCache::page_at(const uint8_t* head) const {
    const uint8_t *values = head + key_bytes(), *scales = values + value_bytes();
    return {head, values, reinterpret_cast<const uint16_t*>(scales), reinterpret_cast<const uint16_t*>(scales + scales_bytes_)};
}

void KVCache::grow(int32_t slot_index, int32_t length) {
    Slot& slot = slots_[slot_index];
    while (static_cast<int64_t>(slot.pages.size()) * kPageTokens < length) {
        slot.pages.push_back(page_array<uint8_t>(page_bytes()));
        const uint8_t* head = slot.pages.back().get();
        for (std::vector<KVPage>& view : slot.views) {
            view.push_back(page_at(head));
            head += head_bytes();
        }
    }
}

void KVCache::write(int32_t slot, int32_t layer, int32_t head, int32_t position, const float* key, const float* value) {
    uint8_t* keys = slots_[slot].pages[position / kPageTokens].get();
    keys += (static_cast<size_t>(layer) * shape_.num_kv_heads + head) * head_bytes();
    uint8_t* values = keys + key_bytes();
    uint16_t* scales = reinterpret_cast<uint16_t*>(values + value_bytes());
    const int32_t p = position % kPageTokens;
    values += static_cast<size_t>(p) * value_stride_ * element_bytes_;
    if (shape_.is_latent) {
        const size_t turning = static_cast<size_t>(round_up(shape_.value_dim, kTileRows)) * element_bytes_;
        write_row(key, shape_.head_dim, values + turning, scales + p);
    } else {
        write_key(key, p, keys, scales + p);
    }
    write_row(value, shape_.value_dim, values, scales + kPageTokens + p);
}

// Into the block of sixteen positions.
void KVCache::write_key(const float* key, int32_t position, uint8_t* keys, uint16_t* scale) {
    const int32_t n = shape_.head_dim;
    keys += (static_cast<size_t>(position / kTileRows) * n * kTileRows + position % kTileRows) * element_bytes_;
    switch (type_) {
        case KVType::kF32: return scatter<float>(key, n, keys, kTileRows);
        case KVType::kF16: return scatter<uint16_t>(key, n, keys, kTileRows);
        case KVType::kI8: return scatter_codes(key, n, keys, kTileRows, scale);
    }
}

void KVCache::write_row(const float* values, int32_t n, uint8_t* at, uint16_t* scale) {
    switch (type_) {
        case KVType::kF32: return scatter<float>(values, n, at, 1);
        case KVType::kF16: return scatter<uint16_t>(values, n, at, 1);
        case KVType::kI8: return scatter_codes(values, n, at, 1, scale);
    }
}

size_t KVCache::num_bytes() const {
    size_t pages = 0;
    for (const Slot& slot : slots_) pages += slot.pages.size();
    return pages * page_bytes();
}

}  // namespace di
