"""The native library's structures, field by field as `src/api.h` declares and explains them."""

from __future__ import annotations

from ctypes import Structure, c_double, c_float, c_int32, c_uint64, c_void_p


class LinearSource(Structure):
    """`di_linear_source`: a linear in the native checkpoint's layout."""

    _fields_ = (
        ("out_features", c_int32),
        ("in_features", c_int32),
        ("codes", c_int32),
        ("group_size", c_int32),
        ("scheme", c_int32),
        ("scale_type", c_int32),
        ("bias_type", c_int32),
        ("six_bits", c_int32),
        ("weight", c_void_p),
        ("scales", c_void_p),
        ("zeros", c_void_p),
        ("biases", c_void_p),
        ("super_scales", c_void_p),
        ("super_biases", c_void_p),
        ("perm", c_void_p),
        ("bias", c_void_p),
    )


class Rope(Structure):
    """`di_rope`: one rotary embedding."""

    _fields_ = (
        ("rotary_dim", c_int32),
        ("cos_sin_factor", c_float),
        ("inv_freq", c_void_p),
    )


class Moe(Structure):
    """`di_moe`: routing, and what an expert computes."""

    _fields_ = (
        ("num_experts", c_int32),
        ("num_experts_per_tok", c_int32),
        ("intermediate_size", c_int32),
        ("shared_intermediate_size", c_int32),
        ("scoring", c_int32),
        ("norm_topk_prob", c_int32),
        ("routed_scaling_factor", c_float),
        ("num_groups", c_int32),
        ("topk_groups", c_int32),
        ("group_scoring", c_int32),
        ("clamped_swiglu", c_int32),
        ("swiglu_limit", c_float),
        ("swiglu_alpha", c_float),
    )


class Mla(Structure):
    """`di_mla`: the sizes of latent attention."""

    _fields_ = (
        ("kv_lora_rank", c_int32),
        ("q_lora_rank", c_int32),
        ("qk_nope_head_dim", c_int32),
        ("qk_rope_head_dim", c_int32),
        ("v_head_dim", c_int32),
        ("norm_eps", c_float),
    )


class DeltaNet(Structure):
    """`di_delta_net`: the sizes of linear layers."""

    _fields_ = (
        ("num_key_heads", c_int32),
        ("num_value_heads", c_int32),
        ("key_head_dim", c_int32),
        ("value_head_dim", c_int32),
        ("conv_kernel", c_int32),
    )


class Config(Structure):
    """`di_config`: sizes and constants of a model."""

    _fields_ = (
        ("hidden_size", c_int32),
        ("intermediate_size", c_int32),
        ("num_layers", c_int32),
        ("num_heads", c_int32),
        ("num_kv_heads", c_int32),
        ("head_dim", c_int32),
        ("vocab_size", c_int32),
        ("max_model_len", c_int32),
        ("num_slots", c_int32),
        ("num_pages", c_int32),
        ("kv_type", c_int32),
        ("int8_activations", c_int32),
        ("layer_norm", c_int32),
        ("qk_norm_projection", c_int32),
        ("hidden_act", c_int32),
        ("rms_norm_eps", c_float),
        ("attention_multiplier", c_float),
        ("attn_logit_softcapping", c_float),
        ("query_scaling_beta", c_float),
        ("query_scaling_length", c_int32),
        ("embedding_multiplier", c_float),
        ("residual_multiplier", c_float),
        ("logits_multiplier", c_float),
        ("final_logit_softcapping", c_float),
        ("num_ropes", c_int32),
        ("ropes", c_void_p),
        ("moe", Moe),
        ("mla", Mla),
        ("delta_net", DeltaNet),
    )


class Norm(Structure):
    """`di_norm`: a norm over hidden_size, or none."""

    _fields_ = (
        ("weight", c_void_p),
        ("bias", c_void_p),
    )


class Mlp(Structure):
    """`di_mlp`: an MLP or an expert."""

    _fields_ = (
        ("gate", c_void_p),
        ("up", c_void_p),
        ("down", c_void_p),
    )


class Layer(Structure):
    """`di_layer`: handles and vectors of one decoder layer."""

    _fields_ = (
        ("q", c_void_p),
        ("k", c_void_p),
        ("v", c_void_p),
        ("o", c_void_p),
        ("q_a", c_void_p),
        ("kv_a", c_void_p),
        ("kv_b", c_void_p),
        ("q_a_norm", c_void_p),
        ("kv_a_norm", c_void_p),
        ("output_gate", c_void_p),
        ("q_norm", c_void_p),
        ("k_norm", c_void_p),
        ("in_proj_qkv", c_void_p),
        ("in_proj_z", c_void_p),
        ("in_proj_b", c_void_p),
        ("in_proj_a", c_void_p),
        ("out_proj", c_void_p),
        ("conv1d", c_void_p),
        ("decay", c_void_p),
        ("dt_bias", c_void_p),
        ("delta_norm", c_void_p),
        ("sinks", c_void_p),
        ("sliding_window", c_int32),
        ("rope", c_int32),
        ("input_norm", Norm),
        ("post_self_attn_norm", Norm),
        ("post_attention_norm", Norm),
        ("post_mlp_norm", Norm),
        ("mlp", Mlp),
        ("router", c_void_p),
        ("router_correction", c_void_p),
        ("experts", c_void_p),
        ("shared_expert", Mlp),
        ("shared_expert_gate", c_void_p),
    )


class Sampling(Structure):
    """`di_sampling`: how the next token is drawn from logits."""

    _fields_ = (
        ("temperature", c_double),
        ("top_p", c_double),
        ("min_p", c_double),
        ("presence_penalty", c_double),
        ("frequency_penalty", c_double),
        ("repetition_penalty", c_float),
        ("top_k", c_int32),
        ("seed", c_uint64),
        ("step", c_uint64),
        ("is_seen", c_void_p),
        ("num_output", c_void_p),
    )
