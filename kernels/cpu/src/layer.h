// One decoder layer's weights, checked against the sizes of the model.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "api.h"
#include "packed_linear.h"

namespace di {

// Without a weight there is no norm.
struct Norm {
    std::vector<float> weight, bias;
    bool is_absent() const { return weight.empty(); }
};

struct Mlp {
    const Tiles *gate = nullptr, *up = nullptr, *down = nullptr;  // no gate: plain
    bool has_perm() const { return (gate && gate->perm) || up->perm || down->perm; }
};

// DeepSeek's multi-head latent attention: queries, keys and values are expanded from vectors of low rank.
struct Latent {
    const Tiles *q_a = nullptr, *kv_a = nullptr, *kv_b = nullptr;  // no q_a: q is plain; no kv_a: no latent attention
    std::vector<float> q_a_norm, kv_a_norm;
};

// A linear layer: its past is one matrix a head.
struct DeltaNet {
    const Tiles *qkv = nullptr, *z = nullptr, *b = nullptr, *a = nullptr, *out = nullptr;
    std::vector<float> kernel, decay, dt_bias, norm;  // kernel [taps][channels]
};

struct MixtureOfExperts {
    const Tiles* router = nullptr;
    std::vector<float> correction;  // [num_experts] or empty
    std::vector<Mlp> experts;
    Mlp shared;                     // no `up`: none
    const Tiles* shared_gate = nullptr;
};

struct Layer {
    const Tiles *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr, *output_gate = nullptr;  // k and v: null with `latent`
    Latent latent;
    DeltaNet delta_net;
    std::vector<float> q_norm, k_norm, sinks;  // empty: none
    int32_t sliding_window, rope;
    Norm input_norm, post_self_attn_norm, post_attention_norm, post_mlp_norm;
    Mlp mlp;
    MixtureOfExperts moe;

    bool is_linear() const { return delta_net.qkv != nullptr; }
    bool is_sparse() const { return moe.router != nullptr; }
    bool has_perm() const;
};

// Throws std::invalid_argument(what) unless the condition holds.
inline void require(bool condition, const std::string& what) {
    if (!condition) throw std::invalid_argument(what);
}

inline std::vector<float> copied(const float* values, int32_t n) {
    return values ? std::vector<float>(values, values + n) : std::vector<float>();
}

// Columns of a value head.
inline int32_t value_dim(const di_config& c) { return c.mla.kv_lora_rank > 0 ? c.mla.v_head_dim : c.head_dim; }
// The linear's tiles; throws std::invalid_argument when it is missing or of another shape.
const Tiles& checked(const di_linear* linear, int32_t out, int32_t in, const char* name);
Norm make_norm(const di_norm& source, const di_config& config);
Layer make_layer(const di_layer& source, const di_config& config);

}  // namespace di
