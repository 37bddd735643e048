// Float32 rows of one width and what the kernels want beside them.
#pragma once

#include <cstdint>

#include "core.h"
#include "memory.h"
#include "thread_pool.h"

namespace di {

constexpr int32_t kMaxStepRows = 128;  // longer steps run in pieces of so many rows

// Rows are padded with zeros to whole column steps.
struct Activations {
    Activations() = default;
    explicit Activations(int32_t width, int32_t max_rows = kMaxStepRows);
    float* row(int32_t r) const { return x.get() + static_cast<size_t>(r) * stride; }
    // Fills codes, steps and sums of the first `rows` rows, as `Input` describes; `columns` is a multiple of 32.
    Input prepare(const Core& core, ThreadPool& pool, int32_t rows, int32_t columns, bool int8);
    // The same for one row, sums always; `view` then describes any rows so prepared.
    void prepare_row(const Core& core, int32_t r, int32_t columns, bool int8);
    Input view(int32_t first, int32_t rows, bool int8) const;
    // A row of a linear's input: the source's columns in the linear's stored order, then zeros.
    void gather_row(const Tiles& w, const float* source, int32_t r);
    size_t num_bytes() const;

    int32_t width = 0, stride = 0, max_rows = 0;
    PageArray<float> x, steps, sums16, sums32;
    PageArray<int8_t> codes;
};

}  // namespace di
