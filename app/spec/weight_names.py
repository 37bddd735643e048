"""How a family's published checkpoints name, fuse and order the canonical tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

# Parameters that belong to no linear or norm, and so are not called `.weight`.
_BARE = (
    "self_attn.sinks",
    "mlp.router_correction",
    "linear_attn.A_log",
    "linear_attn.dt_bias",
)
_NUMBER = re.compile(r"\.(\d+)(?=\.|$)")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_NO_FUSED: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WeightNames:
    """What differs from Llama's names in a Hugging Face folder.

    `renamed`: canonical name within a layer -> the folder's, `*` standing for an expert's number
    (`mlp.experts.*.gate_proj` -> `block_sparse_moe.experts.*.w1`). `outer`: the same outside the
    layers. `fused`: the folder's name of a stack of linears, one below the other -> the canonical
    ones in that order; those stacks that `grouped` names go by group of heads: the rows of every
    member that belong to the first, to the second ... (`grouped_rows`); with `alternating_rows`
    the members' rows take turns, and with `transposed_experts` a stack of all experts is dense as
    [experts, in, out] (both gpt-oss).
    `prefix` stands before everything but `lm_head`.
    `interleaved_rope`: the rotary pairs of q and k are columns (2i, 2i + 1) of a head, where
    executors expect (i, i + dim / 2). `ignored`: patterns (re.fullmatch) of stored tensors that
    mean nothing for inference.
    """

    renamed: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    outer: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    fused: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_FUSED)
    grouped: tuple[str, ...] = ()
    alternating_rows: bool = False
    transposed_experts: bool = False
    prefix: str = "model."
    interleaved_rope: bool = False
    ignored: tuple[str, ...] = ()

    def stem(self, canonical: str) -> str:
        """The folder's name of a tensor without `.weight`: `model.layers.0.self_attn.q_proj`."""
        if not canonical.startswith("layers."):
            name = self.outer.get(canonical, canonical)
            return name if canonical == "lm_head" else f"{self.prefix}{name}"
        _, index, name = canonical.split(".", 2)
        return f"{self.prefix}layers.{index}.{self._layer_name(name)}"

    def vector(self, canonical: str) -> str:
        """The folder's whole name of a vector: `model.norm.weight`, `model.norm.bias`."""
        if canonical.endswith(".bias"):
            return f"{self.stem(canonical.removesuffix('.bias'))}.bias"
        stem = self.stem(canonical)
        return stem if canonical.endswith(_BARE) else f"{stem}.weight"

    def fused_stem(self, canonical: str) -> tuple[str, tuple[str, ...]] | None:
        """(the folder's stem, all canonical members in row order) of a fused linear, else None."""
        if not canonical.startswith("layers."):
            return None
        _, index, name = canonical.split(".", 2)
        pattern, numbers = _split_numbers(name)
        for fused, members in self.fused.items():
            if pattern in members:
                stem = f"{self.prefix}layers.{index}.{_join_numbers(fused, numbers)}"
                names = (_join_numbers(member, numbers) for member in members)
                return stem, tuple(f"layers.{index}.{name}" for name in names)
        return None

    def is_grouped(self, canonical: str) -> bool:
        """Whether the fused stack of a linear goes by group of heads."""
        name, _ = _split_numbers(canonical.split(".", 2)[-1])
        return any(name in self.fused[stack] for stack in self.grouped)

    def is_ignored(self, name: str) -> bool:
        """Whether a stored tensor, by its full name, means nothing for inference."""
        return any(re.fullmatch(pattern, name) for pattern in self.ignored)

    def _layer_name(self, name: str) -> str:
        pattern, numbers = _split_numbers(name)
        return _join_numbers(self.renamed.get(pattern, pattern), numbers)


LLAMA_NAMES = WeightNames()


def _split_numbers(name: str) -> tuple[str, list[str]]:
    """`mlp.experts.3.gate_proj` -> `mlp.experts.*.gate_proj`, ["3"]."""
    return _NUMBER.sub(".*", name), _NUMBER.findall(name)


def _join_numbers(pattern: str, numbers: list[str]) -> str:
    for number in numbers:
        pattern = pattern.replace("*", number, 1)
    return pattern
