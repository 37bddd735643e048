// What a token's experts say, weighted and added up in the order of their scores. Grid (blocks of columns, tokens).
#include "common.cuh"

constexpr int kThreads = 256;

struct ExpertSumArgs {
    const float* outputs;         // [tokens][top_k][size]
    const float* weights;         // [tokens][top_k]
    const float* shared;          // [tokens][size]: of the shared expert; or null. May be `out`.
    const float* shared_weights;  // [tokens]
    float* out;                   // [tokens][size]
    int size, top_k, is_added;    // is_added: out += multiplier * sum, else out = multiplier * sum
    float multiplier;
};

extern "C" __global__ void __launch_bounds__(kThreads) add_experts(const ExpertSumArgs args) {
    const int column = blockIdx.x * kThreads + threadIdx.x, token = blockIdx.y;
    if (column >= args.size) return;
    const float* outputs = args.outputs + static_cast<size_t>(token) * args.top_k * args.size + column;
    float sum = 0.0f;
    for (int place = 0; place < args.top_k; ++place) {
        sum = fmaf(args.weights[token * args.top_k + place], outputs[static_cast<size_t>(place) * args.size], sum);
    }
    const size_t at = static_cast<size_t>(token) * args.size + column;
    if (args.shared) sum = fmaf(args.shared_weights[token], args.shared[at], sum);
    args.out[at] = (args.is_added ? args.out[at] : 0.0f) + args.multiplier * sum;
}
