// One decoder layer's weights, checked against the sizes of the model.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "api.h"
#include "packed_linear.h"

namespace di {

struct Layer {
    const Tiles *q, *k, *v, *o, *gate, *up, *down;
    std::vector<float> input_norm, post_attention_norm, q_norm, k_norm;
    int32_t sliding_window;

    bool has_perm() const;
};

// Throws std::invalid_argument(what) unless the condition holds.
inline void require(bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument(what);
}

inline std::vector<float> copied(const float* values, int32_t n) {
    return values ? std::vector<float>(values, values + n) : std::vector<float>();
}

// The linear's tiles; throws std::invalid_argument when it is missing or of another shape.
const Tiles& checked(const di_linear* linear, int32_t out, int32_t in, const char* name);
Layer make_layer(const di_layer& source, const di_config& config);

}  // namespace di
