#include "kv_cache.h"

#include "half.h"

namespace di {

KVCache::KVCache(int32_t num_layers, int32_t num_kv_heads, int32_t head_dim, int32_t num_slots, bool half)
    : num_layers_(num_layers),
      num_kv_heads_(num_kv_heads),
      head_dim_(head_dim),
      value_stride_(round_up(head_dim, kTileRows)),
      half_(half),
      slots_(static_cast<size_t>(num_slots)) {
    for (Slot& slot : slots_) slot.views.resize(static_cast<size_t>(num_layers) * num_kv_heads);
}

void KVCache::grow(int32_t slot_index, int32_t length) {
    Slot& slot = slots_[slot_index];
    while (static_cast<int64_t>(slot.pages.size()) * kPageTokens < length) {
        slot.pages.push_back(page_array<uint8_t>(page_bytes()));
        const uint8_t* head = slot.pages.back().get();
        for (std::vector<KVPage>& view : slot.views) {
            view.push_back({head, head + key_bytes()});
            head += head_bytes();
        }
    }
}

void KVCache::write(int32_t slot, int32_t layer, int32_t head, int32_t position, const float* key, const float* value) {
    uint8_t* page = slots_[slot].pages[position / kPageTokens].get();
    uint8_t* base = page + (static_cast<size_t>(layer) * num_kv_heads_ + head) * head_bytes();
    const int32_t p = position % kPageTokens;
    const size_t keys_at = static_cast<size_t>(p / kTileRows) * head_dim_ * kTileRows + p % kTileRows;
    const size_t values_at = static_cast<size_t>(p) * value_stride_;
    if (half_) {
        uint16_t* keys = reinterpret_cast<uint16_t*>(base);
        uint16_t* values = reinterpret_cast<uint16_t*>(base + key_bytes());
        for (int32_t d = 0; d < head_dim_; ++d) keys[keys_at + static_cast<size_t>(d) * kTileRows] = float_to_half(key[d]);
        for (int32_t d = 0; d < head_dim_; ++d) values[values_at + d] = float_to_half(value[d]);
    } else {
        float* keys = reinterpret_cast<float*>(base);
        float* values = reinterpret_cast<float*>(base + key_bytes());
        for (int32_t d = 0; d < head_dim_; ++d) keys[keys_at + static_cast<size_t>(d) * kTileRows] = key[d];
        for (int32_t d = 0; d < head_dim_; ++d) values[values_at + d] = value[d];
    }
}

size_t KVCache::num_bytes() const {
    size_t pages = 0;
    for (const Slot& slot : slots_) pages += slot.pages.size();
    return pages * page_bytes();
}

}  // namespace di
