"""InternLM2 and 2.5: Llama under names of its own, with q, k and v stacked by key/value head."""

from functools import partial

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag
from app.spec.weight_names import WeightNames

_NAMES = WeightNames(
    renamed={
        "input_layernorm": "attention_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.o_proj": "attention.wo",
        "mlp.gate_proj": "feed_forward.w1",
        "mlp.up_proj": "feed_forward.w3",
        "mlp.down_proj": "feed_forward.w2",
    },
    outer={"embed_tokens": "tok_embeddings", "lm_head": "output"},
    fused={"attention.wqkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")},
    grouped=("attention.wqkv",),  # of a key/value head its queries, its key, its value
)


ADAPTER = ArchitectureAdapter(
    family="internlm2",
    architectures=("InternLM2ForCausalLM",),
    model_types=("internlm2", "internlm"),  # the first releases kept the old name
    read_attention_bias=partial(attention_bias_flag, name="bias"),
    weight_names=_NAMES,
    ignored_keys=("attn_implementation",),  # how to compute attention, not what
)
