#include "router.h"

#include <algorithm>
#include <limits>

#include "rounded_math.h"

namespace di {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Takes the largest value out.
int32_t take_best(float* values, int32_t n) {
    float* best = std::max_element(values, values + n);
    *best = kNever;
    return static_cast<int32_t>(best - values);
}

}  // namespace

void Router::choose(float* logits, const std::vector<float>& correction, float* work, Choice* choices) const {
    const int32_t n = moe_.num_experts;
    score(logits);
    for (int32_t e = 0; e < n; ++e) work[e] = logits[e] + (correction.empty() ? 0.0f : correction[static_cast<size_t>(e)]);
    if (moe_.num_groups > 1) limit_to_groups(work);
    for (int32_t i = 0; i < moe_.num_experts_per_tok; ++i) {
        const int32_t expert = take_best(work, n);
        choices[i] = {expert, logits[expert]};
    }
    weigh(choices);
}

void Router::score(float* logits) const {
    const int32_t n = moe_.num_experts;
    const RouterScoring scoring = static_cast<RouterScoring>(moe_.scoring);
    if (scoring == RouterScoring::kSigmoid) {
        for (int32_t e = 0; e < n; ++e) logits[e] = 1.0f / (1.0f + rounded_exp(-logits[e]));
    }
    if (scoring != RouterScoring::kSoftmax) return;
    const float best = *std::max_element(logits, logits + n);
    float total = 0.0f;
    for (int32_t e = 0; e < n; ++e) total += logits[e] = rounded_exp(logits[e] - best);
    for (int32_t e = 0; e < n; ++e) logits[e] /= total;
}

// Only experts of the best topk_groups groups stay in play.
void Router::limit_to_groups(float* scores) const {
    const int32_t size = moe_.num_experts / moe_.num_groups;
    std::vector<float> groups(static_cast<size_t>(moe_.num_groups));
    for (int32_t g = 0; g < moe_.num_groups; ++g) groups[static_cast<size_t>(g)] = group_score(scores + g * size, size);
    for (int32_t i = 0; i < moe_.topk_groups; ++i) take_best(groups.data(), moe_.num_groups);
    for (int32_t g = 0; g < moe_.num_groups; ++g) {
        if (groups[static_cast<size_t>(g)] != kNever) std::fill(scores + g * size, scores + (g + 1) * size, kNever);
    }
}

float Router::group_score(const float* scores, int32_t size) const {
    float best = kNever, second = kNever;
    for (int32_t e = 0; e < size; ++e) {
        second = std::max(second, std::min(best, scores[e]));
        best = std::max(best, scores[e]);
    }
    return moe_.group_scoring == 1 ? best + second : best;
}

void Router::weigh(Choice* choices) const {
    const int32_t k = moe_.num_experts_per_tok;
    if (static_cast<RouterScoring>(moe_.scoring) == RouterScoring::kSoftmaxTopK) {
        const float best = std::max_element(choices, choices + k, [](Choice a, Choice b) { return a.weight < b.weight; })->weight;
        float total = 0.0f;
        for (int32_t i = 0; i < k; ++i) total += choices[i].weight = rounded_exp(choices[i].weight - best);
        for (int32_t i = 0; i < k; ++i) choices[i].weight /= total;
    }
    float sum = 1e-20f;
    for (int32_t i = 0; i < k; ++i) sum += choices[i].weight;
    const float factor = moe_.norm_topk_prob ? moe_.routed_scaling_factor / sum : moe_.routed_scaling_factor;
    for (int32_t i = 0; i < k; ++i) choices[i].weight *= factor;
}

}  // namespace di
