// The arguments of gemv.cu; kernels/cuda/gemv.py has the same fields in the same order.
#pragma once

#include "common.cuh"

enum Input { kHalfs, kFloats, kRmsNorm, kLayerNorm };  // what x is, and what is done to it first
// kClampedSwiglu joins gate and up alone: (up + 1) * gate * sigmoid(alpha * gate), both clamped before (gpt-oss).
enum Activation { kSilu, kGelu, kGeluTanh, kSigmoid, kClampedSwiglu };
enum Epilogue {
    kStoreHalf,      // out half [tokens][out]
    kStoreFloat,     // out float [tokens][out]
    kActivate,       // out half [tokens][out], through the activation
    kGate,           // out half [tokens][out / 2]: act(gate) * up, rows of both interleaved by eight
    kGateWith,       // out half [tokens][out]: act(y) * other
    kAddToResidual,  // out float [tokens][out] += multiplier * y
    kLogits,         // out float [tokens][out] = softcap(multiplier * y), and each block's greatest
};

struct GemvArgs {
    const uint4* codes;  // layouts: kernels/cuda/pack.py
    const void* scales;
    const half2* super_scales;
    const void* biases;
    const half2* super_biases;
    const u8* zeros;
    const int* perm;    // [in]: stored column c belongs to input perm[c]; or null
    const float* bias;  // [out] or null
    const void* x;      // [tokens][x_stride], floats unless kHalfs
    const float* norm_weight;
    const float* norm_bias;
    const half* other;  // kGateWith: [tokens][out]
    void* out;
    float* block_max;  // kLogits: [strips of rows][tokens], and where it is
    int* block_argmax;
    int out_features, in_features, x_stride, out_stride, num_steps, num_groups, num_supers, group_shift;
    int num_tokens, chunk_steps;
    int input, epilogue, activation;
    float eps, multiplier, softcap;  // softcap 0: none
    float swiglu_limit, swiglu_alpha;
    // EXPERTS: matrices of one shape, one after the other with rows padded to tiles, biases and perms likewise; which
    // of them a block (blockIdx.y: a visit) reads, and for whom.
    const int* visit_matrices;  // [gridDim.y]: -1 for no visit
    const int* visit_pairs;     // [gridDim.y][8]: rows of out, at most num_tokens, -1 behind the last of fewer; row
                                // pair / pairs_per_row of x is multiplied
    const int* matrix_places;   // [matrices]: where in this stack, -1 for in another one; null: as they are
    int pairs_per_row;
};
