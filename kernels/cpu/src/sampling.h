// From a row of logits to the next token id. app/engine/sampling.py defines it; both give the same token, bit for bit.
#pragma once

#include <cstddef>
#include <vector>

#include "api.h"

namespace di {

class TokenSampler {
  public:
    // The next token of logits [vocab_size], which are overwritten; -1 when one of them is NaN or infinite (-inf rules a
    // token out), or all are -inf.
    int32_t sample(float* logits, int32_t vocab_size, const di_sampling& sampling);
    size_t num_bytes() const;

  private:
    void collect(const float* logits, int32_t vocab_size, float least);
    void keep_top_k(const float* logits, int32_t top_k);
    void weigh(const float* logits, float best, double temperature);
    void keep_top_p(const float* logits, double top_p);
    void keep_min_p(double min_p);
    int32_t draw(uint64_t random) const;
    uint64_t total() const;

    // Kept between tokens: fresh ones would be paged in anew each time.
    std::vector<int32_t> ids_;  // candidates, ascending
    std::vector<uint64_t> weights_;
    std::vector<int32_t> order_;
    std::vector<float> values_;
    std::vector<double> scores_;
};

}  // namespace di
