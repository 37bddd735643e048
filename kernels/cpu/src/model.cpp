#include "model.h"

#include <algorithm>

namespace di {
namespace {

void check_rope(const di_rope& rope, int32_t head_dim) {
    require(rope.rotary_dim >= 0 && rope.rotary_dim % 2 == 0 && rope.rotary_dim <= head_dim, "rotary_dim does not fit head_dim");
    require(rope.inv_freq != nullptr, "a rope has no frequencies");
}

void check_moe(const di_moe& m) {
    require(m.num_experts_per_tok > 0 && m.num_experts_per_tok <= m.num_experts, "num_experts_per_tok does not fit num_experts");
    require(m.intermediate_size > 0 && m.shared_intermediate_size >= 0, "a size of the experts is not positive");
    require(m.num_groups > 0 && m.num_experts % m.num_groups == 0, "num_groups does not divide num_experts");
    require(m.topk_groups > 0 && m.topk_groups <= m.num_groups, "topk_groups does not fit num_groups");
    require(m.topk_groups * (m.num_experts / m.num_groups) >= m.num_experts_per_tok, "the chosen groups have too few experts");
    require(m.scoring >= 0 && m.scoring <= 2, "unknown scoring");
}

void check_mla(const di_config& c) {
    const di_mla& m = c.mla;
    require(m.kv_lora_rank > 0 && m.q_lora_rank >= 0 && m.qk_nope_head_dim > 0 && m.qk_rope_head_dim >= 0, "a latent size is negative");
    require(c.num_kv_heads == c.num_heads && c.head_dim == m.qk_nope_head_dim + m.qk_rope_head_dim, "heads do not fit latent attention");
    require(m.kv_lora_rank <= kMaxHeadDim && m.qk_rope_head_dim <= kMaxLatentDim - kMaxHeadDim, "kv_lora_rank is above 512, or qk_rope_head_dim above 128");
    require(m.v_head_dim > 0, "v_head_dim is not positive");
    for (int32_t i = 0; i < c.num_ropes; ++i) require(c.ropes[i].rotary_dim <= m.qk_rope_head_dim, "rotary_dim does not fit qk_rope_head_dim");
}

void check_delta_net(const di_delta_net& d) {
    require(d.num_key_heads > 0 && d.num_value_heads > 0 && d.num_value_heads % d.num_key_heads == 0, "value heads do not share keys evenly");
    require(d.key_head_dim > 0 && d.value_head_dim > 0, "a size of linear layers is not positive");
    require(d.conv_kernel > 1 && d.conv_kernel <= 64, "conv_kernel is not between 2 and 64");
}

const di_config& checked(const di_config& c) {
    require(c.hidden_size > 0 && c.intermediate_size > 0 && c.num_layers > 0 && c.vocab_size > 0, "a size is not positive");
    require(c.num_kv_heads > 0 && c.num_heads > 0 && c.num_heads % c.num_kv_heads == 0, "heads do not share evenly");
    require(c.head_dim > 0 && c.head_dim % 2 == 0 && c.head_dim <= kMaxHeadDim, "head_dim is odd or above 512");
    require(c.max_model_len > 0 && c.num_slots > 0 && c.num_pages > 0, "no room for a sequence");
    require(c.hidden_act >= 0 && c.hidden_act <= 2, "unknown hidden_act");
    require(c.query_scaling_beta == 0.0f || c.query_scaling_length > 0, "query_scaling_length is not positive");
    require(c.num_ropes >= 0 && (c.num_ropes == 0 || c.ropes), "ropes are missing");
    for (int32_t i = 0; i < c.num_ropes; ++i) check_rope(c.ropes[i], c.head_dim);
    if (c.moe.num_experts > 0) check_moe(c.moe);
    if (c.mla.kv_lora_rank != 0) check_mla(c);
    if (c.delta_net.num_key_heads != 0) check_delta_net(c.delta_net);
    return c;
}

std::vector<Layer> make_layers(const di_layer* sources, const di_config& config) {
    std::vector<Layer> layers;
    for (int32_t i = 0; i < config.num_layers; ++i) layers.push_back(make_layer(sources[i], config));
    return layers;
}

template <typename F>
bool any_of(const std::vector<Layer>& layers, F&& is_so) {
    return std::any_of(layers.begin(), layers.end(), is_so);
}

int32_t count_linear(const std::vector<Layer>& layers) {
    return static_cast<int32_t>(std::count_if(layers.begin(), layers.end(), [](const Layer& layer) { return layer.is_linear(); }));
}

// The configuration of the layers of attention alone: what is cached by position.
di_config of_attention(di_config config, const std::vector<Layer>& layers) {
    config.num_layers -= count_linear(layers);
    return config;
}

bool has_dense(const std::vector<Layer>& layers) {
    return any_of(layers, [](const Layer& layer) { return !layer.is_sparse(); });
}

bool has_output_gate(const std::vector<Layer>& layers) {
    return any_of(layers, [](const Layer& layer) { return layer.output_gate != nullptr; });
}

}  // namespace

Model::Model(const Core& core, ThreadPool& pool, const di_config& config, const di_layer* layers,
             const di_linear* embed_tokens, const di_norm& norm, const di_linear* lm_head)
    : config_(checked(config)),
      runner_(core, pool, config),
      layers_(make_layers(layers, config)),
      norm_(make_norm(norm, config)),
      embed_tokens_(checked(embed_tokens, config.vocab_size, config.hidden_size, "embed_tokens")),
      lm_head_(checked(lm_head, config.vocab_size, config.hidden_size, "lm_head")),
      attention_(runner_, of_attention(config, layers_), has_output_gate(layers_)),
      delta_net_(runner_, config, count_linear(layers_)),
      mlp_(runner_, static_cast<HiddenAct>(config.hidden_act), has_dense(layers_) ? config.intermediate_size : 0),
      moe_(runner_, config),
      hidden_(config.hidden_size),
      normed_(config.hidden_size),
      branch_(config.hidden_size) {
    require(!norm_.is_absent() && !embed_tokens_.perm, "the final norm is missing, or embed_tokens is permuted");
    if (lm_head_.perm || any_of(layers_, [](const Layer& layer) { return layer.has_perm(); })) {
        runner_.allow_permuted(std::max({config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim,
                                         config.num_heads * config.mla.v_head_dim, config.mla.q_lora_rank, config.mla.kv_lora_rank,
                                         config.moe.shared_intermediate_size,
                                         config.delta_net.num_value_heads * config.delta_net.value_head_dim}));
    }
}

size_t Model::workspace_bytes() const {
    size_t bytes = runner_.num_bytes() + attention_.workspace_bytes() + delta_net_.workspace_bytes() + mlp_.workspace_bytes() +
                   moe_.workspace_bytes();
    for (const Activations* a : {&hidden_, &normed_, &branch_}) bytes += a->num_bytes();
    for (const TokenSampler& sampler : samplers_) bytes += sampler.num_bytes();
    return bytes + logits_.size() * sizeof(float);
}

void Model::forward(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                    const uint8_t* wanted, float* logits) {
    check(rows, token_ids, slots, positions);
    for (int32_t r = 0; r < rows; ++r) attention_.cache().reach(slots[r], positions[r] + 1);
    for (int32_t begin = 0; begin < rows; begin += kMaxStepRows) {
        const Batch batch{std::min(kMaxStepRows, rows - begin), token_ids + begin, slots + begin, positions + begin};
        run_layers(batch);
        logits += static_cast<int64_t>(output_logits(batch, wanted + begin, logits)) * config_.vocab_size;
    }
}

void Model::sample(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                   const di_sampling* const* samplings, int32_t* sampled) {
    std::vector<uint8_t> wanted;
    std::vector<int32_t> sources;  // of each line of logits, its row
    for (int32_t r = 0; r < rows; ++r) {
        wanted.push_back(samplings[r] != nullptr);
        if (samplings[r]) sources.push_back(r);
    }
    const size_t lines = sources.size(), vocab_size = static_cast<size_t>(config_.vocab_size);
    if (logits_.size() < lines * vocab_size) logits_.resize(lines * vocab_size);
    if (samplers_.size() < lines) samplers_.resize(lines);
    forward(rows, token_ids, slots, positions, wanted.data(), logits_.data());
    std::fill(sampled, sampled + rows, -1);
    runner_.pool.parallel_for(static_cast<int32_t>(lines), [&](int32_t n) {
        const size_t line = static_cast<size_t>(n);
        const int32_t row = sources[line];
        sampled[row] = samplers_[line].sample(&logits_[line * vocab_size], config_.vocab_size, *samplings[row]);
    });
}

void Model::check(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions) const {
    for (int32_t r = 0; r < rows; ++r) {
        require(token_ids[r] >= 0 && token_ids[r] < config_.vocab_size, "a token id is outside the vocabulary");
        require(slots[r] >= 0 && slots[r] < config_.num_slots, "a slot does not exist");
        require(positions[r] >= 0 && positions[r] < config_.max_model_len, "a position is outside the context");
        require(positions[r] < attention_.cache().num_positions(slots[r]), "a position has no page");
    }
}

void Model::run_layers(const Batch& batch) {
    embed(batch);
    attention_.set_positions(batch);
    int32_t num_linear = 0;
    for (int32_t i = 0; i < config_.num_layers; ++i) {
        const Layer& layer = layers_[static_cast<size_t>(i)];
        const bool plain = is_plain_branch(layer.post_self_attn_norm);
        Input input;
        const Activations& source = normalize(batch.rows, layer.input_norm, &input);
        Activations& out = plain ? hidden_ : branch_;
        if (layer.is_linear()) {
            delta_net_.run(batch, layer, num_linear++, source, input, out, plain);
        } else {
            attention_.run(batch, layer, i - num_linear, source, input, out, plain);
        }
        if (!plain) add_branch(batch.rows, layer.post_self_attn_norm);
        run_mlp(batch.rows, layer);
    }
}

void Model::embed(const Batch& batch) {
    runner_.pool.parallel_for(batch.rows, [&](int32_t r) {
        float* row = hidden_.row(r);
        runner_.core.decode_row(embed_tokens_, batch.token_ids[r], row);
        // Columns that pad a group decode to anything; where no norm stands before a linear they must be 0.
        std::fill(row + hidden_.width, row + embed_tokens_.padded_in, 0.0f);
        if (config_.embedding_multiplier != 1.0f) runner_.core.scale(row, config_.embedding_multiplier, hidden_.width);
    });
}

// The rows a block reads: normed, or the residual stream itself.
const Activations& Model::normalize(int32_t rows, const Norm& norm, Input* input) {
    Activations& source = norm.is_absent() ? hidden_ : normed_;
    if (!norm.is_absent()) {
        runner_.pool.parallel_for(rows, [&](int32_t r) { runner_.normalize(norm, hidden_.row(r), normed_.row(r)); });
    }
    *input = runner_.prepare(source, rows);
    return source;
}

void Model::run_mlp(int32_t rows, const Layer& layer) {
    const bool plain = is_plain_branch(layer.post_mlp_norm) && !layer.is_sparse();
    Input input;
    const Activations& source = normalize(rows, layer.post_attention_norm, &input);
    if (layer.is_sparse()) {
        moe_.run(layer.moe, source, input, branch_);
    } else {
        mlp_.run(layer.mlp, source, input, plain ? hidden_ : branch_, plain);
    }
    if (!plain) add_branch(rows, layer.post_mlp_norm);
}

// hidden += residual_multiplier * norm(branch)
void Model::add_branch(int32_t rows, const Norm& norm) {
    runner_.pool.parallel_for(rows, [&](int32_t r) {
        float* branch = branch_.row(r);
        if (!norm.is_absent()) runner_.normalize(norm, branch, branch);
        runner_.core.add_scaled(hidden_.row(r), branch, config_.residual_multiplier, config_.hidden_size);
    });
}

// Logits of the wanted rows, one after the other; returns how many.
int32_t Model::output_logits(const Batch& batch, const uint8_t* wanted, float* logits) {
    int32_t rows = 0;
    for (int32_t r = 0; r < batch.rows; ++r) {
        if (wanted[r]) runner_.normalize(norm_, hidden_.row(r), normed_.row(rows++));
    }
    if (rows == 0) return 0;
    const Input input = runner_.input_of(lm_head_, normed_, runner_.prepare(normed_, rows), 0);
    const Product product{&lm_head_, &input, logits, config_.vocab_size, nullptr};
    runner_.for_tiles(lm_head_.num_tiles, [&](int32_t begin, int32_t end) {
        runner_.core.linear(product, begin, end);
        const int32_t at = begin * kTileRows, n = std::min(end * kTileRows, config_.vocab_size) - at;
        for (int32_t r = 0; r < rows; ++r) finish_logits(logits + static_cast<int64_t>(r) * config_.vocab_size + at, n);
    });
    return rows;
}

void Model::finish_logits(float* logits, int32_t n) const {
    if (config_.logits_multiplier != 1.0f) runner_.core.scale(logits, config_.logits_multiplier, n);
    if (config_.final_logit_softcapping > 0.0f) runner_.core.softcap(logits, config_.final_logit_softcapping, n);
}

}  // namespace di
