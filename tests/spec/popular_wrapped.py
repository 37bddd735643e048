"""Models that also see: the language model inside, by the whole config.json."""

from __future__ import annotations

from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, QKNorm
from app.spec.rope import RopeType
from tests.spec.popular_models import Supported, named, sizes

_QWEN_SIGHT = {
    "image_token_id": 151655,
    "video_token_id": 151656,
    "vision_start_token_id": 151652,
    "vision_end_token_id": 151653,
}

WRAPPED = [
    Supported(
        "gemma-3-4b",
        named(
            "Gemma3ForConditionalGeneration",
            "gemma3",
            boi_token_index=255999,
            eoi_token_index=256000,
            image_token_index=262144,
            mm_tokens_per_image=256,
            eos_token_id=[1, 106],
            torch_dtype="bfloat16",
            text_config={
                "hidden_size": 2560,
                "intermediate_size": 10240,
                "model_type": "gemma3_text",
                "num_hidden_layers": 34,
                "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
                "sliding_window": 1024,
            },
            vision_config={"model_type": "siglip_vision_model", "hidden_size": 1152},
        ),
        3.88,
        {
            "architecture": "Gemma3ForCausalLM",
            "num_attention_heads": 8,
            "rope.rope_type": RopeType.LINEAR,
            "sliding_rope.rope_type": RopeType.DEFAULT,
            "layer_types": ((*(LayerType.SLIDING,) * 5, LayerType.FULL) * 6)[:34],
        },
    ),
    Supported(
        "Mistral-Small-3.1-24B",
        named(
            "Mistral3ForConditionalGeneration",
            "mistral3",
            image_token_index=10,
            multimodal_projector_bias=False,
            projector_hidden_act="gelu",
            spatial_merge_size=2,
            tie_word_embeddings=False,
            text_config={
                "model_type": "mistral",
                "head_dim": 128,
                "hidden_act": "silu",
                "rms_norm_eps": 1e-5,
                "rope_theta": 1e9,
                "sliding_window": None,
                **sizes(5120, 32768, 40, 32, 8, 131072, 131072),
            },
            vision_config={"model_type": "pixtral"},
        ),
        23.57,
        {"architecture": "MistralForCausalLM", "rope.theta": 1e9, "head_dim": 128},
    ),
    Supported(
        "Qwen2.5-VL-3B",
        named(
            "Qwen2_5_VLForConditionalGeneration",
            "qwen2_5_vl",
            **_QWEN_SIGHT,
            vision_token_id=151654,
            hidden_act="silu",
            rms_norm_eps=1e-6,
            rope_theta=1e6,
            rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]},
            use_sliding_window=False,
            sliding_window=32768,
            max_window_layers=70,
            tie_word_embeddings=True,
            vision_config={"depth": 32},
            **sizes(2048, 11008, 36, 16, 2, 151936, 128000),
        ),
        3.09,
        {
            "architecture": "Qwen2ForCausalLM",
            "attention_bias": AttentionBias(q=True, k=True, v=True),
            "rope.rope_type": RopeType.DEFAULT,
        },
    ),
    Supported(
        "Qwen3-VL-4B",
        named(
            "Qwen3VLForConditionalGeneration",
            "qwen3_vl",
            **_QWEN_SIGHT,
            tie_word_embeddings=True,
            text_config={
                "model_type": "qwen3_vl_text",
                "attention_bias": False,
                "head_dim": 128,
                "hidden_act": "silu",
                "rms_norm_eps": 1e-6,
                "rope_scaling": {
                    "mrope_interleaved": True,
                    "mrope_section": [24, 20, 20],
                    "rope_type": "default",
                },
                "rope_theta": 5000000,
                "tie_word_embeddings": True,
                **sizes(2560, 9728, 36, 32, 8, 151936, 262144),
            },
            vision_config={"deepstack_visual_indexes": [5, 11, 17]},
        ),
        4.02,
        {"architecture": "Qwen3ForCausalLM", "qk_norm": QKNorm.HEAD, "rope.theta": 5e6},
    ),
]
