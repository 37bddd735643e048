// A decoder: plan, cache and workspace of one loaded model. One call runs a whole step.
#pragma once

#include <vector>

#include "api.h"
#include "attention_block.h"
#include "core.h"
#include "delta_net.h"
#include "layer.h"
#include "mlp_block.h"
#include "moe_block.h"
#include "runner.h"
#include "sampling.h"

namespace di {

class Model {
  public:
    Model(const Core& core, ThreadPool& pool, const di_config& config, const di_layer* layers, const di_linear* embed_tokens,
          const di_norm& norm, const di_linear* lm_head);
    Model(const Model&) = delete;  // its blocks point to its runner
    Model& operator=(const Model&) = delete;

    void forward(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                 const uint8_t* wanted, float* logits);
    // As `forward`, but each row that has a sampling gives a token; see di_model_sample.
    void sample(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                const di_sampling* const* samplings, int32_t* sampled);
    KVCache& cache() { return attention_.cache(); }
    const KVCache& cache() const { return attention_.cache(); }
    DeltaStates& states() { return delta_net_.states(); }
    const DeltaStates& states() const { return delta_net_.states(); }
    size_t kv_bytes() const { return cache().num_bytes() + states().num_bytes(); }
    size_t workspace_bytes() const;

  private:
    void check(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions) const;
    void run_layers(const Batch& batch);
    void embed(const Batch& batch);
    const Activations& normalize(int32_t rows, const Norm& norm, Input* input);
    void run_mlp(int32_t rows, const Layer& layer);
    void add_branch(int32_t rows, const Norm& norm);
    // A block may add to the residual stream itself where nothing stands between.
    bool is_plain_branch(const Norm& norm) const { return norm.is_absent() && config_.residual_multiplier == 1.0f; }
    int32_t output_logits(const Batch& batch, const uint8_t* wanted, float* logits);
    void finish_logits(float* logits, int32_t n) const;

    di_config config_;
    Runner runner_;
    std::vector<Layer> layers_;
    Norm norm_;
    const Tiles &embed_tokens_, &lm_head_;
    AttentionBlock attention_;
    DeltaNetBlock delta_net_;
    MlpBlock mlp_;
    MoeBlock moe_;
    Activations hidden_, normed_, branch_;
    std::vector<float> logits_;  // of the rows to sample from
    std::vector<TokenSampler> samplers_;
};

}  // namespace di
