// The arguments of gemv.cu; kernels/cuda/arguments.py has the same fields in the same order.
#pragma once

#include "common.cuh"

enum Input { kHalfs, kFloats, kRmsNorm, kLayerNorm };  // what x is, and what is done to it first
enum Activation { kSilu, kGelu, kGeluTanh };
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
    const void* x;      // [tokens][in], floats unless kHalfs
    const float* norm_weight;
    const float* norm_bias;
    const half* other;  // kGateWith: [tokens][out]
    void* out;
    float* block_max;  // kLogits: [blocks][tokens], and where it is
    int* block_argmax;
    int out_features, in_features, out_stride, num_steps, num_groups, num_supers, group_shift, num_tokens, chunk_steps;
    int input, epilogue, activation;
    float eps, multiplier, softcap;  // softcap 0: none
};
