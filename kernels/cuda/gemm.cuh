// The arguments of gemm.cu and arrange.cu; kernels/cuda/gemm.py has the same fields in the same order.
#pragma once

#include "gemv.cuh"

struct GemmArgs {
    GemvArgs product;   // x: half [tokens][x_stride] in the matrix's order of columns
    const float* sums;  // [padded columns / min(GROUP, 64)][sum_stride] of each token's x; an affine matrix needs them
    int sum_stride;
};

struct ArrangeArgs {
    GemvArgs product;  // x, its norm and perm, as gemv.cu would read them
    half* halfs;       // [tokens][stride]; or null: x is good as it is
    float* sums;       // as in GemmArgs; or null
    int stride, sum_columns, sum_stride;
};
