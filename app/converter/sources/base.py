"""What the pipeline asks of a source format.

Canonical names are Hugging Face's without the leading `model.`: `embed_tokens`,
`layers.3.self_attn.q_proj`, `layers.3.input_layernorm`, `norm`, `lm_head`. Row transforms of the
format (rope un-permutation, fused projections) are undone by the source, on packed rows, so that
nobody downstream knows of them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.schemes import Linear, QuantScheme


@dataclass(frozen=True, slots=True)
class SourceLinear:
    """A weight matrix, read lazily: exactly (`load_native`, when `native` is set) or densely.

    `source_type` is the format's own word (`Q4_K`; F32, F16 or BF16 unless `is_quantized`);
    `source_bytes` its size on disk. `native` is the scheme that holds it bit for bit; None where
    there is none or where the source is itself dense (then `load_native` does not work).
    `load_dense` gives what the source's own library decodes to, `iter_dense` the same as
    (rows, block of rows) from first to last, for those who must not hold the whole. `load_rows`,
    where a format can give it cheaply, is the same for some rows.
    """

    name: str
    shape: tuple[int, int]
    source_name: str
    source_type: str
    source_bytes: int
    is_quantized: bool
    native: QuantScheme | None
    load_native: Callable[[], Linear]
    load_dense: Callable[[], npt.NDArray[np.float32]]
    load_bias: Callable[[], npt.NDArray[Any]] | None = None
    iter_dense: Callable[[], Iterator[tuple[slice, npt.NDArray[np.float32]]]] | None = None
    load_rows: Callable[[slice], npt.NDArray[np.float32]] | None = None


@dataclass(frozen=True, slots=True)
class SourceVector:
    """A small tensor kept dense: a norm weight. `load` gives it in its own float dtype."""

    name: str
    shape: tuple[int, ...]
    source_name: str
    source_bytes: int
    load: Callable[[], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class SourcePart:
    """The tensors of one output file: `embed`, `layer_00`, `layer_00_experts_00` ..., `norm`."""

    file: str
    linears: tuple[SourceLinear, ...]
    vectors: tuple[SourceVector, ...]


class Source(ABC):
    """An opened source: checked whole (headers, names, shapes), no weight byte read yet."""

    format: str
    path: Path
    files: tuple[Path, ...]  # every file that is read; their sizes and times identify the source
    name: str
    config: dict[str, Any]  # a Hugging Face config.json that the adapters read
    is_quantized: bool
    source_bytes: int
    notes: tuple[str, ...]

    @abstractmethod
    def parts(self) -> tuple[SourcePart, ...]:
        """All tensors, each exactly once, in file order."""

    @abstractmethod
    def iter_text_files(self) -> Iterator[tuple[str, str]]:
        """(file name, content) of the tokenizer, chat template and generation configuration."""

    @abstractmethod
    def close(self) -> None:
        """Releases the file."""


def as_text(name: str) -> str:
    """A file's name for manifests and reports, which are UTF-8: on Linux it may be any bytes."""
    return os.fsencode(name).decode("utf-8", "replace")
