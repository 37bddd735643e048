#include "model.h"

#include <algorithm>

namespace di {
namespace {

const di_config& checked(const di_config& c) {
    require(c.hidden_size > 0 && c.intermediate_size > 0 && c.num_layers > 0 && c.vocab_size > 0, "a size is not positive");
    require(c.num_kv_heads > 0 && c.num_heads > 0 && c.num_heads % c.num_kv_heads == 0, "heads do not share evenly");
    require(c.head_dim > 0 && c.head_dim % 2 == 0 && c.head_dim <= kMaxHeadDim, "head_dim is odd or above 512");
    require(c.rotary_dim >= 0 && c.rotary_dim % 2 == 0 && c.rotary_dim <= c.head_dim, "rotary_dim does not fit head_dim");
    require(c.max_model_len > 0 && c.num_slots > 0, "no room for a sequence");
    return c;
}

}  // namespace

Model::Model(const Core& core, ThreadPool& pool, const di_config& config, const di_layer* layers,
             const di_linear* embed_tokens, const float* norm, const di_linear* lm_head)
    : config_(checked(config)),
      runner_(core, pool, config.int8_activations != 0),
      norm_(copied(norm, config.hidden_size)),
      embed_tokens_(checked(embed_tokens, config.vocab_size, config.hidden_size, "embed_tokens")),
      lm_head_(checked(lm_head, config.vocab_size, config.hidden_size, "lm_head")),
      attention_(runner_, config),
      mlp_(runner_, config),
      hidden_(config.hidden_size),
      normed_(config.hidden_size) {
    require(norm != nullptr && !embed_tokens_.perm, "the final norm is missing, or embed_tokens is permuted");
    for (int32_t i = 0; i < config.num_layers; ++i) layers_.push_back(make_layer(layers[i], config));
    const bool has_perm = std::any_of(layers_.begin(), layers_.end(), [](const Layer& layer) { return layer.has_perm(); });
    if (lm_head_.perm || has_perm) {
        runner_.allow_permuted(std::max({config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim}));
    }
}

size_t Model::workspace_bytes() const {
    return runner_.num_bytes() + attention_.workspace_bytes() + mlp_.workspace_bytes() + hidden_.num_bytes() + normed_.num_bytes();
}

void Model::forward(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                    const uint8_t* wanted, float* logits) {
    check(rows, token_ids, slots, positions);
    for (int32_t r = 0; r < rows; ++r) attention_.grow(slots[r], positions[r] + 1);
    for (int32_t begin = 0; begin < rows; begin += kMaxStepRows) {
        const Batch batch{std::min(kMaxStepRows, rows - begin), token_ids + begin, slots + begin, positions + begin};
        run_layers(batch);
        logits += static_cast<int64_t>(output_logits(batch, wanted + begin, logits)) * config_.vocab_size;
    }
}

void Model::check(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions) const {
    for (int32_t r = 0; r < rows; ++r) {
        require(token_ids[r] >= 0 && token_ids[r] < config_.vocab_size, "a token id is outside the vocabulary");
        require(slots[r] >= 0 && slots[r] < config_.num_slots, "a slot does not exist");
        require(positions[r] >= 0 && positions[r] < config_.max_model_len, "a position is outside the context");
    }
}

void Model::run_layers(const Batch& batch) {
    runner_.pool.parallel_for(
        batch.rows, [&](int32_t r) { runner_.core.decode_row(embed_tokens_, batch.token_ids[r], hidden_.row(r)); });
    attention_.set_rotation(batch);
    for (int32_t i = 0; i < config_.num_layers; ++i) {
        const Layer& layer = layers_[static_cast<size_t>(i)];
        normalize(batch.rows, layer.input_norm);
        attention_.run(batch, layer, i, normed_, hidden_);
        normalize(batch.rows, layer.post_attention_norm);
        mlp_.run(batch.rows, layer, normed_, hidden_);
    }
}

void Model::normalize(int32_t rows, const std::vector<float>& weight) {
    runner_.pool.parallel_for(rows, [&](int32_t r) {
        runner_.core.rms_norm(hidden_.row(r), weight.data(), config_.rms_norm_eps, config_.hidden_size, normed_.row(r));
    });
}

// Logits of the wanted rows, one after the other; returns how many.
int32_t Model::output_logits(const Batch& batch, const uint8_t* wanted, float* logits) {
    const Core& core = runner_.core;
    int32_t rows = 0;
    for (int32_t r = 0; r < batch.rows; ++r) {
        if (!wanted[r]) continue;
        core.rms_norm(hidden_.row(r), norm_.data(), config_.rms_norm_eps, config_.hidden_size, normed_.row(rows++));
    }
    if (rows == 0) return 0;
    const Input input = runner_.input_of(lm_head_, normed_, runner_.prepare(normed_, rows), 0);
    const Product product{&lm_head_, &input, logits, config_.vocab_size, nullptr};
    runner_.run_products(&product, 1);
    return rows;
}

}  // namespace di
