// Attention of single queries whose keys are split over blocks: what a launch is given, and how splits are joined.
#pragma once

#include "eights.cuh"

struct AttentionArgs {
    const half* queries;   // [rows][num_heads][columns of a key]
    half* out;             // [rows][num_heads][columns of a value]
    const float* sinks;    // [num_heads] or null
    float* partial;        // [rows][num_heads][max_splits][columns of a value + 2]: sums, maximum, weight
    int* arrived;          // [rows][gridDim.x], 0; left so
    const int* slots;      // [rows]
    const int* positions;  // [rows]
    KvCache cache;
    int num_heads, window, split_keys, max_splits;  // window 0: the whole past
    float scale, softcap;                           // softcap 0: none
};

// Where a row's queries look: keys [begin, end).
struct Span {
    int begin, end;
};

__device__ __forceinline__ Span whole_span(const AttentionArgs& args, int position) {
    const int begin = args.window > 0 ? max(0, position + 1 - args.window) : 0;
    return {begin, position + 1};
}

template <int kDim>
__device__ __forceinline__ float* partial_of(const AttentionArgs& args, int row, int head, int split) {
    return args.partial + ((static_cast<size_t>(row) * args.num_heads + head) * args.max_splits + split) * (kDim + 2);
}

// Splits [first, last] in order, so that the result does not depend on who came last.
template <int kDim, int kNumThreads>
__device__ void join_splits(const AttentionArgs& args, int row, int first_head, int num_queries, int first, int last) {
    for (int i = threadIdx.x; i < num_queries * kDim; i += kNumThreads) {
        const int head = first_head + i / kDim, dimension = i % kDim;
        float maximum = kNothing, weight = 0.0f, sum = 0.0f;
        for (int split = first; split <= last; ++split) {
            maximum = fmaxf(maximum, partial_of<kDim>(args, row, head, split)[kDim]);
        }
        for (int split = first; split <= last; ++split) {
            const float* partial = partial_of<kDim>(args, row, head, split);
            const float scale = __expf(partial[kDim] - maximum);
            weight += partial[kDim + 1] * scale;
            sum += partial[dimension] * scale;
        }
        const float v = __fdividef(sum, divisor(args.sinks, head, maximum, weight));
        args.out[(static_cast<size_t>(row) * args.num_heads + head) * kDim + dimension] = __float2half_rn(v);
    }
}

// Whether this block is the last of a row's `others` + 1 to have stored its partial result, which all others' then are
// there to read; in every thread. The counter is left at 0.
__device__ __forceinline__ bool is_last_to_arrive(const AttentionArgs& args, int row, int others, int& shared) {
    __threadfence();
    __syncthreads();
    int* arrived = args.arrived + static_cast<size_t>(row) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0) {
        shared = atomicAdd(arrived, 1) == others;
        if (shared) *arrived = 0;
    }
    __syncthreads();
    __threadfence();
    return shared;
}
