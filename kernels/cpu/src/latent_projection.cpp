#include "latent_projection.h"

#include <algorithm>

namespace di {

namespace {

int32_t latent_heads(const di_config& config) { return config.mla.kv_lora_rank > 0 ? config.num_heads : 0; }
int32_t padded_rank(const di_mla& mla) { return round_up(mla.kv_lora_rank, kColumnStep); }

// Tiles [first / 16, ...) as a matrix of its own, which ends behind row `last`.
Tiles tiles_of(const Tiles& w, int32_t first, int32_t last) {
    Tiles part = w;
    part.data += static_cast<size_t>(first / kTileRows) * w.tile_bytes;
    part.num_tiles = (last + kTileRows - 1) / kTileRows - first / kTileRows;
    part.out_features = part.num_tiles * kTileRows;
    if (w.bias) part.bias += first / kTileRows * kTileRows;  // of values; what it adds to keys leaves a softmax as it is
    return part;
}

}  // namespace

LatentProjection::LatentProjection(Runner& runner, const di_config& config)
    : runner_(runner),
      config_(config.mla),
      num_heads_(latent_heads(config)),
      query_width_(round_up(config_.kv_lora_rank, kTileRows) + round_up(config_.qk_rope_head_dim, kTileRows)),
      q_a_(config_.q_lora_rank),
      kv_a_(config_.kv_lora_rank + config_.qk_rope_head_dim),
      latent_(config_.kv_lora_rank),
      absorbed_(num_heads_ * padded_rank(config_)),
      queries_(num_heads_ * query_width_),
      mixed_(num_heads_ * config_.kv_lora_rank),
      inputs_(config_.kv_lora_rank, kMaxStepRows * num_heads_),
      values_(num_heads_ > 0 ? config_.v_head_dim + 2 * kTileRows : 0, kMaxStepRows * num_heads_) {}

size_t LatentProjection::num_bytes() const {
    size_t bytes = 0;
    for (const Activations* a : {&q_a_, &kv_a_, &latent_, &absorbed_, &queries_, &mixed_, &inputs_, &values_}) bytes += a->num_bytes();
    return bytes;
}

void LatentProjection::project(const Layer& layer, const Activations& source, const Input& plain, Activations& q) {
    run_first(layer, source, plain, q);
    runner_.pool.parallel_for(plain.rows, [&](int32_t r) { normalize(layer.latent, r); });
    if (!layer.latent.q_a) return;
    const Input in_q = runner_.input_of(*layer.q, q_a_, runner_.prepare(q_a_, plain.rows), 1);
    const Product product{layer.q, &in_q, q.x.get(), q.stride, nullptr};
    runner_.run_products(&product, 1);
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

const Activations& LatentProjection::absorb(const Layer& layer, int32_t rows, const Activations& q) {
    // Heads alone would leave threads idle where they are few, rows where there is one.
    const int32_t wanted = runner_.pool.num_threads() * kTasksPerThread;
    const int32_t shares = std::min(rows, (wanted + num_heads_ - 1) / num_heads_);
    runner_.pool.parallel_for(num_heads_ * shares, [&](int32_t task) {
        const int32_t share = task % shares, first = rows * share / shares;
        absorb_head(*layer.latent.kv_b, task / shares, first, rows * (share + 1) / shares - first, q);
    });
    return queries_;
}

void LatentProjection::absorb_head(const Tiles& kv_b, int32_t head, int32_t row, int32_t rows, const Activations& q) {
    const int32_t nope = config_.qk_nope_head_dim, rope = config_.qk_rope_head_dim, rank = config_.kv_lora_rank;
    const int32_t at = head * padded_rank(config_), from = head * (nope + rope), to = head * query_width_;
    for (int32_t r = row; r < row + rows; ++r) std::fill_n(absorbed_.row(r) + at, kv_b.padded_in, 0.0f);
    const int32_t first = head * head_rows();
    runner_.core.add_transposed(kv_b, first, first + nope, {q.row(row) + from, q.stride, absorbed_.row(row) + at, absorbed_.stride, rows});
    for (int32_t r = row; r < row + rows; ++r) {
        const float* absorbed = absorbed_.row(r) + at;
        float* query = queries_.row(r) + to;
        for (int32_t c = 0; c < rank; ++c) query[kv_b.perm ? kv_b.perm[c] : c] = absorbed[c];
        std::copy_n(q.row(r) + from + nope, rope, query + round_up(rank, kTileRows));
    }
}

void LatentProjection::expand(const Layer& layer, int32_t rows, Activations& out) {
    runner_.pool.parallel_for(num_heads_, [&](int32_t head) { expand_head(*layer.latent.kv_b, head, rows, out); });
}

void LatentProjection::expand_head(const Tiles& kv_b, int32_t head, int32_t rows, Activations& out) {
    const Core& core = runner_.core;
    const int32_t first = head * head_rows() + config_.qk_nope_head_dim, place = head * rows, width = config_.v_head_dim;
    for (int32_t r = 0; r < rows; ++r) {
        inputs_.gather_row(kv_b, mixed_.row(r) + head * config_.kv_lora_rank, place + r);
        inputs_.prepare_row(core, place + r, kv_b.padded_in, runner_.int8());
    }
    const Tiles part = tiles_of(kv_b, first, first + width);
    const Input input = inputs_.view(place, rows, runner_.int8());
    core.linear({&part, &input, values_.row(place), values_.stride, nullptr}, 0, part.num_tiles);
    for (int32_t r = 0; r < rows; ++r) std::copy_n(values_.row(place + r) + first % kTileRows, width, out.row(r) + head * width);
}

}  // namespace di
