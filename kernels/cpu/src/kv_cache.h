// Keys and values, in a pool of pages of 256 positions that slots may share. A page is allocated when a sequence first
// reaches it, and kept.
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
    KVCache(const KVShape& shape, int32_t num_slots, int32_t num_pages, KVType type);

    // The slot's positions lie in these pages from now on; throws std::invalid_argument for one that does not exist.
    void map(int32_t slot, const int32_t* pages, int32_t count);
    // How many positions a slot has pages for.
    int64_t num_positions(int32_t slot) const { return static_cast<int64_t>(slots_[slot].pages.size()) * kPageTokens; }
    // Allocates the pages of positions < length of a slot, which has them.
    void reach(int32_t slot, int32_t length);
    void copy_page(int32_t source, int32_t target);
    void read_page(int32_t page, uint8_t* out) const;  // zeros where it was never reached
    void write_page(int32_t page, const uint8_t* data);
    // Stores one position of one kv head: key float32 [head_dim], value float32 [value_dim]. Of latent vectors the key is
    // what is no value.
    void write(int32_t slot, int32_t layer, int32_t head, int32_t position, const float* key, const float* value);
    // One kv head in the slot's pages; valid until it is mapped anew.
    KVPages pages(int32_t slot, int32_t layer, int32_t head) const;
    KVType type() const { return type_; }
    int32_t head_dim() const { return shape_.head_dim; }
    int32_t value_dim() const { return shape_.value_dim; }
    bool is_latent() const { return shape_.is_latent; }
    int32_t value_stride() const { return value_stride_; }
    size_t page_bytes() const { return head_bytes() * shape_.num_layers * shape_.num_kv_heads; }
    size_t num_bytes() const { return num_reached_ * page_bytes(); }

  private:
    struct Slot {
        std::vector<int32_t> pages;
        std::vector<uint8_t*> reached;  // of the first of them
    };

    size_t key_bytes() const {
        return shape_.is_latent ? 0 : static_cast<size_t>(shape_.head_dim) * kPageTokens * element_bytes_;
    }
    size_t value_bytes() const { return static_cast<size_t>(value_stride_) * kPageTokens * element_bytes_; }
    size_t head_bytes() const { return key_bytes() + value_bytes() + 2 * scales_bytes_; }
    KVHeadLayout layout(int32_t layer, int32_t head) const;
    void check_page(int32_t page) const;
    uint8_t* reach_page(int32_t page);

    void write_key(const float* key, int32_t position, uint8_t* keys, uint16_t* scale);
    void write_row(const float* values, int32_t n, uint8_t* at, uint16_t* scale);

    KVShape shape_;
    int32_t value_stride_;
    KVType type_;
    size_t element_bytes_, scales_bytes_;  // scales: of the keys, or of the values, of one head
    std::vector<PageArray<uint8_t>> pages_;  // null until reached
    size_t num_reached_ = 0;
    std::vector<Slot> slots_;
};

}  // namespace di
