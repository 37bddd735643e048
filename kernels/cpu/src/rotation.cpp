#include "rotation.h"

#include "activations.h"
#include "layer.h"
#include "rounded_math.h"

namespace di {

Rotation::Rotation(const di_rope& rope)
    : inv_freq_(copied(rope.inv_freq, rope.rotary_dim / 2)),
      factor_(rope.cos_sin_factor),
      cos_(inv_freq_.size() * kMaxStepRows),
      sin_(cos_.size()) {}

// Angles are products rounded to float32, as transformers computes them.
void Rotation::set_positions(const int32_t* positions, int32_t rows) {
    size_t at = 0;
    for (int32_t r = 0; r < rows; ++r) {
        for (size_t i = 0; i < inv_freq_.size(); ++i, ++at) {
            const float angle = static_cast<float>(positions[r]) * inv_freq_[i];
            cos_[at] = rounded_cos(angle) * factor_;
            sin_[at] = rounded_sin(angle) * factor_;
        }
    }
}

}  // namespace di
