#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace di {
namespace {

constexpr int kTasksPerThread = 4;  // enough to even out threads of unequal speed

void require(bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument(what);
}

std::vector<float> copied(const float* values, int32_t n) {
    return values ? std::vector<float>(values, values + n) : std::vector<float>();
}

const Tiles& checked(const di_linear* linear, int32_t out, int32_t in, const char* name) {
    require(linear != nullptr, std::string(name) + " is missing");
    const Tiles& w = linear->packed.tiles();
    require(w.out_features == out && w.in_features == in, std::string(name) + " has the wrong shape");
    return w;
}

Layer make_layer(const di_layer& source, const di_config& c) {
    const int32_t q_size = c.num_heads * c.head_dim, kv_size = c.num_kv_heads * c.head_dim;
    require(source.input_norm && source.post_attention_norm, "a norm is missing");
    Layer layer;
    layer.q = &checked(source.q, q_size, c.hidden_size, "q_proj");
    layer.k = &checked(source.k, kv_size, c.hidden_size, "k_proj");
    layer.v = &checked(source.v, kv_size, c.hidden_size, "v_proj");
    layer.o = &checked(source.o, c.hidden_size, q_size, "o_proj");
    layer.gate = &checked(source.gate, c.intermediate_size, c.hidden_size, "gate_proj");
    layer.up = &checked(source.up, c.intermediate_size, c.hidden_size, "up_proj");
    layer.down = &checked(source.down, c.hidden_size, c.intermediate_size, "down_proj");
    layer.input_norm = copied(source.input_norm, c.hidden_size);
    layer.post_attention_norm = copied(source.post_attention_norm, c.hidden_size);
    layer.q_norm = copied(source.q_norm, c.head_dim);
    layer.k_norm = copied(source.k_norm, c.head_dim);
    layer.sliding_window = source.sliding_window;
    return layer;
}

const di_config& checked(const di_config& c) {
    require(c.hidden_size > 0 && c.intermediate_size > 0 && c.num_layers > 0 && c.vocab_size > 0, "a size is not positive");
    require(c.num_kv_heads > 0 && c.num_heads > 0 && c.num_heads % c.num_kv_heads == 0, "heads do not share evenly");
    require(c.head_dim > 0 && c.head_dim % 2 == 0 && c.head_dim <= kMaxHeadDim, "head_dim is odd or above 512");
    require(c.rotary_dim >= 0 && c.rotary_dim % 2 == 0 && c.rotary_dim <= c.head_dim, "rotary_dim does not fit head_dim");
    require(c.max_model_len > 0 && c.num_slots > 0, "no room for a sequence");
    return c;
}

bool has_perm(const std::vector<Layer>& layers, const Tiles& lm_head) {
    return lm_head.perm || std::any_of(layers.begin(), layers.end(), [](const Layer& l) {
               return l.q->perm || l.k->perm || l.v->perm || l.o->perm || l.gate->perm || l.up->perm || l.down->perm;
           });
}

}  // namespace

Activations::Activations(int32_t n)
    : width(n),
      stride(round_up(n, kColumnStep)),
      x(page_array<float>(static_cast<size_t>(stride) * kMaxStepRows)),
      steps(page_array<float>(static_cast<size_t>(stride) / 32 * kMaxStepRows)),
      sums16(page_array<float>(static_cast<size_t>(stride) / 16 * kMaxStepRows)),
      sums32(page_array<float>(static_cast<size_t>(stride) / 32 * kMaxStepRows)),
      codes(page_array<int8_t>(static_cast<size_t>(stride) * kMaxStepRows)) {}

size_t Activations::num_bytes() const {
    const size_t columns = static_cast<size_t>(stride) * kMaxStepRows;
    return columns * (sizeof(float) + sizeof(int8_t)) + columns / 32 * 4 * sizeof(float);
}

Input Activations::prepare(const Core& core, ThreadPool& pool, int32_t rows, int32_t columns, bool int8) {
    if (int8) {
        pool.parallel_for(rows, [&](int32_t r) {
            const size_t at = static_cast<size_t>(r) * stride;
            core.quantize(row(r), columns, {&codes[at], &steps[at / 32], &sums16[at / 16], &sums32[at / 32]});
        });
    } else if (rows == 1) {
        core.column_sums(x.get(), columns, sums16.get(), sums32.get());
    }
    return {x.get(), int8 ? codes.get() : nullptr, steps.get(), sums16.get(), sums32.get(), stride, rows};
}

Model::Model(const Core& core, ThreadPool& pool, const di_config& config, const di_layer* layers,
             const di_linear* embed_tokens, const float* norm, const di_linear* lm_head)
    : core_(core),
      pool_(pool),
      config_(checked(config)),
      inv_freq_(copied(config.inv_freq, config.rotary_dim / 2)),
      norm_(copied(norm, config.hidden_size)),
      embed_tokens_(checked(embed_tokens, config.vocab_size, config.hidden_size, "embed_tokens")),
      lm_head_(checked(lm_head, config.vocab_size, config.hidden_size, "lm_head")),
      cache_(config.num_layers, config.num_kv_heads, config.head_dim, config.num_slots, config.kv_half != 0),
      hidden_(config.hidden_size),
      normed_(config.hidden_size),
      q_(config.num_heads * config.head_dim),
      k_(config.num_kv_heads * config.head_dim),
      v_(config.num_kv_heads * config.head_dim),
      attended_(config.num_heads * config.head_dim),
      gate_(config.intermediate_size),
      up_(config.intermediate_size),
      cos_(static_cast<size_t>(config.rotary_dim / 2) * kMaxStepRows),
      sin_(cos_.size()),
      units_per_kv_head_((config.num_heads / config.num_kv_heads + kMaxGroupHeads - 1) / kMaxGroupHeads) {
    require(norm != nullptr && !embed_tokens_.perm, "the final norm is missing, or embed_tokens is permuted");
    for (int32_t i = 0; i < config.num_layers; ++i) layers_.push_back(make_layer(layers[i], config));
    if (!has_perm(layers_, lm_head_)) return;
    const int32_t widest = std::max({config.hidden_size, config.intermediate_size, q_.width});
    for (Activations& buffer : permuted_) buffer = Activations(widest);
}

size_t Model::workspace_bytes() const {
    size_t bytes = (cos_.size() + sin_.size() + partials_.size()) * sizeof(float);
    for (const Activations* a : {&hidden_, &normed_, &q_, &k_, &v_, &attended_, &gate_, &up_}) bytes += a->num_bytes();
    for (const Activations& a : permuted_) bytes += a.num_bytes();
    return bytes;
}

void Model::forward(int32_t rows, const int32_t* token_ids, const int32_t* slots, const int32_t* positions,
                    const uint8_t* wanted, float* logits) {
    check(rows, token_ids, slots, positions);
    for (int32_t r = 0; r < rows; ++r) cache_.grow(slots[r], positions[r] + 1);
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
    pool_.parallel_for(batch.rows, [&](int32_t r) { core_.decode_row(embed_tokens_, batch.token_ids[r], hidden_.row(r)); });
    set_rotation(batch);
    for (int32_t i = 0; i < config_.num_layers; ++i) {
        attention_block(batch, i);
        mlp_block(batch.rows, layers_[static_cast<size_t>(i)]);
    }
}

// Angles are products rounded to float32, as transformers computes them.
void Model::set_rotation(const Batch& batch) {
    const size_t half = inv_freq_.size();
    for (int32_t r = 0; r < batch.rows; ++r) {
        for (size_t i = 0; i < half; ++i) {
            const float angle = static_cast<float>(batch.positions[r]) * inv_freq_[i];
            cos_[r * half + i] = std::cos(angle) * config_.cos_sin_factor;
            sin_[r * half + i] = std::sin(angle) * config_.cos_sin_factor;
        }
    }
}

void Model::normalize(int32_t rows, const std::vector<float>& weight) {
    pool_.parallel_for(rows, [&](int32_t r) {
        core_.rms_norm(hidden_.row(r), weight.data(), config_.rms_norm_eps, config_.hidden_size, normed_.row(r));
    });
}

void Model::attention_block(const Batch& batch, int32_t index) {
    const Layer& layer = layers_[static_cast<size_t>(index)];
    normalize(batch.rows, layer.input_norm);
    const Input plain = prepare(normed_, batch.rows);
    const Input in_q = input_of(*layer.q, normed_, plain, permuted_[0]);
    const Input in_k = input_of(*layer.k, normed_, plain, permuted_[1]);
    const Input in_v = input_of(*layer.v, normed_, plain, permuted_[2]);
    const Product qkv[] = {{layer.q, &in_q, q_.x.get(), q_.stride, nullptr},
                           {layer.k, &in_k, k_.x.get(), k_.stride, nullptr},
                           {layer.v, &in_v, v_.x.get(), v_.stride, nullptr}};
    run_products(qkv, 3);
    pool_.parallel_for(batch.rows, [&](int32_t r) { rotate_and_store(batch, index, r); });
    attend(batch, index);
    const Input in_o = input_of(*layer.o, attended_, prepare(attended_, batch.rows), permuted_[0]);
    const Product o{layer.o, &in_o, hidden_.x.get(), hidden_.stride, hidden_.x.get()};
    run_products(&o, 1);
}

void Model::rotate_and_store(const Batch& batch, int32_t index, int32_t row) {
    const Layer& layer = layers_[static_cast<size_t>(index)];
    const int32_t head_dim = config_.head_dim;
    for (int32_t h = 0; h < config_.num_heads; ++h) rotate_head(q_.row(row) + h * head_dim, layer.q_norm, row);
    for (int32_t h = 0; h < config_.num_kv_heads; ++h) {
        float* key = k_.row(row) + h * head_dim;
        rotate_head(key, layer.k_norm, row);
        cache_.write(batch.slots[row], index, h, batch.positions[row], key, v_.row(row) + h * head_dim);
    }
}

// The q/k norm if there is one, then the rotation of pairs (i, i + rotary_dim / 2).
void Model::rotate_head(float* head, const std::vector<float>& norm, int32_t row) const {
    if (!norm.empty()) core_.rms_norm(head, norm.data(), config_.rms_norm_eps, config_.head_dim, head);
    const size_t half = inv_freq_.size();
    const float *cos = cos_.data() + row * half, *sin = sin_.data() + row * half;
    for (size_t i = 0; i < half; ++i) {
        const float a = head[i], b = head[i + half];
        head[i] = a * cos[i] - b * sin[i];
        head[i + half] = b * cos[i] + a * sin[i];
    }
}

// Query heads go in units of up to kMaxGroupHeads that share a kv head.
AttentionTask Model::attention_task(const Batch& batch, int32_t index, int32_t row, int32_t unit) {
    const int32_t group = config_.num_heads / config_.num_kv_heads, kv_head = unit / units_per_kv_head_;
    const int32_t first_head = unit % units_per_kv_head_ * kMaxGroupHeads;
    const int32_t position = batch.positions[row], window = layers_[static_cast<size_t>(index)].sliding_window;
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

void Model::attend(const Batch& batch, int32_t index) {
    const int32_t num_units = config_.num_kv_heads * units_per_kv_head_;
    if (batch.rows == 1) return attend_one(batch, index, num_units);
    pool_.parallel_for(batch.rows * num_units, [&](int32_t n) {
        const int32_t row = n / num_units;
        const AttentionTask task = attention_task(batch, index, row, n % num_units);
        alignas(64) float partials[2][kMaxGroupHeads * partial_stride(kMaxHeadDim)];
        const int32_t first = task.first / kPageTokens;
        core_.attend_page(task, first, partials[0]);
        for (int32_t page = first + 1; page * kPageTokens < task.last; ++page) {
            core_.attend_page(task, page, partials[1]);
            core_.merge_page(task, partials[1], partials[0]);
        }
        core_.finish_attention(task, partials[0], attended_.row(row) + (task.q - q_.row(row)));
    });
}

// One token has too few heads to occupy all threads: its pages are shared out, too.
void Model::attend_one(const Batch& batch, int32_t index, int32_t num_units) {
    const AttentionTask any = attention_task(batch, index, 0, 0);
    const int32_t first = any.first / kPageTokens, num_pages = (any.last - 1) / kPageTokens + 1 - first;
    const size_t stride = static_cast<size_t>(kMaxGroupHeads) * partial_stride(any.value_stride);
    const size_t needed = static_cast<size_t>(num_units) * num_pages * stride;
    if (partials_.size() < needed) partials_.resize(needed);
    const auto partials = [&](int32_t unit, int32_t page) { return &partials_[(static_cast<size_t>(unit) * num_pages + page) * stride]; };
    pool_.parallel_for(num_units * num_pages, [&](int32_t n) {
        const int32_t unit = n / num_pages, page = n % num_pages;
        core_.attend_page(attention_task(batch, index, 0, unit), first + page, partials(unit, page));
    });
    for (int32_t unit = 0; unit < num_units; ++unit) {
        const AttentionTask task = attention_task(batch, index, 0, unit);
        for (int32_t page = 1; page < num_pages; ++page) core_.merge_page(task, partials(unit, page), partials(unit, 0));
        core_.finish_attention(task, partials(unit, 0), attended_.row(0) + (task.q - q_.row(0)));
    }
}

void Model::mlp_block(int32_t rows, const Layer& layer) {
    normalize(rows, layer.post_attention_norm);
    const Input plain = prepare(normed_, rows);
    const Input in_gate = input_of(*layer.gate, normed_, plain, permuted_[0]);
    const Input in_up = input_of(*layer.up, normed_, plain, permuted_[1]);
    const Product gate{layer.gate, &in_gate, gate_.x.get(), gate_.stride, nullptr};
    const Product up{layer.up, &in_up, up_.x.get(), up_.stride, nullptr};
    for_tiles(layer.gate->num_tiles, [&](int32_t begin, int32_t end) {
        core_.linear(gate, begin, end);
        core_.linear(up, begin, end);
        for (int32_t r = 0; r < rows; ++r) {
            core_.silu_mul(gate_.row(r) + begin * kTileRows, up_.row(r) + begin * kTileRows, (end - begin) * kTileRows);
        }
    });
    const Input in_down = input_of(*layer.down, gate_, prepare(gate_, rows), permuted_[0]);
    const Product down{layer.down, &in_down, hidden_.x.get(), hidden_.stride, hidden_.x.get()};
    run_products(&down, 1);
}

// Logits of the wanted rows, one after the other; returns how many.
int32_t Model::output_logits(const Batch& batch, const uint8_t* wanted, float* logits) {
    int32_t rows = 0;
    for (int32_t r = 0; r < batch.rows; ++r) {
        if (!wanted[r]) continue;
        core_.rms_norm(hidden_.row(r), norm_.data(), config_.rms_norm_eps, config_.hidden_size, normed_.row(rows++));
    }
    if (rows == 0) return 0;
    const Input input = input_of(lm_head_, normed_, prepare(normed_, rows), permuted_[0]);
    const Product product{&lm_head_, &input, logits, config_.vocab_size, nullptr};
    run_products(&product, 1);
    return rows;
}

Input Model::prepare(Activations& source, int32_t rows) {
    return source.prepare(core_, pool_, rows, source.stride, config_.int8_activations != 0);
}

// The rows a linear reads: `plain` as it is, or the source's columns in the linear's stored order.
Input Model::input_of(const Tiles& w, Activations& source, const Input& plain, Activations& permuted) {
    if (!w.perm) return plain;
    pool_.parallel_for(plain.rows, [&](int32_t r) {
        float* out = permuted.row(r);
        for (int32_t c = 0; c < w.in_features; ++c) out[c] = source.row(r)[w.perm[c]];
        std::fill(out + w.in_features, out + w.padded_in, 0.0f);
    });
    return permuted.prepare(core_, pool_, plain.rows, w.padded_in, config_.int8_activations != 0);
}

// Splits tiles among the threads; `body(begin, end)` runs once for each share.
template <typename F>
void Model::for_tiles(int32_t num_tiles, F&& body) {
    const int32_t tasks = std::min(num_tiles, pool_.num_threads() == 1 ? 1 : pool_.num_threads() * kTasksPerThread);
    pool_.parallel_for(tasks, [&](int32_t task) {
        const int64_t n = num_tiles;
        body(static_cast<int32_t>(n * task / tasks), static_cast<int32_t>(n * (task + 1) / tasks));
    });
}

// Products that may run side by side, as one loop over the tiles of all.
void Model::run_products(const Product* products, int count) {
    int32_t total = 0;
    for (int i = 0; i < count; ++i) total += products[i].w->num_tiles;
    for_tiles(total, [&](int32_t begin, int32_t end) {
        for (int i = 0; i < count; ++i) {
            const int32_t tiles = products[i].w->num_tiles;
            if (begin < tiles && end > 0) core_.linear(products[i], std::max(begin, 0), std::min(end, tiles));
            begin -= tiles;
            end -= tiles;
        }
    });
}

}  // namespace di
