// What stands around the attention over latent vectors: queries that meet them, and the values they expand to.
#pragma once

#include "layer.h"
#include "runner.h"

namespace di {

// The cache holds latent vectors, one for all heads, a tenth of the keys and values they expand to. A head's score is
// q (W_k c) = (W_k^T q) c, and its output W_v (sum of weights times c): both products are with kv_b as it is stored.
class LatentProjection {
  public:
    LatentProjection(Runner& runner, const di_config& config);

    // From the source's rows to rows of q [num_heads][head_dim], and latent vectors with the columns that rotate.
    void project(const Layer& layer, const Activations& source, const Input& plain, Activations& q);
    const float* latent(int32_t row) const { return latent_.row(row); }                  // [kv_lora_rank], normed
    float* turning(int32_t row) const { return kv_a_.row(row) + config_.kv_lora_rank; }  // [qk_rope_head_dim]
    // Queries as wide as the cache's rows, from q whose columns have been rotated.
    const Activations& absorb(const Layer& layer, int32_t rows, const Activations& q);
    Activations& mixed() { return mixed_; }  // what attention makes of them, [num_heads][kv_lora_rank]
    // `mixed` to rows of [num_heads][v_head_dim].
    void expand(const Layer& layer, int32_t rows, Activations& out);
    size_t num_bytes() const;

  private:
    void run_first(const Layer& layer, const Activations& source, const Input& plain, Activations& q);
    void normalize(const Latent& latent, int32_t row);
    void absorb_head(const Tiles& kv_b, int32_t head, int32_t row, int32_t rows, const Activations& q);
    void expand_head(const Tiles& kv_b, int32_t head, int32_t rows, Activations& out);
    int32_t head_rows() const { return config_.qk_nope_head_dim + config_.v_head_dim; }  // of kv_b

    Runner& runner_;
    di_mla config_;
    int32_t num_heads_, query_width_;
    Activations q_a_;       // [q_lora_rank]
    Activations kv_a_;      // [kv_lora_rank], then the columns that rotate
    Activations latent_;    // [kv_lora_rank], normed
    Activations absorbed_;  // [num_heads][kv_lora_rank], columns as kv_b stores them
    Activations queries_;   // [num_heads][query_width]: absorbed, zeros up to whole vectors, rotated
    Activations mixed_;     // [num_heads][kv_lora_rank]
    Activations inputs_;    // of [head][row]: mixed, for kv_b
    Activations values_;    // of [head][row]: the tiles of kv_b that a head's values lie in
};

}  // namespace di
