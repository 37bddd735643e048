#include "kv_cache.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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
// A NaN becomes the scale: a code cannot say it, and without it the position would look sound.
void scatter_codes(const float* values, int32_t n, void* at, size_t step, uint16_t* scale_at) {
    float largest = 0.0f;
    for (int32_t i = 0; i < n; ++i) {
        const float size = std::fabs(values[i]);
        if (size > largest || std::isnan(size)) largest = size;
    }
    *scale_at = float_to_half(largest / 127.0f);
    const float scale = half_to_float(*scale_at), inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    for (int32_t i = 0; i < n; ++i) {
        const float code = std::min(127.0f, std::max(-127.0f, std::nearbyint(values[i] * inverse)));
        static_cast<int8_t*>(at)[i * step] = static_cast<int8_t>(code);
    }
}

}  // namespace

KVCache::KVCache(const KVShape& shape, int32_t num_slots, int32_t num_pages, KVType type)
    : shape_(shape),
      value_stride_(round_up(shape.value_dim, kTileRows) + (shape.is_latent ? round_up(shape.head_dim, kTileRows) : 0)),
      type_(type),
      element_bytes_(element_bytes(type)),
      scales_bytes_(type == KVType::kI8 ? kPageTokens * sizeof(uint16_t) : 0),
      pages_(static_cast<size_t>(num_pages)),
      slots_(static_cast<size_t>(num_slots)) {}

void KVCache::map(int32_t slot, const int32_t* pages, int32_t count) {
    if (slot < 0 || static_cast<size_t>(slot) >= slots_.size()) throw std::invalid_argument("a slot does not exist");
    for (int32_t i = 0; i < count; ++i) check_page(pages[i]);
    slots_[slot].pages.assign(pages, pages + count);
    slots_[slot].reached.clear();
}

void KVCache::check_page(int32_t page) const {
    if (page < 0 || static_cast<size_t>(page) >= pages_.size()) throw std::invalid_argument("a page does not exist");
}

void KVCache::reach(int32_t slot_index, int32_t length) {
    Slot& slot = slots_[slot_index];
    while (static_cast<int64_t>(slot.reached.size()) * kPageTokens < length) {
        slot.reached.push_back(reach_page(slot.pages[slot.reached.size()]));
    }
}

uint8_t* KVCache::reach_page(int32_t index) {
    PageArray<uint8_t>& page = pages_[static_cast<size_t>(index)];
    if (!page) {
        page = page_array<uint8_t>(page_bytes());
        ++num_reached_;
    }
    return page.get();
}

void KVCache::copy_page(int32_t source, int32_t target) {
    check_page(source), check_page(target);
    const uint8_t* from = reach_page(source);
    std::memcpy(reach_page(target), from, source == target ? 0 : page_bytes());
}

void KVCache::read_page(int32_t index, uint8_t* out) const {
    check_page(index);
    const uint8_t* page = pages_[static_cast<size_t>(index)].get();
    page ? std::memcpy(out, page, page_bytes()) : std::memset(out, 0, page_bytes());
}

void KVCache::write_page(int32_t index, const uint8_t* data) {
    check_page(index);
    std::memcpy(reach_page(index), data, page_bytes());
}

KVHeadLayout KVCache::layout(int32_t layer, int32_t head) const {
    const size_t keys = (static_cast<size_t>(layer) * shape_.num_kv_heads + head) * head_bytes();
    const size_t values = keys + key_bytes(), scales = values + value_bytes();
    return {keys, values, scales, scales + scales_bytes_};
}

KVPages KVCache::pages(int32_t slot, int32_t layer, int32_t head) const {
    return {slots_[slot].reached.data(), layout(layer, head)};
}

void KVCache::write(int32_t slot, int32_t layer, int32_t head, int32_t position, const float* key, const float* value) {
    const KVHeadLayout at = layout(layer, head);
    uint8_t* page = slots_[slot].reached[position / kPageTokens];
    uint8_t *keys = page + at.keys, *values = page + at.values;
    uint16_t* scales = reinterpret_cast<uint16_t*>(page + at.key_scales);
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

}  // namespace di
