"""Which stored linear of a Hugging Face folder holds which canonical ones, and at which rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.converter.sources.base import SourceLinear
from app.converter.sources.grouped_rows import grouped_rows
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.rotary_order import rotary_order
from app.converter.sources.taken_rows import Rows, take_rows
from app.spec.model_spec import ModelSpec
from app.spec.weight_names import WeightNames
from app.spec.weights import iter_linears


class StoredLinears:
    """`stems` and `shapes` of the stored linears; `holders` maps every canonical name to its own.

    A stored linear goes by the canonical name of what it holds, a fused stack by that of its first
    member. A family's fused tensor counts only where the folder has it.
    """

    def __init__(
        self, spec: ModelSpec, names: WeightNames, tensors: Mapping[str, StoredArray]
    ) -> None:
        self.spec, self.names = spec, names
        self.stems: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, int]] = {}
        self.holders: dict[str, str] = {}
        self._rows: dict[str, Rows] = {}
        present = {name.rpartition(".")[0] for name in tensors}
        shapes = dict(iter_linears(spec))
        for canonical, shape in shapes.items():
            fused = names.fused_stem(canonical)
            if fused is not None and fused[0] in present:
                self._add_member(canonical, fused[0], fused[1], shapes)
            else:
                self._add(canonical, canonical, names.stem(canonical), shape)

    def extract(self, canonical: str, whole: SourceLinear) -> SourceLinear:
        """The canonical linear, of what is stored as its holder."""
        rows = self._rows.get(canonical)
        order = rotary_order(self.spec, canonical) if self.names.interleaved_rope else None
        if rows is None and order is None:
            return whole
        if rows is None:
            rows = np.arange(whole.shape[0])
        return take_rows(whole, canonical, rows if order is None else rows[order])

    def _add_member(
        self,
        canonical: str,
        stem: str,
        members: tuple[str, ...],
        shapes: Mapping[str, tuple[int, int]],
    ) -> None:
        ends = np.cumsum([shapes[member][0] for member in members]).tolist()
        stop, (num_rows, columns) = ends[members.index(canonical)], shapes[canonical]
        rows = np.arange(stop - num_rows, stop)
        if self.names.is_grouped(canonical):
            rows = grouped_rows(self.spec, members, canonical)
        if self.names.alternating_rows:
            rows = np.arange(members.index(canonical), ends[-1], len(members))
        self._rows[canonical] = rows
        self._add(canonical, members[0], stem, (ends[-1], columns))

    def _add(self, canonical: str, holder: str, stem: str, shape: tuple[int, int]) -> None:
        self.holders[canonical] = holder
        self.stems[holder], self.shapes[holder] = stem, shape
