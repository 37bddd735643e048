/* The library's flat C interface. Pointers are borrowed for the call, except handles. Functions that can fail return
   null or a non-zero code, and di_last_error() tells why (per thread). */
#pragma once

#include <stdint.h>

#if defined(_WIN32)
#define DI_API __declspec(dllexport)
#else
#define DI_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DI_ABI_VERSION 6

/* A linear in the native checkpoint's layout (app/checkpoint/schemes.py defines it). Row-major, contiguous. */
typedef struct di_linear_source {
    int32_t out_features, in_features;
    int32_t codes;        /* 0 fp32, 1 fp16, 2 bf16 (dense); 3, 4, 8: bits */
    int32_t group_size;   /* 16, 32, 64, 128 or -1 */
    int32_t scheme;       /* 0 sym, 1 zero, 2 affine */
    int32_t scale_type;   /* 0 fp16, 1 fp32, 2 two-level with uint8 codes, 3 two-level with int8 codes */
    int32_t bias_type;    /* of `biases`, as scale_type */
    int32_t six_bits;     /* 8-bit codes of sym that all fit six bits are kept with six: faster with int8 activations only */
    const void* weight;   /* dense elements, or packed codes */
    const void* scales;
    const uint8_t* zeros;
    const void* biases;
    const void* super_scales;
    const void* super_biases;
    const int32_t* perm;  /* [in] or null */
    const float* bias;    /* [out] or null */
} di_linear_source;

typedef struct di_context di_context; /* threads and an instruction set */
typedef struct di_linear di_linear;   /* a packed matrix */
typedef struct di_model di_model;     /* layers, cache and workspace */

/* One rotary embedding. */
typedef struct di_rope {
    int32_t rotary_dim;    /* columns of a head that rotate; pairs are (i, i + rotary_dim / 2) */
    float cos_sin_factor;  /* cosines and sines are multiplied with it */
    const float* inv_freq; /* [rotary_dim / 2], radians per position */
} di_rope;

/* How tokens are routed to experts, and what an expert computes. */
typedef struct di_moe {
    int32_t num_experts; /* 0: no layer is sparse */
    int32_t num_experts_per_tok, intermediate_size;
    int32_t shared_intermediate_size; /* of the shared expert; 0: there is none */
    int32_t scoring;                  /* 0 softmax over all experts, 1 softmax over the chosen ones, 2 sigmoid */
    int32_t norm_topk_prob;           /* 1: the weights of the chosen are divided by their sum */
    float routed_scaling_factor;
    int32_t num_groups, topk_groups;  /* experts are chosen from the best topk_groups of num_groups groups */
    int32_t group_scoring;            /* a group's score: 0 its largest, 1 the sum of its two largest */
    int32_t clamped_swiglu;           /* 0: act(gate) * up; 1: (up + 1) * gate * sigmoid(alpha * gate), both cut at limit */
    float swiglu_limit, swiglu_alpha;
} di_moe;

/* Multi-head latent attention; a head's columns are those without and then those with rotation. */
typedef struct di_mla {
    int32_t kv_lora_rank;  /* 0: attention is ordinary */
    int32_t q_lora_rank;   /* 0: queries are projected at once */
    int32_t qk_nope_head_dim, qk_rope_head_dim, v_head_dim;
    float norm_eps;        /* of the norms of the latent vectors */
} di_mla;

/* Layers whose past is a state: what is projected to queries, keys and values goes through a convolution per channel. */
typedef struct di_delta_net {
    int32_t num_key_heads;   /* 0: no layer is linear */
    int32_t num_value_heads; /* a multiple of num_key_heads: value heads that share a key head stand together */
    int32_t key_head_dim, value_head_dim;
    int32_t conv_kernel;     /* inputs that an output sees, the newest included */
} di_delta_net;

typedef struct di_config {
    int32_t hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim, vocab_size;
    int32_t max_model_len, num_slots;
    int32_t num_pages;        /* of the cache, 256 positions each; slots have none before di_model_map */
    int32_t kv_type;          /* of the cache: 0 fp32, 1 fp16, 2 int8 with one fp16 scale per position and kv head */
    int32_t int8_activations; /* 1: quantized linears read int8 activations, one step per 32 columns; 0: float32 */
    int32_t layer_norm;       /* norms of the residual stream: 0 RMSNorm, 1 LayerNorm; q/k norms are RMSNorm always */
    int32_t qk_norm_projection;     /* q/k norms are 0 over each head, 1 over the whole projection */
    int32_t hidden_act;             /* 0 silu, 1 gelu, 2 gelu_pytorch_tanh */
    float rms_norm_eps;             /* of either kind of norm */
    float attention_multiplier;     /* scores are multiplied with it */
    float attn_logit_softcapping;   /* then become cap * tanh(score / cap); 0: they stay */
    float query_scaling_beta;       /* queries grow by 1 + beta * ln(1 + floor(position / length)); 0: they do not */
    int32_t query_scaling_length;
    float embedding_multiplier;
    float residual_multiplier;      /* of what a block adds to the residual */
    float logits_multiplier;
    float final_logit_softcapping;  /* after the multiplier; 0: none */
    int32_t num_ropes;
    const di_rope* ropes;           /* [num_ropes] */
    di_moe moe;
    di_mla mla;                     /* with it head_dim is qk_nope_head_dim + qk_rope_head_dim, num_kv_heads is num_heads */
    di_delta_net delta_net;
} di_config;

/* A norm over hidden_size; a weight of null means that there is none. A family's offset is already added. */
typedef struct di_norm {
    const float *weight, *bias; /* [hidden_size]; the bias, LayerNorm's, may be null */
} di_norm;

/* down(act(gate(x)) * up(x)), or down(act(up(x))) where gate is null. */
typedef struct di_mlp {
    di_linear *gate, *up, *down;
} di_mlp;

typedef struct di_layer {
    di_linear *q, *k, *v, *o;        /* k and v null with latent attention; q then reads q_a's output if there is q_a */
    di_linear *q_a, *kv_a, *kv_b;    /* latent: to q_lora_rank, to kv_lora_rank + qk_rope_head_dim, to each head's nope + v */
    const float *q_a_norm, *kv_a_norm; /* [q_lora_rank], [kv_lora_rank] */
    di_linear* output_gate;          /* [num_heads * head_dim, hidden_size]: sigmoid(gate(x)) weighs the input of o; or null */
    const float *q_norm, *k_norm;    /* [head_dim], or [rows of q and k] with qk_norm_projection; or null */
    di_linear *in_proj_qkv, *in_proj_z, *in_proj_b, *in_proj_a, *out_proj; /* of a linear layer, which has none of the above */
    const float* conv1d;             /* [conv_kernel][channels of in_proj_qkv], the newest input last */
    const float *decay, *dt_bias;    /* [num_value_heads]: a state decays by exp(-decay * softplus(in_proj_a(x) + dt_bias)) */
    const float* delta_norm;         /* [value_head_dim] */
    const float* sinks;              /* [num_heads], a further logit of each head's softmax; or null */
    int32_t sliding_window;          /* keys a query sees, itself included; 0: all */
    int32_t rope;                    /* index into ropes; -1: positions are not embedded */
    di_norm input_norm;              /* before attention */
    di_norm post_self_attn_norm;     /* on its output, before the residual */
    di_norm post_attention_norm;     /* before the MLP */
    di_norm post_mlp_norm;           /* on its output */
    di_mlp mlp;                      /* of a dense layer */
    di_linear* router;               /* [num_experts, hidden_size] of a sparse layer; null makes it dense */
    const float* router_correction;  /* [num_experts], added to the scores for choosing only; or null */
    const di_mlp* experts;           /* [num_experts] */
    di_mlp shared_expert;
    di_linear* shared_expert_gate;   /* [1, hidden_size]: sigmoid(gate(x)) weighs the shared expert; or null */
} di_layer;

/* How the next token of a sequence is drawn from its logits (app/engine/sampling.py). */
typedef struct di_sampling {
    double temperature;         /* 0: the likeliest token, after penalties */
    double top_p, min_p;        /* off: 1 and 0 */
    double presence_penalty, frequency_penalty;
    float repetition_penalty;   /* off: 1 */
    int32_t top_k;              /* off: 0 */
    uint64_t seed, step;        /* key and counter of the random number */
    const uint8_t* is_seen;     /* [vocab_size], 1: in the prompt or the output */
    const int32_t* num_output;  /* [vocab_size], how often in the output */
} di_sampling;

DI_API int32_t di_abi_version(void);
DI_API const char* di_last_error(void);
/* Comma-separated names of the instruction sets this machine can run, best first. */
DI_API const char* di_instruction_sets(void);

DI_API di_context* di_context_create(const char* instruction_set, int32_t num_threads); /* null or "": the best */
DI_API const char* di_context_instruction_set(const di_context* context);
DI_API void di_context_destroy(di_context* context);

/* The bitwise or of all 32-bit words, read once with all threads: how fast is memory? num_bytes: a multiple of 256. */
DI_API int32_t di_context_read(di_context* context, const void* data, int64_t num_bytes, uint32_t* words);

DI_API di_linear* di_linear_create(di_context* context, const di_linear_source* source);
DI_API int64_t di_linear_bytes(const di_linear* linear);
/* y [rows][out] = x [rows][in] W^T + bias; int8_activations as in di_config. */
DI_API int32_t di_linear_apply(di_context* context, const di_linear* linear, const float* x, int32_t rows,
                               int32_t int8_activations, float* y);
/* One row of W, float32 [in]. */
DI_API int32_t di_linear_row(di_context* context, const di_linear* linear, int32_t row, float* out);
DI_API void di_linear_destroy(di_linear* linear);

/* The token that `sampling` draws from logits [vocab_size], which are overwritten; -1: they are not finite. */
DI_API int32_t di_sample(float* logits, int32_t vocab_size, const di_sampling* sampling);

/* Conversion of checkpoints, on the caller's thread; `instruction_set` empty: the best of this machine. Groups have a
   multiple of 16 weights, up to 128; `bits` is 3, 4 or 8. app/converter/grid_search.py defines both to the bit. */
DI_API int32_t di_search_scales(const char* instruction_set, const float* weights, int64_t num_groups,
                                int32_t group_size, int32_t bits, const float* levels, int32_t num_levels,
                                const float* source_scales, float* scales);
DI_API int32_t di_round_to_grid(const char* instruction_set, const float* weights, const float* scales,
                                int64_t num_groups, int32_t group_size, int32_t bits, int8_t* codes, float* decoded);
/* The codes of ggml's blocks of the type of that name, packed as the native format has them. */
DI_API int32_t di_unpack_blocks(const char* instruction_set, const char* type, const uint8_t* blocks,
                                int64_t num_blocks, int32_t block_bytes, int32_t packed_bytes, uint8_t* packed);
/* Codes of 3, 4 or 8 bits, or elements of 16, as the CUDA kernels read them, on the caller's thread; with is_signed
   two's complement becomes offset binary. kernels/cuda/pack.py defines the tiles and how many bytes they take. */
DI_API int32_t di_pack_cuda_tiles(const uint8_t* rows, int64_t num_rows, int64_t row_bytes, int32_t num_columns,
                                  int32_t bits, int32_t is_signed, uint8_t* tiles);

/* Linears and context stay the caller's and must outlive the model; norms are copied. lm_head may be embed_tokens. */
DI_API di_model* di_model_create(di_context* context, const di_config* config, const di_layer* layers,
                                 di_linear* embed_tokens, const di_norm* norm, di_linear* lm_head);
/* Runs `rows` tokens, each of a slot and position; rows of one slot come in ascending position, and everything before
   the first is in the cache. With linear layers they follow each other and the slot's last row, or begin anew at 0. Row i gives a line of logits [vocab_size] if wanted[i]; lines follow each other. */
DI_API int32_t di_model_forward(di_model* model, int32_t rows, const int32_t* token_ids, const int32_t* slots,
                                const int32_t* positions, const uint8_t* wanted, float* logits);
/* As di_model_forward, but row i gives the token that `samplings[i]` draws from its logits; null: none is wanted.
   sampled[i] is -1 where the logits are not finite, and without a sampling. */
DI_API int32_t di_model_sample(di_model* model, int32_t rows, const int32_t* token_ids, const int32_t* slots,
                               const int32_t* positions, const di_sampling* const* samplings, int32_t* sampled);
/* Positions of a slot lie in these pages from now on: position p in pages[p / 256]. Slots may share pages. */
DI_API int32_t di_model_map(di_model* model, int32_t slot, const int32_t* pages, int32_t num_pages);
/* Pages as bytes, all layers: copied within the cache, read from it, and written to it. */
DI_API int64_t di_model_page_bytes(const di_model* model);
DI_API int32_t di_model_copy_page(di_model* model, int32_t source, int32_t target);
DI_API int32_t di_model_read_page(di_model* model, int32_t page, uint8_t* out);
DI_API int32_t di_model_write_page(di_model* model, int32_t page, const uint8_t* data);
/* What linear layers know of a slot's sequence, as bytes. */
DI_API int64_t di_model_state_bytes(const di_model* model);
DI_API int32_t di_model_read_state(const di_model* model, int32_t slot, uint8_t* out);
DI_API int32_t di_model_write_state(di_model* model, int32_t slot, const uint8_t* data);
DI_API int64_t di_model_kv_bytes(const di_model* model);
DI_API int64_t di_model_workspace_bytes(const di_model* model);
DI_API void di_model_destroy(di_model* model);

#ifdef __cplusplus
}
#endif
