#include "sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "philox.h"

namespace di {
namespace {

constexpr double kOne = 8796093022208.0;  // 2^43: the weight of the likeliest token
// Added and subtracted, it rounds to an integer; added, it leaves that integer in the low bits.
constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.693147180369123816490, kLn2Low = 1.90821492927058770002e-10;
constexpr double kTerms[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
                             1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,
                             1.0 / 6.0,          0.5,               1.0,              1.0};
constexpr double kLeastScore = -64.0;   // e^-64 * 2^43 rounds to 0
constexpr double kCandidates = 32.0;    // as do all scores below -32

int64_t bits_of(double x) {
    int64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

double from_bits(int64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// e^score * 2^43 rounded to an integer, for score <= 0: Horner's scheme over the Taylor series, each step rounded.
inline uint64_t weight_of(double score) {
    const double x = score > kLeastScore ? score : kLeastScore;
    const double shifted = x * kLog2E + kRounder, n = shifted - kRounder;
    const double r = (x - n * kLn2High) - n * kLn2Low;
    double p = kTerms[0];
    for (int i = 1; i < 14; ++i) p = p * r + kTerms[i];
    const int64_t exponent = bits_of(shifted) - bits_of(kRounder) + 43;
    return static_cast<uint64_t>(bits_of(p * from_bits((exponent + 1023) << 52) + kRounder) - bits_of(kRounder));
}

// The integer whose order is that of the float; a NaN lies beyond an infinity.
inline int32_t key_of(float x) {
    int32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

constexpr int32_t kInfinity = 0x7f800000, kMinusInfinity = static_cast<int32_t>(0x807fffffu);

bool are_logits(const float* logits, int32_t n) {
    int32_t least = kInfinity, most = kMinusInfinity;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t key = key_of(logits[i]);
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    return least >= kMinusInfinity && most < kInfinity && most > kMinusInfinity;
}

float largest(const float* logits, int32_t n) {
    int32_t most = kMinusInfinity;
    for (int32_t i = 0; i < n; ++i) {
        const int32_t key = key_of(logits[i]);
        most = key > most ? key : most;
    }
    const int32_t bits = most ^ ((most >> 31) & 0x7fffffff);
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// Hugging Face's penalty over prompt and output, OpenAI's over the output.
void penalize(float* logits, int32_t n, const di_sampling& s) {
    if (s.repetition_penalty != 1.0f) {
        for (int32_t i = 0; i < n; ++i) {
            const float scaled = logits[i] > 0.0f ? logits[i] / s.repetition_penalty : logits[i] * s.repetition_penalty;
            logits[i] = s.is_seen[i] ? scaled : logits[i];
        }
    }
    if (s.presence_penalty == 0.0 && s.frequency_penalty == 0.0) return;
    for (int32_t i = 0; i < n; ++i) {
        const double count = s.num_output[i];
        logits[i] -= static_cast<float>(s.frequency_penalty * count + s.presence_penalty * (count > 0.0 ? 1.0 : 0.0));
    }
}

// The high 64 bits of a * b.
uint64_t multiply_high(uint64_t a, uint64_t b) {
    const uint64_t low = 0xffffffffu, a0 = a & low, a1 = a >> 32, b0 = b & low, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & low);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

// Keeps the entries of `values` whose index `is_kept`.
template <typename T, typename F>
void filter(std::vector<T>& values, F&& is_kept) {
    size_t kept = 0;
    for (size_t i = 0; i < values.size(); ++i) {
        if (is_kept(i)) values[kept++] = values[i];
    }
    values.resize(kept);
}

}  // namespace

int32_t TokenSampler::sample(float* logits, int32_t vocab_size, const di_sampling& sampling) {
    if (!are_logits(logits, vocab_size)) return -1;
    penalize(logits, vocab_size, sampling);
    const float best = largest(logits, vocab_size);
    if (sampling.temperature == 0.0) return static_cast<int32_t>(std::find(logits, logits + vocab_size, best) - logits);
    // One float lower, as the difference is rounded.
    collect(logits, vocab_size, std::nextafter(static_cast<float>(best - kCandidates * sampling.temperature), -HUGE_VALF));
    keep_top_k(logits, sampling.top_k);
    weigh(logits, best, sampling.temperature);
    if (sampling.top_p < 1.0) keep_top_p(logits, sampling.top_p);
    if (sampling.min_p > 0.0) keep_min_p(sampling.min_p);
    return draw(philox(sampling.step, sampling.seed));
}

size_t TokenSampler::num_bytes() const {
    return ids_.capacity() * sizeof(int32_t) + weights_.capacity() * sizeof(uint64_t) + order_.capacity() * sizeof(int32_t) +
           values_.capacity() * sizeof(float) + scores_.capacity() * sizeof(double);
}

// Ids of the logits that are not below `least`.
void TokenSampler::collect(const float* logits, int32_t vocab_size, float least) {
    constexpr int32_t kBlock = 32;
    ids_.clear();
    for (int32_t begin = 0; begin < vocab_size; begin += kBlock) {
        const int32_t end = std::min(begin + kBlock, vocab_size);
        int32_t any = 0;
        for (int32_t i = begin; i < end; ++i) any |= logits[i] >= least;
        for (int32_t i = begin; any && i < end; ++i) {
            if (logits[i] >= least) ids_.push_back(i);
        }
    }
}

// The best, and those that tie with the last of them.
void TokenSampler::keep_top_k(const float* logits, int32_t top_k) {
    if (top_k <= 0 || static_cast<size_t>(top_k) >= ids_.size()) return;
    values_.clear();
    for (const int32_t id : ids_) values_.push_back(logits[id]);
    const auto last = values_.begin() + (top_k - 1);
    std::nth_element(values_.begin(), last, values_.end(), [](float a, float b) { return a > b; });
    filter(ids_, [&, least = *last](size_t i) { return logits[ids_[i]] >= least; });
}

void TokenSampler::weigh(const float* logits, float best, double temperature) {
    scores_.clear();
    for (const int32_t id : ids_) scores_.push_back((static_cast<double>(logits[id]) - static_cast<double>(best)) / temperature);
    weights_.resize(scores_.size());
    for (size_t i = 0; i < scores_.size(); ++i) weights_[i] = weight_of(scores_[i]);
}

uint64_t TokenSampler::total() const {
    uint64_t sum = 0;
    for (const uint64_t weight : weights_) sum += weight;
    return sum;
}

// The smallest set of likeliest tokens (of equals the lower id first) whose weights reach top_p of the total.
void TokenSampler::keep_top_p(const float* logits, double top_p) {
    const uint64_t all = total(), wanted = static_cast<uint64_t>(std::ceil(top_p * static_cast<double>(all)));
    if (wanted >= all) return;
    // A token whose weight times the number of tokens is less than what may be missing is not in the set: it and all
    // lighter ones together weigh less than that. Without them the sort is of hundreds.
    order_.clear();
    for (size_t i = 0; i < ids_.size(); ++i) {
        if (weights_[i] * ids_.size() >= all - wanted) order_.push_back(static_cast<int32_t>(i));
    }
    const auto weight = [&](int32_t place) { return weights_[static_cast<size_t>(place)]; };
    const auto logit = [&](int32_t place) { return logits[ids_[static_cast<size_t>(place)]]; };
    std::sort(order_.begin(), order_.end(),
              [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
    size_t count = 0;
    for (uint64_t before = 0; count < order_.size() && before < wanted; ++count) before += weight(order_[count]);
    order_.resize(count);
    std::sort(order_.begin(), order_.end());
    for (size_t i = 0; i < count; ++i) {  // places ascend, so that none is overwritten before it is read
        ids_[i] = ids_[static_cast<size_t>(order_[i])];
        weights_[i] = weight(order_[i]);
    }
    ids_.resize(count);
    weights_.resize(count);
}

void TokenSampler::keep_min_p(double min_p) {
    const uint64_t least = static_cast<uint64_t>(std::ceil(min_p * kOne));
    filter(ids_, [&](size_t i) { return weights_[i] >= least; });
    filter(weights_, [&](size_t i) { return weights_[i] >= least; });
}

int32_t TokenSampler::draw(uint64_t random) const {
    const uint64_t chosen = multiply_high(random, total());
    uint64_t sum = 0;
    for (size_t i = 0; i < ids_.size(); ++i) {
        sum += weights_[i];
        if (sum > chosen) return ids_[i];
    }
    return -1;  // not reached: the likeliest token has a weight
}

}  // namespace di
