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

#define DI_ABI_VERSION 1

/* A linear in the native checkpoint's layout (app/checkpoint/schemes.py defines it). Row-major, contiguous. */
typedef struct di_linear_source {
    int32_t out_features, in_features;
    int32_t codes;        /* 0 fp32, 1 fp16, 2 bf16 (dense); 3, 4, 8: bits */
    int32_t group_size;   /* 16, 32, 64, 128 or -1 */
    int32_t scheme;       /* 0 sym, 1 zero, 2 affine */
    int32_t scale_type;   /* 0 fp16, 1 fp32, 2 two-level with uint8 codes, 3 two-level with int8 codes */
    int32_t bias_type;    /* of `biases`, as scale_type */
    const void* weight;   /* dense elements, or packed codes */
    const void* scales;
    const uint8_t* zeros;
    const void* biases;
    const void* super_scales;
    const void* super_biases;
    const int32_t* perm;  /* [in] or null */
    const float* bias;    /* [out] or null */
} di_linear_source;

typedef struct di_config {
    int32_t hidden_size, intermediate_size, num_layers, num_heads, num_kv_heads, head_dim, vocab_size;
    int32_t rotary_dim;       /* columns of a head that rotate; pairs are (i, i + rotary_dim / 2) */
    int32_t max_model_len, num_slots;
    int32_t kv_half;          /* 1: fp16 cache, 0: fp32 */
    int32_t int8_activations; /* 1: quantized linears read int8 activations, one step per 32 columns; 0: float32 */
    float rms_norm_eps;
    float cos_sin_factor;
    const float* inv_freq;    /* [rotary_dim / 2] */
} di_config;

typedef struct di_context di_context; /* threads and an instruction set */
typedef struct di_linear di_linear;   /* a packed matrix */
typedef struct di_model di_model;     /* layers, cache and workspace */

typedef struct di_layer {
    di_linear *q, *k, *v, *o, *gate, *up, *down;
    const float *input_norm, *post_attention_norm; /* [hidden_size] */
    const float *q_norm, *k_norm;                  /* [head_dim] or null */
    int32_t sliding_window;                        /* keys a query sees, itself included; 0: all */
} di_layer;

DI_API int32_t di_abi_version(void);
DI_API const char* di_last_error(void);
/* Comma-separated names of the instruction sets this machine can run, best first. */
DI_API const char* di_instruction_sets(void);

DI_API di_context* di_context_create(const char* instruction_set, int32_t num_threads); /* null or "": the best */
DI_API const char* di_context_instruction_set(const di_context* context);
DI_API void di_context_destroy(di_context* context);

DI_API di_linear* di_linear_create(di_context* context, const di_linear_source* source);
DI_API int64_t di_linear_bytes(const di_linear* linear);
/* y [rows][out] = x [rows][in] W^T + bias; int8_activations as in di_config. */
DI_API int32_t di_linear_apply(di_context* context, const di_linear* linear, const float* x, int32_t rows,
                               int32_t int8_activations, float* y);
/* One row of W, float32 [in]. */
DI_API int32_t di_linear_row(di_context* context, const di_linear* linear, int32_t row, float* out);
DI_API void di_linear_destroy(di_linear* linear);

/* Linears and context stay the caller's and must outlive the model; norms are copied. lm_head may be embed_tokens. */
DI_API di_model* di_model_create(di_context* context, const di_config* config, const di_layer* layers,
                                 di_linear* embed_tokens, const float* norm, di_linear* lm_head);
/* Runs `rows` tokens, each of a slot and position; rows of one slot come in ascending position, and everything before
   the first is in the cache. Row i gives a line of logits [vocab_size] if wanted[i]; lines follow each other. */
DI_API int32_t di_model_forward(di_model* model, int32_t rows, const int32_t* token_ids, const int32_t* slots,
                                const int32_t* positions, const uint8_t* wanted, float* logits);
DI_API int64_t di_model_kv_bytes(const di_model* model);
DI_API int64_t di_model_workspace_bytes(const di_model* model);
DI_API void di_model_destroy(di_model* model);

#ifdef __cplusplus
}
#endif
