// What is done with a product before it is stored: bias, activation, gate, softcap, residual.
#pragma once

#include "gemv.cuh"

__device__ __forceinline__ float activate(int kind, float v) {
    if (kind == kSilu) return __fdividef(v, 1.0f + __expf(-v));
    if (kind == kSigmoid) return __fdividef(1.0f, 1.0f + __expf(-v));
    if (kind == kGelu) return 0.5f * v * (1.0f + erff(v * 0.70710678f));
    return 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

__device__ __forceinline__ float join(const GemvArgs& args, float gate, float up) {
    if (args.activation != kClampedSwiglu) return activate(args.activation, gate) * up;
    gate = fminf(gate, args.swiglu_limit);
    up = fminf(fmaxf(up, -args.swiglu_limit), args.swiglu_limit);
    return (up + 1.0f) * __fdividef(gate, 1.0f + __expf(-args.swiglu_alpha * gate));
}

// `row` counts the rows of all matrices of a stack.
__device__ __forceinline__ float with_bias(const GemvArgs& args, float v, int row) {
    return args.bias ? v + args.bias[row] : v;
}

__device__ __forceinline__ float store_one(const GemvArgs& args, float v, int out_row, int row) {
    const size_t at = static_cast<size_t>(out_row) * args.out_stride + row;
    switch (args.epilogue) {
        case kStoreFloat: static_cast<float*>(args.out)[at] = v; break;
        case kAddToResidual: static_cast<float*>(args.out)[at] += args.multiplier * v; break;
        case kLogits:
            v *= args.multiplier;
            if (args.softcap > 0.0f) v = args.softcap * tanhf(__fdividef(v, args.softcap));
            static_cast<float*>(args.out)[at] = v;
            break;
        case kActivate: static_cast<half*>(args.out)[at] = __float2half_rn(activate(args.activation, v)); break;
        case kGateWith:
            v = join(args, v, __half2float(args.other[at]));
            static_cast<half*>(args.out)[at] = __float2half_rn(v);
            break;
        default: static_cast<half*>(args.out)[at] = __float2half_rn(v);
    }
    return v;
}

// act(gate) * up, of rows `row` and `row` + 8 of all matrices, to column `unit` of the result.
__device__ __forceinline__ void store_joined(const GemvArgs& args, float gate, float up, int out_row, int row, int unit) {
    const float v = join(args, with_bias(args, gate, row), with_bias(args, up, row + 8));
    static_cast<half*>(args.out)[static_cast<size_t>(out_row) * args.out_stride + unit] = __float2half_rn(v);
}
