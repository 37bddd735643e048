"""Multi-head latent attention: queries, keys and values expanded from vectors of low rank."""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import UnsupportedError


@dataclass(frozen=True, slots=True)
class MlaSpec:
    """DeepSeek's attention; `q_lora_rank` None projects queries at once.

    A head of queries and keys has `qk_nope_head_dim` columns, then `qk_rope_head_dim` that rotate,
    which all heads of the keys share. Norms of the latent vectors have `norm_eps` of their own.
    Weights of `self_attn`: `q_proj`, or `q_a_proj`, `q_a_layernorm` and `q_b_proj`; then
    `kv_a_proj_with_mqa` [kv_lora_rank + qk_rope_head_dim, hidden_size], `kv_a_layernorm`, and
    `kv_b_proj` [num_heads * (qk_nope_head_dim + v_head_dim), kv_lora_rank].
    """

    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    q_lora_rank: int | None = None
    norm_eps: float = 1e-6

    @property
    def qk_head_dim(self) -> int:
        """Columns of a head of queries and keys."""
        return self.qk_nope_head_dim + self.qk_rope_head_dim

    def validate(self) -> MlaSpec:
        """Returns self; raises UnsupportedError naming the field that cannot be."""
        for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"):
            if getattr(self, name) <= 0:
                raise UnsupportedError("{name} must be positive.", name=name)
        if self.q_lora_rank is not None and self.q_lora_rank <= 0:
            raise UnsupportedError("q_lora_rank must be positive.")
        return self
