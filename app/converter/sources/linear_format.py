"""What a Hugging Face folder's source asks of a way to store linears: one file per format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.hf_folder import StoredArray
from app.spec.model_spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a folder says of its quantization: the JSON object `table`, found in `where`."""

    method: str
    table: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What a format is created from: the headers of all tensors, no data read yet.

    `stems` maps every canonical linear name of `spec` to its name in the folder, and `shapes` to
    its [out, in]; so a format can settle once, from all of them, what a single one leaves open.
    """

    name: str
    config: Mapping[str, Any]
    spec: ModelSpec
    tensors: Mapping[str, StoredArray]
    stems: Mapping[str, str]
    shapes: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LinearPlace:
    """One linear to open: its canonical name, its stem in the folder, [out, in], its own bias."""

    name: str
    stem: str
    shape: tuple[int, int]
    bias: StoredArray | None = field(default=None)


class LinearFormat(ABC):
    """One way to store quantized linears, created once per folder (`from_folder` of its module).

    Creating it refuses by name (UnsupportedError, InvalidSourceError) what the declaration asks for
    and the format cannot give. `notes` go into the report.
    """

    name: str
    notes: tuple[str, ...] = ()

    @abstractmethod
    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        """Whether this linear is stored in this format; otherwise it is taken as dense."""

    @abstractmethod
    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        """Claims the linear's tensors; None when one is missing or mis-shaped (`tensors` knows)."""

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        """Tensors that mean nothing for inference, by name."""
        return ()
