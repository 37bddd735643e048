// Prints what every instruction set computes for fixed inputs: a product, and a prompt and a token of a tiny model.
// Only the flat interface is used, so that the same source runs against each build of the library.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "api.h"

namespace {

constexpr int kHidden = 576, kInner = 640, kHeads = 6, kKvHeads = 2, kHeadDim = 32, kVocab = 300, kPrompt = 300;

uint32_t state;

uint32_t next() { return (state = state * 1664525u + 1013904223u) >> 8; }
float number() { return (static_cast<int>(next() % 2001) - 1000) / 1000.0f; }

std::vector<float> numbers(size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = number();
    return values;
}

std::vector<uint8_t> bytes(size_t n, uint32_t mask) {
    std::vector<uint8_t> values(n);
    for (uint8_t& value : values) value = static_cast<uint8_t>(next() & mask);
    return values;
}

// float16 of the exponent and sign in `top`.
std::vector<uint16_t> halves(size_t n, uint16_t top) {
    std::vector<uint16_t> values(n);
    for (uint16_t& value : values) value = static_cast<uint16_t>(top | (next() & 0x3ff));
    return values;
}

template <typename T>
T* must(T* handle) {
    if (handle) return handle;
    std::printf("%s\n", di_last_error());
    std::exit(1);
}

// As Q4_K: int4 codes, groups of 32 columns with scales and biases of two levels.
di_linear* create_linear(di_context* context, int out, int in) {
    const size_t groups = static_cast<size_t>(out) * (in / 32), supers = static_cast<size_t>(out) * ((in + 255) / 256);
    const std::vector<uint8_t> codes = bytes(groups * 16, 255), scales = bytes(groups, 63), biases = bytes(groups, 63);
    const std::vector<uint16_t> super_scales = halves(supers, 0x0c00), super_biases = halves(supers, 0x9800);
    di_linear_source source = {};
    source.out_features = out, source.in_features = in;
    source.codes = 4, source.group_size = 32, source.scheme = 2, source.scale_type = 2, source.bias_type = 2;
    source.weight = codes.data(), source.scales = scales.data(), source.biases = biases.data();
    source.super_scales = super_scales.data(), source.super_biases = super_biases.data();
    return must(di_linear_create(context, &source));
}

// FNV-1a.
void print(const char* set, const char* what, const std::vector<float>& values) {
    uint64_t hash = 1469598103934665603ull;
    for (size_t i = 0; i < values.size() * sizeof(float); ++i) {
        hash = (hash ^ reinterpret_cast<const uint8_t*>(values.data())[i]) * 1099511628211ull;
    }
    std::printf("%s %s %016llx %.6g\n", set, what, static_cast<unsigned long long>(hash), values.back());
}

void run_products(di_context* context, const char* set) {
    di_linear* linear = create_linear(context, 70, 896);
    const std::vector<float> x = numbers(9 * 896);
    std::vector<float> y(9 * 70);
    for (int int8 = 0; int8 < 2; ++int8) {
        di_linear_apply(context, linear, x.data(), 9, int8, y.data());
        print(set, int8 ? "int8 product" : "float32 product", y);
    }
    di_linear_destroy(linear);
}

di_config create_config(const di_rope* rope) {
    di_config config = {};
    config.hidden_size = kHidden, config.intermediate_size = kInner, config.num_layers = 1, config.vocab_size = kVocab;
    config.num_heads = kHeads, config.num_kv_heads = kKvHeads, config.head_dim = kHeadDim;
    config.max_model_len = 2 * kPrompt, config.num_slots = 1, config.num_pages = 3, config.kv_type = 1, config.int8_activations = 1;
    config.rms_norm_eps = 1e-5f, config.attention_multiplier = 0.1767767f;
    config.embedding_multiplier = config.residual_multiplier = config.logits_multiplier = 1.0f;
    config.num_ropes = 1, config.ropes = rope;
    return config;
}

void run_model(di_context* context, const char* set) {
    std::vector<di_linear*> linears;
    const auto linear = [&](int out, int in) {
        linears.push_back(create_linear(context, out, in));
        return linears.back();
    };
    const std::vector<float> weight(kHidden, 1.0f), inv_freq = numbers(kHeadDim / 2);
    const di_rope rope = {kHeadDim, 1.0f, inv_freq.data()};
    const di_config config = create_config(&rope);
    const di_norm norm = {weight.data(), nullptr};
    di_layer layer = {};
    layer.q = linear(kHeads * kHeadDim, kHidden), layer.k = linear(kKvHeads * kHeadDim, kHidden);
    layer.v = linear(kKvHeads * kHeadDim, kHidden), layer.o = linear(kHidden, kHeads * kHeadDim);
    layer.input_norm = layer.post_attention_norm = norm;
    layer.mlp = {linear(kInner, kHidden), linear(kInner, kHidden), linear(kHidden, kInner)};
    di_linear* embedding = linear(kVocab, kHidden);
    di_model* model = must(di_model_create(context, &config, &layer, embedding, &norm, embedding));
    const int32_t pages[] = {2, 0, 1};
    di_model_map(model, 0, pages, 3);
    std::vector<int32_t> ids(kPrompt + 1), slots(kPrompt + 1), positions(kPrompt + 1);
    for (int i = 0; i <= kPrompt; ++i) ids[i] = next() % kVocab, positions[i] = i;
    std::vector<uint8_t> wanted(kPrompt + 1);
    wanted[kPrompt - 1] = wanted[kPrompt] = 1;
    std::vector<float> logits(kVocab);
    di_model_forward(model, kPrompt, ids.data(), slots.data(), positions.data(), wanted.data(), logits.data());
    print(set, "prompt", logits);
    di_model_forward(model, 1, &ids[kPrompt], slots.data(), &positions[kPrompt], &wanted[kPrompt], logits.data());
    print(set, "token", logits);
    di_model_destroy(model);
    for (di_linear* each : linears) di_linear_destroy(each);
}

}  // namespace

int main() {
    std::string names = di_instruction_sets();
    for (char* name = std::strtok(&names[0], ","); name; name = std::strtok(nullptr, ",")) {
        state = 1;
        di_context* context = must(di_context_create(name, 2));
        run_products(context, name);
        run_model(context, name);
        di_context_destroy(context);
    }
}
