#include "layer.h"

namespace di {
namespace {

const Tiles* optional(const di_linear* linear, int32_t out, int32_t in, const char* name) {
    return linear ? &checked(linear, out, in, name) : nullptr;
}

Mlp make_mlp(const di_mlp& source, int32_t hidden, int32_t inner) {
    Mlp mlp;
    mlp.gate = optional(source.gate, inner, hidden, "gate_proj");
    mlp.up = &checked(source.up, inner, hidden, "up_proj");
    mlp.down = &checked(source.down, hidden, inner, "down_proj");
    return mlp;
}

Latent make_latent(const di_layer& source, const di_config& c) {
    const di_mla& m = c.mla;
    require(!source.q_norm && !source.k_norm && !source.sinks, "latent attention has neither q/k norms nor sinks");
    require(source.kv_a_norm && (m.q_lora_rank == 0 || source.q_a_norm), "a norm of the latent vectors is missing");
    Latent latent;
    if (m.q_lora_rank > 0) latent.q_a = &checked(source.q_a, m.q_lora_rank, c.hidden_size, "q_a_proj");
    latent.kv_a = &checked(source.kv_a, m.kv_lora_rank + m.qk_rope_head_dim, c.hidden_size, "kv_a_proj");
    latent.kv_b = &checked(source.kv_b, c.num_heads * (m.qk_nope_head_dim + m.v_head_dim), m.kv_lora_rank, "kv_b_proj");
    latent.q_a_norm = copied(source.q_a_norm, m.q_lora_rank);
    latent.kv_a_norm = copied(source.kv_a_norm, m.kv_lora_rank);
    return latent;
}

DeltaNet make_delta_net(const di_layer& source, const di_config& c) {
    const di_delta_net& d = c.delta_net;
    const int32_t value_size = d.num_value_heads * d.value_head_dim, channels = 2 * d.num_key_heads * d.key_head_dim + value_size;
    require(d.num_key_heads > 0, "a linear layer has no sizes");
    require(source.conv1d && source.decay && source.dt_bias && source.delta_norm, "a vector of a linear layer is missing");
    DeltaNet net;
    net.qkv = &checked(source.in_proj_qkv, channels, c.hidden_size, "in_proj_qkv");
    net.z = &checked(source.in_proj_z, value_size, c.hidden_size, "in_proj_z");
    net.b = &checked(source.in_proj_b, d.num_value_heads, c.hidden_size, "in_proj_b");
    net.a = &checked(source.in_proj_a, d.num_value_heads, c.hidden_size, "in_proj_a");
    net.out = &checked(source.out_proj, c.hidden_size, value_size, "out_proj");
    net.kernel = copied(source.conv1d, d.conv_kernel * channels);
    net.decay = copied(source.decay, d.num_value_heads);
    net.dt_bias = copied(source.dt_bias, d.num_value_heads);
    net.norm = copied(source.delta_norm, d.value_head_dim);
    return net;
}

MixtureOfExperts make_moe(const di_layer& source, const di_config& c) {
    require(source.experts != nullptr, "experts are missing");
    MixtureOfExperts moe;
    moe.router = &checked(source.router, c.moe.num_experts, c.hidden_size, "router");
    require(is_dense(moe.router->codes) && !moe.router->perm, "the router is not dense");
    moe.correction = copied(source.router_correction, c.moe.num_experts);
    for (int32_t e = 0; e < c.moe.num_experts; ++e) {
        moe.experts.push_back(make_mlp(source.experts[e], c.hidden_size, c.moe.intermediate_size));
    }
    if (c.moe.shared_intermediate_size == 0) return moe;
    moe.shared = make_mlp(source.shared_expert, c.hidden_size, c.moe.shared_intermediate_size);
    moe.shared_gate = optional(source.shared_expert_gate, 1, c.hidden_size, "shared_expert_gate");
    require(!moe.shared_gate || (is_dense(moe.shared_gate->codes) && !moe.shared_gate->perm), "shared_expert_gate is not dense");
    return moe;
}

void make_attention(const di_layer& source, const di_config& c, Layer& layer) {
    const int32_t q_size = c.num_heads * c.head_dim, kv_size = c.num_kv_heads * c.head_dim;
    if (c.mla.kv_lora_rank > 0) {
        layer.latent = make_latent(source, c);
    } else {
        layer.k = &checked(source.k, kv_size, c.hidden_size, "k_proj");
        layer.v = &checked(source.v, kv_size, c.hidden_size, "v_proj");
    }
    layer.q = &checked(source.q, q_size, layer.latent.q_a ? c.mla.q_lora_rank : c.hidden_size, "q_proj");
    layer.o = &checked(source.o, c.hidden_size, c.num_heads * value_dim(c), "o_proj");
    layer.output_gate = optional(source.output_gate, c.num_heads * value_dim(c), c.hidden_size, "output_gate");
    layer.q_norm = copied(source.q_norm, c.qk_norm_projection ? q_size : c.head_dim);
    layer.k_norm = copied(source.k_norm, c.qk_norm_projection ? kv_size : c.head_dim);
    layer.sinks = copied(source.sinks, c.num_heads);
}

}  // namespace

const Tiles& checked(const di_linear* linear, int32_t out, int32_t in, const char* name) {
    require(linear != nullptr, std::string(name) + " is missing");
    const Tiles& w = linear->packed.tiles();
    require(w.out_features == out && w.in_features == in, std::string(name) + " has the wrong shape");
    return w;
}

Norm make_norm(const di_norm& source, const di_config& c) {
    require(!source.bias || c.layer_norm, "a bias is not part of RMSNorm");
    return {copied(source.weight, c.hidden_size), copied(source.bias, c.hidden_size)};
}

Layer make_layer(const di_layer& source, const di_config& c) {
    require(source.rope >= -1 && source.rope < c.num_ropes, "a layer's rope does not exist");
    Layer layer;
    if (source.in_proj_qkv) {
        layer.delta_net = make_delta_net(source, c);
    } else {
        make_attention(source, c, layer);
    }
    layer.sliding_window = source.sliding_window;
    layer.rope = source.rope;
    layer.input_norm = make_norm(source.input_norm, c);
    layer.post_self_attn_norm = make_norm(source.post_self_attn_norm, c);
    layer.post_attention_norm = make_norm(source.post_attention_norm, c);
    layer.post_mlp_norm = make_norm(source.post_mlp_norm, c);
    if (source.router) {
        layer.moe = make_moe(source, c);
    } else {
        layer.mlp = make_mlp(source.mlp, c.hidden_size, c.intermediate_size);
    }
    return layer;
}

bool Layer::has_perm() const {
    const bool mlp_has = is_sparse() ? moe.shared.up && moe.shared.has_perm() : mlp.has_perm();
    const DeltaNet& d = delta_net;
    for (const Tiles* w : {q, k, v, o, output_gate, latent.q_a, latent.kv_a, latent.kv_b, d.qkv, d.z, d.b, d.a, d.out}) {
        if (w && w->perm) return true;
    }
    return mlp_has;
}

}  // namespace di
