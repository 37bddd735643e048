#include "runner.h"

namespace di {

void Runner::allow_permuted(int32_t width) {
    for (Activations& buffer : permuted_) buffer = Activations(width);
}

Input Runner::input_of(const Tiles& w, const Activations& source, const Input& plain, int slot) {
    if (!w.perm) return plain;
    Activations& permuted = permuted_[slot];
    pool.parallel_for(plain.rows, [&](int32_t r) {
        float* out = permuted.row(r);
        for (int32_t c = 0; c < w.in_features; ++c) out[c] = source.row(r)[w.perm[c]];
        std::fill(out + w.in_features, out + w.padded_in, 0.0f);
    });
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
