#include "attention_block.h"

#include <algorithm>
#include <cmath>

namespace di {

AttentionBlock::AttentionBlock(Runner& runner, const di_config& config)
    : runner_(runner),
      config_(config),
      inv_freq_(copied(config.inv_freq, config.rotary_dim / 2)),
      cache_(config.num_layers, config.num_kv_heads, config.head_dim, config.num_slots, config.kv_half != 0),
      q_(config.num_heads * config.head_dim),
      k_(config.num_kv_heads * config.head_dim),
      v_(config.num_kv_heads * config.head_dim),
      attended_(config.num_heads * config.head_dim),
      cos_(static_cast<size_t>(config.rotary_dim / 2) * kMaxStepRows),
      sin_(cos_.size()),
      units_per_kv_head_((config.num_heads / config.num_kv_heads + kMaxGroupHeads - 1) / kMaxGroupHeads),
      num_units_(config.num_kv_heads * units_per_kv_head_) {}

size_t AttentionBlock::workspace_bytes() const {
    size_t bytes = (cos_.size() + sin_.size() + partials_.size()) * sizeof(float);
    for (const Activations* a : {&q_, &k_, &v_, &attended_}) bytes += a->num_bytes();
    return bytes;
}

// Angles are products rounded to float32, as transformers computes them.
void AttentionBlock::set_rotation(const Batch& batch) {
    const size_t half = inv_freq_.size();
    for (int32_t r = 0; r < batch.rows; ++r) {
        for (size_t i = 0; i < half; ++i) {
            const float angle = static_cast<float>(batch.positions[r]) * inv_freq_[i];
            cos_[r * half + i] = std::cos(angle) * config_.cos_sin_factor;
            sin_[r * half + i] = std::sin(angle) * config_.cos_sin_factor;
        }
    }
}

void AttentionBlock::run(const Batch& batch, const Layer& layer, int32_t index, Activations& normed, Activations& hidden) {
    const Input plain = runner_.prepare(normed, batch.rows);
    const Input in_q = runner_.input_of(*layer.q, normed, plain, 0);
    const Input in_k = runner_.input_of(*layer.k, normed, plain, 1);
    const Input in_v = runner_.input_of(*layer.v, normed, plain, 2);
    const Product qkv[] = {{layer.q, &in_q, q_.x.get(), q_.stride, nullptr},
                           {layer.k, &in_k, k_.x.get(), k_.stride, nullptr},
                           {layer.v, &in_v, v_.x.get(), v_.stride, nullptr}};
    runner_.run_products(qkv, 3);
    runner_.pool.parallel_for(batch.rows, [&](int32_t r) { rotate_and_store(batch, layer, index, r); });
    attend(batch, layer, index);
    const Input in_o = runner_.input_of(*layer.o, attended_, runner_.prepare(attended_, batch.rows), 0);
    const Product o{layer.o, &in_o, hidden.x.get(), hidden.stride, hidden.x.get()};
    runner_.run_products(&o, 1);
}

void AttentionBlock::rotate_and_store(const Batch& batch, const Layer& layer, int32_t index, int32_t row) {
    const int32_t head_dim = config_.head_dim;
    for (int32_t h = 0; h < config_.num_heads; ++h) rotate_head(q_.row(row) + h * head_dim, layer.q_norm, row);
    for (int32_t h = 0; h < config_.num_kv_heads; ++h) {
        float* key = k_.row(row) + h * head_dim;
        rotate_head(key, layer.k_norm, row);
        cache_.write(batch.slots[row], index, h, batch.positions[row], key, v_.row(row) + h * head_dim);
    }
}

// The q/k norm if there is one, then the rotation of pairs (i, i + rotary_dim / 2).
void AttentionBlock::rotate_head(float* head, const std::vector<float>& norm, int32_t row) const {
    if (!norm.empty()) runner_.core.rms_norm(head, norm.data(), config_.rms_norm_eps, config_.head_dim, head);
    const size_t half = inv_freq_.size();
    const float *cos = cos_.data() + row * half, *sin = sin_.data() + row * half;
    for (size_t i = 0; i < half; ++i) {
        const float a = head[i], b = head[i + half];
        head[i] = a * cos[i] - b * sin[i];
        head[i + half] = b * cos[i] + a * sin[i];
    }
}

// Query heads go in units of up to kMaxGroupHeads that share a kv head.
AttentionTask AttentionBlock::task_of(const Batch& batch, const Layer& layer, int32_t index, int32_t row, int32_t unit) const {
    const int32_t group = config_.num_heads / config_.num_kv_heads, kv_head = unit / units_per_kv_head_;
    const int32_t first_head = unit % units_per_kv_head_ * kMaxGroupHeads;
    const int32_t position = batch.positions[row], window = layer.sliding_window;
    AttentionTask task;
    task.q = q_.row(row) + (kv_head * group + first_head) * config_.head_dim;
    task.pages = cache_.pages(batch.slots[row], index, kv_head);
    task.num_heads = std::min(kMaxGroupHeads, group - first_head);
    task.first = window > 0 ? std::max(0, position - window + 1) : 0;
    task.last = position + 1;
    task.head_dim = config_.head_dim;
    task.value_stride = cache_.value_stride();
    task.scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim));
    task.half = cache_.half();
    return task;
}

void AttentionBlock::attend(const Batch& batch, const Layer& layer, int32_t index) {
    if (batch.rows == 1) return attend_one(batch, layer, index);
    runner_.pool.parallel_for(batch.rows * num_units_, [&](int32_t n) {
        const Core& core = runner_.core;
        const int32_t row = n / num_units_;
        const AttentionTask task = task_of(batch, layer, index, row, n % num_units_);
        alignas(64) float partials[2][kMaxGroupHeads * partial_stride(kMaxHeadDim)];
        const int32_t first = task.first / kPageTokens;
        core.attend_page(task, first, partials[0]);
        for (int32_t page = first + 1; page * kPageTokens < task.last; ++page) {
            core.attend_page(task, page, partials[1]);
            core.merge_page(task, partials[1], partials[0]);
        }
        core.finish_attention(task, partials[0], attended_.row(row) + (task.q - q_.row(row)));
    });
}

// One token has too few heads to occupy all threads: its pages are shared out, too.
void AttentionBlock::attend_one(const Batch& batch, const Layer& layer, int32_t index) {
    const Core& core = runner_.core;
    const AttentionTask any = task_of(batch, layer, index, 0, 0);
    const int32_t first = any.first / kPageTokens, num_pages = (any.last - 1) / kPageTokens + 1 - first;
    const size_t stride = static_cast<size_t>(kMaxGroupHeads) * partial_stride(any.value_stride);
    const size_t needed = static_cast<size_t>(num_units_) * num_pages * stride;
    if (partials_.size() < needed) partials_.resize(needed);
    const auto partials = [&](int32_t unit, int32_t page) { return &partials_[(static_cast<size_t>(unit) * num_pages + page) * stride]; };
    runner_.pool.parallel_for(num_units_ * num_pages, [&](int32_t n) {
        const int32_t unit = n / num_pages, page = n % num_pages;
        core.attend_page(task_of(batch, layer, index, 0, unit), first + page, partials(unit, page));
    });
    for (int32_t unit = 0; unit < num_units_; ++unit) {
        const AttentionTask task = task_of(batch, layer, index, 0, unit);
        for (int32_t page = 1; page < num_pages; ++page) core.merge_page(task, partials(unit, page), partials(unit, 0));
        core.finish_attention(task, partials(unit, 0), attended_.row(0) + (task.q - q_.row(0)));
    }
}

}  // namespace di
