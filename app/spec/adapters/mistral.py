"""Mistral: Llama with one sliding window for all layers (v0.1) or none."""

from app.spec.adapter import ArchitectureAdapter, uniform_window

ADAPTER = ArchitectureAdapter(
    family="mistral",
    architectures=("MistralForCausalLM",),
    model_types=("mistral",),
    read_window=uniform_window,
    default_rms_norm_eps=1e-6,
)
