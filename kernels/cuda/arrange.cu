// The input of products of a chunk, made once: normed, as halfs in the matrix's order of columns, and the sums that biases
// of affine groups are multiplied with. One block a token.
#include "gemm.cuh"
#include "norms.cuh"

constexpr int kThreads = 256, kStepColumns = 64;

// Columns behind the last one are 0: they are read in eights.
__device__ __forceinline__ void store_halfs(const ArrangeArgs& args, int row, Deviation deviation) {
    half* out = args.halfs + static_cast<size_t>(row) * args.stride;
    for (int i = threadIdx.x; i < args.stride; i += kThreads) {
        const bool exists = i < args.product.in_features;
        out[i] = __float2half_rn(exists ? load_input(args.product, 0, row, i, deviation) : 0.0f);
    }
}

// Over the padded columns too: their biases are 0, which must not meet what was never written.
__device__ __forceinline__ void store_sums(const ArrangeArgs& args, int row) {
    const half* x = args.halfs ? args.halfs + static_cast<size_t>(row) * args.stride
                               : static_cast<const half*>(args.product.x) + static_cast<size_t>(row) * args.product.x_stride;
    for (int i = threadIdx.x; i < args.product.num_steps * kStepColumns / args.sum_columns; i += kThreads) {
        const int begin = i * args.sum_columns, end = min(begin + args.sum_columns, args.product.in_features);
        float sum = 0.0f;
        for (int column = begin; column < end; ++column) sum += __half2float(x[column]);
        args.sums[static_cast<size_t>(i) * args.sum_stride + row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) arrange(const ArrangeArgs args) {
    __shared__ float scratch[kThreads / kWarp];
    const GemvArgs& product = args.product;
    const int row = blockIdx.x;
    Deviation deviation = {};
    if (product.input >= kRmsNorm) {
        const float* x = static_cast<const float*>(product.x) + static_cast<size_t>(row) * product.x_stride;
        deviation = measure<kThreads>(x, product.in_features, product.input == kLayerNorm, product.eps, scratch);
    }
    if (args.halfs) store_halfs(args, row, deviation);
    if (!args.sums) return;
    __syncthreads();
    store_sums(args, row);
}
