#include "activations.h"

namespace di {

Activations::Activations(int32_t n, int32_t rows)
    : width(n),
      stride(round_up(n, kColumnStep)),
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

}  // namespace di
