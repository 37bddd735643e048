#include "latent_projection.h"

#include <algorithm>

namespace di {

LatentProjection::LatentProjection(Runner& runner, const di_config& config)
    : runner_(runner),
      config_(config.mla),
      num_heads_(config.num_heads),
      q_a_(config_.q_lora_rank),
      kv_a_(config_.kv_lora_rank + config_.qk_rope_head_dim),
      latent_(config_.kv_lora_rank),
      kv_b_(num_heads_ * (config_.qk_nope_head_dim + config_.v_head_dim)) {}

void LatentProjection::project(const Layer& layer, const Activations& source, const Input& plain, Activations& q,
                               Activations& k, Activations& v) {
    run_first(layer, source, plain, q);
    runner_.pool.parallel_for(plain.rows, [&](int32_t r) { normalize(layer.latent, r); });
    run_second(layer, plain.rows, q);
    runner_.pool.parallel_for(plain.rows, [&](int32_t r) { split(r, k, v); });
}

// What reads the source: plain queries or their latent vector, and the latent vector of keys and values.
void LatentProjection::run_first(const Layer& layer, const Activations& source, const Input& plain, Activations& q) {
    const Latent& latent = layer.latent;
    const Tiles& first = latent.q_a ? *latent.q_a : *layer.q;
    const Activations& out = latent.q_a ? q_a_ : q;
    const Input in_q = runner_.input_of(first, source, plain, 0), in_kv = runner_.input_of(*latent.kv_a, source, plain, 1);
    const Product products[] = {{&first, &in_q, out.x.get(), out.stride, nullptr},
                                {latent.kv_a, &in_kv, kv_a_.x.get(), kv_a_.stride, nullptr}};
    runner_.run_products(products, 2);
}

void LatentProjection::normalize(const Latent& latent, int32_t row) {
    const Core& core = runner_.core;
    core.rms_norm(kv_a_.row(row), latent.kv_a_norm.data(), config_.norm_eps, config_.kv_lora_rank, latent_.row(row));
    if (latent.q_a) core.rms_norm(q_a_.row(row), latent.q_a_norm.data(), config_.norm_eps, config_.q_lora_rank, q_a_.row(row));
}

void LatentProjection::run_second(const Layer& layer, int32_t rows, Activations& q) {
    const bool has_q = layer.latent.q_a != nullptr;
    const Input in_kv = runner_.input_of(*layer.latent.kv_b, latent_, runner_.prepare(latent_, rows), 0);
    const Input in_q = has_q ? runner_.input_of(*layer.q, q_a_, runner_.prepare(q_a_, rows), 1) : in_kv;
    const Product products[] = {{layer.latent.kv_b, &in_kv, kv_b_.x.get(), kv_b_.stride, nullptr},
                                {layer.q, &in_q, q.x.get(), q.stride, nullptr}};
    runner_.run_products(products, has_q ? 2 : 1);
}

// All heads share the key's columns that rotate.
void LatentProjection::split(int32_t row, Activations& k, Activations& v) const {
    const int32_t nope = config_.qk_nope_head_dim, rope = config_.qk_rope_head_dim, value = config_.v_head_dim;
    const float *from = kv_b_.row(row), *shared = kv_a_.row(row) + config_.kv_lora_rank;
    float *key_to = k.row(row), *value_to = v.row(row);
    for (int32_t h = 0; h < num_heads_; ++h, from += nope + value) {
        key_to = std::copy(shared, shared + rope, std::copy(from, from + nope, key_to));
        value_to = std::copy(from + nope, from + nope + value, value_to);
    }
}

}  // namespace di
