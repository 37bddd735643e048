// A decoder: plan, cache and workspace of one loaded model. One call runs a whole step.
#pragma once

#include <memory>
#include <vector>

#include "api.h"
#include "core.h"
#include "kv_cache.h"
#include "packed_linear.h"
#include "thread_pool.h"

namespace di {

constexpr int32_t kMaxStepRows = 128;  // longer steps run in pieces of so many rows

// Float32 rows of one width, padded with zeros to whole column steps, and what the kernels want beside them.
struct Activations {
    Activations() = default;
    explicit Activations(int32_t width);
    float* row(int32_t r) { return x.get() + static_cast<size_t>(r) * stride; }
    // Fills codes, steps and sums of the first `rows` rows, as `Input` describes; `columns` is a multiple of 32.
    Input prepare(const Core& core, ThreadPool& pool, int32_t rows, int32_t columns, bool int8);
    size_t num_bytes() const;

    int32_t width = 0, stride = 0;
    PageArray<float> x, steps, sums16, sums32;
    PageArray<int8_t> codes;
};

struct Layer {
    const Tiles *q, *k, *v, *o, *gate, *up, *down;
    std::vector<float> input_norm, post_attention_norm, q_norm, k_norm;
    int32_t sliding_window;
};

class Model {
  public:
    Model(const Core& core, ThreadPool& pool, const di_config& config, const di_layer* layers, const di_linear* embed_tokens,
          const float* norm, const di_linear* lm_head);

    void forward(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                 const uint8_t* wanted, float* logits);
    size_t kv_bytes() const { return cache_.num_bytes(); }
    size_t workspace_bytes() const;

  private:
    // The rows of one piece of a step.
    struct Batch {
        int32_t rows;
        const int32_t *token_ids, *slots, *positions;
    };

    void check(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions) const;
    void run_layers(const Batch& batch);
    void set_rotation(const Batch& batch);
    void normalize(int32_t rows, const std::vector<float>& weight);
    void attention_block(const Batch& batch, int32_t index);
    void rotate_and_store(const Batch& batch, int32_t index, int32_t row);
    void rotate_head(float* head, const std::vector<float>& norm, int32_t row) const;
    AttentionTask attention_task(const Batch& batch, int32_t index, int32_t row, int32_t unit);
    void attend(const Batch& batch, int32_t index);
    void attend_one(const Batch& batch, int32_t index, int32_t num_units);
    void mlp_block(int32_t rows, const Layer& layer);
    int32_t output_logits(const Batch& batch, const uint8_t* wanted, float* logits);

    Input prepare(Activations& source, int32_t rows);
    Input input_of(const Tiles& w, Activations& source, const Input& plain, Activations& permuted);
    template <typename F>
    void for_tiles(int32_t num_tiles, F&& body);
    void run_products(const Product* products, int count);

    const Core& core_;
    ThreadPool& pool_;
    di_config config_;
    std::vector<float> inv_freq_, norm_;
    std::vector<Layer> layers_;
    const Tiles &embed_tokens_, &lm_head_;
    KVCache cache_;
    Activations hidden_, normed_, q_, k_, v_, attended_, gate_, up_;
    Activations permuted_[3];
    std::vector<float> cos_, sin_;
    int32_t units_per_kv_head_;
    std::vector<float> partials_;  // of one token: [unit][page][kMaxGroupHeads][partial_stride]
};

}  // namespace di
