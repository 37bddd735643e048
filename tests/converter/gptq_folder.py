"""Folders of tiny GPTQ models, encoded by `gptq_encoder`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.converter.gptq_encoder import GptqCase, random_case
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.gguf_factory import TinyModel

Tensors = dict[str, npt.NDArray[Any]]
_LINEARS = (
    *(f"self_attn.{name}_proj" for name in "qkvo"),
    *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
)
MODEL = TinyModel("llama", hidden=64, inner=96)


def linear_stems(model: TinyModel) -> list[str]:
    """The names, in the folder, of the linears inside the layers."""
    return [f"model.layers.{index}.{name}" for index in range(model.layers) for name in _LINEARS]


@dataclass
class GptqFolder:
    """A model whose layers are GPTQ: its cases, all its tensors, what its configuration says."""

    cases: dict[str, GptqCase]
    tensors: Tensors
    table: dict[str, Any]
    model: TinyModel = field(default=MODEL)

    def write(self, folder: Path, **config: Any) -> Path:
        """The folder on disk; `config` are more keys of config.json."""
        return write_folder(
            folder, self.model, self.tensors, quantization_config=self.table, **config
        )

    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """The true weight of each quantized linear, by its name in the folder."""
        return {f"{stem}.weight": case.weight for stem, case in self.cases.items()}


def create_folder(
    *,
    model: TinyModel = MODEL,
    bits: int = 4,
    group_size: int = 32,
    sym: bool = True,
    table: Mapping[str, Any] | None = None,
    with_g_idx: bool = True,
    **how: Any,
) -> GptqFolder:
    """All linears of the layers alike; q, k, v share a column order, gate and up too."""
    dense = hf_tensors(model, np.float16)
    cases = {}
    for stem in linear_stems(model):
        shape = dense.pop(f"{stem}.weight").shape
        seed = zlib.crc32(stem.rsplit(".", 1)[0].encode() + bytes([shape[1] % 256]))
        cases[stem] = random_case(
            (shape[0], shape[1]), bits=bits, group_size=group_size, sym=sym, seed=seed, **how
        )
    tensors = dense | {
        f"{stem}.{name}": array
        for stem, case in cases.items()
        for name, array in case.arrays(with_g_idx=with_g_idx).items()
    }
    settings = {"quant_method": "gptq", "bits": bits, "group_size": group_size, "sym": sym}
    return GptqFolder(cases, tensors, settings | dict(table or {}), model)
