"""Phi-3 and 3.5 mini and medium, Phi-4 and Phi-4-mini: fused projections, longrope."""

from app.spec.adapter import ArchitectureAdapter, uniform_window
from app.spec.weight_names import WeightNames

ADAPTER = ArchitectureAdapter(
    family="phi3",
    architectures=("Phi3ForCausalLM",),
    model_types=("phi3",),
    read_window=uniform_window,
    weight_names=WeightNames(
        fused={
            "self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
            "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj"),
        }
    ),
    partial_rotary=True,
    default_rope_theta=10_000.0,
    default_rms_norm_eps=1e-5,
    fixed_values={"full_attn_mod": 1, "interpolate_factor": 1},  # Phi-4-mini says them
)
