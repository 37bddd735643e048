// The geometry of packed matrices for a variant's BITS and GROUP; layouts: kernels/cuda/pack.py.
#pragma once

constexpr int kTileRows = 16, kStepColumns = 64;
constexpr int kUnitSteps = BITS == 3 ? 4 : BITS == 16 ? 1 : 2;  // what a warp loads, and decodes, at once
constexpr int kUnitColumns = kUnitSteps * kStepColumns;
constexpr int kSuperColumns = 256, kSharingUnits = kSuperColumns / kUnitColumns;  // units with the same super values

// kU8 and kI8 are codes in units of a super value per 256 columns, kZero plain codes; kAbsent reads nothing.
enum ValueType { kF16, kF32, kU8, kI8, kZero, kAbsent };
