// Self-attention of one step: projections, rotation, the KV cache, and the mixing of its values.
#pragma once

#include <vector>

#include "attention.h"
#include "kv_cache.h"
#include "latent_projection.h"
#include "layer.h"
#include "rotation.h"
#include "runner.h"

namespace di {

// The rows of one piece of a step.
struct Batch {
    int32_t rows;
    const int32_t *token_ids, *slots, *positions;
};

class AttentionBlock {
  public:
    AttentionBlock(Runner& runner, const di_config& config, bool has_output_gate);

    KVCache& cache() { return cache_; }
    const KVCache& cache() const { return cache_; }
    // Once per step, before the first layer.
    void set_positions(const Batch& batch);
    // Layer `index` on the source's rows, which `plain` describes; the output is written to `out`, or added to it.
    void run(const Batch& batch, const Layer& layer, int32_t index, const Activations& source, const Input& plain,
             Activations& out, bool add);
    size_t workspace_bytes() const;

  private:
    void project(const Layer& layer, const Activations& source, const Input& plain);
    void rotate_and_store_latent(const Batch& batch, const Layer& layer, int32_t index, int32_t row);
    void rotate_and_store(const Batch& batch, const Layer& layer, int32_t index, int32_t row);
    void prepare_heads(float* heads, int32_t count, const std::vector<float>& norm, int32_t rope, int32_t row) const;
    float score_scale(int32_t position) const;
    void attend(const Batch& batch, const Layer& layer, int32_t index, const Activations& q, Activations& out);
    void attend_latents(const Batch& batch, const Layer& layer, int32_t index, const Activations& source, const Input& plain);

    Runner& runner_;
    di_config config_;
    std::vector<Rotation> rotations_;
    KVCache cache_;
    Attention attention_;
    Activations q_, k_, v_, attended_, output_gate_;
    LatentProjection latent_;
    std::vector<float> scales_;  // of the scores, [row]
};

}  // namespace di
