// The angle of a rotary embedding.
#pragma once

#include "common.cuh"

// cos and sin of an angle of any size: the turns are taken off in two parts, exactly enough for 20,000 turns.
__device__ __forceinline__ void rotation(float angle, float& cosine, float& sine) {
    const float turns = rintf(angle * 0.15915494f);
    const float rest = fmaf(-turns, 1.9353072e-3f, fmaf(-turns, 6.28125f, angle));
    cosine = __cosf(rest);
    sine = __sinf(rest);
}
