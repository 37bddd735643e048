#include "attention_block.h"

#include "rounded_math.h"

namespace di {

namespace {

bool is_latent(const di_config& c) { return c.mla.kv_lora_rank > 0; }

// Latent vectors are one kv head, whose keys have the columns that rotate besides.
KVShape cache_shape(const di_config& c) {
    if (is_latent(c)) return {c.num_layers, 1, c.mla.qk_rope_head_dim, c.mla.kv_lora_rank, true};
    return {c.num_layers, c.num_kv_heads, c.head_dim, c.head_dim, false};
}

}  // namespace

AttentionBlock::AttentionBlock(Runner& runner, const di_config& config, bool has_output_gate)
    : runner_(runner),
      config_(config),
      cache_(cache_shape(config), config.num_slots, config.num_pages, static_cast<KVType>(config.kv_type)),
      attention_(runner, cache_, config.num_heads, is_latent(config) ? 1 : config.num_kv_heads),
      q_(config.num_heads * config.head_dim),
      k_(is_latent(config) ? 0 : config.num_kv_heads * config.head_dim),
      v_(k_.width),
      attended_(config.num_heads * value_dim(config)),
      output_gate_(has_output_gate ? attended_.width : 0),
      latent_(runner, config),
      scales_(kMaxStepRows) {
    for (int32_t i = 0; i < config.num_ropes; ++i) rotations_.emplace_back(config.ropes[i]);
}

size_t AttentionBlock::workspace_bytes() const {
    size_t bytes = attention_.num_bytes() + latent_.num_bytes();
    for (const Rotation& rotation : rotations_) bytes += rotation.num_bytes();
    for (const Activations* a : {&q_, &k_, &v_, &attended_, &output_gate_}) bytes += a->num_bytes();
    return bytes;
}

void AttentionBlock::set_positions(const Batch& batch) {
    for (Rotation& rotation : rotations_) rotation.set_positions(batch.positions, batch.rows);
    for (int32_t r = 0; r < batch.rows; ++r) scales_[static_cast<size_t>(r)] = score_scale(batch.positions[r]);
}

void AttentionBlock::run(const Batch& batch, const Layer& layer, int32_t index, const Activations& source,
                         const Input& plain, Activations& out, bool add) {
    if (layer.latent.kv_a) {
        attend_latents(batch, layer, index, source, plain);
    } else {
        project(layer, source, plain);
        runner_.pool.parallel_for(batch.rows, [&](int32_t r) { rotate_and_store(batch, layer, index, r); });
        attend(batch, layer, index, q_, attended_);
    }
    if (layer.output_gate) {
        runner_.pool.parallel_for(
            batch.rows, [&](int32_t r) { runner_.core.mul_sigmoid(attended_.row(r), output_gate_.row(r), attended_.width); });
    }
    const Input in_o = runner_.input_of(*layer.o, attended_, runner_.prepare(attended_, batch.rows), 0);
    const Product o{layer.o, &in_o, out.x.get(), out.stride, add ? out.x.get() : nullptr};
    runner_.run_products(&o, 1);
}

// Queries, keys, values and the gate of the output, in one loop.
void AttentionBlock::project(const Layer& layer, const Activations& source, const Input& plain) {
    const Input in_q = runner_.input_of(*layer.q, source, plain, 0);
    const Input in_k = runner_.input_of(*layer.k, source, plain, 1);
    const Input in_v = runner_.input_of(*layer.v, source, plain, 2);
    const Input in_gate = layer.output_gate ? runner_.input_of(*layer.output_gate, source, plain, 3) : plain;
    const Product products[] = {{layer.q, &in_q, q_.x.get(), q_.stride, nullptr},
                                {layer.k, &in_k, k_.x.get(), k_.stride, nullptr},
                                {layer.v, &in_v, v_.x.get(), v_.stride, nullptr},
                                {layer.output_gate, &in_gate, output_gate_.x.get(), output_gate_.stride, nullptr}};
    runner_.run_products(products, layer.output_gate ? 4 : 3);
}

void AttentionBlock::rotate_and_store(const Batch& batch, const Layer& layer, int32_t index, int32_t row) {
    prepare_heads(q_.row(row), config_.num_heads, layer.q_norm, layer.rope, row);
    prepare_heads(k_.row(row), config_.num_kv_heads, layer.k_norm, layer.rope, row);
    for (int32_t h = 0; h < config_.num_kv_heads; ++h) {
        const float *key = k_.row(row) + h * cache_.head_dim(), *value = v_.row(row) + h * cache_.value_dim();
        cache_.write(batch.slots[row], index, h, batch.positions[row], key, value);
    }
}

void AttentionBlock::attend_latents(const Batch& batch, const Layer& layer, int32_t index, const Activations& source,
                                    const Input& plain) {
    latent_.project(layer, source, plain, q_);
    runner_.pool.parallel_for(batch.rows, [&](int32_t r) { rotate_and_store_latent(batch, layer, index, r); });
    const Activations& queries = latent_.absorb(layer, batch.rows, q_);
    attend(batch, layer, index, queries, latent_.mixed());
    latent_.expand(layer, batch.rows, attended_);
}

void AttentionBlock::rotate_and_store_latent(const Batch& batch, const Layer& layer, int32_t index, int32_t row) {
    prepare_heads(q_.row(row), config_.num_heads, layer.q_norm, layer.rope, row);
    if (layer.rope >= 0) {
        const Rotation& rotation = rotations_[static_cast<size_t>(layer.rope)];
        runner_.core.rotate(latent_.turning(row), rotation.cos(row), rotation.sin(row), rotation.half());
    }
    cache_.write(batch.slots[row], index, 0, batch.positions[row], latent_.turning(row), latent_.latent(row));
}

// The q/k norm if there is one, then the rotation if there is one.
void AttentionBlock::prepare_heads(float* heads, int32_t count, const std::vector<float>& norm, int32_t rope, int32_t row) const {
    const Core& core = runner_.core;
    const int32_t head_dim = config_.head_dim, width = static_cast<int32_t>(norm.size());
    for (int32_t at = 0; width > 0 && at < count * head_dim; at += width) {
        core.rms_norm(heads + at, norm.data(), config_.rms_norm_eps, width, heads + at);
    }
    if (rope < 0) return;
    const Rotation& rotation = rotations_[static_cast<size_t>(rope)];
    for (float* head = heads + config_.mla.qk_nope_head_dim; head < heads + count * head_dim; head += head_dim) {
        core.rotate(head, rotation.cos(row), rotation.sin(row), rotation.half());
    }
}

// Queries that grow with their position are as good as scores that do.
float AttentionBlock::score_scale(int32_t position) const {
    if (config_.query_scaling_beta == 0.0f) return config_.attention_multiplier;
    const float turns = static_cast<float>(position / config_.query_scaling_length);
    return config_.attention_multiplier * (1.0f + config_.query_scaling_beta * rounded_log1p(turns));
}

void AttentionBlock::attend(const Batch& batch, const Layer& layer, int32_t index, const Activations& q, Activations& out) {
    AttentionStep step;
    step.rows = batch.rows;
    step.layer = index;
    step.slots = batch.slots;
    step.positions = batch.positions;
    step.scales = scales_.data();
    step.softcap = config_.attn_logit_softcapping;
    step.sinks = layer.sinks.empty() ? nullptr : layer.sinks.data();
    step.sliding_window = layer.sliding_window;
    attention_.run(step, q, out);
}

}  // namespace di
