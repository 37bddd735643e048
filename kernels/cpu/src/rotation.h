// Cosines and sines of one rotary embedding for the rows of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "api.h"

namespace di {

class Rotation {
  public:
    explicit Rotation(const di_rope& rope);

    void set_positions(const int32_t* positions, int32_t rows);
    const float* cos(int32_t row) const { return cos_.data() + static_cast<size_t>(row) * inv_freq_.size(); }
    const float* sin(int32_t row) const { return sin_.data() + static_cast<size_t>(row) * inv_freq_.size(); }
    int32_t half() const { return static_cast<int32_t>(inv_freq_.size()); }  // pairs that rotate
    size_t num_bytes() const { return (cos_.size() + sin_.size()) * sizeof(float); }

  private:
    std::vector<float> inv_freq_;
    float factor_;
    std::vector<float> cos_, sin_;  // [row][half]
};

}  // namespace di
