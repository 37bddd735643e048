#include "activations.h"

#include <algorithm>

namespace di {

// An odd number of cache lines: rows whose distance is a power of two would push each other out of the cache.
Activations::Activations(int32_t n, int32_t rows)
    : width(n),
      stride(round_up(n, 64) | 64),
      max_rows(rows),
      x(page_array<float>(static_cast<size_t>(stride) * rows)),
      steps(page_array<float>(static_cast<size_t>(stride) / 32 * rows)),
      sums16(page_array<float>(static_cast<size_t>(stride) / 16 * rows)),
      sums32(page_array<float>(static_cast<size_t>(stride) / 32 * rows)),
      codes(page_array<int8_t>(static_cast<size_t>(stride) * rows)) {}

size_t Activations::num_bytes() const {
    const size_t columns = static_cast<size_t>(stride) * max_rows;
    return columns * (sizeof(float) + sizeof(int8_t)) + columns / 32 * 4 * sizeof(float);
}

Input Activations::prepare(const Core& core, ThreadPool& pool, int32_t rows, int32_t columns, bool int8) {
    pool.parallel_for(rows, [&](int32_t r) { prepare_row(core, r, columns, int8); });
    return view(0, rows, int8);
}

void Activations::prepare_row(const Core& core, int32_t r, int32_t columns, bool int8) {
    const size_t at = static_cast<size_t>(r) * stride;
    if (int8) {
        core.quantize(row(r), columns, {&codes[at], &steps[at / 32], &sums16[at / 16], &sums32[at / 32]});
    } else {
        core.column_sums(row(r), columns, &sums16[at / 16], &sums32[at / 32]);
    }
}

Input Activations::view(int32_t first, int32_t rows, bool int8) const {
    const size_t at = static_cast<size_t>(first) * stride;
    return {&x[at], int8 ? &codes[at] : nullptr, &steps[at / 32], &sums16[at / 16], &sums32[at / 32], stride, rows};
}

void Activations::gather_row(const Tiles& w, const float* source, int32_t r) {
    float* out = row(r);
    if (w.perm) {
        for (int32_t c = 0; c < w.in_features; ++c) out[c] = source[w.perm[c]];
    } else {
        std::copy(source, source + w.in_features, out);
    }
    std::fill(out + w.in_features, out + w.padded_in, 0.0f);
}

}  // namespace di
