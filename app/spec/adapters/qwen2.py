"""Qwen2 and Qwen2.5: biases on q, k and v that no flag announces."""

from app.spec.adapter import ArchitectureAdapter, switched_window
from app.spec.model_spec import AttentionBias

ADAPTER = ArchitectureAdapter(
    family="qwen2",
    architectures=("Qwen2ForCausalLM",),
    model_types=("qwen2",),
    read_attention_bias=lambda config: AttentionBias(q=True, k=True, v=True),
    read_window=switched_window,
    default_rms_norm_eps=1e-6,
)
