// Norms that stand on a block's output, before it is added to the residual. One block a token.
#include "common.cuh"

constexpr int kThreads = 256;

struct NormArgs {
    const float* x;  // [tokens][size]
    const float* weight;
    const float* bias;  // or null
    float* residual;    // [tokens][size] += multiplier * norm(x)
    int size, is_layer_norm;
    float eps, multiplier;
};

extern "C" __global__ void __launch_bounds__(kThreads) add_norm(const NormArgs args) {
    __shared__ float scratch[kThreads / kWarp];
    const float* x = args.x + static_cast<size_t>(blockIdx.x) * args.size;
    float* residual = args.residual + static_cast<size_t>(blockIdx.x) * args.size;
    float mean = 0.0f, square = 0.0f;
    if (args.is_layer_norm) {
        for (int i = threadIdx.x; i < args.size; i += kThreads) mean += x[i];
        mean = __fdividef(block_sum(mean, scratch), args.size);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < args.size; i += kThreads) square += (x[i] - mean) * (x[i] - mean);
    const float inverse = rsqrtf(__fdividef(block_sum(square, scratch), args.size) + args.eps);
    for (int i = threadIdx.x; i < args.size; i += kThreads) {
        const float v = (x[i] - mean) * inverse * args.weight[i] + (args.bias ? args.bias[i] : 0.0f);
        residual[i] += args.multiplier * v;
    }
}
