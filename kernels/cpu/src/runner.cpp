#include "runner.h"

namespace di {

Runner::Runner(const Core& core, ThreadPool& pool, const di_config& config)
    : core(core),
      pool(pool),
      hidden_size_(config.hidden_size),
      eps_(config.rms_norm_eps),
      int8_(config.int8_activations != 0),
      layer_norm_(config.layer_norm != 0) {}

void Runner::normalize(const Norm& norm, const float* x, float* out) const {
    if (layer_norm_) {
        core.layer_norm(x, norm.weight.data(), norm.bias.empty() ? nullptr : norm.bias.data(), eps_, hidden_size_, out);
    } else {
        core.rms_norm(x, norm.weight.data(), eps_, hidden_size_, out);
    }
}

void Runner::allow_permuted(int32_t width) {
    for (Activations& buffer : permuted_) buffer = Activations(width);
}

Input Runner::input_of(const Tiles& w, const Activations& source, const Input& plain, int slot) {
    if (!w.perm) return plain;
    Activations& permuted = permuted_[slot];
    pool.parallel_for(plain.rows, [&](int32_t r) { permuted.gather_row(w, source.row(r), r); });
    return permuted.prepare(core, pool, plain.rows, w.padded_in, int8_);
}

void Runner::run_products(const Product* products, int count) {
    int32_t total = 0;
    for (int i = 0; i < count; ++i) total += products[i].w->num_tiles;
    for_tiles(total, [&](int32_t begin, int32_t end) {
        for (int i = 0; i < count; ++i) {
            const int32_t tiles = products[i].w->num_tiles;
            if (begin < tiles && end > 0) core.linear(products[i], std::max(begin, 0), std::min(end, tiles));
            begin -= tiles;
            end -= tiles;
        }
    });
}

size_t Runner::num_bytes() const {
    size_t bytes = 0;
    for (const Activations& a : permuted_) bytes += a.num_bytes();
    return bytes;
}

}  // namespace di
