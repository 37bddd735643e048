// Norms that stand on a block's output, before it is added to the residual. One block a token.
#include "norms.cuh"

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
    const Deviation deviation = measure<kThreads>(x, args.size, args.is_layer_norm, args.eps, scratch);
    for (int i = threadIdx.x; i < args.size; i += kThreads) {
        residual[i] += args.multiplier * normed(x[i], deviation, args.weight, args.bias, i);
    }
}
