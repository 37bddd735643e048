// Self-attention of one step: projections, rotation, the KV cache, and the mixing of its values.
#pragma once

#include <vector>

#include "kv_cache.h"
#include "layer.h"
#include "runner.h"

namespace di {

// The rows of one piece of a step.
struct Batch {
    int32_t rows;
    const int32_t *token_ids, *slots, *positions;
};

class AttentionBlock {
  public:
    AttentionBlock(Runner& runner, const di_config& config);

    // Makes room in the cache for positions < length of a slot.
    void grow(int32_t slot, int32_t length) { cache_.grow(slot, length); }
    // Once per step, before the first layer.
    void set_rotation(const Batch& batch);
    // Layer `index` on the normed rows; adds its output to `hidden`.
    void run(const Batch& batch, const Layer& layer, int32_t index, Activations& normed, Activations& hidden);
    size_t kv_bytes() const { return cache_.num_bytes(); }
    size_t workspace_bytes() const;

  private:
    void rotate_and_store(const Batch& batch, const Layer& layer, int32_t index, int32_t row);
    void rotate_head(float* head, const std::vector<float>& norm, int32_t row) const;
    AttentionTask task_of(const Batch& batch, const Layer& layer, int32_t index, int32_t row, int32_t unit) const;
    void attend(const Batch& batch, const Layer& layer, int32_t index);
    void attend_one(const Batch& batch, const Layer& layer, int32_t index);

    Runner& runner_;
    di_config config_;
    std::vector<float> inv_freq_;
    KVCache cache_;
    Activations q_, k_, v_, attended_;
    std::vector<float> cos_, sin_;
    int32_t units_per_kv_head_, num_units_;
    std::vector<float> partials_;  // of one token: [unit][page][kMaxGroupHeads][partial_stride]
};

}  // namespace di
