// What every block of the decoder runs on: the instruction set's functions, the threads, the kind of activations.
#pragma once

#include <algorithm>

#include "activations.h"
#include "api.h"
#include "core.h"
#include "layer.h"
#include "thread_pool.h"

namespace di {

constexpr int kTasksPerThread = 4;  // enough to even out threads of unequal speed

class Runner {
  public:
    Runner(const Core& core, ThreadPool& pool, const di_config& config);

    // Room for the inputs of permuted linears up to `width` columns.
    void allow_permuted(int32_t width);
    Input prepare(Activations& source, int32_t rows) { return source.prepare(core, pool, rows, source.stride, int8_); }
    // The rows a linear reads: `plain` as it is, or the source's columns in the linear's stored order, which then lie
    // in the permuted buffer `slot` (0 to 3).
    Input input_of(const Tiles& w, const Activations& source, const Input& plain, int slot);
    // Splits tiles among the threads; `body(begin, end)` runs once for each share.
    template <typename F>
    void for_tiles(int32_t num_tiles, F&& body);
    // Products that may run side by side, as one loop over the tiles of all.
    void run_products(const Product* products, int count);
    // One row of the residual stream.
    void normalize(const Norm& norm, const float* x, float* out) const;
    bool int8() const { return int8_; }
    size_t num_bytes() const;

    const Core& core;
    ThreadPool& pool;

  private:
    int32_t hidden_size_;
    float eps_;
    bool int8_, layer_norm_;
    Activations permuted_[4];
};

template <typename F>
void Runner::for_tiles(int32_t num_tiles, F&& body) {
    const int32_t tasks = std::min(num_tiles, pool.num_threads() == 1 ? 1 : pool.num_threads() * kTasksPerThread);
    pool.parallel_for(tasks, [&](int32_t task) {
        const int64_t n = num_tiles;
        body(static_cast<int32_t>(n * task / tasks), static_cast<int32_t>(n * (task + 1) / tasks));
    });
}

}  // namespace di
