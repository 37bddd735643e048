// Queries, keys and values of multi-head latent attention, expanded from vectors of low rank.
#pragma once

#include "layer.h"
#include "runner.h"

namespace di {

// The expanded form is what goes into the cache: more bytes than the latent vector itself, but attention is then the
// ordinary one, and kv_b is read once a token, quantized as it is.
class LatentProjection {
  public:
    LatentProjection(Runner& runner, const di_config& config);

    // From the source's rows to rows of q and k [num_heads][head_dim], before the rotation, and of v [num_heads][v_head_dim].
    void project(const Layer& layer, const Activations& source, const Input& plain, Activations& q, Activations& k, Activations& v);
    size_t num_bytes() const { return q_a_.num_bytes() + kv_a_.num_bytes() + latent_.num_bytes() + kv_b_.num_bytes(); }

  private:
    void run_first(const Layer& layer, const Activations& source, const Input& plain, Activations& q);
    void normalize(const Latent& latent, int32_t row);
    void run_second(const Layer& layer, int32_t rows, Activations& q);
    void split(int32_t row, Activations& k, Activations& v) const;

    Runner& runner_;
    di_mla config_;
    int32_t num_heads_;
    Activations q_a_;     // [q_lora_rank]
    Activations kv_a_;    // [kv_lora_rank], then the columns that rotate
    Activations latent_;  // [kv_lora_rank], normed
    Activations kv_b_;    // [num_heads][qk_nope_head_dim of the key, v_head_dim of the value]
};

}  // namespace di
