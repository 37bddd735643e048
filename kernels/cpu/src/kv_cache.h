// Keys and values of every slot, in pages of 256 positions that are allocated when a sequence first reaches them.
#pragma once

#include <vector>

#include "core.h"
#include "packed_linear.h"

namespace di {

// The sizes of one position.
struct KVShape {
    int32_t num_layers, num_kv_heads, head_dim, value_dim;
    bool is_latent;  // keys are values and, from the next whole vector on, further columns
};

class KVCache {
  public:
    KVCache(const KVShape& shape, int32_t num_slots, KVType type);

    // Makes room for positions < length of a slot.
    void grow(int32_t slot, int32_t length);
    // Stores one position of one kv head: key float32 [head_dim], value float32 [value_dim]. Of latent vectors the key is
    // what is no value.
    void write(int32_t slot, int32_t layer, int32_t head, int32_t position, const float* key, const float* value);
    // The pages of one kv head; valid until the slot grows.
    const KVPage* pages(int32_t slot, int32_t layer, int32_t head) const {
        return slots_[slot].views[static_cast<size_t>(layer) * shape_.num_kv_heads + head].data();
    }
    KVType type() const { return type_; }
    int32_t head_dim() const { return shape_.head_dim; }
    int32_t value_dim() const { return shape_.value_dim; }
    bool is_latent() const { return shape_.is_latent; }
    int32_t value_stride() const { return value_stride_; }
    size_t num_bytes() const;

  private:
    struct Slot {
        std::vector<PageArray<uint8_t>> pages;   // one page holds all layers and heads
        std::vector<std::vector<KVPage>> views;  // [layer * num_kv_heads + head][page]
    };

    size_t key_bytes() const {
        return shape_.is_latent ? 0 : static_cast<size_t>(shape_.head_dim) * kPageTokens * element_bytes_;
    }
    size_t value_bytes() const { return static_cast<size_t>(value_stride_) * kPageTokens * element_bytes_; }
    size_t head_bytes() const { return key_bytes() + value_bytes() + 2 * scales_bytes_; }
    size_t page_bytes() const { return head_bytes() * shape_.num_layers * shape_.num_kv_heads; }
    KVPage page_at(const uint8_t* head) const;

    void write_key(const float* key, int32_t position, uint8_t* keys, uint16_t* scale);
    void write_row(const float* values, int32_t n, uint8_t* at, uint16_t* scale);

    KVShape shape_;
    int32_t value_stride_;
    KVType type_;
    size_t element_bytes_, scales_bytes_;  // scales: of the keys, or of the values, of one head
    std::vector<Slot> slots_;
};

}  // namespace di
