"""manifest.json: all that the runtime knows about a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.checkpoint.json_fields import JsonFields
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.tensor_file import FileRecord
from app.core.errors import CheckpointError

MANIFEST_NAME = "manifest.json"
VERSION = 1
BACKEND = "deepinfer"  # whose kernels the layout is made for
_DENSE_DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a linear came from and what the way here cost.

    source: the source's own tensor name(s); source_type: its own type word (`Q4_K`); rel_err:
    relative Frobenius error ||W' - W|| / ||W|| against what the source decodes to, 0.0 when exact;
    row_order: `mlp.down_proj` (of its own expert) where the rows follow that linear's column order
    instead of the source's (app.converter.permutations), else ''.
    """

    source: str
    source_type: str
    path: TensorPath
    rel_err: float
    row_order: str = ""


@dataclass(frozen=True, slots=True)
class LinearRecord:
    """One linear: quantized (`quant`) or dense (`dtype` float32, float16 or bfloat16)."""

    shape: tuple[int, int]
    quant: QuantScheme | None
    dtype: str | None
    provenance: Provenance

    def to_json(self) -> dict[str, Any]:
        """The record as it stands in manifest.json; rel_err keeps six digits."""
        p = self.provenance
        stored: dict[str, Any] = (
            {"dtype": self.dtype} if self.quant is None else _quant_json(self.quant)
        )
        rel_err = float(f"{p.rel_err:.6g}")
        origin = {
            "source": p.source,
            "source_type": p.source_type,
            "path": p.path.value,
            "rel_err": rel_err,
        }
        order = {"row_order": p.row_order} if p.row_order else {}
        return {"shape": list(self.shape), **stored, **origin, **order}

    @classmethod
    def from_json(cls, fields: JsonFields) -> LinearRecord:
        """Raises CheckpointError naming the field that is missing or ill-typed."""
        path = fields.choice("path", TensorPath)
        dense = path is TensorPath.DENSE
        dtype = fields.text("dtype") if dense else None
        if dense and dtype not in _DENSE_DTYPES:
            raise CheckpointError(
                "{where}.dtype {dtype!r} is not known.", where=fields.where, dtype=dtype
            )
        row_order = fields.text("row_order") if "row_order" in fields.values else ""
        provenance = Provenance(
            fields.text("source"),
            fields.text("source_type"),
            path,
            fields.number("rel_err"),
            row_order,
        )
        return cls(fields.pair("shape"), None if dense else _quant_from(fields), dtype, provenance)


def _quant_json(quant: QuantScheme) -> dict[str, Any]:
    return {
        "bits": quant.bits,
        "group": quant.group_size,
        "scheme": quant.scheme.value,
        "scale_dtype": quant.scale_dtype.value,
    }


def _quant_from(fields: JsonFields) -> QuantScheme:
    scheme, scale_dtype = fields.choice("scheme", Scheme), fields.choice("scale_dtype", ScaleDtype)
    try:
        return QuantScheme(fields.integer("bits"), fields.integer("group"), scheme, scale_dtype)
    except CheckpointError as error:
        raise CheckpointError(
            "{where}: {fault}", where=fields.where, fault=error.message
        ) from error


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What was converted: its format's name (`gguf`), file or folder name, and bytes of weights."""

    format: str
    name: str
    num_bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """`linears` by canonical name, `files` by file name (manifest.json itself excepted)."""

    architecture: str
    tool: str
    source: SourceInfo
    linears: Mapping[str, LinearRecord] = field(default_factory=dict)
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    backend: str = BACKEND
    version: int = VERSION

    @property
    def is_lossless(self) -> bool:
        """Whether every linear decodes bit for bit to what the source decodes to."""
        records = self.linears.values()
        kept = (TensorPath.EXACT, TensorPath.DENSE)
        return all(r.provenance.path in kept and r.provenance.rel_err == 0.0 for r in records)

    def to_text(self) -> str:
        """manifest.json's content: sorted, no time stamps: equal manifests are equal bytes."""
        source = {
            "format": self.source.format,
            "name": self.source.name,
            "bytes": self.source.num_bytes,
        }
        document = {
            "version": self.version,
            "architecture": self.architecture,
            "backend": self.backend,
            "tool": self.tool,
            "source": source,
            "linears": {name: record.to_json() for name, record in self.linears.items()},
            "files": {n: {"bytes": f.num_bytes, "sha256": f.sha256} for n, f in self.files.items()},
        }
        return (
            json.dumps(document, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False)
            + "\n"
        )

    @classmethod
    def from_text(cls, text: str) -> Manifest:
        """Raises CheckpointError: damaged JSON, another version, a missing or ill-typed field."""
        fields = JsonFields.parse(text, MANIFEST_NAME)
        version, backend = fields.integer("version"), fields.text("backend")
        if version != VERSION:
            raise CheckpointError(
                "{manifest} has version {version}; this program reads version {own_version}.",
                manifest=MANIFEST_NAME,
                version=version,
                own_version=VERSION,
            )
        if backend != BACKEND:
            raise CheckpointError(
                "{manifest} is made for backend {backend!r}, not for {own_backend!r}.",
                manifest=MANIFEST_NAME,
                backend=backend,
                own_backend=BACKEND,
            )
        source = fields.table("source")
        return cls(
            architecture=fields.text("architecture"),
            tool=fields.text("tool"),
            source=SourceInfo(source.text("format"), source.text("name"), source.integer("bytes")),
            linears={n: LinearRecord.from_json(f) for n, f in fields.table("linears").tables()},
            files={n: _file_from(n, f) for n, f in fields.table("files").tables()},
        )

    @classmethod
    def read(cls, directory: Path) -> Manifest:
        """The manifest of a native folder; raises CheckpointError where there is none."""
        try:
            text = (directory / MANIFEST_NAME).read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise CheckpointError(
                "{name} is not a native checkpoint: no {manifest}.",
                name=directory.name,
                manifest=MANIFEST_NAME,
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(
                "{manifest} cannot be read.", manifest=MANIFEST_NAME, detail=str(error)
            ) from error
        return cls.from_text(text)


def _file_from(name: str, fields: JsonFields) -> FileRecord:
    if not is_plain_name(name):
        raise CheckpointError(
            "{manifest} lists {name!r}, which is not a plain file name.",
            manifest=MANIFEST_NAME,
            name=name,
        )
    return FileRecord(fields.integer("bytes"), fields.text("sha256"))


def is_plain_name(name: str) -> bool:
    """Whether `name` stays inside its folder on every system: no separators, drives or dots."""
    return name not in ("", ".", "..") and not any(c in name for c in "/\\:\0")
