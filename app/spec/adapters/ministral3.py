"""Ministral 3: Mistral with yarn, whose queries grow with their position."""

from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, uniform_window
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import QueryScaling

_BETA = "llama_4_scaling_beta"


def _read_scaling(config: ConfigReader) -> dict[str, Any]:
    """The growth stands among the parameters of the rope, and counts in its trained lengths."""
    rope = config.table("rope_parameters") or config.table("rope_scaling") or {}
    length = rope.get("original_max_position_embeddings")
    beta = rope.get(_BETA)
    if not isinstance(beta, int | float) or not isinstance(length, int) or length <= 0:
        raise UnsupportedError(
            "The rope configuration needs {beta} and original_max_position_embeddings.", beta=_BETA
        )
    return {"query_scaling": QueryScaling(float(beta), length)}


ADAPTER = ArchitectureAdapter(
    family="ministral3",
    architectures=("Ministral3ForCausalLM",),
    model_types=("ministral3",),
    read_window=uniform_window,
    read_differences=_read_scaling,
    default_rms_norm_eps=1e-5,
    default_head_dim=128,
    ignored_rope_keys=(_BETA, "max_position_embeddings"),
)
