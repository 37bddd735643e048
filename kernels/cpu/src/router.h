// Which experts a token goes to, and with what weights.
#pragma once

#include <cstdint>
#include <vector>

#include "api.h"

namespace di {

struct Choice {
    int32_t expert;
    float weight;
};

enum class RouterScoring : int32_t { kSoftmax = 0, kSoftmaxTopK = 1, kSigmoid = 2 };

class Router {
  public:
    explicit Router(const di_moe& moe) : moe_(moe) {}

    // From the router's logits [num_experts], which become scores, to num_experts_per_tok choices, the best first.
    // `correction` is [num_experts] or empty; `work` has room for [num_experts].
    void choose(float* logits, const std::vector<float>& correction, float* work, Choice* choices) const;

  private:
    void score(float* logits) const;
    void limit_to_groups(float* scores) const;
    float group_score(const float* scores, int32_t size) const;
    void weigh(Choice* choices) const;

    di_moe moe_;
};

}  // namespace di
