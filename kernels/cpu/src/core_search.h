// The scale of least squared error for groups of weights, and their codes: what app/converter/grid_search.py defines.
//
// Bytes must not depend on who computed them, so every operation is rounded as there: sums run lane by lane, then
// through reduce_add's tree, and nothing is fused.
#pragma once

#include "core.h"
#include "simd.h"

namespace {

constexpr int kMaxVectors = di::kMaxGroupSize / 16;
constexpr float kLeastScale = 1e-6f;

// The grid's least and greatest code in every lane.
struct CodeRange {
    F32x16 low, high;
    explicit CodeRange(int32_t bits)
        : low(broadcast(static_cast<float>(-(1 << (bits - 1))))), high(broadcast(static_cast<float>((1 << (bits - 1)) - 1))) {}
    F32x16 nearest(F32x16 v) const { return min(max(round_nearest(v), low), high); }
};

// One group in units of its greatest magnitude, and the best scale so far: that of the largest gain.
class GroupSearch {
  public:
    GroupSearch(const float* weights, int num_vectors, const CodeRange& range) : count_(num_vectors), range_(range) {
        F32x16 largest = zero_f32();
        for (int i = 0; i < count_; ++i) largest = max(largest, abs(load(weights + 16 * i)));
        const float magnitude = reduce_max(largest);
        unit_ = magnitude > 0.0f ? magnitude : 1.0f;
        F32x16 negated = broadcast(-1.0f);
        for (int i = 0; i < count_; ++i) {
            x_[i] = load(weights + 16 * i) / broadcast(unit_);
            negated = max(negated, zero_f32() - x_[i]);
        }
        reaches_down_ = reduce_max(negated) >= 1.0f;
    }

    void try_levels(const float* levels, int32_t num_levels) {
        const float toward_negative_end = reaches_down_ ? 1.0f : -1.0f;
        for (int32_t i = 0; i < num_levels; ++i) attempt(toward_negative_end / levels[i]);
        attempt(-scale_);
    }

    void try_scale(float scale) {
        attempt(scale / unit_);
        attempt(-(scale / unit_));
    }

    float finish() {
        attempt(scale_);
        return scale_ * unit_;
    }

  private:
    void attempt(float scale) {
        const F32x16 inverse = broadcast(fabsf(scale) > kLeastScale ? 1.0f / scale : 0.0f);
        F32x16 dots = zero_f32(), squares = zero_f32();
        for (int i = 0; i < count_; ++i) {
            const F32x16 codes = range_.nearest(x_[i] * inverse);
            dots = dots + codes * x_[i];
            squares = squares + codes * codes;
        }
        const float dot = reduce_add(dots), square = reduce_add(squares);
        const float fitted = square > 0.0f ? dot / square : 0.0f;
        if (dot * fitted > gain_) {
            gain_ = dot * fitted;
            scale_ = fitted;
        }
    }

    F32x16 x_[kMaxVectors];
    int count_;
    const CodeRange& range_;
    float unit_, gain_ = -1.0f, scale_ = 0.0f;
    bool reaches_down_;
};

void search_scales(const di::ScaleSearch& search, int64_t num_groups, float* scales) {
    const CodeRange range(search.bits);
    for (int64_t group = 0; group < num_groups; ++group) {
        GroupSearch found(search.weights + group * search.group_size, search.group_size / 16, range);
        found.try_levels(search.levels, search.num_levels);
        if (search.source_scales) found.try_scale(search.source_scales[group]);
        scales[group] = found.finish();
    }
}

// codes = the nearest to weight / scale, 0 where the scale is 0; decoded = code * scale
void round_to_grid(const di::GridRounding& grid, int64_t num_groups, int8_t* codes, float* decoded) {
    const CodeRange range(grid.bits);
    for (int64_t group = 0; group < num_groups; ++group) {
        const float scale = grid.scales[group];
        const F32x16 divisor = broadcast(scale == 0.0f ? INFINITY : scale), factor = broadcast(scale);
        for (int64_t i = group * grid.group_size; i < (group + 1) * grid.group_size; i += 16) {
            const F32x16 nearest = range.nearest(load(grid.weights + i) / divisor) + zero_f32();  // no minus zero
            store_i8(codes + i, nearest);
            store(decoded + i, nearest * factor);
        }
    }
}

}  // namespace
